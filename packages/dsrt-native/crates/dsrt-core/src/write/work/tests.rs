use super::*;
use crate::error::Kind;
use crate::write::options::tests::empty_manifest;

fn create(target: &Path, replace: bool) -> Result<Work> {
    let mut work = Work::open(Disk::default(), target, replace, &mut || Ok(()))?;
    work.clear()?;
    work.make_cache()?;
    Ok(work)
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_was_not_published_leaves_no_trace_not_even_parents() {
    let root = tempfile::tempdir().unwrap();
    let work = create(&root.path().join("a/b/x"), false).unwrap();
    assert_eq!(names(&root.path().join("a/b")), [".x.building"]);
    assert_eq!(names(work.path()), ["cache", "lock"]);
    drop(work);
    assert!(names(root.path()).is_empty());
}

#[test]
fn parents_that_others_use_stay() {
    let root = tempfile::tempdir().unwrap();
    let work = create(&root.path().join("a/x"), false).unwrap();
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
    let work = create(&root.path().join("x"), false).unwrap();
    assert_eq!(names(work.path()), ["cache", "lock"]);
    assert!(names(&work.cache().join("fields")).is_empty());
}

#[test]
fn a_cache_that_a_dead_rebuild_had_moved_away_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let left = root.path().join(".x.building");
    std::fs::create_dir_all(left.join("old")).unwrap();
    std::fs::write(left.join("old/manifest.json"), "the old one").unwrap();
    let error = create(&root.path().join("x"), false).err().unwrap();
    assert_eq!(error.kind(), Kind::Exists);
    assert_eq!(std::fs::read_to_string(root.path().join("x/manifest.json")).unwrap(), "the old one");
    assert_eq!(names(root.path()), ["x"]);
}

#[test]
fn the_only_copy_of_a_cache_is_never_deleted() {
    let root = tempfile::tempdir().unwrap();
    let mut work = create(&root.path().join("x"), false).unwrap();
    std::fs::create_dir(work.old()).unwrap();
    assert_eq!(work.clear().unwrap_err().kind(), Kind::Exists);
    let old = work.old();
    drop(work);
    assert!(old.is_dir());
    // Nor for what somebody puts where it was, which is no cache.
    std::fs::create_dir(root.path().join("x")).unwrap();
    std::fs::write(root.path().join("x/manifest.json"), "{}").unwrap();
    let error = create(&root.path().join("x"), true).err().unwrap();
    assert_eq!(error.kind(), Kind::Exists);
    assert!(error.to_string().contains("old is the old cache of"), "{error}");
    assert!(old.is_dir());
}

#[test]
fn a_link_to_the_old_cache_does_not_stand_in_for_it() {
    let root = tempfile::tempdir().unwrap();
    let (target, old) = (root.path().join("x"), root.path().join(".x.building/old"));
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(old.join("manifest.json"), empty_manifest("x")).unwrap();
    std::os::unix::fs::symlink(".x.building/old", &target).unwrap();
    tidy(&target, &mut || Ok(()));
    for replace in [false, true] {
        let error = create(&target, replace).err().unwrap();
        assert_eq!(error.kind(), Kind::Exists);
        assert!(error.to_string().contains("there is a symbolic link now; remove the link"), "{error}");
    }
    assert_eq!(names(&old), ["manifest.json"]);
    // Once the link is gone, the next writer puts the cache back.
    std::fs::remove_file(&target).unwrap();
    drop(create(&target, true).unwrap());
    assert_eq!(names(root.path()), ["x"]);
    assert_eq!(names(&target), ["manifest.json"]);
}

#[test]
fn a_parent_may_be_a_symbolic_link() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.path().join("link")).unwrap();
    let work = create(&root.path().join("link/x"), false).unwrap();
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
            let error = create(&at(name), replace).err().unwrap();
            assert_eq!(error.kind(), Kind::Exists);
            assert!(error.to_string().contains(said), "{error}");
        }
    }
    assert!(create(&at("cache"), false).err().unwrap().to_string().contains("on_stale"));
    assert!(create(&at("other"), true).err().unwrap().to_string().contains("not sound"));
    drop(create(&at("cache"), true).unwrap());
    assert_eq!(names(root.path()), ["cache", "directory", "file", "link", "other"]);
}

#[test]
fn a_path_without_a_name_is_refused() {
    for path in ["/", "..", "a/.."] {
        assert_eq!(create(Path::new(path), false).err().unwrap().kind(), Kind::Value, "{path}");
    }
}

#[test]
fn what_no_writer_made_is_refused_and_nothing_in_the_work_directory_is_touched() {
    let root = tempfile::tempdir().unwrap();
    let left = root.path().join(".x.building");
    let odd = |name: &str| -> Box<dyn Fn(&Path)> {
        match name {
            "journal" | "docs" => Box::new(|path| std::fs::create_dir(path).unwrap()),
            "lock" => Box::new(|path| std::os::unix::fs::symlink("nowhere", path).unwrap()),
            _ => Box::new(|path| std::fs::write(path, "mine").unwrap()),
        }
    };
    let cases = [
        ("docs", "move it away"),
        ("thesis.tex", "move it away"),
        ("journal", "no regular file, and a writer needs that name; remove it"),
        ("lock", "no regular file, and a writer needs that name; remove it"),
    ];
    for (name, said) in cases {
        std::fs::create_dir_all(left.join("cache")).unwrap();
        std::fs::write(left.join("cache/half"), "half").unwrap();
        odd(name)(&left.join(name));
        let before = names(&left);
        let error = create(&root.path().join("x"), false).err().unwrap();
        assert_eq!(error.kind(), Kind::Exists);
        assert!(error.to_string().contains(&format!(".x.building/{name} ")), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(names(&left), before);
        assert_eq!(names(&left.join("cache")), ["half"]);
        std::fs::remove_dir_all(&left).unwrap();
    }
    // A named pipe that nobody writes to is not waited for.
    std::fs::create_dir(&left).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, left.join("journal"), pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(create(&root.path().join("x"), false).err().unwrap().to_string().contains("no regular file"));
}

#[test]
fn what_somebody_puts_into_the_work_directory_meanwhile_stays() {
    let root = tempfile::tempdir().unwrap();
    let work = create(&root.path().join("x"), false).unwrap();
    std::fs::write(work.path().join("note"), "mine").unwrap();
    let path = work.path().to_path_buf();
    work.remove().unwrap();
    assert_eq!(names(&path), ["note"]);
}

#[test]
fn a_target_in_a_published_cache_is_refused() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("cache/fields")).unwrap();
    std::fs::write(root.path().join("cache/manifest.json"), empty_manifest("x")).unwrap();
    std::os::unix::fs::symlink("cache/fields", root.path().join("link")).unwrap();
    for target in ["cache/in", "cache/fields/a/b", "link/in"] {
        let error = create(&root.path().join(target), false).err().unwrap();
        assert_eq!(error.kind(), Kind::Value);
        assert!(error.to_string().contains("cache, which is a published cache"), "{error}");
    }
    assert_eq!(names(&root.path().join("cache")), ["fields", "manifest.json"]);
    assert!(names(&root.path().join("cache/fields")).is_empty());
    // Other programs have manifests, too.
    std::fs::create_dir(root.path().join("other")).unwrap();
    std::fs::write(root.path().join("other/manifest.json"), "{}").unwrap();
    create(&root.path().join("other/in"), false).unwrap();
}
