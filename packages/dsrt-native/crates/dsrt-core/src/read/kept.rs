//! Files that are kept open for `pread`: at most so many in the whole process, however many a cache has.
//!
//! Whoever holds a key gets the file it stands for, the kept one or a new one. There is no lock, so that any thread
//! may ask and a fork leaves nothing locked: places are exchanged whole, and a file that is put out of its place is
//! closed when the last read from it ends.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;

use crate::error::Result;

/// Files that are kept: half of what a process may usually have open, which is 1,024.
const PLACES: usize = SETS * WAYS;
const SETS: usize = 128;
/// Places that a file may be kept in. With a single one, two files in use could drive each other out for ever.
const WAYS: usize = 4;

static KEPT: [ArcSwapOption<Kept>; PLACES] = [const { ArcSwapOption::const_empty() }; PLACES];

/// A file that is open.
pub(super) struct Kept {
    key: u64,
    pub(super) file: File,
}

/// What a file is kept by. Dropped, the file is closed.
pub(super) struct Key(u64);

impl Key {
    /// One that no other is equal to.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The kept file, or else what `open` opens, which is kept from then on.
    pub(super) fn file(&self, open: impl FnOnce() -> Result<File>) -> Result<Arc<Kept>> {
        static TURN: AtomicUsize = AtomicUsize::new(0);
        if let Some(kept) = self.places().find_map(|place| place.load_full().filter(|kept| kept.key == self.0)) {
            return Ok(kept);
        }
        let kept = Arc::new(Kept { key: self.0, file: open()? });
        let free = self.places().find(|place| place.load().is_none());
        // Who is driven out is left to chance.
        let place = free.or_else(|| self.places().nth(TURN.fetch_add(1, Ordering::Relaxed) % WAYS));
        if let Some(place) = place {
            place.store(Some(kept.clone()));
        }
        Ok(kept)
    }

    /// Closes the file, unless it is being read, until it is asked for again.
    pub(super) fn let_go(&self) {
        // Two threads that opened it at once may have kept it twice.
        for place in self.places() {
            let kept = place.load();
            if kept.as_ref().is_some_and(|kept| kept.key == self.0) {
                // If another file came there meanwhile, it is this one that went.
                place.compare_and_swap(&kept, None);
            }
        }
    }

    /// Where this file may be.
    fn places(&self) -> impl Iterator<Item = &'static ArcSwapOption<Kept>> {
        KEPT.iter().skip(self.0 as usize % SETS * WAYS).take(WAYS)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_file_is_opened_once_and_again_only_after_many_others() {
        let opened = Cell::new(0);
        let open = || {
            opened.set(opened.get() + 1);
            Ok(tempfile::tempfile().unwrap())
        };
        let key = Key::new();
        let first = key.file(open).unwrap();
        assert!(Arc::ptr_eq(&first, &key.file(open).unwrap()));
        assert_eq!(opened.get(), 1);
        // Other tests may keep files, too.
        let others: Vec<_> = (0..4 * PLACES).map(|_| Key::new()).collect();
        for other in others.iter().filter(|other| other.0 as usize % SETS == key.0 as usize % SETS) {
            other.file(open).unwrap();
        }
        assert!(key.places().all(|place| place.load().as_ref().is_none_or(|kept| kept.key != key.0)));
        let before = opened.get();
        key.file(open).unwrap();
        assert_eq!(opened.get(), before + 1);
    }

    #[test]
    fn a_dropped_key_lets_go_of_its_file_and_a_failure_keeps_nothing() {
        let key = Key::new();
        let refused = key.file(|| Err(crate::error::Error::new(crate::error::Kind::Io, "no")));
        assert!(refused.is_err());
        let weak = Arc::downgrade(&key.file(|| Ok(tempfile::tempfile().unwrap())).unwrap());
        assert!(weak.upgrade().is_some());
        drop(key);
        assert!(weak.upgrade().is_none());
    }
}
