//! The engine of DSRT, a dataset runtime for training.
//!
//! A *cache* is one published directory of samples that never changes. This crate writes caches, reads
//! them with every byte checked, puts rows of one or more of them together,
//! maps positions of an endless stream to rows and streams batches. Data flows
//! one way: writer, cache, population, order, gather, batch, loader. It knows nothing of Python.

pub mod batch;
mod copy;
mod cpu;
pub mod dtype;
pub mod error;
pub mod field;
pub mod format;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod lists;
pub mod load;
pub mod order;
pub mod outcome;
pub mod pool;
pub mod read;
pub mod rows;
mod together;
pub mod verify;
pub mod write;

pub use cpu::count as cpus;
pub use error::{Error, Kind, Result};
pub use outcome::Outcome;
