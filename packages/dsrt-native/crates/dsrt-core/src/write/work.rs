//! The work directory `.<name>.building` beside the target: made, recovered from a dead writer, and removed.
//!
//! It holds `lock`, `journal`, `metadata.spill`, `cache` (which becomes the target) and, only while a rebuild swaps,
//! `old`. What the journal says is durable stays until somebody decides that it goes.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::disk::{Disk, failed, names};
use super::lock::Lock;
use super::target::{
    absolute, check_outside_of_caches, check_target, digest_at, look, make_parents, remove_parents, split, work_path,
};
use super::umask;
use super::unfinished::Unfinished;
use crate::error::{Error, Result};

mod equal;
mod old;
mod own;

pub use equal::tidy;
use own::check_names;

/// A locked work directory. Dropped, it goes, unless it was told to stay.
pub(super) struct Work {
    disk: Disk,
    target: PathBuf,
    path: PathBuf,
    lock: Lock,
    /// Directories above the target that were missing, outermost first.
    made: Vec<PathBuf>,
    /// What an earlier run made durable.
    unfinished: Option<Unfinished>,
    /// A child made by fork has a copy of this value, but the directory is not its to remove.
    process: u32,
    /// Whether there is something in it that the next run can use.
    keep: bool,
}

impl Work {
    /// Locks the work directory of `target`, after putting back what a dead rebuild had moved away. With `replace`,
    /// `target` may be a published cache; otherwise nothing may be there. What an earlier run made durable is still
    /// there afterwards. `pause` is called now and then while that is read; its error leaves it as it is.
    pub(super) fn open(
        disk: Disk,
        target: &Path,
        replace: bool,
        pause: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        umask::check()?;
        let target = absolute(target)?;
        let (parent, name) = split(&target)?;
        let path = work_path(parent, name);
        check_outside_of_caches(&target)?;
        // With no work directory there is nothing to recover, and nothing at all is touched.
        match look(&path)? {
            None => check_target(&target, replace)?,
            Some(_) => check_names(&path)?,
        }
        let made = make_parents(&disk, parent)?;
        let lock = match Lock::acquire(&disk, &path) {
            Ok(lock) => lock,
            Err(error) => {
                remove_parents(&disk, &made);
                return Err(error);
            }
        };
        let process = std::process::id();
        let mut work = Self { disk, target, path, lock, made, unfinished: None, process, keep: true };
        work.recover(pause)?;
        work.keep = work.unfinished.is_some();
        check_target(&work.target, replace)?;
        work.check_device()?;
        Ok(work)
    }

    /// Makes the directories of a new cache.
    pub(super) fn make_cache(&self) -> Result<()> {
        self.disk.make_directory(&self.cache())?;
        self.disk.make_directory(&self.fields())
    }

    /// Makes the names of the work directory, of the cache in it and of the directories above the target durable.
    pub(super) fn sync_names(&self) -> Result<()> {
        let above = self.made.iter().filter_map(|made| made.parent());
        let ours = [self.fields(), self.cache(), self.path.clone(), self.parent().to_path_buf()];
        ours.iter().map(PathBuf::as_path).chain(above).try_for_each(|path| self.disk.sync_directory(path))
    }

    /// The disk that everything goes through.
    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Where the new cache is written.
    pub(super) fn cache(&self) -> PathBuf {
        self.path.join("cache")
    }

    /// Where the directories of its fields are.
    pub(super) fn fields(&self) -> PathBuf {
        self.path.join("cache").join("fields")
    }

    /// Where what is durable is noted.
    pub(super) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// Where metadata waits for the publication.
    pub(super) fn spill(&self) -> PathBuf {
        self.path.join("metadata.spill")
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

    /// The same, to be used now. It still stays in the directory.
    pub(super) fn take_unfinished(&mut self) -> Option<Unfinished> {
        self.unfinished.take()
    }

    /// Whether this process made the directory; false in a child that inherited it by fork.
    pub(super) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Says whether the directory stays when this value is dropped.
    pub(super) fn keep(&mut self, keep: bool) {
        self.keep = keep;
    }

    /// Deletes everything but the lock: the journal first and durably, so that it never speaks of what is gone.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.check_only_copy()?;
        if look(&self.journal())?.is_some() {
            self.disk.remove_file(&self.journal())?;
            self.disk.sync_directory(&self.path)?;
        }
        self.unfinished = None;
        self.keep = false;
        for path in [self.cache(), self.spill(), self.old()] {
            if look(&path)?.is_some() {
                self.disk.remove_all(&path)?;
            }
        }
        Ok(())
    }

    /// Removes the work directory and gives up the lock.
    pub(super) fn remove(mut self) -> Result<()> {
        // Whatever goes wrong would go wrong again.
        self.keep = true;
        self.remove_now()
    }

    fn remove_now(&mut self) -> Result<()> {
        self.clear()?;
        self.keep = true;
        self.disk.remove_file(self.lock.path())?;
        match self.disk.remove_directory(&self.path) {
            // The next writer has its lock in there already, or somebody else has put something there.
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(failed("removing", &self.path)),
        }
    }

    fn recover(&mut self, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let left = names(&self.path)?.len() > 1;
        if look(&self.old())?.is_some() && look(&self.target)?.is_none() {
            let doing = || format!("putting {} back from {}", self.target.display(), self.old().display());
            self.disk.rename(&self.old(), &self.target).map_err(|e| Error::io(doing(), e))?;
        }
        if left {
            // The writer that died may have published a cache, and nothing but its rename is known to be durable
            // here: before anything is removed, what is seen must be what a crash would leave.
            self.disk.sync_directory(self.parent())?;
            self.disk.sync_directory(&self.path)?;
        }
        if look(&self.old())?.is_some() {
            self.check_only_copy()?;
            self.disk.remove_all(&self.old())?;
        }
        if left {
            self.unfinished = Unfinished::read(&self.journal(), &self.fields())?;
        }
        let published = self.unfinished.as_ref().and_then(|unfinished| unfinished.published);
        let is_published =
            published.is_some() && published == digest_at(&self.target)? && !self.may_be_new(published, pause)?;
        if look(&self.cache())?.is_none() || is_published || self.unfinished.is_none() {
            self.clear()?;
        }
        Ok(())
    }

    fn check_device(&self) -> Result<()> {
        // The parent may be a symbolic link; where it leads is what counts.
        let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev()).map_err(failed("looking at", path));
        if device(&self.path)? == device(self.parent())? {
            return Ok(());
        }
        let shown = self.path.display();
        let doing = format!("building in {shown}, which is on another device than its parent: nothing can be renamed");
        Err(Error::io(doing, Errno::XDEV.into()))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if !self.keep && self.is_ours() {
            // Nobody is left to tell; a lock that stays behind is free, and the next writer clears the rest.
            let _ = self.remove_now();
            remove_parents(&self.disk, &self.made);
        }
    }
}

#[cfg(test)]
mod tests;
