//! From records of the right types to a manifest whose values make sense: rules R007 to R021, each asked of the
//! whole manifest before the next.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::types::{Raw, RawField, RawFile};
use super::{CHUNK, FieldEntry, FileEntry, Manifest, MetadataEntry, breach};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::field::{Codec, Field, FieldKind};
use crate::format::checksum::Digest;
use crate::format::names::{is_cache_name, is_field_name};
use crate::format::shard::{MAX_AXES, MAX_SAMPLES, dense_bytes, fixed_file_bytes, index_start, record_bytes};

/// Lengths that a dictionary file may have.
const DICTIONARY: std::ops::RangeInclusive<i64> = 72..=1_048_640;

/// The most payload fields.
const MAX_FIELDS: usize = 256;

pub(super) fn check(raw: Raw, digest: Digest) -> Result<Manifest> {
    names(&raw)?;
    let shards = shards(&raw)?;
    let samples = shards.iter().sum();
    let metadata = metadata(&raw)?;
    if !(1..=MAX_FIELDS).contains(&raw.fields.len()) {
        return Err(breach(
            13,
            format!("the cache has {} fields; the format allows 1 to {MAX_FIELDS}", raw.fields.len()),
        ));
    }
    let mut fields = fields(&raw.fields)?;
    for (entry, raw) in fields.iter_mut().zip(&raw.fields) {
        // R019
        entry.dictionary = match &raw.dictionary {
            Some(file) if DICTIONARY.contains(&file.bytes) => Some(file_entry(file)),
            Some(file) => {
                let expected = format!("{} to {}", DICTIONARY.start(), DICTIONARY.end());
                return Err(in_field(
                    raw,
                    19,
                    format!("a dictionary file of {} bytes is not one of {expected}", file.bytes),
                ));
            }
            None => None,
        };
    }
    for (entry, raw) in fields.iter_mut().zip(&raw.fields) {
        if raw.files.len() != shards.len() {
            let message = format!("the field lists {} files for {} shards", raw.files.len(), shards.len());
            return Err(in_field(raw, 20, message));
        }
        entry.files = raw.files.iter().map(file_entry).collect();
    }
    for (entry, raw) in fields.iter().zip(&raw.fields) {
        for (shard, (file, count)) in raw.files.iter().zip(&shards).enumerate() {
            length(&entry.field, file.bytes, *count)
                .map_err(|e| e.in_field(&entry.field.name).in_shard(shard as u64))?;
        }
    }
    Ok(Manifest {
        name: raw.name.into(),
        samples,
        shards,
        fields,
        fingerprint: raw.fingerprint.map(str::to_owned),
        attributes: raw.attributes.clone(),
        metadata,
        digest,
    })
}

fn in_field(field: &RawField, rule: u16, message: impl Into<String>) -> Error {
    breach(rule, message).in_field(&Arc::from(field.name))
}

/// R007, R008.
fn names(raw: &Raw) -> Result<()> {
    if !is_cache_name(raw.name) {
        return Err(breach(7, format!("{:?} is not a name that a cache may have", raw.name)));
    }
    if let Some(field) = raw.fields.iter().find(|field| !is_field_name(field.name)) {
        return Err(breach(7, format!("{:?} is not a name that a field may have", field.name)));
    }
    let mut seen = BTreeSet::new();
    match raw.fields.iter().find(|field| !seen.insert(field.name.to_ascii_lowercase())) {
        Some(field) => Err(in_field(field, 8, "another field has this name, but for the case of letters")),
        None => Ok(()),
    }
}

/// R010, R011.
fn shards(raw: &Raw) -> Result<Vec<u64>> {
    let count =
        |(shard, count): (usize, &i64)| match u64::try_from(*count) {
            Ok(count @ 1..=MAX_SAMPLES) => Ok(count),
            _ => Err(breach(10, format!("a shard of {count} samples is not one of 1 to {MAX_SAMPLES}"))
                .in_shard(shard as u64)),
        };
    let shards = raw.shards.iter().enumerate().map(count).collect::<Result<Vec<_>>>()?;
    let sum: u64 = shards.iter().sum();
    if u64::try_from(raw.samples) != Ok(sum) {
        return Err(breach(11, format!("the manifest says {} samples, its shards hold {sum}", raw.samples)));
    }
    Ok(shards)
}

/// R012.
fn metadata(raw: &Raw) -> Result<Option<MetadataEntry>> {
    let Some(metadata) = &raw.metadata else { return Ok(None) };
    let bytes = u64::try_from(metadata.bytes).unwrap_or(0);
    if bytes == 0 || bytes.div_ceil(CHUNK) != metadata.chunks.len() as u64 {
        let (bytes, chunks) = (metadata.bytes, metadata.chunks.len());
        return Err(breach(12, format!("metadata.arrow of {bytes} bytes cannot have {chunks} digests of 4 MiB each")));
    }
    Ok(Some(MetadataEntry { bytes, chunks: metadata.chunks.clone() }))
}

/// R014 to R018; dictionaries and files are left out.
fn fields(raw: &[RawField]) -> Result<Vec<FieldEntry>> {
    let kinds = raw.iter().map(kind).collect::<Result<Vec<_>>>()?;
    let codecs = raw.iter().map(codec).collect::<Result<Vec<_>>>()?;
    let dtypes = raw.iter().map(dtype).collect::<Result<Vec<_>>>()?;
    let mut fields = Vec::with_capacity(raw.len());
    for (((raw, kind), codec), dtype) in raw.iter().zip(kinds).zip(codecs).zip(dtypes) {
        let delta = delta(raw, codec, dtype)?;
        let field = Field { name: raw.name.into(), kind, dtype, codec, delta };
        fields.push(FieldEntry { field, files: Vec::new(), dictionary: None });
    }
    raw.iter().zip(&fields).try_for_each(|(raw, entry)| shape(raw, entry.field.dtype))?;
    Ok(fields)
}

/// R014. Axes that are not even lengths become the longest ones, for R018 to refuse.
fn kind(raw: &RawField) -> Result<FieldKind> {
    match raw.kind {
        "dense" => {
            let axes = raw.shape.iter().flatten();
            Ok(FieldKind::Dense(axes.map(|axis| u64::try_from(*axis).unwrap_or(u64::MAX)).collect()))
        }
        "ragged" => Ok(FieldKind::Ragged(raw.ndim.and_then(|ndim| u32::try_from(ndim).ok()).unwrap_or(u32::MAX))),
        "bytes" => Ok(FieldKind::Bytes),
        "text" => Ok(FieldKind::Text),
        other => Err(in_field(raw, 14, format!("{other:?} is not a kind of field: dense, ragged, bytes or text"))),
    }
}

/// R015.
fn codec(raw: &RawField) -> Result<Codec> {
    let found = [Codec::Raw, Codec::Zstd, Codec::ZstdDict].into_iter().find(|codec| codec.name() == raw.codec);
    found.ok_or_else(|| in_field(raw, 15, format!("{:?} is not a codec: raw, zstd or zstd-dict", raw.codec)))
}

/// R016.
fn dtype(raw: &RawField) -> Result<DType> {
    let found = DType::parse(raw.dtype);
    let dtype = found.ok_or_else(|| in_field(raw, 16, format!("{:?} is not a dtype of the format", raw.dtype)))?;
    if matches!(raw.kind, "bytes" | "text") && dtype != DType::UInt8 {
        return Err(in_field(raw, 16, format!("a field of {} has dtype uint8, not {}", raw.kind, raw.dtype)));
    }
    Ok(dtype)
}

/// R017.
fn delta(raw: &RawField, codec: Codec, dtype: DType) -> Result<u8> {
    let Some(delta) = raw.delta else { return Ok(0) };
    match u8::try_from(delta) {
        Ok(delta @ 1..) if dtype == DType::UInt8 && codec != Codec::Raw => Ok(delta),
        Ok(1..) => Err(in_field(raw, 17, "delta needs dtype uint8 and a codec other than raw")),
        _ => Err(in_field(raw, 17, format!("a delta of {delta} is not one of 1 to 255"))),
    }
}

/// R018.
fn shape(raw: &RawField, dtype: DType) -> Result<()> {
    let refused = |message: String| Err(in_field(raw, 18, message));
    match (raw.kind, &raw.shape, raw.ndim) {
        ("dense", Some(shape), _) => {
            let axes = || shape.iter().map(|axis| u64::try_from(*axis).unwrap_or(u64::MAX));
            if shape.len() as u64 > MAX_AXES || record_bytes(axes(), dtype.size()).is_none() {
                return refused(format!("the shape {shape:?} of {} is not one the format allows", dtype.name()));
            }
        }
        ("ragged", _, Some(ndim)) if !(1..=MAX_AXES as i64).contains(&ndim) => {
            return refused(format!("ndim is {ndim}, not one of 1 to {MAX_AXES}"));
        }
        _ => {}
    }
    Ok(())
}

fn file_entry(raw: &RawFile) -> FileEntry {
    // A negative length is refused by R019 or R021, whichever the file is under.
    FileEntry { bytes: u64::try_from(raw.bytes).unwrap_or(0), body: raw.body, index: raw.index }
}

/// R021.
fn length(field: &Field, bytes: i64, count: u64) -> Result<()> {
    let fits = match dense_bytes(field) {
        Some(stride) if field.is_fixed() => i128::try_from(fixed_file_bytes(stride, count)) == Ok(i128::from(bytes)),
        _ => u64::try_from(bytes).is_ok_and(|bytes| index_start(field, bytes, count).is_some()),
    };
    if fits {
        Ok(())
    } else {
        Err(breach(21, format!("a file of {bytes} bytes cannot hold {count} records of the field")))
    }
}
