//! The work directory `.<name>.building` beside the target: made, recovered from a dead writer, and removed.
//!
//! It holds `lock`, `cache` (which becomes the target) and, only while a rebuild swaps, `old`.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file::sync_directory;
use super::lock::Lock;
use crate::error::{Error, Kind, Result};
use crate::format::manifest::Manifest;

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

/// Refuses a target that is taken, or, for a rebuild, one that is something else than a published cache.
pub(super) fn check_target(target: &Path, replace: bool) -> Result<()> {
    let shown = target.display();
    let Some(found) = look(target)? else {
        return Ok(());
    };
    let manifest = target.join("manifest.json");
    let is_cache = look(&manifest)?.is_some_and(|manifest| manifest.is_file());
    let problem = if found.is_symlink() {
        format!("{shown} is a symbolic link; give the path of the directory itself, or another path")
    } else if !is_cache {
        format!("{shown} exists and is not a cache, so it is left alone; choose another path or remove it")
    } else if !replace {
        format!(
            "{shown} is a published cache already; open it, choose another path, or build with on_stale=\"rebuild\""
        )
    } else {
        // Many programs keep a manifest.json; only one that proves itself may be replaced.
        let bytes = std::fs::read(&manifest).map_err(|e| Error::io(format!("reading {}", manifest.display()), e))?;
        match Manifest::parse(&bytes) {
            Ok(_) => return Ok(()),
            Err(error) => {
                format!("{shown} is not replaced, because its manifest is not sound; remove it yourself: {error}")
            }
        }
    };
    Err(Error::new(Kind::Exists, problem))
}

/// What is at a path, if anything is; a symbolic link is not followed.
fn look(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io(format!("looking at {}", path.display()), e)),
    }
}

fn absolute(target: &Path) -> Result<PathBuf> {
    std::path::absolute(target).map_err(|e| Error::io(format!("making the path {} absolute", target.display()), e))
}

fn split(target: &Path) -> Result<(&Path, &str)> {
    let name = target.file_name().and_then(|name| name.to_str());
    target
        .parent()
        .zip(name)
        .ok_or_else(|| Error::new(Kind::Value, format!("{} does not end in a name for the cache", target.display())))
}

/// Makes one directory.
pub(super) fn make_directory(path: &Path) -> Result<()> {
    std::fs::create_dir(path).map_err(|e| Error::io(format!("creating the directory {}", path.display()), e))
}

fn make_parents(parent: &Path) -> Result<Vec<PathBuf>> {
    let mut missing = Vec::new();
    for above in parent.ancestors() {
        // Links are followed here: the parent may well be one.
        if std::fs::exists(above).map_err(|e| Error::io(format!("looking at {}", above.display()), e))? {
            break;
        }
        missing.push(above.to_path_buf());
    }
    missing.reverse();
    if missing.is_empty() {
        return Ok(missing);
    }
    if let Err(e) = std::fs::create_dir_all(parent) {
        remove_parents(&missing);
        return Err(Error::io(format!("creating the directory {}", parent.display()), e));
    }
    Ok(missing)
}

/// Removes directories that this writer made, as far as nobody else has put anything there.
fn remove_parents(made: &[PathBuf]) {
    for path in made.iter().rev() {
        if std::fs::remove_dir(path).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::plan::tests::empty_manifest;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_was_not_published_leaves_no_trace_not_even_parents() {
        let root = tempfile::tempdir().unwrap();
        let work = Work::create(&root.path().join("a/b/x"), false).unwrap();
        assert_eq!(names(&root.path().join("a/b")), [".x.building"]);
        assert_eq!(names(work.path()), ["cache", "lock"]);
        drop(work);
        assert!(names(root.path()).is_empty());
    }

    #[test]
    fn parents_that_others_use_stay() {
        let root = tempfile::tempdir().unwrap();
        let work = Work::create(&root.path().join("a/x"), false).unwrap();
        std::fs::write(root.path().join("a/note"), "mine").unwrap();
        drop(work);
        assert_eq!(names(&root.path().join("a")), ["note"]);
    }

    #[test]
    fn leftovers_of_a_dead_writer_are_cleared() {
        let root = tempfile::tempdir().unwrap();
        let left = root.path().join(".x.building");
        std::fs::create_dir_all(left.join("cache/fields/y")).unwrap();
        std::fs::write(left.join("cache/fields/y/00000.shard"), "half").unwrap();
        std::fs::write(left.join("journal"), "from a later version").unwrap();
        std::fs::write(left.join("lock"), "1 1 gone\n").unwrap();
        let work = Work::create(&root.path().join("x"), false).unwrap();
        assert_eq!(names(work.path()), ["cache", "lock"]);
        assert!(names(&work.cache().join("fields")).is_empty());
    }

    #[test]
    fn a_cache_that_a_dead_rebuild_had_moved_away_comes_back() {
        let root = tempfile::tempdir().unwrap();
        let left = root.path().join(".x.building");
        std::fs::create_dir_all(left.join("old")).unwrap();
        std::fs::write(left.join("old/manifest.json"), "the old one").unwrap();
        let error = Work::create(&root.path().join("x"), false).err().unwrap();
        assert_eq!(error.kind(), Kind::Exists);
        assert_eq!(std::fs::read_to_string(root.path().join("x/manifest.json")).unwrap(), "the old one");
        assert_eq!(names(root.path()), ["x"]);
    }

    #[test]
    fn the_only_copy_of_a_cache_is_never_deleted() {
        let root = tempfile::tempdir().unwrap();
        let work = Work::create(&root.path().join("x"), false).unwrap();
        std::fs::create_dir(work.old()).unwrap();
        assert_eq!(work.empty().unwrap_err().kind(), Kind::Exists);
        let old = work.old();
        drop(work);
        assert!(old.is_dir());
    }

    #[test]
    fn a_parent_may_be_a_symbolic_link() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.path().join("link")).unwrap();
        let work = Work::create(&root.path().join("link/x"), false).unwrap();
        assert_eq!(names(&root.path().join("real")), [".x.building"]);
        drop(work);
    }

    #[test]
    fn a_target_that_exists_is_refused_untouched() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::write(at("file"), "").unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
        std::fs::create_dir(at("cache")).unwrap();
        std::fs::write(at("cache/manifest.json"), empty_manifest("x")).unwrap();
        std::fs::create_dir(at("other")).unwrap();
        std::fs::write(at("other/manifest.json"), "{\"name\": \"of another program\"}").unwrap();
        for (name, said) in [("file", "not a cache"), ("directory", "not a cache"), ("link", "symbolic link")] {
            for replace in [false, true] {
                let error = Work::create(&at(name), replace).err().unwrap();
                assert_eq!(error.kind(), Kind::Exists);
                assert!(error.to_string().contains(said), "{error}");
            }
        }
        assert!(Work::create(&at("cache"), false).err().unwrap().to_string().contains("on_stale"));
        assert!(Work::create(&at("other"), true).err().unwrap().to_string().contains("not sound"));
        drop(Work::create(&at("cache"), true).unwrap());
        assert_eq!(names(root.path()), ["cache", "directory", "file", "link", "other"]);
    }

    #[test]
    fn a_path_without_a_name_is_refused() {
        for path in ["/", "..", "a/.."] {
            assert_eq!(Work::create(Path::new(path), false).err().unwrap().kind(), Kind::Value, "{path}");
        }
    }
}
