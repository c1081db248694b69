//! Digests by which a saved state knows the rows and weights it was taken over.

use blake3::Hasher;

use super::selection::Selection;

/// Of the caches, as (cache id, samples), and the rows. The same for a list of all rows and for all rows.
pub(super) fn rows_digest(caches: &[(i64, u64)], rows: &Selection) -> [u8; 32] {
    let mut hasher = Buffered::new(b"DSRTrows1");
    hasher.add(caches.len() as u64);
    for (id, samples) in caches {
        hasher.add(*id as u64);
        hasher.add(*samples);
    }
    rows.for_each_run(|first, count| {
        hasher.add(u64::from(first.cache));
        hasher.add(first.sample);
        hasher.add(count);
    });
    hasher.finish()
}

/// Of the weights' bits, -0.0 as 0.0.
pub(super) fn weights_digest(weights: &[f64]) -> [u8; 32] {
    let mut hasher = Buffered::new(b"DSRTwght1");
    for weight in weights {
        // Adding 0.0 makes 0.0 of -0.0 and changes no other number.
        hasher.add((weight + 0.0).to_bits());
    }
    hasher.finish()
}

/// Hashes 64-bit numbers in pieces that are worth the hash function's while.
struct Buffered {
    hasher: Hasher,
    buffer: Vec<u8>,
}

impl Buffered {
    const PIECE: usize = 1 << 16;

    fn new(tag: &[u8]) -> Self {
        let mut buffer = Vec::with_capacity(Self::PIECE + 8);
        buffer.extend(tag);
        Self { hasher: Hasher::new(), buffer }
    }

    fn add(&mut self, number: u64) {
        self.buffer.extend(number.to_le_bytes());
        if self.buffer.len() >= Self::PIECE {
            self.hasher.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn finish(mut self) -> [u8; 32] {
        self.hasher.update(&self.buffer);
        *self.hasher.finalize().as_bytes()
    }
}
