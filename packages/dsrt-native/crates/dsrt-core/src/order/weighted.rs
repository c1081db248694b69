//! The weighted order: rows drawn with replacement, each with the probability its weight says, exactly.
//!
//! Weights become integers of a common scale, so that the draw is a comparison of integers and every platform
//! agrees. A guide table makes it fast and is invisible in the result.

use super::binary::Binary;
use super::guide::Guide;
use super::parts::{THREADS, part_of};
use super::philox::{Tag, draw64, scale};
use super::words::{Words, number};
use crate::cpu::{Instructions, Loop, prefetch};
use crate::error::{Error, Kind, Result};
use crate::together::each;

/// Rows that are compared together.
const WINDOW: usize = 4;

/// Windows from where the guide leads, before a search begins: nearly always enough.
const WINDOWS: usize = 4;

/// Draws that are worked on together, so that their waits for memory overlap: as many as a processor can have waiting.
const BLOCK: usize = 32;

/// Weights prepared for drawing: 9 bytes a row.
pub struct WeightTable {
    rows: usize,
    /// Sums of the integer weights up to and with each row, the last one the total; then a window of the largest
    /// number, so that no window ends early.
    ends: Words<8>,
    guide: Guide,
}

impl WeightTable {
    /// Prepares float64 weights: finite, not negative, at least one above zero. The error names the row.
    pub fn new(weights: &[f64]) -> Result<Self> {
        let rows = weights.len();
        let ends = prefix_sums(weights)?;
        let guide = Guide::new(ends.get().get(..rows).unwrap_or_default())?;
        Ok(Self { rows, ends, guide })
    }

    /// Sums of the integer weights up to and with each row.
    fn ends(&self) -> &[[u8; 8]] {
        self.ends.get().get(..self.rows).unwrap_or_default()
    }

    /// The sum of the integer weights.
    pub fn total(&self) -> u64 {
        self.ends().last().map_or(0, number)
    }

    /// Writes the rows at `positions` of the stream of `seed` to `out`, which is as long.
    pub fn rows(&self, instructions: Instructions, seed: u64, positions: &[u64], out: &mut [u64]) {
        let (total, ends) = (self.total(), self.ends.get());
        match &self.guide {
            Guide::Narrow(guide) => instructions.run(Draws { seed, total, ends, guide: guide.get(), positions, out }),
            Guide::Wide(guide) => instructions.run(Draws { seed, total, ends, guide: guide.get(), positions, out }),
        }
    }
}

/// Writes the rows at `positions`.
struct Draws<'a, const BYTES: usize> {
    seed: u64,
    total: u64,
    ends: &'a [[u8; 8]],
    guide: &'a [[u8; BYTES]],
    positions: &'a [u64],
    out: &'a mut [u64],
}

impl<const BYTES: usize> Loop for Draws<'_, BYTES> {
    /// Step after step over a block of draws: nothing in a step waits for another draw's memory.
    #[inline(always)]
    fn run(self) {
        let Self { seed, total, ends, guide, positions, out } = self;
        let mut draws = [Draw::default(); BLOCK];
        for (positions, out) in positions.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
            for (draw, position) in draws.iter_mut().zip(positions) {
                let number = draw64(seed, Tag::Weighted, *position);
                *draw = Draw { part: scale(number, guide.len() as u64), x: scale(number, total), first: 0 };
            }
            for (draw, _) in draws.iter().zip(positions) {
                prefetch(guide, draw.part as usize);
            }
            for (draw, _) in draws.iter_mut().zip(positions) {
                draw.first = guide.get(draw.part as usize).map_or(0, number) as usize;
                prefetch(ends, draw.first);
                prefetch(ends, draw.first + WINDOW - 1);
            }
            for (draw, row) in draws.iter().zip(out) {
                *row = draw.row(ends, guide) as u64;
            }
        }
    }
}

/// A draw on its way to a row.
#[derive(Clone, Copy, Default)]
struct Draw {
    /// Which part of the range of draws it lies in.
    part: u64,
    /// What the sums are compared with.
    x: u64,
    /// The row that the part begins with.
    first: usize,
}

impl Draw {
    /// The first row whose sum is above `x`.
    #[inline(always)]
    fn row<const BYTES: usize>(&self, ends: &[[u8; 8]], guide: &[[u8; BYTES]]) -> usize {
        let (windows, _) = ends.get(self.first..).unwrap_or_default().as_chunks::<WINDOW>();
        let mut row = self.first;
        for window in windows.iter().take(WINDOWS) {
            let mut below = 0;
            for end in window {
                below += usize::from(number(end) <= self.x);
            }
            row += below;
            if below < WINDOW {
                return row;
            }
        }
        self.search(row, ends, guide)
    }

    /// The same, from `first` on: many rows in a part weigh nearly nothing.
    #[inline(never)]
    fn search<const BYTES: usize>(&self, first: usize, ends: &[[u8; 8]], guide: &[[u8; BYTES]]) -> usize {
        // The row that the next part begins with has a sum above `x`.
        let last = guide.get(self.part as usize + 1).map_or(ends.len(), |next| number(next) as usize);
        let between = ends.get(first..last).unwrap_or_default();
        first + between.partition_point(|end| number(end) <= self.x)
    }
}

/// Refuses weights that are not finite or negative, by row. Gives the largest one, 0 if there are none.
pub fn check_weights(weights: &[f64]) -> Result<f64> {
    // As integers, the bits of what is not negative are ordered like the numbers, and all else is above infinity.
    // Adding 0.0 makes 0.0 of -0.0.
    let largest = |part: &[f64]| part.iter().map(|weight| (weight + 0.0).to_bits()).fold(0, u64::max);
    let parts = each(THREADS, weights.chunks(part_of(weights.len())), largest);
    let max = f64::from_bits(parts.into_iter().fold(0, u64::max));
    if max.is_finite() && max >= 0.0 { Ok(max) } else { Err(refused(weights)) }
}

/// What is wrong with the first bad one of these weights.
fn refused(weights: &[f64]) -> Error {
    for (row, &weight) in weights.iter().enumerate() {
        let what = match weight {
            _ if weight.is_nan() => "is not a number",
            _ if weight.is_infinite() => "is infinite",
            _ if weight < 0.0 => "is negative",
            _ => continue,
        };
        let message = format!("the weight of row {row} {what} ({weight}); weights are finite and not negative");
        return Error::new(Kind::Schema, message);
    }
    Error::new(Kind::Internal, "weights were refused that are finite and not negative")
}

/// The integer weights, summed up, and [`WINDOW`] times the largest number behind them. Their total is at most 2^63 + N.
fn prefix_sums(weights: &[f64]) -> Result<Words<8>> {
    let n = weights.len() as u64;
    let max = check_weights(weights)?;
    if max == 0.0 {
        let what = if n == 0 { "there are no rows".into() } else { format!("the weights of all {n} rows are zero") };
        return Err(Error::new(Kind::Value, format!("{what}: nothing can be drawn; give at least one weight above 0")));
    }
    let bits = i64::from(u64::BITS - (n - 1).leading_zeros());
    let coarse = 62 - bits - Binary::of(max).frexp_exponent();
    let part = part_of(weights.len());
    // Every floor is below 2^(62-bits), and there are at most 2^bits of them: t + n <= 2^62.
    let floors = |part: &[f64]| part.iter().map(|w| Binary::of(*w).scaled_floor(coarse)).sum::<u64>();
    let floors: u64 = each(THREADS, weights.chunks(part), floors).into_iter().sum();
    let room = i64::from((floors + n - 1).leading_zeros()) - 1;
    let shift = coarse + room;
    let integer = |weight: &f64| if *weight == 0.0 { 0 } else { Binary::of(*weight).scaled_round(shift).max(1) };
    let sums = each(THREADS, weights.chunks(part), |part| part.iter().map(integer).sum::<u64>());
    let mut ends = Words::new(weights.len() + WINDOW, n)?;
    let (rows, behind) = ends.get_mut().split_at_mut(weights.len());
    behind.fill([u8::MAX; 8]);
    let starts = sums.into_iter().scan(0u64, |sum, of_part| Some(std::mem::replace(sum, *sum + of_part)));
    each(THREADS, weights.chunks(part).zip(rows.chunks_mut(part)).zip(starts), |((weights, ends), mut sum)| {
        for (weight, end) in weights.iter().zip(ends) {
            sum += integer(weight);
            *end = sum.to_le_bytes();
        }
    });
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl WeightTable {
        /// The integer weight of every row.
        pub fn integers(&self) -> Vec<u64> {
            let ends: Vec<u64> = self.ends().iter().map(number).collect();
            let starts = std::iter::once(&0).chain(&ends);
            ends.iter().zip(starts).map(|(end, start)| end - start).collect()
        }

        fn first(&self, seed: u64, count: u64) -> Vec<u64> {
            let mut rows = vec![u64::MAX; count as usize];
            self.rows(Instructions::widest(), seed, &(0..count).collect::<Vec<_>>(), &mut rows);
            rows
        }
    }

    /// The definition: bisect_right over all sums.
    fn plain_row(table: &WeightTable, seed: u64, position: u64) -> u64 {
        let x = scale(draw64(seed, Tag::Weighted, position), table.total());
        table.ends().iter().filter(|end| number(end) <= x).count() as u64
    }

    #[test]
    fn bad_weights_are_refused_by_row() {
        for (bad, word) in [(f64::NAN, "number"), (f64::INFINITY, "infinite"), (-1e-300, "negative")] {
            let message = WeightTable::new(&[1.0, 2.0, bad]).err().unwrap().to_string();
            assert!(message.contains("row 2") && message.contains(word), "{message}");
        }
        assert!(WeightTable::new(&[0.0, -0.0]).err().unwrap().to_string().contains("zero"));
        assert!(WeightTable::new(&[]).err().unwrap().to_string().contains("no rows"));
    }

    #[test]
    fn many_weightless_rows_in_one_part_are_searched_not_walked() {
        let mut weights = vec![1e-200; 50_000];
        weights.push(1.0);
        weights.extend([0.0; 100]);
        let table = WeightTable::new(&weights).unwrap();
        assert_eq!(table.first(3, 200), [50_000; 200]);
    }

    /// Many enough to be prepared in parts.
    #[test]
    fn parts_of_many_weights_join_without_a_seam() {
        let mut weights: Vec<f64> =
            (0..1_000_003u32).map(|row| f64::from(row.wrapping_mul(2_654_435_761) >> 12)).collect();
        let table = WeightTable::new(&weights).unwrap();
        let integers = table.integers();
        let unit = integers[1] as f64 / weights[1];
        assert!(integers.iter().zip(&weights).all(|(i, w)| (*i as f64 - w * unit).abs() <= unit * w * 1e-9 + 1.0));
        for (position, row) in (0..).zip(table.first(9, 1000)) {
            let x = scale(draw64(9, Tag::Weighted, position), table.total());
            assert_eq!(row, table.ends().partition_point(|end| number(end) <= x) as u64);
        }
        weights[777_777] = f64::NAN;
        assert!(WeightTable::new(&weights).err().unwrap().to_string().contains("row 777777 is not a number"));
        weights[777_777] = -1.0;
        weights[3] = f64::INFINITY;
        assert!(check_weights(&weights).unwrap_err().to_string().contains("row 3 is infinite"));
    }

    /// Where a float32 no longer tells one row from the next.
    #[test]
    fn rows_beyond_2_to_24_are_drawn_one_by_one() {
        let rows = (1 << 24) + 999;
        let mut weights = vec![0.0; rows];
        weights[rows - 999..].fill(1.0);
        let drawn = WeightTable::new(&weights).unwrap().first(5, 20_000);
        let first = rows as u64 - 999;
        let mut counts = [0; 999];
        drawn.iter().for_each(|row| counts[(row - first) as usize] += 1);
        // Twenty on average; none or more than fifty would be a chance of one in a million.
        assert!(counts.iter().all(|count| (1..=50).contains(count)), "{counts:?}");
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
            let positions: Vec<u64> = (0..100).collect();
            let wanted: Vec<u64> = positions.iter().map(|position| plain_row(&table, seed, *position)).collect();
            prop_assert!(wanted.iter().all(|row| weights[*row as usize] > 0.0));
            let guide = Guide::wide(table.ends()).unwrap();
            let wide = WeightTable { guide, ..WeightTable::new(&weights).unwrap() };
            for instructions in Instructions::all() {
                for table in [&table, &wide] {
                    let mut rows = vec![u64::MAX; 100];
                    table.rows(instructions, seed, &positions, &mut rows);
                    prop_assert_eq!(&rows, &wanted, "{:?}", instructions);
                }
            }
        }
    }
}
