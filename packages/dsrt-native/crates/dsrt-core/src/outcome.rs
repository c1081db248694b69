//! What becomes of a cache when its writer ends.

use std::fmt;

/// What became of the samples of a writer that has ended. An error that ended it says it behind its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// So many samples are durable, for the next run to go on from.
    Kept(u64),
    /// Nothing is kept, of which so many samples had been durable.
    Removed(u64),
    /// The cache is at its target and durable, with so many samples.
    Published(u64),
    /// The cache is at its target, but may be gone after a power cut.
    Unsure,
}

impl Outcome {
    /// Samples that survive whatever happens from now on.
    pub fn durable(self) -> u64 {
        match self {
            Self::Kept(samples) | Self::Published(samples) => samples,
            Self::Removed(_) | Self::Unsure => 0,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept(samples) => {
                write!(f, "{samples} samples are durable, and the next run with the same plan goes on from there")
            }
            Self::Removed(0) => write!(f, "no sample was durable yet, and nothing of this run is kept"),
            Self::Removed(samples) => {
                write!(f, "{samples} samples were written and are discarded: a run without fingerprint is not resumed")
            }
            Self::Published(_) => write!(f, "the cache was published all the same, and is durable"),
            Self::Unsure => write!(f, "the cache is published, but whether it survives a power cut is unknown"),
        }
    }
}
