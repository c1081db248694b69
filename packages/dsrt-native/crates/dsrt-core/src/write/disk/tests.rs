use std::sync::Mutex;

use super::*;
use crate::error::Kind;

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Observer for Seen {
    fn operation(&self, operation: &Operation<'_>, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let text = format!("{operation:?}");
        self.0.lock().unwrap().push(text.split(' ').next().unwrap().to_owned());
        match operation {
            Operation::SyncFile { .. } => Err(io::Error::from_raw_os_error(5)),
            Operation::Exchange { .. } => Ok(()),
            _ => run(),
        }
    }
}

#[test]
fn an_observer_sees_fails_and_leaves_out_operations() {
    let root = tempfile::tempdir().unwrap();
    let seen = Arc::new(Seen::default());
    let disk = Disk::observed(seen.clone());
    let at = |name: &str| root.path().join(name);
    disk.make_directory(&at("d")).unwrap();
    let file = disk.create(at("d/a"), 0o444).unwrap();
    file.write(3, b"xyz").unwrap();
    file.truncate(5).unwrap();
    let error = file.sync().unwrap_err();
    assert_eq!((error.kind(), error.os_code()), (Kind::Io, Some(5)));
    disk.link(&at("d/a"), &at("d/b")).unwrap();
    disk.rename(&at("d/b"), &at("d/c")).unwrap();
    disk.exchange(&at("d/a"), &at("nowhere")).unwrap();
    disk.sync_directory(&at("d")).unwrap();
    assert_eq!(names(&at("d")).unwrap(), ["a", "c"]);
    assert_eq!(std::fs::read(at("d/c")).unwrap(), b"\0\0\0xy");
    disk.remove_all(&at("d")).unwrap();
    assert!(!at("d").exists());
    let expected = "MakeDirectory Create Write Truncate SyncFile Link Rename Exchange SyncDirectory \
                    RemoveFile RemoveFile RemoveDirectory";
    assert_eq!(seen.0.lock().unwrap().join(" "), expected);
}

#[test]
fn names_that_are_taken_stay_as_they_are() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let disk = Disk::default();
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::create_dir(at("new")).unwrap();
    assert_eq!(disk.rename(&at("new"), &at("empty")).unwrap_err().raw_os_error(), Some(17));
    std::fs::write(at("file"), "mine").unwrap();
    assert_eq!(disk.create(at("file"), 0o444).err().unwrap().os_code(), Some(17));
    std::fs::write(at("other"), "yours").unwrap();
    disk.exchange(&at("file"), &at("other")).unwrap();
    assert_eq!(std::fs::read(at("file")).unwrap(), b"yours");
}

#[test]
fn a_link_is_removed_and_not_what_it_leads_to() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("kept")).unwrap();
    std::fs::create_dir(root.path().join("gone")).unwrap();
    std::os::unix::fs::symlink(root.path().join("kept"), root.path().join("gone/link")).unwrap();
    Disk::default().remove_all(&root.path().join("gone")).unwrap();
    assert_eq!(names(root.path()).unwrap(), ["kept"]);
}
