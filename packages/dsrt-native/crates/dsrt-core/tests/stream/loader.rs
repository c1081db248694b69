//! A loader's life: what it refuses, its passes, its figures, its end.

use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use crate::support::*;
use arrow_array::Int32Array;
use dsrt_core::batch::{Allocator, Buffer, Heap};
use dsrt_core::error::{Error, Kind, Result};
use dsrt_core::load::{Last, Loader, Next, Options};
use dsrt_core::order::Order;
use dsrt_core::read::OnDamage;
use dsrt_core::rows::{Population, Wanted, Weights};

fn sequential(batch_size: u64) -> Options {
    Options { order: Some(Order::Sequential), ..options(batch_size) }
}

#[test]
fn passes_go_on_through_the_windows() {
    let (_root, all) = counting(10);
    let loader = alone(&all, sequential(4)).unwrap();
    assert_eq!(loader.window_steps().unwrap(), 3);
    for epoch in 1..=3 {
        assert_eq!(xs(&pass(&loader)), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
        assert_eq!((loader.position().unwrap(), loader.epoch().unwrap()), (epoch * 10, epoch));
    }
}

#[test]
fn a_pass_that_is_over_stays_over_and_one_that_was_ended_says_by_what() {
    let (_root, all) = counting(10);
    let loader = alone(&all, sequential(4)).unwrap();
    let first = Pass::window();
    assert_eq!(rest(&loader, &first).len(), 3);
    let second = Pass::window();
    assert!(next(&loader, &second).unwrap().is_some());
    loader.seek(3).unwrap();
    assert!(next(&loader, &first).unwrap().is_none(), "it was exhausted, not ended");
    let error = next(&loader, &second).err().unwrap();
    assert_eq!(error.kind(), Kind::State);
    assert!(error.to_string().contains("seek()"), "{error}");
    assert_eq!(loader.position().unwrap(), 3);
    assert_eq!(xs(&pass(&loader))[0], [3, 4, 5, 6]);
}

#[test]
fn beginning_another_pass_ends_the_one_that_is_running() {
    let (_root, all) = counting(100);
    let loader = alone(&all, sequential(4)).unwrap();
    let first = Pass::window();
    assert!(next(&loader, &first).unwrap().is_some());
    let second = Pass::steps(Some(2));
    assert!(next(&loader, &first).unwrap().is_some(), "what has not begun ends nothing");
    assert_eq!(numbers(&next(&loader, &second).unwrap().unwrap(), "x"), [8, 9, 10, 11]);
    assert_eq!(next(&loader, &first).err().unwrap().kind(), Kind::State);
    assert_eq!(xs(&rest(&loader, &second)), [[12, 13, 14, 15]]);
}

#[test]
fn steps_run_across_windows_even_where_a_window_holds_no_step() {
    let (_root, all) = counting(5);
    let loader = alone(&all, Options { last: Some(Last::Drop), epoch_len: Some(3), ..sequential(4) }).unwrap();
    let steps = Pass::steps(Some(3));
    assert_eq!(xs(&rest(&loader, &steps)), [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4, 0, 1]]);
    for error in [next(&loader, &Pass::window()).err().unwrap(), loader.window_steps().err().unwrap()] {
        assert_eq!(error.kind(), Kind::Value);
        assert!(error.to_string().contains("3 samples holds no step of 4"), "{error}");
    }
    assert_eq!(loader.position().unwrap(), 12);
}

#[test]
fn validity_is_in_every_batch_where_a_sample_may_be_padding_or_damaged() {
    let (_root, all) = counting(6);
    let keys = |last, on_damage| {
        let options = Options { last: Some(last), on_damage, fields: Some(vec!["x".into()]), ..sequential(4) };
        let loader = alone(&all, options).unwrap();
        let steps = Pass::steps(Some(1));
        let mut batches = rest(&loader, &steps);
        batches.extend(pass(&loader));
        batches.iter().map(|batch| names(batch).join(" ")).collect::<Vec<_>>()
    };
    assert!(keys(Last::Drop, OnDamage::Raise).iter().all(|names| names == "x"));
    for (last, on) in [(Last::Pad, OnDamage::Raise), (Last::Short, OnDamage::Raise), (Last::Drop, OnDamage::Mask)] {
        assert!(keys(last, on).iter().all(|names| names == "x _valid"));
    }
}

#[test]
fn padding_is_marked_and_repeats_the_window() {
    let (_root, all) = counting(5);
    let options = Options {
        last: Some(Last::Pad),
        fields: Some(["x", "_valid", "_position", "_row"].map(Wanted::from).into()),
        ..sequential(4)
    };
    let loader = alone(&all, options).unwrap();
    pass(&loader);
    let last = pass(&loader).pop().unwrap();
    assert_eq!(numbers(&last, "x"), [4, 0, 1, 2]);
    assert_eq!(numbers(&last, "_valid"), [1, 0, 0, 0]);
    assert_eq!(numbers(&last, "_position"), [9, 5, 6, 7]);
    assert_eq!(numbers(&last, "_row"), [4, 0, 1, 2]);
}

#[test]
fn the_order_is_weighted_if_there_are_weights_and_else_permuted() {
    let (_root, all) = counting(5);
    assert_eq!(alone(&all, options(2)).unwrap().order(), Order::Permuted);
    let weighted = all.with_weights(Weights::Given(vec![0.0, 0.0, 1.0, 0.0, 0.0])).unwrap();
    let loader = alone(&weighted, options(2)).unwrap();
    assert_eq!((loader.order(), loader.last().unwrap()), (Order::Weighted, Some(Last::Drop)));
    assert_eq!(xs(&pass(&loader)), [[2, 2], [2, 2]]);
}

#[test]
fn what_cannot_be_loaded_is_refused_when_the_loader_is_made() {
    let (root, all) = counting(5);
    let refused = |population: &Population, options: Options| {
        Loader::new(population.clone(), options, Arc::new(Heap)).err().unwrap()
    };
    let weighted = |order| Options { order, ..options(2) };
    let cases = [
        (refused(&all, weighted(Some(Order::Weighted))), "needs weights"),
        (refused(&all.with_weights(Weights::Given(vec![0.0; 5])).unwrap(), weighted(None)), "zero"),
        (refused(&all, options(0)), "batch_size"),
        (refused(&all, Options { threads: 0, ..options(2) }), "threads"),
        (refused(&all, Options { prefetch: 0, ..options(2) }), "prefetch"),
        (refused(&all, Options { epoch_len: Some(0), ..options(2) }), "epoch_len"),
    ];
    for (error, word) in cases {
        assert_eq!(error.kind(), Kind::Value);
        assert!(error.to_string().contains(word), "{error}");
    }
    let partial = all.with_weights(Weights::Partial(vec![Some(1.0), None, None, None, None])).unwrap();
    assert!(refused(&partial, weighted(None)).to_string().contains("/counting"));
    assert!(alone(&partial, weighted(Some(Order::Uniform))).is_ok(), "weights are not needed there");

    let unknown = refused(&all, Options { fields: Some(vec!["y".into()]), ..options(2) });
    assert_eq!(unknown.kind(), Kind::Schema);

    let cache = all.caches()[0].clone();
    let none = Population::new(vec![cache.clone()], Some(vec![]), Weights::Stored, vec![]).unwrap();
    assert!(refused(&none, options(2)).to_string().contains("no rows"));

    let nulls = Arc::new(Int32Array::from(vec![Some(1), None, Some(1), None, None]));
    let nulls = Population::new(vec![cache], None, Weights::Stored, vec![("k".into(), nulls)]).unwrap();
    let message = refused(&nulls, options(2)).to_string();
    assert!(
        message.contains("field k: 3 of") && message.contains("row 1") && message.contains("fill_null"),
        "{message}"
    );
    assert!(alone(&nulls, Options { fields: Some(vec!["x".into()]), ..options(2) }).is_ok());
    drop(root);
}

#[test]
fn rank_and_world_size_are_checked_and_final() {
    let (_root, all) = counting(10);
    let make = |options| Loader::new(all.clone(), options, Arc::new(Heap)).unwrap();
    let short = Options { last: Some(Last::Short), ..options(2) };
    let message = make(short.clone()).set_topology(0, 2).unwrap_err().to_string();
    assert!(message.contains("drop") && message.contains("pad"), "{message}");
    assert!(make(short).set_topology(0, 1).is_ok());
    assert_eq!(make(options(2)).set_topology(2, 2).unwrap_err().kind(), Kind::Value);
    assert_eq!(make(options(2)).set_topology(0, u64::MAX).unwrap_err().kind(), Kind::Value);

    let loader = make(options(2));
    assert_eq!(loader.topology().unwrap(), None);
    loader.set_topology(1, 3).unwrap();
    loader.set_topology(1, 3).unwrap();
    assert_eq!(loader.set_topology(0, 3).unwrap_err().kind(), Kind::State);
    assert_eq!((loader.topology().unwrap(), loader.window_steps().unwrap()), (Some((1, 3)), 1));
}

#[test]
fn a_closed_loader_keeps_what_it_knows_and_does_nothing_more() {
    let (_root, all) = counting(10);
    let loader = alone(&all, sequential(4)).unwrap();
    let running = Pass::window();
    assert!(next(&loader, &running).unwrap().is_some());
    loader.close().unwrap();
    loader.close().unwrap();
    assert_eq!(next(&loader, &running).err().unwrap().kind(), Kind::State);
    for error in [
        next(&loader, &Pass::window()).err().unwrap(),
        next(&loader, &Pass::steps(None)).err().unwrap(),
        loader.seek(0).err().unwrap(),
        loader.set_epoch(1).err().unwrap(),
    ] {
        assert!(error.kind() == Kind::State && error.to_string().contains("closed"), "{error}");
    }
    assert_eq!((loader.position().unwrap(), loader.epoch().unwrap()), (4, 0));
    assert_eq!((loader.state().unwrap().position, loader.window_steps().unwrap()), (4, 3));
    let stats = loader.stats().unwrap();
    assert_eq!((stats.batches, stats.queue_depth), (1, 0));
}

#[test]
fn figures_count_batches_bytes_and_waits() {
    let (_root, all) = counting(10);
    let loader = alone(&all, Options { fields: Some(vec!["x".into()]), ..options(5) }).unwrap();
    assert_eq!(loader.stats().unwrap(), Default::default());
    pass(&loader);
    let stats = loader.stats().unwrap();
    assert_eq!((stats.batches, stats.bytes, stats.damaged.len()), (2, 80, 0));
    assert!(stats.wait_seconds <= stats.seconds && stats.wait_p50 <= stats.wait_p95);
}

#[test]
fn a_first_batch_that_is_interrupted_is_made_again_and_nothing_is_lost() {
    let (_root, all) = counting(10);
    // Far more samples than there are between two looks.
    let loader = alone(&all, Options { fields: Some(vec!["x".into()]), ..sequential(100_000) }).unwrap();
    let pass = Pass::steps(Some(2));
    for _ in 0..2 {
        let interrupt = loader.next_unless(&pass, &|| Err(Error::new(Kind::Value, "a signal"))).err().unwrap();
        assert_eq!((interrupt.message(), loader.position().unwrap()), ("a signal", 0));
        assert_eq!(loader.stats().unwrap().batches, 0);
    }
    let both = xs(&rest(&loader, &pass));
    assert!(both.concat().iter().copied().eq((0..200_000).map(|position| position % 10)));
    assert_eq!((both.len(), loader.position().unwrap()), (2, 200_000));
}

/// Memory that notes which thread asks for it.
#[derive(Default)]
struct Asked(Mutex<Vec<ThreadId>>, bool);

impl Allocator for Asked {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        self.0.lock().unwrap().push(std::thread::current().id());
        Heap.allocate(bytes)
    }

    fn is_plain(&self) -> bool {
        self.1
    }
}

#[test]
fn the_first_batch_is_the_consumers_unless_its_memory_is_another_ones() {
    let (_root, all) = counting(8);
    let here = std::thread::current().id();
    for is_plain in [true, false] {
        let memory = Arc::new(Asked(Mutex::default(), is_plain));
        let loader = Loader::new(all.clone(), Options { threads: 1, ..sequential(4) }, memory.clone()).unwrap();
        loader.set_topology(0, 1).unwrap();
        for _ in 0..2 {
            assert_eq!(xs(&pass(&loader)), [[0, 1, 2, 3], [4, 5, 6, 7]]);
        }
        let are_here: Vec<_> = memory.0.lock().unwrap().iter().map(|thread| *thread == here).collect();
        assert_eq!(are_here, [is_plain, false, false, false]);
    }
}

/// Memory that is given out slowly.
struct Slow;

impl Allocator for Slow {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        std::thread::sleep(Duration::from_millis(30));
        Heap.allocate(bytes)
    }
}

#[test]
fn a_wait_that_is_given_up_loses_nothing() {
    let (_root, all) = counting(8);
    let loader = Loader::new(all, sequential(4), Arc::new(Slow)).unwrap();
    loader.set_topology(0, 1).unwrap();
    let pass = Pass::window();
    assert!(matches!(loader.next(&pass, Duration::ZERO).unwrap(), Next::Waiting));
    assert_eq!(loader.position().unwrap(), 0);
    assert_eq!(xs(&rest(&loader, &pass)), [[0, 1, 2, 3], [4, 5, 6, 7]]);
    assert!(loader.stats().unwrap().wait_seconds > 0.0);
}
