//! An Arrow IPC file, written front to back, with the digests of its chunks.
//!
//! Arrow's own writers want a whole batch in memory and copy it once more. Here the message of a batch is made from the
//! lengths of its buffers alone, which then go to the file piece by piece. What comes out is what arrow-ipc would make of the
//! same batch, but for the framing: its `FileWriter` aligns the first message as it aligns buffers, so it can put it at
//! byte 8 or align buffers to 64 bytes, but not both.

use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_ipc::{
    Block, Buffer, FieldNode, FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder,
};
use arrow_schema::{Schema, SchemaRef};
use flatbuffers::FlatBufferBuilder;

use super::column::{Layout, ours};
use super::file::OutFile;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;
use crate::format::manifest::{CHUNK, MetadataEntry};

/// Every buffer begins at a multiple of this in the file.
const ALIGNMENT: usize = 64;
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The file, to which batches of one schema are appended.
pub(super) struct ArrowFile {
    file: Digested,
    schema: SchemaRef,
    blocks: Vec<Block>,
    /// Where the open buffer begins.
    buffer: u64,
}

impl ArrowFile {
    /// Writes the head of the file: magic and schema.
    pub(super) fn create(file: OutFile, schema: SchemaRef) -> Result<Self> {
        let mut this = Self { file: Digested::new(file), schema, blocks: Vec::new(), buffer: 0 };
        this.file.write(MAGIC)?;
        this.file.write(&[0; 2])?;
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5).map_err(|e| ours(&e))?;
        let mut tracker = DictionaryTracker::new(true);
        let generator = IpcDataGenerator::default();
        let message = generator.schema_to_bytes_with_dictionary_tracker(&this.schema, &mut tracker, &options);
        this.message(&message.ipc_message)?;
        Ok(this)
    }

    /// Begins a batch of so many rows. All buffers of its columns have to follow, each with an end.
    pub(super) fn begin_batch(&mut self, rows: u64, columns: &[Layout]) -> Result<()> {
        let (message, body) = batch_message(rows, columns);
        let start = self.file.len();
        let length = self.message(&message)?;
        self.blocks.push(Block::new(start as i64, length, body));
        self.buffer = self.file.len();
        Ok(())
    }

    /// Appends to the open buffer.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write(bytes)
    }

    /// Bytes of the open buffer.
    pub(super) fn in_buffer(&self) -> u64 {
        self.file.len() - self.buffer
    }

    /// Ends the open buffer and begins the next one.
    pub(super) fn end_buffer(&mut self) -> Result<()> {
        self.align()?;
        self.buffer = self.file.len();
        Ok(())
    }

    /// Writes the footer, makes the file durable and returns what the manifest says of it.
    pub(super) fn finish(mut self) -> Result<MetadataEntry> {
        self.file.write(&CONTINUATION)?;
        self.file.write(&[0; 4])?;
        let footer = footer(&self.schema, &self.blocks);
        self.file.write(&footer)?;
        self.file.write(&int(footer.len())?.to_le_bytes())?;
        self.file.write(MAGIC)?;
        self.file.finish()
    }

    /// A prefix of 8 bytes and the description of a message, whose body begins aligned. Returns how long both are.
    fn message(&mut self, description: &[u8]) -> Result<i32> {
        let described = self.file.len() + 8 + description.len() as u64;
        let pad = described.next_multiple_of(ALIGNMENT as u64) - described;
        let length = int(description.len() + pad as usize)?;
        self.file.write(&CONTINUATION)?;
        self.file.write(&length.to_le_bytes())?;
        self.file.write(description)?;
        self.align()?;
        Ok(length + 8)
    }

    fn align(&mut self) -> Result<()> {
        let pad = self.file.len().next_multiple_of(ALIGNMENT as u64) - self.file.len();
        self.file.write(padding(pad as usize))
    }
}

/// The description of a batch, and the length of its body.
fn batch_message(rows: u64, columns: &[Layout]) -> (Vec<u8>, i64) {
    let nodes: Vec<_> = columns.iter().map(|column| FieldNode::new(rows as i64, column.nulls as i64)).collect();
    let mut body = 0;
    let mut place = |length: u64| {
        let buffer = Buffer::new(body as i64, length as i64);
        body += length.next_multiple_of(ALIGNMENT as u64);
        buffer
    };
    let buffers: Vec<_> = columns.iter().flat_map(Layout::buffers).map(&mut place).collect();
    let variadic: Vec<_> = columns.iter().filter_map(|column| Some(column.strings.as_ref()?.len() as i64)).collect();
    let mut builder = FlatBufferBuilder::new();
    let buffers = builder.create_vector(&buffers);
    let nodes = builder.create_vector(&nodes);
    let variadic = (!variadic.is_empty()).then(|| builder.create_vector(&variadic));
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_length(rows as i64);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    if let Some(variadic) = variadic {
        batch.add_variadicBufferCounts(variadic);
    }
    let batch = batch.finish();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_bodyLength(body as i64);
    message.add_header(batch.as_union_value());
    let root = message.finish();
    builder.finish(root, None);
    (builder.finished_data().to_vec(), body as i64)
}

fn padding(bytes: usize) -> &'static [u8] {
    [0; ALIGNMENT].get(..bytes).unwrap_or_default()
}

fn footer(schema: &Schema, blocks: &[Block]) -> Vec<u8> {
    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector::<Block>(&[]);
    let batches = builder.create_vector(blocks);
    let mut tracker = DictionaryTracker::new(true);
    let schema =
        IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker).schema_to_fb_offset(&mut builder, schema);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let root = footer.finish();
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

fn int(length: usize) -> Result<i32> {
    i32::try_from(length).map_err(|_| Error::new(Kind::Internal, "an Arrow message of more than 2 GiB beside its body"))
}

/// A file whose chunks are digested as it grows.
struct Digested {
    file: OutFile,
    hasher: blake3::Hasher,
    /// Bytes of the open chunk.
    filled: u64,
    chunks: Vec<Digest>,
}

impl Digested {
    fn new(file: OutFile) -> Self {
        Self { file, hasher: blake3::Hasher::new(), filled: 0, chunks: Vec::new() }
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = (CHUNK - self.filled).min(rest.len() as u64) as usize;
            let (now, later) = rest.split_at(room);
            self.hasher.update(now);
            self.filled += room as u64;
            if self.filled == CHUNK {
                self.close_chunk();
            }
            rest = later;
        }
        self.file.write(bytes)
    }

    fn close_chunk(&mut self) {
        self.chunks.push(*self.hasher.finalize().as_bytes());
        self.hasher.reset();
        self.filled = 0;
    }

    fn finish(mut self) -> Result<MetadataEntry> {
        if self.filled > 0 {
            self.close_chunk();
        }
        Ok(MetadataEntry { bytes: self.file.finish()?, chunks: self.chunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_digested_wherever_writes_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let mut file = Digested::new(OutFile::create(&crate::write::Disk::default(), path.clone()).unwrap());
        let size = CHUNK as usize;
        for piece in [1, size - 2, 2, size - 1, 2 * size + 5] {
            file.write(&vec![piece as u8; piece]).unwrap();
        }
        let MetadataEntry { bytes, chunks } = file.finish().unwrap();
        let written = std::fs::read(&path).unwrap();
        assert_eq!(bytes as usize, written.len());
        let expected: Vec<_> = written.chunks(size).map(|chunk| *blake3::hash(chunk).as_bytes()).collect();
        assert_eq!((expected.len(), chunks), (5, expected));
    }
}
