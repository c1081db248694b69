//! From the number of a sample to its shard and its ordinal there.

use crate::error::{Error, Kind, Result};

/// Prefix sums of the shards' counts, and a guide table into them with about four entries a shard: a look-up is one
/// entry of each in nearly all cases.
pub(super) struct Locator {
    /// First sample of each shard, then the number of samples.
    first: Vec<u64>,
    /// Shard of each sample that is a multiple of 2^shift, then the last shard.
    guide: Vec<u32>,
    shift: u32,
}

impl Locator {
    /// `shards` are the counts of a checked manifest: none is 0.
    pub(super) fn new(shards: &[u64]) -> Result<Self> {
        let samples: u64 = shards.iter().sum();
        let wanted = 4 * shards.len() as u64;
        // The least shift that gives no more entries than wanted.
        let shift = (0..63).find(|shift| samples >> shift <= wanted).unwrap_or(63);
        let entries = (samples >> shift) + 2;
        let memory = |_| Error::new(Kind::Memory, "the manifest lists too many shards for the memory");
        let mut first = Vec::new();
        let mut guide = Vec::new();
        first.try_reserve_exact(shards.len() + 1).map_err(memory)?;
        guide.try_reserve_exact(entries as usize).map_err(memory)?;
        first.push(0);
        for (shard, count) in shards.iter().enumerate() {
            let end = first.last().copied().unwrap_or(0) + count;
            first.push(end);
            // All multiples below the end that no shard before has.
            while ((guide.len() as u64) << shift) < end {
                guide.push(shard as u32);
            }
        }
        guide.push(shards.len().saturating_sub(1) as u32);
        Ok(Self { first, guide, shift })
    }

    /// Shard and ordinal of a sample; none if there is no such sample.
    pub(super) fn find(&self, sample: u64) -> Option<(u32, u64)> {
        let q = usize::try_from(sample >> self.shift).ok()?;
        let (&from, &to) = (self.guide.get(q)?, self.guide.get(q + 1)?);
        let mut shard = from;
        if from != to {
            let later = self.first.get(from as usize + 1..=to as usize)?;
            shard += later.partition_point(|first| *first <= sample) as u32;
        }
        let (first, end) = (self.first.get(shard as usize)?, self.first.get(shard as usize + 1)?);
        (sample < *end).then(|| (shard, sample - first))
    }

    /// First sample of a shard and the sample after its last.
    pub(super) fn range(&self, shard: u32) -> Option<(u64, u64)> {
        Some((*self.first.get(shard as usize)?, *self.first.get(shard as usize + 1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cache_without_samples_has_none() {
        assert_eq!(Locator::new(&[]).unwrap().find(0), None);
    }

    proptest! {
        #[test]
        fn every_sample_is_found_where_counting_finds_it(
            shards in prop::collection::vec(prop_oneof![1u64..4, 1u64..40, Just(1 << 10)], 1..60)
        ) {
            let locator = Locator::new(&shards).unwrap();
            prop_assert!(locator.guide.len() <= 4 * shards.len() + 2);
            let mut sample = 0;
            for (shard, count) in shards.iter().enumerate() {
                prop_assert_eq!(locator.range(shard as u32), Some((sample, sample + count)));
                for ordinal in 0..*count {
                    prop_assert_eq!(locator.find(sample), Some((shard as u32, ordinal)));
                    sample += 1;
                }
            }
            prop_assert_eq!(locator.find(sample), None);
            prop_assert_eq!(locator.find(u64::MAX), None);
        }
    }
}
