//! The threads of a writer: workers that encode, cut, digest and write, and one that makes shards durable and publishes.
//! The caller's thread only copies samples, and waits where too much is in flight.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::block::Block;
use super::cut::Cut;
use super::durable::Durable;
use super::jobs::Ending;
use super::schedule::Schedule;
use super::worker::{Recipe, Shared, State};
use super::writer::{Interrupt, Published};
use crate::error::{Error, Kind, Result};
use crate::outcome::Outcome;

/// How often a caller that waits is asked whether it still wants to.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// How often an abort looks whether the shards that are full are durable.
const GLANCE: Duration = Duration::from_millis(1);

/// What there is when the threads have ended.
#[derive(Default)]
pub(super) struct Rest {
    /// What is durable of a cache that was not published.
    pub durable: Option<Durable>,
    /// What became of a publication that nobody waited for any more.
    pub outcome: Option<Outcome>,
}

/// A writer's threads. Dropped, they stop.
pub(super) struct Threads {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    sealer: Option<JoinHandle<Option<Durable>>>,
    process: u32,
}

impl Threads {
    /// Starts the one that seals; workers are started as there is work. `durable` has begun.
    pub(super) fn start(recipe: Recipe, durable: Durable) -> Result<Self> {
        let cut = Cut::new(recipe.samples_per_shard, recipe.shard_bytes, recipe.fields.len(), durable.shards());
        let compressed = recipe.codings.iter().map(|coding| !coding.is_raw()).collect();
        let shared = Arc::new(Shared {
            disk: durable.disk().clone(),
            directories: recipe.fields.iter().map(|field| durable.field_path(field)).collect(),
            spill: durable.spill().cloned(),
            durable: AtomicU64::new(durable.samples()),
            state: Mutex::new(State {
                schedule: Schedule::new(compressed, cut, recipe.threads),
                published: None,
                failure: None,
            }),
            recipe,
            jobs: Condvar::new(),
            seals: Condvar::new(),
            caller: Condvar::new(),
        });
        let sealer = {
            let shared = shared.clone();
            Builder::new().name("dsrt-seal".into()).spawn(move || shared.seal(durable)).map_err(not_started)?
        };
        Ok(Self { shared, workers: Vec::new(), sealer: Some(sealer), process: std::process::id() })
    }

    /// Samples that survive a crash.
    pub(super) fn durable(&self) -> u64 {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// Hands over a block. Gives an empty one for it, and whether there is room for more.
    pub(super) fn hand_over(&mut self, block: Block) -> Result<(Block, bool)> {
        let mut state = self.shared.lock();
        if let Some(error) = state.failure.take() {
            return Err(error);
        }
        let empty = state.schedule.hand_over(block);
        let has_room = state.schedule.has_room();
        let wanted = state.schedule.jobs().saturating_sub(state.schedule.idle);
        drop(state);
        self.shared.jobs.notify_all();
        self.employ(wanted)?;
        Ok((empty, has_room))
    }

    /// Waits until there is room. An error is either that of `interrupt`, or the run has failed.
    pub(super) fn wait_for_room(&self, interrupt: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.wait(interrupt, |state| state.schedule.has_much_room().then_some(()))
    }

    /// Whether the run is over because something went wrong.
    pub(super) fn has_failed(&self) -> bool {
        self.shared.lock().schedule.ending == Ending::Stop
    }

    /// Waits until all that was handed over is published.
    pub(super) fn publish(&mut self, interrupt: &mut dyn FnMut() -> Result<()>) -> Result<Published> {
        self.shared.end(Ending::Publish);
        self.employ(1)?;
        self.wait(interrupt, |state| state.published.take())
    }

    /// Ends the threads and waits for them. With `drain`, shards that are full are made durable before; it is called now
    /// and then meanwhile, and its error ends that.
    pub(super) fn stop(mut self, drain: Option<Interrupt<'_>>) -> Rest {
        self.end(drain)
    }

    fn end(&mut self, drain: Option<Interrupt<'_>>) -> Rest {
        let Some(sealer) = self.sealer.take() else { return Rest::default() };
        if self.process != std::process::id() {
            // In a forked child: the threads do not exist, and their locks may be held for ever.
            std::mem::forget(sealer);
            std::mem::forget(std::mem::take(&mut self.workers));
            std::mem::forget(self.shared.clone());
            return Rest::default();
        }
        if !drain.is_some_and(|interrupt| self.has_drained(&sealer, interrupt)) {
            self.shared.end(Ending::Stop);
        }
        // What a thread that panicked outside of a job has to say was said when it did.
        let durable = sealer.join().ok().flatten();
        self.shared.end(Ending::Stop);
        self.workers.drain(..).for_each(|worker| drop(worker.join()));
        let state = self.shared.lock();
        let outcome = match (&state.published, &state.failure) {
            (Some(published), _) => Some(Outcome::Published(published.samples)),
            (None, failure) => failure.as_ref().and_then(Error::outcome),
        };
        Rest { durable, outcome }
    }

    /// Waits until the shards that are full are durable, or until `interrupt` fails.
    fn has_drained<T>(&self, sealer: &JoinHandle<T>, interrupt: Interrupt<'_>) -> bool {
        self.shared.end(Ending::Drain);
        let mut asked = Instant::now();
        while !sealer.is_finished() {
            std::thread::sleep(GLANCE);
            if asked.elapsed() >= PATIENCE {
                if interrupt().is_err() {
                    return false;
                }
                asked = Instant::now();
            }
        }
        true
    }

    fn employ(&mut self, wanted: usize) -> Result<()> {
        for _ in 0..wanted.min(self.shared.recipe.threads.saturating_sub(self.workers.len())) {
            let shared = self.shared.clone();
            let name = format!("dsrt-write-{}", self.workers.len());
            match Builder::new().name(name).spawn(move || shared.serve()) {
                Ok(worker) => self.workers.push(worker),
                Err(e) if self.workers.is_empty() => return Err(not_started(e)),
                // Those that are there do it all.
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn wait<T>(
        &self,
        interrupt: &mut dyn FnMut() -> Result<()>,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T> {
        let mut asked = Instant::now();
        let mut state = self.shared.lock();
        loop {
            if let Some(error) = state.failure.take() {
                return Err(error);
            }
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
            if state.schedule.ending == Ending::Stop {
                return Err(Error::new(Kind::State, "the threads of this writer have ended"));
            }
            let left = PATIENCE.saturating_sub(asked.elapsed());
            if left.is_zero() {
                drop(state);
                interrupt()?;
                asked = Instant::now();
                state = self.shared.lock();
            } else {
                state = self.shared.caller.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end(None);
    }
}

fn not_started(e: std::io::Error) -> Error {
    Error::io("starting a thread of a writer", e)
}
