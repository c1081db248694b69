//! Stored metadata columns of several caches together.

use std::sync::Arc;

use super::extra::takes_nulls;
use super::population::Population;
use super::selection::Selection;
use super::weights::{partial_message, paths};
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::format::names::is_column_name;
use crate::read::{Cache, MetadataSource, Source, WEIGHT};

/// Whether a cache stores a column of that name.
pub(super) fn has_column(cache: &Cache, name: &str) -> Result<bool> {
    Ok(cache.table()?.column(name).is_some())
}

/// Whether a column of that name is one of [`columns`].
pub(super) fn have_column(caches: &[Cache], name: &str) -> Result<bool> {
    for cache in caches {
        if name == WEIGHT || !has_column(cache, name)? {
            return Ok(false);
        }
    }
    Ok(!caches.is_empty())
}

/// The columns that every cache stores, in the order of the first one, without the weights.
pub(super) fn columns(caches: &[Cache]) -> Result<Vec<(Arc<str>, ColumnType)>> {
    let Some((first, others)) = caches.split_first() else { return Ok(Vec::new()) };
    let mut columns = first.table()?.columns().to_vec();
    columns.retain(|(name, _)| **name != *WEIGHT);
    for cache in others {
        let table = cache.table()?;
        columns.retain(|(name, _)| table.column(name).is_some());
    }
    Ok(columns)
}

/// The column of that name, gathered, and its numbers delivered as `dtype`, if it is given.
pub(super) fn source(caches: &Arc<[Cache]>, name: &str, dtype: Option<DType>) -> Result<Arc<dyn Source>> {
    let source = MetadataSource::new(caches.clone(), name)?;
    Ok(Arc::new(match dtype {
        Some(dtype) => source.delivered_as(dtype)?,
        None => source,
    }))
}

/// The stored weight of each row; None if no cache that a row is of has weights. An error if some of these have and some
/// have not.
pub(super) fn weights(caches: &[Cache], rows: &Selection) -> Result<Option<Arc<Vec<f64>>>> {
    let mut counts = vec![0u64; caches.len()];
    rows.for_each_run(|first, count| {
        if let Some(rows) = counts.get_mut(first.cache as usize) {
            *rows += count;
        }
    });
    let mut stored: Vec<Option<Arc<Vec<f64>>>> = Vec::with_capacity(caches.len());
    for (cache, count) in caches.iter().zip(&counts) {
        stored.push(if *count > 0 { cache.table()?.weights()?.cloned() } else { None });
    }
    let lacking: Vec<bool> = counts.iter().zip(&stored).map(|(count, stored)| *count > 0 && stored.is_none()).collect();
    let without = counts.iter().zip(&lacking).filter(|(_, lacks)| **lacks).map(|(count, _)| count).sum();
    if without == rows.len() {
        return Ok(None);
    }
    if without > 0 {
        return Err(Error::new(Kind::Schema, partial_message(without, &paths(caches, &lacking))));
    }
    if let ([Some(all)], None) = (stored.as_slice(), rows.rows()) {
        return Ok(Some(all.clone()));
    }
    let mut weights = Vec::new();
    usize::try_from(rows.len()).ok().and_then(|rows| weights.try_reserve_exact(rows).ok()).ok_or_else(|| {
        let paths = paths(caches, &vec![true; caches.len()]);
        Error::new(Kind::Memory, format!("the weights of {} rows of {paths} do not fit in memory", rows.len()))
    })?;
    rows.for_each_run(|first, count| {
        let stored = stored.get(first.cache as usize).and_then(Option::as_deref).map_or(&[][..], Vec::as_slice);
        weights.extend(stored.iter().skip(first.sample as usize).take(count as usize));
    });
    Ok(Some(Arc::new(weights)))
}

/// How many rows of a population are null in a stored column that becomes an array, and the first of them.
pub(super) fn nulls(population: &Population, name: &str) -> Result<Option<(u64, u64)>> {
    let mut found: Option<(u64, u64)> = None;
    let mut tables = Vec::with_capacity(population.caches().len());
    let mut any = 0u64;
    for cache in population.caches().iter() {
        let table = cache.table()?;
        let Some((column, kind)) = table.column(name) else { return Ok(None) };
        if takes_nulls(kind) {
            return Ok(None);
        }
        any += table.null_count(column)?;
        tables.push((table, column));
    }
    if any == 0 {
        return Ok(None);
    }
    let mut row = 0u64;
    let mut failed = Ok(());
    population.selection().for_each_run(|first, count| {
        let Some((table, column)) = tables.get(first.cache as usize) else { return };
        for sample in first.sample..first.sample + count {
            if failed.is_err() {
                return;
            }
            match table.is_null(*column, sample) {
                Ok(true) => found = Some(found.map_or((1, row), |(count, first)| (count + 1, first))),
                Ok(false) => {}
                Err(error) => failed = Err(error),
            }
            row += 1;
        }
    });
    failed.map(|()| found)
}

impl Population {
    /// Whether the stored or extra column of that name is null at `row`. A name that no column may have is never null, and
    /// metadata is not read for it.
    pub fn is_null(&self, row: u64, name: &str) -> Result<bool> {
        let id = self.id(row)?;
        if let Some(column) = self.extra_column(name) {
            return Ok(column.is_null(row as usize));
        }
        let cache = self.caches().get(id.cache as usize).filter(|_| is_column_name(name));
        let Some(cache) = cache else { return Ok(false) };
        let table = cache.table()?;
        table.column(name).map_or(Ok(false), |(column, _)| table.is_null(column, id.sample))
    }
}
