//! Many samples at once: the records of each field together, as arrays and tables have them.

use super::metadata::{Columns, check_value};
use super::value::{Record, Value, record_problem};
use crate::error::{Error, Kind, Result};
use crate::field::{Field, FieldKind};

/// So many samples, field by field and column by column, in order.
#[derive(Clone, Debug)]
pub struct Samples<'a> {
    /// How many they are.
    pub count: usize,
    /// The records of each field.
    pub fields: Vec<Records<'a>>,
    /// The values of each metadata column.
    pub columns: Vec<Vec<Value<'a>>>,
}

/// The records of one field.
#[derive(Clone, Debug)]
pub enum Records<'a> {
    /// Records of one shape, one behind the other.
    Packed {
        /// All their elements, in C order and little-endian.
        bytes: &'a [u8],
        /// Bytes of each record.
        size: usize,
        /// Shape of each record.
        shape: &'a [u64],
    },
    /// Records that each lie somewhere.
    Each {
        /// The elements of each.
        bytes: Vec<&'a [u8]>,
        /// The shapes one behind the other, as many axes each as an index entry of the field has: none for dense
        /// fields. For bytes and text it may be left empty.
        shapes: Vec<u64>,
    },
}

impl Samples<'_> {
    /// Refuses samples that do not fit; `first` is the number of the first one.
    pub(super) fn check(&self, fields: &[Field], columns: &Columns, first: u64) -> Result<()> {
        if self.fields.len() != fields.len() || self.columns.len() != columns.len() {
            return Err(Error::new(Kind::Internal, "samples have other fields or columns than the cache"));
        }
        for (field, records) in fields.iter().zip(&self.fields) {
            records.check(field, self.count, first)?;
        }
        for ((name, kind), values) in columns.iter().zip(&self.columns) {
            if values.len() != self.count {
                let message = format!("{} values were given for {} samples", values.len(), self.count);
                return Err(Error::new(Kind::Schema, message).in_field(name));
            }
            for (value, sample) in values.iter().zip(first..) {
                check_value(name, *kind, *value).map_err(|error| error.at_sample(sample))?;
            }
        }
        Ok(())
    }
}

impl Records<'_> {
    fn check(&self, field: &Field, count: usize, first: u64) -> Result<()> {
        let wrong = |message: String| Err(Error::new(Kind::Schema, message).in_field(&field.name));
        match self {
            Self::Packed { bytes, size, .. } if count.checked_mul(*size) != Some(bytes.len()) => {
                return wrong(format!("{} bytes were given for {count} records of {size}", bytes.len()));
            }
            Self::Each { bytes, .. } if bytes.len() != count => {
                return wrong(format!("{} records were given for {count} samples", bytes.len()));
            }
            Self::Each { shapes, .. } => {
                let may_be_empty = matches!(field.kind, FieldKind::Bytes | FieldKind::Text);
                let complete = count.checked_mul(field.entry_axes()) == Some(shapes.len());
                if !(complete || may_be_empty && shapes.is_empty()) {
                    return wrong(format!("{} axes were given for {count} shapes", shapes.len()));
                }
            }
            Self::Packed { .. } => {}
        }
        for (place, sample) in (0..count).zip(first..) {
            if let Some(Some(problem)) = self.record(field, place, |record| record_problem(field, record)) {
                return Err(Error::new(Kind::Schema, problem).in_field(&field.name).at_sample(sample));
            }
        }
        Ok(())
    }

    /// Calls `with` for one record of a field, if there is such a one.
    pub(super) fn record<T>(&self, field: &Field, place: usize, with: impl FnOnce(&Record<'_>) -> T) -> Option<T> {
        match self {
            Self::Packed { bytes, size, shape } => {
                let start = place.checked_mul(*size)?;
                let bytes = bytes.get(start..start.checked_add(*size)?)?;
                Some(with(&Record { bytes, shape }))
            }
            Self::Each { bytes, shapes } => {
                let bytes = bytes.get(place)?;
                let length = [bytes.len() as u64];
                let shape = match &field.kind {
                    FieldKind::Dense(shape) => shape,
                    _ if shapes.is_empty() => &length[..],
                    _ => shapes.chunks_exact(field.entry_axes()).nth(place)?,
                };
                Some(with(&Record { bytes, shape }))
            }
        }
    }
}
