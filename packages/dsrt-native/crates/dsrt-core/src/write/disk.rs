//! Every operation by which a writer changes what is on a disk: this file and no other touches it for writing.
//!
//! An [`Observer`] sees each of them around its execution. That is how the crash tests learn what a writer really
//! does, in which order, and what happens when one of its operations fails; in production there is none.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};

use crate::error::{Error, Result};

/// No writer makes symbolic links or named pipes in a work directory, so none is followed or waited for there.
const OURS: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits() as i32;

/// One operation that changes what is on a disk, or makes a change durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are paths, and what they are to each other is said here")]
pub enum Operation<'a> {
    /// Makes a directory.
    MakeDirectory { path: &'a Path },
    /// Makes an empty file that was not there.
    Create { path: &'a Path },
    /// Writes bytes at an offset; the file grows where they end behind its end.
    Write { path: &'a Path, offset: u64, bytes: &'a [u8] },
    /// Sets the length of a file.
    Truncate { path: &'a Path, len: u64 },
    /// Makes content and length of a file durable.
    SyncFile { path: &'a Path },
    /// Makes the names in a directory durable.
    SyncDirectory { path: &'a Path },
    /// Gives a file or directory another name; nothing has that name.
    Rename { from: &'a Path, to: &'a Path },
    /// Swaps two names in one step.
    Exchange { one: &'a Path, other: &'a Path },
    /// Gives a file another name beside the one it has.
    Link { from: &'a Path, to: &'a Path },
    /// Removes the name of a file.
    RemoveFile { path: &'a Path },
    /// Removes an empty directory.
    RemoveDirectory { path: &'a Path },
}

/// Sees the operations of a writer.
pub trait Observer: Send + Sync {
    /// Stands in for the execution of `operation`, which `run` is. It may leave it out or fail in its place. Threads
    /// call it at the same time.
    fn operation(&self, operation: &Operation<'_>, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()>;
}

/// The disk as writers see it.
#[derive(Clone, Default)]
pub struct Disk(Option<Arc<dyn Observer>>);

impl Disk {
    /// The disk, with somebody who sees what is done to it.
    pub fn observed(observer: Arc<dyn Observer>) -> Self {
        Self(Some(observer))
    }

    /// Makes one directory.
    pub(super) fn make_directory(&self, path: &Path) -> Result<()> {
        self.try_make_directory(path).map_err(failed("creating the directory", path))
    }

    pub(super) fn try_make_directory(&self, path: &Path) -> io::Result<()> {
        self.run(Operation::MakeDirectory { path }, || std::fs::create_dir(path))
    }

    /// Creates a file that was not there, to be written through this handle only; POSIX lets the descriptor that
    /// creates a file write to it whatever `mode` says.
    pub(super) fn create(&self, path: PathBuf, mode: u32) -> Result<DiskFile> {
        let created = self.try_create(&path, mode);
        let file = created.map_err(failed("creating", &path))?;
        Ok(DiskFile { disk: self.clone(), file, path })
    }

    pub(super) fn try_create(&self, path: &Path, mode: u32) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(mode);
        let mut file = None;
        self.run(Operation::Create { path }, || {
            file = Some(options.open(path)?);
            Ok(())
        })?;
        file.ok_or_else(|| io::Error::other("left out by an observer"))
    }

    /// A file that is there, to be written on.
    pub(super) fn open(&self, path: PathBuf) -> Result<DiskFile> {
        let file = open_for_writing(&path).map_err(failed("opening", &path))?;
        Ok(DiskFile { disk: self.clone(), file, path })
    }

    /// A file that somebody opened by this path.
    pub(super) fn adopt(&self, file: File, path: PathBuf) -> DiskFile {
        DiskFile { disk: self.clone(), file, path }
    }

    /// Makes the names in a directory durable.
    pub(super) fn sync_directory(&self, path: &Path) -> Result<()> {
        let run = || File::open(path).and_then(|directory| directory.sync_all());
        self.run(Operation::SyncDirectory { path }, run).map_err(failed("fsync of the directory", path))
    }

    /// Makes the content of a file durable that somebody else wrote, to which `path` leads, too. A link changes nothing
    /// of it but a time, which would cost a sync of its own.
    pub(super) fn sync_content(&self, file: &File, path: &Path) -> Result<()> {
        self.run(Operation::SyncFile { path }, || file.sync_data()).map_err(failed("fsync of", path))
    }

    /// Renames to a name that must be free. Where the file system cannot look and rename in one step, it is done in
    /// two, so that an empty directory that appears in between is lost.
    pub(super) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let free = || Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?);
        match self.run(Operation::Rename { from, to }, free) {
            Err(e) if is_unsupported(&e) => {}
            renamed => return renamed,
        }
        if std::fs::symlink_metadata(to).is_ok() {
            return Err(rustix::io::Errno::EXIST.into());
        }
        self.run(Operation::Rename { from, to }, || std::fs::rename(from, to))
    }

    /// Swaps two names, so that readers find one of the two at every moment.
    pub(super) fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let run = || Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?);
        self.run(Operation::Exchange { one, other }, run)
    }

    /// Gives a file another name beside the one it has.
    pub(super) fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Operation::Link { from, to }, || std::fs::hard_link(from, to))
    }

    /// Removes the name of a file.
    pub(super) fn remove_file(&self, path: &Path) -> Result<()> {
        let run = || std::fs::remove_file(path);
        self.run(Operation::RemoveFile { path }, run).map_err(failed("removing", path))
    }

    /// Removes an empty directory.
    pub(super) fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.run(Operation::RemoveDirectory { path }, || std::fs::remove_dir(path))
    }

    /// Removes whatever is at a path. Symbolic links are not followed.
    pub(super) fn remove_all(&self, path: &Path) -> Result<()> {
        let found = std::fs::symlink_metadata(path).map_err(failed("looking at", path))?;
        if !found.is_dir() {
            return self.remove_file(path);
        }
        for entry in names(path)? {
            self.remove_all(&path.join(entry))?;
        }
        self.remove_directory(path).map_err(failed("removing", path))
    }

    fn run(&self, operation: Operation<'_>, mut run: impl FnMut() -> io::Result<()>) -> io::Result<()> {
        match &self.0 {
            None => run(),
            Some(observer) => observer.operation(&operation, &mut run),
        }
    }
}

/// The names in a directory, in their order, so that two runs do the same.
pub(super) fn names(path: &Path) -> Result<Vec<std::ffi::OsString>> {
    let entries = std::fs::read_dir(path).map_err(failed("reading the directory", path))?;
    let mut names: Vec<_> = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<_>>()
        .map_err(failed("reading the directory", path))?;
    names.sort();
    Ok(names)
}

/// Opens a file of a work directory that is there.
pub(super) fn open_for_writing(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(OURS).open(path)
}

/// Opens a regular file for reading; None if there is none by that name.
pub(super) fn open_regular(path: &Path) -> Result<Option<File>> {
    let opened = OpenOptions::new().read(true).custom_flags(OURS).open(path);
    let file = match opened {
        Ok(file) => file,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(None),
        // A symbolic link.
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => return Ok(None),
        Err(e) => return Err(failed("opening", path)(e)),
    };
    let found = file.metadata().map_err(failed("looking at", path))?;
    Ok(found.is_file().then_some(file))
}

/// Whether a file system says that it has no such operation.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let unsupported = [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP, Errno::OPNOTSUPP];
    unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// The error of an operation on a path.
pub(super) fn failed<'a>(doing: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::io(format!("{doing} {}", path.display()), source)
}

/// An open file on the disk.
pub(super) struct DiskFile {
    disk: Disk,
    file: File,
    path: PathBuf,
}

impl DiskFile {
    /// The path it was created or opened by.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open file itself, for reading and locking.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Writes all of `bytes` at `offset`.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let operation = Operation::Write { path: &self.path, offset, bytes };
        let written = self.disk.run(operation, || self.file.write_all_at(bytes, offset));
        written.map_err(failed("writing", &self.path))
    }

    /// Sets the length.
    pub(super) fn truncate(&self, len: u64) -> Result<()> {
        let operation = Operation::Truncate { path: &self.path, len };
        self.disk.run(operation, || self.file.set_len(len)).map_err(failed("truncating", &self.path))
    }

    /// Makes the content durable. After an error it must not be called again: the kernel may have dropped what it
    /// could not write, and the second call would report success.
    pub(super) fn sync(&self) -> Result<()> {
        let operation = Operation::SyncFile { path: &self.path };
        self.disk.run(operation, || self.file.sync_all()).map_err(failed("fsync of", &self.path))
    }
}

#[cfg(test)]
mod tests;
