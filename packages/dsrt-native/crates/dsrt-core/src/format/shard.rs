//! The arithmetic of shard files: where records end and the index begins, and what may be that large.

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
