//! Where shards end. It depends on the samples, their stored sizes and the options only, so it is decided in the order
//! of the samples.

use super::block::Part;

/// Counts what is in the open shard.
pub(super) struct Cut {
    samples_per_shard: u64,
    shard_bytes: u64,
    /// Number of the open shard.
    shard: u64,
    samples: u64,
    /// Bytes of each field's records.
    stored: Vec<u64>,
}

/// Samples of a block that go into one shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub shard: u64,
    pub from: usize,
    pub to: usize,
    /// Samples of the shard, if it ends behind these.
    pub end: Option<u64>,
}

impl Cut {
    /// For a cache of so many fields whose first new shard has the number `shard`.
    pub(super) fn new(samples_per_shard: u64, shard_bytes: u64, fields: usize, shard: u64) -> Self {
        Self { samples_per_shard, shard_bytes, shard, samples: 0, stored: vec![0; fields] }
    }

    /// Divides a block of so many samples.
    pub(super) fn block(&mut self, parts: &[Part], count: usize) -> Vec<Range> {
        let (mut ranges, mut from) = (Vec::new(), 0);
        for place in 0..count {
            let mut full = false;
            for (stored, part) in self.stored.iter_mut().zip(parts) {
                let end = part.ends.get(place).copied().unwrap_or(0);
                *stored += (end - part.start(place)) as u64;
                full |= *stored >= self.shard_bytes;
            }
            self.samples += 1;
            if full || self.samples >= self.samples_per_shard {
                ranges.push(self.end(from, place + 1));
                from = place + 1;
            }
        }
        if from < count {
            ranges.push(Range { shard: self.shard, from, to: count, end: None });
        }
        ranges
    }

    /// Ends the open shard if there is anything in it.
    pub(super) fn finish(&mut self) -> Option<Range> {
        (self.samples > 0).then(|| self.end(0, 0))
    }

    /// Number of the open shard, that is, of those before it.
    pub(super) fn shard(&self) -> u64 {
        self.shard
    }

    fn end(&mut self, from: usize, to: usize) -> Range {
        let range = Range { shard: self.shard, from, to, end: Some(self.samples) };
        self.shard += 1;
        self.samples = 0;
        self.stored.fill(0);
        range
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sizes: &[usize]) -> Part {
        let ends = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        Part { ends: ends.collect(), ..Part::default() }
    }

    fn ranges(cut: &mut Cut, sizes: &[&[usize]]) -> Vec<(u64, usize, usize, Option<u64>)> {
        let parts: Vec<_> = sizes.iter().map(|sizes| part(sizes)).collect();
        cut.block(&parts, sizes[0].len()).iter().map(|range| (range.shard, range.from, range.to, range.end)).collect()
    }

    #[test]
    fn a_shard_ends_with_the_sample_that_fills_it() {
        let mut cut = Cut::new(3, 100, 2, 7);
        assert_eq!(ranges(&mut cut, &[&[1, 1], &[99, 0]]), [(7, 0, 2, None)]);
        assert_eq!(ranges(&mut cut, &[&[1], &[0]]), [(7, 0, 1, Some(3))]);
        assert_eq!(
            ranges(&mut cut, &[&[0, 0, 0, 500, 0], &[99, 1, 0, 0, 0]]),
            [(8, 0, 2, Some(2)), (9, 2, 4, Some(2)), (10, 4, 5, None)]
        );
        assert_eq!(cut.finish(), Some(Range { shard: 10, from: 0, to: 0, end: Some(1) }));
        assert_eq!((cut.finish(), cut.shard()), (None, 11));
    }
}
