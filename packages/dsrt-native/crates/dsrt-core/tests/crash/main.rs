//! A writer survives power cuts and failing disks at any of its operations, as simulated from what it really does.
//!
//! Here every operation of each run is a crash, with a few random mixes of what a disk may keep. The full form, with
//! its counts, is `cargo run -p dsrt-core --example crash`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod simulation;

use simulation::controls::Sync;
use simulation::dataset::write_until;
use simulation::faults::inject;
use simulation::model::Model;
use simulation::scenario::{NEW, Scenario, Way, scenarios};
use simulation::survey::{Look, promise, survey};
use simulation::trace::{Fault, Recorder};
use simulation::tree::{Tree, scratch};

/// Random mixes for each operation.
const MIXES: u64 = 2;

fn check(scenario: &Scenario) {
    let counts = survey(scenario, &Look { mixes: MIXES, without: None, until_broken: false });
    assert!(counts.broken.is_empty(), "{} of {}: {:#?}", counts.broken.len(), counts.images, counts.broken);
    assert_eq!(counts.identical, counts.images);
    assert_eq!(counts.images as u64, (counts.operations as u64 + 1) * (2 + MIXES));
    assert!(counts.new > 0, "{}", scenario.name);
    assert_eq!(counts.resumed > 0, scenario.way.resumes());
    assert_eq!(counts.old > 0, scenario.way == Way::Rebuild);
}

#[test]
fn after_a_crash_the_target_is_absent_old_or_complete_and_the_next_run_makes_the_same_bytes() {
    scenarios().iter().for_each(check);
}

#[test]
fn what_the_writer_says_is_durable_is_in_the_journal_that_was_synced() {
    let root = scratch();
    let recorder = Recorder::new(root.path(), true, Fault::None);
    let mut most = 0;
    write_until(recorder.disk(), root.path(), NEW, |full, durable| {
        let mut model = Model::of(&Tree::default());
        let promised = recorder.done().iter().fold(0, |before, done| {
            model.apply(done, true);
            promise(before, &model, done)
        });
        assert!(durable <= promised, "{durable} of {promised}");
        most = most.max(durable);
        // A full shard becomes durable without anything else being appended, once the dictionary is trained.
        durable == full || full < 12
    });
    assert_eq!(most, 12);
}

#[test]
fn leaving_out_any_kind_of_sync_is_noticed() {
    let scenarios = scenarios();
    for sync in Sync::ALL {
        let broken = scenarios.iter().any(|scenario| {
            let look = Look { mixes: MIXES, without: Some(sync), until_broken: true };
            !survey(scenario, &look).broken.is_empty()
        });
        assert!(broken, "without the sync of {sync:?} nothing breaks: is it needed, or is the model too kind?");
    }
}

#[test]
fn a_failing_operation_is_reported_and_costs_nothing_that_was_durable() {
    for scenario in scenarios().iter().filter(|scenario| scenario.from == 0) {
        let faults: &[fn(usize) -> Fault] =
            if scenario.way == Way::Rebuild { &[Fault::Broken] } else { &[Fault::Broken, Fault::Full, Fault::Gone] };
        for fault in faults {
            let faults = inject(scenario, fault);
            assert!(faults.broken.is_empty(), "{} of {}: {:#?}", faults.broken.len(), faults.runs, faults.broken);
            assert!(faults.failed > 0 && faults.identical == faults.runs);
            assert_eq!(faults.resumed > 0, scenario.way.resumes());
        }
    }
}
