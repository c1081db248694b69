//! Numbers, truth values and times: one array, in which null has no place.

use super::super::gather::{Damage, Id, Pace, Planned, Rows, Threads};
use super::Column;
use crate::batch::{Layout, Span, Spans};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result};
use crate::format::metadata::Extent;
use crate::read::widen::Numeric;

/// A batch of a column of fixed width.
pub(super) struct Numbers<'a> {
    column: Column<'a>,
    rows: Rows<'a>,
    numeric: Numeric,
    values: Span,
}

impl<'a> Numbers<'a> {
    pub(super) fn plan(column: Column<'a>, rows: Rows<'a>, spans: &mut Spans) -> Result<Self> {
        let numeric = column.source.numeric.ok_or_else(lost)?;
        let values = spans.reserve((rows.len() as u64).saturating_mul(numeric.element.size() as u64))?;
        Ok(Self { column, rows, numeric, values })
    }

    /// Writes the value, or says that it is null.
    fn value(&self, id: Id, out: &mut [u8]) -> Result<bool> {
        let cell = self.column.cell(id)?;
        if cell.is_null()? {
            return Ok(false);
        }
        if let (DType::Bool, [byte]) = (self.numeric.widening.stored(), &mut *out) {
            *byte = cell.bit(cell.layout.values)?.into();
            return Ok(true);
        }
        let width = out.len() as u64;
        out.copy_from_slice(&cell.bytes(Extent { at: cell.layout.values.at + cell.row * width, len: width })?);
        Ok(true)
    }

    fn refuse_nulls(&self, nulls: u64, first: usize) -> Error {
        let row = self.rows.rows.get(first).copied().unwrap_or_default();
        let message = format!(
            "{nulls} of the {} values asked for are null, the first in row {row}, and an array of numbers has no null: \
             leave the column out (fields=), filter those rows out, or add a filled copy under another name (fill_null)",
            self.rows.len()
        );
        let error = Error::new(Kind::Value, message);
        match self.rows.ids.get(first) {
            Some(id) => self.column.place(error, *id),
            None => error,
        }
    }
}

impl Planned for Numbers<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage, _: Threads) -> Result<Layout> {
        let mut nulls = 0;
        let mut first = 0;
        let Numeric { element, widening } = self.numeric;
        let values = self.values.of_mut(buffer)?;
        let outs = widening.stored_part(values).chunks_exact_mut(widening.stored().size());
        let mut pace = Pace::new(self.rows.look);
        for (place, (id, out)) in self.rows.ids.iter().zip(outs).enumerate() {
            pace.record(out.len())?;
            if !self.value(*id, out).map_err(|error| self.column.place(error, *id))? {
                if nulls == 0 {
                    first = place;
                }
                nulls += 1;
            }
        }
        self.column.check_whole()?;
        if nulls > 0 {
            return Err(self.refuse_nulls(nulls, first));
        }
        widening.widen(values);
        Ok(Layout::Dense { element, shape: [self.rows.len() as u64].into(), values: self.values })
    }
}

fn lost() -> Error {
    Error::new(Kind::Internal, "a column of numbers is none")
}
