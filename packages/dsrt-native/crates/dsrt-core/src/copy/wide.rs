//! Copying and summing with AVX-512 and VPCLMULQDQ.
//!
//! The sum is folded as in Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction"
//! (Intel, 2009), bit-reflected: 16 bytes that stand `d` bits before 16 others are worth, modulo the polynomial and seen as
//! bits of those, their first half times x^(d+31) plus their second half times x^(d-33). The CRC32 instruction sums the 16
//! bytes that are left in the end.

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
