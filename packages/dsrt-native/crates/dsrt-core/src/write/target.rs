//! The place where a cache is to be: its name, the directories above it, and what may be there already.

use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::disk::{Disk, failed, open_regular};
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;
use crate::format::manifest::{Manifest, PREFIX, digest_of};

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
            "{shown} is a published cache already; open it, choose another path, or replace it, with replace=True \
             of CacheWriter or on_stale=\"rebuild\" of build"
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
pub(super) fn look(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io(format!("looking at {}", path.display()), e)),
    }
}

pub(super) fn absolute(target: &Path) -> Result<PathBuf> {
    std::path::absolute(target).map_err(|e| Error::io(format!("making the path {} absolute", target.display()), e))
}

pub(super) fn split(target: &Path) -> Result<(&Path, &str)> {
    let name = target.file_name().and_then(|name| name.to_str());
    target
        .parent()
        .zip(name)
        .ok_or_else(|| Error::new(Kind::Value, format!("{} does not end in a name for the cache", target.display())))
}

/// The directory in which the cache `name` of `parent` is made.
pub(super) fn work_path(parent: &Path, name: &str) -> PathBuf {
    parent.join(format!(".{name}.building"))
}

/// Refuses a target below a published cache, with which it would be deleted.
pub(super) fn check_outside_of_caches(target: &Path) -> Result<()> {
    // Of the directories above, the last ones may be missing and the first ones symbolic links.
    let Some(above) = target.ancestors().skip(1).find_map(|above| std::fs::canonicalize(above).ok()) else {
        return Ok(());
    };
    match above.ancestors().find(|above| is_cache(above)) {
        None => Ok(()),
        Some(cache) => {
            let (shown, cache) = (target.display(), cache.display());
            let message = format!(
                "{shown} lies in {cache}, which is a published cache: nothing in it changes, and all of it is deleted \
                 when it is replaced; choose a path outside of it"
            );
            Err(Error::new(Kind::Value, message))
        }
    }
}

/// Whether a directory has a sound manifest. What cannot be read is none.
fn is_cache(path: &Path) -> bool {
    matches!(digest_at(path), Ok(Some(_)))
        && std::fs::read(path.join("manifest.json")).is_ok_and(|bytes| Manifest::parse(&bytes).is_ok())
}

/// The digest that the manifest of a cache at `target` begins with, if there is one.
pub(super) fn digest_at(target: &Path) -> Result<Option<Digest>> {
    let path = target.join("manifest.json");
    let Some(file) = open_regular(&path)? else { return Ok(None) };
    let mut head = Vec::new();
    file.take(PREFIX as u64).read_to_end(&mut head).map_err(failed("reading", &path))?;
    Ok(digest_of(&head))
}

/// Makes the directories above a target that are missing, and says which those were, outermost first.
pub(super) fn make_parents(disk: &Disk, parent: &Path) -> Result<Vec<PathBuf>> {
    let mut missing = Vec::new();
    for above in parent.ancestors() {
        // Links are followed here: the parent may well be one.
        if std::fs::exists(above).map_err(failed("looking at", above))? {
            break;
        }
        missing.push(above);
    }
    let mut made = Vec::new();
    for path in missing.into_iter().rev() {
        match disk.try_make_directory(path) {
            Ok(()) => made.push(path.to_path_buf()),
            // Another writer was quicker.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) => {
                remove_parents(disk, &made);
                return Err(failed("creating the directory", path)(e));
            }
        }
    }
    Ok(made)
}

/// Removes directories that this writer made, as far as nobody else has put anything there.
pub(super) fn remove_parents(disk: &Disk, made: &[PathBuf]) {
    for path in made.iter().rev() {
        if disk.remove_directory(path).is_err() {
            break;
        }
    }
}
