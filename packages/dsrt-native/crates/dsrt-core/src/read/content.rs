//! Where the bytes of one file come from. All that reads files of a cache asks here, and so every check exists once,
//! whether they are mapped or not.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::directory::Directory;
use super::file::check_header;
use super::io::Access;
use super::kept::{Kept, Key};
use super::maps::{Map, Maps};
use super::pages;
use crate::error::{Error, Kind, Result};
use crate::format::header::Header;

/// A file of a cache, of the length that the manifest says.
pub(super) enum Content {
    /// Mapped.
    Mapped(Mapped),
    /// Read when it is asked for.
    Read(ReadFile),
}

/// A mapped file, which is not kept open.
pub(super) struct Mapped {
    pub(super) map: Arc<Map>,
    directory: Arc<Directory>,
    name: String,
}

impl Content {
    /// Opens a file of `bytes` bytes (R030) that begins with `header` (R031). It is read where there is no room for one more
    /// map.
    pub(super) fn open(
        directory: &Arc<Directory>,
        access: Access,
        maps: &'static Maps,
        name: String,
        bytes: u64,
        header: Header,
    ) -> Result<Self> {
        let file = ReadFile::new(directory.clone(), name, bytes, Some(header));
        let opened = file.open()?;
        if access == Access::Mmap
            && let Some(map) = maps.map(&opened, &file.name, bytes)?
        {
            // Where nobody tells what is there, nothing will be asked for, and the kernel has to see for itself.
            if pages::is_there(&opened, 0).is_some() {
                map.expect_some();
            }
            return Ok(Self::Mapped(Mapped { map: Arc::new(map), directory: directory.clone(), name: file.name }));
        }
        file.key.file(|| Ok(opened))?;
        Ok(Self::Read(file))
    }

    /// Whether it is mapped.
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped(_))
    }

    /// Neighbouring parts of it will be read: if it is mapped, the kernel reads ahead from now on.
    pub(super) fn expect_all(&self) {
        if let Self::Mapped(mapped) = self {
            mapped.map.expect_all();
        }
    }

    /// A look at what the page cache has of it. None if it cannot be opened.
    pub(super) fn look(&self) -> Option<Look> {
        match self {
            Self::Mapped(Mapped { directory, name, .. }) => {
                let file = File::from(directory.open_file(name).ok()??);
                pages::expect_some(&file);
                Some(Look::Opened(file))
            }
            Self::Read(file) => Some(Look::Kept(file.kept().ok()?)),
        }
    }

    /// Has the kernel read a long range before it is used, if it looks as if it had to.
    pub(super) fn expect(&self, range: Range<u64>) {
        let ends = [range.start, range.start.midpoint(range.end), range.end.saturating_sub(1)];
        if !range.is_empty() && self.look().is_some_and(|look| !ends.iter().all(|at| look.is_there(*at))) {
            self.ask(range);
        }
    }

    /// Has the kernel read a range before it is used. A hint: what is wrong with the file is found when it is read.
    pub(super) fn ask(&self, range: Range<u64>) {
        match self {
            Self::Mapped(mapped) => mapped.map.ask(range),
            Self::Read(file) => {
                if let Ok(kept) = file.kept() {
                    pages::ask(&kept.file, range);
                }
            }
        }
    }

    /// Length of the file.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Mapped(mapped) => mapped.map.len() as u64,
            Self::Read(file) => file.bytes,
        }
    }

    /// Bytes `from` to `to`: those of the map, or a copy.
    pub(super) fn bytes(&self, from: u64, to: u64) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Mapped(file) => mapped(&file.map, from, to).map(Cow::Borrowed),
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
            Self::Mapped(file) => {
                out.copy_from_slice(mapped(&file.map, from, from.saturating_add(out.len() as u64))?);
                Ok(())
            }
            Self::Read(file) => file.read(from, out),
        }
    }
}

/// An open file that is asked which of its pages are there.
pub(super) enum Look {
    /// Of a mapped file, for this look alone.
    Opened(File),
    /// Of one that is read.
    Kept(Arc<Kept>),
}

impl Look {
    /// Whether byte `at` can be read without the disk, or it is as well not to ask for it.
    pub(super) fn is_there(&self, at: u64) -> bool {
        match self {
            // Where nobody tells, a mapped file is the kernel's affair.
            Self::Opened(file) => pages::is_there(file, at).unwrap_or(true),
            // That is a network's file system; what asking costs is little beside what waiting does there.
            Self::Kept(kept) => pages::is_there(&kept.file, at).unwrap_or(false),
        }
    }
}

fn mapped(map: &[u8], from: u64, to: u64) -> Result<&[u8]> {
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

    /// The open file, with its length and header (R030, R031).
    fn kept(&self) -> Result<Arc<Kept>> {
        self.key.file(|| self.open())
    }

    fn open(&self) -> Result<File> {
        let file = self.directory.open_regular(&self.name, self.bytes)?;
        // What else is needed is asked for.
        pages::expect_some(&file);
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
        let kept = self.kept()?;
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

    use super::super::maps::MAPS;
    use super::*;

    const HEADER: Header = [7; _];

    fn write(path: &Path, header: u8, len: usize) {
        let bytes: Vec<u8> = (0..len).map(|at| if at < HEADER.len() { header } else { at as u8 }).collect();
        let new = path.with_extension("new");
        std::fs::write(&new, bytes).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    fn open(root: &Path, access: Access) -> Result<Content> {
        Content::open(&Arc::new(Directory::open(root)?), access, &MAPS, "x".into(), 100, HEADER)
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
