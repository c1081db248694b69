//! Extra columns of a population, gathered into batches.

use std::sync::Arc;

use super::column::Column;
use crate::batch::{Layout, Span, Spans, fill_offsets};
use crate::dtype::{ColumnType, DType, Element};
use crate::error::{Error, Kind, Result};
use crate::read::gather::Pace;
use crate::read::widen::Numeric;
use crate::read::{Damage, Look, Planned, Rows, Source, Threads};

/// Gathers one extra column.
pub(super) struct ExtraSource {
    name: Arc<str>,
    column: Arc<Column>,
    /// None for strings.
    numeric: Option<Numeric>,
}

impl ExtraSource {
    /// The column of that name, its numbers delivered as `dtype`, if it is given. An error if it has none, or they could
    /// lose their value.
    pub fn new(name: &str, column: Arc<Column>, dtype: Option<DType>) -> Result<Self> {
        let (name, kind) = (name.into(), column.kind());
        let numeric = match dtype {
            Some(dtype) => Some(Numeric::widened(kind, dtype).map_err(|error| error.in_field(&name))?),
            None => Numeric::of(kind),
        };
        Ok(Self { name, column, numeric })
    }
}

impl Source for ExtraSource {
    fn dense(&self) -> Option<(Element, Box<[u64]>)> {
        self.numeric.map(|numeric| (numeric.element, [].into()))
    }

    fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, _: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
        let (column, rows, look) = (&*self.column, rows.rows, rows.look);
        match self.numeric {
            Some(numeric) => {
                check_nulls(column, rows, look).map_err(|error| error.in_field(&self.name))?;
                let values = spans.reserve(rows.len() as u64 * numeric.element.size() as u64)?;
                Ok(Box::new(Numbers { column, rows, numeric, values, look }))
            }
            None => {
                let (mut total, mut any_null) = (0, false);
                let mut pace = Pace::new(look);
                for row in rows {
                    pace.record(0)?;
                    let string = string(column, *row)?;
                    any_null |= string.is_none();
                    total += length(string);
                }
                let values = spans.reserve(total)?;
                let offsets = spans.reserve((rows.len() as u64 + 1) * 8)?;
                let valid = any_null.then(|| spans.reserve(rows.len() as u64)).transpose()?;
                Ok(Box::new(Strings { column, rows, values, offsets, valid, look }))
            }
        }
    }
}

/// An array has no place for nulls. The message counts them among `rows`.
fn check_nulls(column: &Column, rows: &[u64], look: Look) -> Result<()> {
    if column.null_count() == 0 {
        return Ok(());
    }
    let mut pace = Pace::new(look);
    let (mut nulls, mut first) = (0, None);
    for row in rows {
        pace.record(0)?;
        if column.is_null(*row as usize) {
            nulls += 1;
            first = first.or(Some(*row));
        }
    }
    first.map_or(Ok(()), |first| Err(null_error(nulls, first)))
}

/// The error for nulls where an array is asked for.
pub(super) fn null_error(count: u64, first: u64) -> Error {
    let message = format!(
        "{count} of the rows asked for are null here, the first is row {first}, and an array has no place for nulls; \
         leave the column out (fields=), filter those rows out, or add a filled copy under another name (fill_null)"
    );
    Error::new(Kind::Value, message)
}

struct Numbers<'a> {
    column: &'a Column,
    rows: &'a [u64],
    numeric: Numeric,
    values: Span,
    look: Look<'a>,
}

impl Planned for Numbers<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage, _: Threads) -> Result<Layout> {
        let Self { column, rows, numeric: Numeric { element, widening }, values, look } = *self;
        let place = values.of_mut(buffer)?;
        let mut pace = Pace::new(look);
        for (to, row) in widening.stored_part(place).chunks_exact_mut(widening.stored().size()).zip(rows) {
            pace.record(to.len())?;
            to.copy_from_slice(bytes(column, *row)?);
        }
        widening.widen(place);
        Ok(Layout::Dense { element, shape: [rows.len() as u64].into(), values })
    }
}

struct Strings<'a> {
    column: &'a Column,
    rows: &'a [u64],
    values: Span,
    offsets: Span,
    valid: Option<Span>,
    look: Look<'a>,
}

impl Planned for Strings<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage, _: Threads) -> Result<Layout> {
        let Self { column, rows, values, offsets, valid, look } = *self;
        let mut rest = values.of_mut(buffer)?;
        let mut pace = Pace::new(look);
        for row in rows {
            let string = string(column, *row)?.unwrap_or_default();
            pace.record(string.len())?;
            let (to, after) = rest.split_at_mut_checked(string.len()).ok_or_else(broken)?;
            to.copy_from_slice(string);
            rest = after;
        }
        // What is broken has ended this.
        let lengths = rows.iter().map(|row| string(column, *row).map_or(0, length));
        fill_offsets(offsets.of_mut(buffer)?, lengths);
        if let Some(valid) = valid {
            for (to, row) in valid.of_mut(buffer)?.iter_mut().zip(rows) {
                *to = (!column.is_null(*row as usize)).into();
            }
        }
        let text = column.kind() == ColumnType::String;
        Ok(Layout::Strings { text, values, offsets, valid })
    }
}

fn length(string: Option<&[u8]>) -> u64 {
    string.map_or(0, |string| string.len() as u64)
}

/// The string of a row. None for null.
fn string(column: &Column, row: u64) -> Result<Option<&[u8]>> {
    if column.is_null(row as usize) { Ok(None) } else { bytes(column, row).map(Some) }
}

fn bytes(column: &Column, row: u64) -> Result<&[u8]> {
    usize::try_from(row).ok().and_then(|row| column.bytes(row)).ok_or_else(broken)
}

fn broken() -> Error {
    Error::new(Kind::Schema, "the Arrow data of this column is broken: its buffers are shorter than its rows need")
}

/// Whether a column of this type can hold a null in a batch.
pub fn takes_nulls(kind: ColumnType) -> bool {
    kind.element().is_none()
}
