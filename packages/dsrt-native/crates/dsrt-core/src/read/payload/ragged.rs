//! Ragged fields, bytes and text: the sizes of all records are known, and checked, before memory is asked for.

use super::super::gather::{Damage, Id, Planned, Rows};
use super::super::shard::{Record, axes as axes_of};
use super::{Readers, reserved, too_large};
use crate::batch::{Layout, Span, Spans, fill_offsets};
use crate::error::{Error, Kind, Result};
use crate::field::FieldKind;
use crate::format::codec::decode;

/// A record and the shard it lies in.
#[derive(Default)]
struct Item {
    shard: u32,
    record: Record,
}

/// A batch of a field whose records differ in size.
pub(super) struct Ragged<'a> {
    readers: Readers,
    rows: Rows<'a>,
    items: Vec<Item>,
    /// The axes of each record, if they are part of the batch.
    axes: Vec<u64>,
    values: Span,
    offsets: Span,
    shapes: Option<Span>,
}

impl<'a> Ragged<'a> {
    pub(super) fn plan(readers: Readers, rows: Rows<'a>, spans: &mut Spans, damage: &mut Damage) -> Result<Self> {
        let mut items = reserved(&rows, 1)?;
        let ndim = match readers.field()?.kind {
            FieldKind::Ragged(ndim @ 2..) => ndim as usize,
            _ => 0,
        };
        let mut axes = reserved(&rows, ndim)?;
        let mut total = 0u64;
        for (place, id) in rows.ids.iter().enumerate() {
            let item = match readers.of(*id)?.record(id.sample) {
                Ok((shard, record, entry)) => {
                    axes.extend(axes_of(entry.shape()).take(ndim));
                    Item { shard, record }
                }
                Err(error) => {
                    damage.report(place, error)?;
                    Item::default()
                }
            };
            total = total.checked_add(item.record.size).ok_or_else(too_large)?;
            items.push(item);
            axes.resize(ndim * (place + 1), 0);
        }
        let values = spans.reserve(total)?;
        let samples = rows.len() as u64;
        let offsets = spans.reserve(8 * (samples + 1))?;
        let shapes = if ndim > 0 { Some(spans.reserve(8 * axes.len() as u64)?) } else { None };
        Ok(Self { readers, rows, items, axes, values, offsets, shapes })
    }

    fn record(&self, item: &Item, id: Id, out: &mut [u8]) -> Result<()> {
        let reader = self.readers.of(id)?;
        let mut decoded = || {
            let stored = reader.shard(item.shard)?.stored(&item.record)?;
            let field = reader.field()?;
            decode(field, reader.dictionary()?, &stored, out)?;
            if field.kind == FieldKind::Text {
                check_text(out)?;
            }
            Ok(())
        };
        decoded().map_err(|error| reader.place(error, Some(item.shard), Some(id.sample)))
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
}

impl Planned for Ragged<'_> {
    fn fill(mut self: Box<Self>, buffer: &mut [u8], damage: &mut Damage) -> Result<Layout> {
        let mut items = std::mem::take(&mut self.items);
        let mut values = self.values;
        let out = values.of_mut(buffer)?;
        values.len = 0;
        for (place, (item, id)) in items.iter_mut().zip(self.rows.ids).enumerate() {
            if damage.is_damaged(place) {
                continue;
            }
            let size = usize::try_from(item.record.size).map_err(|_| too_large())?;
            let out = out.get_mut(values.len..).and_then(|rest| rest.get_mut(..size)).ok_or_else(lost)?;
            match self.record(item, *id, out) {
                Ok(()) => values.len += size,
                // The next record takes its place.
                Err(error) => {
                    damage.report(place, error)?;
                    item.record.size = 0;
                }
            }
        }
        self.items = items;
        let field = self.readers.field()?;
        let itemsize = field.dtype.size() as u64;
        fill_offsets(self.offsets.of_mut(buffer)?, self.items.iter().map(|item| item.record.size / itemsize));
        let offsets = self.offsets;
        Ok(match field.kind {
            FieldKind::Ragged(ndim) => {
                if let Some(span) = self.shapes {
                    self.fill_shapes(ndim as usize, span.of_mut(buffer)?, damage);
                }
                Layout::Ragged { dtype: field.dtype, ndim, values, offsets, shapes: self.shapes }
            }
            _ => Layout::Strings { text: field.kind == FieldKind::Text, values, offsets, valid: None },
        })
    }
}

/// R038.
fn check_text(bytes: &[u8]) -> Result<()> {
    std::str::from_utf8(bytes).map(drop).map_err(|error| {
        let message = format!("the text is not UTF-8 from byte {} on", error.valid_up_to());
        Error::rule(Kind::Format, 38, message)
    })
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a ragged batch does not fit its plan")
}
