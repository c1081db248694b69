//! The files of one payload field in one cache, opened lazily.

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::cache::{Cache, Files};
use super::file::read_dictionary;
use super::shard::{Entry, Record, Shard};
use super::warmth::Warmth;
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};
use crate::format::codec::{Dictionary, check_blocks};
use crate::format::manifest::FieldEntry;
use crate::format::shard::HEADER;

/// What is open of a field.
pub(super) struct FieldFiles {
    shards: Vec<OnceBox<Shard>>,
    dictionary: OnceBox<Dictionary>,
    warmth: Warmth,
}

impl FieldFiles {
    pub(super) fn new(shards: usize) -> Result<Self> {
        let mut slots = Vec::new();
        let memory = |_| Error::new(Kind::Memory, "the manifest lists too many shards for the memory");
        slots.try_reserve_exact(shards).map_err(memory)?;
        slots.resize_with(shards, OnceBox::new);
        Ok(Self { shards: slots, dictionary: OnceBox::new(), warmth: Warmth::default() })
    }
}

/// A field of a cache that stays open as long as this does.
pub(super) struct FieldReader {
    cache: Cache,
    files: Arc<Files>,
    field: usize,
}

impl FieldReader {
    pub(super) fn new(cache: Cache, field: usize) -> Result<Self> {
        let files = cache.files()?;
        if field >= cache.manifest().fields.len() {
            return Err(Error::new(Kind::Internal, "there is no field of that number"));
        }
        Ok(Self { cache, files, field })
    }

    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(super) fn entry(&self) -> Result<&FieldEntry> {
        self.cache.manifest().fields.get(self.field).ok_or_else(lost)
    }

    pub(super) fn field(&self) -> Result<&Field> {
        Ok(&self.entry()?.field)
    }

    fn slots(&self) -> Result<&FieldFiles> {
        self.files.fields.get(self.field).ok_or_else(lost)
    }

    /// What is known of its pages.
    pub(super) fn warmth(&self) -> Result<&Warmth> {
        Ok(&self.slots()?.warmth)
    }

    /// Shard and ordinal of a sample.
    pub(super) fn locate(&self, sample: u64) -> Result<(u32, u64)> {
        self.cache.locator().find(sample).ok_or_else(|| {
            let samples = self.cache.len();
            Error::new(Kind::Index, format!("there is no sample {sample}: the cache has {samples}"))
        })
    }

    /// How many samples of its shard there are from a sample on.
    pub(super) fn left(&self, sample: u64) -> Result<u64> {
        let (number, _) = self.locate(sample)?;
        let (_, end) = self.cache.locator().range(number).ok_or_else(lost)?;
        Ok(end.saturating_sub(sample))
    }

    /// The shard of that number, opened and checked if it was not yet (R030, R031).
    pub(super) fn shard(&self, number: u32) -> Result<&Shard> {
        let slot = self.slots()?.shards.get(number as usize).ok_or_else(lost)?;
        slot.get_or_try_init(|| {
            let (first, end) = self.cache.locator().range(number).ok_or_else(lost)?;
            Shard::open(&self.files, self.cache.access(), self.entry()?, number.into(), first..end).map(Box::new)
        })
    }

    /// The dictionary, if the field has one, read and checked if it was not yet (R030, R031, R040).
    pub(super) fn dictionary(&self) -> Result<Option<&Dictionary>> {
        let entry = self.entry()?;
        let Some(file) = &entry.dictionary else { return Ok(None) };
        let dictionary = self.slots()?.dictionary.get_or_try_init(|| {
            let (_, bytes) = read_dictionary(&self.files.directory, &dictionary_name(&entry.field), file)?;
            let body = bytes.get(HEADER as usize..).unwrap_or_default();
            Dictionary::load(body).map(Box::new)
        });
        dictionary.map(Some)
    }

    /// The record of a sample in an indexed shard, with its shard and what the index says of it, checked as far as that
    /// goes before memory is asked for: up to R036, the dictionary (R040), and that its blocks can hold what it says
    /// (R037). Decoding (R037) and R038 are left.
    pub(super) fn record(&self, sample: u64) -> Result<(u32, Record, Entry<'_>)> {
        let (number, ordinal) = self.locate(sample)?;
        let record = || {
            let (field, shard) = (self.field()?, self.shard(number)?);
            let (record, entry) = shard.indexed(field, ordinal, self.cache.verify())?;
            if field.codec != Codec::Raw {
                self.dictionary()?;
                check_blocks(&shard.stored(&record)?, record.size)?;
            }
            Ok((record, entry))
        };
        let (record, entry) = record().map_err(|error: Error| self.place(error, Some(number), Some(sample)))?;
        Ok((number, record, entry))
    }

    /// The error, with its place, as one found by a read.
    pub(super) fn place(&self, error: Error, shard: Option<u32>, sample: Option<u64>) -> Error {
        let mut error = error.while_reading().in_cache(self.cache.path());
        if let Ok(field) = self.field() {
            error = error.in_field(&field.name);
        }
        if let Some(shard) = shard {
            error = error.in_shard(shard.into());
        }
        match sample {
            Some(sample) => error.at_sample(sample),
            None => error,
        }
    }
}

/// Where the dictionary of a field lies in the cache.
pub(crate) fn dictionary_name(field: &Field) -> String {
    format!("fields/{}/dictionary.bin", field.name)
}

fn lost() -> Error {
    Error::new(Kind::Internal, "the open files do not fit the manifest")
}
