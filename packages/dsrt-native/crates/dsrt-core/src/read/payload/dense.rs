//! Dense fields: every record has its place before anything is read.

use std::ops::Range;

use super::super::field::FieldReader;
use super::super::gather::{Damage, Id, Pace, Planned, Rows, Threads};
use super::super::widen::Widening;
use super::ahead::ahead;
use super::finder::{self, Finder};
use super::indexed::{self, Item};
use super::share::{Found, Part, Shares};
use super::{Readers, too_large};
use crate::batch::{Layout, Span, Spans};
use crate::copy::Stores;
use crate::dtype::Element;
use crate::error::{Error, Kind, Result};
use crate::field::FieldKind;
use crate::format::shard::dense_bytes;
use crate::lists::List;

/// Neighbouring records are taken together up to so many bytes: they are still near when their checksums are made.
const TOGETHER: u64 = 256 << 10;

/// A batch of a dense field.
pub(super) struct Dense<'a> {
    readers: Readers,
    rows: Rows<'a>,
    /// Compressed records, checked before memory is asked for: a manifest may claim any shape. One for each sample,
    /// or none at all if no cache compresses the field.
    items: List<Item>,
    widening: Widening,
    /// Bytes of a record as it is stored.
    stride: usize,
    /// Bytes of a record in the batch.
    width: usize,
    values: Span,
}

impl<'a> Dense<'a> {
    pub(super) fn plan(
        readers: Readers,
        widening: Widening,
        rows: Rows<'a>,
        spans: &mut Spans,
        damage: &mut Damage,
    ) -> Result<Self> {
        let stride = dense_bytes(readers.field()?).ok_or_else(lost)?;
        let is_fixed = readers.all.iter().all(|reader| reader.field().is_ok_and(|field| field.is_fixed()));
        let items = if is_fixed { indexed::none()? } else { indexed::plan(&readers, &rows, damage, |_, _| Ok(()))? };
        let width = widening.room(stride).ok_or_else(too_large)?;
        let values = spans.reserve(width.checked_mul(rows.len() as u64).ok_or_else(too_large)?)?;
        let narrow = |bytes| usize::try_from(bytes).map_err(|_| too_large());
        Ok(Self { readers, rows, items, widening, stride: narrow(stride)?, width: narrow(width)?, values })
    }

    /// How many samples of `places` are taken together from its first on: neighbours in a fixed shard lie back to back
    /// in the file, and in the batch.
    fn neighbours(&self, places: Range<usize>) -> Result<usize> {
        let Some((first, rest)) = self.rows.ids.get(places).and_then(<[Id]>::split_first) else { return Ok(0) };
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

    /// Writes the records of `count` samples from `place` on, the usual way.
    fn records(&self, place: usize, count: usize, out: &mut [u8]) -> Result<()> {
        self.stored(place, count, self.widening.stored_part(out))?;
        self.widening.widen(out);
        Ok(())
    }

    /// The same, as they are stored.
    fn stored(&self, place: usize, count: usize, out: &mut [u8]) -> Result<()> {
        let id = *self.rows.ids.get(place).ok_or_else(lost)?;
        let reader = self.readers.of(id)?;
        if reader.field()?.is_fixed() {
            return copy(reader, id.sample, count as u64, self.stride as u64, out);
        }
        indexed::write(&self.readers, self.items.get(place).ok_or_else(lost)?, id, out)
    }

    /// Writes the records of samples.
    fn part(&self, part: Part, stores: Stores, damage: &Damage) -> Result<Found> {
        let Part { places, out: values } = part;
        let mut found = Found::new();
        let (mut asking, mut finder) = (Finder::new(&self.readers), Finder::new(&self.readers));
        let ids = self.rows.ids.get(places.clone()).ok_or_else(lost)?.iter();
        let asked = ahead(ids.clone(), ids, |id| asking.dense(*id, self.stride).iter().for_each(finder::Found::ask));
        let mut pace = Pace::new(self.rows.look);
        let mut done = places.start;
        for (place, id) in (places.start..).zip(asked) {
            if place < done {
                continue;
            }
            let rest = values.get_mut((place - places.start) * self.width..).ok_or_else(lost)?;
            let (out, _) = rest.split_at_mut_checked(self.width).ok_or_else(lost)?;
            let stored = self.widening.stored_part(out);
            let record = finder.dense(*id, self.stride);
            if record.is_some_and(|record| !damage.is_damaged(place) && record.write(stored, stores)) {
                self.widening.widen(out);
                pace.record(self.width)?;
            } else {
                let count = self.usual(place..places.end, rest, damage, &mut found)?;
                pace.wait(count * self.width)?;
                done = place + count;
            }
        }
        Ok(found)
    }

    /// Writes the record of the first sample of `places` to the beginning of `rest`, and those of its neighbours after it,
    /// the usual way. Gives the number of them.
    fn usual(&self, places: Range<usize>, rest: &mut [u8], damage: &Damage, found: &mut Found) -> Result<usize> {
        let place = places.start;
        let count = self.neighbours(places)?;
        let (out, _) = rest.split_at_mut_checked(count * self.width).ok_or_else(lost)?;
        // Where one of several is damaged, it is found and named when each is read alone.
        if count == 1 || self.records(place, count, out).is_err() {
            for number in 0..count {
                let out = out.get_mut(number * self.width..(number + 1) * self.width).ok_or_else(lost)?;
                self.one(place + number, out, damage, found)?;
            }
        }
        Ok(count)
    }

    /// Writes the record of the sample at `place`, or zeros.
    fn one(&self, place: usize, out: &mut [u8], damage: &Damage, found: &mut Found) -> Result<()> {
        if !damage.is_damaged(place) {
            let Err(error) = self.records(place, 1, out) else { return Ok(()) };
            found.push((place, damage.judge(error)?));
        }
        out.fill(0);
        Ok(())
    }
}

/// Neighbouring records of a fixed shard: copied and checked.
pub(super) fn copy(reader: &FieldReader, sample: u64, count: u64, stride: u64, out: &mut [u8]) -> Result<()> {
    let (number, ordinal) = reader.locate(sample)?;
    let copied =
        reader.shard(number).and_then(|shard| shard.fixed(stride, ordinal, count, reader.cache().verify(), out));
    copied.map_err(|error| reader.place(error, Some(number), Some(sample)))
}

impl Planned for Dense<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], damage: &mut Damage, threads: Threads) -> Result<Layout> {
        let values = self.values.of_mut(buffer)?;
        let stores = self.widening.stores(values.len());
        let sizes = std::iter::repeat_n(self.width, self.rows.len());
        let shares = Shares::of(values.len(), self.readers.worth(values.len(), self.rows.len()), threads);
        for (place, error) in shares.fill(values, sizes, self.rows.look, |part| self.part(part, stores, damage))? {
            damage.report(place, error)?;
        }
        let field = self.readers.field()?;
        let FieldKind::Dense(axes) = &field.kind else { return Err(lost()) };
        let shape = std::iter::once(self.rows.len() as u64).chain(axes.iter().copied()).collect();
        Ok(Layout::Dense { element: Element::Plain(self.widening.delivered()), shape, values: self.values })
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a dense batch does not fit its plan")
}
