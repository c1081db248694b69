//! A population from a table of samples: `cache_id`, `sample_id`, and optionally `weight` and extra columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;

use super::population::Population;
use super::weights::Weights;
use crate::error::{Error, Kind, Result};
use crate::read::Cache;

impl Population {
    /// Rows from a table whose batches have `schema`. `cache_id` and `sample_id` are int64 without nulls and name samples
    /// of `caches`; duplicates and any order are allowed. `weight` is float64: null in all rows means no weights, in some
    /// of them an error where weights are needed. All other columns are extra ones. The error for a bad row names it.
    pub fn from_table(caches: Vec<Cache>, schema: &Schema, batches: &[RecordBatch]) -> Result<Self> {
        ["cache_id", "sample_id", "weight"].into_iter().try_for_each(|name| at_most_once(schema, name))?;
        let rows = samples(&caches, schema, batches)?;
        let mut weights = Weights::None;
        let mut columns = Vec::new();
        for (place, field) in schema.fields().iter().enumerate() {
            let name: Arc<str> = field.name().as_str().into();
            match &*name {
                "cache_id" | "sample_id" => {}
                "weight" => weights = weights_of(&joined(field, place, batches)?)?,
                _ => columns.push((name, joined(field, place, batches)?)),
            }
        }
        Self::new(caches, Some(rows), weights, columns)
    }
}

/// The rows as places in the caches laid end to end.
fn samples(caches: &[Cache], schema: &Schema, batches: &[RecordBatch]) -> Result<Vec<u64>> {
    let mut starts: HashMap<i64, (u64, &Cache)> = HashMap::new();
    let mut start = 0u64;
    for cache in caches.iter().filter(|cache| !cache.is_empty()) {
        starts.insert(cache.id(), (start, cache));
        start = start.saturating_add(cache.len());
    }
    let mut rows = Vec::new();
    let count = batches.iter().map(RecordBatch::num_rows).sum();
    rows.try_reserve_exact(count)
        .map_err(|_| Error::new(Kind::Memory, format!("a population of {count} rows does not fit in memory")))?;
    for place in ["cache_id", "sample_id"] {
        numbers(schema, place)?;
    }
    for batch in batches {
        let (ids, samples) = (identity(batch, "cache_id", rows.len())?, identity(batch, "sample_id", rows.len())?);
        for (id, sample) in ids.values().iter().zip(samples.values()) {
            let row = rows.len();
            let Some((start, cache)) = starts.get(id) else {
                let message =
                    format!("row {row} has cache_id {id}, which is none of the caches given ({})", known(caches));
                return Err(Error::new(Kind::Schema, message));
            };
            let Some(sample) = u64::try_from(*sample).ok().filter(|sample| *sample < cache.len()) else {
                let message =
                    format!("row {row} has sample_id {sample}, and {} has {} samples", cache.path(), cache.len());
                return Err(Error::new(Kind::Schema, message));
            };
            rows.push(start + sample);
        }
    }
    Ok(rows)
}

fn known(caches: &[Cache]) -> String {
    let known: Vec<String> = caches.iter().map(|cache| format!("{} is {}", cache.path(), cache.id())).collect();
    known.join(", ")
}

/// That it is clear which column is meant by a name; whether extra ones are there twice is checked with the others.
fn at_most_once(schema: &Schema, name: &str) -> Result<()> {
    if schema.fields().iter().filter(|field| field.name() == name).count() > 1 {
        let message = format!("the table has several columns called {name}; leave one of them");
        return Err(Error::new(Kind::Schema, message));
    }
    Ok(())
}

/// That the schema has the int64 column.
fn numbers(schema: &Schema, name: &str) -> Result<()> {
    let field = schema.field_with_name(name).map_err(|_| {
        Error::new(
            Kind::Schema,
            format!("the table has no column {name}; a table of samples has cache_id and sample_id"),
        )
    })?;
    match field.data_type() {
        DataType::Int64 => Ok(()),
        other => Err(Error::new(Kind::Schema, format!("column {name} is {other}; it must be int64"))),
    }
}

fn identity<'a>(batch: &'a RecordBatch, name: &str, before: usize) -> Result<&'a Int64Array> {
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
    let column =
        column.ok_or_else(|| Error::new(Kind::Schema, format!("a part of the table has no int64 column {name}")))?;
    match column.nulls().and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row))) {
        None => Ok(column),
        Some(row) => Err(Error::new(Kind::Schema, format!("row {} has no {name}: it is null", before + row))),
    }
}

fn weights_of(weights: &ArrayRef) -> Result<Weights> {
    match weights.data_type() {
        DataType::Float64 => {
            let weights = weights.as_primitive::<Float64Type>();
            Ok(match weights.null_count() {
                nulls if nulls == weights.len() => Weights::None,
                0 => Weights::Given(listed(weights.values().iter().copied())?),
                _ => Weights::Partial(listed(weights.iter())?),
            })
        }
        DataType::Null => Ok(Weights::None),
        other => Err(Error::new(Kind::Schema, format!("column weight is {other}; it must be float64"))),
    }
}

/// All of them, in memory that may be refused.
fn listed<T>(weights: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let (mut list, count) = (Vec::new(), weights.len());
    list.try_reserve_exact(count)
        .map_err(|_| Error::new(Kind::Memory, format!("the weights of {count} rows do not fit in memory")))?;
    list.extend(weights);
    Ok(list)
}

/// One array of a column's batches. It is looked for at its place first, where it is in all of them but odd ones.
fn joined(field: &Field, place: usize, batches: &[RecordBatch]) -> Result<ArrayRef> {
    let name = field.name();
    let lacking = || Error::new(Kind::Schema, format!("the parts of the table do not all have the column {name:?}"));
    let parts = batches.iter().map(|batch| match batch.schema_ref().fields().get(place) {
        Some(there) if there.name() == name => batch.columns().get(place),
        _ => batch.column_by_name(name),
    });
    let parts: Vec<&ArrayRef> = parts.collect::<Option<_>>().ok_or_else(lacking)?;
    match parts.as_slice() {
        [] => Ok(arrow_array::new_empty_array(field.data_type())),
        [one] => Ok(Arc::clone(one)),
        many => concat(&many.iter().map(|part| &***part).collect::<Vec<_>>())
            .map_err(|e| Error::new(Kind::Schema, format!("the parts of column {name:?} do not fit together: {e}"))),
    }
}
