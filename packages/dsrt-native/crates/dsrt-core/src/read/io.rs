//! How the bytes of files come: from a mapping, or by calls that read.

use std::str::FromStr;

use super::directory::Directory;
use super::network;
use crate::error::{Error, Kind, Result};

/// How files are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// By `pread` on network file systems, as the directory of the cache tells, else mapped.
    #[default]
    Auto,
    /// Mapped: the fastest way. A file that is truncated later ends the process with SIGBUS when the missing part
    /// is read, and so does a disk or a network that fails.
    Mmap,
    /// By `pread` into memory: nothing of shards, dictionaries and metadata is mapped, and whatever becomes of a
    /// file is an error.
    Pread,
}

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Mapped.
    Mmap,
    /// By `pread`.
    Pread,
}

impl Io {
    /// What that means for a cache in `directory`.
    pub(super) fn of(self, directory: &Directory) -> Access {
        match self {
            Self::Auto => network::access(directory.magic()),
            Self::Mmap => Access::Mmap,
            Self::Pread => Access::Pread,
        }
    }
}

impl Access {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mmap => "mmap",
            Self::Pread => "pread",
        }
    }
}

impl FromStr for Io {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "mmap" => Ok(Self::Mmap),
            "pread" => Ok(Self::Pread),
            _ => Err(Error::new(Kind::Value, format!("io={text:?}: expected \"auto\", \"mmap\" or \"pread\""))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_they_say() {
        assert_eq!(["auto", "mmap", "pread"].map(|word| word.parse::<Io>().unwrap()), [Io::Auto, Io::Mmap, Io::Pread]);
        for bad in ["", "Mmap", "read"] {
            let error = bad.parse::<Io>().unwrap_err();
            assert_eq!(error.kind(), Kind::Value);
            assert!(error.message().ends_with("expected \"auto\", \"mmap\" or \"pread\""), "{error}");
        }
        assert_eq!([Access::Mmap, Access::Pread].map(Access::name), ["mmap", "pread"]);
    }

    #[test]
    fn what_is_asked_for_is_done_wherever_the_cache_lies() {
        let root = tempfile::tempdir().unwrap();
        let directory = Directory::open(root.path()).unwrap();
        assert_eq!(Io::Mmap.of(&directory), Access::Mmap);
        assert_eq!(Io::Pread.of(&directory), Access::Pread);
        assert_eq!(Io::Auto.of(&directory), network::access(directory.magic()));
    }
}
