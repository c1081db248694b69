//! Reading a file without leaving a trace in the page cache: what was there stays, what was not is given back.

use std::fs::File;
use std::io::{ErrorKind, IoSliceMut};
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use super::residency;
use crate::error::{Error, Kind, Result};
use crate::read::Directory;

/// What is asked of a cache of which nothing is known at a time: what has to be read for it, is given back as a whole.
const STEP: usize = 64 << 10;

/// A regular file, open. Dropped, it gives back what was read ahead and not asked for.
pub(super) struct Reader {
    file: File,
    name: String,
    /// What was not there when the file was opened, in order; none if that is unknown.
    missing: Option<Vec<Range<u64>>>,
    page: u64,
}

impl Reader {
    /// The file of that name and length (R030), looked at before it is opened, because opening alone wakes some devices.
    pub(super) fn open(directory: &Directory, name: &str, bytes: u64) -> Result<Self> {
        directory.check(name, bytes)?;
        Ok(Self::new(directory.open_regular(name, bytes)?, name.to_owned()))
    }

    /// Of a file whose name in the cache is `name`.
    pub(super) fn new(file: File, name: String) -> Self {
        let missing = residency::missing(&file);
        let reader = Self { file, name, missing, page: rustix::param::page_size() as u64 };
        // Exactly what is asked for is to be read, as long as little is.
        reader.advise(0..u64::MAX, Advice::Random);
        reader
    }

    /// The file will be read from its beginning to its end.
    pub(super) fn expect_all(&self) {
        // Where it is unknown what was there, what the kernel reads ahead would look as if it had been.
        if self.missing.is_some() {
            self.advise(0..u64::MAX, Advice::Normal);
        }
    }

    /// Fills `out` from offset `at` on (R030).
    pub(super) fn read(&self, at: u64, out: &mut [u8]) -> Result<()> {
        match self.missing {
            Some(_) => {
                let filled = self.fill(at, out);
                self.give_back(at..at.saturating_add(out.len() as u64));
                filled
            }
            None => self.fill_by_steps(at, out),
        }
    }

    /// Gives back the pages of a range that were not there.
    fn give_back(&self, range: Range<u64>) {
        let runs = self.missing.as_deref().unwrap_or_default();
        // Pages are given back whole or not at all.
        let begin = range.start / self.page * self.page;
        let end = range.end.checked_next_multiple_of(self.page).unwrap_or(range.end);
        let first = runs.partition_point(|run| run.end <= begin);
        for run in runs.iter().skip(first).take_while(|run| run.start < end) {
            self.advise(run.start.max(begin)..run.end.min(end), Advice::DontNeed);
        }
    }

    fn fill(&self, at: u64, out: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(out, at).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                let message = format!("{} has become shorter while it was read", self.name);
                Error::rule(Kind::Format, 30, message)
            }
            _ => Error::io_of("cannot read", &self.name, error),
        })
    }

    /// Reads where it is unknown what is there: what comes back without waiting was.
    fn fill_by_steps(&self, mut at: u64, out: &mut [u8]) -> Result<()> {
        for step in out.chunks_mut(STEP) {
            let end = at + step.len() as u64;
            let found = preadv2(&self.file, &mut [IoSliceMut::new(step)], at, ReadWriteFlags::NOWAIT).unwrap_or(0);
            if let Some(rest) = step.get_mut(found..).filter(|rest| !rest.is_empty()) {
                let from = at + found as u64;
                self.fill(from, rest)?;
                self.advise(from..end, Advice::DontNeed);
            }
            at = end;
        }
        Ok(())
    }

    /// Where advice is not taken, nothing can be done about it.
    fn advise(&self, range: Range<u64>, advice: Advice) {
        if let Some(length) = NonZero::new(range.end.saturating_sub(range.start)) {
            let _ = fadvise(&self.file, range.start, Some(length), advice);
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.give_back(0..u64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_shorter_than_it_was_breaks_a_rule_and_one_that_cannot_be_read_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"some bytes").unwrap();
        let reader = Reader::new(File::open(&path).unwrap(), "x".into());
        let mut out = [0; 5];
        reader.read(5, &mut out).unwrap();
        assert_eq!(&out, b"bytes");
        assert_eq!(reader.read(6, &mut out).unwrap_err().rule_number(), Some(30));
        let reader = Reader::new(File::open(folder.path()).unwrap(), "fields/x/00000.shard".into());
        let error = reader.read(0, &mut out).unwrap_err();
        assert_eq!((error.kind(), error.os_code()), (Kind::Io, Some(21)));
        assert!(error.to_string().starts_with("cannot read fields/x/00000.shard"));
        assert_eq!(error.file(), Some("fields/x/00000.shard"));
    }

    #[test]
    fn where_it_is_unknown_what_is_there_the_bytes_are_the_same() {
        let content: Vec<u8> = (0..3 * STEP + 5).map(|i| (i % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &content).unwrap();
        file.sync_all().unwrap();
        let mut reader = Reader::new(file, "x".into());
        reader.missing = None;
        for (from, length) in [(0, content.len()), (7, 2 * STEP), (STEP, 1)] {
            // From memory, and once more from the disk.
            for _ in 0..2 {
                let mut out = vec![0; length];
                reader.read(from as u64, &mut out).unwrap();
                assert_eq!(out, content[from..from + length]);
                reader.advise(0..content.len() as u64, Advice::DontNeed);
            }
        }
        assert_eq!(reader.read(content.len() as u64, &mut [0]).unwrap_err().rule_number(), Some(30));
    }
}
