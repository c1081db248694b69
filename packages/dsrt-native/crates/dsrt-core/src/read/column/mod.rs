//! Metadata columns as columns of a batch: only the chunks that a batch touches are read.

mod nulls;
mod number;
mod string;

use std::borrow::Cow;
use std::sync::Arc;

use super::cache::Cache;
use super::gather::{Damage, Id, Look, Planned, Rows, Source};
use super::table::Table;
use super::widen::Numeric;
use crate::batch::Spans;
use crate::dtype::{ColumnType, DType, Element};
use crate::error::{Error, Kind, Result};
use crate::format::metadata::{ColumnLayout, Extent};

/// A metadata column of one or more caches, gathered.
pub struct MetadataSource {
    caches: Arc<[Cache]>,
    /// The column's number in each cache.
    columns: Box<[usize]>,
    kind: ColumnType,
    /// None for strings.
    numeric: Option<Numeric>,
    name: Arc<str>,
}

impl MetadataSource {
    /// The column of that name, which every cache must have with equal type.
    pub fn new(caches: Arc<[Cache]>, name: &str) -> Result<Self> {
        let mut columns = Vec::with_capacity(caches.len());
        let mut first: Option<(&Cache, ColumnType)> = None;
        for cache in caches.iter() {
            let schema = |message: String| Error::new(Kind::Schema, message).in_cache(cache.path());
            let found = cache.table()?.column(name);
            let (number, kind) = found.ok_or_else(|| schema(format!("the cache has no metadata column {name:?}")))?;
            let (other, known) = *first.get_or_insert((cache, kind));
            if known != kind {
                let (here, there) = (kind.name(), known.name());
                return Err(schema(format!("column {name:?} is {here} here and {there} in {}", other.path())));
            }
            columns.push(number);
        }
        let no_cache = || Error::new(Kind::Schema, format!("no cache, and so no metadata column {name:?}"));
        let (_, kind) = first.ok_or_else(no_cache)?;
        Ok(Self { columns: columns.into(), kind, numeric: Numeric::of(kind), name: name.into(), caches })
    }

    /// The same column, its numbers delivered as `dtype`. An error if it has none, or they could lose their value.
    pub fn delivered_as(mut self, dtype: DType) -> Result<Self> {
        self.numeric = Some(Numeric::widened(self.kind, dtype).map_err(|error| error.in_field(&self.name))?);
        Ok(self)
    }

    /// The column's type.
    pub fn kind(&self) -> ColumnType {
        self.kind
    }
}

impl Source for MetadataSource {
    fn dense(&self) -> Option<(Element, Box<[u64]>)> {
        self.numeric.map(|numeric| (numeric.element, [].into()))
    }

    fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, _: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
        let mut tables: Vec<Option<Arc<Table>>> = vec![None; self.caches.len()];
        for id in rows.ids {
            let number = id.cache as usize;
            if let (Some(table @ None), Some(cache)) = (tables.get_mut(number), self.caches.get(number)) {
                *table = Some(cache.table()?);
            }
        }
        let column = Column { tables, source: self, look: rows.look };
        Ok(match self.kind {
            ColumnType::String => Box::new(string::Strings::plan(column, *rows, true, spans)?),
            ColumnType::Binary => Box::new(string::Strings::plan(column, *rows, false, spans)?),
            _ => Box::new(number::Numbers::plan(column, *rows, spans)?),
        })
    }
}

/// The column in the caches that a batch is from.
struct Column<'a> {
    /// By the caches' numbers; none where nothing is asked of a cache.
    tables: Vec<Option<Arc<Table>>>,
    source: &'a MetadataSource,
    /// Before each chunk that is proven.
    look: Look<'a>,
}

/// One value: where it lies.
struct Cell<'a> {
    table: &'a Table,
    layout: &'a ColumnLayout,
    /// The row in its batch.
    row: u64,
    look: Look<'a>,
}

impl Column<'_> {
    fn cell(&self, id: Id) -> Result<Cell<'_>> {
        let number = id.cache as usize;
        let lost = || Error::new(Kind::Internal, "there is no cache of that number");
        let (table, column) =
            self.tables.get(number).and_then(Option::as_ref).zip(self.source.columns.get(number)).ok_or_else(lost)?;
        let (layout, row) = table.locate(*column, id.sample, self.look)?;
        Ok(Cell { table, layout, row, look: self.look })
    }

    /// Checks, after all values were taken, that no file was cut off meanwhile (R030).
    fn check_whole(&self) -> Result<()> {
        for (table, cache) in self.tables.iter().zip(self.source.caches.iter()) {
            let Some(table) = table else { continue };
            let place = |error: Error| error.while_reading().in_field(&self.source.name).in_cache(cache.path());
            table.check_whole().map_err(place)?;
        }
        Ok(())
    }

    /// The error with its place, as one found by a read.
    fn place(&self, error: Error, id: Id) -> Error {
        let mut error = error.while_reading().in_field(&self.source.name).at_sample(id.sample);
        if let Some(cache) = self.source.caches.get(id.cache as usize) {
            error = error.in_cache(cache.path());
        }
        error
    }
}

impl<'a> Cell<'a> {
    /// Bytes of the file, proven.
    fn bytes(&self, extent: Extent) -> Result<Cow<'a, [u8]>> {
        self.table.chunks().bytes_unless(extent, self.look)
    }

    /// Bit `row` of a buffer of bits.
    fn bit(&self, bits: Extent) -> Result<bool> {
        let byte = self.bytes(Extent { at: bits.at + self.row / 8, len: 1 })?;
        Ok(byte.first().is_some_and(|byte| byte >> (self.row % 8) & 1 == 1))
    }

    fn is_null(&self) -> Result<bool> {
        let Some(validity) = self.layout.validity else { return Ok(false) };
        let null = !self.bit(validity)?;
        if null && self.layout.nulls == 0 {
            let message = "metadata.arrow: a value is null in a batch that counts no nulls";
            return Err(Error::rule(Kind::Format, 42, message));
        }
        Ok(null)
    }
}
