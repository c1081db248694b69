//! The manifest as writers spell it: keys by code point, no white space.

use super::{FORMAT, FieldEntry, FileEntry, Manifest, MetadataEntry};
use crate::field::{Codec, FieldKind};
use crate::format::checksum::hex;
use crate::format::json::{Object, Value};

/// The text without the key `digest`, which comes first and covers the rest.
pub(super) fn without_digest(manifest: &Manifest) -> Vec<u8> {
    let shards = manifest.shards.iter().map(|count| int(*count)).collect();
    let fields = manifest.fields.iter().map(field).collect();
    let value = object([
        ("attributes", Some(manifest.attributes.clone())),
        ("fields", Some(Value::Array(fields))),
        ("fingerprint", Some(manifest.fingerprint.as_deref().map_or(Value::Null, string))),
        ("format", Some(Value::Int(FORMAT))),
        ("metadata", Some(manifest.metadata.as_ref().map_or(Value::Null, metadata))),
        ("name", Some(string(&manifest.name))),
        ("samples", Some(int(manifest.samples))),
        ("shards", Some(Value::Array(shards))),
    ]);
    let mut out = Vec::new();
    value.write(&mut out);
    out
}

fn field(entry: &FieldEntry) -> Value {
    let field = &entry.field;
    let shape = match &field.kind {
        FieldKind::Dense(shape) => Some(Value::Array(shape.iter().map(|axis| int(*axis)).collect())),
        _ => None,
    };
    let ndim = match field.kind {
        FieldKind::Ragged(ndim) => Some(int(ndim.into())),
        _ => None,
    };
    let dictionary = entry.dictionary.as_ref().filter(|_| field.codec == Codec::ZstdDict);
    object([
        ("codec", Some(string(field.codec.name()))),
        ("delta", (field.delta > 0).then(|| int(field.delta.into()))),
        ("dictionary", dictionary.map(file)),
        ("dtype", Some(string(field.dtype.name()))),
        ("files", Some(Value::Array(entry.files.iter().map(file).collect()))),
        ("kind", Some(string(field.kind_name()))),
        ("name", Some(string(&field.name))),
        ("ndim", ndim),
        ("shape", shape),
    ])
}

fn file(entry: &FileEntry) -> Value {
    object([
        ("body_blake3", Some(string(&hex(&entry.body)))),
        ("bytes", Some(int(entry.bytes))),
        ("index_blake3", entry.index.as_ref().map(|digest| string(&hex(digest)))),
    ])
}

fn metadata(entry: &MetadataEntry) -> Value {
    let chunks = entry.chunks.iter().map(|digest| string(&hex(digest))).collect();
    object([("bytes", Some(int(entry.bytes))), ("chunks", Some(Value::Array(chunks)))])
}

fn object<const N: usize>(entries: [(&str, Option<Value>); N]) -> Value {
    let present = entries.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
    Value::Object(present.collect::<Object>())
}

fn string(text: &str) -> Value {
    Value::Str(text.into())
}

/// Counts and lengths of real caches are far below 2^63; one that is not would be refused by every reader.
fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
