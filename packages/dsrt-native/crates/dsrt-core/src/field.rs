//! Payload fields: what one record of a field is.

use std::sync::Arc;

use crate::dtype::DType;

/// The kind of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Fixed shape; `[]` is a scalar.
    Dense(Box<[u64]>),
    /// That many axes, each record with a shape of its own.
    Ragged(u32),
    /// A string of bytes.
    Bytes,
    /// UTF-8 text.
    Text,
}

/// How stored records are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// As they are.
    Raw,
    /// One zstd frame a record.
    Zstd,
    /// One zstd frame a record, with the field's dictionary.
    ZstdDict,
}

impl Codec {
    /// The name used in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Zstd => "zstd",
            Self::ZstdDict => "zstd-dict",
        }
    }
}

/// One field as the manifest describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its kind, with shape or number of axes.
    pub kind: FieldKind,
    /// Its element type; `UInt8` for bytes and text.
    pub dtype: DType,
    /// How its records are stored.
    pub codec: Codec,
    /// Distance of the delta filter in bytes; 0 for none.
    pub delta: u8,
}

impl Field {
    /// Axes of the shape that an index entry holds: 0 for dense, 1 for bytes and text.
    pub fn entry_axes(&self) -> usize {
        match &self.kind {
            FieldKind::Dense(_) => 0,
            FieldKind::Ragged(ndim) => *ndim as usize,
            FieldKind::Bytes | FieldKind::Text => 1,
        }
    }

    /// Whether its shards are fixed (dense and raw) instead of indexed.
    pub fn is_fixed(&self) -> bool {
        matches!(self.kind, FieldKind::Dense(_)) && self.codec == Codec::Raw
    }

    /// Bytes of one index entry in its shards.
    pub fn entry_bytes(&self) -> usize {
        if self.is_fixed() { 4 } else { 12 + 8 * self.entry_axes() }
    }

    /// The word for its kind: `dense`, `ragged`, `bytes` or `text`.
    pub const fn kind_name(&self) -> &'static str {
        match self.kind {
            FieldKind::Dense(_) => "dense",
            FieldKind::Ragged(_) => "ragged",
            FieldKind::Bytes => "bytes",
            FieldKind::Text => "text",
        }
    }
}
