//! Where the bytes of one file come from. All that reads files of a cache asks here, and so every check exists once,
//! whether they are mapped or not.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use memmap2::Mmap;

use super::directory::Directory;
use super::file::check_header;
use super::io::Access;
use super::kept::Key;
use crate::error::{Error, Kind, Result};
use crate::format::header::Header;

/// A file of a cache, of the length that the manifest says.
pub(super) enum Content {
    /// Mapped.
    Mapped(Arc<Mmap>),
    /// Read when it is asked for.
    Read(ReadFile),
}

impl Content {
    /// Opens a file of `bytes` bytes (R030) that begins with `header` (R031).
    pub(super) fn open(
        directory: &Arc<Directory>,
        access: Access,
        name: String,
        bytes: u64,
        header: Header,
    ) -> Result<Self> {
        match access {
            Access::Mmap => {
                let map = directory.map(&name, bytes)?;
                check_header(&name, &map, &header)?;
                Ok(Self::Mapped(Arc::new(map)))
            }
            Access::Pread => {
                let file = ReadFile::new(directory.clone(), name, bytes, Some(header));
                file.check()?;
                Ok(Self::Read(file))
            }
        }
    }

    /// Length of the file.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Mapped(map) => map.len() as u64,
            Self::Read(file) => file.bytes,
        }
    }

    /// Bytes `from` to `to`: those of the map, or a copy.
    pub(super) fn bytes(&self, from: u64, to: u64) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Mapped(map) => mapped(map, from, to).map(Cow::Borrowed),
            Self::Read(file) => {
                let len = to.checked_sub(from).and_then(|len| usize::try_from(len).ok()).filter(|_| to <= file.bytes);
                let len = len.ok_or_else(|| outside(from, to))?;
                let mut bytes = Vec::new();
                let refused =
                    |_| Error::new(Kind::Memory, format!("{len} bytes of {} do not fit in memory", file.name));
                bytes.try_reserve_exact(len).map_err(refused)?;
                bytes.resize(len, 0);
                file.read(from, &mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Fills `out` with the bytes from `from` on.
    pub(super) fn read(&self, from: u64, out: &mut [u8]) -> Result<()> {
        match self {
            Self::Mapped(map) => {
                out.copy_from_slice(mapped(map, from, from.saturating_add(out.len() as u64))?);
                Ok(())
            }
            Self::Read(file) => file.read(from, out),
        }
    }
}

fn mapped(map: &Mmap, from: u64, to: u64) -> Result<&[u8]> {
    let range = usize::try_from(from).ok().zip(usize::try_from(to).ok());
    range.and_then(|(from, to)| map.get(from..to)).ok_or_else(|| outside(from, to))
}

fn outside(from: u64, to: u64) -> Error {
    Error::new(Kind::Internal, format!("bytes {from} to {to} lie outside the file"))
}

/// A file that is read by `pread`: open as long as there is room for it, else opened and checked anew.
pub(super) struct ReadFile {
    directory: Arc<Directory>,
    name: String,
    bytes: u64,
    /// What it begins with, if it has a header.
    header: Option<Header>,
    key: Key,
}

impl ReadFile {
    /// The file of that name and length. Nothing is opened yet.
    pub(super) fn new(directory: Arc<Directory>, name: String, bytes: u64, header: Option<Header>) -> Self {
        Self { directory, name, bytes, header, key: Key::new() }
    }

    /// Looks whether it is there, with its length and header (R030, R031).
    fn check(&self) -> Result<()> {
        self.key.file(|| self.open()).map(drop)
    }

    fn open(&self) -> Result<File> {
        let file = self.directory.open_regular(&self.name, self.bytes)?;
        if let Some(header) = &self.header {
            let mut found: Header = [0; _];
            read_at(&file, &self.name, self.bytes, 0, &mut found)?;
            check_header(&self.name, &found, header)?;
        }
        Ok(file)
    }

    /// Fills `out` with the bytes from `from` on (R030, R031).
    pub(super) fn read(&self, from: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let kept = self.key.file(|| self.open())?;
        read_at(&kept.file, &self.name, self.bytes, from, out)
    }
}

/// Fills `out` with the bytes of a file from `from` on. It was of `bytes` bytes when it was opened; if it is shorter by
/// now, that is a breach of R030.
pub(super) fn read_at(file: &File, name: &str, bytes: u64, from: u64, out: &mut [u8]) -> Result<()> {
    file.read_exact_at(out, from).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => {
            let end = from.saturating_add(out.len() as u64);
            let message = format!(
                "{name} ends before byte {end} and had {bytes} when it was opened: it was cut off meanwhile; copy or \
                 build the cache anew"
            );
            Error::rule(Kind::Format, 30, message)
        }
        _ => Error::io(format!("cannot read {name}"), error),
    })
}
