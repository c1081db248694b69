//! Extra columns of a population, gathered into batches.

use std::sync::Arc;

use super::column::Column;
use crate::batch::{Layout, Span, Spans};
use crate::dtype::{ColumnType, Element};
use crate::error::{Error, Kind, Result};
use crate::read::{Damage, Planned, Rows, Source};

/// Gathers one extra column.
pub(super) struct ExtraSource {
    pub name: Arc<str>,
    pub column: Arc<Column>,
}

impl Source for ExtraSource {
    fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, _: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
        let (column, rows) = (&*self.column, rows.rows);
        match column.kind().element() {
            Some(element) => {
                check_nulls(column, rows).map_err(|error| error.in_field(&self.name))?;
                let values = spans.reserve(rows.len() as u64 * element.size() as u64)?;
                Ok(Box::new(Numbers { column, rows, element, values }))
            }
            None => {
                let mut bytes = 0u64;
                let mut any_null = false;
                for row in rows {
                    match string(column, *row)? {
                        Some(value) => bytes += value.len() as u64,
                        None => any_null = true,
                    }
                }
                let values = spans.reserve(bytes)?;
                let offsets = spans.reserve((rows.len() as u64 + 1) * 8)?;
                let valid = any_null.then(|| spans.reserve(rows.len() as u64)).transpose()?;
                Ok(Box::new(Strings { column, rows, values, offsets, valid }))
            }
        }
    }
}

/// An array has no place for nulls. The message counts them among `rows`.
fn check_nulls(column: &Column, rows: &[u64]) -> Result<()> {
    if column.null_count() == 0 {
        return Ok(());
    }
    let mut nulls = rows.iter().filter(|row| column.is_null(**row as usize));
    match nulls.next() {
        None => Ok(()),
        Some(first) => Err(null_error(1 + nulls.count() as u64, *first)),
    }
}

/// The error for nulls where an array is asked for.
pub(super) fn null_error(count: u64, first: u64) -> Error {
    let message = format!(
        "{count} of the rows asked for are null here, the first is row {first}, and an array has no place for nulls; \
         give them a value with fill_null, leave the rows out, or leave the column out"
    );
    Error::new(Kind::Value, message)
}

struct Numbers<'a> {
    column: &'a Column,
    rows: &'a [u64],
    element: Element,
    values: Span,
}

impl Planned for Numbers<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage) -> Result<Layout> {
        let Self { column, rows, element, values } = *self;
        for (to, row) in values.of_mut(buffer)?.chunks_exact_mut(element.size()).zip(rows) {
            to.copy_from_slice(bytes(column, *row)?);
        }
        Ok(Layout::Dense { element, shape: [rows.len() as u64].into(), values })
    }
}

struct Strings<'a> {
    column: &'a Column,
    rows: &'a [u64],
    values: Span,
    offsets: Span,
    valid: Option<Span>,
}

impl Planned for Strings<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage) -> Result<Layout> {
        let Self { column, rows, values, offsets, valid } = *self;
        let mut end = 0usize;
        write_offset(buffer, offsets, 0, end)?;
        for (place, row) in rows.iter().enumerate() {
            let value = string(column, *row)?;
            if let Some(valid) = valid {
                *valid.of_mut(buffer)?.get_mut(place).ok_or_else(broken)? = u8::from(value.is_some());
            }
            let value = value.unwrap_or_default();
            let to = values.of_mut(buffer)?.get_mut(end..end + value.len()).ok_or_else(broken)?;
            to.copy_from_slice(value);
            end += value.len();
            write_offset(buffer, offsets, place + 1, end)?;
        }
        let text = column.kind() == ColumnType::String;
        Ok(Layout::Strings { text, values, offsets, valid })
    }
}

fn write_offset(buffer: &mut [u8], offsets: Span, place: usize, end: usize) -> Result<()> {
    let to = offsets.of_mut(buffer)?.get_mut(place * 8..place * 8 + 8).ok_or_else(broken)?;
    to.copy_from_slice(&(end as u64).to_ne_bytes());
    Ok(())
}

fn bytes(column: &Column, row: u64) -> Result<&[u8]> {
    usize::try_from(row).ok().and_then(|row| column.bytes(row)).ok_or_else(broken)
}

fn string(column: &Column, row: u64) -> Result<Option<&[u8]>> {
    if column.is_null(row as usize) { Ok(None) } else { bytes(column, row).map(Some) }
}

fn broken() -> Error {
    Error::new(Kind::Schema, "the Arrow data of this column is broken: its buffers are shorter than its rows need")
}

/// Whether a column of this type can hold a null in a batch.
pub fn takes_nulls(kind: ColumnType) -> bool {
    kind.element().is_none()
}
