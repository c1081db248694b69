//! Maps of files: at most so many in the whole process, however many shards its caches have. A file that gets none is read
//! by `pread`, whose open files are bounded, too.

use std::fs::File;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions};
use rustix::io::Errno;

use super::pages::pieces;
use crate::error::{Error, Kind, Result};

/// How many maps there are, and how many there may be.
pub(super) struct Maps {
    most: usize,
    count: AtomicUsize,
}

/// Those of this process: half of what Linux lets a process have unless it is told otherwise (`vm.max_map_count`, 65,530).
/// The other half is for threads, allocators, libraries, and for who else maps its data. At the usual 256 MiB a shard
/// this many are 8 TiB; what is beyond is read, at the cost of a call for each record, or of opening its file where more
/// files are read than may be open. None is given up for another's sake: batches, slices and views borrow from a map, and
/// who looked at each of them to know which is free would pay for it with every record.
pub(super) static MAPS: Maps = Maps::new(1 << 15);

/// A mapped file.
pub(super) struct Map {
    map: Mmap,
    /// Whether a fault reads no more than its page.
    is_scattered: AtomicBool,
    of: &'static Maps,
}

impl Maps {
    pub(super) const fn new(most: usize) -> Self {
        Self { most, count: AtomicUsize::new(0) }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Maps a file of that length, at least 1 byte. None if there are as many maps as there may be, or the system has no
    /// room for one more.
    pub(super) fn map(&'static self, file: &File, name: &str, bytes: u64) -> Result<Option<Map>> {
        if !has_room(bytes) {
            return Ok(None);
        }
        if self.count.fetch_add(1, Ordering::Relaxed) >= self.most {
            self.count.fetch_sub(1, Ordering::Relaxed);
            return Ok(None);
        }
        match map(file, name, bytes) {
            Ok(map) => Ok(Some(Map { map, is_scattered: false.into(), of: self })),
            Err(error) => {
                self.count.fetch_sub(1, Ordering::Relaxed);
                if error.os_code() == Some(Errno::NOMEM.raw_os_error()) { Ok(None) } else { Err(error) }
            }
        }
    }
}

impl Map {
    /// Its pages will be read here and there: a fault reads no more than its own page. A hint.
    pub(super) fn expect_some(&self) {
        self.is_scattered.store(true, Ordering::Relaxed);
        let _ = self.map.advise(memmap2::Advice::Random);
    }

    /// Has the kernel read a range, without waiting for it. A hint.
    pub(super) fn ask(&self, range: Range<u64>) {
        for piece in pieces(range.start..range.end.min(self.len() as u64)) {
            let _ = self.map.advise_range(
                memmap2::Advice::WillNeed,
                piece.start as usize,
                (piece.end - piece.start) as usize,
            );
        }
    }

    /// Neighbouring pages will be read: from now on, a fault reads what lies around it, too. A hint.
    pub(super) fn expect_all(&self) {
        if self.is_scattered.load(Ordering::Relaxed) {
            self.is_scattered.store(false, Ordering::Relaxed);
            let _ = self.map.advise(memmap2::Advice::Normal);
        }
    }
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        self.of.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether the address space of the process, if it is limited (`ulimit -v`), has room for a map of so many bytes and more
/// than enough for all else: a thread whose own data find none ends the process.
fn has_room(bytes: u64) -> bool {
    const ELSE: u64 = 256 << 20;
    #[cfg(target_os = "linux")]
    if let Some(limit) = rustix::process::getrlimit(rustix::process::Resource::As).current {
        // The first number is that of all pages.
        let used = std::fs::read_to_string("/proc/self/statm").ok();
        let used = used.and_then(|used| used.split(' ').next()?.parse::<u64>().ok());
        let used = used.map(|pages| pages.saturating_mul(rustix::param::page_size() as u64));
        return used.is_none_or(|used| limit.saturating_sub(used).saturating_sub(ELSE) >= bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (bytes, ELSE);
    true
}

fn map(file: &File, name: &str, bytes: u64) -> Result<Mmap> {
    let length = usize::try_from(bytes).map_err(|_| Error::new(Kind::Memory, format!("{name} is too large to map")))?;
    // SAFETY: the mapping is read-only and files of a cache never change after publication. That is a promise of
    // the format and not of the operating system: bytes that change all the same are other bytes, which every
    // use takes as hostile and bounds-checks anew, or copied before it checked them (the views and bits that Arrow
    // uses without a look); no reference into the mapping is taken for anything but bytes, numbers, and the content
    // of strings that Arrow was given. A file that is truncated while it is mapped ends the process with SIGBUS on access, which is
    // documented behaviour and not undefined.
    let map = unsafe { MmapOptions::new().len(length).map(file) };
    map.map_err(|e| Error::io_of("cannot map", name, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_maps_than_there_may_be_and_a_dropped_one_makes_room() {
        static TWO: Maps = Maps::new(2);
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        let map = || TWO.map(&file, "x", 10).unwrap();
        let (first, second) = (map(), map());
        assert!(first.is_some() && second.is_some());
        assert!(map().is_none() && map().is_none());
        drop(first);
        let third = map().unwrap();
        assert_eq!((&*third, map().is_none()), (&[0; 10][..], true));
    }

    #[test]
    fn what_cannot_be_mapped_is_an_error_and_takes_no_place() {
        static ONE: Maps = Maps::new(1);
        let folder = File::open(tempfile::tempdir().unwrap().path()).unwrap();
        for _ in 0..3 {
            assert_eq!(ONE.map(&folder, "x", 10).err().unwrap().kind(), Kind::Io);
        }
        let file = tempfile::tempfile().unwrap();
        // There is not so much room in any process.
        assert!(ONE.map(&file, "x", 1 << 56).unwrap().is_none());
        assert_eq!(ONE.count(), 0);
    }
}
