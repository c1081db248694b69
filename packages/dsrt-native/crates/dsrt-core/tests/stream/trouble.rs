//! Damaged records, threads that meet, and memory that is scarce.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use crate::support::*;
use dsrt_core::batch::{Allocator, Buffer, Heap};
use dsrt_core::error::{Error, Kind, Result};
use dsrt_core::load::{Loader, Next, Options};
use dsrt_core::order::Order;
use dsrt_core::read::{Cache, OnDamage};
use dsrt_core::rows::{Population, Weights};

/// A cache of 12 samples whose sample 6 is damaged in the field `x`.
fn damaged() -> (Root, Population) {
    let root = Root::new();
    let cache = root.cache("c", 0, 12, &[]);
    let shard = root.path().join("c/fields/x/00001.shard");
    let mut bytes = std::fs::read(&shard).unwrap();
    bytes[64 + 8] ^= 1;
    std::fs::set_permissions(&shard, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&shard, bytes).unwrap();
    let cache = Cache::open(&root.path().join("c"), cache.verify()).unwrap();
    (root, Population::new(vec![cache], None, Weights::Stored, vec![]).unwrap())
}

fn sequential(on_damage: OnDamage) -> Options {
    Options { order: Some(Order::Sequential), on_damage, ..options(4) }
}

#[test]
fn a_batch_that_raised_counts_as_handed_out_and_the_next_one_comes() {
    let (_root, population) = damaged();
    let loader = alone(&population, sequential(OnDamage::Raise)).unwrap();
    let pass = Pass::window();
    assert_eq!(numbers(&next(&loader, &pass).unwrap().unwrap(), "x"), [0, 1, 2, 3]);
    let error = next(&loader, &pass).err().unwrap();
    assert_eq!((error.kind(), error.rule_number()), (Kind::Data, Some(33)));
    let place = error.place();
    assert_eq!((place.field.as_deref(), place.shard, place.sample), (Some("x"), Some(1), Some(6)));
    assert!(place.cache.as_deref().unwrap().ends_with("/c"));
    assert_eq!(loader.position().unwrap(), 8);
    assert_eq!(xs(&rest(&loader, &pass)), [[8, 9, 10, 11]]);
}

#[test]
fn masked_damage_keeps_the_batch_whole_and_is_counted_once() {
    let (_root, population) = damaged();
    let loader = alone(&population, sequential(OnDamage::Mask)).unwrap();
    for _ in 0..2 {
        let batches = pass(&loader);
        assert_eq!(xs(&batches), [[0, 1, 2, 3], [4, 5, 0, 7], [8, 9, 10, 11]]);
        let valid: Vec<_> = batches.iter().map(|batch| numbers(batch, "_valid")).collect();
        assert_eq!(valid, [[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]]);
    }
    let id = population.caches()[0].id();
    assert_eq!(loader.stats().unwrap().damaged, [(id, 6, Arc::from("x"))]);
    assert_eq!(loader.position().unwrap(), 24);
}

/// Memory that is given out when the gate is open.
#[derive(Default)]
struct Gate {
    open: AtomicBool,
    asked: AtomicBool,
}

impl Allocator for Gate {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        self.asked.store(true, Ordering::SeqCst);
        while !self.open.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Heap.allocate(bytes)
    }
}

fn gated() -> (Root, Arc<Gate>, Arc<Loader>) {
    let (root, all) = counting(40);
    let gate = Arc::new(Gate::default());
    let loader = Loader::new(all, sequential(OnDamage::Raise), gate.clone()).unwrap();
    loader.set_topology(0, 1).unwrap();
    (root, gate, Arc::new(loader))
}

#[test]
fn two_threads_inside_next_at_once_are_an_error_of_the_second() {
    let (_root, gate, loader) = gated();
    let pass = Arc::new(Pass::window());
    let first = {
        let (loader, pass) = (loader.clone(), pass.clone());
        std::thread::spawn(move || numbers(&next(&loader, &pass).unwrap().unwrap(), "x"))
    };
    while !gate.asked.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let error = loader.next(&pass, Duration::ZERO).err().unwrap();
    assert_eq!(error.kind(), Kind::State);
    assert!(error.to_string().contains("two threads"), "{error}");
    gate.open.store(true, Ordering::SeqCst);
    assert_eq!(first.join().unwrap(), [0, 1, 2, 3]);
    assert_eq!(numbers(&next(&loader, &pass).unwrap().unwrap(), "x"), [4, 5, 6, 7]);
}

#[test]
fn whoever_waits_inside_next_comes_out_when_the_pass_is_ended() {
    type End = fn(&Loader);
    let ends: [End; 3] = [|l| l.seek(8).unwrap(), |l| assert!(!l.set_epoch(2).unwrap()), |l| l.close().unwrap()];
    for end in ends {
        let (_root, gate, loader) = gated();
        let pass = Pass::window();
        assert!(matches!(loader.next(&pass, Duration::ZERO).unwrap(), Next::Waiting));
        let waiting = {
            let loader = loader.clone();
            std::thread::spawn(move || next(&loader, &pass).err())
        };
        std::thread::sleep(Duration::from_millis(5));
        let opener = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            gate.open.store(true, Ordering::SeqCst);
        });
        end(&loader);
        assert_eq!(waiting.join().unwrap().unwrap().kind(), Kind::State);
        opener.join().unwrap();
    }
}

#[test]
fn weights_may_change_while_another_thread_waits_for_a_batch() {
    let (_root, all) = counting(4);
    let weighted = all.with_weights(Weights::Given(vec![1.0, 0.0, 0.0, 0.0])).unwrap();
    let gate = Arc::new(Gate::default());
    let loader = Arc::new(Loader::new(weighted, options(4), gate.clone()).unwrap());
    loader.set_topology(0, 1).unwrap();
    let pass = Pass::steps(Some(2));
    let waiting = {
        let loader = loader.clone();
        std::thread::spawn(move || xs(&rest(&loader, &pass)))
    };
    std::thread::sleep(Duration::from_millis(5));
    loader.reweight(vec![0.0, 0.0, 0.0, 1.0]).unwrap();
    gate.open.store(true, Ordering::SeqCst);
    assert_eq!(waiting.join().unwrap(), [[3; 4], [3; 4]]);
    assert_eq!(loader.position().unwrap(), 8);
}

/// Memory that runs out now and then.
#[derive(Default)]
struct Scarce(Mutex<u64>);

impl Allocator for Scarce {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        let mut asked = self.0.lock().unwrap();
        *asked += 1;
        if *asked == 2 { Err(Error::new(Kind::Memory, "none left")) } else { Heap.allocate(bytes) }
    }
}

#[test]
fn an_error_of_the_memory_belongs_to_its_batch() {
    let (_root, all) = counting(12);
    let options = Options { threads: 1, ..sequential(OnDamage::Raise) };
    let loader = Loader::new(all, options, Arc::new(Scarce::default())).unwrap();
    loader.set_topology(0, 1).unwrap();
    let pass = Pass::window();
    assert_eq!(numbers(&next(&loader, &pass).unwrap().unwrap(), "x"), [0, 1, 2, 3]);
    assert_eq!(next(&loader, &pass).err().unwrap().kind(), Kind::Memory);
    assert_eq!(xs(&rest(&loader, &pass)), [[8, 9, 10, 11]]);
}

#[test]
fn a_cache_closed_under_a_loader_is_an_error_of_its_batches() {
    let (_root, all) = counting(12);
    let loader = alone(&all, sequential(OnDamage::Mask)).unwrap();
    all.caches()[0].close();
    let pass = Pass::window();
    let error = next(&loader, &pass).err().unwrap();
    assert_eq!(error.kind(), Kind::State);
    assert_eq!(loader.position().unwrap(), 4);
}

#[test]
fn loaders_may_be_dropped_at_any_moment() {
    let (_root, all) = counting(40);
    for round in 0..60 {
        let loader = alone(&all, Options { threads: 4, prefetch: 5, max_bytes: 200, ..options(3) }).unwrap();
        if round % 5 > 0 {
            let pass = Pass::window();
            for _ in 0..round % 4 {
                drop(loader.next(&pass, Duration::from_micros(round * 7)).unwrap());
            }
        }
    }
}

#[test]
fn a_batch_that_the_memory_refuses_says_whose_it_is() {
    struct Refuses;
    impl Allocator for Refuses {
        fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
            Err(Error::new(Kind::Memory, format!("no {bytes} bytes")))
        }
    }
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 4, &[]), root.cache("b", 9, 4, &[])];
    let population = Population::new(caches, None, Weights::Stored, vec![]).unwrap();
    let projection = population.project(None, false).unwrap();
    let refused = |rows: &[u64]| population.gather(&projection, rows, &Refuses, OnDamage::Mask).err().unwrap();
    let many = refused(&[1, 5, 2]);
    assert_eq!((many.kind(), many.place().sample), (Kind::Memory, None));
    assert!(many.message().contains(" bytes: 3 samples with x, s of "), "{many}");
    assert!(many.message().contains("/a, ") && many.message().contains("/b; ask for fewer"), "{many}");
    let one = refused(&[5]);
    assert_eq!(one.place().sample, Some(1));
    assert!(one.place().cache.as_deref().unwrap().ends_with("/b"), "{one}");
}

/// Memory full of ones. Who asks for it meets somebody, and goes on when they have met again.
struct Met {
    met: Barrier,
    is_half_done: Arc<AtomicBool>,
}

/// Says at its end whether the batch was left in the middle.
struct Ones {
    inner: Box<dyn Buffer>,
    is_half_done: Arc<AtomicBool>,
}

impl Allocator for Met {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        self.met.wait();
        self.met.wait();
        let mut inner = Heap.allocate(bytes)?;
        inner.bytes_mut().fill(0xFF);
        Ok(Box::new(Ones { inner, is_half_done: self.is_half_done.clone() }))
    }
}

impl Buffer for Ones {
    fn bytes(&self) -> &[u8] {
        self.inner.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.inner.bytes_mut()
    }
}

impl Drop for Ones {
    fn drop(&mut self) {
        // No batch ends like that.
        self.is_half_done.store(self.inner.bytes().last() == Some(&0xFF), Ordering::SeqCst);
    }
}

#[test]
fn a_loader_that_closes_gives_up_the_batch_that_a_worker_is_in() {
    let (_root, all) = counting(10);
    let is_half_done = Arc::new(AtomicBool::new(false));
    let memory = Arc::new(Met { met: Barrier::new(2), is_half_done: is_half_done.clone() });
    // Far more samples than there are between two looks.
    let options =
        Options { order: Some(Order::Sequential), fields: Some(vec!["x".into()]), threads: 1, ..options(100_000) };
    let loader = Loader::new(all, options, memory.clone()).unwrap();
    loader.set_topology(0, 1).unwrap();
    let pass = Pass::steps(Some(1));
    assert!(matches!(loader.next(&pass, Duration::ZERO).unwrap(), Next::Waiting));
    // The worker has planned the batch, and goes on with it when the loader is closed and waits for it.
    memory.met.wait();
    let mut is_held = true;
    let closed = loader.close_unless(&mut || {
        if std::mem::take(&mut is_held) {
            memory.met.wait();
        }
        Ok(())
    });
    closed.unwrap();
    assert!(!is_held, "the worker was not waited for");
    assert!(is_half_done.load(Ordering::SeqCst), "the whole batch was gathered");
    assert_eq!(loader.position().unwrap(), 0);
}
