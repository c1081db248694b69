//! What is asked of memory some time before it is used: memory answers many questions at once, but each of them late.

/// So many items are asked for ahead of the one in use. Measured: 8 are too few for records of 64 bytes, 16 enough.
const AHEAD: usize = 16;

/// The items of `inner`. `ask` is called with those of `leading`, which are the same, some items ahead.
///
/// What was found to ask for an item is found again when it is used: that is sooner done than kept.
pub(super) fn ahead<I: Iterator, L: Iterator<Item = I::Item>, F: FnMut(I::Item)>(
    inner: I,
    mut leading: L,
    mut ask: F,
) -> Ahead<I, L, F> {
    leading.by_ref().take(AHEAD).for_each(&mut ask);
    Ahead { inner, leading, ask }
}

/// What [`ahead`] gives.
pub(super) struct Ahead<I, L, F> {
    inner: I,
    leading: L,
    ask: F,
}

impl<I: Iterator, L: Iterator<Item = I::Item>, F: FnMut(I::Item)> Iterator for Ahead<I, L, F> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        // At the end it is asked again, which is all the same to a range or a slice.
        if let Some(item) = self.leading.next() {
            (self.ask)(item);
        }
        self.inner.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_asked_for_before_it_is_used_and_used_once() {
        for count in [0, 1, AHEAD - 1, AHEAD, AHEAD + 1, 5 * AHEAD + 3] {
            let asked = std::cell::Cell::new(0);
            let mut used = 0;
            for item in ahead(0..count, 0..count, |item| assert_eq!(asked.replace(item + 1), item)) {
                assert_eq!(item, used);
                used += 1;
                assert_eq!(asked.get(), count.min(used + AHEAD));
            }
            assert_eq!((asked.get(), used), (count, count));
        }
    }

    #[test]
    fn what_is_asked_for_may_be_asked_about_before() {
        let (first, second) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let early = ahead(0..100, 0..100, |item| first.set(item + 1));
        for item in ahead(0..100, early, |item| second.set(item + 1)) {
            assert_eq!(second.get(), 100.min(item + 1 + AHEAD));
            assert_eq!(first.get(), 100.min(item + 1 + 2 * AHEAD));
        }
    }
}
