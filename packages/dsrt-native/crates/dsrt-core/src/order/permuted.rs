//! The permuted order: a keyed bijection of `0..n` for every epoch, with O(1) memory and seek.
//!
//! A Feistel network over mixed radices `a * b >= n` (a = ceil(sqrt n)) with eight rounds; what lands outside
//! `0..n` walks on until it is inside. The radices are so close to n that one walk is nearly always enough.
//! Source of the idea: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.

use super::philox::{Tag, block};
use crate::error::{Error, Kind, Result};

/// The largest `n`.
pub const MAX_ROWS: u64 = 1 << 62;

/// Permutations of `0..n`, one per epoch.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    seed: u64,
    n: u64,
    /// Left radix; at most 2^31.
    a: u64,
    /// Right radix; at most `a`.
    b: u64,
}

/// The keys of one epoch.
#[derive(Clone, Copy, Debug)]
pub struct Keys([(u32, u32); 4]);

impl Permutation {
    /// The permutations of `n` rows under `seed`; `n` from 1 to 2^62.
    pub fn new(seed: u64, n: u64) -> Result<Self> {
        if n == 0 || n > MAX_ROWS {
            return Err(Error::new(Kind::Value, format!("{n} rows cannot be permuted: 1 to 2^62 are possible")));
        }
        let domain = n.max(256);
        let a = (domain - 1).isqrt() + 1;
        Ok(Self { seed, n, a, b: domain.div_ceil(a) })
    }

    /// The keys of the epoch whose number, modulo 2^32, is `stream`.
    pub fn keys(&self, stream: u32) -> Keys {
        let [k0, k1, k2, k3] = block(self.seed, Tag::Permuted, stream, 0);
        let [k4, k5, k6, k7] = block(self.seed, Tag::Permuted, stream, 1);
        Keys([(k0, k1), (k2, k3), (k4, k5), (k6, k7)])
    }

    /// Where `slot < n` goes under `keys`.
    #[inline]
    pub fn row(&self, keys: &Keys, slot: u64) -> u64 {
        let mut x = self.pass(keys, slot);
        while x >= self.n {
            x = self.pass(keys, x);
        }
        x
    }

    /// The rows at `positions` of the endless stream: epoch after epoch, each a permutation of its own.
    pub fn rows(&self, positions: &[u64], out: &mut [u64]) {
        let mut last = None;
        for (position, row) in positions.iter().zip(out) {
            let (epoch, slot) = (position / self.n, position % self.n);
            let keys = match last {
                Some((known, keys)) if known == epoch => keys,
                _ => self.keys(epoch as u32),
            };
            last = Some((epoch, keys));
            *row = self.row(&keys, slot);
        }
    }

    /// Eight rounds over `left * b + right`. Both halves are below 2^31, so no sum here leaves 32 bits.
    #[inline]
    fn pass(&self, keys: &Keys, x: u64) -> u64 {
        let (mut left, mut right) = (x / self.b, x % self.b);
        for (for_left, for_right) in keys.0 {
            left = add_mod(left, scaled(right as u32 ^ for_left, self.a), self.a);
            right = add_mod(right, scaled(left as u32 ^ for_right, self.b), self.b);
        }
        left * self.b + right
    }
}

/// A number below `range <= 2^31` that depends on all bits of `x`.
#[inline]
fn scaled(x: u32, range: u64) -> u64 {
    (u64::from(mix32(x)) * range) >> 32
}

/// `x + y mod range`, both below `range`.
#[inline]
fn add_mod(x: u64, y: u64, range: u64) -> u64 {
    let sum = x + y;
    if sum >= range { sum - range } else { sum }
}

/// A bijective mixer of 32 bits (Chris Wellons, "Prospecting for hash functions", 2018: lowbias32).
#[inline]
fn mix32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zero_rows_and_too_many_are_refused() {
        assert_eq!(Permutation::new(0, 0).unwrap_err().kind(), Kind::Value);
        assert_eq!(Permutation::new(0, MAX_ROWS + 1).unwrap_err().kind(), Kind::Value);
        let largest = Permutation::new(0, MAX_ROWS).unwrap();
        assert_eq!((largest.a, largest.b), (1 << 31, 1 << 31));
        assert!(largest.row(&largest.keys(0), MAX_ROWS - 1) < MAX_ROWS);
    }

    proptest! {
        #[test]
        fn an_epoch_holds_every_row_once(seed: u64, n in 1u64..3000, epoch in 0u64..1 << 40) {
            let permutation = Permutation::new(seed, n).unwrap();
            let start = epoch * n;
            let positions: Vec<u64> = (start..start + n).collect();
            let mut rows = vec![0; positions.len()];
            permutation.rows(&positions, &mut rows);
            rows.sort_unstable();
            prop_assert!(rows.iter().copied().eq(0..n));
        }

        #[test]
        fn radices_cover_the_domain_closely(n in 1u64..=MAX_ROWS) {
            let p = Permutation::new(0, n).unwrap();
            let domain = n.max(256);
            prop_assert!(p.a * p.b >= domain && p.a * p.b - domain < p.a);
            prop_assert!((p.a - 1).pow(2) < domain && p.a.pow(2) >= domain && p.b <= p.a);
        }
    }
}
