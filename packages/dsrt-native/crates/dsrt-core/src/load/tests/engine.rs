//! Threads that gather ahead, on steps that hold no samples.

use crate::error::{Error, Kind, Result};
use crate::load::engine::{Admission, Engine, Taken, Work};
use crate::load::plan::{Run, Step};
use crate::read::Threads;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

const FOREVER: Duration = Duration::from_secs(60);

/// Counts what is alive, admitted and running.
#[derive(Default)]
struct Counts {
    alive: AtomicUsize,
    bytes: AtomicUsize,
    most_alive: AtomicUsize,
    most_bytes: AtomicUsize,
    calls: AtomicUsize,
}

/// What a step becomes here: its position, and its share of the counts.
struct Made {
    position: u64,
    bytes: usize,
    counts: Arc<Counts>,
}

impl Drop for Made {
    fn drop(&mut self) {
        self.counts.alive.fetch_sub(1, SeqCst);
        self.counts.bytes.fetch_sub(self.bytes, SeqCst);
    }
}

/// A pseudo-random number of each step, by a multiplicative hash.
fn chance(position: u64, of: u64) -> u64 {
    (position.wrapping_add(12345).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) % of
}

struct Steps {
    counts: Arc<Counts>,
    bytes: fn(u64) -> usize,
    delay: fn(u64) -> u64,
    fate: fn(u64) -> Result<()>,
}

impl Work for Steps {
    type Output = Made;

    fn work(&self, step: &Step, admission: &dyn Admission, _: Threads) -> Result<Made> {
        self.counts.calls.fetch_add(1, SeqCst);
        std::thread::sleep(Duration::from_micros((self.delay)(step.position)));
        (self.fate)(step.position)?;
        let bytes = (self.bytes)(step.position);
        admission.admit(bytes)?;
        let alive = self.counts.alive.fetch_add(1, SeqCst) + 1;
        let total = self.counts.bytes.fetch_add(bytes, SeqCst) + bytes;
        self.counts.most_alive.fetch_max(alive, SeqCst);
        self.counts.most_bytes.fetch_max(total, SeqCst);
        Ok(Made { position: step.position, bytes, counts: self.counts.clone() })
    }
}

fn steps() -> Steps {
    Steps { counts: Arc::default(), bytes: |_| 1, delay: |_| 0, fate: |_| Ok(()) }
}

fn run(from: u64, steps: u64) -> Run {
    Run::endless(from, 1 << 40, 1, Some(steps)).unwrap()
}

/// Everything that is left: positions, or the kinds of errors.
fn drain(engine: &Engine<Made>) -> Vec<std::result::Result<u64, Kind>> {
    let mut all = Vec::new();
    loop {
        match engine.take(FOREVER) {
            Taken::Step(_, step, Ok(made)) => {
                assert_eq!(step.position, made.position);
                all.push(Ok(made.position));
            }
            Taken::Step(_, _, Err(error)) => all.push(Err(error.kind())),
            Taken::End => return all,
            Taken::Waiting => panic!("a step took a minute"),
        }
    }
}

#[test]
fn steps_come_in_order_whatever_the_threads_and_delays() {
    for threads in [1, 2, 7, 16] {
        for prefetch in [1, 3, 32] {
            let work = Steps { delay: |p| chance(p, 4) * 100, ..steps() };
            let counts = work.counts.clone();
            let engine = Engine::new(threads, prefetch, usize::MAX);
            drop(engine.restart(Some((run(5, 100), Arc::new(work)))));
            engine.start().unwrap();
            assert!(drain(&engine).into_iter().eq((5..105).map(Ok)));
            assert!(counts.most_alive.load(SeqCst) <= prefetch + 1, "one more may be in the consumer's hands");
            assert_eq!(counts.calls.load(SeqCst), 100);
        }
    }
}

#[test]
fn no_thread_works_ahead_of_the_bound_in_batches() {
    let work = steps();
    let counts = work.counts.clone();
    let engine = Engine::new(4, 3, usize::MAX);
    drop(engine.restart(Some((run(0, 50), Arc::new(work)))));
    engine.start().unwrap();
    while engine.depth() < 3 {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(counts.calls.load(SeqCst), 3);
    assert_eq!(drain(&engine).len(), 50);
}

#[test]
fn bytes_are_bounded_and_one_batch_always_fits() {
    let sizes: fn(u64) -> usize = |p| if p % 10 == 3 { 1000 } else { chance(p, 90) as usize };
    let work = Steps { bytes: sizes, delay: |p| chance(p, 3) * 50, ..steps() };
    let counts = work.counts.clone();
    let engine = Engine::new(6, 64, 200);
    drop(engine.restart(Some((run(0, 200), Arc::new(work)))));
    engine.start().unwrap();
    assert_eq!(drain(&engine).len(), 200);
    // A large one stands alone, until it is in the consumer's hands.
    assert!(counts.most_bytes.load(SeqCst) <= 1000 + 200);

    let small = Steps { bytes: |_| 100, ..steps() };
    let counts = small.counts.clone();
    drop(engine.restart(Some((run(0, 100), Arc::new(small)))));
    assert_eq!(drain(&engine).len(), 100);
    assert!(counts.most_bytes.load(SeqCst) <= 300);
}

/// Works until the step is not wanted any more.
struct Endless;

impl Work for Endless {
    type Output = ();

    fn work(&self, _: &Step, admission: &dyn Admission, _: Threads) -> Result<()> {
        admission.admit(1)?;
        loop {
            admission.check()?;
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_step_that_is_not_wanted_any_more_is_told_so_in_the_middle_of_it() {
    let engine = Engine::new(2, 4, usize::MAX);
    drop(engine.restart(Some((run(0, 50), Arc::new(Endless)))));
    engine.start().unwrap();
    assert!(matches!(engine.take(Duration::from_millis(20)), Taken::Waiting));
    // Those of the next generation are not taken for those of the one before.
    drop(engine.restart(Some((run(0, 50), Arc::new(Endless)))));
    assert!(matches!(engine.take(Duration::from_millis(20)), Taken::Waiting));
    engine.close();
}

#[test]
fn an_error_belongs_to_its_batch() {
    let fate: fn(u64) -> Result<()> = |p| if p == 2 { Err(Error::new(Kind::Data, "bad")) } else { Ok(()) };
    let engine = Engine::new(3, 4, 1000);
    drop(engine.restart(Some((run(0, 5), Arc::new(Steps { fate, ..steps() })))));
    engine.start().unwrap();
    assert_eq!(drain(&engine), [Ok(0), Ok(1), Err(Kind::Data), Ok(3), Ok(4)]);
}

#[test]
fn a_panic_is_an_internal_error_of_its_batch() {
    let fate: fn(u64) -> Result<()> = |p| if p == 1 { panic!("at position {p}") } else { Ok(()) };
    let engine = Engine::new(1, 4, 1000);
    drop(engine.restart(Some((run(0, 3), Arc::new(Steps { fate, ..steps() })))));
    engine.start().unwrap();
    assert_eq!(drain(&engine), [Ok(0), Err(Kind::Internal), Ok(2)]);
}

#[test]
fn a_restart_drops_what_was_gathered_and_goes_on_elsewhere() {
    let engine = Engine::new(4, 8, 100);
    engine.start().unwrap();
    let mut work = Vec::new();
    for round in 0..50 {
        let steps = Steps { delay: |p| chance(p, 5) * 30, bytes: |p| 10 + chance(p, 60) as usize, ..steps() };
        work.push(steps.counts.clone());
        let (generation, _) = engine.restart(Some((run(round * 1000, 100), Arc::new(steps))));
        for step in 0..chance(round, 12) {
            match engine.take(FOREVER) {
                Taken::Step(of, _, Ok(made)) => assert_eq!((of, made.position), (generation, round * 1000 + step)),
                _ => panic!("the step is missing"),
            }
        }
    }
    drop(engine.restart(None));
    assert!(matches!(engine.take(FOREVER), Taken::End));
    drop(engine);
    assert!(work.iter().all(|counts| counts.alive.load(SeqCst) == 0 && Arc::strong_count(counts) == 1));
}

#[test]
fn dropping_an_engine_ends_its_threads_whatever_they_do() {
    for round in 0..100 {
        let slow = Steps { delay: |p| chance(p, 7) * 40, bytes: |_| 60, ..steps() };
        let counts = slow.counts.clone();
        let engine = Engine::new(5, 6, 100);
        drop(engine.restart(Some((run(round, 1000), Arc::new(slow)))));
        engine.start().unwrap();
        for _ in 0..round % 4 {
            drop(engine.take(FOREVER));
        }
        drop(engine);
        assert_eq!(counts.alive.load(SeqCst), 0);
        assert_eq!(Arc::strong_count(&counts), 1, "no thread holds anything");
    }
}

#[test]
fn taking_gives_up_when_its_time_is_up_and_loses_nothing() {
    let engine = Engine::new(1, 2, 100);
    drop(engine.restart(Some((run(0, 2), Arc::new(Steps { delay: |_| 30_000, ..steps() })))));
    engine.start().unwrap();
    let mut waited = 0;
    let first = loop {
        match engine.take(Duration::from_millis(1)) {
            Taken::Waiting => waited += 1,
            Taken::Step(_, step, Ok(_)) => break step.position,
            _ => panic!("neither a step nor a wait"),
        }
    };
    assert!(waited > 0 && first == 0);
    assert_eq!(drain(&engine), [Ok(1)]);
}

#[test]
fn an_engine_without_work_is_at_its_end() {
    let engine = Engine::<Made>::new(2, 2, 2);
    engine.start().unwrap();
    assert!(matches!(engine.take(FOREVER), Taken::End));
    assert!(engine.is_ours() && engine.depth() == 0);
    drop(engine.restart(Some((run(0, 0), Arc::new(steps())))));
    assert!(matches!(engine.take(FOREVER), Taken::End));
}

/// Closes the engine that it works for, as Python's garbage collector may inside an allocator.
struct Closing {
    engine: Mutex<Option<Arc<Engine<()>>>>,
    closed: mpsc::Sender<()>,
}

impl Work for Closing {
    type Output = ();

    fn work(&self, _: &Step, _: &dyn Admission, _: Threads) -> Result<()> {
        let engine = self.engine.lock().unwrap().take();
        engine.unwrap().close();
        self.closed.send(()).unwrap();
        Ok(())
    }
}

#[test]
fn a_thread_of_an_engine_may_close_it() {
    for threads in [1, 4] {
        let (closed, closings) = mpsc::channel();
        let engine = Arc::new(Engine::new(threads, 1, 1));
        let work = Closing { engine: Mutex::new(Some(engine.clone())), closed };
        drop(engine.restart(Some((run(0, 1), Arc::new(work)))));
        engine.start().unwrap();
        closings.recv_timeout(FOREVER).unwrap();
        assert!(matches!(engine.take(FOREVER), Taken::End));
    }
}

/// Says that it has begun, and works until it is let go.
struct Stuck {
    begun: mpsc::Sender<()>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Work for Stuck {
    type Output = ();

    fn work(&self, _: &Step, _: &dyn Admission, _: Threads) -> Result<()> {
        self.begun.send(()).unwrap();
        self.released.lock().unwrap().recv().unwrap();
        Ok(())
    }
}

#[test]
fn a_close_that_is_interrupted_leaves_the_threads_to_the_next_one() {
    let (begun, beginnings) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let engine = Engine::new(3, 1, 1);
    let work = Arc::new(Stuck { begun, released: Mutex::new(released) });
    drop(engine.restart(Some((run(0, 1), work.clone()))));
    engine.start().unwrap();
    assert!(matches!(engine.take(Duration::ZERO), Taken::Waiting));
    beginnings.recv_timeout(FOREVER).unwrap();
    for _ in 0..2 {
        let interrupted = engine.close_unless(&mut || Err(Error::new(Kind::State, "a signal")));
        assert_eq!(interrupted.unwrap_err().message(), "a signal");
    }
    assert!(matches!(engine.take(FOREVER), Taken::End));
    let mut looks = 0;
    let closed = engine.close_unless(&mut || {
        looks += 1;
        if looks == 2 {
            release.send(()).unwrap();
        }
        Ok(())
    });
    closed.unwrap();
    assert!(looks >= 2 && Arc::strong_count(&work) == 1);
}

/// Notes which thread makes a step, and with how many threads it may.
#[derive(Default)]
struct Noted {
    calls: Mutex<Vec<(u64, ThreadId, usize)>>,
    fate: Option<fn(u64) -> Result<()>>,
}

impl Work for Noted {
    type Output = u64;

    fn work(&self, step: &Step, admission: &dyn Admission, threads: Threads) -> Result<u64> {
        self.calls.lock().unwrap().push((step.position, std::thread::current().id(), threads.of(usize::MAX)));
        admission.admit(1)?;
        admission.check()?;
        self.fate.map_or(Ok(()), |fate| fate(step.position))?;
        Ok(step.position)
    }
}

fn positions(engine: &Engine<u64>) -> Vec<std::result::Result<u64, Kind>> {
    let take = || match engine.take(FOREVER) {
        Taken::Step(_, step, result) => Some(result.inspect(|made| assert_eq!(*made, step.position))),
        Taken::End => None,
        Taken::Waiting => panic!("a step took a minute"),
    };
    std::iter::from_fn(take).map(|made| made.map_err(|error| error.kind())).collect()
}

#[test]
fn the_first_step_is_the_callers_who_has_as_many_threads_as_there_will_be_workers() {
    let engine = Engine::new(3, 4, 10);
    let work = Arc::new(Noted::default());
    let here = std::thread::current().id();
    // Without a job there is nothing to make.
    engine.lead(&|| Ok(())).unwrap();
    drop(engine.restart(Some((run(7, 4), work.clone()))));
    engine.lead(&|| Ok(())).unwrap();
    assert_eq!((&*work.calls.lock().unwrap(), engine.depth()), (&vec![(7, here, 3)], 1));
    // What waits to be taken comes first.
    engine.lead(&|| Ok(())).unwrap();
    assert_eq!(engine.depth(), 1);
    engine.start().unwrap();
    assert_eq!(positions(&engine), [7, 8, 9, 10].map(Ok));
    // The workers are there, and make what there is from now on.
    drop(engine.restart(Some((run(0, 3), work.clone()))));
    engine.lead(&|| Ok(())).unwrap();
    assert_eq!(positions(&engine), [0, 1, 2].map(Ok));
    let calls = work.calls.lock().unwrap();
    assert!(calls.iter().skip(1).all(|(_, thread, threads)| *thread != here && *threads == 1), "{calls:?}");
    drop(calls);
    engine.close();
    engine.lead(&|| Ok(())).unwrap();
    assert!(matches!(engine.take(FOREVER), Taken::End));
}

#[test]
fn an_interrupt_of_the_first_step_comes_up_and_an_error_or_a_panic_belongs_to_its_batch() {
    let engine = Engine::new(2, 4, 10);
    let work = Arc::new(Noted::default());
    drop(engine.restart(Some((run(0, 2), work.clone()))));
    let interrupt = engine.lead(&|| Err(Error::new(Kind::State, "a signal"))).unwrap_err();
    assert_eq!((interrupt.message(), engine.depth()), ("a signal", 0));
    for (fate, kind) in [
        ((|_| Err(Error::new(Kind::Data, "bad"))) as fn(u64) -> Result<()>, Kind::Data),
        (|position| panic!("at position {position}"), Kind::Internal),
    ] {
        let work = Arc::new(Noted { fate: Some(fate), ..Noted::default() });
        drop(engine.restart(Some((run(5, 1), work))));
        engine.lead(&|| Ok(())).unwrap();
        assert_eq!(positions(&engine), [Err(kind)]);
    }
    // Made again, as if nothing had happened.
    drop(engine.restart(Some((run(0, 2), work))));
    engine.lead(&|| Ok(())).unwrap();
    engine.start().unwrap();
    assert_eq!(positions(&engine), [Ok(0), Ok(1)]);
}

#[test]
fn a_first_step_that_is_not_wanted_any_more_is_nobodys() {
    /// Goes on elsewhere in the middle of a step.
    struct Elsewhere(Mutex<Option<Arc<Engine<u64>>>>);

    impl Work for Elsewhere {
        type Output = u64;

        fn work(&self, _: &Step, admission: &dyn Admission, _: Threads) -> Result<u64> {
            if let Some(engine) = self.0.lock().unwrap().take() {
                drop(engine.restart(Some((run(30, 2), Arc::new(Noted::default())))));
            }
            admission.check().map(|()| 0)
        }
    }

    let engine = Arc::new(Engine::new(1, 4, 10));
    let work = Elsewhere(Mutex::new(Some(engine.clone())));
    drop(engine.restart(Some((run(0, 2), Arc::new(work)))));
    engine.lead(&|| Ok(())).unwrap();
    assert_eq!(engine.depth(), 0);
    engine.start().unwrap();
    assert_eq!(positions(&engine), [Ok(30), Ok(31)]);
}
