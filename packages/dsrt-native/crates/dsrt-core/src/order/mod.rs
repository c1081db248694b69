//! Orders: how positions of an endless stream map to rows. Exact integer arithmetic, equal on every platform.

mod binary;
mod guide;
mod parts;
mod permuted;
mod philox;
mod uniform;
mod weighted;
mod words;

use std::fmt;
use std::sync::Arc;

pub use philox::sample_seed;
pub(crate) use weighted::check_weights;

use crate::cpu::Instructions;
use crate::error::{Error, Kind, Result};
use permuted::{MAX_ROWS, Permutation};
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

/// Positions that are worked on together where nobody lists them.
const BLOCK: usize = 512;

/// An order with everything it needs, ready to say which rows stand at any positions. Clones share it.
#[derive(Clone)]
pub struct Sampler(Arc<Inner>);

struct Inner {
    seed: u64,
    n: u64,
    draw: Draw,
}

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
        self.rows_in(Instructions::widest(), positions, out);
    }

    /// Writes the rows at `start` and the positions behind it to `out`. Behind position 2^64 - 1 comes 0.
    pub fn rows_from(&self, start: u64, out: &mut [u64]) {
        if let Inner { seed, n, draw: Draw::Uniform } = &*self.0 {
            // So few steps a draw that a list of positions would cost a tenth more.
            let positions = (0..out.len() as u64).map(|step| start.wrapping_add(step));
            return Instructions::widest().run(uniform::Draws { seed: *seed, n: *n, positions, out });
        }
        let mut positions = [0; BLOCK];
        for (block, out) in (0u64..).zip(out.chunks_mut(BLOCK)) {
            let first = start.wrapping_add(block.wrapping_mul(BLOCK as u64));
            let positions = positions.split_at_mut(out.len()).0;
            for (step, position) in (0..).zip(positions.iter_mut()) {
                *position = first.wrapping_add(step);
            }
            self.rows(positions, out);
        }
    }

    fn rows_in(&self, instructions: Instructions, positions: &[u64], out: &mut [u64]) {
        let Inner { seed, n, draw } = &*self.0;
        match draw {
            Draw::Sequential => positions.iter().zip(out).for_each(|(position, row)| *row = position % n),
            Draw::Uniform => {
                let positions = positions.iter().copied();
                instructions.run(uniform::Draws { seed: *seed, n: *n, positions, out });
            }
            Draw::Weighted(table) => table.rows(instructions, *seed, positions, out),
            Draw::Permuted(permutation) => instructions.run(permuted::Draws { permutation, positions, out }),
        }
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} rows, seed {}", self.order().name(), self.0.n, self.0.seed)
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
