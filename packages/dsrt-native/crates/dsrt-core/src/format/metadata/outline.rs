//! The outline of the file: its columns, and where its batches lie.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_ipc::{MessageHeader, MetadataVersion};

use super::chunks::Chunks;
use super::flatbuffer::{self, Table};
use super::message::Message;
use super::{Extent, breach, schema};
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
    /// Of a cache without metadata.
    pub fn none() -> Self {
        Self { columns: Vec::new(), blocks: Vec::new() }
    }

    /// Reads the footer and the first message (R042, R045). Touches only the chunks in which these lie.
    pub fn read(chunks: &Chunks, fields: &BTreeSet<&str>) -> Result<Self> {
        let end = footer_extent(chunks)?;
        let first = copy(&message(chunks, FIRST, end.at)?)?;
        let footer = copy(&chunks.bytes(end)?)?;
        let (columns, found) = read_footer(&footer, fields)?;
        if read_first(&first, fields)? != columns {
            return Err(breach(45, "the first message is not the footer's schema"));
        }
        let mut blocks = Vec::new();
        blocks.try_reserve_exact(found.len()).map_err(|_| too_large())?;
        for found in found {
            let block = block(found, end.at);
            blocks.push(block.ok_or_else(|| breach(42, "a batch lies outside the file or at an odd place"))?);
        }
        Ok(Self { columns, blocks })
    }

    /// Checks footer and first message as the library of FlatBuffers does (R042): more than is read here.
    pub fn verify(chunks: &Chunks) -> Result<()> {
        let end = footer_extent(chunks)?;
        flatbuffer::verify_message(&copy(&message(chunks, FIRST, end.at)?)?)?;
        flatbuffer::verify_footer(&copy(&chunks.bytes(end)?)?)
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
    let at = trailer.checked_sub(len).filter(|at| *at >= FIRST && len >= LEAST).ok_or_else(not_arrow)?;
    Ok(Extent { at, len })
}

/// Name and type of each column.
type Columns = Vec<(Arc<str>, ColumnType)>;

/// Bytes of a block: offset, 8; length of the message, 4, and 4 that are not used; length of the body, 8.
type RawBlock = [u8; 24];

/// The columns that the footer has, and its blocks.
fn read_footer<'a>(bytes: &'a [u8], fields: &BTreeSet<&str>) -> Result<(Columns, &'a [RawBlock])> {
    const VERSION: usize = 0;
    const SCHEMA: usize = 1;
    const DICTIONARIES: usize = 2;
    const BATCHES: usize = 3;
    const CUSTOM_METADATA: usize = 4;
    let footer = Table::root(bytes)?;
    if footer.i16(VERSION, 0)? != MetadataVersion::V5.0 {
        return Err(breach(45, "the footer is not of metadata version V5"));
    }
    if !footer.structs::<24>(DICTIONARIES)?.is_empty() {
        return Err(breach(45, "there are dictionaries; store plain columns"));
    }
    let schema = footer.table(SCHEMA)?.ok_or_else(|| breach(42, "the footer has no schema"))?;
    let columns = schema::columns(schema, fields)?;
    let blocks = footer.structs::<24>(BATCHES)?;
    if footer.count(CUSTOM_METADATA)? > 0 {
        return Err(breach(45, "the footer has custom metadata"));
    }
    Ok((columns, blocks))
}

/// The columns that the first message has.
fn read_first(bytes: &[u8], fields: &BTreeSet<&str>) -> Result<Columns> {
    let other = || breach(45, "the first message is not a schema");
    let message = Message::read(bytes, MessageHeader::Schema, other)?;
    let columns = schema::columns(message.header, fields)?;
    message.end()?;
    Ok(columns)
}

/// A block of the footer, if it lies before `end`, everything at multiples of 8.
fn block(block: &RawBlock, end: u64) -> Option<Block> {
    let [a, b, c, d, e, f, g, h, m0, m1, m2, m3, _, _, _, _, body @ ..] = *block;
    let offset = u64::try_from(i64::from_le_bytes([a, b, c, d, e, f, g, h])).ok()?;
    let message = u64::try_from(i32::from_le_bytes([m0, m1, m2, m3])).ok()?;
    let body = u64::try_from(i64::from_le_bytes(body)).ok()?;
    let body_at = offset.checked_add(message)?;
    let fits =
        offset >= FIRST && body_at.checked_add(body)? <= end && [offset, message, body].iter().all(|n| n % 8 == 0);
    fits.then_some(Block { message: Extent { at: offset, len: message }, body: Extent { at: body_at, len: body } })
}

/// The least bytes of a description.
const LEAST: u64 = 4;

/// The description that begins at `at` and ends by `limit`, without its prefix.
pub(super) fn message(chunks: &Chunks, at: u64, limit: u64) -> Result<Cow<'_, [u8]>> {
    let damaged = || breach(42, format!("there is no message at byte {at}"));
    let prefix = chunks.bytes(Extent { at, len: 8 })?;
    let (marker, length) = prefix.split_first_chunk::<4>().ok_or_else(damaged)?;
    let length = length.first_chunk().map(|length| i32::from_le_bytes(*length));
    let len = length.and_then(|length| u64::try_from(length).ok()).ok_or_else(damaged)?;
    if *marker != [0xff; 4] || len < LEAST || len > limit.saturating_sub(at).saturating_sub(8) {
        return Err(damaged());
    }
    chunks.bytes(Extent { at: at + 8, len })
}

/// Descriptions are copied, so that what was checked is what is used even if somebody writes to the file.
fn copy(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| too_large())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

fn too_large() -> Error {
    Error::new(Kind::Memory, "the descriptions in metadata.arrow are too large for the memory")
}
