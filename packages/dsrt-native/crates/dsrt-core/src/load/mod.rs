//! Streaming: which positions a step holds, where the stream stands, and the threads that gather ahead.

mod batches;
mod control;
mod core;
mod engine;
mod forked;
mod loader;
mod options;
mod plan;
mod ring;
mod state;
mod stats;
mod stream;

pub use loader::{Loader, Next, Pass};
pub use options::Options;
pub use plan::Last;
pub use state::{STATE_FORMAT, State};
pub use stats::{DamagedId, Stats};

#[cfg(test)]
mod tests;
