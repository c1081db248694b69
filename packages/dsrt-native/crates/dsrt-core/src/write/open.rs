//! A run of a writer: the block that fills up, and where blocks go.

use std::time::{Duration, Instant};

use super::block::Block;
use super::durable::Durable;
use super::hold::Hold;
use super::metadata::check_row;
use super::options::WriterOptions;
use super::threads::{Rest, Threads};
use super::value::{Record, Value, record_problem};
use super::worker::Recipe;
use super::writer::{Interrupt, Published};
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::codec::Coding;

/// What a writer has while its run goes on.
pub(super) struct Open {
    pub options: WriterOptions,
    pub fields: Vec<Field>,
    pub block: Block,
    /// A block is handed over when it has so many bytes.
    pub block_bytes: usize,
    /// Whether to wait before the next sample.
    pub is_full: bool,
    /// When so many samples are there, a shard may be full: then nothing is held back from the threads.
    pub boundary: u64,
    /// When a block was handed over last.
    pub handed_over: Instant,
    pub stage: Stage,
}

/// So long samples may wait for their block to fill up: the shard that they make full is not durable before. A failure of
/// the threads is not seen before, either.
pub(super) const LATE: Duration = Duration::from_millis(100);

/// How far a run is.
pub(super) enum Stage {
    /// Samples are held back to train dictionaries on them.
    Holding(Hold, Durable),
    /// Nothing was handed over yet.
    Idle(Durable),
    Running(Threads),
    /// While one stage becomes another, and after that failed.
    Between,
}

impl Open {
    /// Refuses a sample that does not fit.
    pub(super) fn check(&self, records: &[Record<'_>], row: &[Value<'_>]) -> Result<()> {
        if records.len() != self.fields.len() {
            return Err(Error::new(Kind::Internal, "a sample has another number of records than there are fields"));
        }
        for (field, record) in self.fields.iter().zip(records) {
            if let Some(problem) = record_problem(field, record) {
                return Err(Error::new(Kind::Schema, problem).in_field(&field.name));
            }
        }
        check_row(&self.options.metadata, row)
    }

    /// Whether the block has waited for long. Not while all is held back anyway.
    pub(super) fn is_late(&self) -> bool {
        !matches!(self.stage, Stage::Holding(..)) && self.handed_over.elapsed() >= LATE
    }

    /// Gives what was appended to the threads, or holds it back.
    pub(super) fn hand_over(&mut self) -> Result<()> {
        if self.block.count == 0 {
            return Ok(());
        }
        self.handed_over = Instant::now();
        let block = std::mem::replace(&mut self.block, Block::new(self.fields.len()));
        if let Stage::Holding(hold, _) = &mut self.stage {
            return if hold.add(block) { self.run() } else { Ok(()) };
        }
        self.run()?;
        let Stage::Running(threads) = &mut self.stage else { return Err(lost()) };
        let (empty, has_room) = threads.hand_over(block)?;
        self.block = empty;
        self.is_full = !has_room;
        Ok(())
    }

    /// Starts the threads, after training what is to be trained on what is held back.
    fn run(&mut self) -> Result<()> {
        let (held, mut durable) = match std::mem::replace(&mut self.stage, Stage::Between) {
            Stage::Holding(hold, durable) => (Some(hold), durable),
            Stage::Idle(durable) => (None, durable),
            stage => {
                self.stage = stage;
                return Ok(());
            }
        };
        let mut dictionaries = durable.dictionaries().to_vec();
        if let Some(hold) = &held {
            let begun = hold.train(&self.fields, &mut dictionaries).and_then(|()| durable.begin(dictionaries.clone()));
            if let Err(error) = begun {
                self.stage = Stage::Idle(durable);
                return Err(error);
            }
        }
        let bodies: Vec<_> = dictionaries.iter().map(Option::as_deref).collect();
        let recipe = Recipe {
            fields: self.fields.clone(),
            codings: codings(&self.options, &bodies)?,
            samples_per_shard: self.options.samples_per_shard,
            shard_bytes: self.options.shard_bytes,
            threads: self.options.threads,
        };
        // In its place before it gets work: what fails at once has made shards durable already, and the error says so.
        self.stage = Stage::Running(Threads::start(recipe, durable)?);
        let Stage::Running(threads) = &mut self.stage else { return Err(lost()) };
        for block in held.into_iter().flat_map(Hold::into_blocks) {
            self.is_full = !threads.hand_over(block)?.1;
        }
        Ok(())
    }

    /// Publishes all that was appended.
    pub(super) fn publish(&mut self, interrupt: Interrupt<'_>) -> Result<Published> {
        self.hand_over()?;
        self.run()?;
        match &mut self.stage {
            Stage::Running(threads) => threads.publish(interrupt),
            _ => Err(lost()),
        }
    }
}

impl Stage {
    /// Ends the threads, if there are any. With `drain`, shards that are full are made durable before; an error of it ends
    /// that.
    pub(super) fn end(self, drain: Option<Interrupt<'_>>) -> Rest {
        match self {
            Self::Holding(_, durable) | Self::Idle(durable) => Rest { durable: Some(durable), outcome: None },
            Self::Running(threads) => threads.stop(drain),
            Self::Between => Rest::default(),
        }
    }
}

/// How the records of each field are encoded, with those dictionaries.
pub(super) fn codings(options: &WriterOptions, dictionaries: &[Option<&[u8]>]) -> Result<Vec<Coding>> {
    let fields = options.fields.iter().zip(dictionaries);
    fields
        .map(|((field, encoding), dictionary)| {
            Coding::new(field, encoding.level, *dictionary).map_err(|error| error.in_field(&field.name))
        })
        .collect()
}

/// A writer whose run ended where it should not.
pub(super) fn lost() -> Error {
    Error::new(Kind::Internal, "a writer lost its threads")
}
