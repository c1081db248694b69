//! Whether the page cache has what is read of a field, as far as a few questions now and then can tell.
//!
//! Having the kernel read what it has costs more than reading a small record, and not having it read what it has not costs
//! a wait for the disk at each. So samples are looked at: of data that were there, seldom; and of others, until they were
//! there for long.
//!
//! Any number of threads may use it at once: an update that another overwrites is lost, and the next one comes.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Nothing is known at first, and so little has to be looked at until it is: a batch's worth.
const FIRST: u32 = LOOKS as u32;

/// Cold data are warm when so many looks in a row found them there. Asking for one record in 512 that is not there takes
/// about as long as waiting for it.
const HOLD: u32 = 512;

/// Of cold data so many samples a batch are looked at.
const LOOKS: usize = 8;

/// Of warm data one look for so many bytes: it takes a thousandth of what copying them does.
const STRIDE: u64 = 64 << 20;

/// What a small record takes is not its bytes alone. One that is read by itself is looked at every 2,047 times, so that it
/// is another part of a page each time: the others could have been read for the sample before.
const LEAST: u64 = 32_784;

/// What is read in order is asked for so far ahead; of mapped files, so much of it. Beyond, the kernel does better: it reads
/// into large pages.
pub(super) const AHEAD: u64 = 8 << 20;

/// So many batches may be late, and are still in order.
const LATE: u64 = 8;

/// What is to be done about a read in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// Ask for these samples, of which there are none where enough is under way.
    Ask(Range<u64>),
    /// Let the kernel read ahead as it likes.
    Leave,
}

/// What is known of a field's pages.
pub(super) struct Warmth {
    /// Looks that have still to find things there before they count as warm.
    cold: AtomicU32,
    /// Bytes since the last look.
    unseen: AtomicU64,
    /// The samples of the last read in order, and those that were asked for with it.
    run: [AtomicU64; 2],
}

impl Default for Warmth {
    fn default() -> Self {
        Self { cold: FIRST.into(), unseen: 0.into(), run: [u64::MAX.into(), u64::MAX.into()] }
    }
}

impl Warmth {
    /// Whether what is read has to be asked for.
    pub(super) fn is_cold(&self) -> bool {
        self.cold.load(Relaxed) > 0
    }

    /// How many of `records`, of about so many bytes each, are to be looked at.
    pub(super) fn looks(&self, records: usize, bytes: u64) -> usize {
        if self.is_cold() {
            return records.min(LOOKS);
        }
        let unseen = (records as u64).saturating_mul(bytes.max(LEAST)).saturating_add(self.unseen.load(Relaxed));
        self.unseen.store(unseen % STRIDE, Relaxed);
        usize::try_from(unseen / STRIDE).map_or(records, |looks| looks.min(records))
    }

    /// Notes what `looks` of them found.
    pub(super) fn note(&self, is_there: bool, looks: u32) {
        let cold = if is_there { self.cold.load(Relaxed).saturating_sub(looks) } else { HOLD };
        self.cold.store(cold, Relaxed);
    }

    /// What is to be asked for where `samples`, of about `bytes` each, are read: those that follow them, too, if they follow
    /// what was read before, and as many as that. Nothing if enough is under way. `is_mapped` says that the kernel reads ahead
    /// itself if it may, which is left to it once more than [`AHEAD`] was read in order.
    pub(super) fn ahead(&self, samples: Range<u64>, bytes: u64, is_mapped: bool) -> Ahead {
        let [from, asked] = [0, 1].map(|k| self.run.get(k).map_or(u64::MAX, |end| end.load(Relaxed)));
        let most = AHEAD / bytes.max(1);
        // Several threads may have a batch each; what lies farther back may be gone again, and so may all of it where it is
        // read from its beginning once more.
        let near = asked.saturating_sub(2 * most + LATE * (samples.end - samples.start));
        let follows = from < samples.start && (near..=asked).contains(&samples.start);
        let from = if follows { from } else { samples.start };
        let is_long = is_mapped && samples.end - from > most;
        let more = if follows && !is_long { (samples.end - from).min(most) } else { 0 };
        let enough = follows && asked >= samples.end.saturating_add(more / 2);
        let ask = if follows { asked.max(samples.start) } else { samples.start };
        let end = if enough { ask } else { samples.end.saturating_add(more).max(ask) };
        for (to, end) in self.run.iter().zip([from, end]) {
            to.store(end, Relaxed);
        }
        if is_long { Ahead::Leave } else { Ahead::Ask(ask..end) }
    }
}

#[cfg(test)]
mod tests {
    use super::Ahead::{Ask, Leave};
    use super::*;

    fn warm() -> Warmth {
        let warmth = Warmth::default();
        warmth.note(true, FIRST);
        warmth
    }

    #[test]
    fn data_are_cold_until_they_were_seen_and_again_when_one_look_finds_nothing() {
        let warmth = Warmth::default();
        for _ in 0..FIRST {
            assert!(warmth.is_cold());
            warmth.note(true, 1);
        }
        assert!(!warmth.is_cold());
        warmth.note(false, 1);
        for _ in 0..HOLD {
            assert!(warmth.is_cold());
            warmth.note(true, 1);
        }
        assert!(!warmth.is_cold());
    }

    #[test]
    fn warm_data_are_looked_at_once_in_so_many_bytes_however_they_are_read() {
        for (records, bytes, looks) in [(256, 2 << 10, 0.125), (1, 2 << 10, 1.0 / 2047.0), (256, 150 << 10, 0.5859375)]
        {
            let warmth = warm();
            let all: usize = (0..1_000_000).map(|_| warmth.looks(records, bytes)).sum();
            assert!((all as f64 / 1e6 / looks - 1.0).abs() < 0.01, "{all}");
        }
        assert_eq!(warm().looks(2, 1 << 40), 2);
        assert_eq!(warm().looks(usize::MAX, u64::MAX), (u64::MAX / STRIDE) as usize);
        assert_eq!(Warmth::default().looks(3, 1), 3);
        assert_eq!(Warmth::default().looks(300, 1), LOOKS);
    }

    #[test]
    fn what_is_read_in_order_is_asked_for_once_and_ahead() {
        for (batch, bytes) in [(1, 2 << 10), (256, 2 << 10), (256, 150 << 10), (3, 1), (1, 1 << 30)] {
            let warmth = Warmth::default();
            let (mut asked, mut calls) = (7, 0);
            for at in (7..100_000).step_by(batch as usize) {
                let Ask(ask) = warmth.ahead(at..at + batch, bytes, false) else { panic!("left to the kernel") };
                assert!(ask.is_empty() || ask.start == asked, "{ask:?} {asked}");
                calls += usize::from(!ask.is_empty());
                asked = asked.max(ask.end);
                assert!(asked >= at + batch);
                // Never more than what was read already, nor than there is reason for.
                assert!(asked - at - batch <= (at + batch - 7).min(AHEAD / bytes));
            }
            assert!(batch > 1 || bytes > 1 << 20 || calls < 100, "{calls}");
        }
    }

    #[test]
    fn what_is_read_once_more_from_its_beginning_is_asked_for_once_more() {
        let warmth = Warmth::default();
        for _ in 0..3 {
            let asks = (40..100).step_by(4).map(|at| match warmth.ahead(at..at + 4, 1000, true) {
                Ask(samples) => samples,
                Leave => panic!("left to the kernel"),
            });
            let asked: Vec<_> = asks.flatten().filter(|sample| *sample < 100).collect();
            assert_eq!(asked, (40..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_read_out_of_order_is_asked_for_as_it_is() {
        let warmth = Warmth::default();
        for at in [50, 20, 90, 1 << 40, 3, u64::MAX - 4] {
            assert_eq!(warmth.ahead(at..at + 4, 1, true), Ask(at..at + 4));
        }
    }

    #[test]
    fn what_is_read_in_order_for_long_is_the_kernels_affair_where_it_is_mapped() {
        let warmth = Warmth::default();
        let most = AHEAD / 4096;
        let is_left: Vec<_> = (0..3 * most).map(|at| warmth.ahead(at..at + 1, 4096, true) == Leave).collect();
        assert!((0..).zip(is_left).all(|(at, is_left)| is_left == (at >= most)));
        assert_eq!(warmth.ahead(3 * most - 7..3 * most - 6, 4096, true), Leave);
        // That was long ago.
        assert_eq!(warmth.ahead(9..10, 4096, true), Ask(9..10));
        assert_eq!(warmth.ahead(1 << 30..(1 << 30) + 1, 4096, true), Ask(1 << 30..(1 << 30) + 1));
        assert_eq!(warmth.ahead(5..6 + most, 4096, true), Leave);
        assert_ne!(warmth.ahead(5..6 + most, 4096, false), Leave);
    }
}
