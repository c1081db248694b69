//! The uniform order: rows drawn with replacement, all alike.

use super::philox::{LOW, Tag, draw64, scale};
use crate::cpu::Loop;

/// The row at `position` of the stream of `seed`, one of `n`.
#[inline(always)]
fn row(seed: u64, n: u64, position: u64) -> u64 {
    scale(draw64(seed, Tag::Uniform, position), n)
}

/// Writes the rows at `positions` to `out`, which is as long.
pub(super) struct Draws<'a, P> {
    pub seed: u64,
    pub n: u64,
    pub positions: P,
    pub out: &'a mut [u64],
}

impl<P: Iterator<Item = u64>> Loop for Draws<'_, P> {
    #[inline(always)]
    fn run(self) {
        let Self { seed, n, positions, out } = self;
        // Where the upper half is known to be zero, half of the multiplications fall away.
        if n <= LOW {
            for (position, out) in positions.zip(out) {
                *out = row(seed, n & LOW, position);
            }
        } else {
            for (position, out) in positions.zip(out) {
                *out = row(seed, n, position);
            }
        }
    }
}
