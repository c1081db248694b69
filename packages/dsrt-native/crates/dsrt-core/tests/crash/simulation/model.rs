//! What a disk holds, and what of it a power cut may take.
//!
//! Content of a file is safe up to the last sync of that file. Names in a directory are safe up to the last sync of
//! that directory; a rename or an exchange happens as a whole or not at all, and a sync of either directory makes it
//! safe. Of everything else any part may be kept: each write for itself and torn, each name for itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::random::Random;
use super::trace::Done;
use super::tree::Tree;

type Id = usize;
type Names = BTreeMap<OsString, Id>;

const ROOT: Id = 0;

/// A write may be torn at multiples of this.
const SECTOR: usize = 512;

/// The disk, with what is safe and what is not.
#[derive(Clone)]
pub struct Model {
    nodes: Vec<Node>,
    /// Changes of names that are not safe yet, in order.
    unsafe_names: Vec<Vec<Assignment>>,
}

#[derive(Clone)]
enum Node {
    File {
        safe: Vec<u8>,
        changes: Vec<Change>,
    },
    /// The names as they are, and as they are safe.
    Directory {
        names: Names,
        safe: Names,
    },
}

#[derive(Clone)]
enum Change {
    Write(u64, Arc<[u8]>),
    Truncate(u64),
}

/// A name in a directory and what it leads to afterwards.
#[derive(Clone)]
struct Assignment {
    directory: Id,
    name: OsString,
    to: Option<Id>,
}

/// What of the unsafe part an image keeps.
pub enum Kept {
    /// All of it, as when only the process dies.
    All,
    /// Nothing.
    Nothing,
    /// Any part.
    Some(Random),
}

impl Model {
    /// A disk on which all of `tree` is safe.
    pub fn of(tree: &Tree) -> Self {
        let mut model =
            Self { nodes: vec![Node::Directory { names: Names::new(), safe: Names::new() }], unsafe_names: Vec::new() };
        for (path, content) in &tree.0 {
            let node = match content {
                Some(bytes) => Node::File { safe: bytes.to_vec(), changes: Vec::new() },
                None => Node::Directory { names: Names::new(), safe: Names::new() },
            };
            let id = model.add(node);
            let (directory, name) = model.place(path);
            let Node::Directory { names, safe } = &mut model.nodes[directory] else { panic!("{path:?}") };
            names.insert(name.clone(), id);
            safe.insert(name, id);
        }
        model
    }

    /// Does an operation. If `counts` is false, a sync makes nothing safe.
    pub fn apply(&mut self, done: &Done, counts: bool) {
        match done {
            Done::MakeDirectory(path) => {
                let id = self.add(Node::Directory { names: Names::new(), safe: Names::new() });
                self.rename(&[(path, Some(id))]);
            }
            Done::Create(path) => {
                let id = self.add(Node::File { safe: Vec::new(), changes: Vec::new() });
                self.rename(&[(path, Some(id))]);
            }
            Done::Write(path, offset, bytes) => self.change(path, Change::Write(*offset, bytes.clone())),
            Done::Truncate(path, len) => self.change(path, Change::Truncate(*len)),
            Done::SyncFile(path) if counts => {
                let id = self.find(path);
                let Node::File { safe, changes } = &mut self.nodes[id] else { panic!("{path:?} is no file") };
                changes.drain(..).for_each(|change| change.apply(safe));
            }
            Done::SyncDirectory(path) if counts => self.sync_names(self.find(path)),
            Done::SyncFile(_) | Done::SyncDirectory(_) => {}
            Done::Rename(from, to) => self.rename(&[(from, None), (to, Some(self.find(from)))]),
            Done::Exchange(one, other) => {
                self.rename(&[(one, Some(self.find(other))), (other, Some(self.find(one)))]);
            }
            Done::Link(from, to) => self.rename(&[(to, Some(self.find(from)))]),
            Done::Remove(path) => self.rename(&[(path, None)]),
        }
    }

    /// What is found when the power comes back.
    pub fn image(&self, kept: &mut Kept) -> Tree {
        // Some crashes lose nearly everything, others nearly nothing.
        let share = |random: &mut Random| [10, 50, 90][random.below(3) as usize];
        let (data, names) = match kept {
            Kept::Some(random) => (share(random), share(random)),
            _ => (0, 0),
        };
        let mut directories: Vec<Names> = self
            .nodes
            .iter()
            .map(|node| match node {
                Node::Directory { safe, .. } => safe.clone(),
                Node::File { .. } => Names::new(),
            })
            .collect();
        for assignments in &self.unsafe_names {
            let keep = match kept {
                Kept::All => true,
                Kept::Nothing => false,
                Kept::Some(random) => random.percent(names),
            };
            if keep {
                assignments.iter().for_each(|assignment| assignment.apply(&mut directories[assignment.directory]));
            }
        }
        let mut tree = Tree::default();
        let mut open = vec![(PathBuf::new(), ROOT)];
        while let Some((path, id)) = open.pop() {
            for (name, id) in &directories[id] {
                let path = path.join(name);
                match &self.nodes[*id] {
                    Node::Directory { .. } => {
                        open.push((path.clone(), *id));
                        tree.0.insert(path, None);
                    }
                    Node::File { safe, changes } => {
                        let mut content = safe.clone();
                        changes.iter().for_each(|change| change.apply_part(&mut content, kept, data));
                        tree.0.insert(path, Some(content.into()));
                    }
                }
            }
        }
        tree
    }

    /// The content of a file as the running system sees it; None if there is none.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        match &self.nodes[self.look(path)?] {
            Node::File { safe, changes } => {
                let mut content = safe.clone();
                changes.iter().for_each(|change| change.apply(&mut content));
                Some(content)
            }
            Node::Directory { .. } => None,
        }
    }

    fn add(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn look(&self, path: &Path) -> Option<Id> {
        path.iter().try_fold(ROOT, |id, name| match &self.nodes[id] {
            Node::Directory { names, .. } => names.get(name).copied(),
            Node::File { .. } => None,
        })
    }

    fn find(&self, path: &Path) -> Id {
        self.look(path).unwrap_or_else(|| panic!("the writer used {path:?}, which is not there"))
    }

    fn place(&self, path: &Path) -> (Id, OsString) {
        (self.find(path.parent().unwrap()), path.file_name().unwrap().to_owned())
    }

    fn change(&mut self, path: &Path, change: Change) {
        let id = self.find(path);
        let Node::File { changes, .. } = &mut self.nodes[id] else { panic!("{path:?} is no file") };
        changes.push(change);
    }

    fn rename(&mut self, changes: &[(&PathBuf, Option<Id>)]) {
        let assignments: Vec<_> = changes
            .iter()
            .map(|(path, to)| {
                let (directory, name) = self.place(path);
                Assignment { directory, name, to: *to }
            })
            .collect();
        for assignment in &assignments {
            let Node::Directory { names, .. } = &mut self.nodes[assignment.directory] else { panic!("no directory") };
            assignment.apply(names);
        }
        self.unsafe_names.push(assignments);
    }

    /// Makes what happened in a directory safe, and with it the other half of what moved in or out.
    fn sync_names(&mut self, directory: Id) {
        let mut left: Vec<Vec<Assignment>> = Vec::new();
        for assignments in std::mem::take(&mut self.unsafe_names) {
            if assignments.iter().all(|assignment| assignment.directory != directory) {
                left.push(assignments);
                continue;
            }
            for assignment in assignments {
                // What was done to that name before is history.
                for earlier in &mut left {
                    earlier.retain(|e| (e.directory, &e.name) != (assignment.directory, &assignment.name));
                }
                let Node::Directory { safe, .. } = &mut self.nodes[assignment.directory] else {
                    panic!("no directory")
                };
                assignment.apply(safe);
            }
        }
        left.retain(|assignments| !assignments.is_empty());
        self.unsafe_names = left;
    }
}

impl Assignment {
    fn apply(&self, names: &mut Names) {
        match self.to {
            Some(id) => names.insert(self.name.clone(), id),
            None => names.remove(&self.name),
        };
    }
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Truncate(len) => content.resize(*len as usize, 0),
            Self::Write(offset, bytes) => {
                let end = *offset as usize + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*offset as usize..end].copy_from_slice(bytes);
            }
        }
    }

    fn apply_part(&self, content: &mut Vec<u8>, kept: &mut Kept, share: u64) {
        let random = match kept {
            Kept::All => return self.apply(content),
            Kept::Nothing => return,
            Kept::Some(random) => random,
        };
        match self {
            Self::Write(offset, bytes) if !random.percent(share) => {
                // The length may be kept without what lies there.
                if random.percent(20) {
                    content.resize(content.len().max(*offset as usize + bytes.len()), 0);
                }
            }
            Self::Write(offset, bytes) if random.percent(30) => {
                let (start, before) = (*offset as usize, content.clone());
                self.apply(content);
                for (number, sector) in content[start..start + bytes.len()].chunks_mut(SECTOR).enumerate() {
                    if random.percent(50) {
                        let at = start + number * SECTOR;
                        let earlier = (at..).map(|place| before.get(place).copied().unwrap_or(0));
                        sector.iter_mut().zip(earlier).for_each(|(byte, earlier)| *byte = earlier);
                    }
                }
                if random.percent(50) {
                    content.truncate(before.len().max(start + random.below(bytes.len() as u64 + 1) as usize));
                }
            }
            Self::Write(..) => self.apply(content),
            Self::Truncate(_) => {
                if random.percent(share) {
                    self.apply(content);
                }
            }
        }
    }
}
