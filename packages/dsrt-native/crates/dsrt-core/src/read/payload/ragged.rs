//! Ragged fields, bytes and text: the sizes of all records are known, and checked, before memory is asked for.

use std::cell::Cell;

use super::super::gather::{Damage, Pace, Planned, Rows, Threads};
use super::super::shard::axes as axes_of;
use super::super::widen::Widening;
use super::ahead::ahead;
use super::finder::{self, Finder};
use super::indexed::{self, Item};
use super::share::{Found, Part, Shares};
use super::{Readers, too_large};
use crate::batch::{Layout, Span, Spans, fill_offsets};
use crate::copy::Stores;
use crate::error::{Error, Kind, Result};
use crate::field::FieldKind;
use crate::lists::List;

/// A batch of a field whose records differ in size.
pub(super) struct Ragged<'a> {
    readers: Readers,
    rows: Rows<'a>,
    items: List<Item>,
    widening: Widening,
    /// The axes of each record, if they are part of the batch.
    axes: List<u64>,
    values: Span,
    offsets: Span,
    shapes: Option<Span>,
}

impl<'a> Ragged<'a> {
    pub(super) fn plan(
        readers: Readers,
        widening: Widening,
        rows: Rows<'a>,
        spans: &mut Spans,
        damage: &mut Damage,
    ) -> Result<Self> {
        let ndim = match readers.field()?.kind {
            FieldKind::Ragged(ndim @ 2..) => ndim as usize,
            _ => 0,
        };
        thread_local!(static AXES: Cell<Vec<u64>> = const { Cell::new(Vec::new()) });
        let mut axes = List::take(&AXES, rows.len().checked_mul(ndim).ok_or_else(too_large)?)?;
        let mut total = 0u64;
        let items = indexed::plan(&readers, &rows, damage, |item, shape| {
            total = total.checked_add(item.size).ok_or_else(too_large)?;
            let all = axes.len() + ndim;
            axes.extend(axes_of(shape).take(ndim));
            axes.resize(all, 0);
            Ok(())
        })?;
        let values = spans.reserve(widening.room(total).ok_or_else(too_large)?)?;
        let samples = rows.len() as u64;
        let offsets = spans.reserve(8 * (samples + 1))?;
        let shapes = if ndim > 0 { Some(spans.reserve(8 * axes.len() as u64)?) } else { None };
        Ok(Self { readers, rows, items, widening, axes, values, offsets, shapes })
    }

    /// Writes the shapes; those of damaged records are zero.
    fn fill_shapes(&self, ndim: usize, buffer: &mut [u8], damage: &Damage) {
        let shapes = buffer.as_chunks_mut::<8>().0.chunks_exact_mut(ndim);
        for (place, (out, axes)) in shapes.zip(self.axes.chunks_exact(ndim)).enumerate() {
            let damaged = damage.is_damaged(place);
            for (to, axis) in out.iter_mut().zip(axes) {
                *to = if damaged { 0 } else { *axis }.to_ne_bytes();
            }
        }
    }

    /// Writes the records of samples. The places of those that are damaged are left open.
    fn part(&self, part: Part, stores: Stores, damage: &Damage) -> Result<Found> {
        let Part { places, out: values } = part;
        let mut found = Found::new();
        let (mut asking, mut finder) = (Finder::new(&self.readers), Finder::new(&self.readers));
        let ids = self.rows.ids.get(places.clone()).ok_or_else(lost)?.iter();
        let items = self.items.get(places.clone()).ok_or_else(lost)?;
        // The entries are near: they were read a moment ago.
        let asked = ahead(ids.clone(), ids, |id| asking.indexed(*id).iter().for_each(finder::Found::ask));
        let mut pace = Pace::new(self.rows.look);
        let mut rest = values;
        for (place, (item, id)) in (places.start..).zip(items.iter().zip(asked)) {
            let (out, after) = rest.split_at_mut_checked(width(&self.widening, item)?).ok_or_else(lost)?;
            rest = after;
            let record = finder.indexed(*id);
            if record.is_some() {
                pace.record(out.len())?;
            } else {
                pace.wait(out.len())?;
            }
            let stored = self.widening.stored_part(out);
            let is_written = damage.is_damaged(place) || record.is_some_and(|record| record.write(stored, stores));
            if !is_written && let Err(error) = indexed::write(&self.readers, item, *id, stored) {
                found.push((place, damage.judge(error)?));
            } else {
                self.widening.widen(out);
            }
        }
        Ok(found)
    }

    /// Closes the gaps that damaged records have left in `values`. Gives the bytes that the others take.
    fn close_gaps(&mut self, values: &mut [u8], found: &Found) -> Result<usize> {
        let mut damaged = found.iter().map(|(place, _)| *place).peekable();
        let (mut from, mut to) = (0, 0);
        for (place, item) in self.items.iter_mut().enumerate() {
            let size = width(&self.widening, item)?;
            if damaged.next_if_eq(&place).is_some() {
                item.size = 0;
            } else {
                values.copy_within(from..from + size, to);
                to += size;
            }
            from += size;
        }
        Ok(to)
    }
}

impl Planned for Ragged<'_> {
    fn fill(mut self: Box<Self>, buffer: &mut [u8], damage: &mut Damage, threads: Threads) -> Result<Layout> {
        let mut values = self.values;
        let out = values.of_mut(buffer)?;
        let stores = self.widening.stores(out.len());
        let shares = Shares::of(out.len(), self.readers.worth(out.len(), self.rows.len()), threads);
        // The whole batch is no larger than memory, as its spans were reserved, so none of them is.
        let sizes = self.items.iter().map(|item| width(&self.widening, item).unwrap_or_default());
        let found = shares.fill(&mut *out, sizes, self.rows.look, |part| self.part(part, stores, damage))?;
        if !found.is_empty() {
            values.len = self.close_gaps(out, &found)?;
            for (place, error) in found {
                damage.report(place, error)?;
            }
        }
        let field = self.readers.field()?;
        let itemsize = field.dtype.size() as u64;
        fill_offsets(self.offsets.of_mut(buffer)?, self.items.iter().map(|item| item.size / itemsize));
        let offsets = self.offsets;
        Ok(match field.kind {
            FieldKind::Ragged(ndim) => {
                if let Some(span) = self.shapes {
                    self.fill_shapes(ndim as usize, span.of_mut(buffer)?, damage);
                }
                Layout::Ragged { dtype: self.widening.delivered(), ndim, values, offsets, shapes: self.shapes }
            }
            _ => Layout::Strings { text: field.kind == FieldKind::Text, values, offsets, valid: None },
        })
    }
}

/// Bytes of a record in the batch.
fn width(widening: &Widening, item: &Item) -> Result<usize> {
    widening.room(item.size).and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(too_large)
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a ragged batch does not fit its plan")
}
