//! The permuted order: a keyed bijection of `0..n` for every epoch, with O(1) memory and seek.
//!
//! A Feistel network over mixed radices `a * b >= n` (a = ceil(sqrt n)) with eight rounds; what lands outside
//! `0..n` walks on until it is inside. The radices are so close to n that one walk is nearly always enough.
//! Source of the idea: J. Black, P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.

use super::philox::{Tag, block, scale};
use crate::cpu::Loop;
use crate::error::{Error, Kind, Result};

/// The largest `n`.
pub const MAX_ROWS: u64 = 1 << 62;

/// Slots that are worked on together: their halves stay in the nearest cache.
const BLOCK: usize = 128;

/// Permutations of `0..n`, one per epoch.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    seed: u64,
    n: u64,
    /// Left radix; at most 2^31.
    a: u32,
    /// Right radix; at most `a`.
    b: u32,
    /// 2^64 / b, rounded down: to divide by multiplying.
    inverse: u64,
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
        let b = domain.div_ceil(a);
        // Both are at most 2^31, and b at least 16, so that the quotient is below 2^64.
        let inverse = ((1u128 << 64) / u128::from(b)) as u64;
        Ok(Self { seed, n, a: a as u32, b: b as u32, inverse })
    }

    /// The keys of the epoch whose number, modulo 2^32, is `stream`.
    pub fn keys(&self, stream: u32) -> Keys {
        let [k0, k1, k2, k3] = block(self.seed, Tag::Permuted, stream, 0).map(|word| word as u32);
        let [k4, k5, k6, k7] = block(self.seed, Tag::Permuted, stream, 1).map(|word| word as u32);
        Keys([(k0, k1), (k2, k3), (k4, k5), (k6, k7)])
    }

    /// The epoch that `position` lies in.
    #[inline(always)]
    fn epoch(&self, position: u64) -> Epoch {
        let number = position / self.n;
        Epoch { start: number * self.n, keys: self.keys(number as u32) }
    }

    /// Where `slot` goes under `keys`: at `n` or beyond, it has to walk on.
    #[inline(always)]
    fn pass(&self, keys: &Keys, slot: u64) -> u64 {
        let (mut left, mut right) = self.halves(slot);
        for keys in keys.0 {
            (left, right) = self.round(keys, left, right);
        }
        self.whole(left, right)
    }

    /// `slot` div and mod `b`. The product with the rounded inverse is the quotient or one less: `slot` is below 2^62.
    #[inline(always)]
    fn halves(&self, slot: u64) -> (u32, u32) {
        let b = u64::from(self.b);
        let left = scale(slot, self.inverse);
        let right = slot - left * b;
        let short = u64::from(right >= b);
        ((left + short) as u32, (right - short * b) as u32)
    }

    /// Two of the eight rounds. Both halves are below 2^31, so no sum here leaves 32 bits.
    #[inline(always)]
    fn round(&self, (for_left, for_right): (u32, u32), left: u32, right: u32) -> (u32, u32) {
        let left = add_mod(left, scaled(right ^ for_left, self.a), self.a);
        let right = add_mod(right, scaled(left ^ for_right, self.b), self.b);
        (left, right)
    }

    /// Writes the rows at up to [`BLOCK`] positions of one epoch. Round after round over all slots: none waits for the ten
    /// steps of its own round.
    #[inline(always)]
    fn block(&self, epoch: &Epoch, positions: &[u64], rows: &mut [u64]) {
        let (mut lefts, mut rights) = ([0u32; BLOCK], [0u32; BLOCK]);
        let lefts = lefts.split_at_mut(positions.len()).0;
        let rights = rights.split_at_mut(positions.len()).0;
        for ((left, right), position) in lefts.iter_mut().zip(rights.iter_mut()).zip(positions) {
            (*left, *right) = self.halves(position - epoch.start);
        }
        for keys in epoch.keys.0 {
            for (left, right) in lefts.iter_mut().zip(rights.iter_mut()) {
                (*left, *right) = self.round(keys, *left, *right);
            }
        }
        let mut over = false;
        for ((left, right), row) in lefts.iter().zip(rights.iter()).zip(rows.iter_mut()) {
            *row = self.whole(*left, *right);
            over |= *row >= self.n;
        }
        if over {
            for row in rows {
                while *row >= self.n {
                    *row = self.pass(&epoch.keys, *row);
                }
            }
        }
    }

    #[inline(always)]
    fn whole(&self, left: u32, right: u32) -> u64 {
        u64::from(left) * u64::from(self.b) + u64::from(right)
    }
}

/// An epoch: its first position, and its keys.
struct Epoch {
    start: u64,
    keys: Keys,
}

/// Writes the rows at `positions` of the endless stream to `out`, which is as long: epoch after epoch, each a
/// permutation of its own.
pub(super) struct Draws<'a> {
    pub permutation: &'a Permutation,
    pub positions: &'a [u64],
    pub out: &'a mut [u64],
}

impl Loop for Draws<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { permutation, positions, out } = self;
        let Some(first) = positions.first() else { return };
        let mut epoch = permutation.epoch(*first);
        for (positions, out) in positions.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let (mut positions, mut out) = (positions, out);
            while let Some(first) = positions.first() {
                if first.wrapping_sub(epoch.start) >= permutation.n || *first < epoch.start {
                    epoch = permutation.epoch(*first);
                }
                let count = leading(positions, epoch.start, permutation.n);
                let (these, later) = positions.split_at(count);
                let (rows, rest) = out.split_at_mut(count);
                permutation.block(&epoch, these, rows);
                (positions, out) = (later, rest);
            }
        }
    }
}

/// How many of `positions`, from the first on, are `start` to `start + n - 1`.
#[inline(always)]
fn leading(positions: &[u64], start: u64, n: u64) -> usize {
    let mut all = true;
    for position in positions {
        all &= (*position >= start) & (position.wrapping_sub(start) < n);
    }
    if all {
        return positions.len();
    }
    let is_here = |position: &&u64| position.checked_sub(start).is_some_and(|slot| slot < n);
    positions.iter().take_while(is_here).count()
}

/// A number below `range <= 2^31` that depends on all bits of `x`.
#[inline(always)]
fn scaled(x: u32, range: u32) -> u32 {
    ((u64::from(mix32(x)) * u64::from(range)) >> 32) as u32
}

/// `x + y mod range`, both below `range <= 2^31`. What would be negative is large instead.
#[inline(always)]
fn add_mod(x: u32, y: u32, range: u32) -> u32 {
    let sum = x + y;
    sum.min(sum.wrapping_sub(range))
}

/// A bijective mixer of 32 bits (Chris Wellons, "Prospecting for hash functions", 2018: lowbias32).
#[inline(always)]
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
    use crate::cpu::Instructions;
    use proptest::prelude::*;

    impl Permutation {
        /// Where `slot < n` goes under `keys`, by the definition.
        pub fn row(&self, keys: &Keys, slot: u64) -> u64 {
            let (a, b) = (u64::from(self.a), u64::from(self.b));
            let scaled = |x: u64, key: u32, range: u64| (u64::from(mix32(x as u32 ^ key)) * range) >> 32;
            let mut x = slot;
            loop {
                let (mut left, mut right) = (x / b, x % b);
                for (for_left, for_right) in keys.0 {
                    left = (left + scaled(right, for_left, a)) % a;
                    right = (right + scaled(left, for_right, b)) % b;
                }
                x = left * b + right;
                if x < self.n {
                    return x;
                }
            }
        }
    }

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
            Instructions::widest().run(Draws { permutation: &permutation, positions: &positions, out: &mut rows });
            rows.sort_unstable();
            prop_assert!(rows.iter().copied().eq(0..n));
        }

        #[test]
        fn many_rows_are_those_of_the_definition(
            seed: u64,
            n in (1u32..=62).prop_flat_map(|bits| 1u64..=1 << bits),
            start in 0u64..1 << 62,
            count in 0usize..300,
        ) {
            let permutation = Permutation::new(seed, n).unwrap();
            let positions: Vec<u64> = (start..).step_by(3).chain([start]).take(count).chain([start]).collect();
            let wanted: Vec<u64> =
                positions.iter().map(|p| permutation.row(&permutation.keys((p / n) as u32), p % n)).collect();
            for instructions in Instructions::all() {
                let mut rows = vec![u64::MAX; positions.len()];
                instructions.run(Draws { permutation: &permutation, positions: &positions, out: &mut rows });
                prop_assert_eq!(&rows, &wanted, "{:?}", instructions);
            }
        }

        #[test]
        fn halves_are_quotient_and_rest(n in 1u64..=MAX_ROWS, slot in 0u64..MAX_ROWS) {
            let p = Permutation::new(0, n).unwrap();
            for slot in [slot % n, n - 1, n / 2, n - 1 - (n - 1) % u64::from(p.b)] {
                let (left, right) = p.halves(slot);
                prop_assert_eq!((u64::from(left), u64::from(right)), (slot / u64::from(p.b), slot % u64::from(p.b)));
            }
        }

        #[test]
        fn radices_cover_the_domain_closely(n in 1u64..=MAX_ROWS) {
            let p = Permutation::new(0, n).unwrap();
            let (a, b) = (u64::from(p.a), u64::from(p.b));
            let domain = n.max(256);
            prop_assert!(a * b >= domain && a * b - domain < a);
            prop_assert!((a - 1).pow(2) < domain && a.pow(2) >= domain && b <= a);
        }
    }
}
