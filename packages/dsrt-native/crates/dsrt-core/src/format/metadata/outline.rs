//! The outline of the file: its columns, and where its batches lie.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_ipc::{Footer, MetadataVersion};

use super::chunks::Chunks;
use super::{Extent, breach, flatbuffer, schema};
use crate::dtype::ColumnType;
use crate::error::{Error, Kind, Result};

const MAGIC: &[u8] = b"ARROW1";

/// Length and magic at the end of the file.
const TRAILER: u64 = 10;

/// Where the first message begins.
const FIRST: u64 = 8;

/// Where a batch lies.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Its message, with the prefix of 8 bytes.
    pub message: Extent,
    /// Its buffers.
    pub body: Extent,
}

/// What the footer says, checked.
pub struct Outline {
    /// Name and type of each column.
    pub columns: Vec<(Arc<str>, ColumnType)>,
    /// The batches, in order.
    pub blocks: Vec<Block>,
}

impl Outline {
    /// Reads the footer and the first message (R042, R045). Touches only the chunks in which these lie.
    pub fn read(chunks: &Chunks, fields: &BTreeSet<&str>) -> Result<Self> {
        let end = footer_extent(chunks)?;
        let bytes = copy(&chunks.bytes(end)?)?;
        let footer = flatbuffer::footer(&bytes)?;
        let first = message(chunks, FIRST, end.at)?;
        let columns = columns(&footer, &first, fields)?;
        let mut blocks = Vec::new();
        for found in footer.recordBatches().into_iter().flatten() {
            let block = block(found.offset(), found.metaDataLength().into(), found.bodyLength(), end.at);
            blocks.push(block.ok_or_else(|| breach(42, "a batch lies outside the file or at an odd place"))?);
        }
        Ok(Self { columns, blocks })
    }
}

/// Where the footer lies.
fn footer_extent(chunks: &Chunks) -> Result<Extent> {
    let not_arrow = || breach(42, "not an Arrow file: its beginning or its end is missing");
    let trailer = chunks.len().checked_sub(TRAILER).filter(|at| *at >= FIRST).ok_or_else(not_arrow)?;
    let head = chunks.bytes(Extent { at: 0, len: FIRST })?;
    let tail = chunks.bytes(Extent { at: trailer, len: TRAILER })?;
    let (length, magic) = tail.split_first_chunk::<4>().ok_or_else(not_arrow)?;
    if !head.starts_with(MAGIC) || magic != MAGIC {
        return Err(not_arrow());
    }
    let len = u64::try_from(i32::from_le_bytes(*length)).map_err(|_| not_arrow())?;
    let at = trailer.checked_sub(len).filter(|at| *at >= FIRST).ok_or_else(not_arrow)?;
    Ok(Extent { at, len })
}

/// The first item of section 7, as far as footer and schema are concerned.
fn columns(footer: &Footer, first: &[u8], fields: &BTreeSet<&str>) -> Result<Vec<(Arc<str>, ColumnType)>> {
    if footer.version() != MetadataVersion::V5 {
        return Err(breach(45, "the footer is not of metadata version V5"));
    }
    if footer.custom_metadata().is_some_and(|entries| !entries.is_empty()) {
        return Err(breach(45, "the footer has custom metadata"));
    }
    if footer.dictionaries().is_some_and(|blocks| !blocks.is_empty()) {
        return Err(breach(45, "there are dictionaries; store plain columns"));
    }
    let schema = footer.schema().ok_or_else(|| breach(42, "the footer has no schema"))?;
    let columns = schema::columns(&schema, fields)?;
    let first = flatbuffer::message(first)?;
    if first.version() != MetadataVersion::V5 || first.custom_metadata().is_some_and(|entries| !entries.is_empty()) {
        return Err(breach(45, "the first message is not of metadata version V5, or has custom metadata"));
    }
    let again = first.header_as_schema().map(|schema| schema::columns(&schema, fields)).transpose()?;
    if again.as_ref() != Some(&columns) {
        return Err(breach(45, "the first message is not the footer's schema"));
    }
    Ok(columns)
}

/// A block of the footer, if it lies before `end`, everything at multiples of 8.
fn block(offset: i64, message: i64, body: i64, end: u64) -> Option<Block> {
    let [offset, message, body] = [offset, message, body].map(|number| u64::try_from(number).ok());
    let (offset, message, body) = (offset?, message?, body?);
    let body_at = offset.checked_add(message)?;
    let fits =
        offset >= FIRST && body_at.checked_add(body)? <= end && [offset, message, body].iter().all(|n| n % 8 == 0);
    fits.then_some(Block { message: Extent { at: offset, len: message }, body: Extent { at: body_at, len: body } })
}

/// A copy of the description that begins at `at` and ends by `limit`, without its prefix.
pub(super) fn message(chunks: &Chunks, at: u64, limit: u64) -> Result<Vec<u8>> {
    let damaged = || breach(42, format!("there is no message at byte {at}"));
    let prefix = chunks.bytes(Extent { at, len: 8 })?;
    let (marker, length) = prefix.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = length.first_chunk().map(|length| i32::from_le_bytes(*length));
    let len = length.and_then(|length| u64::try_from(length).ok()).ok_or_else(damaged)?;
    if *marker != [0xff; 4] || len > limit.saturating_sub(at).saturating_sub(8) {
        return Err(damaged());
    }
    copy(&chunks.bytes(Extent { at: at + 8, len })?)
}

/// Descriptions are copied, so that what was verified is what is used even if somebody writes to the file.
fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    let refused = |_| Error::new(Kind::Memory, "the descriptions in metadata.arrow are too large for the memory");
    copy.try_reserve_exact(bytes.len()).map_err(refused)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}
