//! Lists that are used again: each batch needs some, and a thread that makes many keeps them from one to the next.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::thread::LocalKey;

use crate::error::{Error, Kind, Result};

/// Where a thread keeps a list of this kind when it does not use it.
pub(crate) type Shelf<T> = LocalKey<Cell<Vec<T>>>;

/// A list of more bytes than this is not kept.
const MOST: usize = 1 << 20;

/// A list that goes back to its shelf, without its items, when it is dropped.
pub(crate) struct List<T: 'static> {
    items: Vec<T>,
    shelf: &'static Shelf<T>,
}

impl<T> List<T> {
    /// An empty list with room for `len` items: the one on the shelf, unless somebody has it.
    pub(crate) fn take(shelf: &'static Shelf<T>, len: usize) -> Result<Self> {
        let mut list = Self { items: shelf.take(), shelf };
        let refused = || Error::new(Kind::Memory, format!("a batch of {len} samples does not fit in memory"));
        list.items.try_reserve(len).map_err(|_| refused())?;
        Ok(list)
    }
}

impl<T> Deref for List<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.items
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.items
    }
}

impl<T> Drop for List<T> {
    fn drop(&mut self) {
        self.items.clear();
        if self.items.capacity().saturating_mul(size_of::<T>()) <= MOST {
            // A thread that ends keeps nothing.
            self.shelf.try_with(|shelf| shelf.set(std::mem::take(&mut self.items))).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static SHELF: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
    }

    #[test]
    fn a_list_is_used_again_without_its_items_and_by_one_at_a_time() {
        let mut first = List::take(&SHELF, 100).unwrap();
        first.extend(0..100);
        let at = first.as_ptr();
        let other = List::take(&SHELF, 5).unwrap();
        assert_ne!(other.as_ptr(), at);
        drop((other, first));
        let again = List::take(&SHELF, 100).unwrap();
        assert_eq!((again.as_ptr(), again.len()), (at, 0));
    }

    #[test]
    fn a_large_list_is_not_kept_and_one_too_large_for_the_memory_is_an_error() {
        drop(List::take(&SHELF, MOST / 8 + 1).unwrap());
        assert!(List::take(&SHELF, 0).unwrap().capacity() < MOST / 8);
        assert_eq!(List::take(&SHELF, usize::MAX).err().unwrap().kind(), Kind::Memory);
    }
}
