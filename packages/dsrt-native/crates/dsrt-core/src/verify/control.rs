//! What all threads of a run share: how far it is, whether it is to stop, and how fast it may be.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::throttle::{Rate, Throttle};
use crate::error::{Error, Kind, Result};

/// The longest sleep, so that a stop is seen soon.
const SLICE: Duration = Duration::from_millis(10);

/// The state of a run.
pub(super) struct Control {
    stopped: AtomicBool,
    done: AtomicU64,
    throttle: Option<Throttle>,
}

impl Control {
    pub(super) fn new(rate: Option<Rate>) -> Self {
        Self { stopped: AtomicBool::new(false), done: AtomicU64::new(0), throttle: rate.map(Throttle::new) }
    }

    /// Ends the run: every thread gives up at its next check.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// An error if the run is to stop.
    pub(super) fn check(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::new(Kind::State, "stopped")) } else { Ok(()) }
    }

    /// Bytes that are done.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    fn wait(&self, bytes: u64) -> Result<()> {
        self.check()?;
        let Some(throttle) = &self.throttle else { return Ok(()) };
        let begin = throttle.book(bytes);
        loop {
            let left = begin.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
            self.check()?;
        }
    }
}

/// The bytes of one file in the account of a run. However the file ends, all of them are done at its end, unless the
/// operating system refuses it: then those are that were asked for.
pub(super) struct Meter<'a> {
    control: &'a Control,
    left: u64,
}

impl<'a> Meter<'a> {
    /// For a file of which that many bytes count.
    pub(super) fn new(control: &'a Control, bytes: u64) -> Self {
        Self { control, left: bytes }
    }

    /// Waits until that many more bytes may be read, and counts them.
    pub(super) fn spend(&mut self, bytes: u64) -> Result<()> {
        self.control.wait(bytes)?;
        let counted = bytes.min(self.left);
        self.left -= counted;
        self.control.done.fetch_add(counted, Ordering::Relaxed);
        Ok(())
    }

    /// Says that nothing more can be read of the file.
    pub(super) fn give_up(&mut self) {
        self.left = 0;
    }

    pub(super) fn check(&self) -> Result<()> {
        self.control.check()
    }

    /// The state of the run.
    pub(super) fn control(&self) -> &'a Control {
        self.control
    }
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.control.done.fetch_add(self.left, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_its_bytes_once_whatever_is_read_of_it() {
        let control = Control::new(None);
        let mut meter = Meter::new(&control, 100);
        meter.spend(70).unwrap();
        assert_eq!(control.done(), 70);
        meter.spend(70).unwrap();
        assert_eq!(control.done(), 100);
        drop(meter);
        drop(Meter::new(&control, 11));
        assert_eq!(control.done(), 111);
        let mut refused = Meter::new(&control, 100);
        refused.spend(7).unwrap();
        refused.give_up();
        drop(refused);
        assert_eq!(control.done(), 118);
    }

    #[test]
    fn a_stop_ends_waiting() {
        let control = Control::new(Some(Rate::new(1.0).unwrap()));
        let mut meter = Meter::new(&control, 0);
        meter.spend(1 << 40).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(move || meter.spend(1).unwrap_err().kind());
            control.stop();
            assert_eq!(waits.join().unwrap(), Kind::State);
        });
    }
}
