//! Every crash of a run, what was found after it, and what the next run made of it.

use std::collections::HashMap;
use std::path::PathBuf;

use dsrt_core::Kind;

use super::controls::Sync;
use super::dataset::NAME;
use super::model::{Kept, Model};
use super::random::Random;
use super::reading::{Found, find};
use super::scenario::{NEW, OLD, Scenario, Way};
use super::trace::{Done, Fault, Recorder};
use super::tree::{Tree, scratch};

/// What a survey counted.
#[derive(Default)]
pub struct Counts {
    pub operations: usize,
    pub images: usize,
    /// Images whose target was absent, the old cache, the new one.
    pub absent: usize,
    pub old: usize,
    pub new: usize,
    /// Images from which the next run took samples over.
    pub resumed: usize,
    /// Images that were completed to the same bytes.
    pub identical: usize,
    /// Images with which something was wrong: all of it in words, and how often only a promise was broken, that is, all
    /// was well in the end, but less was resumed than the writer had said was durable.
    pub broken: Vec<String>,
    pub promises: usize,
}

/// How to look.
pub struct Look {
    /// Images with a random part kept, for each operation.
    pub mixes: u64,
    /// A sync that is left out.
    pub without: Option<Sync>,
    /// Whether the first broken image is enough.
    pub until_broken: bool,
}

/// Crashes behind every operation of a scenario.
pub fn survey(scenario: &Scenario, look: &Look) -> Counts {
    let mut counts = Counts { operations: scenario.operations.len() - scenario.from, ..Counts::default() };
    let mut model = Model::of(&scenario.start);
    let mut known = HashMap::new();
    let mut promised = 0;
    for number in 0..=scenario.operations.len() {
        let last = number.checked_sub(1).and_then(|last| scenario.operations.get(last));
        if let Some(done) = last {
            model.apply(done, !look.without.is_some_and(|sync| sync.is(done)));
            promised = promise(promised, &model, done);
        }
        if number < scenario.from {
            continue;
        }
        let random = |mix| Kept::Some(Random(number as u64 * 1_000_003 + mix));
        // Where all is kept, it makes no difference what was synced.
        let all = look.without.is_none().then_some(Kept::All);
        for mut kept in all.into_iter().chain([Kept::Nothing]).chain((0..look.mixes).map(random)) {
            let image = model.image(&mut kept);
            let crash = known.entry((image.hash(), promised)).or_insert_with(|| crash(scenario, &image, promised));
            counts.add(crash, || format!("{}, behind operation {number}, {last:?}", scenario.name));
            if look.until_broken && !counts.broken.is_empty() {
                return counts;
            }
        }
    }
    counts
}

/// Samples that the writer has said are durable: each sync of the journal promises all that it notes.
pub fn promise(before: u64, model: &Model, done: &Done) -> u64 {
    match done {
        Done::SyncFile(path) if path.ends_with("journal") => {
            let journal = model.content(path).unwrap_or_default();
            let lines = journal.split(|byte| *byte == b'\n').filter_map(|line| line.get(9..));
            let values = lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
            values.filter_map(|line| line.get("samples")?.as_u64()).sum()
        }
        // The cache is published, or the run starts over, before the journal goes.
        Done::Remove(path) if path.ends_with("journal") => 0,
        _ => before,
    }
}

/// What came of one image.
struct Crash {
    found: Option<Found>,
    resumed: bool,
    problem: Option<Problem>,
}

struct Problem {
    is_promise: bool,
    what: String,
}

fn crash(scenario: &Scenario, image: &Tree, promised: u64) -> Crash {
    let root = scratch();
    image.write(root.path());
    let found = match find(root.path()) {
        Ok(found) => found,
        Err(what) => {
            let problem = Some(Problem { is_promise: false, what });
            return Crash { found: None, resumed: false, problem };
        }
    };
    let allowed = match found {
        Found::Absent if scenario.way == Way::Rebuild => !scenario.exchange && is_aside(scenario, image),
        Found::Absent => true,
        Found::Version(version) => version == NEW || (version == OLD && scenario.way == Way::Rebuild),
    };
    let recorder = Recorder::new(root.path(), scenario.exchange, Fault::None);
    let run = scenario.way.run(recorder.disk(), root.path());
    let resumed = run.resumed.unwrap_or(0);
    let complete = found == Found::Version(NEW);
    let after = Tree::read(root.path());
    let cache = after.below(NAME);
    let broken = if !allowed {
        Some(format!("the target is {found:?}"))
    } else if let Err(error) = &run.outcome
        && !(complete && error.kind() == Kind::Exists)
    {
        Some(format!("the next run fails: {error}"))
    } else if !scenario.is_clean(&after) {
        Some(format!("{:?} are left", after.0.keys().map(PathBuf::as_path).collect::<Vec<_>>()))
    } else {
        (cache.as_ref() != Some(&scenario.complete)).then(|| "the next run writes other bytes".to_owned())
    };
    let promise = (!complete && resumed < promised)
        .then(|| format!("{promised} samples were said to be durable, and {resumed} are"));
    let problem = match (broken, promise) {
        (Some(what), _) => Some(Problem { is_promise: false, what }),
        (None, Some(what)) => Some(Problem { is_promise: true, what }),
        (None, None) => None,
    };
    Crash { found: Some(found), resumed: resumed > 0, problem }
}

/// Between two renames the old cache waits in the work directory, whole.
fn is_aside(scenario: &Scenario, image: &Tree) -> bool {
    image.below(&format!(".{NAME}.building/old")) == scenario.start.below(NAME)
}

impl Counts {
    fn add(&mut self, crash: &Crash, place: impl FnOnce() -> String) {
        self.images += 1;
        match crash.found {
            None => {}
            Some(Found::Absent) => self.absent += 1,
            Some(Found::Version(NEW)) => self.new += 1,
            Some(Found::Version(_)) => self.old += 1,
        }
        self.resumed += usize::from(crash.resumed);
        match &crash.problem {
            None => self.identical += 1,
            Some(Problem { is_promise, what }) => {
                self.promises += usize::from(*is_promise);
                self.broken.push(format!("{}: {what}", place()));
            }
        }
    }
}
