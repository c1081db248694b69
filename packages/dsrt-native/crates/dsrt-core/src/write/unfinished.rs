//! What an earlier run noted in its journal.

use std::path::Path;
use std::time::SystemTime;

use super::age::age;
use super::disk::failed;
use super::journal::{self, Line};
use super::sealed::{Sealed, digest, get};
use crate::error::Result;
use crate::format::checksum::Digest;
use crate::format::json::Value;

/// The key of a line that says which cache is being published.
pub(super) const PUBLISHED: &str = "published";

/// A cache of which at least one shard is durable.
pub(super) struct Unfinished {
    /// The plan it is written by.
    pub plan: Value,
    /// Its durable shards.
    pub shards: Vec<Sealed>,
    /// Where the line of the plan ends, and that of each shard.
    pub ends: Vec<u64>,
    /// The digest of its manifest, once it was about to be published.
    pub published: Option<Digest>,
    /// How long ago the last line was written, in seconds.
    pub age: u64,
}

impl Unfinished {
    /// What the journal at `path` says. None if there is none, or if no shard is in it.
    pub(super) fn read(path: &Path) -> Result<Option<Self>> {
        let mut lines = journal::read(path)?.into_iter();
        let Some(Line { value: plan, end }) = lines.next() else { return Ok(None) };
        let (mut shards, mut ends, mut published) = (Vec::new(), vec![end], None);
        for line in lines {
            match Sealed::from_json(&line.value) {
                Some(sealed) if published.is_none() => {
                    shards.push(sealed);
                    ends.push(line.end);
                }
                _ => {
                    published = get(&line.value, PUBLISHED).and_then(digest);
                    break;
                }
            }
        }
        if shards.is_empty() {
            return Ok(None);
        }
        let modified =
            std::fs::metadata(path).and_then(|found| found.modified()).map_err(failed("looking at", path))?;
        let age = SystemTime::now().duration_since(modified).map_or(0, |age| age.as_secs());
        Ok(Some(Self { plan, shards, ends, published, age }))
    }

    /// Its durable samples.
    pub(super) fn samples(&self) -> u64 {
        samples(&self.shards)
    }

    /// "192 samples that a run made durable 3 h 12 min ago".
    pub(super) fn describe(&self) -> String {
        format!("{} samples that an earlier run made durable, the last of them {} ago", self.samples(), age(self.age))
    }

    /// Whether it can be gone on with at all.
    pub(super) fn has_fingerprint(&self) -> bool {
        matches!(get(&self.plan, "fingerprint"), Some(Value::Str(_)))
    }
}

/// Samples of shards.
pub(super) fn samples(shards: &[Sealed]) -> u64 {
    shards.iter().fold(0, |sum, shard| sum.saturating_add(shard.samples))
}
