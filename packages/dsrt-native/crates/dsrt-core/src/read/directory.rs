//! The directory of a cache: every file is opened relative to one handle of it, so that a path which is swapped for
//! another build never mixes the two.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use crate::error::{Error, Kind, Result};
use crate::format::manifest::MAX_BYTES;

/// The file whose presence makes a directory a cache.
pub(crate) const MANIFEST: &str = "manifest.json";

/// A file that is not there, or cannot be what it should: broken links, a socket, a file in the place of a directory.
pub(crate) const ABSENT: [Errno; 6] =
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NXIO, Errno::ISDIR, Errno::NAMETOOLONG];

/// How often somebody follows a path that leads to another directory again and again; each time a rebuild was published.
pub(crate) const TRIES: u32 = 100;

/// An open directory.
pub(crate) struct Directory(OwnedFd);

impl Directory {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(directory) => Ok(Self(directory)),
            Err(error) if ABSENT.contains(&error) => Err(not_published("there is no directory at this path")),
            Err(error) => Err(Error::io_of("cannot open the directory", &path.to_string_lossy(), error.into())),
        }
    }

    /// Opens the directory of a cache and what `look` finds in it, which is of one and the same directory.
    ///
    /// A rebuild exchanges two directories and removes the old one, file by file. Who opened that one just before finds
    /// less in it than there was, which says nothing of the cache that is at the path now: that one is looked at then.
    pub(crate) fn look<T>(path: &Path, look: impl Fn(&Self) -> Result<T>) -> Result<(Self, T)> {
        let mut directory = Self::open(path)?;
        let mut tries = TRIES;
        loop {
            let error = match look(&directory) {
                Ok(found) => return Ok((directory, found)),
                Err(error) => error,
            };
            tries -= 1;
            match Self::open(path) {
                Ok(now) if tries > 0 && !now.is(&directory) => directory = now,
                _ => return Err(error),
            }
        }
    }

    /// Whether both are one. While both are open, neither can have the other's number by chance.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let number = |directory: &Self| fstat(&directory.0).map(|stat| (stat.st_dev, stat.st_ino));
        matches!((number(self), number(other)), (Ok(one), Ok(other)) if one == other)
    }

    /// The number of its file system, where the operating system tells one.
    pub(super) fn magic(&self) -> Option<u32> {
        #[cfg(target_os = "linux")]
        // The numbers have 32 bits, and some systems extend the sign.
        return rustix::fs::fstatfs(&self.0).ok().map(|stat| stat.f_type as u32);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// The directory itself, to be listed.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The bytes of the manifest (R000, R001).
    pub(crate) fn manifest(&self) -> Result<Vec<u8>> {
        let file = match self.open_file(MANIFEST) {
            Ok(Some(file)) => file,
            Ok(None) => return Err(not_published("there is no manifest.json in the directory")),
            Err(error) => return Err(error),
        };
        let stat = fstat(&file).map_err(|e| Error::io_of("cannot examine", MANIFEST, e.into()))?;
        if !is_regular(&stat) {
            return Err(not_published("manifest.json is not a regular file"));
        }
        let length = length(&stat);
        if length > MAX_BYTES {
            let message = format!("manifest.json has {length} bytes; the format allows {MAX_BYTES}");
            return Err(Error::rule(Kind::Format, 1, message));
        }
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(length as usize)
            .map_err(|_| Error::new(Kind::Memory, "the manifest is too large for the memory"))?;
        // One byte beyond the limit shows a file that has grown, which rule R001 refuses where it is parsed.
        let read = File::from(file).take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|e| Error::io_of("cannot read", MANIFEST, e))?;
        Ok(bytes)
    }

    /// Checks that there is a regular file of that length (R030).
    pub(crate) fn check(&self, name: &str, bytes: u64) -> Result<()> {
        match statat(&self.0, name, AtFlags::empty()) {
            Ok(stat) => check_stat(name, &stat, bytes),
            Err(error) if ABSENT.contains(&error) => Err(absent(name)),
            Err(error) => Err(Error::io_of("cannot examine", name, error.into())),
        }
    }

    /// Opens a file of that length (R030).
    pub(crate) fn open_regular(&self, name: &str, bytes: u64) -> Result<File> {
        let file = self.open_file(name)?.ok_or_else(|| absent(name))?;
        let file = File::from(file);
        check_length(&file, name, bytes)?;
        Ok(file)
    }

    /// Opens for reading without waiting, so that a pipe in the place of a file does not block for ever.
    pub(crate) fn open_file(&self, name: &str) -> Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file)),
            Err(error) if ABSENT.contains(&error) => Ok(None),
            Err(error) => Err(Error::io_of("cannot open", name, error.into())),
        }
    }
}

/// Checks that an open file has that length (R030).
pub(super) fn check_length(file: &File, name: &str, bytes: u64) -> Result<()> {
    let stat = fstat(file).map_err(|e| Error::io_of("cannot examine", name, e.into()))?;
    check_stat(name, &stat, bytes)
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn length(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn check_stat(name: &str, stat: &Stat, bytes: u64) -> Result<()> {
    if !is_regular(stat) {
        return Err(breach(format!("{name} is not a regular file")));
    }
    if length(stat) != bytes {
        return Err(other_length(name, length(stat), bytes));
    }
    Ok(())
}

fn other_length(name: &str, found: u64, expected: u64) -> Error {
    breach(format!("{name} has {found} bytes and the manifest says {expected}; copy or build the cache anew"))
}

fn absent(name: &str) -> Error {
    // A cache that was open while it was rebuilt or moved away has lost its files, and is not damaged.
    breach(format!("{name} is missing; open the cache again if it was rebuilt meanwhile, else copy or build it anew"))
}

fn breach(message: String) -> Error {
    Error::rule(Kind::Format, 30, message)
}

fn not_published(what: &str) -> Error {
    Error::rule(Kind::NotPublished, 0, format!("no cache is published here: {what}"))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Puts a directory that has `manifest` at `path`, and removes the one that was there.
    fn replace(path: &Path, manifest: &str) {
        let (new, old) = (path.with_extension("new"), path.with_extension("old"));
        std::fs::create_dir(&new).unwrap();
        std::fs::write(new.join(MANIFEST), manifest).unwrap();
        if path.exists() {
            std::fs::rename(path, &old).unwrap();
        }
        std::fs::rename(&new, path).unwrap();
        let _ = std::fs::remove_dir_all(&old);
    }

    #[test]
    fn a_directory_that_is_replaced_while_it_is_looked_at_is_left_for_the_new_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        replace(&path, "0");
        let looks = Cell::new(0);
        let (directory, found) = Directory::look(&path, |directory| {
            looks.set(looks.get() + 1);
            if looks.get() < 4 {
                replace(&path, &looks.get().to_string());
            }
            directory.manifest()
        })
        .unwrap();
        assert_eq!((looks.get(), &*found), (4, &b"3"[..]));
        assert_eq!(directory.manifest().unwrap(), b"3");
    }

    #[test]
    fn what_is_missing_in_the_directory_that_is_there_is_said_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        replace(&path, "0");
        let looks = Cell::new(0);
        let error = Directory::look(&path, |directory| {
            looks.set(looks.get() + 1);
            directory.check("y", 1)
        });
        assert_eq!((looks.get(), error.err().unwrap().rule_number()), (1, Some(30)));
    }

    #[test]
    fn a_path_that_never_rests_is_given_up_and_one_that_is_removed_at_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        replace(&path, "0");
        let looks = Cell::new(0);
        let error = Directory::look(&path, |directory| {
            looks.set(looks.get() + 1);
            replace(&path, "again");
            directory.check("y", 1)
        });
        assert_eq!((looks.get(), error.err().unwrap().rule_number()), (TRIES, Some(30)));
        let removed = Directory::look(&path, |directory| {
            let _ = std::fs::remove_dir_all(&path);
            directory.manifest()
        });
        assert_eq!(removed.err().unwrap().kind(), Kind::NotPublished);
    }
}
