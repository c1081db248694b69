//! Checksums: CRC-32C of every record, keyed by its file, and BLAKE3 of everything else.

use crate::copy::{START, Stores, sum, sum_and_copy};
use crate::error::{Error, Kind, Result};

/// A BLAKE3-256 digest.
pub type Digest = [u8; 32];

/// BLAKE3-256 of `bytes`.
pub fn digest(bytes: &[u8]) -> Digest {
    *blake3::hash(bytes).as_bytes()
}

/// CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !sum(START, bytes)
}

/// The checksum of a record before the key: CRC-32C over the stored bytes, the record's ordinal in its shard,
/// and its shape as the index holds it (`shape` is empty where the index holds none).
///
/// Ordinal and shape are part of it so that records swapped inside a file, or an index that lies about a
/// length, are found by the same comparison.
pub fn record(stored: &[u8], ordinal: u64, shape: &[u8]) -> u32 {
    let mut crc = Running::default();
    crc.update(stored);
    crc.end(ordinal, shape)
}

/// The same checksum, of stored bytes that come in pieces.
pub struct Running(u32);

impl Default for Running {
    fn default() -> Self {
        Self(START)
    }
}

impl Running {
    /// Goes on with the bytes that follow.
    pub fn update(&mut self, stored: &[u8]) {
        self.0 = sum(self.0, stored);
    }

    /// Goes on with the bytes that follow, and copies them to `to`, which is as long.
    pub(crate) fn copy(&mut self, stored: &[u8], to: &mut [u8], stores: Stores) {
        self.0 = sum_and_copy(self.0, stored, to, stores);
    }

    /// The checksum of the record.
    pub fn end(self, ordinal: u64, shape: &[u8]) -> u32 {
        let state = sum(self.0, &ordinal.to_le_bytes());
        !if shape.is_empty() { state } else { sum(state, shape) }
    }
}

/// Compares the checksum of a record with the one in its index entry, which is under the key of the file (R033).
pub fn compare(crc: u32, key: u32, entry: u32) -> Result<()> {
    let crc = crc ^ key;
    if crc == entry {
        return Ok(());
    }
    let message = format!(
        "the checksum of the record is {crc:08x}, its entry says {entry:08x}: it is damaged on the disk or in the copy; \
         put this file of a replica in its place, or build the cache anew"
    );
    Err(Error::rule(Kind::Format, 33, message))
}

/// Chooses the instructions that checksums are made with, as the first checksum would. The choice is kept behind a
/// lock, which a fork in that very moment would leave locked: so it is made early, before there are threads.
pub fn prepare() {
    record(&[], 0, &[]);
}

/// The key of a file, XORed to every record checksum in it: the first four bytes of its body's digest.
pub fn key(body: &Digest) -> u32 {
    let [a, b, c, d, ..] = *body;
    u32::from_le_bytes([a, b, c, d])
}

/// 64 lower-case hexadecimal digits.
pub fn hex(digest: &Digest) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let nibbles = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles.filter_map(|nibble| DIGITS.get(usize::from(nibble))).collect()
}

/// The digest spelt by exactly 64 lower-case hexadecimal digits.
pub fn unhex(text: &[u8]) -> Option<Digest> {
    let nibble = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, rest) = text.as_chunks::<2>();
    let mut digest = [0; 32];
    if pairs.len() != digest.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_is_crc32c() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn empty_records_have_the_checksums_of_the_specification() {
        assert_eq!(record(b"", 0, b""), 0x8c28_b28a);
        assert_eq!(record(b"", 0, &[0; 8]), 0x4270_9aea);
        assert_eq!(record(&[3; 12], 0, b""), 0x6277_bbfd);
        assert_eq!(record(&[4; 12], 1, b""), 0x2508_1d43);
    }

    #[test]
    fn a_tail_of_any_length_is_covered() {
        for axes in [0, 1, 31, 32, 40] {
            let shape = vec![1; 8 * axes];
            let mut all = b"stored".to_vec();
            all.extend(5u64.to_le_bytes());
            all.extend(&shape);
            assert_eq!(record(b"stored", 5, &shape), crc32c(&all));
        }
    }

    #[test]
    fn hex_is_lower_case_and_exact() {
        let value = digest(b"x");
        let text = hex(&value);
        assert_eq!(unhex(text.as_bytes()), Some(value));
        assert_eq!(unhex(text.to_uppercase().as_bytes()), None);
        assert_eq!(unhex(&text.as_bytes()[1..]), None);
        assert_eq!(unhex(format!("{text}0").as_bytes()), None);
        assert_eq!(unhex(b""), None);
    }
}
