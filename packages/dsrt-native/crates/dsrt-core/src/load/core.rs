//! What changes while a loader runs.
//!
//! It stands behind a lock that is held for moments only, and nothing that may be another library's (a batch's memory,
//! an Arrow array) is dropped under it: such a drop may need a lock of that library, whose holder may be waiting for
//! this one. So whatever stops the engine gives back what is left over.

use std::sync::Arc;

use super::batches::{Batches, Made};
use super::engine::Engine;
use super::options::{Options, Topology};
use super::ring::Forgotten;
use super::stats::Meter;
use super::stream::Stream;
use crate::error::{Error, Kind, Result};
use crate::order::Sampler;
use crate::rows::Population;

/// The changing part of a loader.
pub(super) struct Core {
    pub population: Population,
    pub sampler: Sampler,
    pub stream: Stream,
    pub topology: Option<Topology>,
    /// Made when the topology is known, and again by a reweighting.
    pub work: Option<Arc<Batches>>,
    pub engine: Option<Arc<Engine<Made>>>,
    /// What the engine is at: the number of the run, and the engine's generation.
    pub active: Option<(u64, u64)>,
    pub meter: Meter,
    pub closed: bool,
}

/// To be dropped where no lock is held.
pub(super) type Leftover = Option<Forgotten<Made>>;

impl Core {
    pub fn new(population: Population, sampler: Sampler, stream: Stream) -> Self {
        let meter = Meter::default();
        let (topology, work, engine, active) = (None, None, None, None);
        Self { population, sampler, stream, topology, work, engine, active, meter, closed: false }
    }

    pub fn topology(&self) -> Result<Topology> {
        self.topology.ok_or_else(unplaced)
    }

    pub fn check_open(&self) -> Result<()> {
        if self.closed {
            return Err(Error::new(Kind::State, "this loader is closed; make a new one"));
        }
        Ok(())
    }

    /// The engine, at work on what is left of run `number`. Its threads may not be started yet.
    pub fn engine(&mut self, number: u64, options: &Options) -> Result<(Arc<Engine<Made>>, Leftover)> {
        let left = self.stream.left(number)?;
        if self.engine.as_ref().is_some_and(|engine| !engine.is_ours()) {
            // Of the process this one was forked from: dropping it leaves all it holds as it is.
            self.engine = None;
            self.active = None;
        }
        let engine = match &self.engine {
            Some(engine) => engine.clone(),
            None => {
                let Options { threads, prefetch, max_bytes, .. } = *options;
                self.engine.insert(Arc::new(Engine::new(threads, prefetch, max_bytes))).clone()
            }
        };
        if self.active.is_some_and(|(active, _)| active == number) {
            return Ok((engine, None));
        }
        let work = self.work.clone().ok_or_else(unplaced)?;
        let (generation, forgotten) = engine.restart(Some((left, work)));
        self.active = Some((number, generation));
        Ok((engine, Some(forgotten)))
    }

    /// Stops what is gathered ahead. A run that goes on has it gathered again.
    #[must_use]
    pub fn stop(&mut self) -> Leftover {
        self.active = None;
        let engine = self.engine.as_ref().filter(|engine| engine.is_ours())?;
        Some(engine.restart(None).1)
    }

    /// Stops what is gathered ahead if it is for a run that was ended.
    #[must_use]
    pub fn stop_if_ended(&mut self) -> Leftover {
        let (number, _) = self.active?;
        if self.stream.left(number).is_ok() { None } else { self.stop() }
    }
}

fn unplaced() -> Error {
    Error::new(Kind::Internal, "a loader was used before its rank and world size were set")
}
