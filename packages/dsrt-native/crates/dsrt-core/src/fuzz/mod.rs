//! What fuzzing drives: every parser of the format, each behind one function of bytes.
//!
//! Digests and checksums are made anew over what was given, so that chance is not spent on guessing them and the code
//! behind them is reached. Each function judges what the parsers say of its bytes, and panics where they are wrong:
//! where two ways to the same value differ, where something is accepted that its own description does not allow, or where
//! an error is no breach of a rule. It returns whether the bytes were of use: those that are not need not be kept.
//!
//! The layout of the bytes is the same for the fuzz targets of the plain implementation in tests/fuzz, and so all share
//! one corpus.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a defect is told by a panic, which is what a fuzzer looks for"
)]

mod forge;
mod given;
mod index;
mod journal;
mod manifest;
mod metadata;
mod oracle;
mod read;
mod record;
#[cfg(test)]
mod tests;

pub use index::index;
pub use journal::journal;
pub use manifest::manifest;
pub use metadata::metadata;
pub use record::record;

use crate::error::{Error, Kind};

/// The rule that an error says is broken. Any other error is a find, but for memory that does not suffice.
fn breach(error: &Error) -> u16 {
    match (error.kind(), error.rule_number()) {
        (Kind::Format | Kind::Data | Kind::UnknownVersion, Some(rule)) => rule,
        (Kind::Memory, None) => 0,
        _ => panic!("not a breach of a rule: {error:?}"),
    }
}
