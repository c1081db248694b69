//! Work on many chunks, by a few threads.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Kind, Result};

/// The most threads that work on one file.
const THREADS: usize = 4;

/// Does `work` with each of `items`. A thread ends at its first error, and one of them is returned.
pub(super) fn each<T: Send>(
    items: impl ExactSizeIterator<Item = T> + Send,
    work: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    // A thread is worth a few chunks.
    let threads = cpus.min(THREADS).min(items.len() / 4).max(1);
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        while let Some(item) = next() {
            work(item)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        // What the system has no thread for, the others do.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut result = run();
        for other in others {
            let panicked = |_| Err(Error::new(Kind::Internal, "a thread that proves metadata panicked"));
            result = result.and(other.join().unwrap_or_else(panicked));
        }
        result
    })
}
