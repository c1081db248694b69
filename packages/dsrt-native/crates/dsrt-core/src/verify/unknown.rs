//! Files that do not belong to the cache (R053). Readers ignore them.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, Mode, OFlags, openat};

use super::control::{Control, Meter};
use super::problem::Place;
use super::report::{MOST, Report};
use crate::error::{Error, Result};
use crate::format::manifest::{Inventory, ListedField};
use crate::read::{ABSENT, Directory, MANIFEST, METADATA};

/// The search for files that the manifest does not imply.
pub(super) struct UnknownJob<'a> {
    pub directory: &'a Directory,
    pub inventory: &'a Inventory,
}

const FIELDS: &[u8] = b"fields";

impl UnknownJob<'_> {
    pub(super) fn check(&self, control: &Control, report: &mut Report) -> Result<()> {
        let mut meter = Meter::new(control, 0);
        match self.search(&meter, report) {
            Ok(()) => Ok(()),
            Err(error) => report.ended(error, &Place::default(), &mut meter),
        }
    }

    /// Lists them, or none if one of the directories cannot be listed.
    fn search(&self, meter: &Meter, report: &mut Report) -> Result<()> {
        let mut unknown = Unknown::default();
        let root = self.directory.descriptor();
        each_name(&root, ".", meter, |name| {
            let is_known = name == MANIFEST.as_bytes()
                || name == FIELDS
                || (name == METADATA.as_bytes() && self.inventory.has_metadata);
            if !is_known {
                unknown.add(&[name]);
            }
        })?;
        if let Some(fields) = open(&root, FIELDS, "fields")? {
            self.check_fields(&fields, meter, &mut unknown)?;
        }
        for path in unknown.first {
            let path = shown(&path);
            let message = format_args!("{path} is no file of the cache; readers ignore it");
            report.add(53, &Place::default(), message);
        }
        report.count(53, unknown.more);
        Ok(())
    }

    fn check_fields(&self, fields: &impl AsFd, meter: &Meter, unknown: &mut Unknown) -> Result<()> {
        // A manifest may name a field twice, which is R008.
        let mut named: BTreeMap<&[u8], Named> = BTreeMap::new();
        for field in &self.inventory.fields {
            named.entry(field.name.as_bytes()).or_default().add(field);
        }
        // What was not met here is no name of a file, or leads out of the directory.
        let mut met = Vec::new();
        each_name(fields, "fields", meter, |name| match named.get_key_value(name) {
            Some(found) => met.push(found),
            None => unknown.add(&[FIELDS, name]),
        })?;
        for (field, files) in met {
            let path = format!("fields/{}", shown(field));
            let Some(folder) = open(fields, field, &path)? else { continue };
            each_name(&folder, &path, meter, |name| {
                if !files.have(name) {
                    unknown.add(&[FIELDS, field, name]);
                }
            })?;
        }
        Ok(())
    }
}

/// Paths that the manifest does not imply. There may be millions, of which only the first are listed.
#[derive(Default)]
struct Unknown {
    first: BTreeSet<Vec<u8>>,
    more: u64,
}

impl Unknown {
    fn add(&mut self, path: &[&[u8]]) {
        self.first.insert(path.join(&b'/'));
        if self.first.len() as u64 > MOST {
            self.first.pop_last();
            self.more += 1;
        }
    }
}

/// The files that a manifest lists under the name of a field.
#[derive(Default)]
struct Named {
    shards: usize,
    has_dictionary: bool,
}

impl Named {
    fn add(&mut self, field: &ListedField) {
        self.shards = self.shards.max(field.listed);
        self.has_dictionary |= field.has_dictionary;
    }

    fn have(&self, name: &[u8]) -> bool {
        if name == b"dictionary.bin" {
            return self.has_dictionary;
        }
        let Some(number) = name.strip_suffix(b".shard").and_then(|digits| std::str::from_utf8(digits).ok()) else {
            return false;
        };
        // Spelt in the one way that files are named.
        number.parse().is_ok_and(|found: usize| found < self.shards && format!("{found:05}") == number)
    }
}

/// A directory, of which a link to one is none: it might lead anywhere. `path` is its path in the cache.
fn open(at: &impl AsFd, name: &[u8], path: &str) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(at, name, flags, Mode::empty()) {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if ABSENT.contains(&error) => Ok(None),
        Err(error) => Err(Error::io_of("cannot open the directory", path, error.into())),
    }
}

fn each_name(directory: &impl AsFd, path: &str, meter: &Meter, mut tell: impl FnMut(&[u8])) -> Result<()> {
    let refused = |error: rustix::io::Errno| Error::io_of("cannot list the directory", path, error.into());
    for entry in Dir::read_from(directory).map_err(refused)? {
        meter.check()?;
        let entry = entry.map_err(refused)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            tell(name);
        }
    }
    Ok(())
}

/// The path as text; bytes that are not UTF-8 as `\xff`, and so that nothing in it moves the cursor of a terminal.
fn shown(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '"' | '\'' | '\\' => text.push(letter),
                _ => text.extend(letter.escape_debug()),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_named_in_one_way() {
        let files = Named { shards: 3, has_dictionary: false };
        for name in ["00000.shard", "00002.shard"] {
            assert!(files.have(name.as_bytes()), "{name}");
        }
        for name in
            ["00003.shard", "0000.shard", "000000.shard", "+0001.shard", "1.shard", "00001", "dictionary.bin", "x"]
        {
            assert!(!files.have(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_that_are_not_utf8_are_shown() {
        assert_eq!(shown(b"fields/a\xff/\xc3\xa9"), "fields/a\\xff/\u{e9}");
        assert_eq!(shown(b"it's\n\x1b[2J\xe2\x80\xae"), "it's\\n\\u{1b}[2J\\u{202e}");
    }

    #[test]
    fn of_any_number_of_unknown_files_the_first_are_kept_and_the_rest_is_counted() {
        let mut unknown = Unknown::default();
        for number in (0..2 * MOST).rev() {
            unknown.add(&[FIELDS, format!("{number:05}").as_bytes()]);
        }
        assert_eq!((unknown.first.len() as u64, unknown.more), (MOST, MOST));
        assert_eq!(unknown.first.last().unwrap(), &format!("fields/{:05}", MOST - 1).into_bytes());
    }
}
