//! Which samples of the caches are the rows of a population: all of them, or a list.

use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::read::Id;

/// Rows of a population as places in the concatenation of its caches.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    /// Samples before each cache; one more entry, the sum.
    starts: Arc<[u64]>,
    /// None for all samples in order, which costs nothing.
    rows: Option<Arc<Vec<u64>>>,
}

impl Selection {
    /// Rows of caches with `lengths` samples. `rows` counts through all of them; the error names the row that does not.
    pub fn new(lengths: &[u64], rows: Option<Vec<u64>>) -> Result<Self> {
        let mut starts = vec![0u64];
        let mut sum = 0u64;
        for length in lengths {
            sum = sum.checked_add(*length).ok_or_else(|| Error::new(Kind::Value, "more than 2^64 samples"))?;
            starts.push(sum);
        }
        if let Some((row, sample)) = rows.iter().flatten().enumerate().find(|(_, sample)| **sample >= sum) {
            let message = format!("row {row} is sample {sample}, and there are only {sum} (0 to {sum} exclusive)");
            return Err(Error::new(Kind::Index, message));
        }
        let is_all = |rows: &Vec<u64>| rows.len() as u64 == sum && rows.iter().copied().eq(0..sum);
        let rows = rows.filter(|rows| !is_all(rows)).map(Arc::new);
        Ok(Self { starts: starts.into(), rows })
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.rows.as_ref().map_or(self.total(), |rows| rows.len() as u64)
    }

    /// The list; None for all samples in order.
    pub fn rows(&self) -> Option<&Arc<Vec<u64>>> {
        self.rows.as_ref()
    }

    /// Samples of all caches.
    fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Samples before cache number `cache`.
    pub fn start(&self, cache: usize) -> Option<u64> {
        self.starts.get(cache).copied()
    }

    /// The sample of a row.
    pub fn id(&self, row: u64) -> Result<Id> {
        let sample = match &self.rows {
            None => (row < self.total()).then_some(row),
            Some(rows) => usize::try_from(row).ok().and_then(|row| rows.get(row)).copied(),
        };
        let sample = sample.ok_or_else(|| {
            Error::new(Kind::Index, format!("row {row} is out of range: there are {} rows", self.len()))
        })?;
        Ok(self.locate(sample))
    }

    /// The cache that a place in the concatenation lies in, and the sample there.
    fn locate(&self, sample: u64) -> Id {
        let cache = self.starts.partition_point(|start| *start <= sample).saturating_sub(1);
        let start = self.starts.get(cache).copied().unwrap_or(0);
        Id { cache: cache as u32, sample: sample - start }
    }

    /// The maximal runs of consecutive samples inside one cache: its first sample, and how many. In the order of the rows.
    pub fn for_each_run(&self, mut with: impl FnMut(Id, u64)) {
        let Some(rows) = &self.rows else {
            for (cache, pair) in self.starts.windows(2).enumerate() {
                if let [start, end] = pair
                    && end > start
                {
                    with(Id { cache: cache as u32, sample: 0 }, end - start);
                }
            }
            return;
        };
        // (start, length, how long it may become before its cache ends)
        let mut run: Option<(Id, u64, u64)> = None;
        for &sample in rows.iter() {
            match &mut run {
                Some((first, count, room)) if *count < *room && self.place(*first) + *count == sample => *count += 1,
                _ => {
                    if let Some((first, count, _)) = run {
                        with(first, count);
                    }
                    let first = self.locate(sample);
                    let end = self.starts.get(first.cache as usize + 1).copied().unwrap_or(sample + 1);
                    run = Some((first, 1, end - sample));
                }
            }
        }
        if let Some((first, count, _)) = run {
            with(first, count);
        }
    }

    fn place(&self, id: Id) -> u64 {
        self.start(id.cache as usize).unwrap_or(0) + id.sample
    }
}
