//! The runs whose crashes are simulated.

use std::path::Path;

use dsrt_core::write::Disk;

use super::dataset::{NAME, Run, write};
use super::merging::{merge, write_parts};
use super::model::{Kept, Model};
use super::reading::{Found, find};
use super::trace::{Done, Fault, Recorder};
use super::tree::{Tree, scratch};

/// The version that is written, and that a rebuild replaces.
pub const NEW: u64 = 2;
pub const OLD: u64 = 1;

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Build,
    Rebuild,
    /// By hard links, or by copies.
    Merge {
        link: bool,
    },
}

impl Way {
    /// Runs it below `root`.
    pub fn run(self, disk: Disk, root: &Path) -> Run {
        match self {
            Self::Build => write(disk, root, NEW, false),
            Self::Rebuild => write(disk, root, NEW, true),
            Self::Merge { link } => merge(disk, root, NEW, link),
        }
    }

    /// Whether a run goes on from one that was killed; a merge starts over.
    pub fn resumes(self) -> bool {
        !matches!(self, Self::Merge { .. })
    }
}

/// A run, or one run behind another that was killed, as operations from a disk on which all was safe.
pub struct Scenario {
    pub name: &'static str,
    pub start: Tree,
    pub operations: Vec<Done>,
    /// The first operation of the run that is looked at; before it are those of the killed one.
    pub from: usize,
    pub way: Way,
    pub exchange: bool,
    /// The files of the cache as a run writes them that nothing interrupts.
    pub complete: Tree,
}

/// The runs: a build, rebuilds by either way of swapping, merges, and runs behind a killed one.
pub fn scenarios() -> Vec<Scenario> {
    let built = complete(&Tree::default(), Way::Build);
    let old = || {
        let root = scratch();
        write(Recorder::new(root.path(), true, Fault::None).disk(), root.path(), OLD, false).outcome.unwrap();
        Tree::read(root.path())
    };
    let first = |name, start: Tree, way, exchange, complete: &Tree| {
        let operations = recorded(&start, way, exchange);
        Scenario { name, start, operations, from: 0, way, exchange, complete: complete.clone() }
    };
    let build = first("build", Tree::default(), Way::Build, true, &built);
    let exchanged = first("rebuild", old(), Way::Rebuild, true, &built);
    let swapped = first("rebuild by two renames", old(), Way::Rebuild, false, &built);
    // Killed in the middle of the third shard, where two are durable ...
    let third = after(&build, |done| matches!(done, Done::Create(path) if path.ends_with("image/00002.shard")));
    let syncs = build.operations.iter().take(third).filter(|done| is_sync_of(done, "journal")).count();
    let second = nth(&build, 3, |done| is_sync_of(done, "journal"));
    let resumed = second_run("resumed build", &build, if syncs >= 3 { third } else { second });
    // ... when the cache is complete but for its manifest, and when it was just shown and nobody made that safe.
    let late = second_run("build resumed at its end", &build, after(&build, |done| is_sync_of(done, "metadata.arrow")));
    let shown = after(&exchanged, |done| matches!(done, Done::Exchange(..)));
    let shown = second_run("rebuild behind one that was killed when it had exchanged", &exchanged, shown);
    let between = after(&swapped, |done| matches!(done, Done::Rename(from, _) if from == Path::new(NAME)));
    let between = second_run("rebuild behind one that was killed between its renames", &swapped, between);
    let parts = parts();
    let merged = complete(&parts, Way::Merge { link: true });
    let linked = first("merge by links", parts.clone(), Way::Merge { link: true }, true, &merged);
    let copied = first("merge by copies", parts, Way::Merge { link: false }, true, &merged);
    let half = after(&copied, |done| is_sync_of(done, "metadata.arrow"));
    let again = second_run("merge behind one that was killed", &copied, half);
    vec![build, exchanged, swapped, resumed, late, shown, between, linked, copied, again]
}

/// The parts that are merged.
fn parts() -> Tree {
    let root = scratch();
    write_parts(root.path(), NEW);
    Tree::read(root.path())
}

/// The files of the cache as a run makes it that nothing interrupts, proven by reading it.
fn complete(start: &Tree, way: Way) -> Tree {
    let root = scratch();
    start.write(root.path());
    way.run(Recorder::new(root.path(), true, Fault::None).disk(), root.path()).outcome.unwrap();
    assert_eq!(find(root.path()), Ok(Found::Version(NEW)));
    Tree::read(root.path()).below(NAME).unwrap()
}

fn recorded(start: &Tree, way: Way, exchange: bool) -> Vec<Done> {
    let root = scratch();
    start.write(root.path());
    let recorder = Recorder::new(root.path(), exchange, Fault::None);
    way.run(recorder.disk(), root.path()).outcome.unwrap();
    assert_eq!(find(root.path()), Ok(Found::Version(NEW)));
    recorder.done()
}

/// The run behind one that was killed after so many of its operations. The system went on running, so what was not
/// safe then is not safe yet.
fn second_run(name: &'static str, first: &Scenario, killed: usize) -> Scenario {
    let mut operations = first.operations[..killed].to_vec();
    let mut model = Model::of(&first.start);
    operations.iter().for_each(|done| model.apply(done, true));
    operations.extend(recorded(&model.image(&mut Kept::All), first.way, first.exchange));
    let (start, complete) = (first.start.clone(), first.complete.clone());
    Scenario { name, start, operations, from: killed, way: first.way, exchange: first.exchange, complete }
}

impl Scenario {
    /// What is to be left of `tree`: nothing but the target and what was beside it before.
    pub fn is_clean(&self, tree: &Tree) -> bool {
        let beside = |tree: &Tree| tree.0.clone().into_iter().filter(|(path, _)| !path.starts_with(NAME)).collect();
        Tree(beside(tree)) == Tree(beside(&self.start))
    }
}

fn is_sync_of(done: &Done, name: &str) -> bool {
    matches!(done, Done::SyncFile(path) if path.ends_with(name))
}

fn after(scenario: &Scenario, is_it: impl Fn(&Done) -> bool) -> usize {
    nth(scenario, 1, is_it)
}

fn nth(scenario: &Scenario, count: usize, is_it: impl Fn(&Done) -> bool) -> usize {
    let found = scenario.operations.iter().enumerate().filter(|(_, done)| is_it(done)).nth(count - 1);
    found.unwrap_or_else(|| panic!("the {} lacks the operation to be killed at", scenario.name)).0 + 1
}
