//! The bytes of the file, each chunk of them proven by its digest before its first use (R041).

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_buffer::Buffer;
use bytes::Bytes;
use once_cell::race::OnceBox;

use super::{Extent, breach};
use crate::cpu;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::{Digest, digest};
use crate::format::manifest::CHUNK;
use crate::together::try_each;

/// The most threads that work on one file.
const THREADS: usize = 4;

/// Fills memory with the bytes of a file from a place on.
pub type ReadAt = Box<dyn Fn(u64, &mut [u8]) -> Result<()> + Send + Sync>;

/// A metadata file with the digests of its chunks.
pub struct Chunks {
    len: u64,
    digests: Vec<Digest>,
    content: Content,
}

/// Where the bytes are.
enum Content {
    /// All of them in one place, and which chunks are proven.
    There { bytes: Bytes, proven: Vec<AtomicBool> },
    /// In the file. Chunks that were read are proven and stay.
    Read { read: ReadAt, chunks: Vec<OnceBox<Vec<u8>>>, whole: OnceBox<Bytes> },
}

impl Chunks {
    /// The file in `bytes`, of which nothing is proven yet.
    pub fn new(bytes: Bytes, digests: &[Digest]) -> Self {
        let proven = digests.iter().map(|_| AtomicBool::new(false)).collect();
        Self { len: bytes.len() as u64, digests: digests.to_vec(), content: Content::There { bytes, proven } }
    }

    /// The file in `bytes`, whose chunks have all been found to match their digests.
    pub fn proven(bytes: Bytes, digests: &[Digest]) -> Self {
        let proven = digests.iter().map(|_| AtomicBool::new(true)).collect();
        Self { len: bytes.len() as u64, digests: digests.to_vec(), content: Content::There { bytes, proven } }
    }

    /// The file of `len` bytes that `read` reads. Each chunk is read once, when it is first needed, and stays in memory.
    pub fn read_by(read: ReadAt, len: u64, digests: &[Digest]) -> Self {
        let chunks = digests.iter().map(|_| OnceBox::new()).collect();
        Self { len, digests: digests.to_vec(), content: Content::Read { read, chunks, whole: OnceBox::new() } }
    }

    /// Length of the file.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file is empty, which no file of a cache is.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the file, proven. Outside of it is a breach of R042. Copied only where they were not read together.
    pub fn bytes(&self, extent: Extent) -> Result<Cow<'_, [u8]>> {
        self.bytes_unless(extent, &|| Ok(()))
    }

    /// The same. `look` is called before each chunk that is read or proven; its error ends it.
    pub fn bytes_unless(&self, extent: Extent, look: &dyn Fn() -> Result<()>) -> Result<Cow<'_, [u8]>> {
        let range = self.range(extent)?;
        if range.is_empty() {
            return Ok(Cow::Borrowed(&[]));
        }
        let (first, last) = (extent.at / CHUNK, (extent.at + (extent.len - 1)) / CHUNK);
        match &self.content {
            Content::There { bytes, .. } => {
                (first..=last).try_for_each(|chunk| self.prove(chunk, look))?;
                bytes.get(range).map(Cow::Borrowed).ok_or_else(outside)
            }
            Content::Read { whole, .. } => {
                if let Some(whole) = whole.get() {
                    return whole.get(range).map(Cow::Borrowed).ok_or_else(outside);
                }
                let part = |chunk: u64| {
                    let from = chunk * CHUNK;
                    let (start, end) = (extent.at.max(from) - from, (extent.at + extent.len - from).min(CHUNK));
                    self.chunk(chunk, look)?.get(start as usize..end as usize).ok_or_else(outside)
                };
                if first == last {
                    return part(first).map(Cow::Borrowed);
                }
                let mut bytes = memory(range.len())?;
                for chunk in first..=last {
                    bytes.extend_from_slice(part(chunk)?);
                }
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// The same bytes as a buffer of Arrow's that keeps them alive. Not copied where they lie in one place.
    pub fn buffer(&self, extent: Extent) -> Result<Buffer> {
        let proven = self.bytes(extent)?;
        let there = match &self.content {
            Content::There { bytes, .. } => Some(bytes),
            Content::Read { whole, .. } => whole.get(),
        };
        match there {
            Some(bytes) => Ok(Buffer::from(bytes.slice(self.range(extent)?))),
            None => match proven {
                Cow::Owned(bytes) => Ok(Buffer::from_vec(bytes)),
                Cow::Borrowed(bytes) => {
                    let mut copy = memory(bytes.len())?;
                    copy.extend_from_slice(bytes);
                    Ok(Buffer::from_vec(copy))
                }
            },
        }
    }

    /// Proves the whole file. What has to be read for it is in one place afterwards.
    pub fn prove_all(&self) -> Result<()> {
        match &self.content {
            Content::There { .. } => prove_each(0..self.digests.len(), |chunk| self.prove(chunk as u64, &|| Ok(()))),
            Content::Read { read, whole, .. } => whole.get_or_try_init(|| self.read_all(read)).map(drop),
        }
    }

    fn read_all(&self, read: &ReadAt) -> Result<Box<Bytes>> {
        let len = usize::try_from(self.len).map_err(|_| too_large(self.len))?;
        let mut bytes = memory(len)?;
        bytes.resize(len, 0);
        let chunks = bytes.chunks_mut(CHUNK as usize).enumerate();
        prove_each(chunks, |(chunk, out): (usize, &mut [u8])| {
            read(chunk as u64 * CHUNK, out)?;
            self.compare(chunk as u64, out)
        })?;
        Ok(Box::new(bytes.into()))
    }

    /// A chunk, read and proven if it was not yet.
    fn chunk(&self, chunk: u64, look: &dyn Fn() -> Result<()>) -> Result<&[u8]> {
        let Content::Read { read, chunks, .. } = &self.content else { return Err(outside()) };
        let slot = chunks.get(chunk as usize).ok_or_else(outside)?;
        let bytes = slot.get_or_try_init(|| {
            look()?;
            let extent = self.extent(chunk);
            let mut bytes = memory(extent.len as usize)?;
            bytes.resize(extent.len as usize, 0);
            read(extent.at, &mut bytes)?;
            self.compare(chunk, &bytes)?;
            Ok(Box::new(bytes))
        });
        bytes.map(Vec::as_slice)
    }

    /// Proves a chunk that is there, if it was not yet.
    fn prove(&self, chunk: u64, look: &dyn Fn() -> Result<()>) -> Result<()> {
        let Content::There { bytes, proven } = &self.content else { return Err(outside()) };
        let flag = proven.get(chunk as usize).ok_or_else(outside)?;
        if !flag.load(Ordering::Acquire) {
            look()?;
            self.compare(chunk, bytes.get(self.range(self.extent(chunk))?).ok_or_else(outside)?)?;
            flag.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// R041.
    fn compare(&self, chunk: u64, bytes: &[u8]) -> Result<()> {
        let expected = self.digests.get(chunk as usize).ok_or_else(outside)?;
        if digest(bytes) == *expected {
            return Ok(());
        }
        let from = chunk * CHUNK;
        let to = from + bytes.len() as u64;
        Err(breach(41, format!("bytes {from} to {to} do not match their digest; copy or build the cache anew")))
    }

    fn extent(&self, chunk: u64) -> Extent {
        let at = chunk * CHUNK;
        Extent { at, len: CHUNK.min(self.len.saturating_sub(at)) }
    }

    fn range(&self, extent: Extent) -> Result<std::ops::Range<usize>> {
        let end = extent.at.checked_add(extent.len).filter(|end| *end <= self.len).ok_or_else(outside)?;
        let range = usize::try_from(extent.at).ok().zip(usize::try_from(end).ok());
        range.map(|(at, end)| at..end).ok_or_else(|| too_large(self.len))
    }
}

/// Room for so many bytes, or numbers.
pub(super) fn memory<T>(len: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(len).map_err(|_| too_large((len as u64).saturating_mul(size_of::<T>() as u64)))?;
    Ok(room)
}

pub(super) fn too_large(len: u64) -> Error {
    Error::new(Kind::Memory, format!("{len} bytes of metadata.arrow do not fit in memory"))
}

/// Does `prove` with each of `items`, by a few threads. The error is that of the first item which has one.
fn prove_each<T: Send>(items: impl ExactSizeIterator<Item = T>, prove: impl Fn(T) -> Result<()> + Sync) -> Result<()> {
    // A thread is worth a few chunks.
    let threads = cpu::count().min(THREADS).min(items.len() / 4);
    try_each(threads, items, prove).map(drop)
}

fn outside() -> Error {
    breach(42, "something lies outside the file")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// The same file in memory and to be read, and how often it was.
    fn both(content: &[u8], digests: &[Digest]) -> ([Chunks; 2], Arc<AtomicUsize>) {
        let (reads, bytes) = (Arc::new(AtomicUsize::new(0)), content.to_vec());
        let count = reads.clone();
        let read = move |from: u64, out: &mut [u8]| {
            count.fetch_add(1, Ordering::Relaxed);
            out.copy_from_slice(&bytes[from as usize..][..out.len()]);
            Ok(())
        };
        let there = Chunks::new(content.to_vec().into(), digests);
        ([there, Chunks::read_by(Box::new(read), content.len() as u64, digests)], reads)
    }

    /// A byte that differs between neighbours and chunks.
    fn at(place: usize) -> u8 {
        (place ^ place >> 22) as u8
    }

    fn file(len: usize) -> (Vec<u8>, Vec<Digest>) {
        let content: Vec<u8> = (0..len).map(at).collect();
        let digests = content.chunks(CHUNK as usize).map(digest).collect();
        (content, digests)
    }

    #[test]
    fn a_chunk_is_proven_when_it_is_touched_and_not_before() {
        let (mut content, digests) = file(2 * CHUNK as usize + 5);
        content[CHUNK as usize] ^= 1;
        for chunks in both(&content, &digests).0 {
            let bytes = |at, len| chunks.bytes(Extent { at, len }).map(|b| b.len()).map_err(|e| e.rule_number());
            assert_eq!(bytes(0, CHUNK), Ok(CHUNK as usize));
            assert_eq!(bytes(0, CHUNK + 1), Err(Some(41)));
            assert_eq!(bytes(2 * CHUNK, 5), Ok(5));
            assert_eq!(bytes(2 * CHUNK, 6), Err(Some(42)));
            assert_eq!(bytes(u64::MAX, 2), Err(Some(42)));
            assert_eq!(bytes(CHUNK + 1, 0), Ok(0));
            assert_eq!(chunks.prove_all().unwrap_err().rule_number(), Some(41));
        }
    }

    #[test]
    fn there_is_a_look_before_each_chunk_that_is_proven_and_its_error_ends_that() {
        let (content, digests) = file(3 * CHUNK as usize);
        for chunks in both(&content, &digests).0 {
            let looks = std::cell::Cell::new(0);
            let look = || {
                looks.set(looks.get() + 1);
                if looks.get() == 2 { Err(Error::new(Kind::State, "enough")) } else { Ok(()) }
            };
            let all = || chunks.bytes_unless(Extent { at: 0, len: 3 * CHUNK }, &look).map(|bytes| bytes.len());
            assert_eq!((all().unwrap_err().kind(), looks.get()), (Kind::State, 2));
            // The first was proven.
            assert_eq!((all().unwrap() as u64, looks.get()), (3 * CHUNK, 4));
            assert_eq!((all().unwrap() as u64, looks.get()), (3 * CHUNK, 4));
        }
    }

    #[test]
    fn bytes_are_those_of_the_file_wherever_chunks_begin() {
        let (content, digests) = file(3 * CHUNK as usize + 5);
        let (chunks, reads) = both(&content, &digests);
        let end = content.len() as u64;
        for (from, to) in [(0, 1), (CHUNK - 3, CHUNK + 4), (CHUNK, 2 * CHUNK), (7, end), (end - 5, end)] {
            for chunks in &chunks {
                let extent = Extent { at: from, len: to - from };
                let expected = &content[from as usize..to as usize];
                assert!(*chunks.bytes(extent).unwrap() == *expected);
                assert!(*chunks.buffer(extent).unwrap() == *expected);
            }
        }
        assert_eq!(reads.load(Ordering::Relaxed), 4);
        chunks[1].prove_all().unwrap();
        chunks[1].prove_all().unwrap();
        assert_eq!(reads.load(Ordering::Relaxed), 8);
        let found = chunks[1].bytes(Extent { at: 0, len: end }).unwrap();
        assert!(matches!(found, Cow::Borrowed(_)) && *found == content);
    }

    #[test]
    fn many_chunks_are_proven_by_several_threads() {
        let (mut content, digests) = file(12 * CHUNK as usize);
        for chunks in both(&content, &digests).0 {
            chunks.prove_all().unwrap();
        }
        content[7 * CHUNK as usize] ^= 4;
        for chunks in both(&content, &digests).0 {
            assert_eq!(chunks.prove_all().unwrap_err().rule_number(), Some(41));
        }
    }
}
