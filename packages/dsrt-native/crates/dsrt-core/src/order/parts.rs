//! Millions of rows, divided among threads.

use crate::cpu;

/// Below so many rows a thread is not worth its start.
const FEWEST: usize = 1 << 17;

/// No more threads than this: the work waits for memory.
pub(super) const THREADS: usize = 8;

/// How many rows a part has if `rows` are divided among the CPUs that this process may use.
pub(super) fn part_of(rows: usize) -> usize {
    if rows <= FEWEST {
        return FEWEST;
    }
    rows.div_ceil(cpu::count().min(THREADS)).max(FEWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_the_rows_and_few_rows_are_one_part() {
        assert!(part_of(1000) >= 1000);
        let part = part_of(10_000_000);
        assert!((10_000_000 / THREADS..=10_000_000).contains(&part));
    }
}
