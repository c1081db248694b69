//! What is to be written, from words of the Python side: fields, columns, and what becomes of an earlier run.

use std::sync::Arc;

use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::field::{Codec, Field, FieldKind};
use dsrt_core::write::{Dictionary, Earlier, Encoding};
use dsrt_core::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Bytes of a dictionary that is trained.
const DICTIONARY: usize = 1 << 16;

/// A field as the Python side spells it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FieldSpec {
    pub name: String,
    kind: String,
    dtype: String,
    shape: Vec<u64>,
    ndim: u32,
    codec: String,
    level: i32,
    dictionary: Option<DictionarySpec>,
    delta: u8,
    /// NumPy's dtype of its elements; none for bytes and text, and where a package is missing.
    pub numpy: Option<Py<PyAny>>,
}

/// The word "train", or the body of a dictionary.
#[derive(FromPyObject)]
enum DictionarySpec {
    Word(String),
    Body(Vec<u8>),
}

/// A payload field, the key it has in a sample, and NumPy's dtype of its elements.
pub struct FieldIn {
    pub key: Py<PyString>,
    pub field: Field,
    pub dtype: Option<Py<PyAny>>,
}

/// A metadata column and the key it has in a sample.
pub struct ColumnIn {
    pub key: Py<PyString>,
    pub name: Arc<str>,
    pub kind: ColumnType,
}

impl FieldSpec {
    /// The field, and how its records are encoded.
    pub fn parse(self) -> dsrt_core::Result<(Field, Encoding)> {
        let unknown = |what: &str, word: &str| Error::new(Kind::Schema, format!("there is no {what} {word:?}"));
        let kind = match &*self.kind {
            "dense" => FieldKind::Dense(self.shape.into()),
            "ragged" => FieldKind::Ragged(self.ndim),
            "bytes" => FieldKind::Bytes,
            "text" => FieldKind::Text,
            other => return Err(unknown("kind of field", other)),
        };
        let codecs = [Codec::Raw, Codec::Zstd, Codec::ZstdDict];
        let codec = codecs.into_iter().find(|codec| codec.name() == self.codec);
        let field = Field {
            name: self.name.into(),
            kind,
            dtype: DType::parse(&self.dtype).ok_or_else(|| unknown("dtype", &self.dtype))?,
            codec: codec.ok_or_else(|| unknown("codec", &self.codec))?,
            delta: self.delta,
        };
        let dictionary = match self.dictionary {
            None => None,
            Some(DictionarySpec::Body(body)) => Some(Dictionary::Body(body)),
            Some(DictionarySpec::Word(word)) if word == "train" => Some(Dictionary::Train(DICTIONARY)),
            Some(DictionarySpec::Word(word)) => return Err(unknown("dictionary", &word)),
        };
        Ok((field, Encoding { level: self.level, dictionary }))
    }
}

/// What becomes of durable samples of an earlier run.
pub fn earlier_named(word: &str) -> dsrt_core::Result<Earlier> {
    match word {
        "ask" => Ok(Earlier::Ask),
        "resume" => Ok(Earlier::Resume),
        "discard" => Ok(Earlier::Discard),
        _ => Err(Error::new(Kind::Internal, format!("{word:?} is no choice about an earlier run"))),
    }
}

/// The type of a metadata column.
pub fn column_type(name: &str, kind: &str) -> dsrt_core::Result<ColumnType> {
    ColumnType::parse(kind).ok_or_else(|| {
        let all: Vec<_> = ColumnType::all().map(ColumnType::name).collect();
        let message = format!("{kind:?} is no type of a metadata column; the types are {}", all.join(", "));
        Error::new(Kind::Schema, message).in_field(&name.into())
    })
}
