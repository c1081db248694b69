//! The work directory `.<name>.building` beside the target: made, recovered from a dead writer, and removed.
//!
//! It holds `lock`, `cache` (which becomes the target) and, only while a rebuild swaps, `old`.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file::{make_directory, sync_directory};
use super::lock::Lock;
use super::target::{absolute, check_target, look, make_parents, remove_parents, split};
use crate::error::{Error, Kind, Result};

/// A locked work directory. Unless it was published, dropping it leaves nothing behind.
pub(super) struct Work {
    target: PathBuf,
    path: PathBuf,
    lock: Lock,
    /// Directories above the target that were missing, outermost first.
    made: Vec<PathBuf>,
    /// A child made by fork has a copy of this value, but the directory is not its to remove.
    process: u32,
    /// Whether there is nothing left for drop to do.
    done: bool,
}

impl Work {
    /// Locks and empties the work directory of `target`, after putting back what a dead rebuild had moved away.
    /// With `replace`, `target` may be a published cache; otherwise nothing may be there.
    pub(super) fn create(target: &Path, replace: bool) -> Result<Self> {
        let target = absolute(target)?;
        let (parent, name) = split(&target)?;
        let path = parent.join(format!(".{name}.building"));
        // With no work directory there is nothing to recover, and nothing at all is touched.
        if look(&path)?.is_none() {
            check_target(&target, replace)?;
        }
        let made = make_parents(parent)?;
        let lock = match Lock::acquire(&path) {
            Ok(lock) => lock,
            Err(error) => {
                remove_parents(&made);
                return Err(error);
            }
        };
        let work = Self { target, path, lock, made, process: std::process::id(), done: false };
        work.recover()?;
        check_target(&work.target, replace)?;
        work.check_device()?;
        for directory in [work.cache(), work.cache().join("fields")] {
            make_directory(&directory)?;
        }
        Ok(work)
    }

    /// Where the new cache is written.
    pub(super) fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Where a rebuild keeps the old cache while it swaps by two renames.
    pub(super) fn old(&self) -> PathBuf {
        self.path.join("old")
    }

    /// Where the cache will be published.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// The work directory itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of target and work directory.
    pub(super) fn parent(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("/"))
    }

    /// Whether this process made the directory; false in a child that inherited it by fork.
    pub(super) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Makes the names of directories that were missing above the target durable.
    pub(super) fn sync_parents(&self) -> Result<()> {
        self.made.iter().filter_map(|made| made.parent()).try_for_each(sync_directory)
    }

    /// Leaves the work directory to the next writer.
    pub(super) fn keep(&mut self) {
        self.done = true;
    }

    /// Removes the work directory and gives up the lock.
    pub(super) fn remove(&mut self) -> Result<()> {
        self.done = true;
        self.empty()?;
        let failed = |e| Error::io(format!("removing {}", self.path.display()), e);
        std::fs::remove_file(self.lock.path()).map_err(failed)?;
        match std::fs::remove_dir(&self.path) {
            // The next writer has its lock in there already.
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(failed),
        }
    }

    fn recover(&self) -> Result<()> {
        if look(&self.old())?.is_some() && look(&self.target)?.is_none() {
            let doing = || format!("putting {} back from {}", self.target.display(), self.old().display());
            std::fs::rename(self.old(), &self.target).map_err(|e| Error::io(doing(), e))?;
            sync_directory(self.parent())?;
            sync_directory(&self.path)?;
        }
        self.empty()
    }

    /// Deletes everything but the lock. Nothing, if the old cache is here and not back in its place: then this
    /// is the only one there is.
    fn empty(&self) -> Result<()> {
        if look(&self.old())?.is_some() && look(&self.target)?.is_none() {
            let message = format!("{} is the published cache and could not be put back", self.old().display());
            return Err(Error::new(Kind::Exists, format!("{message}; rename it to {}", self.target.display())));
        }
        let failed = |path: &Path, e| Error::io(format!("removing {}", path.display()), e);
        for entry in std::fs::read_dir(&self.path).map_err(|e| failed(&self.path, e))? {
            let path = entry.map_err(|e| failed(&self.path, e))?.path();
            if path == self.lock.path() {
                continue;
            }
            let is_directory = look(&path)?.is_some_and(|found| found.is_dir());
            let removed = if is_directory { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
            removed.map_err(|e| failed(&path, e))?;
        }
        Ok(())
    }

    fn check_device(&self) -> Result<()> {
        // The parent may be a symbolic link; where it leads is what counts.
        let device = |path: &Path| {
            let found = std::fs::metadata(path).map_err(|e| Error::io(format!("looking at {}", path.display()), e))?;
            Ok::<_, Error>(found.dev())
        };
        if device(&self.path)? == device(self.parent())? {
            return Ok(());
        }
        Err(Error::new(
            Kind::Value,
            format!("{} is on another device than its parent; a cache is published by a rename", self.path.display()),
        ))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.done && self.is_ours() {
            // Nobody is left to tell; a lock that stays behind is free, and the next writer clears the rest.
            let _ = self.remove();
            remove_parents(&self.made);
        }
    }
}

#[cfg(test)]
mod tests;
