//! `manifest.json`: everything that is known of a cache before a file of it is opened.
//!
//! Reading goes in three steps, so that each breach is named by the rule it breaks and not by a consequence:
//! the digest over the bytes (R001 to R003), the JSON and its types ([`types`], R004 to R006), then the values
//! ([`limits`], R007 to R021).

mod inventory;
mod keys;
mod limits;
mod memory;
mod types;
mod values;
mod write;

use std::sync::Arc;

use super::checksum::{self, Digest};
use super::json::Value;
use crate::error::{Error, Kind, Result};
use crate::field::Field;

pub use inventory::{Inventory, ListedField, SoundField};
pub use limits::Breach;

/// The most bytes of a manifest.
pub const MAX_BYTES: u64 = 64 << 20;

/// Bytes of metadata.arrow under one digest of the manifest.
pub const CHUNK: u64 = 4 << 20;

/// The version of the format that this crate reads and writes.
pub const FORMAT: i64 = 1;

const OPENING: &[u8] = b"{\"digest\":\"";
const CLOSING: &[u8] = b"\",";

/// Bytes before the part of the manifest that its digest covers together with a `{`.
pub const PREFIX: usize = OPENING.len() + 64 + CLOSING.len();

/// What a manifest says of one file with a header: a shard or a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Length of the file.
    pub bytes: u64,
    /// Digest of what follows the header, before the key is applied.
    pub body: Digest,
    /// Digest of the index as it stands in the file; of indexed shards only.
    pub index: Option<Digest>,
}

/// A payload field and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldEntry {
    /// What a record is.
    pub field: Field,
    /// One file a shard.
    pub files: Vec<FileEntry>,
    /// Iff the codec is zstd-dict.
    pub dictionary: Option<FileEntry>,
}

/// What a manifest says of metadata.arrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataEntry {
    /// Length of the file.
    pub bytes: u64,
    /// Digest of each [`CHUNK`] bytes, the last one shorter.
    pub chunks: Vec<Digest>,
}

/// A manifest that keeps every rule up to R021.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The cache's name; that of its directory may differ.
    pub name: Arc<str>,
    /// Samples of all shards.
    pub samples: u64,
    /// Samples of each shard.
    pub shards: Vec<u64>,
    /// The payload fields in the writer's order.
    pub fields: Vec<FieldEntry>,
    /// What identifies code and inputs, if the source said.
    pub fingerprint: Option<String>,
    /// An object, free for the source's use.
    pub attributes: Value,
    /// None if the cache has no metadata columns.
    pub metadata: Option<MetadataEntry>,
    /// Of the manifest itself: the identity of the cache.
    pub digest: Digest,
}

impl Manifest {
    /// Reads a manifest and checks rules R001 to R021; of those that are broken the error is of the lowest.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let digest = proven(bytes)?;
        let value = Value::parse(bytes)?;
        let raw = types::read(&value)?;
        let mut lowest: Option<(u16, Error)> = None;
        limits::check(&raw, &mut |breach| {
            if lowest.as_ref().is_none_or(|(rule, _)| breach.rule < *rule) {
                lowest = Some((breach.rule, breach.error()));
            }
        })?;
        if let Some((_, error)) = lowest {
            return Err(error);
        }
        let mut manifest = values::manifest(raw, digest)?;
        // Taken over and not copied: they may be nearly all of it.
        if let Value::Object(mut keys) = value {
            manifest.attributes = keys.remove("attributes").unwrap_or(Value::Null);
        }
        Ok(manifest)
    }

    /// The manifest in the writer's form; makes [`Manifest::digest`] anew.
    pub fn to_bytes(&mut self) -> Vec<u8> {
        let rest = write::without_digest(self);
        self.digest = checksum::digest(&rest);
        let mut out = Vec::with_capacity(PREFIX + rest.len());
        out.extend(OPENING);
        out.extend(checksum::hex(&self.digest).as_bytes());
        out.extend(CLOSING);
        // The digest covers the text with its first brace and without the key `digest`.
        out.extend(rest.get(1..).unwrap_or_default());
        out
    }

    /// The cache's number in tables of samples: the first 8 bytes of the digest, big-endian, never negative.
    pub fn cache_id(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.digest;
        i64::from_be_bytes([a & 0x7f, b, c, d, e, f, g, h])
    }
}

/// The digest that the first bytes of a manifest name, with nothing proven.
pub fn digest_of(head: &[u8]) -> Option<Digest> {
    checksum::unhex(head.strip_prefix(OPENING)?.get(..64)?)
}

/// The digest the manifest begins with, proven by the rest of it.
fn proven(bytes: &[u8]) -> Result<Digest> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(breach(1, format!("manifest.json has {} bytes; the format allows {MAX_BYTES}", bytes.len())));
    }
    let begin = || breach(2, "manifest.json does not begin with its digest; it is damaged or not DSRT's");
    let inner = bytes.strip_prefix(OPENING).ok_or_else(begin)?;
    let (hex, rest) = inner.split_at_checked(64).ok_or_else(begin)?;
    let digest = checksum::unhex(hex).ok_or_else(begin)?;
    let rest = rest.strip_prefix(CLOSING).ok_or_else(begin)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"{");
    hasher.update(rest);
    if *hasher.finalize().as_bytes() != digest {
        return Err(breach(
            3,
            "manifest.json does not match its own digest; it is damaged, copy or build the cache anew",
        ));
    }
    Ok(digest)
}

fn breach(rule: u16, message: impl Into<String>) -> Error {
    Error::rule(Kind::Format, rule, message)
}

#[cfg(test)]
mod tests;
