//! Populations and loaders over real caches, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod extra;
mod loader;
mod orders;
mod population;
mod projection;
mod resume;
mod stored;
mod support;
mod table;
mod trouble;
mod weights;
mod wide;
