//! One part of several, for runs on different machines or nights.

use crate::error::{Error, Kind, Result};

/// Part `number` of `count`. Shard files are cut into runs of about equal bytes; everything that is no shard file
/// belongs to part 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: u64,
    count: u64,
}

impl Part {
    /// The whole.
    pub const WHOLE: Self = Self { number: 0, count: 1 };

    /// Part `number`, from 0, of `count`.
    pub fn new(number: u64, count: u64) -> Result<Self> {
        if number >= count {
            let message = format!("there is no part {number} of {count}; parts are counted from 0");
            return Err(Error::new(Kind::Value, message));
        }
        Ok(Self { number, count })
    }

    /// Whether what is no shard file belongs to it.
    pub fn is_first(self) -> bool {
        self.number == 0
    }

    /// Whether a shard file belongs to it that begins at byte `start` of all shard files' `total` and has `bytes`.
    pub fn takes(self, start: u128, bytes: u64, total: u128) -> bool {
        // The middle of the file says it: file lengths are less than 2^63 and there are at most a few hundred thousand.
        let middle = 2 * start + u128::from(bytes);
        let found = middle.checked_mul(self.count.into()).and_then(|scaled| scaled.checked_div(2 * total));
        found.unwrap_or(0) == self.number.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_counted_from_zero() {
        assert_eq!(Part::new(1, 1).unwrap_err().kind(), Kind::Value);
        assert_eq!(Part::new(0, 0).unwrap_err().kind(), Kind::Value);
        assert!(Part::new(2, 3).is_ok() && Part::WHOLE.is_first());
    }

    proptest! {
        #[test]
        fn every_file_belongs_to_one_part_and_parts_are_runs(
            lengths in prop::collection::vec(64u64..10_000, 1..40), count in 1u64..9
        ) {
            let total: u128 = lengths.iter().map(|length| u128::from(*length)).sum();
            let mut start = 0;
            let mut last = 0;
            for bytes in lengths {
                let takers: Vec<_> = (0..count).filter(|n| Part::new(*n, count).unwrap().takes(start, bytes, total)).collect();
                prop_assert_eq!(takers.len(), 1);
                prop_assert!(takers[0] >= last);
                last = takers[0];
                start += u128::from(bytes);
            }
        }
    }
}
