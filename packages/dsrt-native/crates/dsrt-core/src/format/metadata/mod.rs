//! metadata.arrow: an Arrow IPC file as the format restricts it, read where it lies.
//!
//! Descriptions (footer, schema, messages) are small: they are copied, verified as flatbuffers and taken apart by hand,
//! so that every length is known to fit before a buffer is touched and before Arrow sees any. Numbers and the content
//! of strings are used in place, if it is aligned; views and bits of whole batches are copied. Every byte is proven by the digest of its chunk before it is looked at.

mod array;
mod batch;
mod chunks;
mod flatbuffer;
mod message;
mod outline;
mod schema;
mod text;
mod types;
mod view;

use crate::error::{Error, Kind};

pub use array::{check_columns, record_batch};
pub use batch::{BatchLayout, BatchMessage, ColumnLayout};
pub use chunks::{Chunks, ReadAt};
pub use outline::{Block, Outline};
pub use types::{arrow_schema, column_type};
pub use view::{View, follow};

/// Rows of every batch but the last.
pub const BATCH: u64 = 262_144;

/// A range of bytes of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First byte.
    pub at: u64,
    /// Number of bytes.
    pub len: u64,
}

fn breach(rule: u16, message: impl AsRef<str>) -> Error {
    Error::rule(Kind::Format, rule, format!("metadata.arrow: {}", message.as_ref()))
}
