//! Payload fields as columns of a batch.

mod ahead;
mod cold;
mod dense;
mod finder;
mod indexed;
mod ragged;
mod share;

use std::sync::Arc;

use self::share::{COPIED, DECODED, MAPPED};
use super::cache::Cache;
use super::field::FieldReader;
use super::gather::{Damage, Id, Planned, Rows, Source};
use super::warmth::Warmth;
use super::widen::{Widening, no_number};
use crate::batch::Spans;
use crate::dtype::{DType, Element};
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field, FieldKind};

/// A field of one or more caches, gathered.
pub struct PayloadSource {
    caches: Arc<[Cache]>,
    /// The field's number in each cache.
    fields: Box<[usize]>,
    kind: FieldKind,
    name: Arc<str>,
    widening: Widening,
}

impl PayloadSource {
    /// The field of that name, which every cache must have with equal kind, shape and dtype. Codecs may differ.
    pub fn new(caches: Arc<[Cache]>, name: &str) -> Result<Self> {
        let mut fields = Vec::with_capacity(caches.len());
        let mut first: Option<(&Cache, &Field)> = None;
        for cache in caches.iter() {
            let found = cache.manifest().fields.iter().enumerate().find(|(_, entry)| *entry.field.name == *name);
            let Some((number, entry)) = found else {
                return Err(Error::new(Kind::Schema, format!("the cache has no field {name:?}")).in_cache(cache.path()));
            };
            let (other, known) = *first.get_or_insert((cache, &entry.field));
            if (&known.kind, known.dtype) != (&entry.field.kind, entry.field.dtype) {
                let message = format!(
                    "field {name:?} is {} here and {} in {}; caches that are read together need the same",
                    describe(&entry.field),
                    describe(known),
                    other.path()
                );
                return Err(Error::new(Kind::Schema, message).in_cache(cache.path()));
            }
            fields.push(number);
        }
        let Some((_, field)) = first else {
            return Err(Error::new(Kind::Schema, format!("no cache, and so no field {name:?}")));
        };
        let (kind, name, widening) = (field.kind.clone(), field.name.clone(), Widening::none(field.dtype));
        Ok(Self { fields: fields.into(), kind, name, widening, caches })
    }

    /// The same field, its elements delivered as `dtype`. An error if it has none, or they could lose their value.
    pub fn delivered_as(mut self, dtype: DType) -> Result<Self> {
        let widening = match self.kind {
            FieldKind::Dense(_) | FieldKind::Ragged(_) => Widening::new(self.widening.stored(), dtype),
            FieldKind::Bytes => Err(no_number("a field of bytes", dtype)),
            FieldKind::Text => Err(no_number("a field of text", dtype)),
        };
        self.widening = widening.map_err(|error| error.in_field(&self.name))?;
        Ok(self)
    }

    fn readers(&self) -> Result<Readers> {
        let readers = self.caches.iter().zip(&self.fields).map(|(cache, field)| cache.field(*field));
        let readers: Vec<_> = readers.collect::<Result<_>>()?;
        let is_cold = readers.first().map(FieldReader::warmth).transpose()?.is_some_and(Warmth::is_cold);
        Ok(Readers { all: readers, is_cold })
    }
}

impl Source for PayloadSource {
    fn dense(&self) -> Option<(Element, Box<[u64]>)> {
        match &self.kind {
            FieldKind::Dense(axes) => Some((Element::Plain(self.widening.delivered()), axes.clone())),
            _ => None,
        }
    }

    fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, damage: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
        let readers = self.readers()?;
        cold::ask(&readers, rows);
        Ok(match self.kind {
            FieldKind::Dense(_) => Box::new(dense::Dense::plan(readers, self.widening, *rows, spans, damage)?),
            _ => Box::new(ragged::Ragged::plan(readers, self.widening, *rows, spans, damage)?),
        })
    }
}

/// The field in each of the caches.
struct Readers {
    all: Vec<FieldReader>,
    /// Whether they were hardly read yet, as they were found. What is known is kept with the first cache.
    is_cold: bool,
}

impl Readers {
    fn of(&self, id: Id) -> Result<&FieldReader> {
        self.all.get(id.cache as usize).ok_or_else(|| Error::new(Kind::Internal, "there is no cache of that number"))
    }

    /// Bytes of a column of so many bytes and samples that are worth a thread.
    fn worth(&self, bytes: usize, samples: usize) -> usize {
        let is_compressed = self.all.iter().any(|reader| reader.field().is_ok_and(|field| field.codec != Codec::Raw));
        let worth = if is_compressed { DECODED } else { COPIED };
        if self.is_cold { worth.min(bytes.saturating_mul(MAPPED) / samples.max(1)) } else { worth }
    }

    /// The field itself; but for the codec it is the same in all caches.
    fn field(&self) -> Result<&Field> {
        self.of(Id { cache: 0, sample: 0 })?.field()
    }
}

fn describe(field: &Field) -> String {
    match &field.kind {
        FieldKind::Dense(shape) => format!("dense {} {shape:?}", field.dtype.name()),
        FieldKind::Ragged(ndim) => format!("ragged {} with {ndim} axes", field.dtype.name()),
        FieldKind::Bytes => "bytes".into(),
        FieldKind::Text => "text".into(),
    }
}

fn too_large() -> Error {
    Error::new(Kind::Memory, "the batch is too large for the memory; ask for fewer samples")
}
