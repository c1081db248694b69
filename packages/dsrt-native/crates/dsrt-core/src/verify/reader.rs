//! Reading a file without leaving a trace in the page cache: what was there stays, what was not is given back.

use std::fs::File;
use std::io::{ErrorKind, IoSliceMut};
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use rustix::fs::{Advice, fadvise};
use rustix::io::{ReadWriteFlags, preadv2};

use super::residency::Residency;
use crate::error::{Error, Kind, Result};

/// What is asked of a cache of which nothing is known at a time: what has to be read for it, is given back as a whole.
const STEP: usize = 64 << 10;

/// What the kernel reads ahead at least when it is asked to.
const AHEAD: u64 = 128 << 10;

/// A regular file, open.
pub(super) struct Reader {
    file: File,
    name: String,
    residency: Option<Residency>,
}

/// A range that will be read next. What of it was missing is on its way, and given back if it is not read.
pub(super) struct Ahead<'a> {
    reader: &'a Reader,
    missing: Option<Vec<Range<u64>>>,
}

impl Reader {
    /// Of a file whose name in the cache is `name`.
    pub(super) fn new(file: File, name: String) -> Self {
        // Exactly what is asked for is to be read: what the kernel reads beyond that would look as if it had been there.
        // Where this has no effect, that is all it costs.
        let _ = fadvise(&file, 0, None, Advice::Random);
        let residency = Residency::of(&file);
        Self { file, name, residency }
    }

    /// Lets the kernel begin to read a range.
    pub(super) fn ahead(&self, range: Range<u64>) -> Ahead<'_> {
        let missing = self.residency.as_ref().and_then(|residency| residency.missing(range));
        for run in missing.iter().flatten() {
            for at in run.clone().step_by(AHEAD as usize) {
                self.advise(at..run.end.min(at + AHEAD), Advice::WillNeed);
            }
        }
        Ahead { reader: self, missing }
    }

    /// Notes which pages of the file are there, for all others to be given back.
    pub(super) fn all_ahead(&self) -> Ahead<'_> {
        let missing = self.residency.as_ref().and_then(|residency| residency.missing(0..u64::MAX));
        Ahead { reader: self, missing }
    }

    /// Fills `out` from offset `at` on (R030).
    pub(super) fn read(&self, at: u64, out: &mut [u8]) -> Result<()> {
        let range = at..at.saturating_add(out.len() as u64);
        let missing = self.residency.as_ref().and_then(|residency| residency.missing(range));
        Ahead { reader: self, missing }.read(at, out)
    }

    fn fill(&self, at: u64, out: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(out, at).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                let message = format!("{} has become shorter while it was read", self.name);
                Error::rule(Kind::Format, 30, message)
            }
            _ => Error::io(format!("cannot read {}", self.name), error),
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

impl Ahead<'_> {
    /// Fills `out` from offset `at` on, which is the range that was announced (R030).
    pub(super) fn read(self, at: u64, out: &mut [u8]) -> Result<()> {
        match self.missing {
            Some(_) => self.reader.fill(at, out),
            None => self.reader.fill_by_steps(at, out),
        }
    }
}

impl Drop for Ahead<'_> {
    fn drop(&mut self) {
        for run in self.missing.iter().flatten() {
            self.reader.advise(run.clone(), Advice::DontNeed);
        }
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
    }

    #[test]
    fn where_it_is_unknown_what_is_there_the_bytes_are_the_same() {
        let content: Vec<u8> = (0..3 * STEP + 5).map(|i| (i % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, &content).unwrap();
        file.sync_all().unwrap();
        let reader = Reader { file, name: "x".into(), residency: None };
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
