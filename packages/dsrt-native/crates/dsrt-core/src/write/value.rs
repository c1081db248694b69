//! What a writer is given for one sample, and whether it fits.

use crate::dtype::{ColumnType, DType};
use crate::field::{Field, FieldKind};
use crate::format::shard::record_bytes;

/// The most bytes of a string in a metadata column: an Arrow view counts them in 31 bits.
const MAX_STRING: usize = i32::MAX as usize;

/// One field's value for one sample.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The elements in C order, little-endian.
    pub bytes: &'a [u8],
    /// The shape; for bytes and text their length.
    pub shape: &'a [u64],
}

/// One metadata column's value for one sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// For bool columns.
    Bool(bool),
    /// For integers, for dates in days, for timestamps and durations in the column's unit, and for floats that
    /// hold this very number.
    Int(i128),
    /// For floats that hold this very number. Every NaN fits.
    Float(f64),
    /// For string columns.
    Str(&'a str),
    /// For binary columns.
    Bytes(&'a [u8]),
}

/// The little-endian bytes of a number as an element of a field, and how many they are.
///
/// # Errors
/// The reason, in words, if elements of that type do not hold this very number. Only bool, integers, float32 and
/// float64 are made from numbers.
pub fn scalar_bytes(dtype: DType, value: Value<'_>) -> std::result::Result<([u8; 8], usize), String> {
    let kind = ColumnType::Number(dtype);
    if !ColumnType::all().any(|known| known == kind) || value == Value::Null {
        return Err(format!("{} is not stored as {}; give a NumPy value of that dtype", value.word(), dtype.name()));
    }
    match value_problem(kind, value) {
        Some(problem) => Err(problem),
        None => Ok(fixed_bytes(kind, value)),
    }
}

/// Says why a record cannot be stored in a field, if it cannot.
pub(super) fn record_problem(field: &Field, record: &Record<'_>) -> Option<String> {
    match &field.kind {
        FieldKind::Dense(shape) if **shape != *record.shape => {
            return Some(format!("the shape is {:?}, and the field's is {shape:?}", record.shape));
        }
        FieldKind::Dense(_) => {}
        _ if record.shape.len() != field.entry_axes() => {
            return Some(format!("the value has {} axes, and the field {}", record.shape.len(), field.entry_axes()));
        }
        _ => {}
    }
    let Some(size) = record_bytes(record.shape.iter().copied(), field.dtype.size()) else {
        return Some(format!("a value of shape {:?} is larger than the format allows (2^48 bytes)", record.shape));
    };
    if record.bytes.len() as u64 != size {
        return Some(format!("{} bytes were given for a value of {size}", record.bytes.len()));
    }
    if field.dtype == DType::Bool && record.bytes.iter().any(|byte| *byte > 1) {
        return Some("a bool is a byte 0 or 1, and there are others in it; compare with != 0".into());
    }
    if field.kind == FieldKind::Text
        && let Err(error) = std::str::from_utf8(record.bytes)
    {
        return Some(format!("the text is not UTF-8: {error}"));
    }
    None
}

/// Says why a value cannot be stored in a column of that type, if it cannot.
pub(super) fn value_problem(kind: ColumnType, value: Value<'_>) -> Option<String> {
    let limits = integer_limits(kind);
    match (kind, value) {
        (_, Value::Null) | (ColumnType::Number(DType::Bool), Value::Bool(_)) => None,
        (ColumnType::Number(DType::Float64), Value::Float(_)) => None,
        (ColumnType::Number(DType::Float32), Value::Float(v)) => {
            let exact = v.is_nan() || f64::from(v as f32) == v;
            (!exact)
                .then(|| format!("{v:?} is no float32; round it yourself with numpy.float32(value), or use float64"))
        }
        (ColumnType::Number(DType::Float64), Value::Int(v)) => inexact(kind, v, v as f64),
        (ColumnType::Number(DType::Float32), Value::Int(v)) => inexact(kind, v, f64::from(v as f32)),
        (_, Value::Int(v)) if limits.is_some() => {
            let (low, high) = limits?;
            (!(low..=high).contains(&v)).then(|| format!("{v} is out of range: {} holds {low} to {high}", kind.name()))
        }
        (ColumnType::String, Value::Str(v)) => too_long(v.len()),
        (ColumnType::Binary, Value::Bytes(v)) => too_long(v.len()),
        (_, value) => {
            Some(format!("{} is not stored as {}; convert it yourself if that is meant", value.word(), kind.name()))
        }
    }
}

/// The little-endian bytes of a number in their first places, and how many they are. Zero for a null.
pub(super) fn fixed_bytes(kind: ColumnType, value: Value<'_>) -> ([u8; 8], usize) {
    let width = kind.stored().map_or(0, DType::size);
    let float = |v: f64| match kind {
        ColumnType::Number(DType::Float32) => u64::from((v as f32).to_bits()),
        _ => v.to_bits(),
    };
    let bits = match (kind, value) {
        (ColumnType::Number(DType::Float32 | DType::Float64), Value::Int(v)) => float(v as f64),
        (_, Value::Float(v)) => float(v),
        // Two's complement: the low bytes of a wider integer are the narrower one.
        (_, Value::Int(v)) => v as u64,
        (_, Value::Bool(v)) => v.into(),
        _ => 0,
    };
    (bits.to_le_bytes(), width)
}

fn integer_limits(kind: ColumnType) -> Option<(i128, i128)> {
    Some(match kind {
        ColumnType::Number(DType::Int8) => (i8::MIN.into(), i8::MAX.into()),
        ColumnType::Number(DType::Int16) => (i16::MIN.into(), i16::MAX.into()),
        ColumnType::Number(DType::Int32) | ColumnType::Date => (i32::MIN.into(), i32::MAX.into()),
        ColumnType::Number(DType::UInt8) => (0, u8::MAX.into()),
        ColumnType::Number(DType::UInt16) => (0, u16::MAX.into()),
        ColumnType::Number(DType::UInt32) => (0, u32::MAX.into()),
        ColumnType::Number(DType::UInt64) => (0, u64::MAX.into()),
        ColumnType::Number(DType::Int64) | ColumnType::Timestamp(..) | ColumnType::Duration(_) => {
            (i64::MIN.into(), i64::MAX.into())
        }
        _ => return None,
    })
}

/// Integers beyond 64 bits are refused even where a float could hold them: nobody means those.
fn inexact(kind: ColumnType, given: i128, stored: f64) -> Option<String> {
    let exact = given.unsigned_abs() <= 1 << 64 && stored as i128 == given;
    (!exact).then(|| format!("{given} is no {}; convert it yourself if rounding is meant", kind.name()))
}

fn too_long(len: usize) -> Option<String> {
    (len > MAX_STRING).then(|| format!("{len} bytes are more than a column holds in one value (2^31 - 1)"))
}

impl Value<'_> {
    /// Bytes of a string; 0 for all others.
    pub(super) fn string_bytes(self) -> usize {
        match self {
            Value::Str(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Value::Null => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Str(_) => "a string",
            Value::Bytes(_) => "bytes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Codec;

    fn field(kind: FieldKind, dtype: DType) -> Field {
        Field { name: "x".into(), kind, dtype, codec: Codec::Raw, delta: 0 }
    }

    fn fits(kind: &str, value: Value<'_>) -> bool {
        value_problem(ColumnType::parse(kind).unwrap(), value).is_none()
    }

    #[test]
    fn records_of_the_right_size_and_shape_fit() {
        let dense = field(FieldKind::Dense([2, 3].into()), DType::UInt16);
        assert_eq!(record_problem(&dense, &Record { bytes: &[0; 12], shape: &[2, 3] }), None);
        assert!(record_problem(&dense, &Record { bytes: &[0; 12], shape: &[3, 2] }).is_some());
        assert!(record_problem(&dense, &Record { bytes: &[0; 11], shape: &[2, 3] }).is_some());
        let ragged = field(FieldKind::Ragged(2), DType::Float64);
        assert_eq!(record_problem(&ragged, &Record { bytes: &[], shape: &[0, 7] }), None);
        assert!(record_problem(&ragged, &Record { bytes: &[], shape: &[0] }).is_some());
        assert!(record_problem(&ragged, &Record { bytes: &[], shape: &[0, 1 << 60] }).is_some());
    }

    #[test]
    fn bool_bytes_and_text_are_looked_at() {
        let flags = field(FieldKind::Ragged(1), DType::Bool);
        assert_eq!(record_problem(&flags, &Record { bytes: &[0, 1], shape: &[2] }), None);
        assert!(record_problem(&flags, &Record { bytes: &[0, 2], shape: &[2] }).is_some());
        let text = field(FieldKind::Text, DType::UInt8);
        assert_eq!(record_problem(&text, &Record { bytes: "é\0".as_bytes(), shape: &[3] }), None);
        assert!(record_problem(&text, &Record { bytes: &[0xed, 0xa0, 0x80], shape: &[3] }).is_some());
    }

    #[test]
    fn integers_are_kept_to_their_range() {
        for (kind, low, high) in [
            ("int8", -128, 127),
            ("uint16", 0, 65535),
            ("int64", i128::from(i64::MIN), i128::from(i64::MAX)),
            ("uint64", 0, i128::from(u64::MAX)),
            ("date", i128::from(i32::MIN), i128::from(i32::MAX)),
            ("timestamp[us, UTC]", i128::from(i64::MIN), i128::from(i64::MAX)),
        ] {
            assert!(fits(kind, Value::Int(low)) && fits(kind, Value::Int(high)), "{kind}");
            assert!(!fits(kind, Value::Int(low - 1)) && !fits(kind, Value::Int(high + 1)), "{kind}");
            assert!(!fits(kind, Value::Bool(true)) && !fits(kind, Value::Float(1.0)) && fits(kind, Value::Null));
        }
    }

    #[test]
    fn no_number_is_rounded() {
        for value in [0.5, -0.0, f64::NAN, f64::INFINITY, f64::from(f32::MIN_POSITIVE)] {
            assert!(fits("float32", Value::Float(value)) && fits("float64", Value::Float(value)));
        }
        for value in [0.1, 1e300, 1e-300] {
            assert!(!fits("float32", Value::Float(value)) && fits("float64", Value::Float(value)));
        }
        assert!(fits("float32", Value::Int(1 << 24)) && !fits("float32", Value::Int((1 << 24) + 1)));
        assert!(fits("float64", Value::Int(-(1 << 53))) && !fits("float64", Value::Int((1 << 53) + 1)));
        assert!(!fits("float64", Value::Int(i128::MAX)) && !fits("float64", Value::Int(i128::MIN)));
    }

    #[test]
    fn a_single_number_becomes_an_element_of_a_type_that_holds_it() {
        let bytes = |dtype, value| scalar_bytes(dtype, value).map(|(bytes, width)| bytes[..width].to_vec());
        assert_eq!(bytes(DType::Int16, Value::Int(-2)).unwrap(), [0xfe, 0xff]);
        assert_eq!(bytes(DType::Bool, Value::Bool(true)).unwrap(), [1]);
        assert_eq!(bytes(DType::Float32, Value::Int(1)).unwrap(), 1f32.to_le_bytes());
        assert_eq!(bytes(DType::Float64, Value::Float(0.1)).unwrap(), 0.1f64.to_le_bytes());
        for (dtype, value) in [
            (DType::UInt8, Value::Int(256)),
            (DType::Int64, Value::Float(1.0)),
            (DType::Float32, Value::Float(0.1)),
            (DType::Float16, Value::Float(1.0)),
            (DType::Bool, Value::Int(1)),
            (DType::Int8, Value::Null),
        ] {
            assert!(bytes(dtype, value).is_err(), "{dtype:?} {value:?}");
        }
    }

    #[test]
    fn other_kinds_of_value_are_refused() {
        assert!(fits("string", Value::Str("")) && !fits("string", Value::Bytes(b"")));
        assert!(fits("binary", Value::Bytes(b"")) && !fits("binary", Value::Str("")));
        assert!(fits("bool", Value::Bool(false)) && !fits("bool", Value::Int(0)));
        assert!(!fits("duration[ns]", Value::Str("1")));
    }
}
