//! Rows by columns: what lies in the spill is nearly what `metadata.arrow` will have, so that a column can be brought
//! over without a look at the others.
//!
//! A piece is a head (rows u32, then for each column nulls u32 and bytes u64) and its columns. A column is one byte a
//! row that says whether there is a value, left out if there are no nulls; then the values, all of one width; then the
//! bytes of the strings that do not fit into a view.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};

use super::PIECE;
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::write::value::{Value, fixed_bytes};

/// Bytes of a view: a length, and either the string or its first four bytes and the place of all of them, which is
/// zero in the spill.
pub(super) const VIEW: usize = 16;

/// The longest string that lies in its view.
pub(super) const INLINE: usize = 12;

/// Bytes of a value in the spill. A bool has one.
pub(in crate::write) fn width(kind: ColumnType) -> usize {
    kind.stored().map_or(VIEW, DType::size)
}

/// Bytes of the head of a piece.
pub(super) fn head_bytes(columns: usize) -> usize {
    4 + 12 * columns
}

/// Rows that gather.
pub(super) struct Piece {
    columns: Vec<Column>,
    rows: u32,
}

struct Column {
    kind: ColumnType,
    valid: Vec<u8>,
    nulls: u32,
    values: Vec<u8>,
    data: Vec<u8>,
}

impl Piece {
    /// Without rows.
    pub(super) fn new(kinds: impl Iterator<Item = ColumnType>) -> Self {
        let column = |kind| Column { kind, valid: Vec::new(), nulls: 0, values: Vec::new(), data: Vec::new() };
        Self { columns: kinds.map(column).collect(), rows: 0 }
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Bytes of its columns.
    pub(super) fn bytes(&self) -> usize {
        self.columns.iter().map(Column::bytes).sum()
    }

    /// Appends a row that was checked.
    pub(super) fn push(&mut self, row: &[Value<'_>]) -> Result<()> {
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(*value)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Appends rows of the same columns that were validated, in which nothing but zero lies under a null.
    pub(super) fn extend(&mut self, rows: &RecordBatch) -> Result<()> {
        for (column, array) in self.columns.iter_mut().zip(rows.columns()) {
            column.extend(array)?;
        }
        self.rows += rows.num_rows() as u32;
        Ok(())
    }

    /// Appends it to `out`, and begins anew.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.rows.to_le_bytes());
        for column in &self.columns {
            out.extend_from_slice(&column.nulls.to_le_bytes());
            out.extend_from_slice(&(column.bytes() as u64).to_le_bytes());
        }
        for column in &mut self.columns {
            column.write(out);
        }
        self.rows = 0;
    }
}

impl Column {
    fn bytes(&self) -> usize {
        self.valid().len() + self.values.len() + self.data.len()
    }

    fn valid(&self) -> &[u8] {
        if self.nulls > 0 { &self.valid } else { &[] }
    }

    fn push(&mut self, value: Value<'_>) -> Result<()> {
        let is_valid = value != Value::Null;
        self.valid.push(is_valid.into());
        self.nulls += u32::from(!is_valid);
        match (self.kind, value) {
            (ColumnType::String | ColumnType::Binary, Value::Null) => self.string(&[]),
            (ColumnType::String, Value::Str(text)) => self.string(text.as_bytes()),
            (ColumnType::Binary, Value::Bytes(bytes)) => self.string(bytes),
            (_, Value::Str(_) | Value::Bytes(_)) | (ColumnType::String | ColumnType::Binary, _) => {
                return Err(Error::new(Kind::Internal, "a metadata value was not checked"));
            }
            (kind, value) => {
                let (bytes, width) = fixed_bytes(kind, value);
                self.values.extend_from_slice(bytes.get(..width).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn string(&mut self, string: &[u8]) {
        let mut view = [0; VIEW];
        let (length, rest) = view.split_at_mut(4);
        length.copy_from_slice(&(string.len() as u32).to_le_bytes());
        let shown = if string.len() <= INLINE { string } else { string.get(..4).unwrap_or_default() };
        rest.iter_mut().zip(shown).for_each(|(place, byte)| *place = *byte);
        self.values.extend_from_slice(&view);
        if string.len() > INLINE {
            self.data.extend_from_slice(string);
        }
    }

    fn extend(&mut self, array: &ArrayRef) -> Result<()> {
        match array.nulls() {
            Some(nulls) => self.valid.extend(nulls.iter().map(u8::from)),
            None => self.valid.resize(self.valid.len() + array.len(), 1),
        }
        self.nulls += array.null_count() as u32;
        match self.kind {
            ColumnType::String => array.as_string_view().iter().for_each(|v| self.string(v.unwrap_or("").as_bytes())),
            ColumnType::Binary => array.as_binary_view().iter().for_each(|v| self.string(v.unwrap_or_default())),
            ColumnType::Number(DType::Bool) => {
                self.values.extend(array.as_boolean().iter().map(|v| u8::from(v == Some(true))));
            }
            kind => {
                let (data, width) = (array.to_data(), width(kind));
                let range = data.offset() * width..(data.offset() + data.len()) * width;
                let bytes = data.buffers().first().and_then(|buffer| buffer.as_slice().get(range));
                let short = || Error::new(Kind::Internal, "a column is shorter than its batch");
                self.values.extend_from_slice(bytes.ok_or_else(short)?);
            }
        }
        Ok(())
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.valid());
        out.extend_from_slice(&self.values);
        out.extend_from_slice(&self.data);
        self.valid.clear();
        self.values.clear();
        self.data.clear();
        self.data.shrink_to(2 * PIECE);
        self.nulls = 0;
    }
}

/// How many of the first rows have strings of `most` bytes at most; one at least.
pub(super) fn fitting(rows: &RecordBatch, most: usize) -> usize {
    let mut bytes = 0;
    let strings: Vec<_> = rows.columns().iter().filter_map(views).collect();
    (0..rows.num_rows())
        .take_while(|row| {
            // The length of a string is the first word of its view.
            bytes +=
                strings.iter().filter_map(|views| views.get(*row)).map(|view| *view as u32 as usize).sum::<usize>();
            *row == 0 || bytes <= most
        })
        .count()
}

fn views(array: &ArrayRef) -> Option<&[u128]> {
    let strings = array.as_string_view_opt().map(|strings| &**strings.views());
    strings.or_else(|| array.as_binary_view_opt().map(|binaries| &**binaries.views()))
}
