//! Philox4x32-10: a counter-based generator, so that any place of any stream costs the same.
//!
//! Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC'11. The published known answers are among the tests.

/// What a draw is for. Streams of different tags are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Tag {
    /// Rows of the uniform order.
    Uniform = 0x554E_4946,
    /// Rows of the weighted order.
    Weighted = 0x5747_4854,
    /// Keys of the permuted order.
    Permuted = 0x5045_524D,
    /// Seeds of samples, for augmentation.
    Augment = 0x4155_474D,
}

/// The lower half of a number.
pub const LOW: u64 = 0xFFFF_FFFF;

/// Ten rounds over one counter. Words stand in 64 bits each, so that a loop over many counters becomes vector code.
#[inline(always)]
pub fn philox4x32_10(counter: [u64; 4], key: [u32; 2]) -> [u64; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let a = c0 * 0xD251_1F53;
        let b = c2 * 0xCD9E_8D57;
        (c0, c1, c2, c3) = ((b >> 32) ^ c1 ^ u64::from(k0), b & LOW, (a >> 32) ^ c3 ^ u64::from(k1), a & LOW);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [c0, c1, c2, c3]
}

/// Block `k` of a stream: four words.
#[inline(always)]
pub fn block(seed: u64, tag: Tag, stream: u32, k: u64) -> [u64; 4] {
    philox4x32_10([k & LOW, k >> 32, u64::from(stream), u64::from(tag as u32)], [seed as u32, (seed >> 32) as u32])
}

/// The first half of block `k` of stream 0.
#[inline(always)]
pub fn draw64(seed: u64, tag: Tag, k: u64) -> u64 {
    let [w0, w1, _, _] = block(seed, tag, 0, k);
    w0 | w1 << 32
}

/// The seed of the sample at `position`: the second half of its block, the same for every order and topology.
#[inline(always)]
pub fn sample_seed(seed: u64, position: u64) -> u64 {
    let [_, _, w2, w3] = block(seed, Tag::Augment, 0, position);
    w2 | w3 << 32
}

/// `draw * range / 2^64`, a number below `range`. In halves: there is no vector instruction for the whole product.
#[inline(always)]
pub fn scale(draw: u64, range: u64) -> u64 {
    let (high, low) = (draw >> 32, draw & LOW);
    let (range_high, range_low) = (range >> 32, range & LOW);
    let cross = low * range_high;
    // At most (2^32 - 1)^2 + 2 * (2^32 - 1): below 2^64.
    let middle = ((low * range_low) >> 32) + (cross & LOW) + high * range_low;
    high * range_high + (cross >> 32) + (middle >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_product_in_halves_is_the_product(draw: u64, range: u64) {
            let exact = |draw: u64, range: u64| ((u128::from(draw) * u128::from(range)) >> 64) as u64;
            for (draw, range) in [(draw, range), (draw, range >> 33), (u64::MAX, range), (draw, u64::MAX)] {
                prop_assert_eq!(scale(draw, range), exact(draw, range));
            }
            prop_assert_eq!(scale(u64::MAX, u64::MAX), exact(u64::MAX, u64::MAX));
        }
    }
}
