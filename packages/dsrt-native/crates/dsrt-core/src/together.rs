//! Work that is divided among threads for the moment that it takes.
//!
//! The threads live as long as the call. Starting one takes some 20 µs, and in return there is no pool that a fork could
//! find without its threads, and none to be woken, bounded or closed.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::error::Result;

/// Does `work` with each of `items` on up to `threads` threads, the caller's among them, and gives the results in order.
/// Where the system has no thread left, those that there are do more.
pub(crate) fn each<T: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items: Vec<T> = items.into_iter().collect();
    let others = threads.min(items.len()).saturating_sub(1);
    let queue = Mutex::new(items.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let run = || {
        let mut done = Vec::new();
        while let Some((number, item)) = next() {
            done.push((number, work(item)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let start = |_| thread::Builder::new().name("dsrt-together".into()).spawn_scoped(scope, run).ok();
        let others: Vec<_> = (0..others).map_while(start).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// As [`each`]. The error is that of the first item which has one; those after it may never be begun.
pub(crate) fn try_each<T: Send, R: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let first = AtomicUsize::new(usize::MAX);
    let work = |(number, item)| {
        if first.load(Ordering::Relaxed) < number {
            return None;
        }
        let result = work(item);
        if result.is_err() {
            first.fetch_min(number, Ordering::Relaxed);
        }
        Some(result)
    };
    each(threads, items.into_iter().enumerate(), work).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Kind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn results_come_in_the_order_of_the_items(count in 0u64..40, threads in 0usize..5) {
            let squares: Vec<_> = (0..count).map(|item| item * item).collect();
            prop_assert_eq!(each(threads, 0..count as usize, |item| (item * item) as u64), squares.clone());
            prop_assert_eq!(try_each(threads, 0..count as usize, |item| Ok((item * item) as u64)).unwrap(), squares);
        }

        #[test]
        fn the_first_error_is_given(bad in prop::collection::btree_set(0usize..40, 1..4), threads in 1usize..5) {
            let work = |item| if bad.contains(&item) { Err(Error::new(Kind::Data, item.to_string())) } else { Ok(()) };
            let error = try_each(threads, 0..40, work).unwrap_err();
            prop_assert_eq!(error.message(), bad.first().unwrap().to_string());
        }
    }

    #[test]
    fn a_panic_of_another_thread_is_a_panic_of_the_caller() {
        let caller = thread::current().id();
        let both = std::sync::Barrier::new(2);
        let work = |_| {
            both.wait();
            assert!(thread::current().id() == caller, "of another thread");
        };
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| each(2, 0..2, work))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"of another thread"));
    }
}
