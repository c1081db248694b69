//! The writer: one thread, samples in order, straight into the files.
//!
//! A sample is judged as a whole before a byte of it is stored, so a refused one leaves the writer as it was.
//! Once an operation on a file has failed the run is over: after an error of fsync the kernel may have dropped
//! what was to be written, and a second fsync would report success.

use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::file::OutFile;
use super::metadata::Table;
use super::plan::WriterOptions;
use super::publish::publish;
use super::samples::Samples;
use super::shard::Shard;
use super::size::ManifestSize;
use super::value::{Record, Value, record_problem};
use super::work::Work;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::checksum::{self, Digest};
use crate::format::codec::Encoder;
use crate::format::header;
use crate::format::manifest::Manifest;
use crate::format::shard::HEADER;

/// So many bytes are digested and compressed in some microseconds.
const BRIEF: usize = 4096;

/// A cache that is being written. Dropped before [`Writer::publish`], it leaves nothing behind.
pub struct Writer {
    open: Option<Box<Open>>,
    /// What ended the run, if something did.
    failure: Option<String>,
    samples: u64,
}

/// A cache that was published.
#[derive(Clone, Debug)]
pub struct Published {
    /// The digest of its manifest.
    pub digest: Digest,
    /// Its samples.
    pub samples: u64,
    /// What went wrong after it was published, while tidying up.
    pub warnings: Vec<String>,
}

struct Open {
    work: Work,
    options: WriterOptions,
    manifest: Manifest,
    size: ManifestSize,
    encoders: Vec<Encoder>,
    table: Option<Table>,
    /// The open shard: one file a field, and how many samples are in all of them. Empty between shards.
    shard: Vec<Shard>,
    in_shard: u64,
}

impl Writer {
    /// Locks the work directory beside `target` and makes what a cache without samples has. The last part of
    /// `target` is the cache's name.
    pub fn create(target: &Path, options: WriterOptions) -> Result<Self> {
        Self::create_on(Disk::default(), target, options)
    }

    /// The same, with a disk that somebody may observe.
    pub fn create_on(disk: Disk, target: &Path, options: WriterOptions) -> Result<Self> {
        let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut manifest = options.manifest(name)?;
        let size = ManifestSize::new(manifest.to_bytes().len() as u64);
        let encoders = options.fields.iter().map(|(field, encoding)| {
            let encoder = Encoder::new(field, encoding.level, encoding.body());
            encoder.map_err(|error| error.in_field(&field.name))
        });
        let encoders = encoders.collect::<Result<Vec<_>>>()?;
        let mut work = Work::open(disk, target, options.replace)?;
        work.clear()?;
        work.make_cache()?;
        for (field, encoding) in &options.fields {
            work.disk().make_directory(&directory(&work, field))?;
            if let Some(body) = encoding.body() {
                write_dictionary(&work, field, body)?;
            }
        }
        let table = match &*options.metadata {
            [] => None,
            columns => Some(Table::create(work.disk(), &work.cache().join("metadata.arrow"), columns)?),
        };
        let open = Open { work, options, manifest, size, encoders, table, shard: Vec::new(), in_shard: 0 };
        Ok(Self { open: Some(Box::new(open)), failure: None, samples: 0 })
    }

    /// Appends a sample: a record for each field and a value for each column, in order.
    ///
    /// An error of kind `Schema` names the field or column and leaves the writer as it was. Any other one ends
    /// the run, and what was written is removed.
    pub fn append(
        &mut self,
        records: &[Record<'_>],
        row: &[Value<'_>],
        interrupt: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let sample = self.samples;
        let open = self.open()?;
        open.check(records, row).map_err(|error| error.at_sample(sample))?;
        interrupt()?;
        self.store(|open| open.store(records, row))?;
        self.samples += 1;
        Ok(())
    }

    /// Appends many samples, in order. All are judged before one is stored; apart from that it is as if they were
    /// appended one by one.
    pub fn append_batch(&mut self, samples: &Samples<'_>, interrupt: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let first = self.samples;
        let open = self.open()?;
        samples.check(open.options.fields.iter().map(|(field, _)| field), &open.options.metadata, first)?;
        interrupt()?;
        self.store(|open| (0..samples.count).try_for_each(|place| open.store_one_of(samples, place)))?;
        self.samples += samples.count as u64;
        Ok(())
    }

    /// Whether appending this sample takes some microseconds: nothing large is encoded or copied, no file is touched.
    pub fn is_brief(&self, records: &[Record<'_>], row: &[Value<'_>]) -> bool {
        self.open.as_ref().is_none_or(|open| open.is_brief(records, row))
    }

    /// Samples in the cache so far, durable ones of an earlier run included: the number of the next sample.
    pub fn count(&self) -> u64 {
        self.samples
    }

    /// Samples that survive a crash.
    pub fn durable(&self) -> u64 {
        0
    }

    /// Durable samples taken over from an earlier run.
    pub fn resumed(&self) -> u64 {
        0
    }

    /// Why durable samples of an earlier run, or some of them, were not used. None if there were none or all are.
    pub fn restarted(&self) -> Option<&str> {
        None
    }

    /// Completes the cache and shows it at the target. Success is reported only once it is durable.
    ///
    /// `interrupt` is called now and then meanwhile; its error ends the run.
    pub fn publish(mut self, interrupt: &mut dyn FnMut() -> Result<()>) -> Result<Published> {
        self.open()?;
        interrupt()?;
        self.open.take().ok_or_else(lost)?.publish()
    }

    fn store(&mut self, store: impl FnOnce(&mut Open) -> Result<()>) -> Result<()> {
        // Out of its place meanwhile, so that a panic ends the run, too: some files would have a record more than others.
        let mut open = self.open.take().ok_or_else(lost)?;
        match store(&mut open) {
            Ok(()) => {
                self.open = Some(open);
                Ok(())
            }
            Err(error) => {
                self.failure = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Ends the run. Says how many durable samples are kept for the next one; if none are, everything is removed.
    pub fn abort(self) -> u64 {
        0
    }

    fn open(&mut self) -> Result<&mut Open> {
        let failure = self.failure.as_deref().unwrap_or("a panic");
        let ended = || Error::new(Kind::State, format!("this writer was ended by an error: {failure}"));
        let open = self.open.as_mut().ok_or_else(ended)?;
        if open.work.is_ours() {
            return Ok(open);
        }
        Err(Error::new(Kind::State, "this writer belongs to the process that made it, and this is a fork of it"))
    }
}

impl Open {
    fn check(&self, records: &[Record<'_>], row: &[Value<'_>]) -> Result<()> {
        if records.len() != self.options.fields.len() {
            return Err(Error::new(Kind::Internal, "a sample has another number of records than there are fields"));
        }
        for ((field, _), record) in self.options.fields.iter().zip(records) {
            if let Some(problem) = record_problem(field, record) {
                return Err(Error::new(Kind::Schema, problem).in_field(&field.name));
            }
        }
        match &self.table {
            Some(table) => table.check(row),
            None if row.is_empty() => Ok(()),
            None => Err(Error::new(Kind::Internal, "a sample has a row and the cache no columns")),
        }
    }

    fn is_brief(&self, records: &[Record<'_>], row: &[Value<'_>]) -> bool {
        let strings: usize = row.iter().map(|value| value.string_bytes()).sum();
        let bytes: usize = records.iter().map(|record| record.bytes.len()).sum();
        // What zstd may add to a small record that it cannot compress, with room to spare.
        let stored = bytes + 64;
        let limit = self.options.shard_bytes;
        bytes.max(strings) <= BRIEF
            && (1..self.options.samples_per_shard - 1).contains(&self.in_shard)
            && self.shard.iter().all(|shard| shard.has_room(stored) && shard.stored() + (stored as u64) < limit)
            && !self.table.as_ref().is_some_and(Table::is_almost_full)
    }

    fn store(&mut self, records: &[Record<'_>], row: &[Value<'_>]) -> Result<()> {
        if self.in_shard == 0 {
            let name = format!("{:05}.shard", self.manifest.shards.len());
            let files = self.options.fields.iter().map(|(field, _)| directory(&self.work, field).join(&name));
            self.shard = files.map(|path| Shard::create(self.work.disk(), path)).collect::<Result<_>>()?;
        }
        let fields = self.options.fields.iter().zip(&mut self.shard).zip(&mut self.encoders);
        for ((((field, _), shard), encoder), record) in fields.zip(records) {
            let stored = encoder.encode(record.bytes).map_err(|error| error.in_field(&field.name))?;
            shard.push(field, stored, record.shape)?;
        }
        if let Some(table) = &mut self.table {
            table.push(row)?;
        }
        self.in_shard += 1;
        let full = self.in_shard >= self.options.samples_per_shard;
        if full || self.shard.iter().any(|shard| shard.stored() >= self.options.shard_bytes) {
            self.seal()?;
        }
        Ok(())
    }

    fn store_one_of(&mut self, samples: &Samples<'_>, place: usize) -> Result<()> {
        let held: Vec<_> = self
            .options
            .fields
            .iter()
            .zip(&samples.fields)
            .filter_map(|((field, _), records)| {
                records.record(field, place, |record| (record.bytes.to_vec(), record.shape.to_vec()))
            })
            .collect();
        let records: Vec<_> = held.iter().map(|(bytes, shape)| Record { bytes, shape }).collect();
        let row: Vec<_> = samples.columns.iter().filter_map(|values| values.get(place).copied()).collect();
        self.store(&records, &row)
    }

    /// Closes the shard and makes it durable.
    fn seal(&mut self) -> Result<()> {
        for (entry, shard) in self.manifest.fields.iter_mut().zip(self.shard.drain(..)) {
            entry.files.push(shard.seal(&entry.field)?);
        }
        self.manifest.shards.push(self.in_shard);
        self.manifest.samples += self.in_shard;
        self.size.add(self.in_shard, self.manifest.fields.iter().filter_map(|entry| entry.files.last()));
        self.in_shard = 0;
        self.size.check(self.table.as_ref().map_or(0, Table::chunks))
    }

    fn publish(mut self) -> Result<Published> {
        if self.in_shard > 0 {
            self.seal()?;
        }
        for (field, _) in &self.options.fields {
            self.work.disk().sync_directory(&directory(&self.work, field))?;
        }
        self.manifest.metadata = self.table.take().map(Table::finish).transpose()?;
        let bytes = self.manifest.to_bytes();
        self.size.check(self.manifest.metadata.as_ref().map_or(0, |metadata| metadata.chunks.len() as u64))?;
        let mut file = OutFile::create(self.work.disk(), self.work.cache().join("manifest.json"))?;
        file.write(&bytes)?;
        file.finish()?;
        let warnings = publish(self.work, self.options.replace)?;
        Ok(Published { digest: self.manifest.digest, samples: self.manifest.samples, warnings })
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a writer lost its work directory")
}

fn directory(work: &Work, field: &Field) -> PathBuf {
    work.cache().join("fields").join(&*field.name)
}

fn write_dictionary(work: &Work, field: &Field, body: &[u8]) -> Result<()> {
    let mut file = OutFile::create(work.disk(), directory(work, field).join("dictionary.bin"))?;
    let bytes = HEADER + body.len() as u64;
    file.write(&header::dictionary(bytes, &checksum::digest(body)))?;
    file.write(body)?;
    file.finish().map(|_| ())
}

#[cfg(test)]
mod tests;
