//! What a loader has done so far: whether data is the bottleneck, and what was damaged.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A damaged record: the cache's number, the sample in it, the field.
pub type DamagedId = (i64, u64, Arc<str>);

/// Waits are summed up over all batches; percentiles are of the last so many.
const RECENT: usize = 1024;

/// Figures of a loader.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Batches handed out.
    pub batches: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds from the first call of next() to the last batch handed out.
    pub seconds: f64,
    /// Seconds of these that next() waited.
    pub wait_seconds: f64,
    /// Half of the last 1,024 batches were waited for no longer than these seconds.
    pub wait_p50: f64,
    /// 95 % of the last 1,024 batches were waited for no longer than these seconds.
    pub wait_p95: f64,
    /// Batches that are ready now.
    pub queue_depth: usize,
    /// Every damaged record met so far, once, where damage is masked.
    pub damaged: Vec<DamagedId>,
}

/// Counts while a loader runs.
#[derive(Default)]
pub(super) struct Meter {
    batches: u64,
    bytes: u64,
    start: Option<Instant>,
    end: Option<Instant>,
    wait: Duration,
    recent: VecDeque<Duration>,
    /// Waited for the batch that comes next, in calls that gave up.
    pending: Duration,
    damaged: BTreeSet<DamagedId>,
}

impl Meter {
    /// A call of next() began.
    pub fn begin(&mut self, now: Instant) {
        self.start.get_or_insert(now);
    }

    /// A call gave up after `waited`; the next one goes on waiting.
    pub fn waiting(&mut self, waited: Duration) {
        self.pending += waited;
    }

    /// A batch was handed out (or its error raised) after `waited`.
    pub fn batch(&mut self, bytes: usize, waited: Duration) {
        let waited = std::mem::take(&mut self.pending) + waited;
        self.batches += 1;
        self.bytes += bytes as u64;
        self.wait += waited;
        self.end = Some(Instant::now());
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(waited);
    }

    /// These records were masked in a batch that was handed out.
    pub fn damaged(&mut self, damaged: Vec<DamagedId>) {
        self.damaged.extend(damaged);
    }

    /// The figures.
    pub fn stats(&self, queue_depth: usize) -> Stats {
        let mut waits: Vec<Duration> = self.recent.iter().copied().collect();
        waits.sort_unstable();
        let seconds = match (self.start, self.end) {
            (Some(start), Some(end)) => end.saturating_duration_since(start).as_secs_f64(),
            _ => 0.0,
        };
        Stats {
            batches: self.batches,
            bytes: self.bytes,
            seconds,
            wait_seconds: self.wait.as_secs_f64(),
            wait_p50: percentile(&waits, 50),
            wait_p95: percentile(&waits, 95),
            queue_depth,
            damaged: self.damaged.iter().cloned().collect(),
        }
    }
}

/// The smallest value that `percent` of all are not above.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).map_or(0.0, Duration::as_secs_f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_summed_and_ranked() {
        let mut meter = Meter::default();
        assert_eq!(meter.stats(0), Stats::default());
        meter.begin(Instant::now());
        for ms in 1..=100 {
            meter.waiting(Duration::from_millis(ms - 1));
            meter.batch(10, Duration::from_millis(1));
        }
        let stats = meter.stats(3);
        assert_eq!((stats.batches, stats.bytes, stats.queue_depth), (100, 1000, 3));
        assert_eq!((stats.wait_p50, stats.wait_p95), (0.05, 0.095));
        assert!((stats.wait_seconds - 5.05).abs() < 1e-9);
    }

    #[test]
    fn percentiles_are_of_the_recent_batches_only() {
        let mut meter = Meter::default();
        meter.batch(0, Duration::from_secs(9));
        for _ in 0..RECENT {
            meter.batch(0, Duration::from_secs(1));
        }
        assert_eq!(meter.stats(0).wait_p95, 1.0);
        assert_eq!(meter.recent.len(), RECENT);
    }

    #[test]
    fn a_damaged_record_is_named_once() {
        let mut meter = Meter::default();
        for _ in 0..3 {
            meter.damaged(vec![(7, 1, "x".into()), (2, 5, "x".into())]);
        }
        assert_eq!(meter.stats(0).damaged, [(2, 5, "x".into()), (7, 1, "x".into())]);
    }
}
