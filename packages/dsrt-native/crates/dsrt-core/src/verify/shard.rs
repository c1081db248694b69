//! One shard file: header, index, pad, records, digest of the body.

use super::control::{Control, Meter};
use super::dictionary::Decoder;
use super::engine::Scratch;
use super::level::Level;
use super::pieces::{PIECE, Pieces};
use super::problem::Place;
use super::reader::Reader;
use super::record::{Entry, Records};
use super::report::Report;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::checksum::{digest, key};
use crate::format::header;
use crate::format::manifest::FileEntry;
use crate::format::shard::{HEADER, check_range, dense_bytes, index_start};
use crate::read::{Directory, check_header, shard_file_name};

/// Ends that go up and down let every record be the whole file: so much of it is read and no more.
pub(crate) const MOST_READ: u64 = 16;

/// The check of one shard file.
pub(super) struct ShardJob<'a> {
    pub directory: &'a Directory,
    pub level: Level,
    /// The number of the field.
    pub field: usize,
    pub entry: &'a Field,
    pub file: &'a FileEntry,
    pub shard: u64,
    /// Records in it.
    pub count: u64,
    /// The sample that its first record is of.
    pub first: u64,
}

impl ShardJob<'_> {
    /// Bytes of the file that are looked at.
    pub(super) fn bytes(&self) -> u64 {
        match self.level {
            Level::Structure => HEADER + if self.entry.is_fixed() { 0 } else { self.index_bytes() },
            _ => self.file.bytes,
        }
    }

    fn index_bytes(&self) -> u64 {
        // No more than 2^20 records of 260 bytes.
        self.count.saturating_mul(self.entry.entry_bytes() as u64)
    }

    fn place(&self) -> Place {
        Place { field: Some(self.entry.name.clone()), shard: Some(self.shard), sample: None }
    }

    pub(super) fn check(
        &self,
        decoder: Option<&Decoder>,
        control: &Control,
        scratch: &mut Scratch,
        report: &mut Report,
    ) -> Result<()> {
        let mut meter = Meter::new(control, self.bytes());
        let name = shard_file_name(self.entry, self.shard);
        let mut whole = Report::default();
        let mut records = Report::default();
        let checked = self.check_file(name, decoder, &mut meter, scratch, &mut whole, &mut records);
        report.append(whole);
        report.append(records);
        match checked {
            Ok(()) => Ok(()),
            // The file is not there as it should be, ended while it was read, or cannot be read.
            Err(error) => report.ended(error, &self.place(), &mut meter),
        }
    }

    fn check_file(
        &self,
        name: String,
        decoder: Option<&Decoder>,
        meter: &mut Meter,
        scratch: &mut Scratch,
        whole: &mut Report,
        records: &mut Report,
    ) -> Result<()> {
        let reader = Reader::open(self.directory, &name, self.file.bytes)?;
        let lost = || Error::new(Kind::Internal, format!("{name} has no place for its index"));
        let index_at = index_start(self.entry, self.file.bytes, self.count).ok_or_else(lost)?;
        let reads_records = self.level > Level::Structure;
        // A small file is one piece, index and all.
        let end = match reads_records {
            true if self.file.bytes <= PIECE => self.file.bytes,
            true => index_at,
            false => 0,
        };
        let Scratch { piece, index, stored, decoded } = scratch;
        let hashed = (self.level == Level::Digests).then_some(index_at);
        let control = meter.control();
        let mut pieces = Pieces::new(&reader, meter, piece, end, hashed);
        let mut head = [0; HEADER as usize];
        pieces.copy(0, &mut head)?;
        let expected = header::shard(self.entry, self.count, self.file.bytes, &self.file.body);
        if let Err(error) = check_header(&name, &head, &expected) {
            whole.found_at(error, &self.place())?;
        }
        // The checksums of a fixed shard are all its index, and needed with the records only.
        index.clear();
        if reads_records || !self.entry.is_fixed() {
            let length = self.index_bytes() as usize;
            let memory = |_| Error::new(Kind::Memory, format!("the index of {name} does not fit the memory"));
            index.try_reserve_exact(length).map_err(memory)?;
            index.resize(length, 0);
            pieces.copy(index_at, index)?;
        }
        if self.file.index.is_some_and(|expected| expected != digest(index)) {
            let message = format_args!("the index does not match its digest: lengths of records cannot be trusted");
            whole.add(39, &self.place(), message);
        }
        let checks = Records::new(self.entry, decoder, key(&self.file.body), control);
        let mut last = HEADER;
        let mut room = (index_at - HEADER).saturating_mul(MOST_READ);
        for ordinal in 0..self.count {
            let place = || Place { sample: Some(self.first + ordinal), ..self.place() };
            let entry = match self.index_entry(index, ordinal, last, index_at)? {
                Some(entry) => entry,
                None => break,
            };
            last = entry.to;
            if let Err(error) = check_range(entry.from, entry.to, index_at) {
                records.found_at(error, &place())?;
            } else if entry.to - entry.from > room {
                let Entry { from, to, .. } = entry;
                let message = format_args!(
                    "the index puts the record at bytes {from} to {to}, and with those before it that is more than \
                     {MOST_READ} times what there is; it is not read"
                );
                records.add(32, &place(), message);
            } else {
                room -= entry.to - entry.from;
                if reads_records && let Err(error) = checks.check(&entry, &mut pieces, stored, decoded) {
                    // One that the file has become too short for ends the file.
                    if error.rule_number() == Some(30) {
                        return Err(error);
                    }
                    records.found_at(error, &place())?;
                }
            }
        }
        self.check_pad(last, index_at, &mut pieces, whole)?;
        self.take_key_off(index);
        if let Some(found) = pieces.digest(index)?
            && found != self.file.body
        {
            let message = format_args!("the body of the file does not match its digest; copy or build the cache anew");
            whole.add(50, &self.place(), message);
        }
        Ok(())
    }

    /// Entry `ordinal`; `last` is where the record before it ends. None where there is nothing to know of records.
    fn index_entry<'i>(&self, index: &'i [u8], ordinal: u64, last: u64, index_at: u64) -> Result<Option<Entry<'i>>> {
        let lost = || Error::new(Kind::Internal, "an index entry is cut off");
        let width = self.entry.entry_bytes();
        let fixed = dense_bytes(self.entry).filter(|_| self.entry.is_fixed());
        if fixed.is_some() && index.is_empty() {
            return Ok(None);
        }
        let at = (ordinal as usize).checked_mul(width).ok_or_else(lost)?;
        let bytes = index.get(at..).and_then(|rest| rest.get(..width)).ok_or_else(lost)?;
        if let Some(stride) = fixed {
            let from = HEADER + ordinal * stride;
            let to = (from + stride).min(index_at);
            let crc = bytes.first_chunk().map(|crc| u32::from_le_bytes(*crc)).ok_or_else(lost)?;
            return Ok(Some(Entry { ordinal, from, to, crc, shape: &[] }));
        }
        let (to, rest) = bytes.split_first_chunk::<8>().ok_or_else(lost)?;
        let (crc, shape) = rest.split_first_chunk::<4>().ok_or_else(lost)?;
        let (to, crc) = (u64::from_le_bytes(*to), u32::from_le_bytes(*crc));
        Ok(Some(Entry { ordinal, from: last, to, crc, shape }))
    }

    /// R051: the last record ends in the 8 bytes before the index, and what is between them is zero.
    fn check_pad(&self, last: u64, index_at: u64, pieces: &mut Pieces, whole: &mut Report) -> Result<()> {
        let end = match dense_bytes(self.entry).filter(|_| self.entry.is_fixed()) {
            Some(stride) => HEADER + stride * self.count,
            None => last,
        };
        if end < HEADER || end > index_at || index_at - end >= 8 {
            let message = format_args!("the last record ends at byte {end}, and the index begins at {index_at}");
            whole.add(51, &self.place(), message);
            return Ok(());
        }
        let mut pad = [0; 8];
        let pad = pad.get_mut(..(index_at - end) as usize).unwrap_or_default();
        pieces.copy(end, pad)?;
        if pad.iter().any(|byte| *byte != 0) {
            let message = format_args!("the bytes between the last record and the index are {pad:02x?}, not zero");
            whole.add(51, &self.place(), message);
        }
        Ok(())
    }

    /// Makes the index what it was when the digest was made.
    fn take_key_off(&self, index: &mut [u8]) {
        let [a, b, c, d] = key(&self.file.body).to_le_bytes();
        let at = if self.entry.is_fixed() { 0 } else { 8 };
        for entry in index.chunks_exact_mut(self.entry.entry_bytes()) {
            if let Some(crc) = entry.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<4>) {
                for (byte, key) in crc.iter_mut().zip([a, b, c, d]) {
                    *byte ^= key;
                }
            }
        }
    }
}
