//! What is found.

use std::sync::Arc;

/// A place where a cache breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The number of the rule.
    pub rule: u16,
    /// Where.
    pub place: Place,
    /// What was found, what was expected and what to do.
    pub message: String,
    /// How many problems of the rule this one stands for, as the last of a long list does; else 0.
    pub unlisted: u64,
}

/// Where in the cache, as far as it is one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The payload field or metadata column.
    pub field: Option<Arc<str>>,
    /// The number of the shard.
    pub shard: Option<u64>,
    /// The number of the sample in the cache.
    pub sample: Option<u64>,
}
