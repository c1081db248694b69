//! A column beside the caches: one value for each row of a population, held in memory as Arrow holds it.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit as Unit};

use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::format::metadata;

/// The values of one column, in the order of the rows.
#[derive(Debug)]
pub struct Column {
    kind: ColumnType,
    len: usize,
    nulls: Option<NullBuffer>,
    values: Values,
}

/// All buffers begin at row 0, whatever array they came from.
#[derive(Debug)]
enum Values {
    /// Elements of so many bytes.
    Fixed(usize, Buffer),
    Bits(BooleanBuffer),
    /// Ends of strings in a buffer; the first entry is the first one's start.
    Strings(Ends, Buffer),
    Views(BinaryViewArray),
}

#[derive(Debug)]
enum Ends {
    Small(arrow_buffer::OffsetBuffer<i32>),
    Large(arrow_buffer::OffsetBuffer<i64>),
}

impl Column {
    /// Takes an Arrow array without copying it. Types without a word of ours are refused, with advice.
    pub fn from_arrow(array: &ArrayRef) -> Result<Self> {
        let kind = column_type(array.data_type())?;
        let values = match array.data_type() {
            DataType::Boolean => Values::Bits(array.as_boolean().values().clone()),
            DataType::Utf8 => small(array.as_string::<i32>().offsets(), array.as_string::<i32>().values()),
            DataType::Binary => small(array.as_binary::<i32>().offsets(), array.as_binary::<i32>().values()),
            DataType::LargeUtf8 => large(array.as_string::<i64>().offsets(), array.as_string::<i64>().values()),
            DataType::LargeBinary => large(array.as_binary::<i64>().offsets(), array.as_binary::<i64>().values()),
            DataType::Utf8View => Values::Views(array.as_string_view().clone().to_binary_view()),
            DataType::BinaryView => Values::Views(array.as_binary_view().clone()),
            _ => fixed(array, kind)?,
        };
        Ok(Self { kind, len: array.len(), nulls: array.logical_nulls(), values })
    }

    /// What the values are.
    pub fn kind(&self) -> ColumnType {
        self.kind
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of rows without a value.
    pub fn null_count(&self) -> usize {
        self.nulls.as_ref().map_or(0, NullBuffer::null_count)
    }

    /// Whether `row` has no value.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| row < nulls.len() && nulls.is_null(row))
    }

    /// The first row without a value.
    pub fn first_null(&self) -> Option<usize> {
        (self.null_count() > 0).then(|| (0..self.len).find(|row| self.is_null(*row))).flatten()
    }

    /// The bytes of a number or string; of a bool one byte. None for a row that is not there, or broken Arrow data.
    /// Under a null they mean nothing.
    pub fn bytes(&self, row: usize) -> Option<&[u8]> {
        if row >= self.len {
            return None;
        }
        match &self.values {
            Values::Fixed(width, buffer) => buffer.as_slice().get(row * width..(row + 1) * width),
            Values::Bits(bits) => Some(if bits.value(row) { &[1] } else { &[0] }),
            Values::Strings(ends, buffer) => {
                let (from, to) = ends.range(row)?;
                buffer.as_slice().get(from..to)
            }
            Values::Views(views) => view(views, row),
        }
    }
}

impl Ends {
    fn range(&self, row: usize) -> Option<(usize, usize)> {
        match self {
            Self::Small(ends) => Some((ends.get(row)?.as_usize(), ends.get(row + 1)?.as_usize())),
            Self::Large(ends) => Some((ends.get(row)?.as_usize(), ends.get(row + 1)?.as_usize())),
        }
    }
}

fn small(ends: &arrow_buffer::OffsetBuffer<i32>, values: &Buffer) -> Values {
    Values::Strings(Ends::Small(ends.clone()), values.clone())
}

fn large(ends: &arrow_buffer::OffsetBuffer<i64>, values: &Buffer) -> Values {
    Values::Strings(Ends::Large(ends.clone()), values.clone())
}

fn fixed(array: &ArrayRef, kind: ColumnType) -> Result<Values> {
    let width = kind.stored().map_or(1, DType::size);
    let data = array.to_data();
    let (from, len) = (data.offset() * width, data.len() * width);
    match data.buffers() {
        [buffer] if buffer.len() >= from + len => Ok(Values::Fixed(width, buffer.slice_with_length(from, len))),
        _ => Err(Error::new(Kind::Schema, "its Arrow buffers are shorter than its length says")),
    }
}

/// A string of a view array, found with every step checked: arrays come from other libraries.
fn view(views: &BinaryViewArray, row: usize) -> Option<&[u8]> {
    let view = *views.views().get(row)?;
    let len = view as u32 as usize;
    if len <= 12 {
        let start = row * 16 + 4;
        return views.views().inner().as_slice().get(start..start + len);
    }
    let (buffer, start) = ((view >> 64) as u32 as usize, (view >> 96) as usize);
    views.data_buffers().get(buffer)?.as_slice().get(start..start + len)
}

/// Our word for an Arrow type.
fn column_type(kind: &DataType) -> Result<ColumnType> {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => Ok(ColumnType::String),
        DataType::Binary | DataType::LargeBinary => Ok(ColumnType::Binary),
        // The types that caches store.
        _ => metadata::column_type(kind).ok_or_else(|| refused(kind, advice(kind))),
    }
}

fn advice(kind: &DataType) -> &'static str {
    match kind {
        DataType::Dictionary(..) => "a categorical or enum: cast it to string or to its integer codes",
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            "cast the decimal to float64, or to an integer of its smallest unit"
        }
        DataType::Float16 => "cast it to float32",
        DataType::Date64 => "cast it to a date of 32 bits or a timestamp",
        DataType::Time32(_) | DataType::Time64(_) => "cast the time of day to a duration",
        DataType::Timestamp(Unit::Second, _) | DataType::Duration(Unit::Second) => "cast it to milliseconds",
        DataType::Timestamp(_, Some(_)) => "convert it to the zone UTC",
        DataType::Null => "it has no values at all: cast it to the type it should have",
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::Struct(_) => {
            "split it into columns of plain values, or store it as a payload field"
        }
        _ => "cast it to a number, string, binary, date, timestamp or duration",
    }
}

fn refused(kind: &DataType, advice: &str) -> Error {
    Error::new(Kind::Schema, format!("the Arrow type {kind} cannot be a column of samples; {advice}"))
}
