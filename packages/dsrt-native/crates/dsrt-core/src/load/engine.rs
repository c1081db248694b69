//! Threads that gather ahead, and the consumer that takes what they made in the order of the steps.
//!
//! A worker claims the next step, asks for room once it knows how many bytes the batch takes, and puts the batch
//! into the slot that was made for it when it was claimed: the order is that of the claims, whatever finishes
//! first. The first step of all is the consumer's, who would else wait for threads to start. Nothing of the caller's is
//! called or dropped under the lock of the ring, and nobody waits for another lock there.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::plan::Step;
use super::ring::{Claim, Forgotten, Head, Job, Ring, Room};
use crate::error::{Error, Kind, Result};
use crate::read::{Look, Threads};

/// How long a wait goes on before it is asked whether it shall.
pub(super) const SLICE: Duration = Duration::from_millis(20);

/// Makes what a step asks for. Called by many threads at once.
pub(super) trait Work: Send + Sync {
    /// What is made.
    type Output: Send;

    /// Makes it, with `threads`. `admission` is asked before memory for the output is taken.
    fn work(&self, step: &Step, admission: &dyn Admission, threads: Threads) -> Result<Self::Output>;
}

/// Keeps what is gathered ahead within bounds.
pub(super) trait Admission: Sync {
    /// Waits until `bytes` may be taken for this step. An error means that the step is not wanted any more.
    fn admit(&self, bytes: usize) -> Result<()>;

    /// The same error, if that is so, or another reason to give it up. It takes no lock of the ring's.
    fn check(&self) -> Result<()>;
}

/// Worker threads and what they have ready. They sleep while there is nothing to do, and end with this value.
pub(super) struct Engine<O: Send + 'static> {
    shared: Arc<Shared<O>>,
    pid: u32,
}

struct Worker {
    thread: JoinHandle<()>,
    /// Nothing comes from here, and nothing can when the thread is at its end, however it came there.
    alive: Receiver<()>,
}

struct Shared<O> {
    ring: Mutex<(Ring<O>, bool)>,
    /// That of the ring, for who takes no lock.
    generation: AtomicU64,
    /// There may be a step to claim, or the end has come.
    claims: Condvar,
    /// There may be room, or a step may not be wanted any more.
    room: Condvar,
    /// The next result is there, or there will be none.
    ready: Condvar,
    /// How many workers there shall be.
    threads: usize,
    workers: Mutex<Vec<Worker>>,
}

/// What `take` found.
pub(super) enum Taken<O> {
    /// The next step, in the generation it was gathered for.
    Step(u64, Step, Result<O>),
    /// The time is up.
    Waiting,
    /// Nothing is left.
    End,
}

impl<O: Send + 'static> Engine<O> {
    /// An engine of `threads` workers, none of which is there yet, that gather up to `prefetch` batches and `max_bytes` bytes
    /// ahead.
    pub fn new(threads: usize, prefetch: usize, max_bytes: usize) -> Self {
        let shared = Arc::new(Shared {
            ring: Mutex::new((Ring::new(prefetch, max_bytes), false)),
            generation: AtomicU64::new(0),
            claims: Condvar::new(),
            room: Condvar::new(),
            ready: Condvar::new(),
            threads,
            workers: Mutex::default(),
        });
        Self { shared, pid: std::process::id() }
    }

    /// Makes the first step on this thread, if there is no worker yet, and in its moment has what they will have: with as many
    /// threads as there shall be workers. It looks now and then. The error is that of `look`; the step is then left to a
    /// restart.
    pub fn lead(&self, look: Look) -> Result<()> {
        if !self.shared.workers().is_empty() {
            return Ok(());
        }
        let Some(claim) = self.shared.lock().0.claim_first() else { return Ok(()) };
        let result = self.shared.run(&claim, look, Threads::Given(self.shared.threads));
        // The result may be, or hide, that a look failed. Then another one fails, too.
        look()?;
        self.shared.finish(claim, result);
        Ok(())
    }

    /// Starts the workers that are not there yet: one here, and each the next one. An error where none can be. One that
    /// finds work does it at once; one that is started before it would fall asleep, and waking it takes longer than a
    /// small batch.
    pub fn start(&self) -> Result<()> {
        self.shared.start()
    }

    /// Whether this process started the threads. A forked child has none of them, and must not touch the rest.
    pub fn is_ours(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Goes on with `job`, if any. Gives the number of the new generation, and all that was gathered ahead and worked
    /// with, for the caller to drop where it holds no lock.
    #[must_use]
    pub fn restart(&self, job: Option<Job<O>>) -> (u64, Forgotten<O>) {
        let mut guard = self.shared.lock();
        let forgotten = guard.0.restart(job);
        let generation = guard.0.generation();
        self.shared.generation.store(generation, Ordering::Relaxed);
        drop(guard);
        self.shared.claims.notify_all();
        self.shared.room.notify_all();
        self.shared.ready.notify_all();
        (generation, forgotten)
    }

    /// Ends the threads, each of which soon gives up the batch it works on, and waits for them. Whoever is inside
    /// [`Engine::take`] comes out. In a forked child it does nothing.
    ///
    /// One of the threads may call this: an allocator that is Python's may set off its garbage collector, which may find
    /// the very loader that the thread works for. That thread is not waited for, and ends when it gets back to its work.
    ///
    /// While it waits it calls `look` now and then. An error of that ends the wait and comes up; the threads end all the
    /// same, once nothing keeps them, and closing again waits for those that are left.
    pub fn close_unless(&self, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        if !self.is_ours() {
            return Ok(());
        }
        self.shared.lock().1 = true;
        drop(self.restart(None));
        let workers = std::mem::take(&mut *self.shared.workers());
        let this = std::thread::current().id();
        let mut workers = workers.into_iter().filter(|worker| worker.thread.thread().id() != this);
        while let Some(worker) = workers.next() {
            while worker.alive.recv_timeout(SLICE) == Err(RecvTimeoutError::Timeout) {
                if let Err(interrupt) = look() {
                    self.shared.workers().extend(std::iter::once(worker).chain(workers));
                    return Err(interrupt);
                }
            }
            // A worker that panicked outside of a step has nothing to say here.
            drop(worker.thread.join());
        }
        Ok(())
    }

    /// The same, whatever happens.
    pub fn close(&self) {
        // Nothing ends this wait.
        self.close_unless(&mut || Ok(())).unwrap_or_default();
    }

    /// Takes the next batch, waiting for it for at most `wait`.
    pub fn take(&self, wait: Duration) -> Taken<O> {
        let start = Instant::now();
        let mut guard = self.shared.lock();
        loop {
            match guard.0.take() {
                Head::Ready(step, result) => {
                    let generation = guard.0.generation();
                    drop(guard);
                    self.shared.claims.notify_one();
                    self.shared.room.notify_all();
                    return Taken::Step(generation, step, result);
                }
                Head::End => return Taken::End,
                Head::Pending => {}
            }
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Taken::Waiting;
            }
            guard = self.shared.ready.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Number of batches that wait to be taken.
    pub fn depth(&self) -> usize {
        self.shared.lock().0.depth()
    }
}

impl<O: Send + 'static> Drop for Engine<O> {
    fn drop(&mut self) {
        if self.is_ours() {
            return self.close();
        }
        // In a forked child: the threads do not exist, their locks may be held for ever, and what they were writing is
        // half done. All of it is left as it is.
        std::mem::forget(self.shared.clone());
    }
}

impl<O: Send + 'static> Shared<O> {
    fn lock(&self) -> MutexGuard<'_, (Ring<O>, bool)> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the next worker, if one is missing, which then starts the one after it.
    fn start(self: &Arc<Self>) -> Result<()> {
        let mut workers = self.workers();
        // Once the end has come they would end at once, and nobody would wait for them.
        if workers.len() >= self.threads || self.lock().1 {
            return Ok(());
        }
        let shared = self.clone();
        let (life, alive) = channel();
        let name = format!("dsrt-load-{}", workers.len());
        match std::thread::Builder::new().name(name).spawn(move || shared.live(life)) {
            Ok(thread) => workers.push(Worker { thread, alive }),
            Err(error) if workers.is_empty() => return Err(Error::io("starting a thread of a loader", error)),
            // Those that there are do more.
            Err(_) => {}
        }
        Ok(())
    }

    /// A worker's life, at the end of which it drops `life`.
    fn live(self: Arc<Self>, life: Sender<()>) {
        // There is one worker at least, this one, so this is no error.
        self.start().unwrap_or_default();
        self.serve();
        drop(life);
    }

    fn serve(&self) {
        while let Some(claim) = self.claim() {
            let result = self.run(&claim, &|| Ok(()), Threads::Given(1));
            self.finish(claim, result);
        }
    }

    fn finish(&self, claim: Claim<O>, result: Result<O>) {
        let Claim { generation, number, work, .. } = claim;
        // Whichever of these was the last owner of anything drops it here, under no lock.
        drop(work);
        let finished = self.lock().0.finish(generation, number, result);
        if let Ok(true) = finished {
            self.ready.notify_one();
        }
        // If it never asked for room, others may have waited for it to do so.
        self.room.notify_all();
    }

    fn claim(&self) -> Option<Claim<O>> {
        let mut guard = self.lock();
        loop {
            if guard.1 {
                return None;
            }
            if let Some(claim) = guard.0.claim() {
                return Some(claim);
            }
            guard = self.claims.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run(&self, claim: &Claim<O>, look: Look, threads: Threads) -> Result<O> {
        let admission = Waiting { shared: self, generation: claim.generation, number: claim.number, look };
        let work = || claim.work.work(&claim.step, &admission, threads);
        catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
    }
}

struct Waiting<'a, O> {
    shared: &'a Shared<O>,
    generation: u64,
    number: u64,
    look: Look<'a>,
}

impl<O: Send + 'static> Admission for Waiting<'_, O> {
    fn admit(&self, bytes: usize) -> Result<()> {
        let mut guard = self.shared.lock();
        loop {
            match guard.0.reserve(self.generation, self.number, bytes) {
                Room::Yes => break,
                Room::Never => return Err(unwanted()),
                Room::NotYet => {}
            }
            guard = self.shared.room.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.shared.room.notify_all();
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.shared.generation.load(Ordering::Relaxed) == self.generation { (self.look)() } else { Err(unwanted()) }
    }
}

fn unwanted() -> Error {
    Error::new(Kind::State, "this batch is not wanted any more")
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let what = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::new(
        Kind::Internal,
        format!("a thread of the loader panicked: {what}; this is a defect of dsrt, please report it"),
    )
}
