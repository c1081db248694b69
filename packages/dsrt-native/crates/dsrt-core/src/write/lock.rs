//! The lock of a work directory: one writer per cache, and a dead writer's lock is free.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError as Busy};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::age::{age, date};
use super::disk::{Disk, DiskFile, failed, open_for_writing};
use crate::error::{Error, Kind, Result};

/// How often a vanished work directory is made anew before giving up; each time another writer has finished.
const TRIES: usize = 100;
/// What a holder needs at most, from taking the lock to having left its name there.
const SIGNING: Duration = Duration::from_millis(20);

/// Descriptors of the locks that this process holds.
static HELD: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// An exclusive `flock` on `<work>/lock`, held until dropped. The kernel frees it when the process dies.
pub(super) struct Lock {
    file: DiskFile,
}

impl Lock {
    /// Makes the work directory if it is missing and takes its lock, or says who has it.
    pub(super) fn acquire(disk: &Disk, work: &Path) -> Result<Self> {
        let path = work.join("lock");
        for _ in 0..TRIES {
            make_directory(disk, work)?;
            let file = match open(disk, &path) {
                // The writer before us is just removing the directory.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(failed("opening", &path))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(locked(work, &file)),
                Err(TryLockError::Error(e)) => return Err(unsupported(&path, e)),
            }
            // The lock is on the file that was opened; whoever had it may have unlinked that one meanwhile.
            if is_still_there(&path, &file)? {
                let file = disk.adopt(file, path);
                // A courtesy to the next one. On a full disk something that matters will fail soon.
                let _ = sign(&file);
                held().push(file.file().as_raw_fd());
                return Ok(Self { file });
            }
        }
        Err(Error::new(Kind::Locked, format!("{} vanishes again and again; other writers use it", work.display())))
    }

    /// The lock file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let descriptor = self.file.file().as_raw_fd();
        held().retain(|other| *other != descriptor);
    }
}

fn held() -> MutexGuard<'static, Vec<RawFd>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// To be called in a child of `fork`: its copies of the parent's locks are let go, so that the locks end with the
/// parent, however long the child lives. A `flock` is shared by all copies of its descriptor.
pub fn leave_locks_to_parent() {
    // A child has one thread. If another one of the parent held this in the very moment of the fork, nobody will
    // ever let it go here, and the child keeps what it has.
    let held = match HELD.try_lock() {
        Ok(held) => held,
        Err(Busy::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(Busy::WouldBlock) => return,
    };
    let Ok(null) = File::open("/dev/null") else { return };
    for descriptor in held.iter() {
        // SAFETY: `HELD` has only descriptors of files that live: a lock leaves the list before its file is closed,
        // and no other thread runs here. The owner made of it is not dropped, so that nothing is closed twice. The
        // number stays open and is another file's now, which is what its real owner will close.
        let mut copy = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(*descriptor) });
        // A refusal leaves the copy as it is: then the lock ends with the last of these processes.
        let _ = rustix::io::dup2(&null, &mut copy);
    }
}

fn open(disk: &Disk, path: &Path) -> std::io::Result<File> {
    match disk.try_create(path, 0o644) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => open_for_writing(path),
        created => created,
    }
}

/// Everything in a work directory is ours to delete, so it must not lead somewhere else.
fn make_directory(disk: &Disk, work: &Path) -> Result<()> {
    match disk.try_make_directory(work) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => {
            let shown = work.display();
            let doing = format!("creating the directory {shown}, in which a cache is built beside its target");
            return Err(Error::io(doing, e));
        }
    }
    match std::fs::symlink_metadata(work) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::new(
            Kind::Exists,
            format!("{} is no directory, and a writer needs that name for its work; remove it", work.display()),
        )),
        // Removed meanwhile: opening the lock finds that out and tries again.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed("looking at", work)(e)),
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
fn sign(file: &DiskFile) -> Result<()> {
    let host = rustix::system::uname();
    let line = format!("{} {} {}\n", std::process::id(), now(), host.nodename().to_string_lossy());
    file.truncate(0)?;
    file.write(0, line.as_bytes())
}

fn locked(work: &Path, file: &File) -> Error {
    // Who took it in this moment has not signed yet, and the line of the one before would name the wrong process.
    std::thread::sleep(SIGNING);
    let mut line = String::new();
    let read = file.take(1000).read_to_string(&mut line);
    let mut words = line.split_whitespace();
    let holder = match (read, words.next(), words.next().map(str::parse), words.next()) {
        (Ok(_), Some(pid), Some(Ok(since)), Some(host)) => {
            format!("process {pid} on {host} since {}, that is, for {}", date(since), age(now().saturating_sub(since)))
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
        let lock = Lock::acquire(&Disk::default(), &work).unwrap();
        let error = Lock::acquire(&Disk::default(), &work).err().unwrap();
        assert_eq!(error.kind(), Kind::Locked);
        let holder = format!("locked by process {} on ", std::process::id());
        assert!(error.to_string().contains(&holder), "{error}");
        assert!(error.to_string().contains(" UTC, that is, for "), "{error}");
        drop(lock);
        Lock::acquire(&Disk::default(), &work).unwrap();
    }

    #[test]
    fn a_lock_on_an_unlinked_file_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        let old = Lock::acquire(&Disk::default(), &work).unwrap();
        std::fs::remove_file(old.path()).unwrap();
        let new = Lock::acquire(&Disk::default(), &work).unwrap();
        assert!(is_still_there(new.path(), new.file.file()).unwrap());
        assert!(!is_still_there(old.path(), old.file.file()).unwrap());
    }

    #[test]
    fn a_link_in_the_place_of_the_work_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        std::os::unix::fs::symlink(directory.path(), &work).unwrap();
        assert_eq!(Lock::acquire(&Disk::default(), &work).err().unwrap().kind(), Kind::Exists);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_file_is_not_written_through() {
        let directory = tempfile::tempdir().unwrap();
        let (work, other) = (directory.path().join(".x.building"), directory.path().join("other"));
        std::fs::create_dir(&work).unwrap();
        std::fs::write(&other, "of somebody else").unwrap();
        std::os::unix::fs::symlink(&other, work.join("lock")).unwrap();
        assert_eq!(Lock::acquire(&Disk::default(), &work).err().unwrap().kind(), Kind::Io);
        assert_eq!(std::fs::read_to_string(other).unwrap(), "of somebody else");
    }

    #[test]
    fn an_unreadable_lock_file_still_locks() {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join(".x.building");
        let lock = Lock::acquire(&Disk::default(), &work).unwrap();
        std::fs::write(lock.path(), [0xff, 0xfe]).unwrap();
        assert!(Lock::acquire(&Disk::default(), &work).err().unwrap().to_string().contains("by another process"));
    }
}
