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

    /// The whole file (R041).
    fn read(&self, reader: &Reader, meter: &mut Meter, report: &mut Report) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let memory = || Error::new(Kind::Memory, format!("{METADATA} does not fit the memory"));
        let length = usize::try_from(self.entry.bytes).map_err(|_| memory())?;
        bytes.try_reserve_exact(length).map_err(|_| memory())?;
        for (number, expected) in (0..).zip(&self.entry.chunks) {
            let from = number * CHUNK;
            let end = self.entry.bytes.min(from + CHUNK);
            let mut at = from;
            while at < end {
                let to = end.min(at + PIECE);
                meter.spend(to - at)?;
                bytes.resize(to as usize, 0);
                reader.read(at, bytes.get_mut(at as usize..).unwrap_or_default())?;
                at = to;
            }
            if digest(bytes.get(from as usize..).unwrap_or_default()) != *expected {
                let message = format_args!(
                    "bytes {from} to {end} of {METADATA} do not match their digest; copy or build the cache anew"
                );
                report.add(41, &Place::default(), message);
            }
        }
        Ok(bytes)
    }
}
