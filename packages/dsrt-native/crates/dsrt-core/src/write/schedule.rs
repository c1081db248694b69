//! What is to be done next: a plain value behind the one lock of a writer's threads.
//!
//! A block is encoded field by field in any order. Then shards are cut, in the order of the blocks, and from there every
//! field has a lane of its own with two steps, each done in order by one thread at a time: *sum* makes index and digest,
//! *write* fills the file. At most one shard waits to be made durable while the next one is written.

use std::collections::VecDeque;
use std::sync::Arc;

use super::block::{Block, Part, Rows};
use super::cut::{Cut, Range};
use super::file::OutFile;
use super::jobs::{Chunk, Cuttable, End, Ending, Job, Piece, Seal};
use super::shard::{Shard, Sum};
use super::shards::Shards;
use super::spare::Spare;
use crate::format::manifest::FileEntry;

/// Bytes that may be in flight before the caller waits, however few the blocks are.
const IN_FLIGHT: usize = 128 << 20;

struct Pending {
    parts: Vec<Option<Part>>,
    missing: usize,
    rows: Rows,
    count: usize,
}

struct Lane {
    sum: Option<Box<Sum>>,
    chunks: VecDeque<Chunk>,
    /// The outer one is none while a thread writes, the inner one between shards.
    shard: Option<Option<Shard>>,
    pieces: VecDeque<Piece>,
    /// Whether somebody is about to take the next chunk.
    offered: bool,
}

#[derive(Clone, Copy)]
enum Step {
    Sum(usize),
    Write(usize),
}

pub(super) struct Schedule {
    /// Which fields are compressed; the others need no encoding.
    compressed: Vec<bool>,
    encode: VecDeque<(u64, usize, Part)>,
    /// Blocks that are not cut yet, and the number of the first.
    blocks: VecDeque<Pending>,
    first_block: u64,
    /// None while a thread cuts.
    cut: Option<Cut>,
    finished: bool,
    lanes: Vec<Lane>,
    ready: VecDeque<Step>,
    /// Shards that are cut and not sealed.
    shards: Shards,
    /// Shards that are durable, those of earlier runs included.
    sealed: u64,
    spare: Spare,
    /// Parts that are on their way to the files, and their bytes.
    parts: usize,
    bytes: usize,
    most_parts: usize,
    pub ending: Ending,
    /// Workers that wait for a job.
    pub idle: usize,
}

impl Schedule {
    /// For fields of which those are compressed. `cut` knows the number of the first shard.
    pub(super) fn new(compressed: Vec<bool>, cut: Cut, threads: usize) -> Self {
        let fields = compressed.len();
        let lane = || Lane {
            sum: Some(Box::default()),
            chunks: VecDeque::new(),
            shard: Some(None),
            pieces: VecDeque::new(),
            offered: false,
        };
        Self {
            encode: VecDeque::new(),
            blocks: VecDeque::new(),
            first_block: 0,
            shards: Shards::new(fields, cut.shard()),
            sealed: cut.shard(),
            cut: Some(cut),
            finished: false,
            lanes: std::iter::repeat_with(lane).take(fields).collect(),
            ready: VecDeque::new(),
            spare: Spare::new(fields),
            parts: 0,
            bytes: 0,
            most_parts: fields.saturating_mul(2 + threads.saturating_mul(2)),
            ending: Ending::Open,
            idle: 0,
            compressed,
        }
    }

    /// Takes over a block and gives an empty one for it.
    pub(super) fn hand_over(&mut self, block: Block) -> Block {
        let number = self.first_block + self.blocks.len() as u64;
        let Block { fields, rows, count, .. } = block;
        self.bytes += rows.bytes.len();
        let mut pending = Pending { parts: Vec::with_capacity(fields.len()), missing: 0, rows, count };
        let mut empty = Vec::with_capacity(fields.len());
        for (field, mut part) in fields.into_iter().enumerate() {
            part.cost = part.size();
            self.parts += 1;
            self.bytes += part.cost;
            if self.compressed.get(field) == Some(&true) {
                pending.missing += 1;
                pending.parts.push(None);
                self.encode.push_back((number, field, part));
            } else {
                pending.parts.push(Some(part));
            }
            empty.push(self.spare.take(field));
        }
        self.blocks.push_back(pending);
        Block { fields: empty, ..Block::default() }
    }

    /// Whether the caller may go on.
    pub(super) fn has_room(&self) -> bool {
        self.parts <= self.most_parts && self.bytes <= IN_FLIGHT
    }

    /// Whether a caller that waits may go on. That is later than it could: to wake it for each block costs more than the
    /// block.
    pub(super) fn has_much_room(&self) -> bool {
        2 * self.parts <= self.most_parts && 2 * self.bytes <= IN_FLIGHT
    }

    /// How many jobs could be claimed now.
    pub(super) fn jobs(&self) -> usize {
        self.ready.len() + self.encode.len() + usize::from(self.can_cut() || self.can_finish())
    }

    /// The next job: what is nearest to its end comes first, since that frees memory.
    pub(super) fn claim(&mut self) -> Option<Job> {
        if let Some(step) = self.ready.pop_front() {
            return self.step(step);
        }
        if self.can_cut()
            && let Some(cut) = self.cut.take()
            && let Some(Pending { parts, rows, count, .. }) = self.blocks.pop_front()
        {
            self.first_block += 1;
            let parts = parts.into_iter().flatten().collect();
            return Some(Job::Cut { block: Cuttable { parts, rows, count }, cut });
        }
        if self.can_finish() {
            return self.cut.take().map(|cut| Job::Finish { cut });
        }
        let (block, field, given) = self.encode.pop_front()?;
        let encoded = self.spare.take(field);
        Some(Job::Encode { block, field, given, encoded })
    }

    fn can_cut(&self) -> bool {
        self.cut.is_some() && self.blocks.front().is_some_and(|block| block.missing == 0)
    }

    fn can_finish(&self) -> bool {
        self.ending == Ending::Publish && !self.finished && self.cut.is_some() && self.blocks.is_empty()
    }

    fn step(&mut self, step: Step) -> Option<Job> {
        match step {
            Step::Sum(field) => {
                let lane = self.lanes.get_mut(field)?;
                lane.offered = false;
                let chunk = lane.chunks.pop_front()?;
                let limit = self.sealed + 1;
                lane.sum.take().map(|sum| Job::Sum { field, sum, chunk, limit })
            }
            Step::Write(field) => {
                let lane = self.lanes.get_mut(field)?;
                let piece = lane.pieces.pop_front()?;
                lane.shard.take().map(|shard| Job::Write { field, shard, piece })
            }
        }
    }

    /// An encoded part is there; the part that it was made from is empty again.
    pub(super) fn encoded(&mut self, block: u64, field: usize, given: Part, mut encoded: Part) {
        encoded.cost = given.cost;
        self.spare.give(field, given);
        let place = block.checked_sub(self.first_block).map(|place| place as usize);
        if let Some(pending) = place.and_then(|place| self.blocks.get_mut(place))
            && let Some(part) = pending.parts.get_mut(field)
        {
            *part = Some(encoded);
            pending.missing -= 1;
        }
    }

    /// A block is cut.
    pub(super) fn cut(&mut self, cut: Cut, block: Cuttable, ranges: Vec<Range>, ends: Vec<End>) {
        self.bytes -= block.rows.bytes.len();
        let ranges: Arc<[Range]> = ranges.into();
        for end in ends {
            self.shards.end(end);
        }
        self.cut = Some(cut);
        for (field, part) in block.parts.into_iter().enumerate() {
            let Some(lane) = self.lanes.get_mut(field) else { continue };
            lane.chunks.push_back(Chunk { part: Arc::new(part), ranges: ranges.clone(), done: 0 });
            self.offer_sum(field);
        }
    }

    /// The last shard is cut, if there was anything in it.
    pub(super) fn finish(&mut self, cut: Cut, last: Option<(Range, End)>) {
        self.finished = true;
        let Some((range, end)) = last else {
            self.cut = Some(cut);
            return;
        };
        let parts: Vec<_> = std::iter::repeat_with(Part::default).take(self.lanes.len()).collect();
        self.parts += parts.len();
        self.cut(cut, Cuttable { parts, rows: Rows::default(), count: 0 }, vec![range], vec![end]);
    }

    /// The records of a chunk are in index and digest, or those of its ranges that may be.
    pub(super) fn summed(&mut self, field: usize, sum: Box<Sum>, chunk: Chunk, pieces: Vec<Piece>) {
        let Some(lane) = self.lanes.get_mut(field) else { return };
        lane.sum = Some(sum);
        let were_none = lane.pieces.is_empty();
        let is_idle = lane.shard.is_some();
        lane.pieces.extend(pieces);
        let are_some = !lane.pieces.is_empty();
        if chunk.done < chunk.ranges.len() {
            lane.chunks.push_front(chunk);
        } else if let Some(part) = Arc::into_inner(chunk.part) {
            self.landed(field, part);
        }
        if were_none && are_some && is_idle {
            self.ready.push_front(Step::Write(field));
        }
        self.offer_sum(field);
    }

    /// A piece is in its file, and with it perhaps the file complete.
    pub(super) fn written(
        &mut self,
        field: usize,
        shard: Option<Shard>,
        part: Arc<Part>,
        complete: Option<(u64, FileEntry, OutFile)>,
    ) {
        if let Some((number, entry, file)) = complete {
            self.shards.complete(number, field, entry, file);
        }
        if let Some(part) = Arc::into_inner(part) {
            self.landed(field, part);
        }
        if let Some(lane) = self.lanes.get_mut(field) {
            lane.shard = Some(shard);
            if !lane.pieces.is_empty() {
                self.ready.push_front(Step::Write(field));
            }
        }
    }

    /// What the sealing thread does next. A shard that it gets is out of here until [`Schedule::sealed`].
    pub(super) fn seal(&mut self) -> Seal {
        if self.ending == Ending::Stop {
            return Seal::Stop;
        }
        if let Some(complete) = self.shards.take() {
            return Seal::Shard(complete);
        }
        match self.ending {
            Ending::Publish if self.finished && self.is_written() => Seal::Publish,
            Ending::Drain if self.is_written() => Seal::Stop,
            _ => Seal::Wait,
        }
    }

    /// Whether the sealing thread has something to do.
    pub(super) fn can_seal(&self) -> bool {
        self.shards.is_ready() || self.ending != Ending::Open && self.is_written()
    }

    fn is_written(&self) -> bool {
        self.blocks.is_empty() && self.cut.is_some() && self.parts == 0
    }

    /// A shard is durable; the next one may be begun.
    pub(super) fn sealed(&mut self) {
        self.sealed += 1;
        (0..self.lanes.len()).for_each(|field| self.offer_sum(field));
    }

    /// Lets somebody do the next sum of a field, if there is one to do and it is not offered yet.
    fn offer_sum(&mut self, field: usize) {
        let Some(lane) = self.lanes.get_mut(field) else { return };
        let next = lane.chunks.front().and_then(|chunk| chunk.ranges.get(chunk.done));
        if !lane.offered && lane.sum.is_some() && next.is_some_and(|range| range.shard <= self.sealed + 1) {
            lane.offered = true;
            self.ready.push_back(Step::Sum(field));
        }
    }

    fn landed(&mut self, field: usize, part: Part) {
        self.parts -= 1;
        self.bytes -= part.cost;
        self.spare.give(field, part);
    }
}
