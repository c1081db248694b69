//! The bytes of the file, each chunk of them proven by its digest before its first use (R041).

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_buffer::Buffer;
use bytes::Bytes;

use super::{Extent, breach};
use crate::error::{Error, Kind, Result};
use crate::format::checksum::{Digest, digest};
use crate::format::manifest::CHUNK;

/// The most threads that prove a whole file.
const THREADS: usize = 4;

/// A metadata file with the digests of its chunks.
pub struct Chunks {
    bytes: Bytes,
    digests: Vec<Digest>,
    proven: Vec<AtomicBool>,
}

impl Chunks {
    /// The file in `bytes`, of which nothing is proven yet.
    pub fn new(bytes: Bytes, digests: &[Digest]) -> Self {
        let proven = digests.iter().map(|_| AtomicBool::new(false)).collect();
        Self { bytes, digests: digests.to_vec(), proven }
    }

    /// Length of the file.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether the file is empty, which no file of a cache is.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of the file, proven. Outside of it is a breach of R042.
    pub fn bytes(&self, extent: Extent) -> Result<&[u8]> {
        let range = self.range(extent)?;
        if extent.len > 0 {
            for chunk in extent.at / CHUNK..=(extent.at + (extent.len - 1)) / CHUNK {
                self.prove(chunk)?;
            }
        }
        self.bytes.get(range).ok_or_else(outside)
    }

    /// The same bytes as a buffer of Arrow's that keeps the file alive. No copy.
    pub fn buffer(&self, extent: Extent) -> Result<Buffer> {
        self.bytes(extent)?;
        Ok(Buffer::from(self.bytes.slice(self.range(extent)?)))
    }

    /// Proves the whole file.
    pub fn prove_all(&self) -> Result<()> {
        let chunks = self.digests.len();
        let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
        // A thread is worth a few chunks.
        let threads = cpus.min(THREADS).min(chunks / 4).max(1);
        let prove = |first: usize| (first..chunks).step_by(threads).try_for_each(|chunk| self.prove(chunk as u64));
        std::thread::scope(|scope| {
            // What the system has no thread for is proven here.
            let start = |first| (first, std::thread::Builder::new().spawn_scoped(scope, move || prove(first)));
            let others: Vec<_> = (1..threads).map(start).collect();
            let mut result = prove(0);
            for (first, other) in others {
                let Ok(other) = other else {
                    result = result.and_then(|()| prove(first));
                    continue;
                };
                let panicked = |_| Err(Error::new(Kind::Internal, "a thread that proves metadata panicked"));
                result = result.and(other.join().unwrap_or_else(panicked));
            }
            result
        })
    }

    fn prove(&self, chunk: u64) -> Result<()> {
        let number = chunk as usize;
        let (flag, expected) = self.proven.get(number).zip(self.digests.get(number)).ok_or_else(outside)?;
        if flag.load(Ordering::Acquire) {
            return Ok(());
        }
        let from = chunk * CHUNK;
        let len = CHUNK.min(self.len().saturating_sub(from));
        let bytes = self.bytes.get(self.range(Extent { at: from, len })?).ok_or_else(outside)?;
        if digest(bytes) != *expected {
            let message =
                format!("bytes {from} to {} do not match their digest; copy or build the cache anew", from + len);
            return Err(breach(41, message));
        }
        flag.store(true, Ordering::Release);
        Ok(())
    }

    fn range(&self, extent: Extent) -> Result<std::ops::Range<usize>> {
        let end = extent.at.checked_add(extent.len).filter(|end| *end <= self.len()).ok_or_else(outside)?;
        // Both fit: the length of a slice does.
        Ok(extent.at as usize..end as usize)
    }
}

fn outside() -> Error {
    breach(42, "something lies outside the file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_proven_when_it_is_touched_and_not_before() {
        let mut content = vec![7u8; 2 * CHUNK as usize + 5];
        let digests: Vec<_> = content.chunks(CHUNK as usize).map(digest).collect();
        content[CHUNK as usize] ^= 1;
        let chunks = Chunks::new(content.into(), &digests);
        let bytes = |at, len| chunks.bytes(Extent { at, len }).map(<[u8]>::len).map_err(|e| e.rule_number());
        assert_eq!(bytes(0, CHUNK), Ok(CHUNK as usize));
        assert_eq!(bytes(0, CHUNK + 1), Err(Some(41)));
        assert_eq!(bytes(2 * CHUNK, 5), Ok(5));
        assert_eq!(bytes(2 * CHUNK, 6), Err(Some(42)));
        assert_eq!(bytes(u64::MAX, 2), Err(Some(42)));
        assert_eq!(bytes(CHUNK + 1, 0), Ok(0));
        assert_eq!(chunks.prove_all().unwrap_err().rule_number(), Some(41));
    }

    #[test]
    fn many_chunks_are_proven_by_several_threads() {
        let mut content = vec![1u8; 12 * CHUNK as usize];
        let digests: Vec<_> = content.chunks(CHUNK as usize).map(digest).collect();
        Chunks::new(content.clone().into(), &digests).prove_all().unwrap();
        content[7 * CHUNK as usize] = 0;
        assert_eq!(Chunks::new(content.into(), &digests).prove_all().unwrap_err().rule_number(), Some(41));
    }
}
