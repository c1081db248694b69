//! Caches of one field and one shard, with digests that are right, in a directory that is used again and again.

use std::path::Path;

use tempfile::TempDir;

use crate::dtype::DType;
use crate::field::{Codec, Field, FieldKind};
use crate::format::checksum::{self, digest, key};
use crate::format::header;
use crate::format::json::{Object, Value};
use crate::format::manifest::{CHUNK, FieldEntry, FileEntry, Manifest, MetadataEntry};
use crate::format::shard::{HEADER, dense_bytes};

/// The most bytes that the records of a fixed shard are given.
const MOST_FIXED: u64 = 1 << 16;

/// What an index says of a record; the checksum is made where the range lies in the record area.
#[derive(Clone)]
pub(super) struct Entry {
    pub end: u64,
    pub crc: u32,
    pub shape: Vec<u8>,
}

/// A shard before its digests are made.
pub(super) struct Shard<'a> {
    pub field: &'a Field,
    pub dictionary: Option<&'a [u8]>,
    pub entries: Vec<Entry>,
    /// The records, to which the pad is added.
    pub area: Vec<u8>,
    /// Which byte of the header is turned over, from 1; 0 for none.
    pub flipped: usize,
    /// Whether the checksums are made here.
    pub right_checksums: bool,
    /// Whether the index has its digest, or another one.
    pub right_index: bool,
}

/// Where caches are made; in memory where the system has such a place.
pub(super) fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    let made = made.unwrap();
    std::fs::create_dir_all(made.path().join("fields/x")).unwrap();
    made
}

impl Shard<'_> {
    /// Fills the area up, or cuts it, to what a file may have, and makes the checksums. Where a record lies or would lie,
    /// from its beginning to its end, comes back; none where that is nonsense. None for a field that no manifest may have.
    pub(super) fn fit(&mut self) -> Option<Vec<Option<(u64, u64)>>> {
        let fixed = self.field.is_fixed();
        let stride = dense_bytes(self.field);
        if let FieldKind::Dense(_) = self.field.kind {
            let stride = stride?;
            if fixed && stride * self.entries.len() as u64 > MOST_FIXED {
                return None;
            }
            if fixed {
                self.area.resize((stride * self.entries.len() as u64) as usize, 0);
            }
        }
        self.area.resize(self.area.len().next_multiple_of(8), 0);
        let index = HEADER + self.area.len() as u64;
        let mut lo = HEADER;
        let mut ranges = Vec::new();
        for (ordinal, entry) in (0..).zip(&mut self.entries) {
            let hi = if fixed { lo + stride? } else { entry.end };
            let range = (HEADER <= lo && lo <= hi && hi <= index).then_some((lo, hi));
            if let (Some((lo, hi)), true) = (range, self.right_checksums) {
                let stored = &self.area[(lo - HEADER) as usize..(hi - HEADER) as usize];
                entry.crc = checksum::record(stored, ordinal, &entry.shape);
            }
            ranges.push(range);
            lo = hi;
        }
        Some(ranges)
    }

    /// Writes the cache.
    pub(super) fn write(&self, root: &Path) {
        let digest_of = |key: u32| {
            let index: Vec<_> = self.entries.iter().flat_map(|entry| self.entry(entry, key)).collect();
            (digest(&[&self.area[..], &index].concat()), index)
        };
        let (body, _) = digest_of(0);
        let (_, index) = digest_of(key(&body));
        let bytes = HEADER + self.area.len() as u64 + index.len() as u64;
        let mut head = header::shard(self.field, self.entries.len() as u64, bytes, &body);
        if let Some(byte) = self.flipped.checked_sub(1).and_then(|at| head.get_mut(at)) {
            *byte = !*byte;
        }
        std::fs::write(root.join("fields/x/00000.shard"), [&head[..], &self.area, &index].concat()).unwrap();
        let proof = if self.right_index { digest(&index) } else { body };
        let file = FileEntry { bytes, body, index: (!self.field.is_fixed()).then_some(proof) };
        let dictionary = self.dictionary.map(|body| {
            let entry = FileEntry { bytes: HEADER + body.len() as u64, body: digest(body), index: None };
            let head = header::dictionary(entry.bytes, &entry.body);
            std::fs::write(root.join("fields/x/dictionary.bin"), [&head[..], body].concat()).unwrap();
            entry
        });
        let samples = self.entries.len() as u64;
        let field = FieldEntry { field: self.field.clone(), files: vec![file], dictionary };
        write_manifest(root, samples, field, None);
    }

    fn entry(&self, entry: &Entry, key: u32) -> Vec<u8> {
        let crc = (entry.crc ^ key).to_le_bytes();
        if self.field.is_fixed() { crc.to_vec() } else { [&entry.end.to_le_bytes()[..], &crc, &entry.shape].concat() }
    }
}

/// Writes a cache of that many samples with this metadata, and a field that needs no bytes.
pub(super) fn write_metadata(root: &Path, samples: u64, metadata: &[u8]) {
    let kind = FieldKind::Dense([0].into());
    let field = Field { name: "x".into(), kind, dtype: DType::UInt8, codec: Codec::Raw, delta: 0 };
    let bytes = HEADER + 4 * samples;
    // The records are not looked at, so that their checksums may be anything.
    let shard = std::fs::File::create(root.join("fields/x/00000.shard")).unwrap();
    shard.set_len(bytes).unwrap();
    let files = (samples > 0).then_some(FileEntry { bytes, body: [0; 32], index: None });
    let field = FieldEntry { field, files: files.into_iter().collect(), dictionary: None };
    std::fs::write(root.join("metadata.arrow"), metadata).unwrap();
    let chunks = metadata.chunks(CHUNK as usize).map(digest).collect();
    write_manifest(root, samples, field, Some(MetadataEntry { bytes: metadata.len() as u64, chunks }));
}

fn write_manifest(root: &Path, samples: u64, field: FieldEntry, metadata: Option<MetadataEntry>) {
    let mut manifest = Manifest {
        name: "x".into(),
        samples,
        shards: (samples > 0).then_some(samples).into_iter().collect(),
        fields: vec![field],
        fingerprint: None,
        attributes: Value::Object(Object::default()),
        metadata,
        digest: [0; 32],
    };
    std::fs::write(root.join("manifest.json"), manifest.to_bytes()).unwrap();
}
