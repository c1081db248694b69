//! When the old cache of a rebuild may go: not before all of another one lies in its place.

use std::path::{Path, PathBuf};

use super::Work;
use crate::error::{Error, Kind, Result};
use crate::read::Cache;
use crate::write::disk::failed;
use crate::write::target::look;

/// What to do once nothing is in its place.
const MEND: &str = "rename the old one back, or remove the old one if nobody needs it";

impl Work {
    /// Refuses to go on if the old cache is here and no whole one is in its place: then this is the only one there is.
    pub(super) fn check_only_copy(&self) -> Result<()> {
        if look(&self.old())?.is_none() {
            return Ok(());
        }
        let Some(problem) = problem(&self.target)? else { return Ok(()) };
        let (old, target) = (self.old(), self.target.display());
        Err(Error::new(Kind::Exists, format!("{} is the old cache of {target}, where {problem}", old.display())))
    }
}

/// Why what is at `target` does not stand in for the old cache, and what to do; None if it does. Then it is a directory
/// with a sound manifest and all files of that, in their lengths, and nothing of it lies elsewhere: a link may well
/// lead to the old cache itself.
fn problem(target: &Path) -> Result<Option<String>> {
    match look(target)? {
        None => return Ok(Some(format!("there is nothing now; {MEND}"))),
        Some(found) if found.is_symlink() => {
            return Ok(Some(format!("there is a symbolic link now; remove the link and {MEND}")));
        }
        Some(_) => {}
    }
    match Cache::open(target, true) {
        Ok(_) => {}
        // What the operating system refuses says nothing of a cache.
        Err(error) if matches!(error.kind(), Kind::Io | Kind::Memory | Kind::Internal) => return Err(error),
        Err(error) => {
            let problem = format!("there is no whole cache now; move away what is there and {MEND}: {error}");
            return Ok(Some(problem));
        }
    }
    let link = link_in(target)?;
    Ok(link.map(|link| format!("{} is a symbolic link now; move away what is there and {MEND}", link.display())))
}

/// A symbolic link in a directory or below it, if there is one. No writer makes any.
fn link_in(directory: &Path) -> Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(directory).map_err(failed("reading the directory", directory))? {
        let entry = entry.map_err(failed("reading the directory", directory))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(failed("looking at", &path))?;
        if kind.is_symlink() {
            return Ok(Some(path));
        }
        if kind.is_dir()
            && let Some(link) = link_in(&path)?
        {
            return Ok(Some(link));
        }
    }
    Ok(None)
}
