//! The guide table of the weighted order: equal parts of the range of draws, and where in the sums each one begins.
//!
//! Source: H.-C. Chen, Y. Asau, "On generating random variates from an empirical distribution", AIIE Transactions 6, 1974.

use super::parts::{THREADS, part_of};
use super::philox::scale;
use super::words::{Words, bytes, number};
use crate::error::Result;
use crate::together::each;

/// Rows per entry.
const ROWS: usize = 4;

/// For each part of the range of draws the row that its smallest draw falls on.
pub(super) enum Guide {
    /// Up to 2^32 rows: a byte for each of them.
    Narrow(Words<4>),
    /// More: two bytes a row.
    Wide(Words<8>),
}

impl Guide {
    /// Of these sums, the last of which is the total.
    pub fn new(ends: &[[u8; 8]]) -> Result<Self> {
        let rows = ends.len() as u64;
        Ok(match u32::try_from(rows) {
            Ok(_) => Self::Narrow(table(ends, rows)?),
            Err(_) => Self::Wide(table(ends, rows)?),
        })
    }

    /// As for more rows than there are.
    #[cfg(test)]
    pub fn wide(ends: &[[u8; 8]]) -> Result<Self> {
        Ok(Self::Wide(table(ends, ends.len() as u64)?))
    }
}

fn table<const BYTES: usize>(ends: &[[u8; 8]], rows: u64) -> Result<Words<BYTES>> {
    let len = (ends.len() / ROWS).max(1);
    let mut words = Words::new(len, rows)?;
    let part = part_of(ends.len()) / ROWS;
    let starts = (0..len).step_by(part);
    each(THREADS, starts.zip(words.get_mut().chunks_mut(part)), |(start, words)| fill(words, ends, start, len));
    Ok(words)
}

/// Writes the entries from number `start` of `len` on.
fn fill<const BYTES: usize>(words: &mut [[u8; BYTES]], ends: &[[u8; 8]], start: usize, len: usize) {
    let total = ends.last().map_or(0, number);
    let smallest = |part: usize| scale(((part as u128) << 64).div_ceil(len as u128) as u64, total);
    let first = smallest(start);
    let mut row = ends.partition_point(|end| number(end) <= first);
    let mut rest = ends.iter().skip(row).peekable();
    for (part, word) in (start..).zip(words) {
        let x = smallest(part);
        while rest.next_if(|end| number(end) <= x).is_some() {
            row += 1;
        }
        *word = bytes(row as u64);
    }
}
