//! Which pages of a file are in the page cache.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use memmap2::MmapOptions;
use rustix::fs::{Access, AtFlags};

/// The pages of a file that are not in the page cache, as ranges of bytes in order. None where the kernel would not say:
/// it tells a file's owner, or who may write it, and others that all are there.
pub(super) fn missing(file: &File) -> Option<Vec<Range<u64>>> {
    let stat = file.metadata().ok()?;
    let is_owner = rustix::process::geteuid().is_root() || rustix::process::geteuid().as_raw() == stat.uid();
    if !is_owner && rustix::fs::accessat(file, "", Access::WRITE_OK, AtFlags::EMPTY_PATH).is_err() {
        return None;
    }
    // Never touched: only asked about. So a file that is truncated is no danger.
    let map = MmapOptions::new().len(usize::try_from(stat.len()).ok()?).map_raw_read_only(file).ok()?;
    let page = rustix::param::page_size();
    let mut there = Vec::new();
    there.try_reserve_exact(map.len().div_ceil(page)).ok()?;
    there.resize(map.len().div_ceil(page), 0u8);
    // SAFETY: a mapping begins at a page. The kernel writes one byte for each page of its length, and `there` has as many.
    // Nothing in the mapping is read.
    if unsafe { libc::mincore(map.as_mut_ptr().cast(), map.len(), there.as_mut_ptr().cast()) } != 0 {
        return None;
    }
    let mut missing: Vec<Range<u64>> = Vec::new();
    for (number, _) in (0..).zip(&there).filter(|(_, there)| **there & 1 == 0) {
        let at = number * page as u64;
        match missing.last_mut() {
            Some(run) if run.end == at => run.end += page as u64,
            _ => missing.push(at..at + page as u64),
        }
    }
    Some(missing)
}
