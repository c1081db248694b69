//! Stored records and the bytes they stand for: zstd frames, dictionaries, the delta filter.
//!
//! A frame's header is checked by hand before libzstd sees it, so that its size is known and bounded before memory
//! is asked for, and so that nothing that libzstd would also take (skippable frames, several frames in a row,
//! legacy formats) passes for a record.

mod decode;
mod delta;
mod encode;
mod frame;

pub use decode::{Dictionary, decode, decode_whole};
pub use encode::{Coding, Encoder, filter};
pub use frame::{check_blocks, check_frame};
