//! The loop that widens: plain Rust over short runs of elements, for any two types.

use std::marker::PhantomData;

use crate::cpu::{Instructions, Loop};

/// An element of `N` bytes.
pub(super) trait Element<const N: usize>: Copy {
    /// Of those bytes, as they lie in memory.
    fn of(bytes: [u8; N]) -> Self;
    /// Its bytes.
    fn bytes(self) -> [u8; N];
}

/// Widens elements of type `A`, the last bytes of a place, to elements of type `B`, which fill it.
pub(super) fn widen<A: Element<N>, B: Element<W> + From<A>, const N: usize, const W: usize>(
    instructions: Instructions,
    place: &mut [u8],
) {
    instructions.run(InPlace::<A, B, N, W> { place, types: PhantomData });
}

struct InPlace<'a, A, B, const N: usize, const W: usize> {
    place: &'a mut [u8],
    types: PhantomData<fn(A) -> B>,
}

impl<A: Element<N>, B: Element<W> + From<A>, const N: usize, const W: usize> Loop for InPlace<'_, A, B, N, W> {
    #[inline(always)]
    fn run(self) {
        let count = self.place.len() / W;
        // No loop over what is left of a record: its last elements are widened together, some of them a second time.
        let done = match count {
            0 => Some(()),
            1 => self.ends::<1>(count),
            2..4 => self.ends::<2>(count),
            4..8 => self.ends::<4>(count),
            8..16 => self.ends::<8>(count),
            16..32 => self.ends::<16>(count),
            _ => self.all::<32>(count),
        };
        debug_assert!(done.is_some());
    }
}

impl<A: Element<N>, B: Element<W> + From<A>, const N: usize, const W: usize> InPlace<'_, A, B, N, W> {
    /// Widens `count` elements that are `STEP` to twice as many: the first `STEP` of them, and the last.
    #[inline(always)]
    fn ends<const STEP: usize>(self, count: usize) -> Option<()> {
        let (first, last) = (self.taken::<STEP>(count, 0)?, self.taken::<STEP>(count, count - STEP)?);
        self.put(0, first)?.put(count - STEP, last).map(drop)
    }

    /// Widens `count` elements that are `STEP` or more, `STEP` at a time.
    #[inline(always)]
    fn all<const STEP: usize>(mut self, count: usize) -> Option<()> {
        let last = self.taken::<STEP>(count, count - STEP)?;
        let mut done = 0;
        // The end of what is written stays behind the beginning of what is still to be taken: both get to the end of the
        // place together, and what is written in longer steps.
        while done < count - STEP {
            let some = self.taken::<STEP>(count, done)?;
            self = self.put(done, some)?;
            done += STEP;
        }
        self.put(count - STEP, last).map(drop)
    }

    /// A copy of `STEP` of the `count` stored elements, from number `from` on.
    #[inline(always)]
    fn taken<const STEP: usize>(&self, count: usize, from: usize) -> Option<[[u8; N]; STEP]> {
        let stored = self.place.len() - count * N;
        self.place.get(stored + from * N..)?.as_chunks().0.first_chunk().copied()
    }

    /// Writes those elements, widened, from number `from` on.
    #[inline(always)]
    fn put<const STEP: usize>(self, from: usize, elements: [[u8; N]; STEP]) -> Option<Self> {
        let place: &mut [[u8; W]; STEP] = self.place.get_mut(from * W..)?.as_chunks_mut().0.first_chunk_mut()?;
        for (to, element) in place.iter_mut().zip(elements) {
            *to = B::from(A::of(element)).bytes();
        }
        Some(self)
    }
}
