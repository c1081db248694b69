//! A batch: one buffer that holds all columns of many samples, and the description of what lies where.
//!
//! Everything a batch needs is planned first and allocated once, so that a batch can be lent any memory: the
//! heap's, or page-locked memory that another library owns.

use std::any::Any;
use std::sync::Arc;

use crate::dtype::{DType, Element};
use crate::error::{Error, Kind, Result};

/// Every span begins at a multiple of this many bytes, and so does the buffer.
pub const ALIGNMENT: usize = 64;

/// Memory for one batch. `Any`, so that who lent the memory can find it again in the batch.
pub trait Buffer: Any + Send + Sync {
    /// All of it.
    fn bytes(&self) -> &[u8];
    /// All of it, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Where batches get their memory.
pub trait Allocator: Send + Sync {
    /// Initialised memory of exactly `bytes` bytes, aligned to [`ALIGNMENT`].
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>>;

    /// Whether that is quick and runs nothing but this library: no handler of a signal, and nothing that waits for others.
    fn is_plain(&self) -> bool {
        false
    }
}

/// Zeroed memory of the heap, returned to it when the batch is dropped.
pub struct Heap;

impl Allocator for Heap {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        Ok(Box::new(HeapBuffer::new(bytes)?))
    }
}

struct HeapBuffer {
    block: Box<[u8]>,
    /// The first aligned byte of the block.
    start: usize,
    len: usize,
}

impl HeapBuffer {
    fn new(len: usize) -> Result<Self> {
        let refused = || Error::new(Kind::Memory, format!("a batch of {len} bytes cannot be allocated"));
        // The room to align is never used up, so that an empty batch has a real address, too.
        let size = len.checked_add(ALIGNMENT).ok_or_else(refused)?;
        let mut block = Vec::new();
        block.try_reserve_exact(size).map_err(|_| refused())?;
        block.resize(size, 0);
        let block = block.into_boxed_slice();
        let start = block.as_ptr().addr().wrapping_neg() % ALIGNMENT;
        Ok(Self { block, start, len })
    }
}

impl Buffer for HeapBuffer {
    fn bytes(&self) -> &[u8] {
        self.block.get(self.start..self.start + self.len).unwrap_or_default()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.block.get_mut(self.start..self.start + self.len).unwrap_or_default()
    }
}

/// A range of bytes inside a batch's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub at: usize,
    /// Number of bytes.
    pub len: usize,
}

impl Span {
    /// The bytes of this span; an error of ours if they lie outside `buffer`, which no plan produces.
    pub fn of(self, buffer: &[u8]) -> Result<&[u8]> {
        self.at.checked_add(self.len).and_then(|end| buffer.get(self.at..end)).ok_or_else(outside)
    }

    /// The bytes of this span, to be written.
    pub fn of_mut(self, buffer: &mut [u8]) -> Result<&mut [u8]> {
        self.at.checked_add(self.len).and_then(|end| buffer.get_mut(self.at..end)).ok_or_else(outside)
    }
}

fn outside() -> Error {
    Error::new(Kind::Internal, "a span lies outside its batch")
}

/// Adds up the spans of a batch before it is allocated.
#[derive(Default)]
pub struct Spans {
    end: usize,
}

impl Spans {
    /// Reserves `len` bytes at the next aligned place.
    pub fn reserve(&mut self, len: u64) -> Result<Span> {
        let too_large = || Error::new(Kind::Memory, "a batch is larger than the address space; ask for fewer samples");
        let len = usize::try_from(len).map_err(|_| too_large())?;
        let at = self.end.checked_next_multiple_of(ALIGNMENT).ok_or_else(too_large)?;
        self.end = at.checked_add(len).filter(|end| *end <= isize::MAX as usize).ok_or_else(too_large)?;
        Ok(Span { at, len })
    }

    /// Bytes of the whole batch.
    pub fn total(&self) -> usize {
        self.end
    }
}

/// How one column lies in the buffer. All integers are in native (little-endian) byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One C-order array; the first axis counts the samples.
    Dense {
        /// Of the array.
        element: Element,
        /// `[samples, ...]`.
        shape: Box<[u64]>,
        /// The array.
        values: Span,
    },
    /// The records back to back.
    Ragged {
        /// Of the values.
        dtype: DType,
        /// Axes of each record, at least 1.
        ndim: u32,
        /// All elements.
        values: Span,
        /// int64, samples + 1, counted in elements, beginning with 0.
        offsets: Span,
        /// int64, `[samples, ndim]`; only where ndim > 1.
        shapes: Option<Span>,
    },
    /// Strings of bytes, or of UTF-8 text, back to back.
    Strings {
        /// Whether they are UTF-8 (checked).
        text: bool,
        /// All bytes.
        values: Span,
        /// int64, samples + 1, counted in bytes, beginning with 0.
        offsets: Span,
        /// One byte a sample, 0 for null; absent where nothing is null.
        valid: Option<Span>,
    },
}

impl Layout {
    /// What it uses of the buffer.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        let (values, offsets, last) = match self {
            Self::Dense { values, .. } => (values, None, None),
            Self::Ragged { values, offsets, shapes, .. } => (values, Some(offsets), shapes.as_ref()),
            Self::Strings { values, offsets, valid, .. } => (values, Some(offsets), valid.as_ref()),
        };
        [Some(values), offsets, last].into_iter().flatten().copied()
    }
}

/// Writes the offsets of a [`Layout`]: where items of these lengths begin that lie back to back, and where the last ends.
pub fn fill_offsets(buffer: &mut [u8], lengths: impl Iterator<Item = u64>) {
    let mut offset = 0u64;
    let ends = lengths.map(|length| {
        offset += length;
        offset
    });
    for (to, offset) in buffer.as_chunks_mut::<8>().0.iter_mut().zip(std::iter::once(0).chain(ends)) {
        *to = offset.to_ne_bytes();
    }
}

/// One named column of a batch.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: Arc<str>,
    /// Where it lies.
    pub layout: Layout,
}

/// Many samples, ready to be handed out.
pub struct Batch {
    /// The memory of all columns.
    pub buffer: Box<dyn Buffer>,
    /// The columns, in the order asked for.
    pub columns: Vec<Column>,
    /// Number of samples.
    pub len: usize,
    /// What was damaged and masked: place in the batch, and the error. Empty when damage raises.
    pub damaged: Vec<(usize, Error)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_aligned_and_inside_what_is_allocated() {
        let mut spans = Spans::default();
        let a = spans.reserve(3).unwrap();
        let b = spans.reserve(0).unwrap();
        let c = spans.reserve(65).unwrap();
        assert_eq!((a.at, b.at, c.at, spans.total()), (0, 64, 64, 129));
        let mut buffer = Heap.allocate(spans.total()).unwrap();
        assert_eq!(buffer.bytes().as_ptr() as usize % ALIGNMENT, 0);
        c.of_mut(buffer.bytes_mut()).unwrap().fill(7);
        assert_eq!(c.of(buffer.bytes()).unwrap(), [7; 65]);
        assert!(Span { at: 128, len: 2 }.of(buffer.bytes()).is_err());
    }

    #[test]
    fn offsets_are_the_beginnings_and_the_end() {
        let mut buffer = [7; 32];
        fill_offsets(&mut buffer, [3, 0, 5].into_iter());
        assert_eq!(buffer.as_chunks().0.iter().map(|b| u64::from_ne_bytes(*b)).collect::<Vec<_>>(), [0, 3, 3, 8]);
        fill_offsets(&mut buffer[..8], std::iter::empty());
        assert_eq!(buffer[..8], [0; 8]);
        // More than any 32 bits hold.
        fill_offsets(&mut buffer[..24], [1 << 31, 1 << 33].into_iter());
        assert_eq!(buffer.as_chunks::<8>().0[..3], [0, 1 << 31, (1 << 31) + (1 << 33)].map(u64::to_ne_bytes));
    }

    #[test]
    fn an_impossible_size_is_an_error() {
        assert_eq!(Spans::default().reserve(u64::MAX).unwrap_err().kind(), Kind::Memory);
        assert_eq!(Heap.allocate(isize::MAX as usize).err().unwrap().kind(), Kind::Memory);
        assert_eq!(Heap.allocate(usize::MAX).err().unwrap().kind(), Kind::Memory);
        assert!(Heap.allocate(0).unwrap().bytes().is_empty());
    }

    #[test]
    fn memory_of_any_size_is_aligned_and_zero() {
        for len in [0, 1, 63, 64, 65, 4096, 3 << 20] {
            let buffer = Heap.allocate(len).unwrap();
            assert_eq!((buffer.bytes().len(), buffer.bytes().as_ptr().addr() % ALIGNMENT), (len, 0));
            assert!(buffer.bytes().iter().all(|byte| *byte == 0));
        }
    }
}
