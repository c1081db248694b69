//! Reads a cache as everybody does, and compares every value with what was meant to be in it.

use std::path::Path;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use dsrt_core::batch::{Batch, Heap, Layout, Span};
use dsrt_core::read::{Cache, Id, OnDamage, PayloadSource, Rows, Source, Threads, gather};

use super::dataset::{NAME, SAMPLES, Sample, fields, samples};

/// What is at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// The complete cache of that version.
    Version(u64),
}

/// What readers find below `root`; an error if it is anything else than a complete cache or nothing.
pub fn find(root: &Path) -> Result<Found, String> {
    let target = root.join(NAME);
    if std::fs::symlink_metadata(&target).is_err() {
        return Ok(Found::Absent);
    }
    let cache = Cache::open(&target, true).map_err(|error| error.to_string())?;
    let fingerprint = cache.manifest().fingerprint.clone().unwrap_or_default();
    let version = fingerprint.strip_prefix("version ").and_then(|version| version.parse().ok());
    let version = version.ok_or_else(|| format!("a cache with the fingerprint {fingerprint:?}"))?;
    compare(&cache, &samples(version)).map_err(|error| format!("version {version}: {error}"))?;
    Ok(Found::Version(version))
}

fn compare(cache: &Cache, expected: &[Sample]) -> Result<(), String> {
    let same = |name: &str, is_same: bool| is_same.then_some(()).ok_or_else(|| format!("{name} has other values"));
    same("the number of samples", cache.len() == SAMPLES)?;
    let batch = gathered(cache).map_err(|error| error.to_string())?;
    for (place, column) in batch.columns.iter().enumerate() {
        let expected: Vec<&[u8]> = expected
            .iter()
            .map(|sample| match place {
                0 => &*sample.image,
                1 => &*sample.feature,
                2 => &*sample.tokens,
                _ => sample.caption.as_bytes(),
            })
            .collect();
        same(&column.name, values(&batch, &column.layout) == expected)?;
    }
    let table = cache.table().map_err(|error| error.to_string())?;
    let batches = table.batches().map_err(|error| error.to_string())?;
    let [rows] = batches else { return Err(format!("{} batches of metadata", batches.len())) };
    let label = rows.column(0).as_primitive::<Int32Type>();
    same("label", label.iter().eq(expected.iter().map(|sample| Some(sample.label))))?;
    let species = rows.column(1).as_string_view();
    same("species", species.iter().eq(expected.iter().map(|sample| sample.species.as_deref())))?;
    let weight = rows.column(2).as_primitive::<Float64Type>();
    same("weight", weight.null_count() == 0 && weight.values().iter().eq(expected.iter().map(|sample| &sample.weight)))
}

fn gathered(cache: &Cache) -> dsrt_core::Result<Batch> {
    let places: Vec<u64> = (0..cache.len()).collect();
    let ids: Vec<_> = places.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
    let valid = vec![true; places.len()];
    let rows = Rows { ids: &ids, rows: &places, positions: &places, valid: &valid, seed: 0, look: &|| Ok(()) };
    let caches: Arc<[Cache]> = [cache.clone()].into();
    let columns = fields().into_iter().map(|(field, _)| {
        let source: Arc<dyn Source> = Arc::new(PayloadSource::new(caches.clone(), &field.name)?);
        Ok((field.name, source))
    });
    gather(&columns.collect::<dsrt_core::Result<Vec<_>>>()?, &rows, &Heap, OnDamage::Raise, Threads::Given(1))
}

fn values<'a>(batch: &'a Batch, layout: &Layout) -> Vec<&'a [u8]> {
    let buffer = batch.buffer.bytes();
    let split = |values: &Span, offsets: &Span, size: usize| {
        let values = values.of(buffer).unwrap();
        let offsets: Vec<_> = offsets
            .of(buffer)
            .unwrap()
            .as_chunks::<8>()
            .0
            .iter()
            .map(|o| i64::from_ne_bytes(*o) as usize * size)
            .collect();
        offsets.windows(2).map(|pair| &values[pair[0]..pair[1]]).collect()
    };
    match layout {
        Layout::Dense { values, .. } => {
            let values = values.of(buffer).unwrap();
            values.chunks(values.len() / batch.len).collect()
        }
        Layout::Ragged { dtype, values, offsets, .. } => split(values, offsets, dtype.size()),
        Layout::Strings { values, offsets, .. } => split(values, offsets, 1),
    }
}
