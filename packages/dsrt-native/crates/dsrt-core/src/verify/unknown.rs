//! Files that do not belong to the cache (R053). Readers ignore them.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, Mode, OFlags, openat};

use super::control::{Control, Meter};
use super::problem::Place;
use super::report::Report;
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
        let meter = Meter::new(control, 0);
        let mut unknown = Vec::new();
        let root = self.directory.descriptor();
        each_name(&root, "the directory", &meter, |name| {
            let is_known = name == MANIFEST.as_bytes()
                || name == FIELDS
                || (name == METADATA.as_bytes() && self.inventory.has_metadata);
            if !is_known {
                unknown.push(name.to_vec());
            }
        })?;
        if let Some(fields) = open(&root, FIELDS)? {
            self.check_fields(&fields, &meter, &mut unknown)?;
        }
        unknown.sort_unstable();
        for path in unknown {
            let path = shown(&path);
            let message = format_args!("{path} is no file of the cache; readers ignore it");
            report.add(53, &Place::default(), message);
        }
        Ok(())
    }

    fn check_fields(&self, fields: &impl AsFd, meter: &Meter, unknown: &mut Vec<Vec<u8>>) -> Result<()> {
        // A manifest may name a field twice, which is R008.
        let mut named: BTreeMap<&[u8], Named> = BTreeMap::new();
        for field in &self.inventory.fields {
            named.entry(field.name.as_bytes()).or_default().add(field);
        }
        // What was not met here is no name of a file, or leads out of the directory.
        let mut met = Vec::new();
        each_name(fields, "the directory fields", meter, |name| match named.get_key_value(name) {
            Some(found) => met.push(found),
            None => unknown.push([FIELDS, name].join(&b'/')),
        })?;
        for (field, files) in met {
            let Some(folder) = open(fields, field)? else { continue };
            each_name(&folder, &format!("the directory fields/{}", shown(field)), meter, |name| {
                if !files.have(name) {
                    unknown.push([FIELDS, field, name].join(&b'/'));
                }
            })?;
        }
        Ok(())
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

/// A directory, of which a link to one is none: it might lead anywhere.
fn open(at: &impl AsFd, name: &[u8]) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(at, name, flags, Mode::empty()) {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if ABSENT.contains(&error) => Ok(None),
        Err(error) => Err(Error::io(format!("cannot open the directory {}", shown(name)), error.into())),
    }
}

fn each_name(directory: &impl AsFd, what: &str, meter: &Meter, mut tell: impl FnMut(&[u8])) -> Result<()> {
    let refused = |error: rustix::io::Errno| Error::io(format!("cannot list {what}"), error.into());
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

/// The path as text; bytes that are not UTF-8 as `\xff`.
fn shown(path: &[u8]) -> String {
    let mut text = String::new();
    for chunk in path.utf8_chunks() {
        text.push_str(chunk.valid());
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
    }
}
