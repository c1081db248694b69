//! Not faster than was asked for.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Kind, Result};

/// Bytes a second, more than none.
#[derive(Clone, Copy, Debug)]
pub struct Rate(f64);

impl Rate {
    /// That many bytes a second.
    pub fn new(bytes: f64) -> Result<Self> {
        if bytes.is_finite() && bytes > 0.0 {
            return Ok(Self(bytes));
        }
        Err(Error::new(Kind::Value, format!("rate={bytes}: expected a number of bytes a second greater than 0")))
    }
}

/// A schedule that all threads share: each piece of bytes begins when those before it would be done at that rate. Time
/// that nobody used is not made up for.
pub(super) struct Throttle {
    rate: Rate,
    free: Mutex<Instant>,
}

/// The longest wait that is worth telling apart.
const LONGEST: Duration = Duration::from_secs(1 << 30);

impl Throttle {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, free: Mutex::new(Instant::now()) }
    }

    /// When that many bytes may be read; the time they take is booked.
    pub(super) fn book(&self, bytes: u64) -> Instant {
        let takes = Duration::try_from_secs_f64(bytes as f64 / self.rate.0).unwrap_or(LONGEST).min(LONGEST);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = (*free).max(Instant::now());
        *free = begin.checked_add(takes).unwrap_or(begin);
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_each_other_at_the_rate() {
        let throttle = Throttle::new(Rate::new(1000.0).unwrap());
        let first = throttle.book(3000);
        assert!(first <= Instant::now());
        assert_eq!(throttle.book(500), first + Duration::from_secs(3));
        assert_eq!(throttle.book(0), first + Duration::from_millis(3500));
    }

    #[test]
    fn a_rate_is_a_finite_number_greater_than_zero() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Rate::new(bad).unwrap_err().kind(), Kind::Value);
        }
        let throttle = Throttle::new(Rate::new(f64::MIN_POSITIVE).unwrap());
        throttle.book(u64::MAX);
        assert!(throttle.book(1) > Instant::now());
    }
}
