//! Records of indexed shards before memory is asked for: how large each of them is, proven as far as that takes.

use std::cell::Cell;

use super::super::field::FieldReader;
use super::super::gather::{Damage, Id, Pace, Rows};
use super::super::shard::Record;
use super::ahead::ahead;
use super::finder::{Finder, Found};
use super::{Readers, dense, too_large};
use crate::error::{Error, Kind, Result};
use crate::field::FieldKind;
use crate::format::codec::decode;
use crate::format::shard::dense_bytes;
use crate::lists::List;

thread_local!(static ITEMS: Cell<Vec<Item>> = const { Cell::new(Vec::new()) });

/// The largest record whose size is believed before its checksum was compared: so much memory a damaged index may cost.
const BELIEVED: u64 = 16 << 20;

/// The most bytes of records that are kept from being checked until they have a place. Those beyond are read again: what a
/// loader holds is bounded by the memory of its batches, which is not asked for before all sizes are known.
const HELD: usize = 16 << 20;

/// A record that is planned.
#[derive(Default)]
pub(super) struct Item {
    /// Bytes it has in the batch.
    pub size: u64,
    /// What passed every check but decoding. None where all that is to be done, or to be done again, or nothing.
    checked: Option<Box<(u32, Record)>>,
}

/// No items.
pub(super) fn none() -> Result<List<Item>> {
    List::take(&ITEMS, 0)
}

/// Plans a record of each sample. `each` gets its shape as the index holds it, which is none of a damaged one. Samples of
/// caches with fixed shards, where nothing needs to be known, are left out.
pub(super) fn plan(
    readers: &Readers,
    rows: &Rows,
    damage: &mut Damage,
    mut each: impl FnMut(&Item, &[u8]) -> Result<()>,
) -> Result<List<Item>> {
    let mut items = List::take(&ITEMS, rows.len())?;
    let [mut entries, mut records, mut finder] = [(); 3].map(|()| Finder::new(readers));
    let ids = rows.ids.iter();
    let entries = ahead(ids.clone(), ids.clone(), |id| entries.ask_entry(*id));
    let asked = ahead(ids, entries, |id| records.indexed(*id).iter().for_each(Found::ask));
    let mut pace = Pace::new(rows.look);
    let mut spare = HELD;
    for (place, id) in asked.enumerate() {
        pace.record(0)?;
        let found = finder.indexed(*id);
        let size = found.as_ref().and_then(Found::size).filter(|size| *size <= BELIEVED);
        let item = if let (Some(found), Some(size)) = (found, size) {
            let item = Item { size, checked: None };
            each(&item, found.shape())?;
            item
        } else if readers.of(*id)?.field()?.is_fixed() {
            Item::default()
        } else {
            let read = readers.of(*id)?.record(id.sample);
            pace.wait(read.as_ref().map_or(0, |(_, record, _)| record.bytes()))?;
            match read {
                Ok((number, record, entry)) => {
                    let left = spare.checked_sub(record.held());
                    spare = left.unwrap_or(spare);
                    let size = record.size;
                    let item = Item { size, checked: left.map(|_| Box::new((number, record))) };
                    each(&item, entry.shape())?;
                    item
                }
                Err(error) => {
                    if damage.raises() {
                        check_before(readers, rows, place)?;
                    }
                    damage.report(place, error)?;
                    each(&Item::default(), &[])?;
                    Item::default()
                }
            }
        };
        items.push(item);
    }
    Ok(items)
}

/// Finds the first error of the samples before `place`, which were not read yet.
fn check_before(readers: &Readers, rows: &Rows, place: usize) -> Result<()> {
    let mut scratch = Vec::new();
    let mut pace = Pace::new(rows.look);
    for id in rows.ids.iter().take(place) {
        let reader = readers.of(*id)?;
        let field = reader.field()?;
        if field.is_fixed() {
            let stride = dense_bytes(field).ok_or_else(too_large)?;
            dense::copy(reader, id.sample, 1, stride, room(&mut scratch, stride)?)?;
        } else {
            let (number, record, _) = reader.record(id.sample)?;
            decoded(reader, number, &record, *id, room(&mut scratch, record.size)?)?;
        }
        pace.wait(scratch.len())?;
    }
    Ok(())
}

/// A place for `size` bytes.
fn room(scratch: &mut Vec<u8>, size: u64) -> Result<&mut [u8]> {
    let size = usize::try_from(size).map_err(|_| too_large())?;
    scratch.clear();
    scratch.try_reserve(size).map_err(|_| too_large())?;
    scratch.resize(size, 0);
    Ok(scratch)
}

/// Writes a planned record the usual way, every check of it done or made up for.
pub(super) fn write(readers: &Readers, item: &Item, id: Id, out: &mut [u8]) -> Result<()> {
    let reader = readers.of(id)?;
    match &item.checked {
        Some(checked) => {
            let (number, record) = &**checked;
            decoded(reader, *number, record, id, out)
        }
        None => {
            let (number, record, _) = reader.record(id.sample)?;
            if record.size != out.len() as u64 {
                return Err(Error::new(Kind::Internal, "a record has another size than was planned"));
            }
            decoded(reader, number, &record, id, out)
        }
    }
}

fn decoded(reader: &FieldReader, number: u32, record: &Record, id: Id, out: &mut [u8]) -> Result<()> {
    let mut decoded = || {
        let stored = reader.shard(number)?.stored(record)?;
        let field = reader.field()?;
        decode(field, reader.dictionary()?, &stored, out)?;
        if field.kind == FieldKind::Text { check_text(out) } else { Ok(()) }
    };
    decoded().map_err(|error| reader.place(error, Some(number), Some(id.sample)))
}

/// R038.
fn check_text(bytes: &[u8]) -> Result<()> {
    std::str::from_utf8(bytes).map(drop).map_err(|error| {
        let message = format!("the text is not UTF-8 from byte {} on", error.valid_up_to());
        Error::rule(Kind::Format, 38, message)
    })
}
