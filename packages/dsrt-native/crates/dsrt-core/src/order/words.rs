//! Large tables of integers in fallible memory.

use crate::batch::{Allocator, Buffer, Heap};
use crate::error::{Error, Kind, Result};

/// Little-endian integers of `BYTES` bytes. They lie in memory like a batch's: that may be refused, and stands in pages of
/// 2 MiB where the system has them, so that a look-up anywhere in a gigabyte misses one cache and not two.
pub(super) struct Words<const BYTES: usize>(Box<dyn Buffer>);

impl<const BYTES: usize> Words<BYTES> {
    /// So many of them, of any value. `rows` is for the error.
    pub fn new(len: usize, rows: u64) -> Result<Self> {
        let refused =
            || Error::new(Kind::Memory, format!("the table for weighted draws of {rows} rows does not fit in memory"));
        let bytes = len.checked_mul(BYTES).ok_or_else(refused)?;
        Ok(Self(Heap.allocate(bytes).map_err(|_| refused())?))
    }

    /// All of them.
    pub fn get(&self) -> &[[u8; BYTES]] {
        self.0.bytes().as_chunks().0
    }

    /// All of them, to be written.
    pub fn get_mut(&mut self) -> &mut [[u8; BYTES]] {
        self.0.bytes_mut().as_chunks_mut().0
    }
}

/// The value of an integer.
#[inline(always)]
pub(super) fn number<const BYTES: usize>(word: &[u8; BYTES]) -> u64 {
    let mut wide = [0; 8];
    for (to, byte) in wide.iter_mut().zip(word) {
        *to = *byte;
    }
    u64::from_le_bytes(wide)
}

/// The lowest bytes of a number.
#[inline(always)]
pub(super) fn bytes<const BYTES: usize>(number: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (to, byte) in bytes.iter_mut().zip(number.to_le_bytes()) {
        *to = byte;
    }
    bytes
}
