//! Directories and files as a value: what is on a disk, or was, or may be.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An empty directory, in memory where the system has such a place: thousands are made.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Every path below a root, from there, with its content; None for a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tree(pub BTreeMap<PathBuf, Option<Arc<[u8]>>>);

impl Tree {
    /// What is below `root`.
    pub fn read(root: &Path) -> Self {
        let mut found = Self::default();
        let mut open = vec![PathBuf::new()];
        while let Some(directory) = open.pop() {
            for entry in std::fs::read_dir(root.join(&directory)).unwrap() {
                let path = directory.join(entry.unwrap().file_name());
                let at = root.join(&path);
                if at.is_dir() {
                    open.push(path.clone());
                    found.0.insert(path, None);
                } else {
                    found.0.insert(path, Some(std::fs::read(&at).unwrap().into()));
                }
            }
        }
        found
    }

    /// Puts all of it below `root`.
    pub fn write(&self, root: &Path) {
        for (path, content) in &self.0 {
            match content {
                None => std::fs::create_dir(root.join(path)).unwrap(),
                Some(bytes) => std::fs::write(root.join(path), bytes).unwrap(),
            }
        }
    }

    /// The part below a directory; None if there is no such directory.
    pub fn below(&self, directory: &str) -> Option<Self> {
        self.0.get(Path::new(directory))?;
        let inside = self.0.iter().filter_map(|(path, content)| {
            let path = path.strip_prefix(directory).ok()?;
            (path != Path::new("")).then(|| (path.to_path_buf(), content.clone()))
        });
        Some(Self(inside.collect()))
    }

    /// A number that stands for it.
    pub fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Hash::hash(self, &mut hasher);
        hasher.finish()
    }
}
