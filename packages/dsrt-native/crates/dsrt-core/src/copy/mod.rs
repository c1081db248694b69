//! Bytes that are copied and summed (CRC-32C) in one pass, and memory that is asked for before it is needed.
//!
//! A batch should cost what moving its bytes costs. So each byte is touched once: loaded into a register, and from there
//! both stored into the batch and folded into the checksum; what is checked is what is delivered. Three things in this
//! are the processor's and have no words in Rust: carry-less multiplication of 64 bytes at once (VPCLMULQDQ), stores that
//! bypass the caches, and prefetching. The first two are in this folder and nowhere else. A processor without the first goes the
//! plain way, `crc_fast` and a copy piece by piece; both ways are the same function, and the tests hold them to it.

#[cfg(target_arch = "x86_64")]
mod stream;
#[cfg(target_arch = "x86_64")]
mod wide;

use crc_fast::{CrcAlgorithm, Digest};

/// How bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stores {
    /// Into the caches, for who reads them next.
    Cached,
    /// Past the caches, which saves reading what is overwritten. [`settle`] before another thread may read them.
    Streaming,
}

impl Stores {
    /// The faster ones for a column of `bytes` bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        /// Measured: from here on a column does not stay in the cache of a core anyway.
        const MANY: usize = 2 << 20;
        if bytes < MANY { Self::Cached } else { Self::Streaming }
    }
}

/// The state of a sum of nothing.
pub(crate) const START: u32 = !0;

/// The state of a sum after `bytes` that follow. Its complement is the CRC-32C.
pub(crate) fn sum(state: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if wide::is_here() {
        // SAFETY: the processor has the instructions, `bytes` may be read, and nothing is written.
        return unsafe { wide::run::<{ wide::SUM }>(state, bytes.as_ptr(), std::ptr::null_mut(), bytes.len()) };
    }
    plain(state, bytes)
}

/// Copies `from` to `to`, which is as long, and gives the state of the sum after it.
pub(crate) fn sum_and_copy(state: u32, from: &[u8], to: &mut [u8], stores: Stores) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if wide::is_here() {
        let len = from.len().min(to.len());
        let (from, to) = (from.as_ptr(), to.as_mut_ptr());
        // SAFETY: the processor has the instructions, `len` bytes may be read and `len` others written.
        return unsafe {
            match stores {
                Stores::Cached => wide::run::<{ wide::COPY }>(state, from, to, len),
                Stores::Streaming => wide::run::<{ wide::STREAM }>(state, from, to, len),
            }
        };
    }
    plain_sum_and_copy(state, from, to, stores)
}

/// Copies `from` to `to`, which is as long.
pub(crate) fn copy(from: &[u8], to: &mut [u8], stores: Stores) {
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Streaming && wide::is_here() {
        // The sum costs nothing beside the copy.
        sum_and_copy(START, from, to, stores);
        return;
    }
    plain_copy(from, to, stores);
}

/// Asks for the beginning of `bytes`, so that it is near when it is read. What follows, the copy asks for itself.
///
/// Into the second cache: it takes more questions at once than the first, which measured a third faster.
#[inline]
pub(crate) fn ask_for(bytes: &[u8]) {
    const BEGINNING: usize = 4 << 10;
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64).take(BEGINNING / 64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint, which changes nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
}

/// Waits until what was stored past the caches is where any thread finds it.
pub(crate) fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this kind has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// [`copy`], on any processor.
fn plain_copy(from: &[u8], to: &mut [u8], stores: Stores) {
    let len = from.len().min(to.len());
    let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) else { return };
    match stores {
        #[cfg(target_arch = "x86_64")]
        Stores::Streaming => stream::copy(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// [`sum_and_copy`], on any processor.
fn plain_sum_and_copy(mut state: u32, from: &[u8], to: &mut [u8], stores: Stores) -> u32 {
    /// Is still in the nearest cache when it is copied.
    const PIECE: usize = 8 << 10;
    for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        state = plain(state, from);
        plain_copy(from, to, stores);
    }
    state
}

/// [`sum`], on any processor.
fn plain(state: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, state.into());
    digest.update(bytes);
    // The algorithm is 32 bits wide; the upper half is zero.
    !(digest.finalize() as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(len: usize, seed: u64) -> Vec<u8> {
        (0..len as u64).map(|at| ((at ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 37) as u8).collect()
    }

    /// Sums and copies `len` bytes from one offset to another in every way, and looks at what lies around.
    fn holds(len: usize, from_offset: usize, to_offset: usize, state: u32) {
        const AROUND: u8 = 0xA5;
        let source = bytes(from_offset + len, state.into());
        let from = &source[from_offset..];
        let expected = plain(state, from);
        assert_eq!(sum(state, from), expected, "{len} bytes at {from_offset}");
        for stores in [Stores::Cached, Stores::Streaming] {
            for way in 0..4 {
                let mut target = vec![AROUND; to_offset + len + 70];
                let to = &mut target[to_offset..to_offset + len];
                let summed = match way {
                    0 => sum_and_copy(state, from, to, stores),
                    1 => plain_sum_and_copy(state, from, to, stores),
                    2 => {
                        copy(from, to, stores);
                        expected
                    }
                    _ => {
                        plain_copy(from, to, stores);
                        expected
                    }
                };
                assert_eq!(summed, expected, "{len} to {to_offset}");
                settle();
                assert_eq!(&*to, from, "{len} bytes from {from_offset} to {to_offset}, {stores:?}");
                let (before, after) = (&target[..to_offset], &target[to_offset + len..]);
                assert!(before.iter().chain(after).all(|byte| *byte == AROUND));
            }
        }
    }

    #[test]
    fn every_short_length_at_every_alignment_is_as_the_plain_way_has_it() {
        for len in 0..=300 {
            for offset in 0..64 {
                holds(len, offset, (offset * 7 + len) % 64, START);
            }
        }
    }

    #[test]
    fn the_sum_is_crc32c() {
        assert_eq!(!sum(START, b"123456789"), 0xE306_9283);
        assert_eq!(!plain(START, b"123456789"), 0xE306_9283);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_length_state_and_alignment_is_as_the_plain_way_has_it(
            len in prop_oneof![300usize..3000, 3000usize..100_000],
            from_offset in 0usize..64,
            to_offset in 0usize..64,
            state: u32,
        ) {
            holds(len, from_offset, to_offset, state);
        }

        #[test]
        fn a_sum_goes_on_where_it_stopped(len in 0usize..2000, at in 0usize..2000) {
            let bytes = bytes(len, 5);
            let (first, second) = bytes.split_at(at.min(len));
            prop_assert_eq!(sum(sum(START, first), second), sum(START, &bytes));
        }
    }
}
