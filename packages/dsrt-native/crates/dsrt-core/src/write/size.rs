//! How long the manifest gets: readers refuse more than 64 MiB, so a shard that would exceed it is refused first.

use crate::error::{Error, Kind, Result};
use crate::format::manifest::{FileEntry, MAX_BYTES};

/// The longest a count of samples and the keys of metadata get, of which the empty manifest knows nothing.
const SLACK: u64 = 64;

/// Length of the manifest, at most a few bytes too high.
#[derive(Clone, Copy)]
pub(super) struct ManifestSize(u64);

impl ManifestSize {
    /// Of a cache whose manifest without samples has that length.
    pub(super) fn new(empty: u64) -> Self {
        Self(empty + SLACK)
    }

    /// Adds a shard.
    pub(super) fn add<'a>(&mut self, samples: u64, files: impl Iterator<Item = &'a FileEntry>) {
        self.0 += digits(samples) + 1 + files.map(|file| entry_len(file) + 1).sum::<u64>();
    }

    /// Refuses what no reader would open.
    pub(super) fn check(&self, metadata_chunks: u64) -> Result<()> {
        let length = self.0 + metadata_chunks * (digest_len() + 1);
        if length <= MAX_BYTES {
            return Ok(());
        }
        Err(Error::new(
            Kind::Value,
            format!(
                "the manifest would have {length} bytes with this shard, and the format allows {MAX_BYTES}; let shards \
                 hold more (samples_per_shard, shard_bytes), or write several caches"
            ),
        ))
    }
}

fn entry_len(file: &FileEntry) -> u64 {
    let keys = r#"{"body_blake3":,"bytes":}"#.len() as u64;
    let index = if file.index.is_some() { r#","index_blake3":"#.len() as u64 + digest_len() } else { 0 };
    keys + digest_len() + digits(file.bytes) + index
}

/// A digest in quotation marks.
const fn digest_len() -> u64 {
    66
}

fn digits(number: u64) -> u64 {
    u64::from(number.checked_ilog10().unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dtype::DType;
    use crate::field::{Codec, FieldKind};
    use crate::format::manifest::{Manifest, MetadataEntry};
    use crate::write::options::tests::{field, options};

    fn manifest(shards: &[(u64, u64)], chunks: Option<usize>) -> Manifest {
        let indexed = field("a", FieldKind::Bytes, DType::UInt8, Codec::Zstd);
        let fixed = field("b", FieldKind::Dense([2].into()), DType::Int8, Codec::Raw);
        let mut manifest = options(vec![indexed, fixed], &[]).manifest("x").unwrap();
        manifest.shards = shards.iter().map(|(samples, _)| *samples).collect();
        manifest.samples = manifest.shards.iter().sum();
        for (entry, index) in manifest.fields.iter_mut().zip([Some([0; 32]), None]) {
            entry.files = shards.iter().map(|(_, bytes)| FileEntry { bytes: *bytes, body: [1; 32], index }).collect();
        }
        manifest.metadata = chunks.map(|chunks| MetadataEntry { bytes: u64::MAX >> 1, chunks: vec![[2; 32]; chunks] });
        manifest
    }

    proptest! {
        #[test]
        fn the_length_of_the_manifest_is_foreseen(
            shards in prop::collection::vec((1..1_048_577u64, 64..u64::MAX >> 1), 0..30), chunks in prop::option::of(1..9usize),
        ) {
            let mut size = ManifestSize::new(manifest(&[], None).to_bytes().len() as u64);
            let mut manifest = manifest(&shards, chunks);
            for (shard, samples) in manifest.shards.iter().enumerate() {
                size.add(*samples, manifest.fields.iter().map(|entry| &entry.files[shard]));
            }
            let foreseen = size.0 + chunks.unwrap_or(0) as u64 * (digest_len() + 1);
            let found = manifest.to_bytes().len() as u64;
            prop_assert!((found..=found + SLACK + 1).contains(&foreseen), "{foreseen} for {found}");
        }
    }
}
