//! Files that do not belong to the cache (R053). Readers ignore them.

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
        each_name(fields, "the directory fields", meter, |name| {
            if !self.inventory.fields.iter().any(|field| field.name.as_bytes() == name) {
                unknown.push([FIELDS, name].join(&b'/'));
            }
        })?;
        for field in &self.inventory.fields {
            // A name that is none leads nowhere, or out of the directory.
            if matches!(&*field.name, "" | "." | "..") || field.name.contains(['/', '\0']) {
                continue;
            }
            let Some(folder) = open(fields, field.name.as_bytes())? else { continue };
            each_name(&folder, &format!("the directory fields/{}", field.name), meter, |name| {
                if !belongs(field, name) {
                    unknown.push([FIELDS, field.name.as_bytes(), name].join(&b'/'));
                }
            })?;
        }
        Ok(())
    }
}

/// Whether a field has a file of that name.
fn belongs(field: &ListedField, name: &[u8]) -> bool {
    if name == b"dictionary.bin" {
        return field.has_dictionary;
    }
    let Some(number) = name.strip_suffix(b".shard").and_then(|digits| std::str::from_utf8(digits).ok()) else {
        return false;
    };
    // Spelt in the one way that files are named.
    number.parse().is_ok_and(|found: usize| found < field.listed && format!("{found:05}") == number)
}

/// A directory, or a link to one; none if there is none.
fn open(at: &impl AsFd, name: &[u8]) -> Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
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
        let field = ListedField { name: "x".into(), listed: 3, has_dictionary: false, entry: None };
        for name in ["00000.shard", "00002.shard"] {
            assert!(belongs(&field, name.as_bytes()), "{name}");
        }
        for name in ["00003.shard", "0000.shard", "000000.shard", "+0001.shard", "1.shard", "00001", "dictionary.bin", "x"] {
            assert!(!belongs(&field, name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_that_are_not_utf8_are_shown() {
        assert_eq!(shown(b"fields/a\xff/\xc3\xa9"), "fields/a\\xff/\u{e9}");
    }
}
