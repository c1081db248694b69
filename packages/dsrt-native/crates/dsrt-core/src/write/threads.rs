//! The threads of a writer: workers that encode, cut, digest and write, and one that makes shards durable and publishes.
//! The caller's thread only copies samples, and waits where too much is in flight.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::block::Block;
use super::cut::{Cut, Range};
use super::disk::Disk;
use super::durable::Durable;
use super::encode::encode;
use super::schedule::{Chunk, Cuttable, End, Ending, Job, Piece, Schedule, Seal};
use super::shard::{Shard, Sum};
use super::spill::Spill;
use super::writer::Published;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::codec::{Coding, Encoder};

/// How often a caller that waits is asked whether it still wants to.
const PATIENCE: Duration = Duration::from_millis(20);

/// What the threads know of the cache.
pub(super) struct Plan {
    pub fields: Vec<Field>,
    pub codings: Vec<Coding>,
    pub samples_per_shard: u64,
    pub shard_bytes: u64,
    pub threads: usize,
}

/// A writer's threads. Dropped, they stop.
pub(super) struct Threads {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    sealer: Option<JoinHandle<Option<Durable>>>,
    process: u32,
}

struct Shared {
    plan: Plan,
    disk: Disk,
    /// The directory of each field.
    directories: Vec<PathBuf>,
    spill: Option<Arc<Spill>>,
    durable: AtomicU64,
    state: Mutex<State>,
    /// There may be a job.
    jobs: Condvar,
    /// There may be something to seal.
    seals: Condvar,
    /// There may be room, or an end.
    caller: Condvar,
}

struct State {
    schedule: Schedule,
    published: Option<Published>,
    /// What ended the run, until somebody is told.
    failure: Option<Error>,
}

impl Threads {
    /// Starts the one that seals; workers are started as there is work. `durable` has begun.
    pub(super) fn start(plan: Plan, durable: Durable) -> Result<Self> {
        let cut = Cut::new(plan.samples_per_shard, plan.shard_bytes, plan.fields.len(), durable.shards());
        let compressed = plan.codings.iter().map(|coding| !coding.is_raw()).collect();
        let shared = Arc::new(Shared {
            disk: durable.disk().clone(),
            directories: plan.fields.iter().map(|field| durable.field_path(field)).collect(),
            spill: durable.spill().cloned(),
            durable: AtomicU64::new(durable.samples()),
            state: Mutex::new(State {
                schedule: Schedule::new(compressed, cut, plan.threads),
                published: None,
                failure: None,
            }),
            plan,
            jobs: Condvar::new(),
            seals: Condvar::new(),
            caller: Condvar::new(),
        });
        let sealer = {
            let shared = shared.clone();
            Builder::new().name("dsrt-seal".into()).spawn(move || shared.seal(durable)).map_err(not_started)?
        };
        Ok(Self { shared, workers: Vec::new(), sealer: Some(sealer), process: std::process::id() })
    }

    /// Samples that survive a crash.
    pub(super) fn durable(&self) -> u64 {
        self.shared.durable.load(Ordering::Acquire)
    }

    /// Hands over a block. Gives an empty one for it, and whether there is room for more.
    pub(super) fn hand_over(&mut self, block: Block) -> Result<(Block, bool)> {
        let mut state = self.shared.lock();
        if let Some(error) = state.failure.take() {
            return Err(error);
        }
        let empty = state.schedule.hand_over(block);
        let has_room = state.schedule.has_room();
        let wanted = state.schedule.jobs().saturating_sub(state.schedule.idle);
        drop(state);
        self.shared.jobs.notify_all();
        self.employ(wanted)?;
        Ok((empty, has_room))
    }

    /// Waits until there is room. An error is either that of `interrupt`, or the run has failed.
    pub(super) fn wait_for_room(&self, interrupt: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.wait(interrupt, |state| state.schedule.has_room().then_some(()))
    }

    /// Whether the run is over because something went wrong.
    pub(super) fn has_failed(&self) -> bool {
        self.shared.lock().schedule.ending == Ending::Stop
    }

    /// Waits until all that was handed over is published.
    pub(super) fn publish(&mut self, interrupt: &mut dyn FnMut() -> Result<()>) -> Result<Published> {
        self.shared.end(Ending::Publish);
        self.employ(1)?;
        self.wait(interrupt, |state| state.published.take())
    }

    /// Ends the threads and waits for them: `drain` says whether shards that are full are made durable before.
    pub(super) fn stop(mut self, drain: bool) -> Option<Durable> {
        self.end(drain)
    }

    fn end(&mut self, drain: bool) -> Option<Durable> {
        let sealer = self.sealer.take()?;
        if self.process != std::process::id() {
            // In a forked child: the threads do not exist, and their locks may be held for ever.
            std::mem::forget(sealer);
            std::mem::forget(std::mem::take(&mut self.workers));
            std::mem::forget(self.shared.clone());
            return None;
        }
        self.shared.end(if drain { Ending::Drain } else { Ending::Stop });
        // What a thread that panicked outside of a job has to say was said when it did.
        let durable = sealer.join().ok().flatten();
        self.shared.end(Ending::Stop);
        self.workers.drain(..).for_each(|worker| drop(worker.join()));
        durable
    }

    fn employ(&mut self, wanted: usize) -> Result<()> {
        for _ in 0..wanted.min(self.shared.plan.threads.saturating_sub(self.workers.len())) {
            let shared = self.shared.clone();
            let name = format!("dsrt-write-{}", self.workers.len());
            match Builder::new().name(name).spawn(move || shared.serve()) {
                Ok(worker) => self.workers.push(worker),
                Err(e) if self.workers.is_empty() => return Err(not_started(e)),
                // Those that are there do it all.
                Err(_) => break,
            }
        }
        Ok(())
    }

    fn wait<T>(
        &self,
        interrupt: &mut dyn FnMut() -> Result<()>,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T> {
        let mut asked = Instant::now();
        let mut state = self.shared.lock();
        loop {
            if let Some(error) = state.failure.take() {
                return Err(error);
            }
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
            if state.schedule.ending == Ending::Stop {
                return Err(Error::new(Kind::State, "the threads of this writer have ended"));
            }
            let left = PATIENCE.saturating_sub(asked.elapsed());
            if left.is_zero() {
                drop(state);
                interrupt()?;
                asked = Instant::now();
                state = self.shared.lock();
            } else {
                state = self.shared.caller.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What is changed under it is changed by calls that do not panic, or the run is over anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker's life.
    fn serve(&self) {
        let mut encoder = Encoder::default();
        while let Some(job) = self.claim() {
            if let Err(error) = caught(|| self.work(job, &mut encoder)) {
                self.fail(error);
            }
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
        let found = self.plan.fields.get(field).zip(self.plan.codings.get(field));
        found.ok_or_else(|| Error::new(Kind::Internal, "a job for a field that there is not"))
    }

    fn create(&self, field: usize, shard: u64) -> Result<Shard> {
        let directory = self.directories.get(field);
        let directory = directory.ok_or_else(|| Error::new(Kind::Internal, "a file of a field that there is not"))?;
        Shard::create(&self.disk, directory.join(format!("{shard:05}.shard")))
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
    fn did(&self, note: impl FnOnce(&mut Schedule)) {
        let mut state = self.lock();
        note(&mut state.schedule);
        let has_jobs = state.schedule.idle > 0 && state.schedule.jobs() > 0;
        let has_room = state.schedule.has_room();
        drop(state);
        if has_jobs {
            self.jobs.notify_all();
        }
        if has_room {
            self.caller.notify_one();
        }
        self.seals.notify_one();
    }

    /// The life of the thread that seals and publishes. Gives back what it did not publish.
    fn seal(&self, mut durable: Durable) -> Option<Durable> {
        loop {
            match self.next_seal() {
                Seal::Shard(shard) => {
                    let samples = shard.samples;
                    if let Err(error) = caught(|| durable.seal(samples, shard.files, shard.mark)) {
                        self.fail(error);
                        return Some(durable);
                    }
                    self.durable.fetch_add(samples, Ordering::AcqRel);
                    self.did(Schedule::sealed);
                }
                Seal::Publish => {
                    match caught(|| durable.publish(&mut || self.is_wanted())) {
                        Ok(published) => self.lock().published = Some(published),
                        Err(error) => self.fail(error),
                    }
                    self.caller.notify_one();
                    return None;
                }
                Seal::Stop | Seal::Wait => return Some(durable),
            }
        }
    }

    fn next_seal(&self) -> Seal {
        let mut state = self.lock();
        loop {
            match state.schedule.seal() {
                Seal::Wait => state = self.seals.wait(state).unwrap_or_else(PoisonError::into_inner),
                next => return next,
            }
        }
    }

    fn is_wanted(&self) -> Result<()> {
        match self.lock().schedule.ending {
            Ending::Stop => Err(Error::new(Kind::State, "this writer was aborted while it published")),
            _ => Ok(()),
        }
    }

    fn fail(&self, error: Error) {
        let mut state = self.lock();
        state.failure.get_or_insert(error);
        drop(state);
        self.end(Ending::Stop);
    }

    fn end(&self, ending: Ending) {
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

fn not_started(e: std::io::Error) -> Error {
    Error::io("starting a thread of a writer", e)
}

fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    // After a panic the run is over, and what was half done is thrown away.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let message = format!("a thread of the writer panicked: {text}; this is a defect of dsrt, please report it");
    Error::new(Kind::Internal, message)
}
