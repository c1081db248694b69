//! The metadata rows of an unfinished cache, on disk, so that memory does not grow with their number.
//!
//! Rows are appended as they come, lie there in pieces by columns, and are proven shard by shard with a digest.
//! `metadata.arrow` is made from them when the cache is published.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use arrow_array::RecordBatch;
use blake3::Hasher;

use super::disk::{Disk, DiskFile, failed, open_regular};
use super::metadata::Columns;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;
use crate::format::metadata::BATCH;

mod batch;
mod piece;
mod rows;

pub(super) use batch::{Batch, Part, Pause, Reader};
use piece::Piece;
pub(super) use piece::width;
pub(super) use rows::encode;

/// A piece has about this many bytes, or more with a longer row.
const PIECE: usize = 512 << 10;
/// Where there are many columns a piece has so many bytes for each, or each would be read in tiny portions.
const PIECE_OF_COLUMN: usize = 16 << 10;

/// The most rows that are taken over at a time.
const ROWS: usize = 4096;

/// Where the rows of a shard end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpillMark {
    /// Length of the spill there.
    pub bytes: u64,
    /// Digest of what came since the mark before.
    pub digest: Digest,
}

/// A spill that grows. Shared by those who append and those who make it durable.
pub(super) struct Spill {
    file: DiskFile,
    columns: usize,
    /// Bytes of a piece.
    most: usize,
    tail: Mutex<Tail>,
}

struct Tail {
    /// Rows of which no piece is made yet.
    piece: Piece,
    /// Pieces that are not in the file yet.
    buffer: Vec<u8>,
    /// Length with what is buffered.
    len: u64,
    /// Rows in pieces, of the batch that is open there.
    rows: u64,
    hasher: Hasher,
}

impl Spill {
    /// An empty spill.
    pub(super) fn create(disk: &Disk, path: PathBuf, columns: &Columns) -> Result<Self> {
        Ok(Self::from(disk.create(path, 0o644)?, columns, 0, 0))
    }

    /// A spill that is there, cut to its first `len` bytes, which hold so many rows, durably.
    pub(super) fn resume(disk: &Disk, path: PathBuf, columns: &Columns, len: u64, rows: u64) -> Result<Self> {
        let file = disk.open(path)?;
        file.truncate(len)?;
        file.sync()?;
        Ok(Self::from(file, columns, len, rows))
    }

    fn from(file: DiskFile, columns: &Columns, len: u64, rows: u64) -> Self {
        let piece = Piece::new(columns.iter().map(|(_, kind)| *kind));
        let tail = Tail { piece, buffer: Vec::new(), len, rows: rows % BATCH, hasher: Hasher::new() };
        let most = PIECE.max(PIECE_OF_COLUMN * columns.len());
        Self { file, columns: columns.len(), most, tail: Mutex::new(tail) }
    }

    /// Appends rows that were made by [`encode`].
    pub(super) fn append(&self, rows: &[u8]) -> Result<()> {
        let mut tail = self.tail()?;
        let used = rows::rows(rows, self.columns, &mut |row| {
            tail.piece.push(row)?;
            self.close_full(&mut tail)
        })?;
        if used == Some(rows.len()) { Ok(()) } else { Err(Error::new(Kind::Internal, "rows that are none")) }
    }

    /// Appends rows that were read from a file with the same columns, and validated there. `pause` is called now and
    /// then; its error ends it.
    pub(super) fn extend(&self, rows: &RecordBatch, pause: Pause<'_>) -> Result<()> {
        let mut tail = self.tail()?;
        let mut done = 0;
        while done < rows.num_rows() {
            pause()?;
            let room = (BATCH - tail.rows) as usize - tail.piece.rows() as usize;
            let most = room.min(ROWS).min(rows.num_rows() - done);
            let piece = rows.slice(done, most);
            let some = piece::fitting(&piece, self.most);
            tail.piece.extend(&piece.slice(0, some))?;
            self.close_full(&mut tail)?;
            done += some;
        }
        Ok(())
    }

    /// Ends the rows of a shard here.
    pub(super) fn mark(&self) -> Result<SpillMark> {
        let mut tail = self.tail()?;
        self.close(&mut tail)?;
        let digest = *tail.hasher.finalize().as_bytes();
        tail.hasher.reset();
        Ok(SpillMark { bytes: tail.len, digest })
    }

    /// Makes durable what was appended up to the last mark. After an error it must not be called again.
    pub(super) fn sync(&self) -> Result<()> {
        self.flush()?;
        self.file.sync()
    }

    /// Hands over to the file what was appended up to the last mark.
    pub(super) fn flush(&self) -> Result<()> {
        self.write(&mut *self.tail()?)
    }

    /// Makes a piece of the rows that gather, if they are enough for one, or the last ones of their batch.
    fn close_full(&self, tail: &mut Tail) -> Result<()> {
        let is_full = tail.piece.bytes() >= self.most || tail.rows + u64::from(tail.piece.rows()) == BATCH;
        if is_full { self.close(tail) } else { Ok(()) }
    }

    fn close(&self, tail: &mut Tail) -> Result<()> {
        if tail.piece.rows() == 0 {
            return Ok(());
        }
        tail.rows = (tail.rows + u64::from(tail.piece.rows())) % BATCH;
        let start = tail.buffer.len();
        tail.piece.write(&mut tail.buffer);
        let written = tail.buffer.get(start..).unwrap_or_default();
        tail.hasher.update(written);
        tail.len += written.len() as u64;
        if tail.buffer.len() >= self.most { self.write(tail) } else { Ok(()) }
    }

    fn write(&self, tail: &mut Tail) -> Result<()> {
        if !tail.buffer.is_empty() {
            self.file.write(tail.len - tail.buffer.len() as u64, &tail.buffer)?;
            tail.buffer.clear();
            // What a giant row needed goes with it.
            tail.buffer.shrink_to(2 * self.most);
        }
        Ok(())
    }

    fn tail(&self) -> Result<MutexGuard<'_, Tail>> {
        self.tail.lock().map_err(|_| Error::new(Kind::Internal, "a thread panicked while it wrote metadata"))
    }
}

/// How many of the marks hold for the file at `path`: it is long enough, and what lies between them is proven.
/// `pause` is called now and then; its error ends that.
pub(super) fn proven(path: &Path, marks: &[SpillMark], pause: Pause<'_>) -> Result<usize> {
    if marks.is_empty() {
        return Ok(0);
    }
    let Some(mut file) = open_regular(path)? else { return Ok(0) };
    let mut start = 0;
    let mut piece = Vec::new();
    for (good, mark) in marks.iter().enumerate() {
        let mut left = mark.bytes.saturating_sub(start);
        let mut hasher = Hasher::new();
        while left > 0 {
            pause()?;
            piece.clear();
            let read = (&mut file).take(left.min(PIECE as u64)).read_to_end(&mut piece);
            let read = read.map_err(failed("reading", path))? as u64;
            if read == 0 {
                return Ok(good);
            }
            left -= read;
            hasher.update(&piece);
        }
        if *hasher.finalize().as_bytes() != mark.digest {
            return Ok(good);
        }
        start = mark.bytes;
    }
    Ok(marks.len())
}

/// The error of a spill that is not what was written.
pub(super) fn changed(path: &Path) -> Error {
    Error::new(
        Kind::Io,
        format!("{} does not hold what was written to it; the disk or another program changed it", path.display()),
    )
}

#[cfg(test)]
mod tests;
