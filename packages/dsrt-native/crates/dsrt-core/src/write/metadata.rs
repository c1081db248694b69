//! The metadata table of a cache: which columns and rows it may have, and how it is made when the cache is published.

use std::path::Path;
use std::sync::Arc;

use super::arrow::ArrowFile;
use super::column::Layout;
use super::disk::Disk;
use super::file::OutFile;
use super::spill::{Pause, Reader, SpillMark, changed, proven};
use super::value::{Value, value_problem};
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::format::manifest::MetadataEntry;
use crate::format::metadata::arrow_schema;
use crate::format::names::{WEIGHT, is_column_name};

/// Columns of a cache by name and type, in the writer's order.
pub(super) type Columns = [(Arc<str>, ColumnType)];

/// Makes the table at `path` of the rows in a spill up to the last mark, and makes it durable. `pause` is called now and
/// then; its error ends it.
///
/// Each buffer of each batch is read from the spill by itself and written as it is read, so that memory depends on
/// neither rows nor columns.
pub(super) fn write_table(
    disk: &Disk,
    path: &Path,
    columns: &Columns,
    spill: &Path,
    marks: &[SpillMark],
    pause: Pause<'_>,
) -> Result<MetadataEntry> {
    let mut file = ArrowFile::create(OutFile::create(disk, path.to_path_buf())?, arrow_schema(columns))?;
    let Some(last) = marks.last() else { return file.finish() };
    if proven(spill, marks, pause)? < marks.len() {
        return Err(changed(spill));
    }
    let kinds = || columns.iter().map(|(_, kind)| *kind);
    let mut reader = Reader::open(spill, kinds(), last.bytes)?;
    while let Some(batch) = reader.next(pause)? {
        let layouts = kinds().enumerate().map(|(column, kind)| Layout::of(&batch, column, kind, pause));
        let layouts = layouts.collect::<Result<Vec<_>>>()?;
        file.begin_batch(batch.rows, &layouts)?;
        for ((column, kind), layout) in kinds().enumerate().zip(&layouts) {
            layout.write(&batch, column, kind, &mut file, pause)?;
        }
    }
    file.finish()
}

/// Refuses columns that a cache cannot have beside fields of those names.
pub(super) fn check_columns<'a>(columns: &Columns, fields: impl Iterator<Item = &'a str> + Clone) -> Result<()> {
    for (place, (name, kind)) in columns.iter().enumerate() {
        let problem = if !is_column_name(name) {
            "is no name for a column: 1 to 255 bytes, not cache_id or sample_id, no leading _, no U+0000"
        } else if fields.clone().any(|field| field == &**name) {
            "is a field's name, too; a sample has one value by each name"
        } else if columns.iter().take(place).any(|(other, _)| other == name) {
            "is there twice"
        } else if &**name == WEIGHT && *kind != ColumnType::Number(DType::Float64) {
            "holds the stored weights, and those are float64"
        } else {
            continue;
        };
        return Err(Error::new(Kind::Schema, format!("metadata column {name:?} {problem}")));
    }
    Ok(())
}

/// Refuses a row that does not fit its columns.
pub(super) fn check_row(kinds: &Columns, row: &[Value<'_>]) -> Result<()> {
    if kinds.len() != row.len() {
        return Err(Error::new(Kind::Internal, "a row has another number of values than there are columns"));
    }
    kinds.iter().zip(row).try_for_each(|((name, kind), value)| check_value(name, *kind, *value))
}

/// Refuses a value that does not fit its column.
pub(super) fn check_value(name: &Arc<str>, kind: ColumnType, value: Value<'_>) -> Result<()> {
    match value_problem(kind, value).or_else(|| weight_problem(name, value)) {
        Some(problem) => Err(Error::new(Kind::Schema, problem).in_field(name)),
        None => Ok(()),
    }
}

fn weight_problem(name: &str, value: Value<'_>) -> Option<String> {
    let shown = match (name, value) {
        (WEIGHT, Value::Null) => "None".to_string(),
        (WEIGHT, Value::Float(v)) if !v.is_finite() || v < 0.0 => format!("{v:?}"),
        (WEIGHT, Value::Int(v)) if v < 0 => v.to_string(),
        _ => return None,
    };
    Some(format!("a weight is a finite number that is not negative, and this is {shown}"))
}

#[cfg(test)]
pub(super) mod oracle;
#[cfg(test)]
mod tests;
