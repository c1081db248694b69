//! A message of the file: its version and sort, and the table that it is about.

use arrow_ipc::{MessageHeader, MetadataVersion};

use super::breach;
use super::flatbuffer::Table;
use crate::error::{Error, Result};

const VERSION: usize = 0;
const SORT: usize = 1;
const HEADER: usize = 2;
const BODY_BYTES: usize = 3;
const CUSTOM_METADATA: usize = 4;

/// A message of which all is read that stands before its body's length.
pub(super) struct Message<'a> {
    table: Table<'a>,
    /// The table that it is about.
    pub header: Table<'a>,
}

impl<'a> Message<'a> {
    /// The message in `bytes`; `other` is the error if it is of another sort.
    pub(super) fn read(bytes: &'a [u8], sort: MessageHeader, other: impl FnOnce() -> Error) -> Result<Self> {
        let table = Table::root(bytes)?;
        if table.i16(VERSION, 0)? != MetadataVersion::V5.0 {
            return Err(breach(45, "a message is not of metadata version V5"));
        }
        if table.u8(SORT, 0)? != sort.0 {
            return Err(other());
        }
        let header = table.table(HEADER)?.ok_or_else(|| breach(42, "a message has no content"))?;
        Ok(Self { table, header })
    }

    /// The length of its body, as it says.
    pub(super) fn body_bytes(&self) -> Result<i64> {
        self.table.i64(BODY_BYTES, 0)
    }

    /// Checks what comes last.
    pub(super) fn end(self) -> Result<()> {
        if self.table.count(CUSTOM_METADATA)? > 0 {
            return Err(breach(45, "a message has custom metadata"));
        }
        Ok(())
    }
}
