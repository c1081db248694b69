//! The metadata table of a cache: opened at first use, proven and checked as far as it is read.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use once_cell::race::OnceBox;

use super::by_name::ByName;
use super::cache::METADATA;
use super::content::ReadFile;
use super::directory::{Directory, check_length};
use super::io::Access;
use super::maps::Maps;
use crate::dtype::ColumnType;
use crate::error::{Error, Kind, Result};
use crate::format::manifest::Manifest;
use crate::format::metadata::{
    BATCH, BatchLayout, BatchMessage, Chunks, ColumnLayout, Outline, arrow_schema, check_columns, record_batch,
};
use crate::format::names::WEIGHT;

/// One row per sample, in their order. A cache without metadata has a table without columns.
pub struct Table {
    path: Arc<str>,
    rows: u64,
    /// The file, if it is mapped.
    mapped: Option<File>,
    chunks: Chunks,
    outline: Outline,
    by_name: ByName,
    schema: SchemaRef,
    /// Of each batch of which single values were taken.
    layouts: Vec<OnceBox<BatchLayout>>,
    batches: OnceBox<Vec<RecordBatch>>,
    pub(super) weights: OnceBox<Option<Arc<Vec<f64>>>>,
}

impl Table {
    /// Opens the file (R030) and reads its outline (R041, R042, R045).
    pub(super) fn open(
        directory: &Arc<Directory>,
        access: Access,
        maps: &'static Maps,
        manifest: &Manifest,
        path: &Arc<str>,
    ) -> Result<Self> {
        let Some(entry) = &manifest.metadata else {
            return Self::of(path, manifest.samples, Chunks::new(Bytes::new(), &[]), Outline::none());
        };
        let mapped = match access {
            Access::Mmap => {
                let file = directory.open_regular(METADATA, entry.bytes)?;
                maps.map(&file, METADATA, entry.bytes)?.map(|map| (map, file))
            }
            Access::Pread => None,
        };
        let (chunks, mapped) = match mapped {
            Some((map, file)) => (Chunks::new(Bytes::from_owner(map), &entry.chunks), Some(file)),
            None => {
                let file = ReadFile::new(directory.clone(), METADATA.into(), entry.bytes, None);
                let read = move |from, out: &mut [u8]| file.read(from, out);
                (Chunks::read_by(Box::new(read), entry.bytes, &entry.chunks), None)
            }
        };
        let fields = manifest.fields.iter().map(|entry| &*entry.field.name).collect();
        let table = Self::new(path, manifest.samples, chunks, &fields)?;
        Ok(Self { mapped, ..table })
    }

    /// The table in a file, of which there must be so many rows and no column is called as one of `fields`. Reads its
    /// outline (R041, R042, R045).
    pub(crate) fn new(path: &Arc<str>, rows: u64, chunks: Chunks, fields: &BTreeSet<&str>) -> Result<Self> {
        let outline = Outline::read(&chunks, fields)?;
        let table = Self::of(path, rows, chunks, outline)?;
        // With another number of batches than the rows need, what breaks which rule depends on all of them.
        if table.outline.blocks.len() as u64 != table.rows.div_ceil(BATCH) {
            return Err(table.miscounted());
        }
        Ok(table)
    }

    fn of(path: &Arc<str>, rows: u64, chunks: Chunks, outline: Outline) -> Result<Self> {
        Ok(Self {
            path: path.clone(),
            rows,
            mapped: None,
            by_name: ByName::of(&outline.columns)?,
            schema: arrow_schema(&outline.columns),
            layouts: outline.blocks.iter().map(|_| OnceBox::new()).collect(),
            batches: OnceBox::new(),
            weights: OnceBox::new(),
            chunks,
            outline,
        })
    }

    /// Name and type of each column, in the file's order.
    pub fn columns(&self) -> &[(Arc<str>, ColumnType)] {
        &self.outline.columns
    }

    /// Number and type of the column of that name.
    pub fn column(&self, name: &str) -> Option<(usize, ColumnType)> {
        let number = self.by_name.find(self.columns(), name)?;
        self.columns().get(number).map(|(_, kind)| (number, *kind))
    }

    /// The columns as Arrow knows them.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The whole table, every chunk proven and every value validated (R041 to R046), over the file itself if it is
    /// mapped: but for views and bits nothing is copied that is aligned as Arrow wants it. No batches where there are no columns.
    pub fn batches(&self) -> Result<&[RecordBatch]> {
        self.batches_unless(&mut || Ok(()))
    }

    /// The same. `pause` is called now and then; its error ends it.
    pub fn batches_unless(&self, pause: &mut dyn FnMut() -> Result<()>) -> Result<&[RecordBatch]> {
        let read = || self.read_batches(pause).map(Box::new).map_err(|e| self.place(e));
        let batches = self.batches.get_or_try_init(read)?;
        self.check_whole().map_err(|e| self.place(e))?;
        Ok(batches)
    }

    /// Checks that nothing of the file was cut off (R030). To be asked after values were taken from it: where a mapped
    /// file ends within a page, the rest of that page reads as zeros, and chunks are proven once.
    pub(crate) fn check_whole(&self) -> Result<()> {
        match &self.mapped {
            Some(file) => check_length(file, METADATA, self.chunks.len()),
            None => Ok(()),
        }
    }

    fn read_batches(&self, pause: &mut dyn FnMut() -> Result<()>) -> Result<Vec<RecordBatch>> {
        self.chunks.prove_all()?;
        self.check_messages(pause)?;
        let batches = (0..self.layouts.len()).map(|batch| self.read_batch(batch, pause)).collect::<Result<_>>()?;
        self.check_weights()?;
        Ok(batches)
    }

    /// Validates everything but the weights (R042 to R045), column by column of each batch, of which none is kept. `pause`
    /// is called now and then; its error ends it.
    pub(crate) fn validate(&self, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.check_messages(pause)?;
        for batch in 0..self.layouts.len() {
            self.message(batch)?.verify()?;
            check_columns(&self.chunks, &self.read_layout(batch)?, &self.outline.columns, pause)?;
        }
        Ok(())
    }

    /// All checks of the whole that come before those of values.
    fn check_messages(&self, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        for batch in 0..self.layouts.len() {
            pause()?;
            self.message(batch)?;
        }
        if !self.columns().is_empty() {
            Outline::verify(&self.chunks)?;
        }
        Ok(())
    }

    /// How many batches there are.
    pub(crate) fn batch_count(&self) -> u64 {
        self.layouts.len() as u64
    }

    /// One batch, proven and validated (R041 to R046). Unlike [`Table::batches`] it is not kept.
    pub(crate) fn batch(&self, batch: u64) -> Result<RecordBatch> {
        let read = || {
            let read = self.read_batch(batch as usize, &mut || Ok(()))?;
            self.check_weights_of(batch).map_err(|error| error.in_field(&WEIGHT.into()))?;
            Ok(read)
        };
        read().map_err(|error| self.place(error))
    }

    fn read_batch(&self, batch: usize, pause: &mut dyn FnMut() -> Result<()>) -> Result<RecordBatch> {
        self.message(batch)?.verify()?;
        record_batch(&self.chunks, &self.read_layout(batch)?, &self.outline.columns, &self.schema, pause)
    }

    /// The message of a batch, which has as many rows as it must (R043, R044).
    fn message(&self, batch: usize) -> Result<BatchMessage<'_>> {
        let block = self.outline.blocks.get(batch).ok_or_else(lost)?;
        let message = BatchMessage::read(&self.chunks, block)?;
        let expected = self.rows.saturating_sub(batch as u64 * BATCH).min(BATCH);
        if message.rows() == expected { Ok(message) } else { Err(self.miscounted()) }
    }

    /// Says which rule the row counts of the batches break.
    fn miscounted(&self) -> Error {
        let sum = || {
            // Whatever lies in several chunks is in one place from here on, and need not be put together for each block.
            self.chunks.prove_all()?;
            let messages = self.outline.blocks.iter().map(|block| BatchMessage::read(&self.chunks, block));
            messages.map(|message| message.map(|message| u128::from(message.rows()))).sum::<Result<u128>>()
        };
        let sum = match sum() {
            Ok(sum) => sum,
            Err(error) => return error,
        };
        if sum != u128::from(self.rows) {
            let message = format!("metadata.arrow has {sum} rows, the cache {} samples", self.rows);
            return Error::rule(Kind::Format, 43, message);
        }
        let message =
            format!("metadata.arrow is not in batches of {BATCH} rows; it has {} of them", self.layouts.len());
        Error::rule(Kind::Format, 44, message)
    }

    /// Where the buffers of a batch lie (R042), read anew and not kept: those of all batches can take far more memory
    /// than the file, whose blocks may share a message.
    pub(super) fn read_layout(&self, batch: usize) -> Result<BatchLayout> {
        self.message(batch)?.layout(&self.outline.columns)
    }

    /// The same, kept from the first use on. `look` is called if it is not known yet; its error ends it.
    fn layout(&self, batch: usize, look: &dyn Fn() -> Result<()>) -> Result<&BatchLayout> {
        let slot = self.layouts.get(batch).ok_or_else(lost)?;
        slot.get_or_try_init(|| {
            look()?;
            self.read_layout(batch).map(Box::new)
        })
    }

    /// The batch that holds a row, the row's number in it, and where the column lies there. `look` is called if that is
    /// not known yet; its error ends it.
    pub(super) fn locate(
        &self,
        column: usize,
        row: u64,
        look: &dyn Fn() -> Result<()>,
    ) -> Result<(&ColumnLayout, u64)> {
        if row >= self.rows {
            let message = format!("there is no sample {row}: the cache has {}", self.rows);
            return Err(Error::new(Kind::Index, message));
        }
        let layout = self.layout((row / BATCH) as usize, look)?;
        Ok((layout.columns.get(column).ok_or_else(lost)?, row % BATCH))
    }

    pub(super) fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    pub(super) fn layouts(&self) -> impl Iterator<Item = Result<BatchLayout>> {
        (0..self.layouts.len()).map(|batch| self.read_layout(batch))
    }

    pub(super) fn place(&self, error: Error) -> Error {
        error.while_reading().in_cache(&self.path)
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "there is no such batch or column of metadata")
}

#[cfg(test)]
mod tests {
    use super::super::Cache;
    use super::*;
    use crate::dtype::DType;
    use crate::field::{Codec, Field, FieldKind};
    use crate::write::{Earlier, Encoding, Record, Value, Writer, WriterOptions};

    #[test]
    fn where_buffers_lie_is_kept_for_single_values_only() {
        let root = tempfile::tempdir().unwrap();
        let kind = FieldKind::Dense([].into());
        let field = Field { name: "x".into(), kind, dtype: DType::UInt8, codec: Codec::Raw, delta: 0 };
        let options = WriterOptions {
            fields: vec![(field, Encoding { level: 3, dictionary: None })],
            metadata: vec![(WEIGHT.into(), ColumnType::Number(DType::Float64))],
            fingerprint: None,
            attributes: crate::format::json::Value::Object(Default::default()),
            samples_per_shard: 1,
            shard_bytes: 1 << 20,
            replace: false,
            threads: 1,
            earlier: Earlier::Ask,
        };
        let mut writer = Writer::create(&root.path().join("c"), options).unwrap();
        writer.append(&[Record { bytes: &[7], shape: &[] }], &[Value::Float(0.5)], &mut || Ok(())).unwrap();
        writer.publish(&mut || Ok(())).unwrap();
        let table = Cache::open(&root.path().join("c"), true).unwrap().table().unwrap();
        table.validate(&mut || Ok(())).unwrap();
        table.weight_breaches(&mut Err).unwrap();
        table.batch(0).unwrap();
        table.batches().unwrap();
        assert_eq!((table.null_count(0).unwrap(), table.weights().unwrap().unwrap().len()), (0, 1));
        assert!(table.layouts.iter().all(|layout| layout.get().is_none()));
        assert!(!table.is_null(0, 0).unwrap());
        assert!(table.layouts.iter().all(|layout| layout.get().is_some()));
    }
}
