//! Views of the file itself: neighbouring records of a fixed shard, without a copy.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::cache::Cache;
use super::maps::Map;
use crate::error::{Error, Kind, Result};
use crate::format::shard::dense_bytes;

/// Records of a fixed shard, back to back as they lie in the file. Keeps the file mapped as long as it lives.
pub struct Slice {
    map: Arc<Map>,
    range: Range<usize>,
}

impl Deref for Slice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.map.get(self.range.clone()).unwrap_or_default()
    }
}

impl Cache {
    /// The records of samples `from` to `to` of the field of that number, all of them verified now. None if the
    /// field is not stored as fixed shards, the samples lie in more than one, or it is not mapped.
    pub fn slice(&self, field: usize, from: u64, to: u64) -> Result<Option<Slice>> {
        let reader = self.field(field)?;
        if !reader.field()?.is_fixed() || from >= to {
            return Ok(None);
        }
        let (number, ordinal) = reader.locate(from)?;
        let (last, _) = reader.locate(to - 1)?;
        if last != number {
            return Ok(None);
        }
        let lost = || Error::new(Kind::Internal, "a slice lies outside its file");
        let stride = dense_bytes(reader.field()?).ok_or_else(lost)?;
        let found = || {
            let found = reader.shard(number)?.fixed_map(stride, ordinal, to - from, self.verify())?;
            Ok(found.map(|(map, range)| Slice { map: map.clone(), range }))
        };
        found().map_err(|error: Error| reader.place(error, Some(number), Some(from)))
    }
}
