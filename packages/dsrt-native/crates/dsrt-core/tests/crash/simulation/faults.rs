//! Single operations that fail, and disks that fill up or die.

use std::path::Path;

use dsrt_core::Kind;

use super::dataset::NAME;
use super::reading::{Found, find};
use super::scenario::{NEW, Scenario};
use super::trace::{Fault, Recorder};
use super::tree::{Tree, scratch};

/// What came of the runs in which something failed.
#[derive(Default)]
pub struct Faults {
    pub runs: usize,
    /// Runs that ended with an error, and those that published all the same (what failed was a courtesy or tidying up).
    pub failed: usize,
    pub published: usize,
    /// Runs that left samples from which the next one went on.
    pub resumed: usize,
    /// Runs behind which the next one made the same bytes.
    pub identical: usize,
    pub broken: Vec<String>,
}

/// Lets every operation of a scenario's run fail, one in each run.
pub fn inject(scenario: &Scenario, fault: impl Fn(usize) -> Fault) -> Faults {
    let mut faults = Faults::default();
    for number in 0..scenario.operations.len() {
        faults.runs += 1;
        let fault = fault(number);
        match one(scenario, fault, &mut faults) {
            Ok(()) => faults.identical += 1,
            Err(problem) => faults.broken.push(format!("{}, {fault:?}: {problem}", scenario.name)),
        }
    }
    faults
}

fn one(scenario: &Scenario, fault: Fault, faults: &mut Faults) -> Result<(), String> {
    let root = scratch();
    scenario.start.write(root.path());
    let recorder = Recorder::new(root.path(), scenario.exchange, fault);
    let run = scenario.way.run(recorder.disk(), root.path());
    let again = recorder.synced_again();
    if !again.is_empty() {
        return Err(format!("{again:?} were synced again after an error"));
    }
    let found = find(root.path())?;
    let said = match &run.outcome {
        Ok(_) if found == Found::Version(NEW) => {
            faults.published += 1;
            String::new()
        }
        Ok(_) => return Err("the writer reports success, and the cache is not there".to_owned()),
        Err(error) => {
            faults.failed += 1;
            if error.kind() != Kind::Io || error.os_code().is_none() {
                return Err(format!("the error is no error of the operating system: {error:?}"));
            }
            error.to_string()
        }
    };
    if found == Found::Absent && scenario.start.below(NAME).is_some() && !is_aside(root.path()) {
        return Err("the old cache is gone".to_owned());
    }
    if found == Found::Version(NEW) && run.outcome.is_err() && !said.contains("is published") {
        return Err(format!("the cache is there, and the error does not say so: {said}"));
    }
    let next = scenario.way.run(Recorder::new(root.path(), scenario.exchange, Fault::None).disk(), root.path());
    let resumed = next.resumed.unwrap_or(0);
    let durable = durable(&said);
    // A disk that is gone cannot take back a line of the journal that did not become durable.
    let is_true = resumed == durable || (resumed > durable && matches!(fault, Fault::Gone(_)));
    if run.outcome.is_err() && found != Found::Version(NEW) && !is_true {
        return Err(format!("{resumed} samples are resumed after: {said}"));
    }
    faults.resumed += usize::from(resumed > 0);
    match &next.outcome {
        Ok(_) => {}
        Err(error) if found == Found::Version(NEW) && error.kind() == Kind::Exists => {}
        Err(error) => return Err(format!("the next run fails: {error}")),
    }
    let after = Tree::read(root.path());
    if !scenario.is_clean(&after) || after.below(NAME).as_ref() != Some(&scenario.complete) {
        return Err("the next run leaves something, or writes other bytes".to_owned());
    }
    Ok(())
}

/// How many samples an error says are kept.
fn durable(said: &str) -> u64 {
    let Some((before, _)) = said.split_once(" samples are durable, and the next run with the same plan goes on") else {
        return 0;
    };
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap()
}

/// A disk that died between two renames has the old cache in the work directory, from where the next run takes it.
fn is_aside(root: &Path) -> bool {
    root.join(format!(".{NAME}.building/old/manifest.json")).is_file()
}
