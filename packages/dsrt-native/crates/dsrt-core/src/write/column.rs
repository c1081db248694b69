//! One metadata column while its batch fills up.

use std::fmt::Display;
use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, BooleanBuilder, StringViewBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{MutableBuffer, NullBufferBuilder};
use arrow_data::ArrayData;

use super::value::{Value, fixed_bytes};
use crate::dtype::{ColumnType, DType, Element};
use crate::error::{Error, Kind, Result};

/// Values of one column, in buffers of their own. Validity is kept only once there is a null, and what lies
/// under a null is zero.
pub(super) enum Column {
    Bool(BooleanBuilder),
    Fixed { kind: ColumnType, values: MutableBuffer, nulls: NullBufferBuilder },
    String(StringViewBuilder),
    Binary(BinaryViewBuilder),
}

impl Column {
    pub(super) fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Number(DType::Bool) => Self::Bool(BooleanBuilder::new()),
            ColumnType::String => Self::String(StringViewBuilder::new()),
            ColumnType::Binary => Self::Binary(BinaryViewBuilder::new()),
            _ => Self::Fixed { kind, values: MutableBuffer::new(0), nulls: NullBufferBuilder::new(0) },
        }
    }

    /// Appends a value that was found to fit.
    pub(super) fn push(&mut self, value: Value<'_>) -> Result<()> {
        match (self, value) {
            (Self::Bool(builder), Value::Bool(v)) => builder.append_value(v),
            (Self::Bool(builder), Value::Null) => builder.append_null(),
            (Self::String(builder), Value::Str(v)) => builder.try_append_value(v).map_err(|e| ours(&e))?,
            (Self::String(builder), Value::Null) => builder.append_null(),
            (Self::Binary(builder), Value::Bytes(v)) => builder.try_append_value(v).map_err(|e| ours(&e))?,
            (Self::Binary(builder), Value::Null) => builder.append_null(),
            (Self::Fixed { kind, values, nulls }, value) => {
                let (bytes, width) = fixed_bytes(*kind, value);
                values.extend_from_slice(bytes.get(..width).unwrap_or_default());
                nulls.append(value != Value::Null);
            }
            _ => return Err(Error::new(Kind::Internal, "a metadata value was not checked")),
        }
        Ok(())
    }

    /// Appends values of a column of the same type, bit by bit. What lies under a null is zero in it.
    pub(super) fn extend(&mut self, array: &ArrayRef) -> Result<()> {
        match self {
            Self::Bool(builder) => builder.extend(array.as_boolean().iter()),
            Self::String(builder) => {
                for value in array.as_string_view() {
                    match value {
                        Some(value) => builder.try_append_value(value).map_err(|e| ours(&e))?,
                        None => builder.append_null(),
                    }
                }
            }
            Self::Binary(builder) => {
                for value in array.as_binary_view() {
                    match value {
                        Some(value) => builder.try_append_value(value).map_err(|e| ours(&e))?,
                        None => builder.append_null(),
                    }
                }
            }
            Self::Fixed { kind, values, nulls } => {
                let data = array.to_data();
                let width = kind.element().map_or(0, Element::size);
                let range = data.offset() * width..(data.offset() + data.len()) * width;
                let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(range));
                values.extend_from_slice(bytes.ok_or_else(|| ours(&"a column is shorter than its batch"))?);
                match data.nulls() {
                    Some(found) => found.iter().for_each(|valid| nulls.append(valid)),
                    None => nulls.append_n_non_nulls(data.len()),
                }
            }
        }
        Ok(())
    }

    /// The column of a batch. It is used up.
    pub(super) fn finish(self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Bool(mut builder) => Arc::new(builder.finish()),
            Self::String(mut builder) => Arc::new(builder.finish()),
            Self::Binary(mut builder) => Arc::new(builder.finish()),
            Self::Fixed { kind, values, mut nulls } => {
                let data = ArrayData::builder(kind.arrow()).len(nulls.len()).add_buffer(values.into());
                make_array(data.nulls(nulls.finish()).build().map_err(|e| ours(&e))?)
            }
        })
    }
}

/// Columns and batches are made by this crate, so what Arrow finds wrong with them is a mistake of it.
pub(super) fn ours(error: &impl Display) -> Error {
    Error::new(Kind::Internal, format!("metadata could not be encoded: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(kind: &str, values: &[Value<'_>]) -> ArrayData {
        let mut column = Column::new(ColumnType::parse(kind).unwrap());
        values.iter().for_each(|value| column.push(*value).unwrap());
        let data = column.finish().unwrap().to_data();
        data.validate_full().unwrap();
        data
    }

    #[test]
    fn numbers_are_stored_to_the_last_bit() {
        let data = column("float64", &[Value::Float(-0.0), Value::Float(f64::NAN), Value::Int(3)]);
        let expected = [-0.0f64, f64::NAN, 3.0].map(f64::to_bits);
        assert_eq!(data.buffers()[0].typed_data::<u64>(), expected);
        let data = column("int16", &[Value::Int(-1), Value::Int(258)]);
        assert_eq!(data.buffers()[0].as_slice(), [0xff, 0xff, 2, 1]);
        let data = column("uint64", &[Value::Int(u64::MAX.into())]);
        assert_eq!(data.buffers()[0].as_slice(), [0xff; 8]);
        let data = column("float32", &[Value::Float(0.5), Value::Int(1)]);
        assert_eq!(data.buffers()[0].typed_data::<f32>(), [0.5, 1.0]);
    }

    #[test]
    fn nothing_but_zero_is_under_a_null_and_validity_is_kept_only_where_there_is_one() {
        for kind in ColumnType::all() {
            let value = match kind {
                ColumnType::String => Value::Str("a string of more than twelve bytes"),
                ColumnType::Binary => Value::Bytes(b"a string of more than twelve bytes"),
                ColumnType::Number(DType::Bool) => Value::Bool(true),
                _ => Value::Int(1),
            };
            let data = column(&kind.name(), &[value, Value::Null, value]);
            assert_eq!((data.null_count(), data.len(), data.data_type()), (1, 3, &kind.arrow()));
            let values = data.buffers()[0].as_slice();
            match kind {
                ColumnType::Number(DType::Bool) => assert_eq!(values, [0b101]),
                _ => {
                    let width = values.len() / 3;
                    assert!(values[width..2 * width].iter().all(|byte| *byte == 0));
                    // The last four bytes of a view say where its content lies, which is another place each time.
                    let same = width.min(12);
                    assert_eq!(values[..same], values[2 * width..][..same]);
                    assert!(values[..same].iter().any(|byte| *byte != 0));
                }
            }
            assert!(column(&kind.name(), &[value]).nulls().is_none());
            assert_eq!(column(&kind.name(), &[]).len(), 0);
        }
    }
}
