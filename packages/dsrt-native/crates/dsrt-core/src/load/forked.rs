//! State that survives a fork.
//!
//! A child of `fork` has one thread, and a copy of every lock as it was. What another thread of the parent held at
//! that moment stays locked for ever, so nothing here waits without end in a child, and whoever was "inside" in the
//! parent is not inside in the child.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};

/// How long a child waits for a lock that is held for microseconds only.
const PATIENCE: Duration = Duration::from_secs(1);

/// A value behind a lock that is never held for long.
pub(super) struct Brief<T> {
    pid: u32,
    value: Mutex<T>,
}

impl<T> Brief<T> {
    pub fn new(value: T) -> Self {
        Self { pid: std::process::id(), value: Mutex::new(value) }
    }

    /// The value. An error only in a forked child, if another thread of the parent held it when it forked.
    pub fn lock(&self) -> Result<MutexGuard<'_, T>> {
        if std::process::id() == self.pid {
            return Ok(self.value.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.value.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::yield_now(),
                Err(TryLockError::WouldBlock) => {
                    let message = "this process was forked while another thread of its parent was using this loader; \
                                   make a new loader in the child";
                    return Err(Error::new(Kind::State, message));
                }
            }
        }
    }
}

/// A room for one thread at a time, which turns away instead of waiting.
#[derive(Default)]
pub(super) struct Single {
    /// The process of the thread inside, or 0.
    inside: AtomicU32,
}

/// Leaves the room when it is dropped.
pub(super) struct Inside<'a>(&'a Single);

impl Single {
    /// None if a thread of this process is inside.
    pub fn enter(&self) -> Option<Inside<'_>> {
        let pid = std::process::id();
        let free = |inside: u32| (inside != pid).then_some(pid);
        self.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, free).ok().map(|_| Inside(self))
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_is_inside_at_a_time() {
        let single = Single::default();
        let inside = single.enter().unwrap();
        assert!(single.enter().is_none());
        drop(inside);
        assert!(single.enter().is_some());
    }

    #[test]
    fn who_was_inside_in_the_parent_is_not_inside_here() {
        let single = Single { inside: AtomicU32::new(std::process::id().wrapping_add(1)) };
        assert!(single.enter().is_some());
    }

    #[test]
    fn a_child_does_not_wait_without_end_for_a_lock_of_its_parent() {
        let brief = Brief { pid: std::process::id().wrapping_add(1), value: Mutex::new(7) };
        assert_eq!(*brief.lock().unwrap(), 7);
        let _held = brief.value.lock().unwrap();
        assert_eq!(brief.lock().err().unwrap().kind(), Kind::State);
    }
}
