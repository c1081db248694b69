//! The state of a loader: its position, and by which stream it counts.

use super::plan::POSITION_LIMIT;
use crate::error::{Error, Kind, Result};

/// The version of the state that is written and read here.
pub const STATE_FORMAT: u64 = 1;

/// Everything needed to go on elsewhere, on any number of ranks and with any batch size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// [`STATE_FORMAT`].
    pub format: u64,
    /// The order's word.
    pub order: String,
    /// Of the order.
    pub seed: u64,
    /// The next position of the stream, as of the last batch handed out.
    pub position: u64,
    /// Positions of a window.
    pub epoch_len: u64,
    /// Rows of the population.
    pub n: u64,
    /// Their digest, in hex.
    pub rows: String,
    /// The weights' digest, in hex, if the order is weighted.
    pub weights: Option<String>,
    /// The caches' numbers; for people, not compared.
    pub caches: Vec<i64>,
}

impl State {
    /// What differs between the stream of a saved state and one's own, part by part; empty if nothing does. An error if
    /// the state is of another version, or its position one that no stream has.
    pub fn differences(&self, own: &Self) -> Result<Vec<String>> {
        if self.format != STATE_FORMAT {
            let message = format!(
                "the state has format {}, and this version of dsrt reads {STATE_FORMAT}; load it with the version that \
                 saved it or a later one",
                self.format
            );
            return Err(Error::new(Kind::StateMismatch, message));
        }
        if self.position >= POSITION_LIMIT {
            let message = format!(
                "this is no state of a loader: its position is {}, and every stream ends before 2^62; give what \
                 state_dict() returned",
                self.position
            );
            return Err(Error::new(Kind::StateMismatch, message));
        }
        let unweighted = || "none".to_string();
        let parts = [
            ("order", self.order.clone(), own.order.clone()),
            ("seed", self.seed.to_string(), own.seed.to_string()),
            ("epoch_len", self.epoch_len.to_string(), own.epoch_len.to_string()),
            ("n (number of rows)", self.n.to_string(), own.n.to_string()),
            ("rows (digest)", self.rows.clone(), own.rows.clone()),
            (
                "weights (digest)",
                self.weights.clone().unwrap_or_else(unweighted),
                own.weights.clone().unwrap_or_else(unweighted),
            ),
        ];
        let different = parts.into_iter().filter(|(_, saved, here)| saved != here);
        let mut found: Vec<String> =
            different.map(|(part, saved, here)| format!("{part}: saved {saved}, here {here}")).collect();
        if !found.is_empty() && self.caches != own.caches {
            found.push(format!("caches: saved {:?}, here {:?}", self.caches, own.caches));
        }
        Ok(found)
    }

    /// Refuses a state of another stream, naming what differs. Not strict, it only says so.
    pub fn check(&self, own: &Self, strict: bool) -> Result<Vec<String>> {
        let found = self.differences(own)?;
        if strict && !found.is_empty() {
            let message = format!(
                "the saved state is of another stream ({}). Give the loader the dataset, weights, order, seed and \
                 epoch_len it was saved with (reweight before loading), or load with strict=False to keep only the \
                 position, {}",
                found.join("; "),
                self.position
            );
            return Err(Error::new(Kind::StateMismatch, message));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State {
            format: STATE_FORMAT,
            order: "weighted".into(),
            seed: 7,
            position: 123,
            epoch_len: 10,
            n: 10,
            rows: "aa".into(),
            weights: Some("bb".into()),
            caches: vec![1],
        }
    }

    #[test]
    fn position_and_caches_are_not_compared() {
        let other = State { position: 0, caches: vec![2, 3], ..state() };
        assert_eq!(other.check(&state(), true).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn each_part_that_differs_is_named_with_both_values() {
        let others = [
            ("order: saved uniform, here weighted", State { order: "uniform".into(), ..state() }),
            ("seed: saved 8, here 7", State { seed: 8, ..state() }),
            ("epoch_len: saved 11, here 10", State { epoch_len: 11, ..state() }),
            ("rows): saved 9, here 10", State { n: 9, ..state() }),
            ("rows (digest): saved ff, here aa", State { rows: "ff".into(), ..state() }),
            ("weights (digest): saved none, here bb", State { weights: None, ..state() }),
        ];
        for (expected, other) in others {
            let error = other.check(&state(), true).unwrap_err();
            assert_eq!(error.kind(), Kind::StateMismatch);
            assert!(error.to_string().contains(expected), "{error}");
            let warnings = other.check(&state(), false).unwrap();
            assert_eq!(warnings.len(), 1);
        }
    }

    #[test]
    fn a_state_of_another_version_is_refused_always() {
        let other = State { format: 2, ..state() };
        assert_eq!(other.check(&state(), false).unwrap_err().kind(), Kind::StateMismatch);
    }

    #[test]
    fn a_position_that_no_stream_has_is_refused_always() {
        for (position, is_refused) in [(POSITION_LIMIT - 1, false), (POSITION_LIMIT, true), (u64::MAX, true)] {
            let found = State { position, ..state() }.check(&state(), false);
            assert_eq!(found.err().map(|error| error.kind()), is_refused.then_some(Kind::StateMismatch));
        }
    }
}
