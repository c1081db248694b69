//! One open shard file: the records in it, each checked before it is used.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::cache::Files;
use super::content::{Content, Mapped};
use super::io::Access;
use super::maps::Map;
use super::warmth::AHEAD;
use crate::copy::{Stores, ask_for, copy};
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};
use crate::format::checksum::{self, Running, digest};
use crate::format::codec::check_frame;
use crate::format::header;
use crate::format::manifest::{FieldEntry, FileEntry};
use crate::format::shard::{HEADER, check_range, check_raw, dense_bytes, index_start, record_size};

pub(super) use crate::format::shard::axes;

/// A shard whose header is the one that the manifest implies.
pub(super) struct Shard {
    content: Content,
    /// Number of its first sample in the cache.
    first: u64,
    /// How many it has.
    count: u64,
    /// Where the index begins.
    index: u64,
    key: u32,
}

/// A stored record that passed every check but decoding: where it lies, and how large it will be.
#[derive(Default)]
pub(super) struct Record {
    /// The bytes it has in the file.
    stored: Range<u64>,
    /// Those bytes, if they are not mapped: what was checked is what is decoded.
    held: Option<Vec<u8>>,
    /// Bytes it decodes to.
    pub size: u64,
}

impl Record {
    /// How many bytes it has in the file.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.stored.end.saturating_sub(self.stored.start)).unwrap_or(usize::MAX)
    }

    /// How many of them it holds itself.
    pub(super) fn held(&self) -> usize {
        self.held.as_ref().map_or(0, Vec::len)
    }
}

/// A record where it lies in a mapped file.
#[derive(Clone, Copy)]
pub(super) struct MappedRecord<'a> {
    stored: &'a [u8],
    ordinal: u64,
    crc: &'a [u8; 4],
    shape: &'a [u8],
    key: u32,
}

impl<'a> MappedRecord<'a> {
    /// The bytes it has in the file.
    pub(super) fn stored(&self) -> &'a [u8] {
        self.stored
    }

    /// The shape as the index holds it: 8 bytes an axis.
    pub(super) fn shape(&self) -> &'a [u8] {
        self.shape
    }

    /// Asks for what is read of it first.
    #[inline]
    pub(super) fn ask(&self) {
        ask_for(self.crc);
        ask_for(self.stored);
    }

    /// Whether it has its checksum (R033).
    pub(super) fn is_sound(&self) -> bool {
        checksum::record(self.stored, self.ordinal, self.shape) ^ self.key == u32::from_le_bytes(*self.crc)
    }

    /// Copies the record to `out`, which has exactly its size, and says whether it is as it was written: if `verify` is
    /// set, the very bytes that were copied have the checksum (R033). If not, what `out` holds means nothing.
    #[inline]
    pub(super) fn copy(&self, verify: bool, out: &mut [u8], stores: Stores) -> bool {
        if self.stored.len() != out.len() {
            return false;
        }
        if !verify {
            copy(self.stored, out, stores);
            return true;
        }
        let mut crc = Running::default();
        crc.copy(self.stored, out, stores);
        crc.end(self.ordinal, self.shape) ^ self.key == u32::from_le_bytes(*self.crc)
    }
}

/// What the index says of a record.
pub(super) struct Entry<'a> {
    stored: Range<u64>,
    crc: u32,
    bytes: Cow<'a, [u8]>,
    /// Where the shape begins in `bytes`.
    shape: usize,
}

impl Entry<'_> {
    /// The shape as the index holds it: 8 bytes an axis.
    pub(super) fn shape(&self) -> &[u8] {
        self.bytes.get(self.shape..).unwrap_or_default()
    }
}

impl Shard {
    /// Opens and checks (R030, R031) shard number `number`, which holds the samples `samples`.
    pub(super) fn open(
        files: &Files,
        access: Access,
        entry: &FieldEntry,
        number: u64,
        samples: Range<u64>,
    ) -> Result<Self> {
        let name = file_name(&entry.field, number);
        let lost = || Error::new(Kind::Internal, format!("{name} is not in the manifest"));
        let file = usize::try_from(number).ok().and_then(|number| entry.files.get(number)).ok_or_else(lost)?;
        let count = samples.end.saturating_sub(samples.start);
        let index = index_start(&entry.field, file.bytes, count).ok_or_else(lost)?;
        let header = header::shard(&entry.field, count, file.bytes, &file.body);
        let content = Content::open(&files.directory, access, files.maps, name, file.bytes, header)?;
        Ok(Self { content, first: samples.start, count, index, key: checksum::key(&file.body) })
    }

    /// The index as it stands in the file, proven by its own digest (R039).
    pub(super) fn proven_index(&self, file: &FileEntry) -> Result<Cow<'_, [u8]>> {
        self.content.expect(self.index..self.content.len());
        let index = self.content.bytes(self.index, self.content.len())?;
        if file.index.is_some_and(|expected| expected != digest(&index)) {
            let message = "the index does not match its digest: lengths cannot be read from it";
            return Err(Error::rule(Kind::Format, 39, message));
        }
        Ok(index)
    }

    /// A record of a mapped fixed shard as it lies there, unchecked. None if it is not mapped.
    #[inline]
    pub(super) fn mapped_fixed(&self, stride: usize, ordinal: u64) -> Option<MappedRecord<'_>> {
        let Content::Mapped(Mapped { map, .. }) = &self.content else { return None };
        let start = (HEADER as usize).checked_add(stride.checked_mul(ordinal as usize)?)?;
        let stored = map.get(start..start.checked_add(stride)?)?;
        let crc = map.get(self.index as usize + 4 * ordinal as usize..)?.first_chunk()?;
        Some(MappedRecord { stored, ordinal, crc, shape: &[], key: self.key })
    }

    /// A record of a mapped indexed shard, in the range that its entry names (R032), otherwise unchecked. None if something
    /// is wrong, or it is not mapped.
    #[inline]
    pub(super) fn mapped_indexed(&self, field: &Field, ordinal: u64) -> Option<MappedRecord<'_>> {
        let Content::Mapped(Mapped { map, .. }) = &self.content else { return None };
        let (before, entry) =
            map.get(self.entry_range(field, ordinal))?.split_at_checked(self.before(field, ordinal))?;
        let (end, rest) = entry.split_first_chunk::<8>()?;
        let (crc, shape) = rest.split_first_chunk::<4>()?;
        let lo = before.first_chunk::<8>().map_or(HEADER, |end| u64::from_le_bytes(*end));
        let hi = u64::from_le_bytes(*end);
        let stored = map.get(lo as usize..hi as usize).filter(|_| HEADER <= lo && hi <= self.index)?;
        Some(MappedRecord { stored, ordinal, crc, shape, key: self.key })
    }

    /// Asks for the index entry of a record, if it is mapped.
    #[inline]
    pub(super) fn ask_entry(&self, field: &Field, ordinal: u64) {
        if let Content::Mapped(Mapped { map, .. }) = &self.content {
            ask_for(map.get(self.entry_range(field, ordinal)).unwrap_or_default());
        }
    }

    /// Its file, to ask about it and for parts of it.
    pub(super) fn content(&self) -> &Content {
        &self.content
    }

    /// Where the index tells of a record.
    pub(super) fn index_range(&self, field: &Field, ordinal: u64) -> Range<u64> {
        let range = match field.is_fixed() {
            true => self.index as usize + 4 * ordinal as usize..self.index as usize + 4 * ordinal as usize + 4,
            false => self.entry_range(field, ordinal),
        };
        range.start as u64..range.end as u64
    }

    /// Where a record lies; of an indexed shard, as its entry says. None if that cannot be.
    pub(super) fn record_range(&self, field: &Field, ordinal: u64) -> Option<Range<u64>> {
        if !field.is_fixed() {
            return Some(self.entry(field, ordinal).ok()?.stored);
        }
        let stride = dense_bytes(field)?;
        let from = HEADER + ordinal * stride;
        Some(from..from + stride)
    }

    /// Bytes of the file for each of its records.
    pub(super) fn bytes_a_record(&self) -> u64 {
        self.content.len() / self.count.max(1)
    }

    /// Puts `count` neighbouring records of a fixed shard into `out`, which has exactly their size, and checks them
    /// there (R033). `stride` is the field's. After an error, what `out` holds means nothing.
    pub(super) fn fixed(&self, stride: u64, ordinal: u64, count: u64, verify: bool, out: &mut [u8]) -> Result<()> {
        // Nothing overflows: the whole file has a length.
        self.content.read(HEADER + ordinal * stride, out)?;
        match count {
            _ if !verify => Ok(()),
            1 => {
                let mut crc = [0; 4];
                self.content.read(self.index + 4 * ordinal, &mut crc)?;
                self.verify(out, ordinal, &[], u32::from_le_bytes(crc))
            }
            _ => self.verify_fixed(stride, ordinal, count, out),
        }
    }

    /// The mapped bytes of `count` neighbouring records of a fixed shard, checked (R033). None if it is not mapped.
    pub(super) fn fixed_map(
        &self,
        stride: u64,
        ordinal: u64,
        count: u64,
        verify: bool,
    ) -> Result<Option<(&Arc<Map>, Range<usize>)>> {
        let Content::Mapped(Mapped { map, .. }) = &self.content else { return Ok(None) };
        let from = HEADER + ordinal * stride;
        let to = from + count * stride;
        // A long view is read in order, now or by somebody who will not ask.
        if !verify || to - from > AHEAD {
            self.content.expect_all();
        } else {
            self.content.expect(self.index + 4 * ordinal..self.index + 4 * (ordinal + count));
            self.content.expect(from..to);
        }
        let records = self.content.bytes(from, to)?;
        if verify {
            self.verify_fixed(stride, ordinal, count, &records)?;
        }
        Ok(Some((map, from as usize..to as usize)))
    }

    /// Compares the checksums of neighbouring records of a fixed shard (R033).
    fn verify_fixed(&self, stride: u64, ordinal: u64, count: u64, records: &[u8]) -> Result<()> {
        let from = self.index + 4 * ordinal;
        let crcs = self.content.bytes(from, from + 4 * count)?;
        let mut rest = records;
        for (ordinal, crc) in (ordinal..).zip(crcs.as_chunks::<4>().0) {
            let lost = || Error::new(Kind::Internal, "records of a fixed shard are cut off");
            let (record, after) = rest.split_at_checked(stride as usize).ok_or_else(lost)?;
            let checked = self.verify(record, ordinal, &[], u32::from_le_bytes(*crc));
            checked.map_err(|error| error.at_sample(self.first + ordinal))?;
            rest = after;
        }
        Ok(())
    }

    /// Record `ordinal` of an indexed shard, checked up to R036, and what the index says of it. What R040, R037 and
    /// R038 ask is left.
    pub(super) fn indexed(&self, field: &Field, ordinal: u64, verify: bool) -> Result<(Record, Entry<'_>)> {
        let entry = self.entry(field, ordinal)?;
        let stored = self.content.bytes(entry.stored.start, entry.stored.end)?;
        if verify {
            self.verify(&stored, ordinal, entry.shape(), entry.crc)?;
        }
        let size = record_size(field, entry.shape())?;
        match field.codec {
            Codec::Raw => check_raw(stored.len() as u64, size)?,
            Codec::Zstd | Codec::ZstdDict => check_frame(&stored, size)?,
        }
        let held = match stored {
            Cow::Borrowed(_) => None,
            Cow::Owned(stored) => Some(stored),
        };
        Ok((Record { stored: entry.stored.clone(), held, size }, entry))
    }

    /// The stored bytes of a record.
    pub(super) fn stored<'a>(&'a self, record: &'a Record) -> Result<Cow<'a, [u8]>> {
        match &record.held {
            Some(stored) => Ok(Cow::Borrowed(stored)),
            None => self.content.bytes(record.stored.start, record.stored.end),
        }
    }

    /// The index entry of a record and the range it names (R032).
    fn entry(&self, field: &Field, ordinal: u64) -> Result<Entry<'_>> {
        let before = self.before(field, ordinal);
        let range = self.entry_range(field, ordinal);
        let bytes = self.content.bytes(range.start as u64, range.end as u64)?;
        let lost = || Error::new(Kind::Internal, "an index entry is cut off");
        let (previous, entry) = bytes.split_at_checked(before).ok_or_else(lost)?;
        let (end, rest) = entry.split_first_chunk::<8>().ok_or_else(lost)?;
        let crc = rest.first_chunk::<4>().map(|crc| u32::from_le_bytes(*crc)).ok_or_else(lost)?;
        let lo = previous.first_chunk::<8>().map_or(HEADER, |end| u64::from_le_bytes(*end));
        let hi = u64::from_le_bytes(*end);
        check_range(lo, hi, self.index)?;
        Ok(Entry { stored: lo..hi, crc, bytes, shape: before + 12 })
    }

    /// Where the entry of a record lies, and the one before it, which says where the record begins. Nothing overflows: the
    /// whole file has a length.
    fn entry_range(&self, field: &Field, ordinal: u64) -> Range<usize> {
        let at = self.index as usize + ordinal as usize * field.entry_bytes();
        at - self.before(field, ordinal)..at + field.entry_bytes()
    }

    /// Bytes of the entry before, if there is one.
    fn before(&self, field: &Field, ordinal: u64) -> usize {
        if ordinal == 0 { 0 } else { field.entry_bytes() }
    }

    fn verify(&self, stored: &[u8], ordinal: u64, shape: &[u8], crc: u32) -> Result<()> {
        checksum::compare(checksum::record(stored, ordinal, shape), self.key, crc)
    }
}

/// Where a shard file lies in the cache.
pub(crate) fn file_name(field: &Field, number: u64) -> String {
    format!("fields/{}/{number:05}.shard", field.name)
}
