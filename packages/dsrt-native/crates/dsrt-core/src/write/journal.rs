//! The journal: what of an unfinished cache is durable, a line for each step.
//!
//! A line is the CRC-32C of its JSON in eight hexadecimal digits, a space, the JSON and a line feed. A line is written
//! only after all that it names is durable, and counts once it is durable itself.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::disk::{Disk, DiskFile, failed, open_regular};
use crate::error::Result;
use crate::format::checksum::crc32c;
use crate::format::json::Value;

/// Digits of the checksum and the space behind them.
const PREFIX: usize = 9;

/// A journal that grows.
pub(super) struct Journal {
    file: DiskFile,
    /// Length of the lines that are durable.
    len: u64,
}

impl Journal {
    /// An empty journal. Nothing of it is durable yet, not even its name.
    pub(super) fn create(disk: &Disk, path: PathBuf) -> Result<Self> {
        Ok(Self { file: disk.create(path, 0o644)?, len: 0 })
    }

    /// A journal that is there, cut to its first `len` bytes, durably.
    pub(super) fn resume(disk: &Disk, path: PathBuf, len: u64) -> Result<Self> {
        let mut good = std::fs::read(&path).map_err(failed("reading", &path))?;
        good.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        let file = disk.open(path)?;
        // The same again, because the run that wrote it may have died of an error of its sync: the kernel shows then
        // what is not on the disk, and takes it for written.
        file.write(0, &good)?;
        file.truncate(len)?;
        file.sync()?;
        Ok(Self { file, len })
    }

    /// Appends a line and makes it durable. After an error the journal must not be used any more.
    pub(super) fn append(&mut self, line: &Value) -> Result<()> {
        let line = to_line(line);
        let written = self.file.write(self.len, &line).and_then(|()| self.file.sync());
        if let Err(error) = written {
            // The kernel may show a line to the next run that never reached the disk. Should this fail, too, then
            // nothing worse can come of it than progress that a power cut takes back.
            let _ = self.file.truncate(self.len);
            return Err(error);
        }
        self.len += line.len() as u64;
        Ok(())
    }
}

/// A line that was read.
pub(super) struct Line {
    /// What it says.
    pub value: Value,
    /// Where it ends.
    pub end: u64,
}

/// What was read of a journal.
#[derive(Default)]
pub(super) struct Lines {
    /// The lines up to the first that is short or fails its checksum (R060).
    pub good: Vec<Line>,
    /// What sound lines behind that one say. A crash tears the last line at most, so that these were durable once, and
    /// what lies before them was damaged later.
    pub behind: Vec<Value>,
}

/// The lines of a journal. None if there is no journal.
pub(super) fn read(path: &Path) -> Result<Option<Lines>> {
    let Some(mut file) = open_regular(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed("reading", path))?;
    Ok(Some(lines(&bytes)))
}

fn to_line(value: &Value) -> Vec<u8> {
    let mut line = vec![b' '; PREFIX];
    value.write(&mut line);
    let crc = crc32c(line.get(PREFIX..).unwrap_or_default());
    line.iter_mut().zip(format!("{crc:08x}").bytes()).for_each(|(place, digit)| *place = digit);
    line.push(b'\n');
    line
}

fn lines(bytes: &[u8]) -> Lines {
    let (mut end, mut lines) = (0, Lines::default());
    let mut pieces = bytes.split_inclusive(|byte| *byte == b'\n');
    for piece in pieces.by_ref() {
        let Some(value) = from_line(piece) else { break };
        end += piece.len() as u64;
        lines.good.push(Line { value, end });
    }
    lines.behind = pieces.filter_map(from_line).collect();
    lines
}

/// JSON escapes line feeds, so the first one ends the line.
fn from_line(line: &[u8]) -> Option<Value> {
    let (prefix, json) = line.strip_suffix(b"\n")?.split_at_checked(PREFIX)?;
    let expected = format!("{:08x} ", crc32c(json));
    if prefix != expected.as_bytes() {
        return None;
    }
    Value::parse(json).ok()
}

/// What fuzzing needs of a journal that lies in memory.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz {
    use super::{Line, Value};
    use crate::write::sealed::Sealed;

    /// What the good lines say and where each ends, and what sound lines behind say.
    pub(crate) fn lines(bytes: &[u8]) -> (Vec<(Value, u64)>, Vec<Value>) {
        let found = super::lines(bytes);
        (found.good.into_iter().map(|Line { value, end }| (value, end)).collect(), found.behind)
    }

    /// The line that says this. One that says what is sealed is written from that.
    pub(crate) fn again(value: &Value) -> Vec<u8> {
        let sealed = Sealed::from_json(value).map(|sealed| (sealed.to_json(), sealed));
        if let Some((written, sealed)) = sealed {
            assert_eq!(Sealed::from_json(&written), Some(sealed));
        }
        super::to_line(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(number: i64) -> Value {
        Value::Array(vec![Value::Int(number), Value::Str("a line\nfeed".into())])
    }

    fn written(root: &Path, count: i64) -> (PathBuf, Vec<u8>) {
        let path = root.join("journal");
        let mut journal = Journal::create(&Disk::default(), path.clone()).unwrap();
        (0..count).for_each(|number| journal.append(&value(number)).unwrap());
        let bytes = std::fs::read(&path).unwrap();
        (path, bytes)
    }

    #[test]
    fn lines_come_back_with_their_ends() {
        let root = tempfile::tempdir().unwrap();
        let (path, bytes) = written(root.path(), 3);
        let lines = read(&path).unwrap().unwrap().good;
        assert_eq!(lines.iter().map(|line| line.value.clone()).collect::<Vec<_>>(), [value(0), value(1), value(2)]);
        assert_eq!(lines[2].end, bytes.len() as u64);
        assert_eq!(lines[0].end * 3, bytes.len() as u64);
        assert!(bytes.starts_with(format!("{:08x} [0,\"", crc32c(br#"[0,"a line\nfeed"]"#)).as_bytes()));
        assert!(read(&root.path().join("nothing")).unwrap().is_none());
        std::os::unix::fs::symlink("journal", root.path().join("link")).unwrap();
        assert!(read(&root.path().join("link")).unwrap().is_none(), "what a link leads to is not cut to its good part");
    }

    #[test]
    fn reading_stops_at_the_first_line_that_is_short_or_damaged() {
        let root = tempfile::tempdir().unwrap();
        let (_, bytes) = written(root.path(), 3);
        let one = bytes.len() / 3;
        for len in 0..bytes.len() {
            let found = lines(&bytes[..len]);
            assert_eq!((found.good.len(), found.behind.len()), (len / one, 0), "{len}");
        }
        for at in 0..bytes.len() {
            for change in [1, 0x20, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                let found = lines(&damaged);
                assert_eq!(found.good.len(), at / one, "byte {at}");
                // Without its line feed a line takes the one behind it along.
                let taken = if (at + 1).is_multiple_of(one) { 2 } else { 1 };
                assert_eq!(found.behind.len(), (3 - at / one).saturating_sub(taken), "byte {at}");
            }
        }
        assert_eq!(lines(&vec![0; 5000]).good.len(), 0);
        assert_eq!(lines(b"00000000 \n").good.len(), 0);
    }

    #[test]
    fn a_resumed_journal_goes_on_where_its_good_part_ends() {
        let root = tempfile::tempdir().unwrap();
        let (path, _) = written(root.path(), 3);
        let end = read(&path).unwrap().unwrap().good[0].end;
        let mut journal = Journal::resume(&Disk::default(), path.clone(), end).unwrap();
        journal.append(&value(7)).unwrap();
        let found: Vec<_> = read(&path).unwrap().unwrap().good.into_iter().map(|line| line.value).collect();
        assert_eq!(found, [value(0), value(7)]);
    }
}
