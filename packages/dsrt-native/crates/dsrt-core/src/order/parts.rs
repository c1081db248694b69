//! Work over millions of rows, done by all CPUs for the moment that it takes.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Below so many rows a thread is not worth its start.
const FEWEST: usize = 1 << 17;

/// No more threads than this: the work waits for memory.
const MOST: usize = 8;

/// How many rows a part has if `rows` are divided among the CPUs that this process may use.
pub(super) fn part_of(rows: usize) -> usize {
    if rows <= FEWEST {
        return FEWEST;
    }
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
    rows.div_ceil(threads).max(FEWEST)
}

/// Does `work` on each part and gives the results in order. Threads live as long as this call; where the system has none
/// left, those that are there do more.
pub(super) fn each<P: Send, R: Send>(parts: impl Iterator<Item = P>, work: impl Fn(P) -> R + Sync) -> Vec<R> {
    let parts: Vec<P> = parts.collect();
    let count = parts.len();
    let queue = Mutex::new(parts.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        let mut done = Vec::new();
        while let Some((number, part)) = next() {
            done.push((number, work(part)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        let threads: Vec<_> = (1..count).filter_map(start).collect();
        let mut done = run();
        for thread in threads {
            done.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_parts() {
        assert_eq!(each(0..20u64, |part| part * part), (0..20).map(|part| part * part).collect::<Vec<u64>>());
        assert!(each(std::iter::empty::<u64>(), |part| part).is_empty());
    }

    #[test]
    fn parts_cover_the_rows_and_few_rows_are_one_part() {
        assert!(part_of(1000) >= 1000);
        let part = part_of(10_000_000);
        assert!((10_000_000 / MOST..=10_000_000).contains(&part));
    }
}
