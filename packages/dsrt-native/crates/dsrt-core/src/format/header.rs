//! The 64 bytes at the head of every shard and dictionary.
//!
//! All of them follow from the manifest. A reader builds them and compares; nothing is ever parsed from them.

use super::checksum::Digest;
use super::shard::HEADER;
use crate::field::Field;

/// The header's bytes.
pub type Header = [u8; HEADER as usize];

const MAGIC: [u8; 8] = [0x89, b'D', b'S', b'R', b'T', 0x0D, 0x0A, 0x1A];
const FORMAT: u16 = 1;
const FIXED: u16 = 1;
const INDEXED: u16 = 2;
const DICTIONARY: u16 = 3;

/// The header of a shard of `count` records in a file of `bytes` bytes whose body, before the key is applied,
/// has the digest `body`.
pub fn shard(field: &Field, count: u64, bytes: u64, body: &Digest) -> Header {
    let sort = if field.is_fixed() { FIXED } else { INDEXED };
    build(sort, field.entry_bytes() as u32, count, bytes, body)
}

/// The header of a dictionary file of `bytes` bytes.
pub fn dictionary(bytes: u64, body: &Digest) -> Header {
    build(DICTIONARY, 0, 0, bytes, body)
}

fn build(sort: u16, entry: u32, count: u64, bytes: u64, body: &Digest) -> Header {
    let parts: [&[u8]; 7] = [
        &MAGIC,
        &FORMAT.to_le_bytes(),
        &sort.to_le_bytes(),
        &entry.to_le_bytes(),
        &count.to_le_bytes(),
        &bytes.saturating_sub(HEADER).to_le_bytes(),
        body,
    ];
    let mut header = [0; HEADER as usize];
    for (to, from) in header.iter_mut().zip(parts.into_iter().flatten()) {
        *to = *from;
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::field::{Codec, FieldKind};
    use crate::format::checksum::unhex;

    #[test]
    fn the_header_of_the_specifications_fixed_shard() {
        let image = Field {
            name: "image".into(),
            kind: FieldKind::Dense([2, 2, 3].into()),
            dtype: DType::UInt8,
            codec: Codec::Raw,
            delta: 0,
        };
        let body = unhex(b"cb3dbcdf99b4640c7072240646895f2cd1c8398550255f2feb82536f8fdafe2a").unwrap();
        let header = shard(&image, 2, 96, &body);
        let expected = [
            0x89, 0x44, 0x53, 0x52, 0x54, 0x0d, 0x0a, 0x1a, 1, 0, 1, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0,
            0, 0, 0, 0, 0,
        ];
        assert_eq!(header[..32], expected);
        assert_eq!(header[32..], body);
    }

    #[test]
    fn indexed_shards_and_dictionaries_say_so() {
        let tokens = Field {
            name: "tokens".into(),
            kind: FieldKind::Ragged(2),
            dtype: DType::Int32,
            codec: Codec::Zstd,
            delta: 0,
        };
        let header = shard(&tokens, 7, 64 + 9, &[0; 32]);
        assert_eq!(header[10..16], [2, 0, 28, 0, 0, 0]);
        assert_eq!(header[24..32], 9u64.to_le_bytes());
        assert_eq!(dictionary(72, &[0; 32])[10..24], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
