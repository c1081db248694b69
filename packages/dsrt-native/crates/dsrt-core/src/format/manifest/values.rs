//! From records of the right types to what they stand for. What they must keep is judged by [`super::limits`].

use super::memory::gathered;
use super::types::{Raw, RawField, RawFile};
use super::{Error, FieldEntry, FileEntry, Kind, Manifest, MetadataEntry, Result};
use crate::dtype::DType;
use crate::field::{Codec, Field, FieldKind};
use crate::format::checksum::Digest;
use crate::format::json::Value;
use crate::format::shard::MAX_AXES;

/// The manifest of values that keep every rule, but for its attributes.
pub(super) fn manifest(raw: Raw, digest: Digest) -> Result<Manifest> {
    let lost = || Error::new(Kind::Internal, "a manifest that keeps every rule does not say what its fields are");
    let entry = |raw: &RawField| {
        let files = gathered(raw.files.iter().map(|raw| Ok(file(raw))))?;
        Ok(FieldEntry { field: field(raw).ok_or_else(lost)?, files, dictionary: raw.dictionary.as_ref().map(file) })
    };
    Ok(Manifest {
        name: raw.name.into(),
        samples: u64::try_from(raw.samples).map_err(|_| lost())?,
        shards: shards(&raw)?.ok_or_else(lost)?,
        fields: gathered(raw.fields.iter().map(entry))?,
        fingerprint: raw.fingerprint.map(str::to_owned),
        attributes: Value::Null,
        metadata: metadata(&raw)?,
        digest,
    })
}

/// Samples of each shard, none if one is negative.
pub(super) fn shards(raw: &Raw) -> Result<Option<Vec<u64>>> {
    if raw.shards.iter().any(|count| *count < 0) {
        return Ok(None);
    }
    gathered(raw.shards.iter().map(|count| Ok(count.unsigned_abs()))).map(Some)
}

/// Of the metadata's file, none if its length is negative.
pub(super) fn metadata(raw: &Raw) -> Result<Option<MetadataEntry>> {
    let Some((metadata, bytes)) = raw.metadata.as_ref().and_then(|raw| Some((raw, u64::try_from(raw.bytes).ok()?)))
    else {
        return Ok(None);
    };
    Ok(Some(MetadataEntry { bytes, chunks: gathered(metadata.chunks.iter().map(|digest| Ok(*digest)))? }))
}

/// The field, if its kind, codec and dtype are known.
pub(super) fn field(raw: &RawField) -> Option<Field> {
    let delta = raw.delta.map_or(Some(0), |delta| u8::try_from(delta).ok())?;
    Some(Field { name: raw.name.into(), kind: kind(raw)?, dtype: dtype(raw)?, codec: codec(raw)?, delta })
}

/// Axes that are not even lengths become the longest ones, and of too many there is one too much: R018 refuses both.
pub(super) fn kind(raw: &RawField) -> Option<FieldKind> {
    Some(match raw.kind {
        "dense" => {
            let axes = raw.shape.iter().flatten().take(MAX_AXES as usize + 1);
            FieldKind::Dense(axes.map(|axis| u64::try_from(*axis).unwrap_or(u64::MAX)).collect())
        }
        "ragged" => FieldKind::Ragged(raw.ndim.and_then(|ndim| u32::try_from(ndim).ok()).unwrap_or(u32::MAX)),
        "bytes" => FieldKind::Bytes,
        "text" => FieldKind::Text,
        _ => return None,
    })
}

pub(super) fn codec(raw: &RawField) -> Option<Codec> {
    [Codec::Raw, Codec::Zstd, Codec::ZstdDict].into_iter().find(|codec| codec.name() == raw.codec)
}

pub(super) fn dtype(raw: &RawField) -> Option<DType> {
    DType::parse(raw.dtype)
}

pub(super) fn file(raw: &RawFile) -> FileEntry {
    // A negative length is refused by R019 or R021, whichever the file is under.
    FileEntry { bytes: u64::try_from(raw.bytes).unwrap_or(0), body: raw.body, index: raw.index }
}
