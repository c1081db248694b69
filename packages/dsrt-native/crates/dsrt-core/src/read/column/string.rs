//! Text and binary: views followed one by one, the content packed.

use std::cell::Cell;

use super::super::gather::{Damage, Id, Pace, Planned, Rows, Threads};
use super::Column;
use crate::batch::{Layout, Span, Spans, fill_offsets};
use crate::error::{Error, Kind, Result};
use crate::format::metadata::{Extent, View, follow};
use crate::lists::List;

thread_local!(static VIEWS: Cell<Vec<Option<View>>> = const { Cell::new(Vec::new()) });

/// A batch of a column of strings.
pub(super) struct Strings<'a> {
    column: Column<'a>,
    rows: Rows<'a>,
    text: bool,
    /// None for null.
    views: List<Option<View>>,
    values: Span,
    offsets: Span,
    valid: Option<Span>,
}

impl<'a> Strings<'a> {
    pub(super) fn plan(column: Column<'a>, rows: Rows<'a>, text: bool, spans: &mut Spans) -> Result<Self> {
        let too_large = || Error::new(Kind::Memory, "the batch is too large for the memory; ask for fewer samples");
        let mut views = List::take(&VIEWS, rows.len())?;
        let mut total = 0u64;
        let mut pace = Pace::new(rows.look);
        for id in rows.ids {
            pace.record(0)?;
            let view = view(&column, *id).map_err(|error| column.place(error, *id))?;
            total = total.checked_add(view.map_or(0, |view| view.content.len)).ok_or_else(too_large)?;
            views.push(view);
        }
        let samples = rows.len() as u64;
        let values = spans.reserve(total)?;
        let offsets = spans.reserve(8 * (samples + 1))?;
        let valid = views.iter().any(Option::is_none).then(|| spans.reserve(samples)).transpose()?;
        Ok(Self { column, rows, text, views, values, offsets, valid })
    }

    /// Writes the content that a view leads to (R042).
    fn content(&self, view: &View, id: Id, out: &mut [u8]) -> Result<()> {
        let content = self.column.cell(id)?.bytes(view.content)?;
        let breach = |what: &str| Error::rule(Kind::Format, 42, format!("metadata.arrow: {what}"));
        // The copy is what is checked: somebody may write to a mapped file.
        out.copy_from_slice(&content);
        if view.prefix.is_some_and(|prefix| !out.starts_with(&prefix)) {
            return Err(breach("a string does not begin as its view says"));
        }
        if self.text && std::str::from_utf8(out).is_err() {
            return Err(breach("a string is not UTF-8"));
        }
        Ok(())
    }
}

fn view(column: &Column, id: Id) -> Result<Option<View>> {
    let cell = column.cell(id)?;
    if cell.is_null()? {
        return Ok(None);
    }
    let at = cell.layout.values.at + 16 * cell.row;
    let bytes = cell.bytes(Extent { at, len: 16 })?;
    follow(bytes.first_chunk().ok_or_else(lost)?, at, &cell.layout.data).map(Some)
}

impl Planned for Strings<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage, _: Threads) -> Result<Layout> {
        let mut rest = self.values.of_mut(buffer)?;
        let mut pace = Pace::new(self.rows.look);
        for (view, id) in self.views.iter().zip(self.rows.ids) {
            pace.record(view.map_or(0, |view| view.content.len as usize))?;
            if let Some(view) = view {
                // It fits: the total was reserved.
                let (out, after) = rest.split_at_mut_checked(view.content.len as usize).ok_or_else(lost)?;
                self.content(view, *id, out).map_err(|error| self.column.place(error, *id))?;
                rest = after;
            }
        }
        self.column.check_whole()?;
        let lengths = self.views.iter().map(|view| view.map_or(0, |view| view.content.len));
        fill_offsets(self.offsets.of_mut(buffer)?, lengths);
        if let Some(valid) = self.valid {
            for (to, view) in valid.of_mut(buffer)?.iter_mut().zip(self.views.iter()) {
                *to = view.is_some().into();
            }
        }
        Ok(Layout::Strings { text: self.text, values: self.values, offsets: self.offsets, valid: self.valid })
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a batch of strings does not fit its plan")
}
