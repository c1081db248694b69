//! Streaming, tested without a cache.

mod engine;
mod epochs;
mod plan;
mod resume;
mod stream;

use crate::load::plan::Last;
use crate::load::stream::Stream;

pub(super) const G: u64 = 4;
pub(super) const E: u64 = 10;

pub(super) fn stream() -> Stream {
    Stream::new(E).unwrap()
}

/// Hands out one step; false at the end of the run.
pub(super) fn step(stream: &mut Stream, number: u64) -> bool {
    match stream.left(number).unwrap().next() {
        None => false,
        Some(step) => stream.hand_out(number, &step).map(|()| true).unwrap(),
    }
}

/// Hands out up to `most` steps; gives their first positions.
pub(super) fn steps(stream: &mut Stream, number: u64, most: usize) -> Vec<u64> {
    let mut starts = Vec::new();
    while starts.len() < most {
        let Some(next) = stream.left(number).unwrap().next() else { break };
        starts.push(next.position);
        assert!(step(stream, number));
    }
    starts
}

/// A whole pass.
pub(super) fn pass(stream: &mut Stream, last: Last) -> Vec<u64> {
    let number = stream.begin_pass(G, last).unwrap();
    steps(stream, number, usize::MAX)
}
