//! The arithmetic of shard files: where records end and the index begins, and what may be that large.

use crate::error::{Error, Kind, Result};
use crate::field::{Field, FieldKind};

/// Bytes of the header of shards and dictionaries; records begin here.
pub const HEADER: u64 = 64;

/// The most samples a shard holds.
pub const MAX_SAMPLES: u64 = 1 << 20;

/// The most axes of a dense or ragged record.
pub const MAX_AXES: u64 = 31;

/// The most that element size times the product of the axes that are not zero may be, in bytes.
pub const MAX_RECORD: u64 = 1 << 48;

/// How many times its stored size a record may decode to.
pub const MAX_EXPANSION: u64 = 32768;

/// Bytes of a record of that shape, if the shape is within the limits of the format.
///
/// Axes of length zero do not count towards the limit, so that no product of the rest can overflow anywhere.
pub fn record_bytes(shape: impl IntoIterator<Item = u64>, itemsize: usize) -> Option<u64> {
    let mut limited = itemsize as u64;
    let mut empty = false;
    for axis in shape {
        if axis == 0 {
            empty = true;
        } else {
            limited = limited.checked_mul(axis).filter(|bytes| *bytes <= MAX_RECORD)?;
        }
    }
    Some(if empty { 0 } else { limited })
}

/// Bytes of each record of a dense field; none for other kinds or a shape beyond the limits.
pub fn dense_bytes(field: &Field) -> Option<u64> {
    match &field.kind {
        FieldKind::Dense(shape) => record_bytes(shape.iter().copied(), field.dtype.size()),
        _ => None,
    }
}

/// Checks that a record lies in the record area, which ends where the index begins (R032).
pub fn check_range(from: u64, to: u64, index: u64) -> Result<()> {
    if HEADER <= from && from <= to && to <= index {
        return Ok(());
    }
    let message = format!("the index puts the record at bytes {from} to {to}, outside {HEADER} to {index}");
    Err(Error::rule(Kind::Format, 32, message))
}

/// The axes of a shape as the index holds it: 8 bytes each.
pub fn axes(shape: &[u8]) -> impl Iterator<Item = u64> {
    shape.as_chunks::<8>().0.iter().map(|axis| u64::from_le_bytes(*axis))
}

/// Bytes of a record of a field (R034), before the codec. `shape` is as the index holds it, and empty for dense fields.
pub fn record_size(field: &Field, shape: &[u8]) -> Result<u64> {
    let size = match &field.kind {
        FieldKind::Dense(shape) => record_bytes(shape.iter().copied(), field.dtype.size()),
        _ => record_bytes(axes(shape), field.dtype.size()),
    };
    size.ok_or_else(|| {
        let shape: Vec<_> = axes(shape).collect();
        Error::rule(Kind::Format, 34, format!("the shape {shape:?} of the record is beyond the limits of the format"))
    })
}

/// Checks that a raw record has the bytes that its shape says (R034).
pub fn check_raw(stored: u64, size: u64) -> Result<()> {
    if stored == size {
        return Ok(());
    }
    let message = format!("the record has {stored} bytes and its shape says {size}");
    Err(Error::rule(Kind::Format, 34, message))
}

/// Length of a fixed shard of `count` records of `stride` bytes, wide enough never to overflow.
pub fn fixed_file_bytes(stride: u64, count: u64) -> u128 {
    let records = u128::from(stride) * u128::from(count);
    u128::from(HEADER) + records.next_multiple_of(8) + 4 * u128::from(count)
}

/// Where the index of a shard of `bytes` bytes begins; none where it would not lie behind the header at a
/// multiple of 8.
pub fn index_start(field: &Field, bytes: u64, count: u64) -> Option<u64> {
    let index = count.checked_mul(field.entry_bytes() as u64)?;
    bytes.checked_sub(index).filter(|start| *start >= HEADER && start % 8 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_axes_make_a_record_empty_but_not_unlimited() {
        assert_eq!(record_bytes([], 4), Some(4));
        assert_eq!(record_bytes([3, 0, 5], 4), Some(0));
        assert_eq!(record_bytes([1 << 46], 4), Some(1 << 48));
        assert_eq!(record_bytes([(1 << 46) + 1], 4), None);
        assert_eq!(record_bytes([0, 1 << 47], 4), None);
        assert_eq!(record_bytes([u64::MAX, u64::MAX], 16), None);
    }

    #[test]
    fn lengths_of_fixed_files_do_not_wrap() {
        assert_eq!(fixed_file_bytes(12, 3), 64 + 40 + 12);
        assert_eq!(fixed_file_bytes(0, 2), 72);
        assert_eq!(fixed_file_bytes(1 << 48, 1 << 20), (1u128 << 68) + 64 + (4 << 20));
    }
}
