//! The lock of a work directory: one writer per cache, and a dead writer's lock is free.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{Error, Kind, Result};

/// How often a vanished work directory is made anew before giving up; each time another writer has finished.
const TRIES: usize = 100;

/// An exclusive `flock` on `<work>/lock`, held until dropped. The kernel frees it when the process dies.
pub(super) struct Lock {
    _file: File,
    path: PathBuf,
}

impl Lock {
    /// Makes the work directory if it is missing and takes its lock, or says who has it.
    pub(super) fn acquire(work: &Path) -> Result<Self> {
        let path = work.join("lock");
        for _ in 0..TRIES {
            make_directory(work)?;
            let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = match opened {
                // The writer before us is just removing the directory.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(|e| Error::io(format!("opening {}", path.display()), e))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(locked(work, &mut file)),
                Err(TryLockError::Error(e)) => return Err(unsupported(&path, e)),
            }
            // The lock is on the file that was opened; whoever had it may have unlinked that one meanwhile.
            if is_still_there(&path, &file)? {
                // A courtesy to the next one. On a full disk something that matters will fail soon.
                let _ = sign(&mut file);
                return Ok(Self { _file: file, path });
            }
        }
        Err(Error::new(Kind::Locked, format!("{} vanishes again and again; other writers use it", work.display())))
    }

    /// The lock file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Everything in a work directory is ours to delete, so it must not lead somewhere else.
fn make_directory(work: &Path) -> Result<()> {
    let failed = |doing: &str, e| Error::io(format!("{doing} the directory {}", work.display()), e);
    match std::fs::create_dir(work) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => return Err(failed("creating", e)),
    }
    match std::fs::symlink_metadata(work) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::new(
            Kind::Exists,
            format!("{} is no directory, and a writer needs that name for its work; remove it", work.display()),
        )),
        // Removed meanwhile: opening the lock finds that out and tries again.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed("looking at", e)),
    }
}

fn is_still_there(path: &Path, file: &File) -> Result<bool> {
    let failed = |e| Error::io(format!("looking at {}", path.display()), e);
    let held = file.metadata().map_err(failed)?;
    match std::fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (held.dev(), held.ino())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(failed(e)),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Leaves process, start and host in the lock file, for the message that a second writer gets.
fn sign(file: &mut File) -> std::io::Result<()> {
    let host = rustix::system::uname();
    let line = format!("{} {} {}\n", std::process::id(), now(), host.nodename().to_string_lossy());
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(line.as_bytes())
}

fn locked(work: &Path, file: &mut File) -> Error {
    let mut line = String::new();
    let read = file.take(1000).read_to_string(&mut line);
    let mut words = line.split_whitespace();
    let holder = match (read, words.next(), words.next().map(str::parse), words.next()) {
        (Ok(_), Some(pid), Some(Ok(since)), Some(host)) => {
            format!("process {pid} on {host} (for {} s)", now().saturating_sub(since))
        }
        _ => "another process".into(),
    };
    Error::new(
        Kind::Locked,
        format!(
            "{} is locked by {holder}. One process at a time writes a cache: wait for it or end it. \
             The lock of a process that died is taken over without asking",
            work.display()
        ),
    )
}

fn unsupported(path: &Path, source: std::io::Error) -> Error {
    Error::io(
        format!(
            "locking {}: this file system seems to have no flock (some NFS and Lustre mounts); build on a local \
             disk and move the cache",
            path.display()
        ),
        source,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_writer_is_told_who_has_the_lock() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        let lock = Lock::acquire(&work).unwrap();
        let error = Lock::acquire(&work).err().unwrap();
        assert_eq!(error.kind(), Kind::Locked);
        let holder = format!("locked by process {} on ", std::process::id());
        assert!(error.to_string().contains(&holder), "{error}");
        drop(lock);
        Lock::acquire(&work).unwrap();
    }

    #[test]
    fn a_lock_on_an_unlinked_file_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        let old = Lock::acquire(&work).unwrap();
        std::fs::remove_file(old.path()).unwrap();
        let new = Lock::acquire(&work).unwrap();
        assert!(is_still_there(new.path(), &new._file).unwrap());
        assert!(!is_still_there(old.path(), &old._file).unwrap());
    }

    #[test]
    fn a_link_in_the_place_of_the_work_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        std::os::unix::fs::symlink(directory.path(), &work).unwrap();
        assert_eq!(Lock::acquire(&work).err().unwrap().kind(), Kind::Exists);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_unreadable_lock_file_still_locks() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        let lock = Lock::acquire(&work).unwrap();
        std::fs::write(lock.path(), [0xff, 0xfe]).unwrap();
        assert!(Lock::acquire(&work).err().unwrap().to_string().contains("by another process"));
    }
}
