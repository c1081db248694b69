//! Dense fields: every record has its place before anything is read.

use super::super::field::FieldReader;
use super::super::gather::{Damage, Id, Planned, Rows};
use super::super::shard::{MappedRecord, Record};
use super::ahead::{Finder, ahead};
use super::{Readers, reserved, too_large};
use crate::batch::{Layout, Span, Spans};
use crate::copy::Stores;
use crate::dtype::Element;
use crate::error::{Error, Kind, Result};
use crate::field::FieldKind;
use crate::format::codec::decode;
use crate::format::shard::dense_bytes;

/// Neighbouring records are taken together up to so many bytes: they are still near when their checksums are made.
const TOGETHER: u64 = 256 << 10;

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
            records = reserved(&rows, 1)?;
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

    /// Asks for the record of the sample at `place`, if it can be copied from where it is mapped.
    fn ask<'b>(&self, finder: &mut Finder<'b>, place: usize) -> Option<Found<'b>> {
        let (near, ordinal) = finder.find(*self.rows.ids.get(place)?)?;
        if !near.field.is_fixed() {
            return None;
        }
        let record = near.shard.mapped_fixed(self.stride, ordinal)?;
        record.ask();
        Some(Found { record, verify: near.verify })
    }

    /// How many samples from `place` on are taken together: neighbours in a fixed shard lie back to back in the file,
    /// and in the batch.
    fn neighbours(&self, place: usize) -> Result<usize> {
        let Some((first, rest)) = self.rows.ids.get(place..).and_then(<[Id]>::split_first) else { return Ok(0) };
        let follows = |(id, k): &(&Id, u64)| id.cache == first.cache && id.sample == first.sample + k;
        // At random this is all there is to know.
        if rest.first().is_none_or(|next| !follows(&(next, 1))) {
            return Ok(1);
        }
        let reader = self.readers.of(*first)?;
        if !reader.field()?.is_fixed() {
            return Ok(1);
        }
        let left = reader.left(first.sample)?;
        let most = left.min((TOGETHER / (self.stride as u64).max(1)).max(1));
        Ok(1 + rest.iter().zip(1..most).take_while(follows).count())
    }

    /// Writes the records of `count` samples from `place` on.
    fn records(&self, place: usize, count: usize, out: &mut [u8]) -> Result<()> {
        let id = *self.rows.ids.get(place).ok_or_else(lost)?;
        let reader = self.readers.of(id)?;
        if reader.field()?.is_fixed() {
            return copy(reader, id.sample, count as u64, self.stride as u64, out);
        }
        let (number, record) = self.records.get(place).ok_or_else(lost)?;
        let mut decoded = || {
            let stored = reader.shard(*number)?.stored(record)?;
            decode(reader.field()?, reader.dictionary()?, &stored, out)
        };
        decoded().map_err(|error| reader.place(error, Some(*number), Some(id.sample)))
    }

    /// Writes the record of the sample at `place`, or zeros.
    fn one(&self, place: usize, out: &mut [u8], damage: &mut Damage) -> Result<()> {
        if !damage.is_damaged(place) {
            let Err(error) = self.records(place, 1, out) else { return Ok(()) };
            damage.report(place, error)?;
        }
        out.fill(0);
        Ok(())
    }
}

/// Checks a compressed record up to what must be known before memory is asked for.
fn check(reader: &FieldReader, sample: u64) -> Result<(u32, Record)> {
    if reader.field()?.is_fixed() {
        return Ok(Default::default());
    }
    reader.record(sample).map(|(number, record, _)| (number, record))
}

/// Neighbouring records of a fixed shard: copied and checked.
fn copy(reader: &FieldReader, sample: u64, count: u64, stride: u64, out: &mut [u8]) -> Result<()> {
    let (number, ordinal) = reader.locate(sample)?;
    let copied =
        reader.shard(number).and_then(|shard| shard.fixed(stride, ordinal, count, reader.cache().verify(), out));
    copied.map_err(|error| reader.place(error, Some(number), Some(sample)))
}

/// A record that can be copied from where it is mapped.
struct Found<'a> {
    record: MappedRecord<'a>,
    verify: bool,
}

impl Planned for Dense<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], damage: &mut Damage) -> Result<Layout> {
        let mut rest = self.values.of_mut(buffer)?;
        let stores = Stores::of(rest.len());
        let mut finder = Finder::new(&self.readers);
        let ask = |place| self.ask(&mut finder, place);
        let mut done = 0;
        ahead(self.rows.len(), ask, |place, found: Option<Found>| {
            if place < done {
                return Ok(());
            }
            if let Some(Found { record, verify }) = found {
                let out = rest.get_mut(..self.stride).ok_or_else(lost)?;
                if record.copy(verify, out, stores) {
                    rest = std::mem::take(&mut rest).get_mut(self.stride..).ok_or_else(lost)?;
                    done = place + 1;
                    return Ok(());
                }
            }
            let count = self.neighbours(place)?;
            let (out, after) = std::mem::take(&mut rest).split_at_mut_checked(count * self.stride).ok_or_else(lost)?;
            rest = after;
            // Where one of several is damaged, it is found and named when each is read alone.
            if count == 1 || self.records(place, count, out).is_err() {
                let mut rest = out;
                for place in place..place + count {
                    let (out, after) = rest.split_at_mut_checked(self.stride).ok_or_else(lost)?;
                    rest = after;
                    self.one(place, out, damage)?;
                }
            }
            done = place + count;
            Ok(())
        })?;
        let field = self.readers.field()?;
        let FieldKind::Dense(axes) = &field.kind else { return Err(lost()) };
        let shape = std::iter::once(self.rows.len() as u64).chain(axes.iter().copied()).collect();
        Ok(Layout::Dense { element: Element::Plain(field.dtype), shape, values: self.values })
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a dense batch does not fit its plan")
}
