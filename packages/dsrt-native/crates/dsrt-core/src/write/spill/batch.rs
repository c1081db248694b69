//! Reading the spill: one batch of the table at a time, one column of it at a time, in small pieces.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::changed;
use super::piece::{head_bytes, width};
use crate::dtype::ColumnType;
use crate::error::Result;
use crate::format::metadata::BATCH;
use crate::write::disk::failed;

/// Bytes that are read at a time: whole values of every width.
const PORTION: usize = 128 << 10;

/// Rows of which nothing says that they are null.
const VALID: [u8; 4096] = [1; 4096];

/// Called now and then; its error ends the reading.
pub(in crate::write) type Pause<'a> = &'a mut dyn FnMut() -> Result<()>;

/// What a column has in a piece of the spill.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum Part {
    /// For each row 1, or 0 for a null.
    Valid,
    /// Values of the column's width.
    Values,
    /// Strings that do not fit into views.
    Data,
}

/// A spill that nobody writes to any more.
pub(in crate::write) struct Reader<'a> {
    file: File,
    path: &'a Path,
    widths: Vec<usize>,
    at: u64,
    end: u64,
}

/// The rows of one batch.
pub(in crate::write) struct Batch<'a> {
    spill: &'a Reader<'a>,
    start: u64,
    end: u64,
    /// How many they are.
    pub rows: u64,
    /// How many nulls each column has.
    pub nulls: Vec<u64>,
}

/// One column in one piece.
struct Extent {
    rows: u64,
    nulls: u32,
    start: u64,
    end: u64,
}

impl<'a> Reader<'a> {
    /// The first `end` bytes of the spill at `path`, which were proven.
    pub(in crate::write) fn open(path: &'a Path, kinds: impl Iterator<Item = ColumnType>, end: u64) -> Result<Self> {
        let file = File::open(path).map_err(failed("opening", path))?;
        Ok(Self { file, path, widths: kinds.map(width).collect(), at: 0, end })
    }

    /// The next batch, None behind the last one. No piece reaches from one batch into the next.
    pub(in crate::write) fn next(&mut self, pause: Pause<'_>) -> Result<Option<Batch<'_>>> {
        let (start, mut rows, mut nulls) = (self.at, 0, vec![0; self.widths.len()]);
        while self.at < self.end && rows < BATCH {
            pause()?;
            let head = self.head(self.at)?;
            for (sum, column) in nulls.iter_mut().zip(&head) {
                *sum += u64::from(column.nulls);
            }
            rows += head.first().map_or(0, |column| column.rows);
            self.at = head.last().map_or(self.end, |column| column.end);
        }
        match rows {
            0 => Ok(None),
            1..=BATCH => Ok(Some(Batch { end: self.at, spill: self, start, rows, nulls })),
            _ => Err(changed(self.path)),
        }
    }

    /// Where the columns of the piece lie that begins there.
    fn head(&self, at: u64) -> Result<Vec<Extent>> {
        let mut bytes = vec![0; head_bytes(self.widths.len())];
        self.read(&mut bytes, at)?;
        let damaged = || changed(self.path);
        let (rows, columns) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let rows = u64::from(u32::from_le_bytes(*rows));
        let mut start = at + bytes.len() as u64;
        let mut extents = Vec::with_capacity(self.widths.len());
        for (entry, width) in columns.chunks_exact(12).zip(&self.widths) {
            let (nulls, length) = entry.split_first_chunk().ok_or_else(damaged)?;
            let (nulls, length) = (u32::from_le_bytes(*nulls), length.first_chunk().ok_or_else(damaged)?);
            let end = start.checked_add(u64::from_le_bytes(*length)).filter(|end| *end <= self.end);
            let extent = Extent { rows, nulls, start, end: end.ok_or_else(damaged)? };
            if rows == 0 || extent.values(*width).1 > extent.end {
                return Err(damaged());
            }
            start = extent.end;
            extents.push(extent);
        }
        Ok(extents)
    }

    fn read(&self, into: &mut [u8], at: u64) -> Result<()> {
        self.file.read_exact_at(into, at).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => changed(self.path),
            _ => failed("reading", self.path)(error),
        })
    }
}

impl Extent {
    fn valid_bytes(&self) -> u64 {
        if self.nulls > 0 { self.rows } else { 0 }
    }

    /// Where the values begin and end.
    fn values(&self, width: usize) -> (u64, u64) {
        let start = self.start.saturating_add(self.valid_bytes());
        (start, start.saturating_add(self.rows.saturating_mul(width as u64)))
    }
}

impl Batch<'_> {
    /// Hands out a part of a column front to back, in portions of whole values.
    pub(in crate::write) fn each(
        &self,
        column: usize,
        part: Part,
        pause: Pause<'_>,
        each: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let width = self.spill.widths.get(column).copied().unwrap_or_default();
        let mut buffer = Vec::new();
        let mut at = self.start;
        while at < self.end {
            let head = self.spill.head(at)?;
            at = head.last().map_or(self.end, |last| last.end);
            let Some(extent) = head.get(column) else { continue };
            let (values, data) = extent.values(width);
            let (mut from, to) = match part {
                Part::Valid if extent.nulls == 0 => {
                    valid(extent.rows, each)?;
                    continue;
                }
                Part::Valid => (extent.start, values),
                Part::Values => (values, data),
                Part::Data => (data, extent.end),
            };
            while from < to {
                pause()?;
                buffer.resize((to - from).min(PORTION as u64) as usize, 0);
                self.spill.read(&mut buffer, from)?;
                each(&buffer)?;
                from += buffer.len() as u64;
            }
        }
        Ok(())
    }

    /// The error of a spill that is another one at a second look.
    pub(in crate::write) fn changed(&self) -> crate::error::Error {
        changed(self.spill.path)
    }
}

fn valid(rows: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut left = rows as usize;
    while left > 0 {
        let now = VALID.get(..left).unwrap_or(&VALID);
        each(now)?;
        left -= now.len();
    }
    Ok(())
}
