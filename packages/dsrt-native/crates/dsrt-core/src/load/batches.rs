//! What a worker does for one step: its rank's positions, their rows, and the batch of these.

use std::cell::Cell;
use std::sync::Arc;

use super::engine::{Admission, Work};
use super::options::{Options, Topology};
use super::plan::{Last, Step};
use super::stats::DamagedId;
use crate::batch::{Allocator, Batch, Buffer};
use crate::error::{Error, Result};
use crate::lists::List;
use crate::order::Sampler;
use crate::read::{OnDamage, Threads};
use crate::rows::{Places, Population, Projection};

/// Everything that is needed to make any batch of one rank.
pub(super) struct Batches {
    population: Population,
    projection: Projection,
    sampler: Sampler,
    rank: u64,
    batch_size: u64,
    memory: Arc<dyn Allocator>,
    on_damage: OnDamage,
}

/// A batch, and which records of it are damaged.
pub(super) struct Made {
    pub batch: Batch,
    pub damaged: Vec<DamagedId>,
}

impl Work for Batches {
    type Output = Made;

    fn work(&self, step: &Step, admission: &dyn Admission, threads: Threads) -> Result<Made> {
        // A rank's first element is below the size of a step, which is a u64.
        let elements = step.elements(self.rank * self.batch_size, self.batch_size)?;
        thread_local!(static ROWS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) });
        let mut rows = List::take(&ROWS, elements.positions.len())?;
        rows.resize(elements.positions.len(), 0);
        self.sampler.rows(&elements.positions, &mut rows);
        let places =
            Places { rows: &rows, positions: &elements.positions, valid: &elements.valid, seed: self.sampler.seed() };
        let memory = Admitted { memory: &*self.memory, admission };
        let look = || admission.check();
        let batch = self.population.gather_at(&self.projection, &places, &memory, self.on_damage, threads, &look)?;
        let damaged = batch.damaged.iter().map(|(place, error)| self.damaged(&rows, *place, error));
        let damaged = damaged.collect::<Result<_>>()?;
        Ok(Made { batch, damaged })
    }
}

impl Batches {
    /// What makes the batches of the rank `at`.
    pub fn new(
        population: &Population,
        sampler: &Sampler,
        options: &Options,
        at: Topology,
        memory: &Arc<dyn Allocator>,
    ) -> Result<Arc<Self>> {
        let Options { batch_size, on_damage, .. } = *options;
        let with_valid = at.last != Last::Drop || on_damage == OnDamage::Mask;
        let projection = population.project(options.fields.as_deref(), with_valid)?;
        let (population, sampler, memory) = (population.clone(), sampler.clone(), memory.clone());
        Ok(Arc::new(Self { population, projection, sampler, rank: at.rank, batch_size, memory, on_damage }))
    }

    fn damaged(&self, rows: &[u64], place: usize, error: &Error) -> Result<DamagedId> {
        let row = rows.get(place).copied().unwrap_or(u64::MAX);
        let id = self.population.id(row)?;
        let cache = self.population.caches().get(id.cache as usize).map_or(0, |cache| cache.id());
        let field = error.place().field.clone().unwrap_or_else(|| "".into());
        Ok((cache, id.sample, field))
    }
}

/// Memory that is asked for when there is room.
struct Admitted<'a> {
    memory: &'a dyn Allocator,
    admission: &'a dyn Admission,
}

impl Allocator for Admitted<'_> {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        self.admission.admit(bytes)?;
        self.memory.allocate(bytes)
    }
}
