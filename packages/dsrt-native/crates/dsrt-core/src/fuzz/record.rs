//! A stored record.

use super::forge::{Entry, Shard, directory};
use super::given::Given;
use super::read;
use crate::format::shard::{HEADER, dense_bytes};

/// A record, twice in a shard that is right in everything else: a field; its axes as the index holds them; its stored bytes.
pub fn record(given: &[u8]) -> bool {
    let mut given = Given(given);
    let (field, dictionary) = given.field();
    let shape: Vec<_> = (0..8 * field.entry_axes()).map(|_| given.byte()).collect();
    let mut stored = given.0.to_vec();
    if let (Some(stride), true) = (dense_bytes(&field), field.is_fixed()) {
        stored.resize(stride.min(1 << 15) as usize, 0);
    }
    let first = HEADER + stored.len() as u64;
    let ends = [first, first + stored.len() as u64];
    let mut shard = Shard {
        field: &field,
        dictionary: dictionary.as_deref(),
        entries: ends.into_iter().map(|end| Entry { end, crc: 0, shape: shape.clone() }).collect(),
        area: stored.repeat(2),
        flipped: 0,
        right_checksums: true,
        right_index: true,
    };
    let Some(ranges) = shard.fit() else { return false };
    thread_local!(static ROOT: tempfile::TempDir = directory());
    ROOT.with(|root| {
        shard.write(root.path());
        read::check(root.path(), &shard, &ranges);
    });
    true
}
