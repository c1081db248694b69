//! The bytes given, taken from the front; what is not there is zero.

use crate::dtype::DType;
use crate::field::{Codec, Field, FieldKind};

/// The least bytes of a dictionary's body.
const LEAST_DICTIONARY: usize = 8;

pub(super) struct Given<'a>(pub &'a [u8]);

impl<'a> Given<'a> {
    pub(super) fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        let taken = self.up_to(N);
        let mut bytes = [0; N];
        bytes[..taken.len()].copy_from_slice(taken);
        bytes
    }

    /// So many bytes, or fewer at the end.
    pub(super) fn up_to(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// A field, and the body of its dictionary if it has one: a byte each for kind, dtype, codec, delta and number of
    /// axes, each modulo what there is; for dense fields a byte an axis; for zstd-dict the dictionary's length, 2 bytes,
    /// and as much of it as there is.
    pub(super) fn field(&mut self) -> (Field, Option<Vec<u8>>) {
        let [kind, dtype, codec, delta, axes] = self.array();
        let axes = axes % 32;
        let kind = match kind % 4 {
            0 => FieldKind::Dense((0..axes).map(|_| u64::from(self.byte())).collect()),
            1 => FieldKind::Ragged(u32::from(axes.max(1))),
            2 => FieldKind::Bytes,
            _ => FieldKind::Text,
        };
        let dtype = match kind {
            FieldKind::Bytes | FieldKind::Text => DType::UInt8,
            _ => DType::ALL[usize::from(dtype) % DType::ALL.len()],
        };
        let codec = [Codec::Raw, Codec::Zstd, Codec::ZstdDict][usize::from(codec) % 3];
        let delta = if dtype == DType::UInt8 && codec != Codec::Raw { delta } else { 0 };
        let dictionary = (codec == Codec::ZstdDict).then(|| {
            let length = u16::from_le_bytes(self.array());
            let mut body = self.up_to(length.into()).to_vec();
            body.resize(body.len().max(LEAST_DICTIONARY), 0);
            body
        });
        (Field { name: "x".into(), kind, dtype, codec, delta }, dictionary)
    }
}
