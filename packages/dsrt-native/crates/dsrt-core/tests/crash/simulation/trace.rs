//! Records what a writer does to files.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use dsrt_core::write::{Disk, Observer, Operation};

/// An operation that was done, with paths from the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    MakeDirectory(PathBuf),
    Create(PathBuf),
    Write(PathBuf, u64, Arc<[u8]>),
    Truncate(PathBuf, u64),
    SyncFile(PathBuf),
    SyncDirectory(PathBuf),
    Rename(PathBuf, PathBuf),
    Exchange(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The operation of that number fails once with EIO.
    Broken(usize),
    /// From that operation on nothing can be created or written: ENOSPC. Removing works, and so does a sync.
    Full(usize),
    /// From that operation on everything fails with EIO.
    Gone(usize),
}

/// An observer of one run.
pub struct Recorder {
    root: PathBuf,
    exchange: bool,
    fault: Fault,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    count: usize,
    done: Vec<Done>,
    /// Files whose sync failed, and those that were synced again after that.
    failed: BTreeSet<PathBuf>,
    again: Vec<PathBuf>,
}

impl Recorder {
    /// Of a writer that works below `root`. Without `exchange`, names cannot be exchanged there.
    pub fn new(root: &Path, exchange: bool, fault: Fault) -> Arc<Self> {
        Arc::new(Self { root: root.to_path_buf(), exchange, fault, log: Mutex::default() })
    }

    /// The disk for that writer.
    pub fn disk(self: &Arc<Self>) -> Disk {
        Disk::observed(self.clone())
    }

    /// What was done so far.
    pub fn done(&self) -> Vec<Done> {
        self.log.lock().unwrap().done.clone()
    }

    /// What was synced again after its sync had failed.
    pub fn synced_again(&self) -> Vec<PathBuf> {
        self.log.lock().unwrap().again.clone()
    }

    fn below_root(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap().to_path_buf()
    }

    fn fault(&self, number: usize, operation: &Operation<'_>) -> Option<i32> {
        use Operation::{Create, Exchange, Link, MakeDirectory, Rename, Write};
        const EIO: i32 = 5;
        const ENOSPC: i32 = 28;
        const ENOSYS: i32 = 38;
        let grows =
            matches!(operation, MakeDirectory { .. } | Create { .. } | Write { .. } | Link { .. } | Rename { .. });
        match self.fault {
            _ if matches!(operation, Exchange { .. }) && !self.exchange => Some(ENOSYS),
            Fault::Broken(at) if number == at => Some(EIO),
            Fault::Full(at) if number >= at && grows => Some(ENOSPC),
            Fault::Gone(at) if number >= at => Some(EIO),
            _ => None,
        }
    }
}

impl Observer for Recorder {
    fn operation(&self, operation: &Operation<'_>, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        // Held while it runs, so that what is recorded is the order in which it happened.
        let mut log = self.log.lock().unwrap();
        let number = log.count;
        log.count += 1;
        let done = self.owned(operation);
        let fault = self.fault(number, operation);
        if let Done::SyncFile(path) = &done {
            if log.failed.contains(path) {
                log.again.push(path.clone());
            }
            if fault.is_some() {
                log.failed.insert(path.clone());
            }
        }
        if let Some(code) = fault {
            return Err(io::Error::from_raw_os_error(code));
        }
        if !matches!(done, Done::SyncFile(_) | Done::SyncDirectory(_)) {
            // The model knows what a sync means; nobody pulls the plug of this machine.
            run()?;
        }
        log.done.push(done);
        Ok(())
    }
}

impl Recorder {
    fn owned(&self, operation: &Operation<'_>) -> Done {
        let at = |path: &Path| self.below_root(path);
        match *operation {
            Operation::MakeDirectory { path } => Done::MakeDirectory(at(path)),
            Operation::Create { path } => Done::Create(at(path)),
            Operation::Write { path, offset, bytes } => Done::Write(at(path), offset, bytes.into()),
            Operation::Truncate { path, len } => Done::Truncate(at(path), len),
            Operation::SyncFile { path } => Done::SyncFile(at(path)),
            Operation::SyncDirectory { path } => Done::SyncDirectory(at(path)),
            Operation::Rename { from, to } => Done::Rename(at(from), at(to)),
            Operation::Exchange { one, other } => Done::Exchange(at(one), at(other)),
            Operation::Link { from, to } => Done::Link(at(from), at(to)),
            Operation::RemoveFile { path } | Operation::RemoveDirectory { path } => Done::Remove(at(path)),
        }
    }
}
