//! What of a cache survives a crash: shards are sealed one by one, noted in the journal, and published in the end.
//!
//! A line of the journal is written only after all that it names is durable; a manifest exists only in the work
//! directory until every file is durable; one rename shows everything at once. A writer that dies at any moment leaves
//! the target as it was, or complete, and a journal from which the next one goes on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use super::file::OutFile;
use super::journal::Journal;
use super::options::{Encoding, WriterOptions};
use super::plan;
use super::resume::{dictionary_path, tidy};
use super::sealed::Sealed;
use super::size::ManifestSize;
use super::spill::{Spill, SpillMark};
use super::work::Work;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::checksum;
use crate::format::header;
use crate::format::json::Value;
use crate::format::manifest::{CHUNK, FileEntry, Manifest};
use crate::format::shard::HEADER;
use crate::outcome::Outcome;

mod completion;
mod takeover;

/// The durable part of a cache that is being written.
pub(super) struct Durable {
    work: Work,
    options: WriterOptions,
    plan: Value,
    /// Of the shards that are sealed.
    manifest: Manifest,
    size: ManifestSize,
    marks: Vec<SpillMark>,
    /// The body of each field's dictionary, as far as it is known.
    dictionaries: Vec<Option<Arc<[u8]>>>,
    /// None before [`Durable::begin`], and after an operation failed that must not be tried again.
    journal: Option<Journal>,
    spill: Option<Arc<Spill>>,
    resumed: u64,
    restarted: Option<String>,
}

impl Durable {
    /// Locks the work directory of `target`, recovers what a dead writer left, and decides what becomes of it.
    /// `pause` is called now and then while that is read; its error leaves it as it is.
    pub(super) fn open(
        disk: Disk,
        target: &Path,
        options: &WriterOptions,
        pause: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut manifest = options.manifest(name)?;
        let size = ManifestSize::new(manifest.to_bytes().len() as u64);
        let plan = plan::plan(options, &manifest)?;
        let work = Work::open(disk, target, options.replace, pause)?;
        let given = |(_, encoding): &(Field, Encoding)| encoding.body().map(Arc::from);
        let mut this = Self {
            work,
            options: options.clone(),
            plan,
            manifest,
            size,
            marks: Vec::new(),
            dictionaries: options.fields.iter().map(given).collect(),
            journal: None,
            spill: None,
            resumed: 0,
            restarted: None,
        };
        this.take_over(pause)?;
        Ok(this)
    }

    /// Whether nothing was taken over, so that [`Durable::begin`] has to be called before anything is sealed.
    pub(super) fn is_fresh(&self) -> bool {
        self.resumed == 0
    }

    /// The body of each field's dictionary: given, or trained by an earlier run. None for fields without one, and where
    /// it has to be trained.
    pub(super) fn dictionaries(&self) -> &[Option<Arc<[u8]>>] {
        &self.dictionaries
    }

    /// Makes what a cache without samples has, with a dictionary for each field that has one.
    pub(super) fn begin(&mut self, dictionaries: Vec<Option<Arc<[u8]>>>) -> Result<()> {
        let disk = self.work.disk();
        self.work.make_cache()?;
        for (entry, body) in self.manifest.fields.iter_mut().zip(&dictionaries) {
            let directory = self.work.fields().join(&*entry.field.name);
            disk.make_directory(&directory)?;
            if let Some(body) = body {
                entry.dictionary = Some(write_dictionary(disk, dictionary_path(&self.work, &entry.field), body)?);
            }
            disk.sync_directory(&directory)?;
        }
        if !self.options.metadata.is_empty() {
            let spill = Spill::create(disk, self.work.spill(), &self.options.metadata)?;
            spill.sync()?;
            self.spill = Some(Arc::new(spill));
        }
        self.work.sync_names()?;
        let mut journal = Journal::create(disk, self.work.journal())?;
        let plan = std::mem::replace(&mut self.plan, Value::Null);
        journal.append(&plan::with_trained(plan, &self.options, &self.manifest))?;
        disk.sync_directory(self.work.path())?;
        self.journal = Some(journal);
        self.dictionaries = dictionaries;
        Ok(())
    }

    /// The disk that everything goes through.
    pub(super) fn disk(&self) -> &Disk {
        self.work.disk()
    }

    /// Whether this process made the work directory; false in a child that inherited it by fork.
    pub(super) fn is_ours(&self) -> bool {
        self.work.is_ours()
    }

    /// Where metadata rows go; None if there are no columns.
    pub(super) fn spill(&self) -> Option<&Arc<Spill>> {
        self.spill.as_ref()
    }

    /// The directory of a field's files.
    pub(super) fn field_path(&self, field: &Field) -> PathBuf {
        self.work.fields().join(&*field.name)
    }

    /// The number of the next shard.
    pub(super) fn shards(&self) -> u64 {
        self.manifest.shards.len() as u64
    }

    /// Samples that are durable.
    pub(super) fn samples(&self) -> u64 {
        self.manifest.samples
    }

    /// Durable samples taken over from an earlier run.
    pub(super) fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Why durable samples of an earlier run, or some of them, were not taken over.
    pub(super) fn restarted(&self) -> Option<&str> {
        self.restarted.as_deref()
    }

    /// Makes the next shard durable. Its files are complete, but for their sync.
    pub(super) fn seal(
        &mut self,
        samples: u64,
        files: Vec<(FileEntry, OutFile)>,
        spill: Option<SpillMark>,
    ) -> Result<()> {
        // After an error it is gone: what failed must not be made durable by a second try.
        let mut journal = self.journal.take().ok_or_else(ended)?;
        self.seal_in(&mut journal, samples, files, spill).map_err(|error| self.explain(error))?;
        self.journal = Some(journal);
        Ok(())
    }

    fn seal_in(
        &mut self,
        journal: &mut Journal,
        samples: u64,
        files: Vec<(FileEntry, OutFile)>,
        spill: Option<SpillMark>,
    ) -> Result<()> {
        let (files, written): (Vec<_>, Vec<_>) = files.into_iter().unzip();
        let mut size = self.size;
        size.add(samples, files.iter());
        size.check(spill.map_or(0, |mark| chunks(mark, self.samples() + samples, self.options.metadata.len())))?;
        for (entry, file) in self.manifest.fields.iter().zip(written) {
            let synced = file.finish().and_then(|_| self.work.disk().sync_directory(&self.field_path(&entry.field)));
            synced.map_err(|error| error.in_field(&entry.field.name).in_shard(self.shards()))?;
        }
        if let Some(spill) = &self.spill {
            spill.sync()?;
        }
        let sealed = Sealed { samples, files, spill };
        journal.append(&sealed.to_json())?;
        self.size = size;
        self.count(sealed);
        Ok(())
    }

    /// Gives up. Returns how many samples the next run finds; if there are none, everything is removed.
    pub(super) fn abort(self) -> u64 {
        if !self.is_kept() || !self.is_ours() {
            return 0;
        }
        // What is half written is of no use, and the disk may be full. Should this fail, the next run does it. Nothing is
        // synced: that may be what failed, and must not be tried again.
        let _ = tidy(&self.work, &self.fields(), self.shards());
        self.samples()
    }

    /// An error that ended the run, with what is kept of it.
    pub(super) fn explain(&self, error: Error) -> Error {
        let durable = self.samples();
        error.with_outcome(if self.is_kept() { Outcome::Kept(durable) } else { Outcome::Removed(durable) })
    }

    fn is_kept(&self) -> bool {
        self.options.fingerprint.is_some() && self.samples() > 0
    }

    fn fields(&self) -> Vec<&Field> {
        self.options.fields.iter().map(|(field, _)| field).collect()
    }

    fn count(&mut self, shard: Sealed) {
        for (entry, file) in self.manifest.fields.iter_mut().zip(shard.files) {
            entry.files.push(file);
        }
        self.manifest.shards.push(shard.samples);
        self.manifest.samples += shard.samples;
        self.marks.extend(shard.spill);
        self.work.keep(self.is_kept());
    }
}

/// Chunks of a metadata.arrow of so many rows, or some more: a value needs at most 16 bytes beside what the spill has.
fn chunks(mark: SpillMark, rows: u64, columns: usize) -> u64 {
    let values = rows.saturating_mul(columns as u64);
    values.saturating_mul(16).saturating_add(mark.bytes) / CHUNK + 1
}

fn ended() -> Error {
    Error::new(Kind::State, "an operation on a file of this cache failed before; write it with a new writer")
}

fn write_dictionary(disk: &Disk, path: PathBuf, body: &[u8]) -> Result<FileEntry> {
    let entry = FileEntry { bytes: HEADER + body.len() as u64, body: checksum::digest(body), index: None };
    let mut file = OutFile::create(disk, path)?;
    file.write(&header::dictionary(entry.bytes, &entry.body))?;
    file.write(body)?;
    file.finish()?;
    Ok(entry)
}

#[cfg(test)]
mod tests;
