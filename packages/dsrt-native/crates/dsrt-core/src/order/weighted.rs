//! The weighted order: rows drawn with replacement, each with the probability its weight says, exactly.
//!
//! Weights become integers of a common scale, so that the draw is a comparison of integers and every platform
//! agrees. A guide table makes it fast and is invisible in the result (H.-C. Chen, Y. Asau, "On generating
//! random variates from an empirical distribution", AIIE Transactions 6, 1974).

use super::binary::Binary;
use super::philox::{Tag, draw64, scale};
use crate::error::{Error, Kind, Result};

/// Rows per entry of the guide table.
const ROWS_PER_GUIDE: usize = 4;

/// Rows that are counted without a branch.
const FEW: usize = 8 * ROWS_PER_GUIDE;

/// Draws that are worked on together.
const BLOCK: usize = 32;

/// Weights prepared for drawing: 10 bytes a row.
#[derive(Debug)]
pub struct WeightTable {
    /// Sums of the integer weights up to and with each row; the last one is the total.
    ends: Vec<u64>,
    /// The first row that the draws of each of equal parts of their range can fall on, and the number of rows.
    guide: Vec<u64>,
}

impl WeightTable {
    /// Prepares float64 weights: finite, not negative, at least one above zero. The error names the row.
    pub fn new(weights: &[f64]) -> Result<Self> {
        let ends = prefix_sums(weights)?;
        let guide = guide(&ends)?;
        Ok(Self { ends, guide })
    }

    /// The sum of the integer weights.
    pub fn total(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Writes the rows at `positions` of the stream of `seed` to `out`, which is as long.
    ///
    /// In blocks, step by step: nothing in a step waits for another draw's memory, so that many misses overlap.
    pub fn rows(&self, seed: u64, positions: &[u64], out: &mut [u64]) {
        let (total, parts) = (self.total(), self.guide.len().saturating_sub(1) as u64);
        for (positions, out) in positions.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            let mut draws = [(0u64, 0usize, 0usize); BLOCK];
            for (at, position) in draws.iter_mut().zip(positions) {
                let draw = draw64(seed, Tag::Weighted, *position);
                let part = scale(draw, parts) as usize;
                let (first, last) = match self.guide.get(part..part + 2) {
                    Some(&[first, last]) => (first as usize, last as usize),
                    _ => (0, self.ends.len()),
                };
                *at = (scale(draw, total), first, last);
            }
            for ((x, first, last), row) in draws.into_iter().zip(out) {
                *row = (first + self.steps(x, first, last)) as u64;
            }
        }
    }

    /// How many rows lie between `first` and the one that `x` falls on, which is not behind `last`: few, unless very many
    /// weigh nearly nothing.
    #[inline]
    fn steps(&self, x: u64, first: usize, last: usize) -> usize {
        let between = self.ends.get(first..last).unwrap_or(&[]);
        if between.len() <= FEW {
            between.iter().map(|end| usize::from(*end <= x)).sum()
        } else {
            between.partition_point(|end| *end <= x)
        }
    }
}

/// Refuses weights that are not finite or negative, by row. Gives the largest one, 0 if there are none.
pub fn check_weights(weights: &[f64]) -> Result<f64> {
    let mut max = 0.0f64;
    for (row, &weight) in weights.iter().enumerate() {
        let what = match weight {
            _ if weight.is_nan() => "is not a number",
            _ if weight.is_infinite() => "is infinite",
            _ if weight < 0.0 => "is negative",
            _ => {
                max = max.max(weight);
                continue;
            }
        };
        let message = format!("the weight of row {row} {what} ({weight}); weights are finite and not negative");
        return Err(Error::new(Kind::Schema, message));
    }
    Ok(max)
}

/// The integer weights, summed up. Their total is at most 2^63 + N.
fn prefix_sums(weights: &[f64]) -> Result<Vec<u64>> {
    let n = weights.len() as u64;
    let max = check_weights(weights)?;
    if max == 0.0 {
        let what = if n == 0 { "there are no rows".into() } else { format!("the weights of all {n} rows are zero") };
        return Err(Error::new(Kind::Value, format!("{what}: nothing can be drawn; give at least one weight above 0")));
    }
    let bits = i64::from(u64::BITS - (n - 1).leading_zeros());
    let coarse = 62 - bits - Binary::of(max).frexp_exponent();
    // Every floor is below 2^(62-bits), and there are at most 2^bits of them: t + n <= 2^62.
    let floors: u64 = weights.iter().map(|w| Binary::of(*w).scaled_floor(coarse)).sum();
    let room = i64::from((floors + n - 1).leading_zeros()) - 1;
    let shift = coarse + room;
    let mut ends = Vec::new();
    ends.try_reserve_exact(weights.len()).map_err(|_| no_memory(n))?;
    let mut sum = 0u64;
    for &weight in weights {
        if weight != 0.0 {
            sum += Binary::of(weight).scaled_round(shift).max(1);
        }
        ends.push(sum);
    }
    Ok(ends)
}

/// For each part of the range of draws the row that its smallest draw falls on.
fn guide(ends: &[u64]) -> Result<Vec<u64>> {
    let (n, total) = (ends.len(), ends.last().copied().unwrap_or(0));
    let parts = (n / ROWS_PER_GUIDE).max(1);
    let mut guide = Vec::new();
    guide.try_reserve_exact(parts + 1).map_err(|_| no_memory(n as u64))?;
    let mut rows = ends.iter().copied().enumerate().peekable();
    for part in 0..parts as u128 {
        let smallest = (part << 64).div_ceil(parts as u128) as u64;
        let x = scale(smallest, total);
        while rows.next_if(|(_, end)| *end <= x).is_some() {}
        guide.push(rows.peek().map_or(n, |(row, _)| *row) as u64);
    }
    guide.push(n as u64);
    Ok(guide)
}

fn no_memory(rows: u64) -> Error {
    Error::new(Kind::Memory, format!("the table for weighted draws of {rows} rows does not fit in memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl WeightTable {
        /// The integer weight of every row.
        pub fn integers(&self) -> Vec<u64> {
            let starts = std::iter::once(&0).chain(&self.ends);
            self.ends.iter().zip(starts).map(|(end, start)| end - start).collect()
        }

        fn first(&self, seed: u64, count: u64) -> Vec<u64> {
            let mut rows = vec![u64::MAX; count as usize];
            self.rows(seed, &(0..count).collect::<Vec<_>>(), &mut rows);
            rows
        }
    }

    /// The definition: bisect_right over all sums.
    fn plain_row(table: &WeightTable, seed: u64, position: u64) -> u64 {
        let x = scale(draw64(seed, Tag::Weighted, position), table.total());
        table.ends.iter().filter(|end| **end <= x).count() as u64
    }

    #[test]
    fn bad_weights_are_refused_by_row() {
        for (bad, word) in [(f64::NAN, "number"), (f64::INFINITY, "infinite"), (-1e-300, "negative")] {
            let message = WeightTable::new(&[1.0, 2.0, bad]).unwrap_err().to_string();
            assert!(message.contains("row 2") && message.contains(word), "{message}");
        }
        assert!(WeightTable::new(&[0.0, -0.0]).unwrap_err().to_string().contains("zero"));
        assert!(WeightTable::new(&[]).unwrap_err().to_string().contains("no rows"));
    }

    #[test]
    fn many_weightless_rows_in_one_part_are_searched_not_walked() {
        let mut weights = vec![1e-200; 50_000];
        weights.push(1.0);
        weights.extend([0.0; 100]);
        let table = WeightTable::new(&weights).unwrap();
        assert_eq!(table.first(3, 200), [50_000; 200]);
    }

    fn any_weight() -> impl Strategy<Value = f64> {
        prop_oneof![
            Just(0.0),
            Just(-0.0),
            Just(1.0),
            0.0..10.0f64,
            (0u64..=0x7FEF_FFFF_FFFF_FFFF).prop_map(f64::from_bits),
            (0u64..1 << 52).prop_map(f64::from_bits),
        ]
    }

    proptest! {
        #[test]
        fn the_guide_table_is_invisible(weights in proptest::collection::vec(any_weight(), 1..200), seed: u64) {
            prop_assume!(weights.iter().any(|w| *w > 0.0));
            let table = WeightTable::new(&weights).unwrap();
            prop_assert!(table.total() as u128 <= (1u128 << 63) + weights.len() as u128);
            for (position, row) in (0..).zip(table.first(seed, 100)) {
                prop_assert_eq!(row, plain_row(&table, seed, position));
                prop_assert!(weights[row as usize] > 0.0);
            }
        }
    }
}
