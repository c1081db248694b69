//! Bytes that are copied and summed (CRC-32C) in one pass, and memory that is asked for before it is needed.
//!
//! A batch should cost what moving its bytes costs. So each byte is touched once: loaded into a register, and from there
//! both stored into the batch and folded into the checksum; what is checked is what is delivered. Three things in this
//! are the processor's and have no words in Rust: carry-less multiplication of 64 bytes at once (VPCLMULQDQ), stores that
//! bypass the caches, and prefetching. They are here and nowhere else. A processor without them goes the plain way,
//! `crc_fast` and `copy_from_slice` piece by piece; both ways are the same function, and the tests hold them to it.
//!
//! The sum is folded as in Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction"
//! (Intel, 2009), bit-reflected: 16 bytes that stand `d` bits before 16 others are worth, modulo the polynomial and seen as
//! bits of those, their first half times x^(d+31) plus their second half times x^(d-33). The CRC32 instruction sums the 16
//! bytes that are left in the end.

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
pub(crate) fn sum_and_copy(mut state: u32, from: &[u8], to: &mut [u8], stores: Stores) -> u32 {
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
    /// Is still in the nearest cache when it is copied.
    const PIECE: usize = 8 << 10;
    for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        state = plain(state, from);
        copy(from, to, stores);
    }
    state
}

/// Copies `from` to `to`, which is as long.
pub(crate) fn copy(from: &[u8], to: &mut [u8], stores: Stores) {
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Streaming && wide::is_here() {
        // The sum costs nothing beside the copy.
        sum_and_copy(START, from, to, stores);
        return;
    }
    let len = from.len().min(to.len());
    if let (Some(from), Some(to)) = (from.get(..len), to.get_mut(..len)) {
        to.copy_from_slice(from);
    }
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

/// [`sum`], on any processor.
fn plain(state: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, state.into());
    digest.update(bytes);
    // The algorithm is 32 bits wide; the upper half is zero.
    !(digest.finalize() as u32)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    pub const SUM: u8 = 0;
    pub const COPY: u8 = 1;
    pub const STREAM: u8 = 2;

    const LINE: usize = 64;

    /// How far behind the loads lines are asked for: the processor's own prefetching ends at each page.
    const AHEAD: usize = 2048;

    /// Whether the processor has all that is used here.
    pub fn is_here() -> bool {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("vpclmulqdq")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("sse4.2")
    }

    /// x^(d+31) and x^(d-33) modulo the polynomial, reflected, for a distance of that many bytes.
    const BY_256: (i64, i64) = (0xdcb1_7aa4, 0xb9e0_2b86);
    const BY_64: (i64, i64) = (0x740e_ef02, 0x9e4a_ddf8);
    const BY_48: (i64, i64) = (0x1c29_1d04, 0xddc0_152b);
    const BY_32: (i64, i64) = (0x3da6_d0cb, 0xba4f_c28e);
    const BY_16: (i64, i64) = (0xf20c_0dfe, 0x493c_7d27);

    /// What is still to be read, and where it goes unless it is only summed.
    struct Rest<const WAY: u8> {
        from: *const u8,
        to: *mut u8,
        len: usize,
    }

    impl<const WAY: u8> Rest<WAY> {
        /// The next 64 bytes.
        ///
        /// # Safety
        /// There are as many, and `to` is a multiple of 64 if they are streamed.
        #[inline]
        #[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
        unsafe fn line(&mut self) -> __m512i {
            // SAFETY: the caller's promise. Loads and stores of lines that are not streamed need no alignment.
            let line = unsafe {
                let line = _mm512_loadu_si512(self.from.cast());
                match WAY {
                    COPY => _mm512_storeu_si512(self.to.cast(), line),
                    STREAM => _mm512_stream_si512(self.to.cast(), line),
                    _ => {}
                }
                line
            };
            self.skip(LINE);
            line
        }

        /// The next 4 lines, each folded into one of `sums`; asks for those that are wanted soon.
        ///
        /// # Safety
        /// As for [`Rest::line`].
        #[inline]
        #[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
        unsafe fn fold_lines(&mut self, by: __m512i, sums: &mut [__m512i; 4]) {
            if self.len >= AHEAD + 4 * LINE {
                for line in 0..4 {
                    _mm_prefetch::<_MM_HINT_T1>(self.from.wrapping_add(AHEAD + line * LINE).cast());
                }
            }
            for sum in sums {
                // SAFETY: the caller's promise.
                *sum = fold(*sum, by, unsafe { self.line() });
            }
        }

        /// Sums what there is, 8 bytes at a time.
        ///
        /// # Safety
        /// There is as much as `len` says.
        #[inline]
        #[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
        unsafe fn sum(&mut self, state: u32) -> u32 {
            let mut state = u64::from(state);
            while self.len >= 8 {
                // SAFETY: the caller's promise; neither needs alignment.
                let word = unsafe {
                    let word = self.from.cast::<u64>().read_unaligned();
                    if WAY != SUM {
                        self.to.cast::<u64>().write_unaligned(word);
                    }
                    word
                };
                state = _mm_crc32_u64(state, word);
                self.skip(8);
            }
            // The instruction leaves the upper half zero.
            let mut state = state as u32;
            while self.len > 0 {
                // SAFETY: the caller's promise.
                let byte = unsafe {
                    let byte = self.from.read();
                    if WAY != SUM {
                        self.to.write(byte);
                    }
                    byte
                };
                state = _mm_crc32_u8(state, byte);
                self.skip(1);
            }
            state
        }

        #[inline]
        fn skip(&mut self, len: usize) {
            self.from = self.from.wrapping_add(len);
            self.to = self.to.wrapping_add(len);
            self.len -= len;
        }
    }

    #[inline]
    #[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
    fn fold(sum: __m512i, by: __m512i, next: __m512i) -> __m512i {
        let first = _mm512_clmulepi64_epi128::<0x00>(sum, by);
        let second = _mm512_clmulepi64_epi128::<0x11>(sum, by);
        // All three XORed.
        _mm512_ternarylogic_epi64::<0x96>(first, second, next)
    }

    #[inline]
    #[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
    fn lanes(a: (i64, i64), b: (i64, i64), c: (i64, i64), d: (i64, i64)) -> __m512i {
        _mm512_set_epi64(d.1, d.0, c.1, c.0, b.1, b.0, a.1, a.0)
    }

    /// The state of a sum after `len` bytes, which are copied or streamed if `WAY` says so.
    ///
    /// # Safety
    /// `len` bytes can be read at `from` and, unless they are only summed, written at `to`, where no others see them.
    #[target_feature(enable = "sse4.2,pclmulqdq,avx512f,vpclmulqdq")]
    pub unsafe fn run<const WAY: u8>(mut state: u32, from: *const u8, to: *mut u8, len: usize) -> u32 {
        let mut rest = Rest::<WAY> { from, to, len };
        if WAY == STREAM {
            let head = len.min(to.addr().wrapping_neg() % LINE);
            // SAFETY: `head` is at most `len`. From its end on `to` is aligned, or nothing is left.
            state = unsafe { Rest::<COPY> { from, to, len: head }.sum(state) };
            rest.skip(head);
        }
        // Less is summed sooner than folded.
        if rest.len >= 2 * LINE {
            // SAFETY: there are two. Below, too, lines are only taken where `len` says that they are there.
            let mut sum = unsafe { rest.line() };
            // The state belongs to the first 4 bytes.
            sum = _mm512_xor_si512(sum, _mm512_zextsi128_si512(_mm_cvtsi32_si128(state.cast_signed())));
            let by_64 = lanes(BY_64, BY_64, BY_64, BY_64);
            if rest.len >= 8 * LINE {
                let by_256 = lanes(BY_256, BY_256, BY_256, BY_256);
                // SAFETY: as above.
                let mut sums = unsafe { [sum, rest.line(), rest.line(), rest.line()] };
                while rest.len >= 4 * LINE {
                    // SAFETY: as above.
                    unsafe { rest.fold_lines(by_256, &mut sums) };
                }
                let [a, b, c, d] = sums;
                sum = fold(fold(fold(a, by_64, b), by_64, c), by_64, d);
            }
            while rest.len >= LINE {
                // SAFETY: as above.
                sum = fold(sum, by_64, unsafe { rest.line() });
            }
            // All lanes to the last one.
            let last = _mm512_maskz_mov_epi64(0b1100_0000, sum);
            let sum = fold(sum, lanes(BY_48, BY_32, BY_16, (0, 0)), last);
            let sum = _mm256_xor_si256(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum));
            let sum = _mm_xor_si128(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
            let first = _mm_crc32_u64(0, _mm_cvtsi128_si64(sum).cast_unsigned());
            state = _mm_crc32_u64(first, _mm_extract_epi64::<1>(sum).cast_unsigned()) as u32;
        }
        let Rest { from, to, len } = rest;
        // SAFETY: what is left. A part of a line is not streamed.
        unsafe {
            match WAY {
                SUM => Rest::<SUM> { from, to, len }.sum(state),
                _ => Rest::<COPY> { from, to, len }.sum(state),
            }
        }
    }
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
            for summed in [true, false] {
                let mut target = vec![AROUND; to_offset + len + 70];
                let to = &mut target[to_offset..to_offset + len];
                match summed {
                    true => assert_eq!(sum_and_copy(state, from, to, stores), expected, "{len} to {to_offset}"),
                    false => copy(from, to, stores),
                }
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
