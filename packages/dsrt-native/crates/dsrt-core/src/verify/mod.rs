//! Verification: every problem of a cache, found at the speed of the disk.
//!
//! A reader stops at the first breach it meets; this goes through everything and lists them all, as the validator of
//! the plain implementation does, problem for problem. A [`plan`] cuts the work into jobs, one for each file. Threads
//! take jobs, read each file once from its beginning to its end, in pieces, and make every check on the way: checksums
//! and decoding of the records, the digest of the whole. What they find is put together in the order of the manifest,
//! so that the list does not depend on who was faster.
//!
//! Reading terabytes through the page cache would push out what others keep there. So a [`reader`] notes which pages
//! were there before it came, and gives back those that it had to read.

mod content;
mod control;
mod dictionary;
mod engine;
mod level;
mod listing;
mod metadata;
mod part;
mod pieces;
mod plan;
mod problem;
mod reader;
mod record;
mod report;
mod residency;
mod run;
mod shard;
mod throttle;
mod unknown;

use std::path::Path;

use crate::error::Result;
use crate::format::checksum;
use crate::read::{Directory, TRIES};

use report::Report;

pub use level::Level;
pub use part::Part;
pub use problem::{Findings, Problem, Unread};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use shard::MOST_READ;
pub use throttle::Rate;

/// How a cache is verified.
pub struct Options {
    /// How much is looked at.
    pub level: Level,
    /// Which part of the files is.
    pub part: Part,
    /// The most bytes a second.
    pub rate: Option<Rate>,
    /// The most threads, at least 1.
    pub threads: usize,
}

/// Lists every problem of the cache in directory `path`.
///
/// `watch` is called on the calling thread every few milliseconds with the bytes that are done and those there are in
/// all; its error ends the run. What breaks a rule is a problem, and a file that the operating system refuses does not
/// keep the others from being read. An error other than that of `watch` is one of the operating system before the
/// manifest is read, or memory that does not suffice.
pub fn verify(path: &Path, options: &Options, watch: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<Findings> {
    verify_cache(path, options, watch).map_err(|error| error.in_cache(&path.to_string_lossy().into()))
}

fn verify_cache(path: &Path, options: &Options, watch: &mut dyn FnMut(u64, u64) -> Result<()>) -> Result<Findings> {
    checksum::prepare();
    let mut tries = TRIES;
    loop {
        let (directory, (inventory, report)) = match Directory::look(path, listing::read) {
            Ok(begun) => begun,
            Err(error) => {
                let mut report = Report::default();
                report.found(error)?;
                return Ok(Findings { problems: report.into_problems(), ..Findings::default() });
            }
        };
        let found = run::run(&directory, &inventory, report, options, watch)?;
        tries -= 1;
        // A rebuild removes the old cache, which says nothing of the one that is at the path now.
        let is_old = || Directory::open(path).is_ok_and(|now| !now.is(&directory));
        let is_whole = found.unread.is_empty() && found.problems.iter().all(|problem| problem.rule != 30);
        if tries == 0 || is_whole || !is_old() {
            return Ok(found);
        }
    }
}
