//! The weights of a population: given, stored in its caches, or none.

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::selection::Selection;
use super::stored;
use crate::error::{Error, Kind, Result};
use crate::order::check_weights;
use crate::read::Cache;

/// Where the weights of a population come from.
#[derive(Clone, Debug)]
pub enum Weights {
    /// The column `weight` of its caches, where they have one.
    Stored,
    /// Nowhere: the rows have none.
    None,
    /// One for each row: finite, not negative.
    Given(Vec<f64>),
    /// Some rows have one and some have not, as in a table put together from several caches.
    Partial(Vec<Option<f64>>),
}

/// Weights as a population keeps them: in their vectors, since moving them into a slice would need as much memory again, and
/// would end the process where there is none.
pub(super) enum Held {
    None,
    Given(Arc<Vec<f64>>),
    /// Read when they are first asked for: many uses never do.
    Stored(OnceBox<Option<Arc<Vec<f64>>>>),
    /// An error only where they are needed. The message names the caches.
    Partial(String),
}

impl Held {
    /// Checks given weights; the error names the row.
    pub fn new(weights: Weights, caches: &[Cache], rows: &Selection) -> Result<Self> {
        Ok(match weights {
            Weights::None => Self::None,
            Weights::Stored => Self::Stored(OnceBox::new()),
            Weights::Given(weights) => {
                check_length(weights.len(), rows)?;
                check_weights(&weights)?;
                Self::Given(Arc::new(weights))
            }
            Weights::Partial(weights) => {
                check_length(weights.len(), rows)?;
                Self::partial(&weights, caches, rows)?
            }
        })
    }

    fn partial(weights: &[Option<f64>], caches: &[Cache], rows: &Selection) -> Result<Self> {
        let mut known = Vec::new();
        known.try_reserve_exact(weights.len()).map_err(|_| {
            Error::new(Kind::Memory, format!("the weights of {} rows do not fit in memory", rows.len()))
        })?;
        // A row without a weight is like one of weight 0 as far as this check goes.
        known.extend(weights.iter().map(|weight| weight.unwrap_or(0.0)));
        check_weights(&known)?;
        let mut lacking = vec![false; caches.len()];
        let mut count = 0u64;
        for (row, _) in (0u64..).zip(weights).filter(|(_, weight)| weight.is_none()) {
            count += 1;
            if let Some(lacks) = lacking.get_mut(rows.id(row)?.cache as usize) {
                *lacks = true;
            }
        }
        Ok(match count {
            count if count == weights.len() as u64 => Self::None,
            0 => Self::Given(Arc::new(known)),
            count => Self::Partial(partial_message(count, &paths(caches, &lacking))),
        })
    }

    /// One weight a row, if there are weights.
    pub fn get(&self, caches: &[Cache], rows: &Selection) -> Result<Option<&Arc<Vec<f64>>>> {
        match self {
            Self::None => Ok(None),
            Self::Given(weights) => Ok(Some(weights)),
            Self::Partial(message) => Err(Error::new(Kind::Schema, message.clone())),
            Self::Stored(read) => Ok(read.get_or_try_init(|| stored::weights(caches, rows).map(Box::new))?.as_ref()),
        }
    }
}

fn check_length(weights: usize, rows: &Selection) -> Result<()> {
    if weights as u64 == rows.len() {
        return Ok(());
    }
    Err(Error::new(Kind::Schema, format!("there are {weights} weights for {} rows; give one for each", rows.len())))
}

/// The paths of the caches marked.
pub(super) fn paths(caches: &[Cache], marked: &[bool]) -> String {
    let paths = caches.iter().zip(marked).filter(|(_, marked)| **marked).map(|(cache, _)| &**cache.path());
    paths.collect::<Vec<_>>().join(", ")
}

/// What is wrong with weights of which `count` are missing, in the caches at `paths`.
pub(super) fn partial_message(count: u64, paths: &str) -> String {
    format!(
        "{count} rows have no weight and the others have one; those without are of {paths}. \
         Give weights for all rows, or none"
    )
}
