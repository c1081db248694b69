//! Publication: one rename shows the whole cache at once, or none of it.

use std::path::Path;

use super::disk::is_unsupported;
use super::target::check_target;
use super::work::Work;
use crate::error::{Error, Kind, Result};
use crate::outcome::Outcome;

/// Gives the cache its name. Everything in it is durable, and so is its name in the work directory.
pub(super) fn show(work: &Work, replace: bool) -> Result<()> {
    let (cache, target) = (work.cache(), work.target());
    check_target(target, replace)?;
    let exists = replace && target.exists();
    let shown = if exists { work.disk().exchange(&cache, target) } else { work.disk().rename(&cache, target) };
    match shown {
        Ok(()) => Ok(()),
        Err(e) if is_unsupported(&e) && exists => swap(work),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let shown = target.display();
            Err(Error::new(Kind::Exists, format!("{shown} appeared while this cache was being written")))
        }
        Err(e) => Err(renaming(&cache, target)(e)),
    }
}

/// Makes durable that the cache has its name, and removes the work directory. Returns what went wrong with the latter:
/// the cache is published then.
pub(super) fn settle(mut work: Work) -> Result<Vec<String>> {
    let durable = work.disk().sync_directory(work.parent()).and_then(|()| work.disk().sync_directory(work.path()));
    if let Err(error) = durable {
        // The disk may still have the old name for the old cache, which must have its files then.
        work.keep(true);
        return Err(error.with_outcome(Outcome::Unsure));
    }
    let untidy = work.remove().err();
    Ok(untidy
        .map(|error| format!("the cache is published, but its work directory stays: {error}"))
        .into_iter()
        .collect())
}

fn renaming(from: &Path, to: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let doing = format!("renaming {} to {}", from.display(), to.display());
    |e| Error::io(doing, e)
}

/// Where two names cannot be exchanged: the target is missing between two renames, and the next writer puts
/// the old cache back should this one die there.
fn swap(work: &Work) -> Result<()> {
    let rename = |from: &Path, to: &Path| work.disk().rename(from, to).map_err(renaming(from, to));
    rename(work.target(), &work.old())?;
    let moved = work
        .disk()
        .sync_directory(work.parent())
        .and_then(|()| work.disk().sync_directory(work.path()))
        .and_then(|()| rename(&work.cache(), work.target()));
    if moved.is_err() {
        rename(&work.old(), work.target())?;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::manifest::Manifest;
    use crate::write::disk::Disk;
    use crate::write::options::tests::empty_manifest;

    fn publish(work: Work, replace: bool) -> Result<Vec<String>> {
        work.sync_names()?;
        show(&work, replace)?;
        settle(work)
    }

    fn work(root: &Path, replace: bool) -> Work {
        let work = Work::open(Disk::default(), &root.join("x"), replace, &mut || Ok(())).unwrap();
        work.make_cache().unwrap();
        std::fs::write(work.cache().join("manifest.json"), empty_manifest("new")).unwrap();
        work
    }

    fn old(root: &Path) {
        std::fs::create_dir(root.join("x")).unwrap();
        std::fs::write(root.join("x/manifest.json"), empty_manifest("old")).unwrap();
    }

    fn content(root: &Path) -> String {
        assert_eq!(std::fs::read_dir(root).unwrap().count(), 1, "the work directory is gone");
        name(&root.join("x"))
    }

    fn name(cache: &Path) -> String {
        let bytes = std::fs::read(cache.join("manifest.json")).unwrap();
        Manifest::parse(&bytes).unwrap().name.to_string()
    }

    #[test]
    fn a_new_cache_appears_and_its_work_directory_goes() {
        let root = tempfile::tempdir().unwrap();
        assert!(publish(work(root.path(), false), false).unwrap().is_empty());
        assert_eq!(content(root.path()), "new");
    }

    #[test]
    fn a_rebuilt_cache_takes_the_place_of_the_old_one() {
        let root = tempfile::tempdir().unwrap();
        old(root.path());
        assert!(publish(work(root.path(), true), true).unwrap().is_empty());
        assert_eq!(content(root.path()), "new");
    }

    #[test]
    fn two_renames_do_it_where_names_cannot_be_exchanged() {
        let root = tempfile::tempdir().unwrap();
        old(root.path());
        let work = work(root.path(), true);
        swap(&work).unwrap();
        assert_eq!(name(&work.old()), "old");
        work.remove().unwrap();
        assert_eq!(content(root.path()), "new");
    }

    #[test]
    fn the_old_cache_stays_where_the_new_one_is_no_longer_whole() {
        let root = tempfile::tempdir().unwrap();
        old(root.path());
        let work = work(root.path(), true);
        swap(&work).unwrap();
        std::fs::remove_file(root.path().join("x/manifest.json")).unwrap();
        let moved = work.old();
        let said = settle(work).unwrap();
        assert!(said[0].contains("its work directory stays") && said[0].contains("no whole cache now"), "{said:?}");
        assert_eq!(name(&moved), "old");
    }

    #[test]
    fn a_swap_that_fails_half_way_puts_the_old_cache_back() {
        let root = tempfile::tempdir().unwrap();
        old(root.path());
        let work = work(root.path(), true);
        std::fs::remove_dir_all(work.cache()).unwrap();
        assert_eq!(swap(&work).unwrap_err().kind(), Kind::Io);
        drop(work);
        assert_eq!(content(root.path()), "old");
    }

    #[test]
    fn what_appears_at_the_target_meanwhile_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let work = work(root.path(), false);
        std::fs::create_dir(root.path().join("x")).unwrap();
        let renamed = work.disk().rename(&work.cache(), work.target());
        assert_eq!(renamed.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(publish(work, false).unwrap_err().kind(), Kind::Exists);
        assert_eq!(std::fs::read_dir(root.path().join("x")).unwrap().count(), 0);
    }
}
