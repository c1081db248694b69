//! Reading published caches, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod changing;
mod damage;
mod example;
mod metadata;
mod round_trip;
mod streamed;
mod support;
