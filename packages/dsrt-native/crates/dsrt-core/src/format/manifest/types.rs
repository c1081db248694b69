//! From JSON to records of the right types: rules R005 and R006.
//!
//! Only types are judged here, never values: an unknown dtype is a string like any other, a negative length an
//! int. What a field must say depends on its kind and codec; where these are unknown (a breach of R014 or R015,
//! found later), the keys that depend on them may be there or not.

use super::keys::{At, Keys, Need, hex, int, list, str, wrong};
use super::{FORMAT, breach};
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;
use crate::format::json::Value;

pub(super) struct RawFile {
    pub bytes: i64,
    pub body: Digest,
    pub index: Option<Digest>,
}

pub(super) struct RawField<'a> {
    pub name: &'a str,
    pub kind: &'a str,
    pub dtype: &'a str,
    pub codec: &'a str,
    pub shape: Option<Vec<i64>>,
    pub ndim: Option<i64>,
    pub delta: Option<i64>,
    pub dictionary: Option<RawFile>,
    pub files: Vec<RawFile>,
}

pub(super) struct RawMetadata {
    pub bytes: i64,
    pub chunks: Vec<Digest>,
}

pub(super) struct Raw<'a> {
    pub name: &'a str,
    pub fingerprint: Option<&'a str>,
    pub samples: i64,
    pub shards: Vec<i64>,
    pub metadata: Option<RawMetadata>,
    pub fields: Vec<RawField<'a>>,
}

pub(super) fn read(value: &Value) -> Result<Raw<'_>> {
    version(value)?;
    let mut keys = Keys::of(value, &At::Root)?;
    keys.take("digest", str)?;
    keys.take("format", int)?;
    keys.take("attributes", |value, at| match value {
        Value::Object(_) => Ok(()),
        _ => Err(wrong(at, "an object")),
    })?;
    let raw = Raw {
        name: keys.take("name", str)?,
        fingerprint: keys.take("fingerprint", |value, at| match value {
            Value::Null => Ok(None),
            Value::Str(text) => Ok(Some(text.as_ref())),
            _ => Err(wrong(at, "a string or null")),
        })?,
        samples: keys.take("samples", int)?,
        shards: keys.take("shards", |value, at| list(value, at, int))?,
        metadata: keys.take("metadata", metadata)?,
        fields: keys.take("fields", |value, at| list(value, at, field))?,
    };
    keys.end()?;
    Ok(raw)
}

/// R005, before anything else is asked of the manifest: a later version may change all other keys.
fn version(value: &Value) -> Result<()> {
    let message = match value {
        Value::Object(keys) => match keys.get("format") {
            Some(Value::Int(FORMAT)) => return Ok(()),
            Some(Value::Int(other)) => {
                format!("the cache has format {other}; this version reads format {FORMAT}: install another one")
            }
            _ => "the manifest does not name its format by an int".to_owned(),
        },
        // Not reached: a manifest begins with a brace.
        _ => return Err(breach(6, "the manifest is not an object")),
    };
    Err(Error::rule(Kind::UnknownVersion, 5, message))
}

fn metadata(value: &Value, at: &At) -> Result<Option<RawMetadata>> {
    if *value == Value::Null {
        return Ok(None);
    }
    let mut keys = Keys::of(value, at)?;
    let metadata =
        RawMetadata { bytes: keys.take("bytes", int)?, chunks: keys.take("chunks", |value, at| list(value, at, hex))? };
    keys.end()?;
    Ok(Some(metadata))
}

fn field<'a>(value: &'a Value, at: &At) -> Result<RawField<'a>> {
    let mut keys = Keys::of(value, at)?;
    let kind = keys.take("kind", str)?;
    let codec = keys.take("codec", str)?;
    let kind_known = matches!(kind, "dense" | "ragged" | "bytes" | "text");
    let codec_known = matches!(codec, "raw" | "zstd" | "zstd-dict");
    let shape = Need::of(kind_known, kind == "dense");
    let ndim = Need::of(kind_known, kind == "ragged");
    let dictionary = Need::of(codec_known, codec == "zstd-dict");
    let index = Need::of(kind_known && codec_known, kind != "dense" || codec != "raw");
    let field = RawField {
        name: keys.take("name", str)?,
        kind,
        dtype: keys.take("dtype", str)?,
        codec,
        shape: keys.take_if(shape, "shape", |value, at| list(value, at, int))?,
        ndim: keys.take_if(ndim, "ndim", int)?,
        delta: keys.take_if(Need::Open, "delta", int)?,
        dictionary: keys.take_if(dictionary, "dictionary", |value, at| file(value, at, Need::No))?,
        files: keys.take("files", |value, at| list(value, at, |value, at| file(value, at, index)))?,
    };
    keys.end()?;
    Ok(field)
}

fn file(value: &Value, at: &At, index: Need) -> Result<RawFile> {
    let mut keys = Keys::of(value, at)?;
    let file = RawFile {
        bytes: keys.take("bytes", int)?,
        body: keys.take("body_blake3", hex)?,
        index: keys.take_if(index, "index_blake3", hex)?,
    };
    keys.end()?;
    Ok(file)
}
