//! What is asked of memory some time before it is used: memory answers many questions at once, but each of them late.

/// So many items are asked for ahead of the one in use. Measured: 8 are too few for records of 64 bytes, 16 enough.
const AHEAD: usize = 16;

/// The items of `inner`, each handed on when those that follow it were asked for.
pub(super) fn ahead<I: Iterator>(mut inner: I) -> Ahead<I> {
    let asked = std::array::from_fn(|_| inner.next());
    Ahead { inner, asked, place: 0 }
}

/// What [`ahead`] gives.
pub(super) struct Ahead<I: Iterator> {
    inner: I,
    asked: [Option<I::Item>; AHEAD],
    /// Of the next item in `asked`.
    place: usize,
}

impl<I: Iterator> Iterator for Ahead<I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.asked.get_mut(self.place)?;
        self.place = (self.place + 1) % AHEAD;
        // At the end `inner` is asked again, which is all the same to a range or a slice.
        std::mem::replace(item, self.inner.next())
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
            for item in ahead((0..count).inspect(|item| assert_eq!(asked.replace(item + 1), *item))) {
                assert_eq!(item, used);
                used += 1;
                assert_eq!(asked.get(), count.min(used + AHEAD));
            }
            assert_eq!((asked.get(), used), (count, count));
        }
    }

    #[test]
    fn what_is_asked_for_may_ask_itself() {
        let doubled = ahead(ahead(0..100).map(|item| 2 * item));
        assert!(doubled.eq((0..200).step_by(2)));
    }
}
