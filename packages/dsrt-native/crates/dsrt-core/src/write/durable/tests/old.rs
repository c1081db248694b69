//! A rebuild that died between its two renames: the old cache in the work directory is the only one there is, until
//! another one lies in its place with all its files.

use super::*;

/// Publishes a cache and moves it to where such a rebuild leaves it. Returns its files.
fn moved_away(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = publish(fresh(root, &planned()), &SHARDS);
    std::fs::create_dir(root.join(".x.building")).unwrap();
    std::fs::rename(root.join("x"), root.join(".x.building/old")).unwrap();
    files
}

fn copy(files: &[(PathBuf, Vec<u8>)], target: &Path) {
    for (path, bytes) in files {
        let path = target.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Neither who tidies up nor a writer takes what is at the target for the cache; it says `said`, and nothing is lost.
fn check_stays(root: &Path, files: &[(PathBuf, Vec<u8>)], said: &str) {
    tidy(&root.join("x"), &mut || Ok(()));
    for replace in [false, true] {
        let error = open(root, &WriterOptions { replace, ..planned() }).err().unwrap();
        assert_eq!(error.kind(), Kind::Exists);
        let text = error.to_string();
        assert!(text.contains(".x.building/old is the old cache of ") && text.contains(said), "{text}");
        assert!(text.contains("rename the old one back"), "{text}");
    }
    for (path, bytes) in files {
        assert!(std::fs::read(root.join(".x.building/old").join(path)).unwrap() == *bytes, "{}", path.display());
    }
}

#[test]
fn the_old_cache_stays_until_every_file_of_its_copy_is_there_in_full() {
    let root = tempfile::tempdir().unwrap();
    let (target, files) = (root.path().join("x"), moved_away(root.path()));
    for (path, bytes) in &files {
        copy(&files, &target);
        std::fs::remove_file(target.join(path)).unwrap();
        check_stays(root.path(), &files, "there is no whole cache now");
        std::fs::write(target.join(path), &bytes[..bytes.len() - 1]).unwrap();
        check_stays(root.path(), &files, "there is no whole cache now");
    }
    copy(&files, &target);
    tidy(&target, &mut || Ok(()));
    assert_eq!(names(root.path()).unwrap(), ["x"]);
}

#[test]
fn what_only_leads_to_the_old_cache_does_not_stand_in_for_it() {
    let links = ["fields", "fields/a", "fields/b/00001.shard", "metadata.arrow", "manifest.json"];
    for link in [None].into_iter().chain(links.map(Some)) {
        let root = tempfile::tempdir().unwrap();
        let (target, files) = (root.path().join("x"), moved_away(root.path()));
        copy(&files, &target);
        let within = |path: &Path| link.map_or(path.to_path_buf(), |link| path.join(link));
        let (from, to) = (within(&target), within(&root.path().join(".x.building/old")));
        if from.is_dir() {
            std::fs::remove_dir_all(&from).unwrap();
        } else {
            std::fs::remove_file(&from).unwrap();
        }
        std::os::unix::fs::symlink(to, from).unwrap();
        check_stays(root.path(), &files, "is a symbolic link now");
    }
}
