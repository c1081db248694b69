//! Samples on their way to the threads: copied into one piece of memory a field, so that neither a lock nor an
//! allocation is needed for each.

use super::samples::Records;
use super::spill;
use super::value::{Record, Value};
use crate::error::{Error, Kind, Result};
use crate::field::Field;

/// A block is handed over when it has so many bytes. It still lies in a core's own cache then.
pub(super) const BLOCK: usize = 1 << 20;

/// What a record takes beside its bytes.
const OVERHEAD: usize = 16;

/// Some samples in a row.
#[derive(Default)]
pub(super) struct Block {
    pub fields: Vec<Part>,
    pub rows: Rows,
    pub count: usize,
    /// Bytes in it, more or less.
    pub size: usize,
}

/// The records of one field of a block, given or encoded.
#[derive(Default)]
pub(super) struct Part {
    pub bytes: Vec<u8>,
    /// Where each record ends.
    pub ends: Vec<usize>,
    /// Shapes as index entries hold them.
    pub shapes: Vec<u64>,
    /// What it counts for while it is in flight.
    pub cost: usize,
}

/// Rows of metadata as the spill has them.
#[derive(Default)]
pub(super) struct Rows {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
}

impl Block {
    /// An empty block for so many fields.
    pub(super) fn new(fields: usize) -> Self {
        Self { fields: std::iter::repeat_with(Part::default).take(fields).collect(), ..Self::default() }
    }

    /// Appends a sample that was checked. If there is no memory for it, the block stays as it is.
    pub(super) fn push(&mut self, fields: &[Field], records: &[Record<'_>], row: &[Value<'_>]) -> Result<()> {
        for ((part, field), record) in self.fields.iter_mut().zip(fields).zip(records) {
            part.reserve(field, record.bytes.len())?;
        }
        for ((part, field), record) in self.fields.iter_mut().zip(fields).zip(records) {
            self.size += part.push(field, record);
        }
        self.push_row(row);
        Ok(())
    }

    /// The same for one of many samples.
    pub(super) fn push_one_of(
        &mut self,
        fields: &[Field],
        records: &[Records<'_>],
        place: usize,
        row: &[Value<'_>],
    ) -> Result<()> {
        let lost = || Error::new(Kind::Internal, "samples were not checked");
        for ((part, field), records) in self.fields.iter_mut().zip(fields).zip(records) {
            records.record(field, place, |record| part.reserve(field, record.bytes.len())).ok_or_else(lost)??;
        }
        for ((part, field), records) in self.fields.iter_mut().zip(fields).zip(records) {
            self.size += records.record(field, place, |record| part.push(field, record)).ok_or_else(lost)?;
        }
        self.push_row(row);
        Ok(())
    }

    fn push_row(&mut self, row: &[Value<'_>]) {
        if !row.is_empty() {
            let start = self.rows.bytes.len();
            spill::encode(row, &mut self.rows.bytes);
            self.rows.ends.push(self.rows.bytes.len());
            self.size += self.rows.bytes.len() - start + OVERHEAD;
        }
        self.count += 1;
    }
}

impl Part {
    /// Room for the bytes of one more record of the field.
    pub(super) fn reserve(&mut self, field: &Field, bytes: usize) -> Result<()> {
        let refused = || Error::new(Kind::Memory, format!("no memory for {bytes} bytes of a record"));
        self.bytes.try_reserve(bytes).map_err(|_| refused().in_field(&field.name))
    }

    /// Appends a record; what it adds to the size of the block.
    fn push(&mut self, field: &Field, record: &Record<'_>) -> usize {
        self.bytes.extend_from_slice(record.bytes);
        self.ends.push(self.bytes.len());
        if field.entry_axes() > 0 {
            self.shapes.extend_from_slice(record.shape);
        }
        record.bytes.len() + OVERHEAD + size_of_val(record.shape)
    }

    /// The records from one place up to another, with the place in the bytes where each begins and ends.
    pub(super) fn records(&self, from: usize, to: usize) -> impl Iterator<Item = &[u8]> {
        let mut start = self.start(from);
        self.ends.get(from..to).unwrap_or_default().iter().map(move |end| {
            let record = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            record
        })
    }

    /// Where in the bytes a record begins.
    pub(super) fn start(&self, place: usize) -> usize {
        place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0)
    }

    /// Forgets the records and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.shapes.clear();
        self.cost = 0;
    }

    /// Bytes in it.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + 8 * (self.ends.len() + self.shapes.len())
    }

    /// Bytes of memory that it holds.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + 8 * (self.ends.capacity() + self.shapes.capacity())
    }
}

impl Rows {
    /// The rows from one place up to another. None at all if the cache has no columns.
    pub(super) fn between(&self, from: usize, to: usize) -> &[u8] {
        let end = |place: usize| place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.bytes.get(end(from)..end(to)).unwrap_or_default()
    }
}
