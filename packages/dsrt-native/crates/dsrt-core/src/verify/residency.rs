//! Which pages of a file are in the page cache.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{Access, AtFlags};

/// Tells which pages are there, for a file whose owner asks, or who may write it: the kernel tells others that all are.
pub(super) struct Residency {
    /// Never touched: only asked about. So a file that is truncated is no danger.
    map: MmapRaw,
    page: u64,
}

impl Residency {
    /// None where the kernel would not say.
    pub(super) fn of(file: &File) -> Option<Self> {
        let stat = file.metadata().ok()?;
        let is_owner = rustix::process::geteuid().is_root() || rustix::process::geteuid().as_raw() == stat.uid();
        if !is_owner && rustix::fs::accessat(file, "", Access::WRITE_OK, AtFlags::EMPTY_PATH).is_err() {
            return None;
        }
        let map = MmapOptions::new().len(usize::try_from(stat.len()).ok()?).map_raw_read_only(file).ok()?;
        Some(Self { map, page: rustix::param::page_size() as u64 })
    }

    /// The pages of a range of bytes that are not there, as ranges of bytes; none if that is unknown.
    pub(super) fn missing(&self, bytes: Range<u64>) -> Option<Vec<Range<u64>>> {
        let first = bytes.start / self.page;
        let end = bytes.end.min(self.map.len() as u64).div_ceil(self.page);
        let mut there = vec![0u8; usize::try_from(end.checked_sub(first)?).ok()?];
        let skip = usize::try_from(first * self.page).ok()?;
        let length = self.map.len().checked_sub(skip).map(|rest| rest.min(there.len() * self.page as usize))?;
        // SAFETY: `skip` is a multiple of the page size and at most the length of the mapping, so that the address lies
        // in it and is aligned; `length` bytes from there are mapped, for which the kernel writes one byte a page, and
        // `there` has as many. Nothing in the mapping is read.
        let refused =
            unsafe { libc::mincore(self.map.as_mut_ptr().add(skip).cast(), length, there.as_mut_ptr().cast()) };
        if refused != 0 {
            return None;
        }
        let mut missing: Vec<Range<u64>> = Vec::new();
        for (number, _) in (first..).zip(&there).filter(|(_, page)| **page & 1 == 0) {
            let at = number * self.page;
            match missing.last_mut() {
                Some(run) if run.end == at => run.end += self.page,
                _ => missing.push(at..at + self.page),
            }
        }
        Some(missing)
    }
}
