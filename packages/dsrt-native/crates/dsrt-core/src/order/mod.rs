//! Orders: how positions of an endless stream map to rows. Exact integer arithmetic, equal on every platform.

mod binary;
mod permuted;
mod philox;
mod weighted;

use std::sync::Arc;

pub use philox::sample_seed;
pub(crate) use weighted::check_weights;

use crate::error::{Error, Kind, Result};
use permuted::{MAX_ROWS, Permutation};
use philox::{Tag, draw64, scale};
use weighted::WeightTable;

/// How rows are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row after row, again and again.
    Sequential,
    /// Every row with the same probability, with replacement.
    Uniform,
    /// Every row with the probability that its weight says, with replacement.
    Weighted,
    /// Each row once an epoch, in an order of its own for each epoch.
    Permuted,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Sequential, Self::Uniform, Self::Weighted, Self::Permuted];

    /// The word for it, in states and in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Uniform => "uniform",
            Self::Weighted => "weighted",
            Self::Permuted => "permuted",
        }
    }

    /// The order of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }
}

/// An order with everything it needs, ready to say which rows stand at any positions. Clones share it.
#[derive(Clone, Debug)]
pub struct Sampler(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    seed: u64,
    n: u64,
    draw: Draw,
}

#[derive(Debug)]
enum Draw {
    Sequential,
    Uniform,
    Weighted(WeightTable),
    Permuted(Permutation),
}

impl Sampler {
    /// Prepares `order` over `n` rows, 1 to 2^62. `weights` is read by the weighted order only, which needs it.
    pub fn new(order: Order, seed: u64, n: u64, weights: Option<&[f64]>) -> Result<Self> {
        if n == 0 || n > MAX_ROWS {
            let message = format!("an order over {n} rows is not possible; there must be 1 to 2^62");
            return Err(Error::new(Kind::Value, message));
        }
        let draw = match order {
            Order::Sequential => Draw::Sequential,
            Order::Uniform => Draw::Uniform,
            Order::Permuted => Draw::Permuted(Permutation::new(seed, n)?),
            Order::Weighted => Draw::Weighted(table(n, weights)?),
        };
        Ok(Self(Arc::new(Inner { seed, n, draw })))
    }

    /// The order.
    pub fn order(&self) -> Order {
        match self.0.draw {
            Draw::Sequential => Order::Sequential,
            Draw::Uniform => Order::Uniform,
            Draw::Weighted(_) => Order::Weighted,
            Draw::Permuted(_) => Order::Permuted,
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Writes the rows at `positions` to `out`, which is as long.
    pub fn rows(&self, positions: &[u64], out: &mut [u64]) {
        let Inner { seed, n, draw } = &*self.0;
        let pairs = positions.iter().zip(out.iter_mut());
        match draw {
            Draw::Sequential => pairs.for_each(|(position, row)| *row = position % n),
            Draw::Uniform => pairs.for_each(|(position, row)| *row = scale(draw64(*seed, Tag::Uniform, *position), *n)),
            Draw::Weighted(table) => table.rows(*seed, positions, out),
            Draw::Permuted(permutation) => permutation.rows(positions, out),
        }
    }
}

fn table(n: u64, weights: Option<&[f64]>) -> Result<WeightTable> {
    match weights {
        None => Err(Error::new(
            Kind::Value,
            "order 'weighted' needs weights and there are none; give weights or take another order",
        )),
        Some(weights) if weights.len() as u64 != n => {
            Err(Error::new(Kind::Schema, format!("there are {} weights for {n} rows", weights.len())))
        }
        Some(weights) => WeightTable::new(weights),
    }
}

#[cfg(test)]
mod tests;
