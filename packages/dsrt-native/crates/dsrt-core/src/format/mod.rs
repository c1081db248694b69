//! The bytes of a cache: what they mean and what must hold of them.
//!
//! Everything here takes bytes and gives bytes or values; files are opened by [`crate::read`] and written by
//! the writer. Integers in files are little-endian.

pub mod checksum;
pub mod codec;
pub mod header;
pub mod json;
pub mod manifest;
pub mod metadata;
pub mod names;
pub mod shard;
