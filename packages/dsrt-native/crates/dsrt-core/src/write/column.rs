//! One column of a metadata batch: the buffers that it has in the file, and how they are filled from the spill.

use std::fmt::Display;

use super::arrow::ArrowFile;
use super::spill::{Batch, Part, Pause, width};
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};

/// Bytes of a view, and of the longest string that lies in it.
const VIEW: usize = 16;
const INLINE: u32 = 12;

/// A column's buffers by their lengths, in Arrow's order.
pub(super) struct Layout {
    pub nulls: u64,
    pub validity: u64,
    pub values: u64,
    /// The buffers that strings lie in; None if it is no column of strings.
    pub strings: Option<Vec<u64>>,
}

impl Layout {
    /// The buffers of a column of a batch. Strings are looked at for that.
    pub(super) fn of(batch: &Batch<'_>, column: usize, kind: ColumnType, pause: Pause<'_>) -> Result<Self> {
        let nulls = batch.nulls.get(column).copied().unwrap_or_default();
        let bits = batch.rows.div_ceil(8);
        let values = if is_bits(kind) { bits } else { batch.rows * width(kind) as u64 };
        let mut strings = None;
        if kind.element().is_none() {
            let mut blocks = Blocks::default();
            batch.each(column, Part::Values, pause, &mut |views| {
                for view in views.as_chunks::<VIEW>().0 {
                    blocks.place(length(view));
                }
                Ok(())
            })?;
            strings = Some(blocks.into_lengths());
        }
        Ok(Self { nulls, validity: if nulls > 0 { bits } else { 0 }, values, strings })
    }

    /// The lengths of all buffers in order.
    pub(super) fn buffers(&self) -> impl Iterator<Item = u64> {
        [self.validity, self.values].into_iter().chain(self.strings.iter().flatten().copied())
    }

    /// Appends all buffers to the file.
    pub(super) fn write(
        &self,
        batch: &Batch<'_>,
        column: usize,
        kind: ColumnType,
        file: &mut ArrowFile,
        pause: Pause<'_>,
    ) -> Result<()> {
        if self.nulls > 0 {
            write_bits(batch, column, Part::Valid, file, pause)?;
            end(batch, self.validity, file)?;
        }
        match &self.strings {
            Some(_) => write_views(batch, column, file, pause)?,
            None if is_bits(kind) => write_bits(batch, column, Part::Values, file, pause)?,
            None => batch.each(column, Part::Values, pause, &mut |values| file.write(values))?,
        }
        end(batch, self.values, file)?;
        self.write_strings(batch, column, file, pause)
    }

    fn write_strings(&self, batch: &Batch<'_>, column: usize, file: &mut ArrowFile, pause: Pause<'_>) -> Result<()> {
        let mut blocks = self.strings.iter().flatten();
        let Some(mut block) = blocks.next().copied() else { return Ok(()) };
        batch.each(column, Part::Data, pause, &mut |mut bytes| {
            while !bytes.is_empty() {
                let room = block.saturating_sub(file.in_buffer());
                let now = bytes.split_off(..bytes.len().min(room as usize)).unwrap_or_default();
                file.write(now)?;
                if file.in_buffer() == block {
                    file.end_buffer()?;
                    block = blocks.next().copied().unwrap_or(0);
                } else if now.is_empty() {
                    return Err(batch.changed());
                }
            }
            Ok(())
        })?;
        if block == 0 { Ok(()) } else { Err(batch.changed()) }
    }
}

/// Ends a buffer, which has the length that was announced unless the spill has changed since.
fn end(batch: &Batch<'_>, length: u64, file: &mut ArrowFile) -> Result<()> {
    if file.in_buffer() == length { file.end_buffer() } else { Err(batch.changed()) }
}

fn is_bits(kind: ColumnType) -> bool {
    kind == ColumnType::Number(DType::Bool)
}

fn length(view: &[u8; VIEW]) -> u32 {
    view.first_chunk().map_or(0, |length| u32::from_le_bytes(*length))
}

/// Packs bytes that are 0 or 1, the first into the lowest bit.
fn write_bits(batch: &Batch<'_>, column: usize, part: Part, file: &mut ArrowFile, pause: Pause<'_>) -> Result<()> {
    let (mut open, mut filled, mut packed) = (0, 0, Vec::new());
    batch.each(column, part, pause, &mut |flags| {
        packed.clear();
        for flag in flags {
            open |= flag << filled;
            filled += 1;
            if filled == 8 {
                packed.push(open);
                (open, filled) = (0, 0);
            }
        }
        file.write(&packed)
    })?;
    if filled > 0 { file.write(&[open]) } else { Ok(()) }
}

/// Says in each view that needs it where the string lies.
fn write_views(batch: &Batch<'_>, column: usize, file: &mut ArrowFile, pause: Pause<'_>) -> Result<()> {
    let (mut blocks, mut placed) = (Blocks::default(), Vec::new());
    batch.each(column, Part::Values, pause, &mut |views| {
        placed.clear();
        placed.extend_from_slice(views);
        for view in placed.as_chunks_mut::<VIEW>().0 {
            if let Some((block, offset)) = blocks.place(length(view))
                && let Some(place) = view.last_chunk_mut()
            {
                *place = (u64::from(block) | u64::from(offset) << 32).to_le_bytes();
            }
        }
        file.write(&placed)
    })
}

/// How strings are divided into buffers: as `GenericByteViewBuilder` of arrow-array does it, in blocks that double from
/// 16 KiB up to 2 MiB, with a block of its own size for a string that is longer.
struct Blocks {
    done: Vec<u64>,
    open: u64,
    room: u64,
    size: u64,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { done: Vec::new(), open: 0, room: 0, size: 8 << 10 }
    }
}

impl Blocks {
    /// Block and offset of a string; None if it lies in its view.
    fn place(&mut self, length: u32) -> Option<(u32, u32)> {
        if length <= INLINE {
            return None;
        }
        let length = u64::from(length);
        if self.open + length > self.room {
            self.close();
            self.size = (2 * self.size).min(2 << 20);
            self.room = self.size.max(length);
        }
        let place = (self.done.len() as u32, self.open as u32);
        self.open += length;
        Some(place)
    }

    fn close(&mut self) {
        if self.open > 0 {
            self.done.push(self.open);
            self.open = 0;
        }
    }

    fn into_lengths(mut self) -> Vec<u64> {
        self.close();
        self.done
    }
}

/// Schemas and messages are made by this crate, so what Arrow finds wrong with them is a mistake of it.
pub(super) fn ours(error: &impl Display) -> Error {
    Error::new(Kind::Internal, format!("metadata could not be encoded: {error}"))
}
