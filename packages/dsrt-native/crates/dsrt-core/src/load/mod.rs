//! Streaming: which positions a step holds, where the stream stands, and the threads that gather ahead.

mod engine;
mod plan;
mod ring;
mod stream;

pub use engine::{Admission, Engine, Taken, Work};
pub use plan::{Elements, Last, POSITION_LIMIT, Run, Step, check_window, window_steps};
pub use stream::Stream;

#[cfg(test)]
mod tests;
