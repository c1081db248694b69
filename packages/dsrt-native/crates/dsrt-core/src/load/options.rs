//! What a loader is asked for, and its place among the ranks.

use super::plan::{Last, POSITION_LIMIT};
use crate::error::{Error, Kind, Result};
use crate::order::Order;
use crate::read::OnDamage;
use crate::rows::Wanted;

/// What a loader is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// None: weighted if the population has weights, else permuted.
    pub order: Option<Order>,
    /// Of the order.
    pub seed: u64,
    /// Samples of a batch, of one rank.
    pub batch_size: u64,
    /// Positions of a window; None for as many as there are rows.
    pub epoch_len: Option<u64>,
    /// None: short for the sequential order on one rank, pad for it on several, drop for the other orders.
    pub last: Option<Last>,
    /// What a batch holds; None for all fields and columns.
    pub fields: Option<Vec<Wanted>>,
    /// Threads that gather, at least 1.
    pub threads: usize,
    /// Batches that are gathered ahead, at least 1.
    pub prefetch: usize,
    /// Bytes that batches gathered ahead may take. One batch always fits.
    pub max_bytes: usize,
    /// What becomes of batches with damaged records.
    pub on_damage: OnDamage,
}

impl Options {
    /// Refuses numbers that no loader can have.
    pub(super) fn check(&self) -> Result<()> {
        let at_least_one =
            [("batch_size", self.batch_size == 0), ("threads", self.threads == 0), ("prefetch", self.prefetch == 0)];
        match at_least_one.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((name, _)) => Err(Error::new(Kind::Value, format!("{name} is 0; it must be at least 1"))),
            None => Ok(()),
        }
    }
}

/// One rank among all, and what follows from their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Topology {
    pub rank: u64,
    pub world_size: u64,
    /// Samples of a step, over all ranks.
    pub group: u64,
    pub last: Last,
}

impl Topology {
    pub fn new(options: &Options, order: Order, rank: u64, world_size: u64) -> Result<Self> {
        if rank >= world_size {
            let message = format!("rank is {rank} and world_size {world_size}; ranks count from 0 to world_size - 1");
            return Err(Error::new(Kind::Value, message));
        }
        let batch_size = options.batch_size;
        let group = batch_size.checked_mul(world_size).filter(|group| *group < POSITION_LIMIT).ok_or_else(|| {
            let message =
                format!("a batch size of {batch_size} on {world_size} ranks makes steps of 2^62 samples or more");
            Error::new(Kind::Value, message)
        })?;
        let last = options.last.unwrap_or_else(|| Last::default_for(order, world_size));
        if last == Last::Short && world_size > 1 {
            let message = format!(
                "last='short' with world_size={world_size}: ranks would get unequal batches and wait for each other for \
                 ever; take last='drop', or last='pad' and the samples where _valid is true"
            );
            return Err(Error::new(Kind::Value, message));
        }
        Ok(Self { rank, world_size, group, last })
    }
}
