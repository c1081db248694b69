//! An Arrow IPC file, written front to back, with the digests of its chunks.
//!
//! Messages are encoded by arrow-ipc; the framing is here. Its own `FileWriter` aligns the first message as it
//! aligns buffers, so it can put it at byte 8 or align buffers to 64 bytes, but not both.

use arrow_array::RecordBatch;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, EncodedData, IpcDataGenerator, IpcWriteOptions};
use arrow_ipc::{Block, FooterBuilder, MetadataVersion};
use arrow_schema::{Schema, SchemaRef};
use flatbuffers::FlatBufferBuilder;

use super::column::ours;
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
    options: IpcWriteOptions,
    blocks: Vec<Block>,
}

impl ArrowFile {
    /// Writes the head of the file: magic and schema.
    pub(super) fn create(file: OutFile, schema: SchemaRef) -> Result<Self> {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5).map_err(|e| ours(&e))?;
        let mut this = Self { file: Digested::new(file), schema, options, blocks: Vec::new() };
        this.file.write(MAGIC)?;
        this.file.write(&[0; 2])?;
        let mut tracker = DictionaryTracker::new(true);
        let generator = IpcDataGenerator::default();
        let message = generator.schema_to_bytes_with_dictionary_tracker(&this.schema, &mut tracker, &this.options);
        this.message(&message)?;
        Ok(this)
    }

    /// Appends one batch.
    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut tracker = DictionaryTracker::new(true);
        let (_, message) = IpcDataGenerator::default()
            .encode(batch, &mut tracker, &self.options, &mut Default::default())
            .map_err(|e| ours(&e))?;
        let block = self.message(&message)?;
        self.blocks.push(block);
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

    /// A message is a prefix of 8 bytes, its description and its body, which begins and ends aligned.
    fn message(&mut self, message: &EncodedData) -> Result<Block> {
        let start = self.file.file.len();
        let described = start + 8 + message.ipc_message.len() as u64;
        let pad = (described.next_multiple_of(ALIGNMENT as u64) - described) as usize;
        let length = int(message.ipc_message.len() + pad)?;
        self.file.write(&CONTINUATION)?;
        self.file.write(&length.to_le_bytes())?;
        self.file.write(&message.ipc_message)?;
        self.file.write(padding(pad))?;
        self.file.write(&message.arrow_data)?;
        Ok(Block::new(start as i64, length + 8, message.arrow_data.len() as i64))
    }
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
