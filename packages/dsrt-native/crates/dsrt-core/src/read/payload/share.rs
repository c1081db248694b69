//! A column that takes long to fill is cut into parts, which threads take one after another.

use std::ops::Range;

use super::super::gather::{Look, Threads};
use super::too_large;
use crate::copy::settle;
use crate::error::{Error, Kind, Result};
use crate::together::try_each;

/// What is worth a thread: a fraction of a millisecond of its work. Bytes that are copied, bytes that are decoded, samples
/// whose pages are not mapped yet.
pub(super) const COPIED: usize = 2 << 20;
pub(super) const DECODED: usize = 64 << 10;
pub(super) const MAPPED: usize = 64;

/// Parts for each thread: where one is slowed down, by somebody else's work for instance, the others take more of them.
const PARTS: usize = 4;

/// The most bytes of a part. When there are no more parts, the caller waits for the threads that do the last ones, and
/// while it waits it does not look.
const MOST: usize = 8 << 20;

/// Some samples of a batch, one after another, and the memory of their records.
pub(super) struct Part<'a> {
    pub places: Range<usize>,
    pub out: &'a mut [u8],
}

/// What was found damaged and is to be masked: place in the batch, and the error.
pub(super) type Found = Vec<(usize, Error)>;

/// How a column is filled.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    threads: usize,
    /// Bytes of a part.
    part: usize,
}

impl Shares {
    /// For a column of `bytes` bytes, of which `worth` are worth a thread.
    pub(super) fn of(bytes: usize, worth: usize, threads: Threads) -> Self {
        let threads = threads.of(bytes / worth.max(1));
        let parts = if threads == 1 { 1 } else { PARTS * threads };
        Self { threads, part: bytes.div_ceil(parts).min(MOST) }
    }

    /// Has `fill` fill `out`, where the records of samples lie one after another that have these `sizes`, in parts, with a
    /// look before each. An error is that of the first part which has one.
    pub(super) fn fill<'a>(
        self,
        out: &'a mut [u8],
        sizes: impl ExactSizeIterator<Item = usize>,
        look: Look,
        fill: impl Fn(Part<'a>) -> Result<Found> + Sync,
    ) -> Result<Found> {
        if self.threads == 1 {
            return fill(Part { places: 0..sizes.len(), out });
        }
        let fill = |part| {
            look()?;
            let found = fill(part);
            // Before this thread ends.
            settle();
            found
        };
        let parts = cut(out, sizes, self.part)?;
        Ok(try_each(self.threads, parts, fill)?.into_iter().flatten().collect())
    }
}

/// Cuts `out` after every `part` bytes or a little more.
fn cut(mut out: &mut [u8], sizes: impl ExactSizeIterator<Item = usize>, part: usize) -> Result<Vec<Part<'_>>> {
    let lost = || Error::new(Kind::Internal, "the records of a batch do not fit its memory");
    let mut parts = Vec::new();
    let (samples, mut first, mut bytes) = (sizes.len(), 0, 0usize);
    for (place, size) in sizes.enumerate() {
        bytes = bytes.checked_add(size).ok_or_else(too_large)?;
        let end = place + 1;
        if bytes >= part || end == samples {
            let (filled, rest) = out.split_at_mut_checked(bytes).ok_or_else(lost)?;
            parts.push(Part { places: first..end, out: filled });
            (out, first, bytes) = (rest, end, 0);
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_record_is_filled_once_whatever_the_number_of_threads(
            sizes in prop::collection::vec(0usize..40, 0..60), threads in 1usize..5, part in 1usize..100,
        ) {
            let total = sizes.iter().sum();
            let mut out = vec![0u8; total];
            let fill = |Part { places, out }: Part| {
                let mut rest = out;
                for place in places.clone() {
                    let (record, after) = std::mem::take(&mut rest).split_at_mut(sizes[place]);
                    record.iter_mut().for_each(|byte| *byte += place as u8 + 1);
                    rest = after;
                }
                assert!(rest.is_empty());
                Ok(places.filter(|place| place % 7 == 3).map(|place| (place, Error::new(Kind::Data, "bad"))).collect())
            };
            let found = Shares { threads, part }.fill(&mut out, sizes.iter().copied(), &|| Ok(()), fill).unwrap();
            let expected: Vec<u8> =
                sizes.iter().enumerate().flat_map(|(place, size)| vec![place as u8 + 1; *size]).collect();
            prop_assert_eq!(out, expected);
            let found: Vec<usize> = found.into_iter().map(|(place, _)| place).collect();
            prop_assert_eq!(found, (0..sizes.len()).filter(|place| place % 7 == 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn small_columns_are_not_shared_and_large_ones_are() {
        let threads = |bytes, worth| Shares::of(bytes, worth, Threads::UpTo(4)).threads;
        let most = cpu::count().min(4);
        assert_eq!(
            [0, 2 * COPIED - 1, 2 * COPIED, 1 << 40].map(|bytes| threads(bytes, COPIED)),
            [1, 1, 2.min(most), most]
        );
        assert_eq!(
            [0, 2 * DECODED - 1, 2 * DECODED, 1 << 40].map(|bytes| threads(bytes, DECODED)),
            [1, 1, 2.min(most), most]
        );
        let part = |bytes| Shares::of(bytes, COPIED, Threads::Given(2)).part;
        assert_eq!((part((2 * PARTS) << 20), part(1 << 40)), (1 << 20, MOST));
        assert_eq!(Shares::of(COPIED, COPIED, Threads::Given(2)).part, COPIED);
    }
}
