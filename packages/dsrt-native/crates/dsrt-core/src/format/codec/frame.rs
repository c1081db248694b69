//! The header of a zstd frame (RFC 8878, section 3.1.1.1), read by hand.

use crate::error::{Error, Kind, Result};
use crate::format::shard::MAX_EXPANSION;

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The largest window of a frame that is not a single segment.
const MAX_WINDOW: u64 = 128 << 20;

/// The most bytes that a block decodes to.
const MAX_BLOCK: u32 = 128 << 10;

/// Checks that `stored` may decode to `size` bytes (R035) and begins with the header of a frame that says so and is
/// one that the format allows (R036).
pub fn check_frame(stored: &[u8], size: u64) -> Result<()> {
    if size > MAX_EXPANSION.saturating_mul(stored.len() as u64) {
        let message =
            format!("a record of {size} bytes is more than {MAX_EXPANSION} times the {} stored", stored.len());
        return Err(Error::rule(Kind::Format, 35, message));
    }
    match content_size(stored) {
        Ok(found) if found == size => Ok(()),
        Ok(found) => Err(breach(format!("the zstd frame says {found} bytes, the index {size}"))),
        Err(what) => Err(breach(format!("the stored record is not a zstd frame of the format: {what}"))),
    }
}

/// Checks that the blocks of a frame whose header is sound can hold `size` bytes (R037; RFC 8878, section 3.1.1.2). So
/// memory is asked for by what is there and not by what a header says.
pub fn check_blocks(stored: &[u8], size: u64) -> Result<()> {
    let refused = |what: String| Err(Error::rule(Kind::Format, 37, format!("the zstd frame {what}")));
    let mut rest = stored.get(header_bytes(stored)..).unwrap_or_default();
    let mut room = 0u64;
    loop {
        let Some((head, after)) = rest.split_first_chunk::<3>() else {
            return refused("ends in the middle of a block's header".into());
        };
        let [a, b, c] = *head;
        let head = u32::from_le_bytes([a, b, c, 0]);
        let length = head >> 3;
        let (stored, most) = match head >> 1 & 3 {
            0 => (length, length),
            1 => (1, length),
            2 => (length, MAX_BLOCK),
            _ => return refused("has a block of the reserved type".into()),
        };
        let Some(after) = after.get(stored as usize..) else {
            return refused("ends in the middle of a block".into());
        };
        room = room.saturating_add(most.into());
        rest = after;
        if head & 1 == 1 {
            break;
        }
    }
    match rest.len() {
        0 if room >= size => Ok(()),
        0 => refused(format!("has blocks of at most {room} bytes, the record has {size}")),
        more => refused(format!("is followed by {more} bytes")),
    }
}

/// Bytes of a sound header.
fn header_bytes(stored: &[u8]) -> usize {
    let descriptor = stored.get(MAGIC.len()).copied().unwrap_or_default();
    let single_segment = usize::from(descriptor >> 5 & 1);
    let size = match descriptor >> 6 {
        0 => single_segment,
        1 => 2,
        2 => 4,
        _ => 8,
    };
    MAGIC.len() + 1 + (1 - single_segment) + size
}

fn breach(message: String) -> Error {
    Error::rule(Kind::Format, 36, message)
}

fn content_size(stored: &[u8]) -> std::result::Result<u64, &'static str> {
    const SHORT: &str = "its header is cut off";
    let rest = stored.strip_prefix(&MAGIC).ok_or("its magic number is another one")?;
    let (descriptor, rest) = rest.split_first().ok_or(SHORT)?;
    let single_segment = descriptor & 0x20 != 0;
    let size_flag = descriptor >> 6;
    match descriptor {
        d if d & 0x03 != 0 => return Err("it names a dictionary"),
        d if d & 0x04 != 0 => return Err("it has a checksum"),
        d if d & 0x08 != 0 => return Err("the reserved bit is set"),
        _ if size_flag == 0 && !single_segment => return Err("it does not say its size"),
        _ => {}
    }
    let rest = if single_segment {
        rest
    } else {
        let (window, rest) = rest.split_first().ok_or(SHORT)?;
        if window_size(*window) > MAX_WINDOW {
            return Err("its window is larger than 128 MiB");
        }
        rest
    };
    match (size_flag, rest) {
        (0, [size, ..]) => Ok(u64::from(*size)),
        (1, [a, b, ..]) => Ok(u64::from(u16::from_le_bytes([*a, *b])) + 256),
        (2, [a, b, c, d, ..]) => Ok(u64::from(u32::from_le_bytes([*a, *b, *c, *d]))),
        (3, rest) => rest.first_chunk().map(|size| u64::from_le_bytes(*size)).ok_or(SHORT),
        _ => Err(SHORT),
    }
}

/// At most 1.875 x 2^41.
fn window_size(descriptor: u8) -> u64 {
    let base = 1u64 << (10 + (descriptor >> 3));
    base + base / 8 * u64::from(descriptor & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(rest: &[u8], size: u64) -> Option<u16> {
        check_frame(&[&MAGIC, rest].concat(), size).err().and_then(|e| e.rule_number())
    }

    #[test]
    fn the_size_is_read_in_all_four_widths() {
        assert_eq!(rule(&[0x20, 12], 12), None);
        assert_eq!(rule(&[0x60, 0, 1], 512), None);
        assert_eq!(rule(&[0xA0, 1, 2, 0, 0], 0x201), None);
        assert_eq!(rule(&[0xE0, 1, 2, 0, 0, 0, 0, 0, 0], 0x201), None);
        assert_eq!(rule(&[0x40, 0, 0, 0], 256), None);
        assert_eq!(rule(&[0x20, 12], 13), Some(36));
    }

    #[test]
    fn headers_that_the_format_does_not_allow_are_refused() {
        for descriptor in [0x21, 0x22, 0x23, 0x24, 0x28, 0x00] {
            assert_eq!(rule(&[descriptor, 12, 12], 12), Some(36), "{descriptor:#x}");
        }
        // The unused bit may be anything.
        assert_eq!(rule(&[0x30, 12], 12), None);
        assert_eq!(check_frame(b"\x50\x2a\x4d\x18\x00\x00\x00\x00", 0).unwrap_err().rule_number(), Some(36));
        assert_eq!(check_frame(b"", 0).unwrap_err().rule_number(), Some(36));
        for end in 0..6 {
            assert_eq!(rule(&[0x80, 0, 9, 0, 0, 0][..end], 9), Some(36));
        }
        assert_eq!(rule(&[0x80, 0, 9, 0, 0, 0], 9), None);
    }

    #[test]
    fn windows_end_at_128_mib() {
        assert_eq!(window_size(17 << 3), 128 << 20);
        assert_eq!(rule(&[0x40, 17 << 3, 0, 0], 256), None);
        assert_eq!(rule(&[0x40, 17 << 3 | 1, 0, 0], 256), Some(36));
        assert_eq!(rule(&[0x40, 0xff, 0, 0], 256), Some(36));
    }

    #[test]
    fn a_record_expands_at_most_32768_times() {
        // 9 bytes.
        assert_eq!(rule(&[0xA0, 0, 0x80, 4, 0], 9 * 32768), None);
        assert_eq!(rule(&[0xA0, 1, 0x80, 4, 0], 9 * 32768 + 1), Some(35));
        assert_eq!(rule(&[0x20, 12], u64::MAX), Some(35));
    }
}
