//! Large tables of integers in fallible memory.

use crate::error::{Error, Kind, Result};
use crate::pool::Memory;

/// Little-endian integers of `BYTES` bytes. Their memory may be refused, and stands in pages of 2 MiB where the system has
/// them, so that a look-up anywhere in a gigabyte misses one cache and not two. It is theirs alone: a table lives long, and
/// memory that batches leave may be twice as large.
pub(super) struct Words<const BYTES: usize> {
    memory: Memory,
    bytes: usize,
}

impl<const BYTES: usize> Words<BYTES> {
    /// So many of them, all 0. `rows` is for the error.
    pub fn new(len: usize, rows: u64) -> Result<Self> {
        let refused =
            || Error::new(Kind::Memory, format!("the table for weighted draws of {rows} rows does not fit in memory"));
        let bytes = len.checked_mul(BYTES).ok_or_else(refused)?;
        Ok(Self { memory: Memory::new(bytes).map_err(|_| refused())?, bytes })
    }

    /// All of them.
    pub fn get(&self) -> &[[u8; BYTES]] {
        self.memory.bytes().get(..self.bytes).unwrap_or_default().as_chunks().0
    }

    /// All of them, to be written.
    pub fn get_mut(&mut self) -> &mut [[u8; BYTES]] {
        self.memory.bytes_mut().get_mut(..self.bytes).unwrap_or_default().as_chunks_mut().0
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel without huge pages has none to give.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_large_table_asks_for_huge_pages() {
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
            return;
        }
        let words = Words::<8>::new(2 << 20, 1).unwrap();
        let (first, last) = (words.get().first().unwrap(), words.get().last().unwrap());
        for word in [first, last] {
            assert!(flags_at(word.as_ptr().addr()).split_whitespace().any(|flag| flag == "hg"));
        }
    }

    /// What the system notes of the map that holds an address.
    #[cfg(target_os = "linux")]
    fn flags_at(address: usize) -> String {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_here = false;
        for line in maps.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or_default();
            let number = |text| usize::from_str_radix(text, 16);
            if let Some((start, end)) = word.split_once('-')
                && let (Ok(start), Ok(end)) = (number(start), number(end))
            {
                is_here = (start..end).contains(&address);
            } else if is_here && word == "VmFlags:" {
                return rest.into();
            }
        }
        panic!("no map holds {address:x}");
    }

    #[test]
    fn there_are_as_many_as_asked_for_all_zero_and_too_many_are_an_error() {
        for len in [1, 3, 4097, (4 << 20) / 3, 1 << 20] {
            let words = Words::<4>::new(len, 1).unwrap();
            assert_eq!(words.get().len(), len);
            assert!(words.get().iter().all(|word| number(word) == 0));
        }
        assert_eq!(Words::<8>::new(usize::MAX / 8, 1).err().unwrap().kind(), Kind::Memory);
        assert_eq!(Words::<8>::new(usize::MAX, 1).err().unwrap().kind(), Kind::Memory);
    }
}
