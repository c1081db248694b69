//! metadata.arrow: R030, R041 of every chunk, and if all are right, R042 to R046.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;

use super::control::{Control, Meter};
use super::pieces::PIECE;
use super::problem::Place;
use super::reader::Reader;
use super::report::Report;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::digest;
use crate::format::manifest::{CHUNK, MetadataEntry};
use crate::format::metadata::Chunks;
use crate::read::{Directory, METADATA, Table};

/// The check of the metadata.
pub(super) struct MetadataJob<'a> {
    pub directory: &'a Directory,
    pub entry: &'a MetadataEntry,
    /// Rows that there must be; none if no number of rows is right.
    pub samples: Option<u64>,
    /// Names of the payload fields.
    pub fields: BTreeSet<&'a str>,
}

impl MetadataJob<'_> {
    pub(super) fn check(&self, control: &Control, report: &mut Report) -> Result<()> {
        let mut meter = Meter::new(control, self.entry.bytes);
        match self.check_file(&mut meter, report) {
            Ok(()) => Ok(()),
            Err(error) => {
                // Where in a column or message it lies is said by the message; the names of columns are judged by R045.
                let field = error.place().field.clone().filter(|_| matches!(error.rule_number(), Some(45 | 46)));
                report.ended(error, &Place { field, ..Place::default() }, &mut meter)
            }
        }
    }

    fn check_file(&self, meter: &mut Meter, report: &mut Report) -> Result<()> {
        let reader = Reader::open(self.directory, METADATA, self.entry.bytes)?;
        let bytes = self.read(&reader, meter, report)?;
        drop(reader);
        if !report.is_empty() {
            return Ok(());
        }
        let chunks = Chunks::proven(Bytes::from_owner(bytes), &self.entry.chunks);
        let path = Arc::from("");
        let table = Table::new(&path, self.samples.unwrap_or(u64::MAX), chunks, &self.fields)?;
        table.validate(&mut || meter.check())?;
        table.weight_breaches(&mut |error| report.found(error))
    }

    /// The whole file (R041). Once a chunk is wrong nothing of it is used: the others are read into the place of one.
    fn read(&self, reader: &Reader, meter: &mut Meter, report: &mut Report) -> Result<Vec<u8>> {
        let mut bytes = room(self.entry.bytes)?;
        for (number, expected) in (0..).zip(&self.entry.chunks) {
            let from = number * CHUNK;
            let end = self.entry.bytes.min(from + CHUNK);
            let start = bytes.len();
            let mut at = from;
            while at < end {
                let to = end.min(at + PIECE);
                meter.spend(to - at)?;
                let filled = bytes.len();
                bytes.resize(filled + (to - at) as usize, 0);
                reader.read(at, bytes.get_mut(filled..).unwrap_or_default())?;
                at = to;
            }
            if digest(bytes.get(start..).unwrap_or_default()) != *expected {
                if report.is_empty() {
                    drop(bytes);
                    bytes = room(CHUNK.min(self.entry.bytes))?;
                }
                let message = format_args!(
                    "bytes {from} to {end} of {METADATA} do not match their digest; copy or build the cache anew"
                );
                report.add(41, &Place::default(), message);
            }
            if !report.is_empty() {
                bytes.clear();
            }
        }
        Ok(bytes)
    }
}

fn room(bytes: u64) -> Result<Vec<u8>> {
    let memory = || Error::new(Kind::Memory, format!("{METADATA} does not fit the memory"));
    let mut room = Vec::new();
    room.try_reserve_exact(usize::try_from(bytes).map_err(|_| memory())?).map_err(|_| memory())?;
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_with_a_wrong_chunk_one_chunk_is_in_memory_and_every_wrong_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let content = vec![7; 3 * CHUNK as usize + 5];
        std::fs::write(folder.path().join(METADATA), &content).unwrap();
        let right: Vec<_> = content.chunks(CHUNK as usize).map(digest).collect();
        let directory = Directory::open(folder.path()).unwrap();
        for (wrong, kept) in [(&[][..], content.len()), (&[0, 2], CHUNK as usize), (&[3], CHUNK as usize)] {
            let mut chunks = right.clone();
            wrong.iter().for_each(|number: &usize| chunks[*number][0] ^= 1);
            let entry = MetadataEntry { bytes: content.len() as u64, chunks };
            let job = MetadataJob { directory: &directory, entry: &entry, samples: None, fields: BTreeSet::new() };
            let (control, mut report) = (Control::new(None), Report::default());
            let reader = Reader::open(&directory, METADATA, entry.bytes).unwrap();
            let bytes = job.read(&reader, &mut Meter::new(&control, entry.bytes), &mut report).unwrap();
            assert_eq!((bytes.capacity(), report.into_problems().len()), (kept, wrong.len()));
        }
    }
}
