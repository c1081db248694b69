//! The life of a worker: it encodes, cuts, digests and writes, whatever is next.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::cut::Range;
use super::disk::Disk;
use super::encode::encode;
use super::jobs::{Chunk, Cuttable, End, Ending, Job, Piece};
use super::schedule::Schedule;
use super::shard::{Shard, Sum};
use super::spill::Spill;
use super::writer::Published;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::codec::{Coding, Encoder};

/// What the threads know of the cache.
pub(super) struct Recipe {
    pub fields: Vec<Field>,
    pub codings: Vec<Coding>,
    pub samples_per_shard: u64,
    pub shard_bytes: u64,
    pub threads: usize,
}

/// What the threads of a writer share.
pub(super) struct Shared {
    pub recipe: Recipe,
    pub disk: Disk,
    /// The directory of each field.
    pub directories: Vec<PathBuf>,
    pub spill: Option<Arc<Spill>>,
    pub durable: AtomicU64,
    pub state: Mutex<State>,
    /// There may be a job.
    pub jobs: Condvar,
    /// There may be something to seal.
    pub seals: Condvar,
    /// There may be room, or an end.
    pub caller: Condvar,
}

/// What is behind their lock.
pub(super) struct State {
    pub schedule: Schedule,
    pub published: Option<Published>,
    /// What ended the run, until somebody is told.
    pub failure: Option<Error>,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // What is changed under it is changed by calls that do not panic, or the run is over anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's life. An error ends it, and so does a panic, wherever it is: somebody waits for what it would have done.
    pub(super) fn serve(&self) {
        let work = || {
            let mut encoder = Encoder::default();
            while let Some(job) = self.claim() {
                self.work(job, &mut encoder)?;
            }
            Ok(())
        };
        if let Err(error) = caught(work) {
            self.fail(error);
        }
    }

    fn claim(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.schedule.ending == Ending::Stop {
                return None;
            }
            if let Some(job) = state.schedule.claim() {
                return Some(job);
            }
            state.schedule.idle += 1;
            state = self.jobs.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.schedule.idle -= 1;
        }
    }

    fn work<'a>(&'a self, job: Job, encoder: &mut Encoder<'a>) -> Result<()> {
        match job {
            Job::Encode { block, field, mut given, mut encoded } => {
                let (about, coding) = self.field(field)?;
                encode(encoder, about, coding, &mut given, &mut encoded)?;
                self.did(|schedule| schedule.encoded(block, field, given, encoded));
            }
            Job::Cut { block, mut cut } => {
                let ranges = cut.block(&block.parts, block.count);
                let ends = self.spill(&block, &ranges)?;
                self.did(|schedule| schedule.cut(cut, block, ranges, ends));
            }
            Job::Finish { mut cut } => {
                let last = match cut.finish() {
                    Some(range) => self.end_of(&range)?.map(|end| (range, end)),
                    None => None,
                };
                self.did(|schedule| schedule.finish(cut, last));
            }
            Job::Sum { field, mut sum, mut chunk, limit } => {
                let pieces = sum_up(self.field(field)?.0, &mut sum, &mut chunk, limit);
                self.did(|schedule| schedule.summed(field, sum, chunk, pieces));
            }
            Job::Write { field, shard, piece } => {
                let Piece { part, shard: number, from, to, tail } = piece;
                let mut file = match shard {
                    Some(file) => file,
                    None => self.create(field, number)?,
                };
                file.write(part.bytes.get(from..to).unwrap_or_default())?;
                let (shard, complete) = match tail {
                    Some(tail) => (None, Some(file.end(tail)?)),
                    None => (Some(file), None),
                };
                let complete = complete.map(|(entry, file)| (number, entry, file));
                self.did(|schedule| schedule.written(field, shard, part, complete));
            }
        }
        Ok(())
    }

    fn field(&self, field: usize) -> Result<(&Field, &Coding)> {
        let found = self.recipe.fields.get(field).zip(self.recipe.codings.get(field));
        found.ok_or_else(|| Error::new(Kind::Internal, "a job for a field that there is not"))
    }

    fn create(&self, field: usize, shard: u64) -> Result<Shard> {
        let directory = self.directories.get(field);
        let directory = directory.ok_or_else(|| Error::new(Kind::Internal, "a file of a field that there is not"))?;
        let path = directory.join(format!("{shard:05}.shard"));
        Shard::create(&self.disk, path).map_err(|error| match error.os_code() {
            Some(code) if code == Errno::MFILE.raw_os_error() => too_many_open(self.recipe.fields.len(), &error),
            _ => error,
        })
    }

    /// Spills the rows of a block, shard by shard.
    fn spill(&self, block: &Cuttable, ranges: &[Range]) -> Result<Vec<End>> {
        let mut ends = Vec::new();
        for range in ranges {
            if let Some(spill) = &self.spill {
                spill.append(block.rows.between(range.from, range.to))?;
            }
            ends.extend(self.end_of(range)?);
        }
        Ok(ends)
    }

    fn end_of(&self, range: &Range) -> Result<Option<End>> {
        let Some(samples) = range.end else { return Ok(None) };
        let mark = self.spill.as_ref().map(|spill| spill.mark()).transpose()?;
        Ok(Some(End { shard: range.shard, samples, mark }))
    }

    /// Notes what was done, and wakes whoever may have waited for it.
    pub(super) fn did(&self, note: impl FnOnce(&mut Schedule)) {
        let mut state = self.lock();
        note(&mut state.schedule);
        let has_jobs = state.schedule.idle > 0 && state.schedule.jobs() > 0;
        let has_much_room = state.schedule.has_much_room();
        let can_seal = state.schedule.can_seal();
        drop(state);
        if has_jobs {
            self.jobs.notify_all();
        }
        if has_much_room {
            self.caller.notify_one();
        }
        if can_seal {
            self.seals.notify_one();
        }
    }

    pub(super) fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.failure.get_or_insert(error);
        drop(state);
        self.end(Ending::Stop);
    }

    pub(super) fn end(&self, ending: Ending) {
        let mut state = self.lock();
        if state.schedule.ending != Ending::Stop {
            state.schedule.ending = ending;
        }
        drop(state);
        self.jobs.notify_all();
        self.seals.notify_all();
        self.caller.notify_all();
    }
}

/// There are as many files as a process may have, which is 256 on some systems.
fn too_many_open(fields: usize, error: &Error) -> Error {
    let limit = getrlimit(Resource::Nofile).current.map_or("any number of".to_owned(), |limit| limit.to_string());
    let message = format!(
        "{}: of each of {fields} fields up to 2 files are open, {} in all beside the program's own, and the process may \
         have {limit}; raise that with `ulimit -n`",
        error.message(),
        2 * fields
    );
    Error::io(message, Errno::MFILE.into())
}

/// Digests the ranges of a chunk that belong to shards up to `limit`.
fn sum_up(field: &Field, sum: &mut Sum, chunk: &mut Chunk, limit: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    while let Some(range) = chunk.ranges.get(chunk.done).filter(|range| range.shard <= limit) {
        sum.add(field, &chunk.part, range.from, range.to);
        let (from, to) = (chunk.part.start(range.from), chunk.part.start(range.to));
        let tail = range.end.map(|_| sum.end(field));
        pieces.push(Piece { part: chunk.part.clone(), shard: range.shard, from, to, tail });
        chunk.done += 1;
    }
    pieces
}

pub(super) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // After a panic the run is over, and what was half done is thrown away.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let message = format!("a thread of the writer panicked: {text}; this is a defect of dsrt, please report it");
    Error::new(Kind::Internal, message)
}
