//! Where the bytes of one file come from. All that reads files of a cache asks here, and so every check exists once,
//! whether they are mapped or not.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use memmap2::Mmap;

use super::directory::{Directory, map};
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
                let map = map(&directory.open_regular(&name, bytes)?, &name, bytes)?;
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
        _ => Error::io_of("cannot read", name, error),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HEADER: Header = [7; _];

    fn write(path: &Path, header: u8, len: usize) {
        let bytes: Vec<u8> = (0..len).map(|at| if at < HEADER.len() { header } else { at as u8 }).collect();
        let new = path.with_extension("new");
        std::fs::write(&new, bytes).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    fn open(root: &Path, access: Access) -> Result<Content> {
        Content::open(&Arc::new(Directory::open(root)?), access, "x".into(), 100, HEADER)
    }

    #[test]
    fn both_ways_give_the_same_bytes_and_refuse_the_same_files() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("x"), 7, 100);
        for access in [Access::Mmap, Access::Pread] {
            let content = open(root.path(), access).unwrap();
            assert_eq!(content.len(), 100);
            assert_eq!(*content.bytes(62, 67).unwrap(), [7, 7, 64, 65, 66]);
            assert!(content.bytes(100, 100).unwrap().is_empty());
            let mut out = [0; 3];
            content.read(97, &mut out).unwrap();
            assert_eq!(out, [97, 98, 99]);
            assert_eq!(content.bytes(99, 101).unwrap_err().kind(), Kind::Internal);
            assert_eq!(content.bytes(9, 8).unwrap_err().kind(), Kind::Internal);
        }
        for (header, len, rule) in [(8, 100, 31), (7, 99, 30), (7, 101, 30)] {
            write(&root.path().join("x"), header, len);
            for access in [Access::Mmap, Access::Pread] {
                assert_eq!(open(root.path(), access).err().unwrap().rule_number(), Some(rule));
            }
        }
    }

    #[test]
    fn a_file_that_is_cut_off_while_it_is_open_breaks_a_rule() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("x"), 7, 100);
        let content = open(root.path(), Access::Pread).unwrap();
        let file = File::options().write(true).open(root.path().join("x")).unwrap();
        file.set_len(80).unwrap();
        assert_eq!(*content.bytes(78, 80).unwrap(), [78, 79]);
        for error in [content.bytes(78, 81).unwrap_err(), content.read(99, &mut [0]).unwrap_err()] {
            assert_eq!(error.rule_number(), Some(30));
            assert!(error.message().starts_with("x ends before byte"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_opened_again_is_checked_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("x");
        write(&path, 7, 100);
        let content = open(root.path(), Access::Pread).unwrap();
        let Content::Read(file) = &content else { panic!() };
        let rule = |change: &dyn Fn()| {
            write(&path, 7, 100);
            file.key.let_go();
            assert_eq!(*content.bytes(64, 65).unwrap(), [64]);
            change();
            // What is open stays what it was.
            assert_eq!(*content.bytes(64, 65).unwrap(), [64]);
            file.key.let_go();
            content.bytes(64, 65).unwrap_err().rule_number()
        };
        assert_eq!(rule(&|| write(&path, 8, 100)), Some(31));
        assert_eq!(rule(&|| write(&path, 7, 101)), Some(30));
        assert_eq!(rule(&|| std::fs::remove_file(&path).unwrap()), Some(30));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_the_system_refuses_breaks_no_rule() {
        const EIO: i32 = 5;
        // The first page of a process is not there to be read.
        let file = ReadFile::new(Arc::new(Directory::open(Path::new("/proc/self")).unwrap()), "mem".into(), 0, None);
        let error = file.read(0, &mut [0; 8]).unwrap_err();
        assert_eq!((error.kind(), error.rule_number(), error.os_code()), (Kind::Io, None, Some(EIO)));
        assert_eq!(error.message(), "cannot read mem");
    }
}
