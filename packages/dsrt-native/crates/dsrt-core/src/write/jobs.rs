//! What the threads of a writer do, and what they do it with.

use std::sync::Arc;

use super::block::{Part, Rows};
use super::cut::{Cut, Range};
use super::file::OutFile;
use super::shard::{Shard, Sum, Tail};
use super::spill::SpillMark;
use crate::format::manifest::FileEntry;

/// Something for a worker to do.
pub(super) enum Job {
    Encode {
        block: u64,
        field: usize,
        given: Part,
        encoded: Part,
    },
    Cut {
        block: Cuttable,
        cut: Cut,
    },
    /// Ends the last shard.
    Finish {
        cut: Cut,
    },
    Sum {
        field: usize,
        sum: Box<Sum>,
        chunk: Chunk,
        limit: u64,
    },
    Write {
        field: usize,
        shard: Option<Shard>,
        piece: Piece,
    },
}

/// A block of which every field is encoded.
pub(super) struct Cuttable {
    pub parts: Vec<Part>,
    pub rows: Rows,
    pub count: usize,
}

/// The encoded records of one field of a block, and how shards divide them.
pub(super) struct Chunk {
    pub part: Arc<Part>,
    pub ranges: Arc<[Range]>,
    /// So many of the ranges are done.
    pub done: usize,
}

/// Bytes for one file.
pub(super) struct Piece {
    pub part: Arc<Part>,
    pub shard: u64,
    pub from: usize,
    pub to: usize,
    pub tail: Option<Tail>,
}

/// A shard of which every file is complete.
pub(super) struct Complete {
    pub samples: u64,
    pub files: Vec<(FileEntry, OutFile)>,
    pub mark: Option<SpillMark>,
}

/// Where a shard ends.
pub(super) struct End {
    pub shard: u64,
    pub samples: u64,
    pub mark: Option<SpillMark>,
}

/// What the thread that makes shards durable does next.
pub(super) enum Seal {
    Shard(Complete),
    Publish,
    Stop,
    Wait,
}

/// How the threads come to an end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Not yet.
    Open,
    /// Once the cache is published.
    Publish,
    /// Once the shards that are full already are durable.
    Drain,
    /// At once.
    Stop,
}
