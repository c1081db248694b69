//! Header and index of a shard.

use super::forge::{Entry, Shard, directory};
use super::given::Given;
use super::read;

/// A whole shard under a manifest that fits: a field; a byte each for the number of records (modulo 16, from 1), the byte
/// of the header that is turned over (modulo 65, 0 for none) and flags (1: checksums are made anew, 2: the index has its
/// digest); the index before its key is applied; the records.
pub fn index(given: &[u8]) -> bool {
    let mut given = Given(given);
    let (field, dictionary) = given.field();
    let [count, flipped, flags] = given.array();
    let entry = |given: &mut Given| {
        let end = if field.is_fixed() { 0 } else { u64::from_le_bytes(given.array()) };
        let crc = u32::from_le_bytes(given.array());
        Entry { end, crc, shape: (0..8 * field.entry_axes()).map(|_| given.byte()).collect() }
    };
    let mut shard = Shard {
        field: &field,
        dictionary: dictionary.as_deref(),
        entries: (0..count % 16 + 1).map(|_| entry(&mut given)).collect(),
        area: given.0.to_vec(),
        flipped: usize::from(flipped % 65),
        right_checksums: flags & 1 != 0,
        right_index: flags & 2 != 0,
    };
    let Some(ranges) = shard.fit() else { return false };
    thread_local!(static ROOT: tempfile::TempDir = directory());
    ROOT.with(|root| {
        shard.write(root.path());
        read::check(root.path(), &shard, &ranges);
    });
    true
}
