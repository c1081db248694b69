//! Shards whose files are being written, in order, until each is complete.

use std::collections::VecDeque;

use super::file::OutFile;
use super::jobs::{Complete, End};
use super::spill::SpillMark;
use crate::format::manifest::FileEntry;

/// Shards from the first one that was not taken.
pub(super) struct Shards {
    fields: usize,
    first: u64,
    pending: VecDeque<Pending>,
}

/// A shard of which something is missing yet.
#[derive(Default)]
struct Pending {
    files: Vec<Option<(FileEntry, OutFile)>>,
    complete: usize,
    end: Option<(u64, Option<SpillMark>)>,
}

impl Shards {
    /// None yet; the first one will have the number `first`.
    pub(super) fn new(fields: usize, first: u64) -> Self {
        Self { fields, first, pending: VecDeque::new() }
    }

    /// Where a shard ends is known.
    pub(super) fn end(&mut self, end: End) {
        if let Some(shard) = self.get(end.shard) {
            shard.end = Some((end.samples, end.mark));
        }
    }

    /// A file of a shard is complete.
    pub(super) fn complete(&mut self, shard: u64, field: usize, entry: FileEntry, file: OutFile) {
        if let Some(shard) = self.get(shard)
            && let Some(place) = shard.files.get_mut(field)
        {
            *place = Some((entry, file));
            shard.complete += 1;
        }
    }

    /// Whether the first shard is complete.
    pub(super) fn is_ready(&self) -> bool {
        self.pending.front().is_some_and(|shard| shard.end.is_some() && shard.complete == self.fields)
    }

    /// The first shard, if it is complete.
    pub(super) fn take(&mut self) -> Option<Complete> {
        if !self.is_ready() {
            return None;
        }
        let Pending { files, end, .. } = self.pending.pop_front()?;
        let (samples, mark) = end?;
        self.first += 1;
        Some(Complete { samples, files: files.into_iter().flatten().collect(), mark })
    }

    fn get(&mut self, shard: u64) -> Option<&mut Pending> {
        let place = shard.checked_sub(self.first)? as usize;
        while self.pending.len() <= place {
            let files = std::iter::repeat_with(|| None).take(self.fields).collect();
            self.pending.push_back(Pending { files, ..Pending::default() });
        }
        self.pending.get_mut(place)
    }
}
