//! One mapped shard file: the records in it, each checked before it is used.

use std::sync::Arc;

use memmap2::Mmap;

use super::directory::Directory;
use super::file::check_header;
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};
use crate::format::checksum::{self, digest};
use crate::format::codec::check_frame;
use crate::format::header;
use crate::format::manifest::{FieldEntry, FileEntry};
use crate::format::shard::{HEADER, dense_bytes, index_start, record_bytes};

/// A shard, mapped, whose header is the one that the manifest implies.
pub(super) struct Shard {
    map: Arc<Mmap>,
    /// Where the index begins.
    index: u64,
    key: u32,
}

/// A stored record that passed every check but decoding: where it lies, and how large it will be.
#[derive(Clone, Copy, Default)]
pub(super) struct Record {
    /// Its first byte in the file.
    pub at: u64,
    /// Bytes it has there.
    pub stored: u64,
    /// Bytes it decodes to.
    pub size: u64,
}

/// What the index says of a record.
pub(super) struct Entry<'a> {
    at: u64,
    stored: &'a [u8],
    crc: u32,
    /// The shape as the index holds it: 8 bytes an axis.
    pub shape: &'a [u8],
}

impl Shard {
    /// Opens, checks (R030, R031) and maps shard number `number`.
    pub(super) fn open(directory: &Directory, entry: &FieldEntry, number: u64, count: u64) -> Result<Self> {
        let name = file_name(&entry.field, number);
        let lost = || Error::new(Kind::Internal, format!("{name} is not in the manifest"));
        let file = usize::try_from(number).ok().and_then(|number| entry.files.get(number)).ok_or_else(lost)?;
        let map = directory.map(&name, file.bytes)?;
        check_header(&name, &map, &header::shard(&entry.field, count, file.bytes, &file.body))?;
        let index = index_start(&entry.field, file.bytes, count).ok_or_else(lost)?;
        Ok(Self { map: Arc::new(map), index, key: checksum::key(&file.body) })
    }

    /// The whole file.
    pub(super) fn map(&self) -> &Arc<Mmap> {
        &self.map
    }

    /// The index as it stands in the file, proven by its own digest (R039).
    pub(super) fn proven_index(&self, file: &FileEntry) -> Result<&[u8]> {
        let index = self.bytes(self.index, self.map.len() as u64)?;
        if file.index.is_some_and(|expected| expected != digest(index)) {
            let message = "the index does not match its digest: lengths cannot be read from it";
            return Err(Error::rule(Kind::Format, 39, message));
        }
        Ok(index)
    }

    /// Record `ordinal` of a fixed shard (R033). `stride` is the field's.
    pub(super) fn fixed(&self, stride: u64, ordinal: u64, verify: bool) -> Result<&[u8]> {
        // Neither overflows: the whole file has a length.
        let lo = HEADER + ordinal * stride;
        let stored = self.bytes(lo, lo + stride)?;
        if verify {
            let crc = self.u32(self.index + 4 * ordinal)?;
            self.verify(stored, ordinal, &[], crc)?;
        }
        Ok(stored)
    }

    /// Record `ordinal` of an indexed shard, checked up to R036. What R040, R037 and R038 ask is left.
    pub(super) fn indexed(&self, field: &Field, ordinal: u64, verify: bool) -> Result<Record> {
        let entry = self.entry(field, ordinal)?;
        if verify {
            self.verify(entry.stored, ordinal, entry.shape, entry.crc)?;
        }
        let size = match dense_bytes(field) {
            Some(size) => size,
            None => shape_bytes(field, entry.shape)?,
        };
        match field.codec {
            Codec::Raw if size != entry.stored.len() as u64 => {
                let message = format!("the record has {} bytes and its shape says {size}", entry.stored.len());
                return Err(Error::rule(Kind::Format, 34, message));
            }
            Codec::Raw => {}
            Codec::Zstd | Codec::ZstdDict => check_frame(entry.stored, size)?,
        }
        Ok(Record { at: entry.at, stored: entry.stored.len() as u64, size })
    }

    /// The stored bytes of a record.
    pub(super) fn stored(&self, record: &Record) -> Result<&[u8]> {
        self.bytes(record.at, record.at.saturating_add(record.stored))
    }

    /// The index entry of a record and the range it names (R032).
    pub(super) fn entry(&self, field: &Field, ordinal: u64) -> Result<Entry<'_>> {
        let width = field.entry_bytes() as u64;
        let at = self.index + ordinal * width;
        let entry = self.bytes(at, at + width)?;
        let lost = || Error::new(Kind::Internal, "an index entry is cut off");
        let (end, rest) = entry.split_first_chunk::<8>().ok_or_else(lost)?;
        let (crc, shape) = rest.split_first_chunk::<4>().ok_or_else(lost)?;
        let lo = if ordinal == 0 { HEADER } else { self.u64(at - width)? };
        let hi = u64::from_le_bytes(*end);
        if !(HEADER <= lo && lo <= hi && hi <= self.index) {
            let message =
                format!("the index puts the record at bytes {lo} to {hi}, outside {HEADER} to {}", self.index);
            return Err(Error::rule(Kind::Format, 32, message));
        }
        Ok(Entry { at: lo, stored: self.bytes(lo, hi)?, crc: u32::from_le_bytes(*crc), shape })
    }

    fn verify(&self, stored: &[u8], ordinal: u64, shape: &[u8], crc: u32) -> Result<()> {
        if checksum::record(stored, ordinal, shape) ^ self.key == crc {
            return Ok(());
        }
        let message = "the checksum of the record differs: it is damaged on the disk or in the copy";
        Err(Error::rule(Kind::Format, 33, message))
    }

    fn bytes(&self, from: u64, to: u64) -> Result<&[u8]> {
        let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
        let bytes = range.and_then(|(from, to)| self.map.get(from..to));
        bytes.ok_or_else(|| Error::new(Kind::Internal, format!("bytes {from} to {to} lie outside the file")))
    }

    fn u32(&self, at: u64) -> Result<u32> {
        let bytes = self.bytes(at, at + 4)?.first_chunk();
        bytes.map(|b| u32::from_le_bytes(*b)).ok_or_else(|| Error::new(Kind::Internal, "a checksum is cut off"))
    }

    fn u64(&self, at: u64) -> Result<u64> {
        let bytes = self.bytes(at, at + 8)?.first_chunk();
        bytes.map(|b| u64::from_le_bytes(*b)).ok_or_else(|| Error::new(Kind::Internal, "an index entry is cut off"))
    }
}

/// Where a shard file lies in the cache.
pub(super) fn file_name(field: &Field, number: u64) -> String {
    format!("fields/{}/{number:05}.shard", field.name)
}

/// The axes of a shape as the index holds it.
pub(super) fn axes(shape: &[u8]) -> impl Iterator<Item = u64> {
    shape.as_chunks::<8>().0.iter().map(|axis| u64::from_le_bytes(*axis))
}

/// Bytes of a record of that shape (R034).
pub(super) fn shape_bytes(field: &Field, shape: &[u8]) -> Result<u64> {
    record_bytes(axes(shape), field.dtype.size()).ok_or_else(|| {
        let shape: Vec<_> = axes(shape).collect();
        Error::rule(Kind::Format, 34, format!("the shape {shape:?} of the record is beyond the limits of the format"))
    })
}
