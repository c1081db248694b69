//! Dense fields: every record has its place before anything is read.

use super::super::field::FieldReader;
use super::super::gather::{Damage, Id, Planned, Rows};
use super::super::shard::Record;
use super::{Readers, reserved, too_large};
use crate::batch::{Layout, Span, Spans};
use crate::dtype::Element;
use crate::error::{Error, Kind, Result};
use crate::field::FieldKind;
use crate::format::codec::decode;
use crate::format::shard::dense_bytes;

/// A batch of a dense field.
pub(super) struct Dense<'a> {
    readers: Readers,
    rows: Rows<'a>,
    /// Compressed records, checked before memory is asked for: a manifest may claim any shape. One for each sample,
    /// or none at all if no cache compresses the field.
    records: Vec<(u32, Record)>,
    stride: usize,
    values: Span,
}

impl<'a> Dense<'a> {
    pub(super) fn plan(readers: Readers, rows: Rows<'a>, spans: &mut Spans, damage: &mut Damage) -> Result<Self> {
        let stride = dense_bytes(readers.field()?).ok_or_else(lost)?;
        let mut records = Vec::new();
        if !readers.0.iter().all(|reader| reader.field().is_ok_and(|field| field.is_fixed())) {
            records = reserved(&rows)?;
            for (place, id) in rows.ids.iter().enumerate() {
                match check(readers.of(*id)?, id.sample) {
                    Ok(record) => records.push(record),
                    Err(error) => {
                        damage.report(place, error)?;
                        records.push(Default::default());
                    }
                }
            }
        }
        let values = spans.reserve(stride.checked_mul(rows.len() as u64).ok_or_else(too_large)?)?;
        let stride = usize::try_from(stride).map_err(|_| too_large())?;
        Ok(Self { readers, rows, records, stride, values })
    }

    fn record(&self, place: usize, id: Id, out: &mut [u8]) -> Result<()> {
        let reader = self.readers.of(id)?;
        if reader.field()?.is_fixed() {
            return copy(reader, id.sample, out);
        }
        let (number, record) = self.records.get(place).ok_or_else(lost)?;
        let mut decoded = || {
            let stored = reader.shard(*number)?.stored(record)?;
            decode(reader.field()?, reader.dictionary()?, stored, out)
        };
        decoded().map_err(|error| reader.place(error, Some(*number), Some(id.sample)))
    }
}

/// Checks a compressed record up to what must be known before memory is asked for.
fn check(reader: &FieldReader, sample: u64) -> Result<(u32, Record)> {
    if reader.field()?.is_fixed() {
        return Ok(Default::default());
    }
    reader.record(sample).map(|(number, _, record)| (number, record))
}

/// A record of a fixed shard: checked and copied.
fn copy(reader: &FieldReader, sample: u64, out: &mut [u8]) -> Result<()> {
    let (number, ordinal) = reader.locate(sample)?;
    let mut copied = || {
        let stored = reader.shard(number)?.fixed(out.len() as u64, ordinal, reader.cache().verify())?;
        out.copy_from_slice(stored);
        Ok(())
    };
    copied().map_err(|error| reader.place(error, Some(number), Some(sample)))
}

impl Planned for Dense<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], damage: &mut Damage) -> Result<Layout> {
        let mut rest = self.values.of_mut(buffer)?;
        for (place, id) in self.rows.ids.iter().enumerate() {
            let (out, after) = rest.split_at_mut_checked(self.stride).ok_or_else(lost)?;
            rest = after;
            if damage.is_damaged(place) {
                out.fill(0);
            } else if let Err(error) = self.record(place, *id, out) {
                damage.report(place, error)?;
                out.fill(0);
            }
        }
        let field = self.readers.field()?;
        let FieldKind::Dense(axes) = &field.kind else { return Err(lost()) };
        let shape = std::iter::once(self.rows.len() as u64).chain(axes.iter().copied()).collect();
        Ok(Layout::Dense { element: Element::Plain(field.dtype), shape, values: self.values })
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a dense batch does not fit its plan")
}
