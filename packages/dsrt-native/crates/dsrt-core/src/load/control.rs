//! The loader between batches: where it stands, where it shall go, its state, weights and figures.

use super::batches::Batches;
use super::loader::{Loader, sampler};
use super::plan::{Last, window_steps};
use super::state::{STATE_FORMAT, State};
use super::stats::Stats;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::hex;
use crate::order::Order;
use crate::rows::{Population, Weights};

impl Loader {
    /// The order, as it was given or follows from the population.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The rows that are streamed, with the weights in force.
    pub fn population(&self) -> Result<Population> {
        Ok(self.core.lock()?.population.clone())
    }

    /// Rank and world size, once they are set.
    pub fn topology(&self) -> Result<Option<(u64, u64)>> {
        Ok(self.core.lock()?.topology.map(|topology| (topology.rank, topology.world_size)))
    }

    /// What happens at the end of a window. Known once rank and world size are.
    pub fn last(&self) -> Result<Option<Last>> {
        Ok(self.core.lock()?.topology.map(|topology| topology.last))
    }

    /// Steps of a whole window. Needs rank and world size.
    pub fn window_steps(&self) -> Result<u64> {
        let core = self.core.lock()?;
        let topology = core.topology()?;
        window_steps(core.stream.epoch_len(), topology.group, topology.last)
    }

    /// The next position of the stream, absolute over all ranks, as of the last batch handed out.
    pub fn position(&self) -> Result<u64> {
        Ok(self.core.lock()?.stream.position())
    }

    /// The window the position lies in.
    pub fn epoch(&self) -> Result<u64> {
        Ok(self.core.lock()?.stream.epoch())
    }

    /// Positions of a window.
    pub fn epoch_len(&self) -> Result<u64> {
        Ok(self.core.lock()?.stream.epoch_len())
    }

    /// Goes to `position`, below 2^62. Ends what is running.
    pub fn seek(&self, position: u64) -> Result<()> {
        self.change(|core| core.stream.seek(position))
    }

    /// Goes to the start of window `epoch`, unless a loaded or sought position inside it has not been used yet. True where
    /// a loaded position is left, which deserves a warning.
    pub fn set_epoch(&self, epoch: u64) -> Result<bool> {
        self.change(|core| core.stream.set_epoch(epoch))
    }

    /// What another loader needs to go on behind the last batch handed out.
    pub fn state(&self) -> Result<State> {
        let (population, position, epoch_len) = {
            let core = self.core.lock()?;
            (core.population.clone(), core.stream.position(), core.stream.epoch_len())
        };
        // Digests may take long, so they are made under no lock; a population keeps them.
        let weights = if self.order == Order::Weighted { population.weights_digest()? } else { None };
        Ok(State {
            format: STATE_FORMAT,
            order: self.order.name().into(),
            seed: self.options.seed,
            position,
            epoch_len,
            n: population.len(),
            rows: hex(&population.rows_digest()),
            weights: weights.as_ref().map(hex),
            caches: population.caches().iter().map(|cache| cache.id()).collect(),
        })
    }

    /// Goes to the position of a state. One of another stream is refused with what differs; not strict, the differences
    /// are given back.
    pub fn load_state(&self, state: &State, strict: bool) -> Result<Vec<String>> {
        let differences = state.check(&self.state()?, strict)?;
        self.change(|core| core.stream.load(state.position))?;
        Ok(differences)
    }

    /// Draws by these weights from the next batch on; what was gathered ahead is drawn again. Rows and position stay.
    pub fn reweight(&self, weights: Vec<f64>) -> Result<()> {
        if self.order != Order::Weighted {
            let message = format!(
                "only a weighted loader can be reweighted, and this one is {}; make it with order='weighted'",
                self.order.name()
            );
            return Err(Error::new(Kind::Value, message));
        }
        // The long part, under no lock.
        let population = self.population()?.with_weights(Weights::Given(weights))?;
        let sampler = sampler(&population, self.order, self.options.seed)?;
        let mut core = self.core.lock()?;
        core.check_open()?;
        let work = |topology| Batches::new(&population, &sampler, &self.options, topology, &self.memory);
        let work = core.topology.map(work).transpose()?;
        let old_population = std::mem::replace(&mut core.population, population);
        let old_sampler = std::mem::replace(&mut core.sampler, sampler);
        let old_work = std::mem::replace(&mut core.work, work);
        let leftover = core.stop();
        drop(core);
        drop((old_population, old_sampler, old_work, leftover));
        Ok(())
    }

    /// What the loader has done so far.
    pub fn stats(&self) -> Result<Stats> {
        let core = self.core.lock()?;
        let engine = core.engine.as_ref().filter(|engine| engine.is_ours());
        Ok(core.meter.stats(engine.map_or(0, |engine| engine.depth())))
    }

    /// Ends what is running and the threads, and waits for them. Position, state and figures stay.
    pub fn close(&self) -> Result<()> {
        self.close_unless(&mut || Ok(()))
    }

    /// The same. While it waits it calls `look` now and then: an error of that ends the wait and comes up. The threads end
    /// all the same, once nothing keeps them, and closing again waits for those that are left.
    pub fn close_unless(&self, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let mut core = self.core.lock()?;
        core.closed = true;
        core.stream.end_running("close() was called");
        // It stays where it is: dropping it would wait.
        let engine = core.engine.clone();
        drop(core);
        engine.map_or(Ok(()), |engine| engine.close_unless(look))
    }
}
