//! A shard file read from its beginning to its end in pieces, each once, with the digest of the body made on the way.

use blake3::Hasher;

use super::control::Meter;
use super::reader::Reader;
use crate::error::{Error, Kind, Result};
use crate::format::shard::HEADER;

/// Bytes of a piece: large enough for any disk, small enough to stay in a processor's cache while it is checked.
pub(super) const PIECE: u64 = 1 << 20;

/// The file up to `end`, of which one piece is in memory.
pub(super) struct Pieces<'m, 'c> {
    reader: &'m Reader,
    meter: &'m mut Meter<'c>,
    end: u64,
    piece: &'m mut Vec<u8>,
    at: u64,
    /// The end of all pieces so far.
    reached: u64,
    hash: Option<Hash>,
}

/// The digest of all from the header's end on.
struct Hash {
    hasher: Hasher,
    /// What is hashed ends here.
    done: u64,
    /// What is to be hashed ends here.
    end: u64,
}

impl<'m, 'c> Pieces<'m, 'c> {
    /// Of a file that is read up to byte `end`. With `hashed` the bytes from the header to there go into the digest.
    pub(super) fn new(
        reader: &'m Reader,
        meter: &'m mut Meter<'c>,
        piece: &'m mut Vec<u8>,
        end: u64,
        hashed: Option<u64>,
    ) -> Self {
        piece.clear();
        if end > 0 {
            reader.expect_all();
        }
        let hash = hashed.map(|end| Hash { hasher: Hasher::new(), done: HEADER, end });
        Self { reader, meter, end, piece, at: 0, reached: 0, hash }
    }

    /// The bytes from `from` on that lie in one piece, at most up to `to`. They are at least one, unless `from` is `to`.
    pub(super) fn bytes(&mut self, from: u64, to: u64) -> Result<&[u8]> {
        if from >= to {
            return Ok(&[]);
        }
        let known = self.at..self.at + self.piece.len() as u64;
        if !known.contains(&from) {
            self.seek(from, to)?;
        }
        let begin = from.saturating_sub(self.at) as usize;
        let end = (to - self.at).min(self.piece.len() as u64) as usize;
        let lost = || Error::new(Kind::Internal, format!("byte {from} lies in no piece of the file"));
        self.piece.get(begin..end).filter(|bytes| !bytes.is_empty()).ok_or_else(lost)
    }

    /// All bytes from `from` to `to`, put together in `whole` if they do not lie in one piece.
    pub(super) fn whole<'w>(&'w mut self, from: u64, to: u64, whole: &'w mut Vec<u8>) -> Result<&'w [u8]> {
        let length = to.saturating_sub(from);
        if self.bytes(from, to)?.len() as u64 == length {
            return self.bytes(from, to);
        }
        whole.clear();
        let memory = |_| Error::new(Kind::Memory, format!("a record of {length} stored bytes does not fit the memory"));
        whole.try_reserve(usize::try_from(length).unwrap_or(usize::MAX)).map_err(memory)?;
        let mut at = from;
        while at < to {
            let bytes = self.bytes(at, to)?;
            whole.extend_from_slice(bytes);
            at += bytes.len() as u64;
        }
        Ok(whole)
    }

    /// Fills `out` from offset `at` on: from the pieces as far as they go, else from the file itself.
    pub(super) fn copy(&mut self, at: u64, out: &mut [u8]) -> Result<()> {
        let to = at.saturating_add(out.len() as u64);
        if to > self.end {
            self.meter.spend(out.len() as u64)?;
            return self.reader.read(at, out);
        }
        let mut rest = out;
        while !rest.is_empty() {
            let bytes = self.bytes(to - rest.len() as u64, to)?;
            let (filled, after) = rest.split_at_mut(bytes.len());
            filled.copy_from_slice(bytes);
            rest = after;
        }
        Ok(())
    }

    /// The digest of everything that was to be hashed and of `rest`. What was not read yet is read.
    pub(super) fn digest(mut self, rest: &[u8]) -> Result<Option<[u8; 32]>> {
        self.hash_to(u64::MAX)?;
        Ok(self.hash.map(|mut hash| *hash.hasher.update(rest).finalize().as_bytes()))
    }

    /// Loads the piece in which `from` lies. Where the file was read already, only what of it is before `to`: the records
    /// of a hostile index can lie in one piece and in another in turn, and each would be read as often as there are any.
    fn seek(&mut self, from: u64, to: u64) -> Result<()> {
        if from < self.reached {
            let end = to.min(self.reached).min(from + PIECE);
            self.meter.spend(end - from)?;
            self.at = from;
            self.piece.resize((end - from) as usize, 0);
            return self.reader.read(from, self.piece);
        }
        let target = from - from % PIECE;
        self.hash_to(target)?;
        self.load(target)
    }

    /// Loads the pieces before `limit` that are not hashed yet.
    fn hash_to(&mut self, limit: u64) -> Result<()> {
        while let Some(hash) = &self.hash
            && hash.done < hash.end.min(limit)
        {
            self.load(hash.done - hash.done % PIECE)?;
        }
        Ok(())
    }

    fn load(&mut self, at: u64) -> Result<()> {
        let end = self.end.min(at + PIECE);
        let length = end.saturating_sub(at);
        self.meter.spend(length)?;
        self.at = at;
        self.reached = self.reached.max(end);
        self.piece.resize(length as usize, 0);
        self.reader.read(at, self.piece)?;
        if let Some(hash) = &mut self.hash
            && (at..end).contains(&hash.done)
        {
            let (from, to) = (hash.done - at, hash.end.min(end) - at);
            hash.hasher.update(self.piece.get(from as usize..to as usize).unwrap_or_default());
            hash.done = hash.end.min(end);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Control;
    use super::*;
    use crate::format::checksum::digest;
    use std::io::Write;

    /// Two whole pieces and a bit.
    fn content() -> Vec<u8> {
        (0..2 * PIECE + 100).map(|i| (i % 253) as u8).collect()
    }

    fn with_pieces(hashed: Option<u64>, test: impl FnOnce(Pieces, &[u8])) -> u64 {
        let content = content();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        let reader = Reader::new(file, "x".into());
        let control = Control::new(None);
        let mut meter = Meter::new(&control, u64::MAX / 2);
        let mut piece = Vec::new();
        test(Pieces::new(&reader, &mut meter, &mut piece, content.len() as u64, hashed), &content);
        control.done()
    }

    #[test]
    fn bytes_are_those_of_the_file_in_any_order() {
        with_pieces(Some(2 * PIECE + 90), |mut pieces, content| {
            let mut memory = Vec::new();
            let ranges = [(2 * PIECE, 2 * PIECE + 100), (5, 9), (PIECE - 3, PIECE + 3), (9, 2 * PIECE + 50), (70, 70)];
            for (from, to) in ranges {
                let whole = pieces.whole(from, to, &mut memory).unwrap();
                assert_eq!(whole, &content[from as usize..to as usize]);
                let part = pieces.bytes(from, to).unwrap();
                assert!(content[from as usize..].starts_with(part) && part.is_empty() == (from == to));
                let mut copy = vec![0; (to - from) as usize];
                pieces.copy(from, &mut copy).unwrap();
                assert_eq!(copy, content[from as usize..to as usize]);
            }
            let expected = digest(&[&content[64..2 * PIECE as usize + 90], b"index"].concat());
            assert_eq!(pieces.digest(b"index").unwrap(), Some(expected));
        });
    }

    #[test]
    fn what_is_read_in_order_is_read_once() {
        let read = with_pieces(Some(2 * PIECE + 100), |mut pieces, content| {
            let mut at = 0;
            while at < content.len() as u64 {
                at += pieces.bytes(at, content.len() as u64).unwrap().len() as u64;
            }
            assert_eq!(pieces.digest(b"").unwrap(), Some(digest(&content[64..])));
        });
        assert_eq!(read, 2 * PIECE + 100);
    }

    #[test]
    fn what_is_read_again_is_read_alone() {
        for hashed in [None, Some(2 * PIECE + 100)] {
            let read = with_pieces(hashed, |mut pieces, content| {
                pieces.bytes(PIECE - 1, PIECE).unwrap();
                for _ in 0..1000 {
                    for from in [PIECE + 7, 9] {
                        assert_eq!(pieces.bytes(from, from + 1).unwrap(), &content[from as usize..][..1]);
                    }
                }
                let across = pieces.whole(PIECE - 5, 2 * PIECE + 5, &mut Vec::new()).unwrap().to_vec();
                assert_eq!(across, content[PIECE as usize - 5..2 * PIECE as usize + 5]);
                assert_eq!(pieces.digest(b"").unwrap(), hashed.map(|_| digest(&content[64..])));
            });
            assert_eq!(read, 2 * PIECE + 100 + 1999 + PIECE + 5);
        }
    }

    #[test]
    fn without_a_digest_only_what_is_asked_for_is_read() {
        let read = with_pieces(None, |mut pieces, content| {
            assert_eq!(pieces.bytes(2 * PIECE + 1, 2 * PIECE + 3).unwrap(), &content[2 * PIECE as usize + 1..][..2]);
            assert_eq!(pieces.digest(b"").unwrap(), None);
        });
        assert_eq!(read, 100);
    }
}
