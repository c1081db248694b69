//! The dictionary of a field: R030, R031, R040.

use std::sync::Arc;

use super::control::{Control, Meter};
use super::problem::Place;
use super::reader::Reader;
use super::report::Report;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::digest;
use crate::format::codec::Dictionary;
use crate::format::header;
use crate::format::manifest::FileEntry;
use crate::format::shard::HEADER;
use crate::read::{Directory, check_header};

/// What the records of a field with a dictionary are decoded with.
pub(super) enum Decoder {
    /// The dictionary.
    Loaded(Dictionary),
    /// It is damaged, not there, or could not be read: records are not decoded.
    Damaged,
}

/// The check of one dictionary.
pub(super) struct DictionaryJob<'a> {
    pub directory: &'a Directory,
    /// The number of the field.
    pub number: usize,
    pub field: Arc<str>,
    pub name: String,
    pub file: &'a FileEntry,
    /// Whether its problems and bytes belong to this part. Shards of other parts need it, too.
    pub is_counted: bool,
}

impl DictionaryJob<'_> {
    pub(super) fn check(&self, control: &Control, report: &mut Report) -> Result<Decoder> {
        let mut meter = Meter::new(control, if self.is_counted { self.file.bytes } else { 0 });
        let place = Place { field: Some(self.field.clone()), ..Place::default() };
        let mut found = Report::default();
        let decoder = match self.read(&mut meter, &place, &mut found) {
            Ok(dictionary) => Decoder::Loaded(dictionary),
            Err(error) => {
                found.ended(error, &place, &mut meter)?;
                Decoder::Damaged
            }
        };
        // Without it the records of this part are not proven either, so that it is unread in each.
        report.append(if self.is_counted { found } else { found.without_problems() });
        Ok(decoder)
    }

    fn read(&self, meter: &mut Meter, place: &Place, found: &mut Report) -> Result<Dictionary> {
        let reader = Reader::open(self.directory, &self.name, self.file.bytes)?;
        meter.spend(self.file.bytes)?;
        // At most a header and 1 MiB (R019).
        let mut bytes = vec![0; self.file.bytes as usize];
        reader.read(0, &mut bytes)?;
        let (head, body) = bytes.split_at_checked(HEADER as usize).unwrap_or_default();
        let expected = header::dictionary(self.file.bytes, &self.file.body);
        if let Err(error) = check_header(&self.name, head, &expected) {
            found.found_at(error, place)?;
        }
        if digest(body) != self.file.body {
            let message = format!("{} does not match its digest; copy or build the cache anew", self.name);
            return Err(Error::rule(Kind::Format, 40, message));
        }
        Dictionary::load(body)
    }
}
