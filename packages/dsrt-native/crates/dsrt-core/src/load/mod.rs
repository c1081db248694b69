//! Streaming: which positions a step holds, where the stream stands, and the threads that gather ahead.

mod plan;
mod stream;

pub use plan::{Elements, Last, POSITION_LIMIT, Run, Step, check_window, window_steps};
pub use stream::Stream;

#[cfg(test)]
mod tests;
