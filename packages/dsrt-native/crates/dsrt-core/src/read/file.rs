//! The files of a cache as wholes, for who hands them on: open, and known to be those that the manifest implies.

use std::fs::File;

use super::cache::Cache;
use super::content::read_at;
use super::directory::Directory;
use super::field::dictionary_name;
use super::shard::file_name;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::checksum::digest;
use crate::format::header::{self, Header};
use crate::format::manifest::{FieldEntry, FileEntry};
use crate::format::shard::HEADER;

/// An open file and where it lies in its cache.
pub(crate) struct CacheFile {
    pub(crate) file: File,
    pub(crate) name: String,
}

impl Cache {
    /// Shard `number` of a field, with its length and header (R030, R031). Nothing else of it is read.
    pub(crate) fn shard_file(&self, entry: &FieldEntry, number: u64) -> Result<CacheFile> {
        let open = || {
            let name = file_name(&entry.field, number);
            let lost = || Error::new(Kind::Internal, format!("{name} is not in the manifest"));
            let place = usize::try_from(number).map_err(|_| lost())?;
            let (file, count) = entry.files.get(place).zip(self.manifest().shards.get(place)).ok_or_else(lost)?;
            let expected = header::shard(&entry.field, *count, file.bytes, &file.body);
            let bytes = file.bytes;
            let file = self.files()?.directory.open_regular(&name, bytes)?;
            let mut found: Header = [0; HEADER as usize];
            read_at(&file, &name, bytes, 0, &mut found)?;
            check_header(&name, &found, &expected)?;
            Ok(CacheFile { file, name })
        };
        open().map_err(|error: Error| error.in_shard(number).in_field(&entry.field.name).in_cache(self.path()))
    }

    /// The dictionary of a field, proven (R030, R031, R040), and the bytes of its file.
    pub(crate) fn dictionary_file(&self, field: &Field, entry: &FileEntry) -> Result<(CacheFile, Vec<u8>)> {
        let open = || {
            let name = dictionary_name(field);
            let (file, bytes) = read_dictionary(&self.files()?.directory, &name, entry)?;
            Ok((CacheFile { file, name }, bytes))
        };
        open().map_err(|error: Error| error.in_field(&field.name).in_cache(self.path()))
    }
}

/// A dictionary's file and its bytes, proven (R030, R031, R040).
pub(super) fn read_dictionary(directory: &Directory, name: &str, entry: &FileEntry) -> Result<(File, Vec<u8>)> {
    let file = directory.open_regular(name, entry.bytes)?;
    // At most a header and 1 MiB (R019).
    let mut bytes = vec![0; entry.bytes as usize];
    read_at(&file, name, entry.bytes, 0, &mut bytes)?;
    let (found, body) = bytes.split_at_checked(HEADER as usize).unwrap_or_default();
    check_header(name, found, &header::dictionary(entry.bytes, &entry.body))?;
    if digest(body) != entry.body {
        let message = format!("{name} does not match its digest; copy or build the cache anew");
        return Err(Error::rule(Kind::Format, 40, message));
    }
    Ok((file, bytes))
}

/// Compares a header with the one that the manifest implies (R031).
pub(crate) fn check_header(name: &str, found: &[u8], expected: &Header) -> Result<()> {
    if found.starts_with(expected) {
        return Ok(());
    }
    let message = format!("the header of {name} is not the one the manifest implies: it is another build's");
    Err(Error::rule(Kind::Format, 31, message))
}
