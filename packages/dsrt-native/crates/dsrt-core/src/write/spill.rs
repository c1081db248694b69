//! The metadata rows of an unfinished cache, on disk, so that memory does not grow with their number.
//!
//! Rows are appended as they come and proven shard by shard with a digest. `metadata.arrow` is made from them when the
//! cache is published, by the same calls that would have made it from the rows themselves.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use blake3::Hasher;

use super::disk::{Disk, DiskFile, failed, open_regular};
use super::value::Value;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;

mod rows;

pub(super) use rows::encode;

/// Rows are written and read in pieces of about this many bytes; a longer row is a piece of its own.
const PIECE: usize = 1 << 20;

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
    tail: Mutex<Tail>,
}

struct Tail {
    buffer: Vec<u8>,
    /// Length with what is buffered.
    len: u64,
    hasher: Hasher,
}

impl Spill {
    /// An empty spill.
    pub(super) fn create(disk: &Disk, path: PathBuf) -> Result<Self> {
        Ok(Self::from(disk.create(path, 0o644)?, 0))
    }

    /// A spill that is there, cut to its first `len` bytes, durably.
    pub(super) fn resume(disk: &Disk, path: PathBuf, len: u64) -> Result<Self> {
        let file = disk.open(path)?;
        file.truncate(len)?;
        file.sync()?;
        Ok(Self::from(file, len))
    }

    fn from(file: DiskFile, len: u64) -> Self {
        Self { file, tail: Mutex::new(Tail { buffer: Vec::new(), len, hasher: Hasher::new() }) }
    }

    /// Appends rows that were made by [`encode`].
    pub(super) fn append(&self, rows: &[u8]) -> Result<()> {
        let mut tail = self.tail()?;
        tail.hasher.update(rows);
        tail.len += rows.len() as u64;
        tail.buffer.extend_from_slice(rows);
        if tail.buffer.len() >= PIECE { self.flush(&mut tail) } else { Ok(()) }
    }

    /// Ends the rows of a shard here.
    pub(super) fn mark(&self) -> Result<SpillMark> {
        let mut tail = self.tail()?;
        let digest = *tail.hasher.finalize().as_bytes();
        tail.hasher.reset();
        Ok(SpillMark { bytes: tail.len, digest })
    }

    /// Makes durable what was appended before. After an error it must not be called again.
    pub(super) fn sync(&self) -> Result<()> {
        self.flush(&mut *self.tail()?)?;
        self.file.sync()
    }

    fn flush(&self, tail: &mut Tail) -> Result<()> {
        if !tail.buffer.is_empty() {
            self.file.write(tail.len - tail.buffer.len() as u64, &tail.buffer)?;
            tail.buffer.clear();
        }
        Ok(())
    }

    fn tail(&self) -> Result<MutexGuard<'_, Tail>> {
        self.tail.lock().map_err(|_| Error::new(Kind::Internal, "a thread panicked while it wrote metadata"))
    }
}

/// How many of the marks hold for the file at `path`: it is long enough, and what lies between them is proven.
/// `pause` is called now and then; its error ends that.
pub(super) fn proven(path: &Path, marks: &[SpillMark], pause: &mut dyn FnMut() -> Result<()>) -> Result<usize> {
    if marks.is_empty() {
        return Ok(0);
    }
    let Some(mut file) = open_regular(path)? else { return Ok(0) };
    let mut start = 0;
    for (good, mark) in marks.iter().enumerate() {
        let mut left = mark.bytes.saturating_sub(start);
        let mut hasher = Hasher::new();
        let mut piece = Vec::new();
        while left > 0 {
            pause()?;
            piece.clear();
            if read(&mut file, path, PIECE, &mut left, &mut piece)? == 0 {
                return Ok(good);
            }
            hasher.update(&piece);
        }
        if *hasher.finalize().as_bytes() != mark.digest {
            return Ok(good);
        }
        start = mark.bytes;
    }
    Ok(marks.len())
}

/// Calls `each` with every row of `columns` values up to the last mark, in order, and `pause` now and then. Rows are
/// handed out before they are proven, so what is made of them counts only if there is no error.
pub(super) fn replay(
    path: &Path,
    columns: usize,
    marks: &[SpillMark],
    pause: &mut dyn FnMut() -> Result<()>,
    mut each: impl FnMut(&[Value<'_>]) -> Result<()>,
) -> Result<()> {
    if marks.is_empty() {
        return Ok(());
    }
    let mut file = File::open(path).map_err(failed("opening", path))?;
    let mut start = 0;
    let mut bytes = Vec::new();
    for mark in marks {
        let mut left = mark.bytes.saturating_sub(start);
        let mut hasher = Hasher::new();
        while left > 0 {
            pause()?;
            let known = bytes.len();
            // What is there may be the beginning of a long row; to double it each time is enough.
            if read(&mut file, path, PIECE.max(known), &mut left, &mut bytes)? == 0 {
                return Err(changed(path));
            }
            hasher.update(bytes.get(known..).unwrap_or_default());
            let used = rows::rows(&bytes, columns, &mut each)?.ok_or_else(|| changed(path))?;
            bytes.drain(..used);
        }
        if !bytes.is_empty() || *hasher.finalize().as_bytes() != mark.digest {
            return Err(changed(path));
        }
        start = mark.bytes;
    }
    Ok(())
}

/// Appends up to `most` of the bytes that are `left` to `out`, and returns how many there were.
fn read(file: &mut File, path: &Path, most: usize, left: &mut u64, out: &mut Vec<u8>) -> Result<usize> {
    let room = (most as u64).min(*left);
    let read = file.take(room).read_to_end(out).map_err(failed("reading", path))?;
    *left -= read as u64;
    Ok(read)
}

fn changed(path: &Path) -> Error {
    Error::new(
        Kind::Io,
        format!("{} does not hold what was written to it; the disk or another program changed it", path.display()),
    )
}

#[cfg(test)]
mod tests;
