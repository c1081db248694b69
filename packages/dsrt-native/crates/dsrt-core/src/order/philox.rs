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

/// Ten rounds over one counter.
#[inline]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let a = u64::from(c0) * 0xD251_1F53;
        let b = u64::from(c2) * 0xCD9E_8D57;
        (c0, c1, c2, c3) = ((b >> 32) as u32 ^ c1 ^ k0, b as u32, (a >> 32) as u32 ^ c3 ^ k1, a as u32);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [c0, c1, c2, c3]
}

/// Block `k` of a stream: four words.
#[inline]
pub fn block(seed: u64, tag: Tag, stream: u32, k: u64) -> [u32; 4] {
    philox4x32_10([k as u32, (k >> 32) as u32, stream, tag as u32], [seed as u32, (seed >> 32) as u32])
}

/// The first half of block `k` of stream 0.
#[inline]
pub fn draw64(seed: u64, tag: Tag, k: u64) -> u64 {
    let [w0, w1, _, _] = block(seed, tag, 0, k);
    u64::from(w0) | u64::from(w1) << 32
}

/// The seed of the sample at `position`: the second half of its block, the same for every order and topology.
#[inline]
pub fn sample_seed(seed: u64, position: u64) -> u64 {
    let [_, _, w2, w3] = block(seed, Tag::Augment, 0, position);
    u64::from(w2) | u64::from(w3) << 32
}

/// `draw * range / 2^64`, a number below `range`.
#[inline]
pub fn scale(draw: u64, range: u64) -> u64 {
    ((u128::from(draw) * u128::from(range)) >> 64) as u64
}
