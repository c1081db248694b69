//! One batch of the file: its message taken apart, every buffer known to fit.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_ipc::MessageHeader;

use super::chunks::Chunks;
use super::message::Message;
use super::outline::{Block, message};
use super::{Extent, breach, flatbuffer};
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};

/// The message of a batch, checked but for its buffers.
///
/// It is read where it lies: there may be millions of blocks in a small file, each of which leads to its largest message.
pub struct BatchMessage<'a> {
    bytes: Cow<'a, [u8]>,
    block: Block,
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
    /// All buffers.
    pub body: Extent,
}

impl<'a> BatchMessage<'a> {
    /// Reads the message (R042, R045); of its buffers only that they are listed.
    pub fn read(chunks: &'a Chunks, block: &Block) -> Result<Self> {
        let bytes = message(chunks, block.message.at, block.body.at)?;
        let (rows, _) = header(&bytes, block)?;
        Ok(Self { rows, block: *block, bytes })
    }

    /// Number of rows it claims.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Checks the message as the library of FlatBuffers does (R042): more than is read here.
    pub fn verify(&self) -> Result<()> {
        flatbuffer::verify_message(&self.bytes)
    }

    /// Where its buffers lie, each found to be as large as the rows need (R042).
    pub fn layout(&self, columns: &[(Arc<str>, ColumnType)]) -> Result<BatchLayout> {
        let (_, lists) = header(&self.bytes, &self.block)?;
        let body = self.block.body;
        if lists.nodes.len() != columns.len() {
            return Err(breach(42, format!("a batch has {} nodes for {} columns", lists.nodes.len(), columns.len())));
        }
        let mut buffers = Buffers { body, buffers: lists.buffers.iter(), variadic: lists.variadic.iter() };
        let mut layouts = Vec::new();
        layouts.try_reserve_exact(columns.len()).map_err(|_| too_many())?;
        for (node, (name, kind)) in lists.nodes.iter().zip(columns) {
            let refused = |what: Refusal| what.error(name);
            let (length, nulls) = pair(node);
            let nulls = u64::try_from(nulls).ok().filter(|nulls| *nulls <= self.rows);
            let nulls = nulls.ok_or_else(|| refused("has an impossible count of nulls".into()))?;
            if u64::try_from(length) != Ok(self.rows) {
                return Err(refused("has another length than its batch".into()));
            }
            layouts.push(buffers.column(*kind, self.rows, nulls).map_err(refused)?);
        }
        if !buffers.is_used_up() {
            return Err(breach(42, "a batch has buffers that belong to no column"));
        }
        Ok(BatchLayout { rows: self.rows, columns: layouts, body })
    }
}

/// Bytes before a description: the marker, and its length.
const PREFIX: u64 = 8;

/// Two numbers of 8 bytes: length and nulls of a node, place and length of a buffer.
type Pair = [u8; 16];

/// What a batch lists.
struct Lists<'a> {
    nodes: &'a [Pair],
    buffers: &'a [Pair],
    variadic: &'a [[u8; 8]],
}

/// The number of rows of a batch and what it lists, from the message that its block leads to.
fn header<'a>(bytes: &'a [u8], block: &Block) -> Result<(u64, Lists<'a>)> {
    const ROWS: usize = 0;
    const NODES: usize = 1;
    const BUFFERS: usize = 2;
    const COMPRESSION: usize = 3;
    const VARIADIC: usize = 4;
    if bytes.len() as u64 + PREFIX != block.message.len {
        return Err(breach(42, "a message has another length than the footer says"));
    }
    let other = || breach(42, "a block of the footer is not a batch");
    let message = Message::read(bytes, MessageHeader::RecordBatch, other)?;
    let batch = message.header;
    let rows = u64::try_from(batch.i64(ROWS, 0)?).map_err(|_| breach(42, "a batch has less than no rows"))?;
    let (nodes, buffers) = (batch.structs(NODES)?, batch.structs(BUFFERS)?);
    if batch.has(COMPRESSION) {
        return Err(breach(45, "a batch is compressed; the format stores metadata as it is"));
    }
    let lists = Lists { nodes, buffers, variadic: batch.structs(VARIADIC)? };
    if u64::try_from(message.body_bytes()?) != Ok(block.body.len) {
        return Err(breach(42, "the body of a batch has another length than the footer says"));
    }
    message.end()?;
    Ok((rows, lists))
}

fn pair(numbers: &Pair) -> (i64, i64) {
    let [a, b, c, d, e, f, g, h, second @ ..] = *numbers;
    (i64::from_le_bytes([a, b, c, d, e, f, g, h]), i64::from_le_bytes(second))
}

/// Why a column is not taken apart.
enum Refusal {
    /// R042.
    Breach(&'static str),
    /// It has more buffers than there is memory for.
    Memory,
}

impl From<&'static str> for Refusal {
    fn from(what: &'static str) -> Self {
        Self::Breach(what)
    }
}

impl Refusal {
    fn error(self, column: &str) -> Error {
        match self {
            Self::Breach(what) => breach(42, format!("column {column:?} {what}")),
            Self::Memory => too_many(),
        }
    }
}

fn too_many() -> Error {
    Error::new(Kind::Memory, "metadata.arrow has too many columns or buffers for the memory")
}

/// The buffers of a batch that no column has taken yet.
struct Buffers<'a> {
    body: Extent,
    buffers: std::slice::Iter<'a, Pair>,
    variadic: std::slice::Iter<'a, [u8; 8]>,
}

impl Buffers<'_> {
    fn is_used_up(&self) -> bool {
        self.buffers.len() == 0 && self.variadic.len() == 0
    }

    fn column(&mut self, kind: ColumnType, rows: u64, nulls: u64) -> std::result::Result<ColumnLayout, Refusal> {
        const SHORT: &str = "has a buffer that is shorter than its rows need";
        let bits = rows.div_ceil(8);
        let validity = Some(self.next()?).filter(|validity| validity.len > 0);
        if validity.map_or(nulls > 0, |validity| validity.len < bits) {
            return Err(SHORT.into());
        }
        let values = self.next()?;
        let views = matches!(kind, ColumnType::String | ColumnType::Binary);
        let needed = match kind {
            ColumnType::Number(DType::Bool) => Some(bits),
            _ => rows.checked_mul(width(kind)),
        };
        if needed.is_none_or(|needed| values.len < needed) {
            return Err(SHORT.into());
        }
        if views && values.len % VIEW != 0 {
            return Err("has a part of a view".into());
        }
        let mut data = Vec::new();
        if views {
            let count = self.variadic.next().ok_or("has no count of its data buffers")?;
            let count = usize::try_from(i64::from_le_bytes(*count)).ok().filter(|count| *count <= self.buffers.len());
            let count = count.ok_or("has an impossible count of data buffers")?;
            data.try_reserve_exact(count).map_err(|_| Refusal::Memory)?;
            for _ in 0..count {
                data.push(self.next()?);
            }
        }
        Ok(ColumnLayout { nulls, validity, values, data: data.into() })
    }

    fn next(&mut self) -> std::result::Result<Extent, &'static str> {
        let (at, len) = self.buffers.next().map(pair).ok_or("lacks a buffer")?;
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
    kind.stored().map_or(VIEW, |dtype| dtype.size() as u64)
}
