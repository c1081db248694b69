//! Records that are copied or decoded from where they are mapped.
//!
//! This is the fast way, and it tells no errors: where anything is not as it should be, it says that it cannot, and the
//! usual way finds out what, and says so.

use std::ops::Range;

use super::super::field::FieldReader;
use super::super::gather::Id;
use super::super::shard::{MappedRecord, Shard};
use super::Readers;
use crate::copy::Stores;
use crate::field::{Codec, Field, FieldKind};
use crate::format::codec::{check_blocks, check_frame, decode};
use crate::format::shard::record_size;

/// Finds records, one after another: most often in the shard where the last one was.
pub(super) struct Finder<'a> {
    readers: &'a Readers,
    near: Option<Near<'a>>,
}

/// An open shard, and what holds for all records in it.
struct Near<'a> {
    cache: u32,
    first: u64,
    end: u64,
    shard: &'a Shard,
    reader: &'a FieldReader,
    field: &'a Field,
}

/// A sample in its shard, mapped or not.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub cache: u32,
    /// The first sample of the shard.
    pub first: u64,
    /// The sample after its last.
    pub end: u64,
    pub shard: &'a Shard,
    pub reader: &'a FieldReader,
    pub field: &'a Field,
    pub ordinal: u64,
}

impl Place<'_> {
    /// Where the index tells of the sample, if that is read.
    pub(super) fn entry(&self) -> Option<Range<u64>> {
        let is_read = !self.field.is_fixed() || self.reader.cache().verify();
        is_read.then(|| self.shard.index_range(self.field, self.ordinal))
    }

    /// Where its record lies, which the index of an indexed shard has to be read for. None if that cannot be.
    pub(super) fn record(&self) -> Option<Range<u64>> {
        self.shard.record_range(self.field, self.ordinal)
    }
}

/// A mapped record.
pub(super) struct Found<'a> {
    record: MappedRecord<'a>,
    reader: &'a FieldReader,
    field: &'a Field,
}

impl<'a> Finder<'a> {
    pub(super) fn new(readers: &'a Readers) -> Self {
        Self { readers, near: None }
    }

    /// The shard of a sample, and what the sample is in it.
    #[inline]
    fn find(&mut self, id: Id) -> Option<(&Near<'a>, u64)> {
        if !self.near.as_ref().is_some_and(|near| near.has(id)) {
            self.near = Some(Near::new(self.readers.of(id).ok()?, id)?);
        }
        let near = self.near.as_ref()?;
        Some((near, id.sample - near.first))
    }

    /// Finds the shard of a sample, and what the sample is in it.
    pub(super) fn place(&mut self, id: Id) -> Option<Place<'a>> {
        let (&Near { cache, first, end, shard, reader, field }, ordinal) = self.find(id)?;
        Some(Place { cache, first, end, shard, reader, field, ordinal })
    }

    /// Finds a record of `stride` bytes, of a dense field.
    #[inline]
    pub(super) fn dense(&mut self, id: Id, stride: usize) -> Option<Found<'a>> {
        let (&Near { shard, reader, field, .. }, ordinal) = self.find(id)?;
        let record = match field.is_fixed() {
            true => shard.mapped_fixed(stride, ordinal)?,
            false => shard.mapped_indexed(field, ordinal)?,
        };
        Some(Found { record, reader, field })
    }

    /// Finds the record of an indexed shard by its entry (R032).
    #[inline]
    pub(super) fn indexed(&mut self, id: Id) -> Option<Found<'a>> {
        let (&Near { shard, reader, field, .. }, ordinal) = self.find(id)?;
        if field.is_fixed() {
            return None;
        }
        let record = shard.mapped_indexed(field, ordinal)?;
        Some(Found { record, reader, field })
    }

    /// Asks for the entry of a record in an indexed shard.
    #[inline]
    pub(super) fn ask_entry(&mut self, id: Id) {
        if let Some((near, ordinal)) = self.find(id) {
            near.shard.ask_entry(near.field, ordinal);
        }
    }
}

impl<'a> Near<'a> {
    #[inline]
    fn has(&self, id: Id) -> bool {
        self.cache == id.cache && (self.first..self.end).contains(&id.sample)
    }

    fn new(reader: &'a FieldReader, id: Id) -> Option<Self> {
        let (number, ordinal) = reader.locate(id.sample).ok()?;
        let (first, end) = (id.sample - ordinal, id.sample + reader.left(id.sample).ok()?);
        Some(Self {
            cache: id.cache,
            first,
            end,
            shard: reader.shard(number).ok()?,
            reader,
            field: reader.field().ok()?,
        })
    }
}

impl<'a> Found<'a> {
    /// Asks for what is read of it first.
    #[inline]
    pub(super) fn ask(&self) {
        self.record.ask();
    }

    /// The shape as the index holds it.
    pub(super) fn shape(&self) -> &'a [u8] {
        self.record.shape()
    }

    /// How large the record is, if what tells so fits together: shape, frame and dictionary (R034 to R037, R040). Its
    /// checksum is not compared, and it is not decoded.
    pub(super) fn size(&self) -> Option<u64> {
        let stored = self.record.stored();
        let size = record_size(self.field, self.shape()).ok()?;
        let fits = match self.field.codec {
            Codec::Raw => size == stored.len() as u64,
            Codec::Zstd | Codec::ZstdDict => {
                check_frame(stored, size).is_ok()
                    && self.reader.dictionary().is_ok()
                    && check_blocks(stored, size).is_ok()
            }
        };
        fits.then_some(size)
    }

    /// Writes the record to `out`, which has exactly its size, and says whether that is what was stored (R033, R037,
    /// R038, R040). If not, what `out` holds means nothing.
    #[inline]
    pub(super) fn write(&self, out: &mut [u8], stores: Stores) -> bool {
        let verify = self.reader.cache().verify();
        if self.field.codec == Codec::Raw {
            return self.record.copy(verify, out, stores) && self.is_text_if_it_must(self.record.stored());
        }
        let Ok(dictionary) = self.reader.dictionary() else { return false };
        (!verify || self.record.is_sound())
            && decode(self.field, dictionary, self.record.stored(), out).is_ok()
            && self.is_text_if_it_must(out)
    }

    fn is_text_if_it_must(&self, bytes: &[u8]) -> bool {
        self.field.kind != FieldKind::Text || std::str::from_utf8(bytes).is_ok()
    }
}
