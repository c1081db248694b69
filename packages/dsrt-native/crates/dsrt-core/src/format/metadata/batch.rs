//! One batch of the file: its message taken apart, every buffer known to fit.

use std::sync::Arc;

use arrow_ipc::{Message, MetadataVersion, RecordBatch};

use super::chunks::Chunks;
use super::outline::{Block, message};
use super::{Extent, breach, flatbuffer};
use crate::dtype::{ColumnType, DType};
use crate::error::Result;

/// The message of a batch, verified.
pub struct BatchMessage {
    bytes: Vec<u8>,
    body: Extent,
    rows: u64,
}

/// Where the buffers of one column of a batch lie in the file.
#[derive(Debug)]
pub struct ColumnLayout {
    /// How many values are null, as the file says.
    pub nulls: u64,
    /// One bit a row, 0 for null; absent where nothing is null.
    pub validity: Option<Extent>,
    /// The values; bits for bool, views of 16 bytes for strings and binary.
    pub values: Extent,
    /// What views lead to.
    pub data: Box<[Extent]>,
}

/// Where everything of a batch lies.
#[derive(Debug)]
pub struct BatchLayout {
    /// Number of rows.
    pub rows: u64,
    /// In the order of the schema.
    pub columns: Vec<ColumnLayout>,
}

impl BatchMessage {
    /// Reads and verifies the message (R042, R045); its buffers are not looked at.
    pub fn read(chunks: &Chunks, block: &Block) -> Result<Self> {
        let bytes = message(chunks, block.message.at, block.body.at)?;
        if bytes.len() as u64 + 8 != block.message.len {
            return Err(breach(42, "a message has another length than the footer says"));
        }
        let found = flatbuffer::message(&bytes)?;
        if found.version() != MetadataVersion::V5 {
            return Err(breach(45, "a batch is not of metadata version V5"));
        }
        if found.custom_metadata().is_some_and(|entries| !entries.is_empty()) {
            return Err(breach(45, "a batch has custom metadata"));
        }
        let batch = header(&found)?;
        if batch.compression().is_some() {
            return Err(breach(45, "a batch is compressed; the format stores metadata as it is"));
        }
        if u64::try_from(found.bodyLength()) != Ok(block.body.len) {
            return Err(breach(42, "the body of a batch has another length than the footer says"));
        }
        let rows = u64::try_from(batch.length()).map_err(|_| breach(42, "a batch has less than no rows"))?;
        Ok(Self { rows, body: block.body, bytes })
    }

    /// Number of rows it claims.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Where its buffers lie, each found to be as large as the rows need (R042).
    pub fn layout(&self, columns: &[(Arc<str>, ColumnType)]) -> Result<BatchLayout> {
        let message = flatbuffer::message(&self.bytes)?;
        let batch = header(&message)?;
        let nodes = batch.nodes().map(|nodes| nodes.iter().collect::<Vec<_>>()).unwrap_or_default();
        if nodes.len() != columns.len() {
            return Err(breach(42, format!("a batch has {} nodes for {} columns", nodes.len(), columns.len())));
        }
        let mut buffers = Buffers::of(&batch, self.body);
        let mut layouts = Vec::with_capacity(columns.len());
        for (node, (name, kind)) in nodes.iter().zip(columns) {
            let refused = |what: &str| breach(42, format!("column {name:?} {what}"));
            let nulls = u64::try_from(node.null_count()).ok().filter(|nulls| *nulls <= self.rows);
            let nulls = nulls.ok_or_else(|| refused("has an impossible count of nulls"))?;
            if u64::try_from(node.length()) != Ok(self.rows) {
                return Err(refused("has another length than its batch"));
            }
            layouts.push(buffers.column(*kind, self.rows, nulls).map_err(refused)?);
        }
        if !buffers.is_used_up() {
            return Err(breach(42, "a batch has buffers that belong to no column"));
        }
        Ok(BatchLayout { rows: self.rows, columns: layouts })
    }
}

fn header<'a>(message: &Message<'a>) -> Result<RecordBatch<'a>> {
    let batch = message.header_as_record_batch();
    let batch = batch.ok_or_else(|| breach(42, "a block of the footer is not a batch"))?;
    let references = [
        RecordBatch::VT_NODES,
        RecordBatch::VT_BUFFERS,
        RecordBatch::VT_COMPRESSION,
        RecordBatch::VT_VARIADICBUFFERCOUNTS,
    ];
    flatbuffer::whole(batch._tab, &references)?;
    Ok(batch)
}

/// The buffers of a batch that no column has taken yet.
struct Buffers {
    body: Extent,
    buffers: std::vec::IntoIter<(i64, i64)>,
    variadic: std::vec::IntoIter<i64>,
}

impl Buffers {
    fn of(batch: &RecordBatch, body: Extent) -> Self {
        let buffers: Vec<_> = batch.buffers().into_iter().flatten().map(|b| (b.offset(), b.length())).collect();
        let variadic: Vec<_> = batch.variadicBufferCounts().into_iter().flatten().collect();
        Self { body, buffers: buffers.into_iter(), variadic: variadic.into_iter() }
    }

    fn is_used_up(&self) -> bool {
        self.buffers.len() == 0 && self.variadic.len() == 0
    }

    fn column(&mut self, kind: ColumnType, rows: u64, nulls: u64) -> std::result::Result<ColumnLayout, &'static str> {
        const SHORT: &str = "has a buffer that is shorter than its rows need";
        let bits = rows.div_ceil(8);
        let validity = Some(self.next()?).filter(|validity| validity.len > 0);
        if validity.map_or(nulls > 0, |validity| validity.len < bits) {
            return Err(SHORT);
        }
        let values = self.next()?;
        let views = matches!(kind, ColumnType::String | ColumnType::Binary);
        let needed = match kind {
            ColumnType::Number(DType::Bool) => Some(bits),
            _ => rows.checked_mul(width(kind)),
        };
        if needed.is_none_or(|needed| values.len < needed) {
            return Err(SHORT);
        }
        if views && values.len % VIEW != 0 {
            return Err("has a part of a view");
        }
        let mut data = Vec::new();
        if views {
            let count = self.variadic.next().ok_or("has no count of its data buffers")?;
            let count = usize::try_from(count).ok().filter(|count| *count <= self.buffers.len());
            for _ in 0..count.ok_or("has an impossible count of data buffers")? {
                data.push(self.next()?);
            }
        }
        Ok(ColumnLayout { nulls, validity, values, data: data.into() })
    }

    fn next(&mut self) -> std::result::Result<Extent, &'static str> {
        let (at, len) = self.buffers.next().ok_or("lacks a buffer")?;
        let extent = || {
            let (at, len) = (u64::try_from(at).ok()?, u64::try_from(len).ok()?);
            at.checked_add(len).filter(|end| *end <= self.body.len && at % 8 == 0)?;
            Some(Extent { at: self.body.at + at, len })
        };
        extent().ok_or("has a buffer outside the body of its batch, or at an odd place")
    }
}

/// Bytes of a view.
const VIEW: u64 = 16;

/// Bytes of one value in the values buffer; bool has bits.
pub(super) fn width(kind: ColumnType) -> u64 {
    kind.element().map_or(VIEW, |element| element.size() as u64)
}
