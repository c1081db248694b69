//! The crash simulation in full, with its counts: `cargo run -p dsrt-core --example crash`.
//!
//! `cargo test` runs the same with fewer random mixes (`tests/crash`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "what is not as it should be ends it"
)]

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/crash/simulation/mod.rs"]
mod simulation;

use simulation::controls::Sync;
use simulation::faults::inject;
use simulation::scenario::{Scenario, scenarios};
use simulation::survey::{Look, survey};
use simulation::trace::Fault;

/// Random mixes for each operation: of the runs themselves, and of those with a sync left out.
const MIXES: u64 = 40;
const CONTROL_MIXES: u64 = 10;

fn main() {
    let scenarios = scenarios();
    let mut broken = crashes(&scenarios);
    broken.extend(faults(&scenarios));
    controls(&scenarios);
    broken.iter().for_each(|problem| println!("BROKEN {problem}"));
    std::process::exit(i32::from(!broken.is_empty()));
}

fn crashes(scenarios: &[Scenario]) -> Vec<String> {
    println!("Crashes: behind every operation, all kept, only synced kept, and {MIXES} random mixes");
    println!("{:60} operations images absent    old    new resumed identical", "");
    let mut broken = Vec::new();
    for scenario in scenarios {
        let counts = survey(scenario, &Look { mixes: MIXES, without: None, until_broken: false });
        println!(
            "{:60} {:10} {:6} {:6} {:6} {:6} {:7} {:9}",
            scenario.name,
            counts.operations,
            counts.images,
            counts.absent,
            counts.old,
            counts.new,
            counts.resumed,
            counts.identical
        );
        broken.extend(counts.broken);
    }
    broken
}

fn faults(scenarios: &[Scenario]) -> Vec<String> {
    println!("\nFaults: at every operation");
    println!("{:60}   runs failed published resumed identical", "");
    let mut broken = Vec::new();
    for scenario in scenarios.iter().filter(|scenario| scenario.from == 0) {
        for (name, fault) in [
            ("one EIO", Fault::Broken as fn(usize) -> Fault),
            ("full from there on", Fault::Full),
            ("dead from there on", Fault::Gone),
        ] {
            let faults = inject(scenario, fault);
            println!(
                "{:60} {:6} {:6} {:9} {:7} {:9}",
                format!("{}, {name}", scenario.name),
                faults.runs,
                faults.failed,
                faults.published,
                faults.resumed,
                faults.identical
            );
            broken.extend(faults.broken);
        }
    }
    broken
}

fn controls(scenarios: &[Scenario]) {
    println!(
        "\nControls: a kind of sync is left out, with {CONTROL_MIXES} random mixes. Broken: the target or the next run"
    );
    println!(
        "is not as it should be. Promises: all is well in the end, but samples are lost that were said to be durable"
    );
    println!("{:20} images broken promises  the first one", "");
    for sync in Sync::ALL {
        let look = Look { mixes: CONTROL_MIXES, without: Some(sync), until_broken: false };
        let surveys: Vec<_> = scenarios.iter().map(|scenario| survey(scenario, &look)).collect();
        let images: usize = surveys.iter().map(|counts| counts.images).sum();
        let promises: usize = surveys.iter().map(|counts| counts.promises).sum();
        let broken: Vec<_> = surveys.iter().flat_map(|counts| &counts.broken).collect();
        let first = broken.first().map_or("", |problem| problem.as_str());
        println!("{:20} {images:6} {:6} {promises:8}  {first}", format!("{sync:?}"), broken.len() - promises);
    }
}
