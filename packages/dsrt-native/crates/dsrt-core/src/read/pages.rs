//! The page cache of the kernel: whether it has a page of a file, and what it is to read before that is used.
//!
//! The file is asked and not a map of it: to who does not own a file, `mincore` says that all of it is there.

use std::fs::File;
use std::ops::Range;

/// What is asked for in one call: of more, the kernel could read the beginning alone. It takes as much as the device takes
/// in one request, or as it reads ahead itself, which is this, usually.
const PIECE: u64 = 128 << 10;

/// A range in pieces that may be asked for.
pub(super) fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let end = range.end;
    let next = move |from: u64| end.min((from / PIECE + 1) * PIECE);
    let froms = std::iter::successors(Some(range.start), move |from| Some(next(*from)));
    froms.take_while(move |from| *from < end).map(move |from| from..next(from))
}

/// Has the kernel read a range, without waiting for it. A hint.
pub(super) fn ask(file: &File, range: Range<u64>) {
    for piece in pieces(range) {
        system::ask(file, piece.start, piece.end - piece.start);
    }
}

pub(super) use system::{expect_some, is_there};

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::io::IoSliceMut;
    use std::num::NonZero;

    use rustix::fs::{Advice, fadvise};
    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    /// Whether byte `at` of the file can be read without the disk; none where the file system does not tell.
    pub fn is_there(file: &File, at: u64) -> Option<bool> {
        match preadv2(file, &mut [IoSliceMut::new(&mut [0])], at, ReadWriteFlags::NOWAIT) {
            Ok(_) => Some(true),
            Err(Errno::AGAIN) => Some(false),
            Err(_) => None,
        }
    }

    /// What is read by this file will be here and there: nothing more is to be read for it. A hint.
    pub fn expect_some(file: &File) {
        let _ = fadvise(file, 0, None, Advice::Random);
    }

    pub fn ask(file: &File, from: u64, len: u64) {
        if let Some(len) = NonZero::new(len) {
            let _ = fadvise(file, from, Some(len), Advice::WillNeed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;

    /// Nobody tells.
    pub fn is_there(_: &File, _: u64) -> Option<bool> {
        None
    }

    /// There is nobody to be told.
    pub fn expect_some(_: &File) {}

    pub fn ask(_: &File, _: u64, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_whole_range_and_none_is_longer_than_may_be_asked_for() {
        for range in [0..0, 5..5, 0..1, 0..PIECE, 1..PIECE + 1, 4096..7 * PIECE + 4096] {
            let mut end = range.start;
            for piece in pieces(range.clone()) {
                assert!(piece.start == end && !piece.is_empty() && piece.end - piece.start <= PIECE);
                end = piece.end;
            }
            assert_eq!(end, range.end);
        }
    }

    #[test]
    fn a_page_that_was_read_is_there_and_a_pipe_does_not_tell() {
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; 9000], 0).unwrap();
        assert_ne!(is_there(&file, 8999), Some(false));
        ask(&file, 0..9000);
        expect_some(&file);
        let (pipe, _other) = std::io::pipe().unwrap();
        assert_eq!(is_there(&File::from(std::os::fd::OwnedFd::from(pipe)), 0), None);
    }
}
