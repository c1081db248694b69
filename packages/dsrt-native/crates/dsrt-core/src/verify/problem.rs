//! What is found.

use std::sync::Arc;

use crate::error::{Error, Kind};

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

/// A file or directory of the cache that the operating system refused to read: EIO, EACCES. That breaks no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The path inside the cache.
    pub file: String,
    /// The error number.
    pub code: i32,
}

/// What a run finds.
#[derive(Debug, Default)]
pub struct Findings {
    /// In the order of the files.
    pub problems: Vec<Problem>,
    /// What was not read, or not to its end, in the same order.
    pub unread: Vec<Unread>,
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

impl Place {
    /// An error that breaks no rule, with this place if it is one of memory: the others name a file, or are of no place.
    pub(super) fn of(&self, mut error: Error) -> Error {
        if error.kind() != Kind::Memory {
            return error;
        }
        if let Some(field) = &self.field {
            error = error.in_field(field);
        }
        if let Some(shard) = self.shard {
            error = error.in_shard(shard);
        }
        match self.sample {
            Some(sample) => error.at_sample(sample),
            None => error,
        }
    }
}
