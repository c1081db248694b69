//! The writer: samples in order, judged and copied here, stored by other threads.
//!
//! A sample is judged as a whole before a byte of it is taken, so a refused one leaves the writer as it was.
//! Once an operation on a file has failed the run is over: after an error of fsync the kernel may have dropped
//! what was to be written, and a second fsync would report success.

use std::path::Path;
use std::time::Instant;

use super::block::{BLOCK, Block};
use super::disk::Disk;
use super::durable::Durable;
use super::hold::Hold;
use super::open::{Open, Stage, codings, lost};
use super::options::{Dictionary, WriterOptions};
use super::samples::Samples;
use super::threads::{PATIENCE, Rest};
use super::value::{Record, Value};
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;

/// So many bytes are copied in a microsecond or two.
const BRIEF: usize = 4096;

/// A cache that is being written. To drop it is to abort it.
pub struct Writer {
    open: Option<Box<Open>>,
    /// What ended the run, if something did.
    failure: Option<String>,
    samples: u64,
    /// Durable samples when the run ended.
    durable: u64,
    resumed: u64,
    restarted: Option<String>,
    process: u32,
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

/// Asked now and then while a writer waits; its error ends the wait.
pub(super) type Interrupt<'a> = &'a mut dyn FnMut() -> Result<()>;

impl Writer {
    /// Locks the work directory beside `target` and makes what a cache without samples has, or goes on with what an
    /// earlier run made durable. The last part of `target` is the cache's name.
    pub fn create(target: &Path, options: WriterOptions) -> Result<Self> {
        Self::create_on(Disk::default(), target, options)
    }

    /// The same, with a disk that somebody may observe.
    pub fn create_on(disk: Disk, target: &Path, options: WriterOptions) -> Result<Self> {
        Self::start(disk, target, options, &mut || Ok(()))
    }

    /// The same. What an earlier run left may be long to read: `interrupt` is called now and then meanwhile, and its error
    /// leaves everything as it is.
    pub fn start(disk: Disk, target: &Path, options: WriterOptions, interrupt: Interrupt<'_>) -> Result<Self> {
        // A dictionary that zstd cannot use is found before anything is made.
        codings(&options, &options.fields.iter().map(|(_, encoding)| encoding.body()).collect::<Vec<_>>())?;
        let mut durable = Durable::open(disk, target, &options, interrupt)?;
        let (samples, restarted) = (durable.resumed(), durable.restarted().map(str::to_owned));
        let dictionaries = durable.dictionaries().to_vec();
        let to_train: Vec<_> = options
            .fields
            .iter()
            .zip(&dictionaries)
            .map(|((_, encoding), known)| match &encoding.dictionary {
                Some(Dictionary::Train(size)) if known.is_none() => Some(*size),
                _ => None,
            })
            .collect();
        let stage = if to_train.iter().any(Option::is_some) {
            Stage::Holding(Hold::new(to_train.into_iter()), durable)
        } else {
            if durable.is_fresh() {
                durable.begin(dictionaries)?;
            }
            Stage::Idle(durable)
        };
        let fields: Vec<_> = options.fields.iter().map(|(field, _)| field.clone()).collect();
        let boundary = samples.saturating_add(options.samples_per_shard);
        let block = Block::new(fields.len());
        let (block_bytes, handed_over) = (BLOCK, Instant::now());
        let open = Open { options, fields, block, block_bytes, is_full: false, boundary, handed_over, stage };
        let process = std::process::id();
        Ok(Self {
            open: Some(Box::new(open)),
            failure: None,
            samples,
            durable: samples,
            resumed: samples,
            restarted,
            process,
        })
    }

    /// Appends a sample: a record for each field and a value for each column, in order.
    ///
    /// An error of kind `Schema` names the field or column and leaves the writer as it was; so does an error of
    /// `interrupt`, which is called now and then while this waits. Any other one ends the run.
    pub fn append(&mut self, records: &[Record<'_>], row: &[Value<'_>], interrupt: Interrupt<'_>) -> Result<()> {
        let sample = self.samples;
        self.open()?.check(records, row).map_err(|error| error.at_sample(sample))?;
        self.wait(interrupt)?;
        self.store(|open| open.block.push(&open.fields, records, row))
    }

    /// Appends many samples, in order. All are judged before one is stored; apart from that it is as if they were
    /// appended one by one. `interrupt` is called now and then even if nothing has to be waited for; if it fails,
    /// [`Writer::count`] says how many were appended.
    pub fn append_batch(&mut self, samples: &Samples<'_>, interrupt: Interrupt<'_>) -> Result<()> {
        let first = self.samples;
        let open = self.open()?;
        samples.check(&open.fields, &open.options.metadata, first)?;
        let mut row = Vec::with_capacity(samples.columns.len());
        let mut asked = Instant::now();
        for place in 0..samples.count {
            // Many short waits make a long one that none of them notices. To look at the clock once a block is enough.
            if self.open.as_ref().is_some_and(|open| open.block.count == 0) && asked.elapsed() >= PATIENCE {
                interrupt()?;
                asked = Instant::now();
            }
            self.wait(interrupt)?;
            row.clear();
            row.extend(samples.columns.iter().filter_map(|values| values.get(place).copied()));
            self.store(|open| open.block.push_one_of(&open.fields, &samples.fields, place, &row))?;
        }
        Ok(())
    }

    /// Whether appending this sample takes some microseconds: little is copied, and nothing to wait for.
    pub fn is_brief(&self, records: &[Record<'_>], row: &[Value<'_>]) -> bool {
        let Some(open) = &self.open else { return true };
        let strings: usize = row.iter().map(|value| value.string_bytes()).sum();
        let bytes: usize = records.iter().map(|record| record.bytes.len() + size_of_val(record.shape)).sum();
        let most = bytes + strings + 64 * (records.len() + row.len());
        bytes.max(strings) <= BRIEF
            && !open.is_full
            && open.block.size + most < open.block_bytes
            && self.samples + 1 != open.boundary
            && !open.is_late()
    }

    /// Samples in the cache so far, durable ones of an earlier run included: the number of the next sample.
    pub fn count(&self) -> u64 {
        self.samples
    }

    /// Samples that survive a crash.
    pub fn durable(&self) -> u64 {
        match self.open.as_deref() {
            Some(Open { stage: Stage::Running(threads), .. }) => threads.durable(),
            _ => self.durable,
        }
    }

    /// Durable samples taken over from an earlier run.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Why durable samples of an earlier run, or some of them, were not used. None if there were none or all are.
    pub fn restarted(&self) -> Option<&str> {
        self.restarted.as_deref()
    }

    /// Completes the cache and shows it at the target. Success is reported only once it is durable.
    ///
    /// `interrupt` is called now and then meanwhile; its error ends the run, and its outcome says whether the cache was
    /// published just then.
    pub fn publish(mut self, interrupt: Interrupt<'_>) -> Result<Published> {
        self.open()?;
        let mut open = self.open.take().ok_or_else(lost)?;
        let published = open.publish(interrupt);
        self.ended(*open, published)
    }

    /// Ends the run. What is appended already becomes durable as far as it fills shards, if a next run can use it. Says
    /// how many samples that one finds; if none, everything is removed.
    ///
    /// `interrupt` is called now and then meanwhile. After an error of it only what is durable already is kept.
    pub fn abort(mut self, interrupt: Interrupt<'_>) -> u64 {
        self.close(interrupt)
    }

    fn close(&mut self, interrupt: Interrupt<'_>) -> u64 {
        if self.process == std::process::id()
            && let Some(mut open) = self.open.take()
        {
            // To train a dictionary takes seconds, and what is held back is little.
            let is_held = matches!(open.stage, Stage::Holding(..));
            let drain = open.options.fingerprint.is_some() && !is_held && open.hand_over().is_ok();
            self.durable = open.stage.end(drain.then_some(interrupt)).durable.map_or(0, Durable::abort);
        }
        self.durable
    }

    fn open(&mut self) -> Result<&mut Open> {
        let failure = self.failure.as_deref().unwrap_or("a panic");
        let ended = || Error::new(Kind::State, format!("this writer was ended by an error: {failure}"));
        if self.process == std::process::id() {
            return self.open.as_deref_mut().ok_or_else(ended);
        }
        Err(Error::new(Kind::State, "this writer belongs to the process that made it, and this is a fork of it"))
    }

    /// Waits until there is room for a sample.
    fn wait(&mut self, interrupt: Interrupt<'_>) -> Result<()> {
        let open = self.open.as_deref_mut().ok_or_else(lost)?;
        let Open { is_full: true, stage: Stage::Running(threads), .. } = open else { return Ok(()) };
        match threads.wait_for_room(interrupt) {
            Ok(()) => open.is_full = false,
            Err(error) if !threads.has_failed() => return Err(error),
            Err(error) => {
                let open = self.open.take().ok_or_else(lost)?;
                return self.ended(*open, Err(error));
            }
        }
        Ok(())
    }

    fn store(&mut self, store: impl FnOnce(&mut Open) -> Result<()>) -> Result<()> {
        // Out of its place meanwhile, so that a panic ends the run, too: some fields would have a record more than others.
        let mut open = self.open.take().ok_or_else(lost)?;
        let sample = self.samples;
        let mut stored = store(&mut open).map_err(|error| error.at_sample(sample));
        if stored.is_ok() {
            self.samples += 1;
            let at_boundary = self.samples == open.boundary;
            if at_boundary {
                open.boundary = open.boundary.saturating_add(open.options.samples_per_shard);
            }
            if at_boundary || open.block.size >= open.block_bytes || open.is_late() {
                stored = open.hand_over();
            }
        }
        if stored.is_err() {
            return self.ended(*open, stored);
        }
        self.open = Some(open);
        Ok(())
    }

    /// Ends the run after an error, or after it was published.
    fn ended<T>(&mut self, open: Open, result: Result<T>) -> Result<T> {
        let Rest { durable, outcome } = open.stage.end(None);
        let error = match (result, &durable, outcome) {
            (Ok(value), ..) => return Ok(value),
            (Err(error), Some(durable), _) => durable.explain(error),
            (Err(error), None, Some(outcome)) => error.with_outcome(outcome),
            (Err(error), None, None) => error,
        };
        self.durable = durable.map_or(0, Durable::abort);
        self.failure = Some(error.to_string());
        Err(error)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close(&mut || Ok(()));
        // What is left in a forked child belongs to the parent.
        self.open.take().map(std::mem::forget).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
