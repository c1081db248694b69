//! The same table as arrow-ipc encodes it, whole batches in memory: what the streaming writer is compared with.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, BooleanBuilder, StringViewBuilder};
use arrow_array::{ArrayRef, RecordBatch, make_array};
use arrow_buffer::{MutableBuffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_ipc::convert::IpcSchemaEncoder;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_ipc::{Block, FooterBuilder, MetadataVersion};
use flatbuffers::FlatBufferBuilder;

use super::*;
use crate::format::metadata::BATCH;
use crate::write::value::fixed_bytes;

/// The file of those rows.
pub(in crate::write) fn expected(columns: &Columns, rows: &[Vec<Value<'_>>]) -> Vec<u8> {
    let schema = arrow_schema(columns);
    let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5).unwrap();
    let mut tracker = DictionaryTracker::new(true);
    let generator = IpcDataGenerator::default();
    let mut file = b"ARROW1\0\0".to_vec();
    let message = generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
    append(&mut file, &message.ipc_message, &message.arrow_data);
    let mut blocks = Vec::new();
    for rows in rows.chunks(BATCH as usize) {
        let arrays = columns.iter().enumerate().map(|(place, (_, kind))| array(*kind, rows, place)).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap();
        let (_, message) = generator.encode(&batch, &mut tracker, &options, &mut Default::default()).unwrap();
        let start = file.len() as i64;
        let length = append(&mut file, &message.ipc_message, &message.arrow_data);
        blocks.push(Block::new(start, length, message.arrow_data.len() as i64));
    }
    file.extend([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let mut builder = FlatBufferBuilder::new();
    let dictionaries = builder.create_vector::<Block>(&[]);
    let batches = builder.create_vector(&blocks);
    let schema =
        IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker).schema_to_fb_offset(&mut builder, &schema);
    let mut footer = FooterBuilder::new(&mut builder);
    footer.add_version(MetadataVersion::V5);
    footer.add_schema(schema);
    footer.add_dictionaries(dictionaries);
    footer.add_recordBatches(batches);
    let root = footer.finish();
    builder.finish(root, None);
    file.extend_from_slice(builder.finished_data());
    file.extend((builder.finished_data().len() as i32).to_le_bytes());
    file.extend(b"ARROW1");
    file
}

fn append(file: &mut Vec<u8>, description: &[u8], body: &[u8]) -> i32 {
    let start = file.len();
    let end = (start + 8 + description.len()).next_multiple_of(64);
    file.extend([0xff; 4]);
    file.extend(((end - start - 8) as i32).to_le_bytes());
    file.extend_from_slice(description);
    file.resize(end, 0);
    file.extend_from_slice(body);
    (end - start) as i32
}

fn array(kind: ColumnType, rows: &[Vec<Value<'_>>], place: usize) -> ArrayRef {
    let values = rows.iter().map(|row| row[place]);
    match kind {
        ColumnType::Number(DType::Bool) => {
            let mut builder = BooleanBuilder::new();
            values.for_each(|value| builder.append_option(if let Value::Bool(v) = value { Some(v) } else { None }));
            Arc::new(builder.finish())
        }
        ColumnType::String => {
            let mut builder = StringViewBuilder::new();
            values.for_each(|value| builder.append_option(if let Value::Str(v) = value { Some(v) } else { None }));
            Arc::new(builder.finish())
        }
        ColumnType::Binary => {
            let mut builder = BinaryViewBuilder::new();
            values.for_each(|value| builder.append_option(if let Value::Bytes(v) = value { Some(v) } else { None }));
            Arc::new(builder.finish())
        }
        kind => {
            let (mut bytes, mut nulls) = (MutableBuffer::new(0), NullBufferBuilder::new(0));
            for value in values {
                let (word, width) = fixed_bytes(kind, value);
                bytes.extend_from_slice(&word[..width]);
                nulls.append(value != Value::Null);
            }
            let data = ArrayData::builder(kind.arrow()).len(nulls.len()).add_buffer(bytes.into());
            make_array(data.nulls(nulls.finish()).build().unwrap())
        }
    }
}
