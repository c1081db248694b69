//! The metadata table of a cache while it is written: rows gather in columns, full batches go to the file.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::arrow::ArrowFile;
use super::column::{Column, ours};
use super::disk::Disk;
use super::file::OutFile;
use super::value::{Value, value_problem};
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::format::manifest::MetadataEntry;
use crate::format::metadata::{BATCH, arrow_schema};
use crate::format::names::{WEIGHT, is_column_name};

/// Columns of a cache by name and type, in the writer's order.
pub(super) type Columns = [(Arc<str>, ColumnType)];

/// Rows that are copied at a time.
const PIECE: usize = 16384;

/// The open table.
pub(super) struct Table {
    kinds: Vec<(Arc<str>, ColumnType)>,
    columns: Vec<Column>,
    rows: u64,
    schema: SchemaRef,
    file: ArrowFile,
}

impl Table {
    /// Creates the file for columns that were checked by [`check_columns`].
    pub(super) fn create(disk: &Disk, path: &Path, kinds: &Columns) -> Result<Self> {
        let schema = arrow_schema(kinds);
        let file = ArrowFile::create(OutFile::create(disk, path.to_path_buf())?, schema.clone())?;
        Ok(Self { kinds: kinds.to_vec(), columns: fresh(kinds), rows: 0, schema, file })
    }

    /// Appends a row that was checked.
    pub(super) fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value)?;
        }
        self.rows += 1;
        if self.rows == BATCH { self.flush() } else { Ok(()) }
    }

    /// Appends rows that were read from a file with the same columns, and validated there. `pause` is called now and
    /// then; its error ends it.
    pub(super) fn extend(&mut self, rows: &RecordBatch, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let mut done = 0;
        while done < rows.num_rows() {
            let room = (BATCH - self.rows) as usize;
            let piece = rows.slice(done, room.min(PIECE).min(rows.num_rows() - done));
            for (column, array) in self.columns.iter_mut().zip(piece.columns()) {
                column.extend(array)?;
            }
            done += piece.num_rows();
            self.rows += piece.num_rows() as u64;
            if self.rows == BATCH {
                self.flush()?;
            }
            pause()?;
        }
        Ok(())
    }

    /// Writes what is left and makes the file durable.
    pub(super) fn finish(mut self) -> Result<MetadataEntry> {
        if self.rows > 0 {
            self.flush()?;
        }
        self.file.finish()
    }

    fn flush(&mut self) -> Result<()> {
        // New columns for every batch, so that nothing of one batch shows in the bytes of the next.
        let full = std::mem::replace(&mut self.columns, fresh(&self.kinds));
        let arrays = full.into_iter().map(Column::finish).collect::<Result<Vec<_>>>()?;
        self.rows = 0;
        self.file.write(&RecordBatch::try_new(self.schema.clone(), arrays).map_err(|e| ours(&e))?)
    }
}

fn fresh(kinds: &Columns) -> Vec<Column> {
    kinds.iter().map(|(_, kind)| Column::new(*kind)).collect()
}

/// Refuses columns that a cache cannot have beside fields of those names.
pub(super) fn check_columns<'a>(columns: &Columns, fields: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    for (place, (name, kind)) in columns.iter().enumerate() {
        let problem = if !is_column_name(name) {
            "is no name for a column: 1 to 255 bytes, not cache_id or sample_id, no leading _, no U+0000"
        } else if fields.clone().any(|field| field == &**name) {
            "is a field's name, too; a sample has one value by each name"
        } else if columns.iter().take(place).any(|(other, _)| other == name) {
            "is there twice"
        } else if &**name == WEIGHT && *kind != ColumnType::Number(DType::Float64) {
            "holds the stored weights, and those are float64"
        } else {
            continue;
        };
        return Err(Error::new(Kind::Schema, format!("metadata column {name:?} {problem}")));
    }
    Ok(())
}

/// Refuses a row that does not fit its columns.
pub(super) fn check_row(kinds: &Columns, row: &[Value<'_>]) -> Result<()> {
    if kinds.len() != row.len() {
        return Err(Error::new(Kind::Internal, "a row has another number of values than there are columns"));
    }
    kinds.iter().zip(row).try_for_each(|((name, kind), value)| check_value(name, *kind, *value))
}

/// Refuses a value that does not fit its column.
pub(super) fn check_value(name: &Arc<str>, kind: ColumnType, value: Value<'_>) -> Result<()> {
    match value_problem(kind, value).or_else(|| weight_problem(name, value)) {
        Some(problem) => Err(Error::new(Kind::Schema, problem).in_field(name)),
        None => Ok(()),
    }
}

fn weight_problem(name: &str, value: Value<'_>) -> Option<String> {
    let shown = match (name, value) {
        (WEIGHT, Value::Null) => "None".to_string(),
        (WEIGHT, Value::Float(v)) if !v.is_finite() || v < 0.0 => format!("{v:?}"),
        (WEIGHT, Value::Int(v)) if v < 0 => v.to_string(),
        _ => return None,
    };
    Some(format!("a weight is a finite number that is not negative, and this is {shown}"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type};
    use arrow_ipc::reader::FileReader;
    use arrow_ipc::{MetadataVersion, root_as_footer};

    use super::*;

    fn columns(kinds: &[(&str, &str)]) -> Vec<(Arc<str>, ColumnType)> {
        kinds.iter().map(|(name, kind)| ((*name).into(), ColumnType::parse(kind).unwrap())).collect()
    }

    fn written(kinds: &[(&str, &str)], rows: usize, row: impl for<'a> Fn(usize, &'a str) -> Vec<Value<'a>>) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metadata.arrow");
        let mut table = Table::create(&Disk::default(), &path, &columns(kinds)).unwrap();
        for number in 0..rows {
            let text = format!("{number} is a number and this string is longer than a view");
            let row = row(number, &text);
            check_row(&columns(kinds), &row).unwrap();
            table.push(&row).unwrap();
        }
        let MetadataEntry { bytes, chunks } = table.finish().unwrap();
        let file = std::fs::read(path).unwrap();
        assert_eq!(bytes as usize, file.len());
        assert_eq!(chunks.len() as u64, bytes.div_ceil(crate::format::manifest::CHUNK));
        file
    }

    #[test]
    fn rows_come_back_from_batches_of_fixed_length() {
        let rows = BATCH as usize + 3;
        let file = written(&[("n", "int32"), ("s", "string"), ("flag", "bool")], rows, |i, text| {
            vec![
                Value::Int(i as i128),
                if i % 7 == 0 { Value::Null } else { Value::Str(text) },
                Value::Bool(i % 2 == 0),
            ]
        });
        let reader = FileReader::try_new(Cursor::new(file), None).unwrap();
        let batches: Vec<_> = reader.map(|batch| batch.unwrap()).collect();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [BATCH as usize, 3]);
        let last = batches.last().unwrap();
        assert_eq!(last.column(0).as_primitive::<Int32Type>().value(2), 262_146);
        assert!(last.column(1).as_string_view().value(2).starts_with("262146 is"));
        assert!(last.column(2).as_boolean().value(2));
        assert_eq!(last.column(0).nulls(), None);
    }

    #[test]
    fn the_schema_is_at_byte_8_and_buffers_are_aligned_to_64() {
        let file =
            written(&[("a", "uint8"), ("b", "string")], 5, |i, text| vec![Value::Int(i as i128), Value::Str(text)]);
        assert_eq!(&file[..12], b"ARROW1\0\0\xff\xff\xff\xff");
        let length = i32::from_le_bytes(file[file.len() - 10..file.len() - 6].try_into().unwrap()) as usize;
        let footer = root_as_footer(&file[file.len() - 10 - length..file.len() - 10]).unwrap();
        assert_eq!(footer.version(), MetadataVersion::V5);
        assert!(footer.custom_metadata().is_none() && footer.dictionaries().unwrap().is_empty());
        assert!(footer.schema().unwrap().custom_metadata().is_none());
        let block = footer.recordBatches().unwrap().get(0);
        let body = block.offset() + i64::from(block.metaDataLength());
        assert_eq!((block.offset() % 64, body % 64, block.bodyLength() % 64), (0, 0, 0));
        let message = &file[block.offset() as usize + 8..body as usize];
        let message = arrow_ipc::root_as_message(message).unwrap();
        let batch = message.header_as_record_batch().unwrap();
        assert!(batch.compression().is_none() && message.custom_metadata().is_none());
        let buffers: Vec<_> = batch.buffers().unwrap().iter().map(|b| (b.offset() % 64, b.length())).collect();
        assert!(buffers.iter().all(|(offset, _)| *offset == 0));
        assert_eq!(buffers.iter().map(|b| b.1).collect::<Vec<_>>()[..4], [0, 5, 0, 80], "no validity where no null is");
        assert_eq!(batch.variadicBufferCounts().unwrap().iter().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn a_table_without_rows_has_no_batches_and_equal_rows_give_equal_bytes() {
        let write = |rows| {
            written(&[("x", "float64"), ("b", "binary")], rows, |i, text| {
                vec![Value::Float(i as f64), Value::Bytes(text.as_bytes())]
            })
        };
        let reader = FileReader::try_new(Cursor::new(write(0)), None).unwrap();
        assert_eq!(reader.num_batches(), 0);
        assert_eq!(write(1000), write(1000));
        let batch = FileReader::try_new(Cursor::new(write(2)), None).unwrap().next().unwrap().unwrap();
        assert_eq!(batch.column(0).as_primitive::<Float64Type>().values(), &[0.0, 1.0]);
    }

    #[test]
    fn columns_that_a_cache_cannot_have_are_refused() {
        let refused = |kinds: &[(&str, &str)]| check_columns(&columns(kinds), ["image", "x"].into_iter()).is_err();
        assert!(!refused(&[]) && !refused(&[("Image", "int8"), ("é ü", "date"), ("weight", "float64")]));
        for bad in ["_x", "", "cache_id", "sample_id", "a\0b", "image", &"é".repeat(128)] {
            assert!(refused(&[(bad, "int8")]), "{bad:?}");
        }
        assert!(refused(&[("a", "int8"), ("a", "int16")]));
        assert!(refused(&[("weight", "float32")]));
    }

    #[test]
    fn weights_are_finite_and_not_negative() {
        let kinds = columns(&[("weight", "float64"), ("other", "float64")]);
        for good in [Value::Float(0.0), Value::Float(-0.0), Value::Float(5e-324), Value::Int(7)] {
            check_row(&kinds, &[good, Value::Null]).unwrap();
        }
        for bad in
            [Value::Null, Value::Float(f64::NAN), Value::Float(f64::INFINITY), Value::Float(-1.0), Value::Int(-1)]
        {
            let error = check_row(&kinds, &[bad, Value::Float(-1.0)]).unwrap_err();
            assert_eq!(error.place().field.as_deref(), Some("weight"));
        }
    }
}
