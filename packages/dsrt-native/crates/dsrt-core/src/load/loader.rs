//! The loader: a population streamed in an order, in batches gathered ahead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::batches::{Batches, Made};
use super::core::Core;
use super::engine::{SLICE, Taken};
use super::forked::{Brief, Inside, Single};
use super::options::{Options, Topology};
use super::stream::Stream;
use crate::batch::{Allocator, Batch};
use crate::error::{Error, Kind, Result};
use crate::order::{Order, Sampler};
use crate::read::Look;
use crate::rows::Population;

/// Streams a population. Any thread may use it, one at a time inside [`Loader::next`].
pub struct Loader {
    pub(super) options: Options,
    pub(super) order: Order,
    pub(super) memory: Arc<dyn Allocator>,
    inside: Single,
    pub(super) core: Brief<Core>,
}

/// A pass over a window, or `steps()`. It begins when [`Loader::next`] is first called with it.
pub struct Pass {
    run: Asked,
    /// Counted by the stream, from 1; 0 before it has begun.
    number: AtomicU64,
    exhausted: AtomicBool,
}

/// What a pass is to be, once it begins.
#[derive(Clone, Copy)]
enum Asked {
    Window,
    Steps(Option<u64>),
}

impl Pass {
    /// A pass over one window.
    pub fn window() -> Self {
        Self::new(Asked::Window)
    }

    /// So many steps from where the stream stands when they begin, or steps without end.
    pub fn steps(count: Option<u64>) -> Self {
        Self::new(Asked::Steps(count))
    }

    fn new(run: Asked) -> Self {
        Self { run, number: AtomicU64::new(0), exhausted: AtomicBool::new(false) }
    }
}

/// What [`Loader::next`] found.
pub enum Next {
    /// The next batch.
    Batch(Batch),
    /// The pass is over.
    End,
    /// The time is up; nothing is lost, call again.
    Waiting,
}

impl Loader {
    /// A loader at position 0. No thread is started before the first call of [`Loader::next`].
    ///
    /// An error for a population without rows, an order it cannot have, weights that are all zero, fields it has not,
    /// and columns of numbers that are null at some row.
    pub fn new(population: Population, options: Options, memory: Arc<dyn Allocator>) -> Result<Self> {
        options.check()?;
        if population.is_empty() {
            let message = "the population has no rows, so there is nothing to load; was everything filtered out?";
            return Err(Error::new(Kind::Value, message));
        }
        let order = match options.order {
            Some(order) => order,
            None if population.weights()?.is_some() => Order::Weighted,
            None => Order::Permuted,
        };
        let sampler = sampler(&population, order, options.seed)?;
        let stream = Stream::new(options.epoch_len.unwrap_or(population.len()))?;
        population.check_nulls(&population.project(options.fields.as_deref(), false)?)?;
        let core = Brief::new(Core::new(population, sampler, stream));
        Ok(Self { options, order, memory, inside: Single::default(), core })
    }

    /// Which rank this loader is. Needed before the first pass and before [`Loader::window_steps`], and final.
    pub fn set_topology(&self, rank: u64, world_size: u64) -> Result<()> {
        let topology = Topology::new(&self.options, self.order, rank, world_size)?;
        let mut core = self.core.lock()?;
        match core.topology {
            Some(known) if known == topology => Ok(()),
            Some(known) => {
                let message = format!(
                    "this loader is rank {} of {} already; make another one for rank {rank} of {world_size}",
                    known.rank, known.world_size
                );
                Err(Error::new(Kind::State, message))
            }
            None => {
                let Core { population, sampler, .. } = &*core;
                let work = Batches::new(population, sampler, &self.options, topology, &self.memory)?;
                core.work = Some(work);
                core.topology = Some(topology);
                Ok(())
            }
        }
    }

    /// The number of a pass, which begins if it has not, and then ends what is running. Called by the one thread
    /// inside [`Loader::next`], so that a pass begins once.
    fn begun(&self, pass: &Pass) -> Result<u64> {
        let number = pass.number.load(Ordering::Relaxed);
        if number != 0 {
            return Ok(number);
        }
        let number = self.change(|core| {
            let Topology { group, last, .. } = core.topology()?;
            match pass.run {
                Asked::Window => core.stream.begin_pass(group, last),
                Asked::Steps(count) => core.stream.begin_steps(group, count),
            }
        })?;
        pass.number.store(number, Ordering::Relaxed);
        Ok(number)
    }

    /// Changes the stream of an open loader, and stops what was gathered ahead for a run that this ended.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Core) -> Result<T>) -> Result<T> {
        let mut core = self.core.lock()?;
        core.check_open()?;
        let result = change(&mut core)?;
        let leftover = core.stop_if_ended();
        drop(core);
        drop(leftover);
        Ok(result)
    }

    /// The next batch of a pass, which begins if it has not, waiting for it for at most `wait`. An error of a batch takes
    /// the batch's place, and the next call goes on behind it.
    pub fn next(&self, pass: &Pass, wait: Duration) -> Result<Next> {
        let _inside = self.enter()?;
        self.take(pass, wait, None)
    }

    /// The next batch of a pass, or None at its end. While it waits it calls `look` now and then: an error of that ends the
    /// wait and comes up, and nothing is lost. The loader's first batch is made by this thread, if it gets its memory
    /// without running what is not ours, and by others that end with it, each of which looks, too.
    pub fn next_unless(&self, pass: &Pass, look: Look) -> Result<Option<Batch>> {
        let _inside = self.enter()?;
        let lead = Some(look).filter(|_| self.memory.is_plain());
        loop {
            match self.take(pass, SLICE, lead)? {
                Next::Batch(batch) => return Ok(Some(batch)),
                Next::End => return Ok(None),
                Next::Waiting => look()?,
            }
        }
    }

    /// One thread at a time is inside.
    fn enter(&self) -> Result<Inside<'_>> {
        let message = "two threads are inside next() of one loader; give each a loader, or take turns";
        self.inside.enter().ok_or_else(|| Error::new(Kind::State, message))
    }

    /// `lead` is there if the first batch is to be made here.
    fn take(&self, pass: &Pass, wait: Duration, lead: Option<Look>) -> Result<Next> {
        if pass.exhausted.load(Ordering::Relaxed) {
            return Ok(Next::End);
        }
        let start = Instant::now();
        let number = self.begun(pass)?;
        loop {
            let mut core = self.core.lock()?;
            core.check_open()?;
            core.meter.begin(start);
            let (engine, leftover) = core.engine(number, &self.options)?;
            drop(core);
            drop(leftover);
            if let Some(Err(interrupt)) = lead.map(|look| engine.lead(look)) {
                // What was begun is begun again by the next call.
                let leftover = self.core.lock()?.stop();
                drop(leftover);
                return Err(interrupt);
            }
            engine.start()?;
            let taken = engine.take(wait.saturating_sub(start.elapsed()));
            if let Some(next) = self.hand_out(pass, number, taken, start.elapsed())? {
                return Ok(next);
            }
        }
    }

    /// Notes what the engine gave after `waited`. None where it is not what is wanted any more: the weights have changed.
    fn hand_out(&self, pass: &Pass, number: u64, taken: Taken<Made>, waited: Duration) -> Result<Option<Next>> {
        let mut core = self.core.lock()?;
        core.check_open()?;
        let left = core.stream.left(number)?;
        match taken {
            Taken::Waiting => {
                core.meter.waiting(waited);
                Ok(Some(Next::Waiting))
            }
            Taken::End if left.is_over() => {
                pass.exhausted.store(true, Ordering::Relaxed);
                Ok(Some(Next::End))
            }
            Taken::Step(generation, step, result) if core.active == Some((number, generation)) => {
                core.stream.hand_out(number, &step)?;
                let bytes = result.as_ref().map_or(0, |made| made.batch.buffer.bytes().len());
                core.meter.batch(bytes, waited);
                let Made { batch, damaged } = result?;
                core.meter.damaged(damaged);
                Ok(Some(Next::Batch(batch)))
            }
            unwanted @ (Taken::Step(..) | Taken::End) => {
                drop(core);
                drop(unwanted);
                Ok(None)
            }
        }
    }
}

/// The order over the rows of a population.
pub(super) fn sampler(population: &Population, order: Order, seed: u64) -> Result<Sampler> {
    let weights = if order == Order::Weighted { population.weights()? } else { None };
    Sampler::new(order, seed, population.len(), weights.map(|weights| weights.as_slice()))
}
