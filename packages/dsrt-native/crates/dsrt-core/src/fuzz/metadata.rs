//! metadata.arrow.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;

use super::breach;
use super::forge::{directory, write_metadata};
use super::given::Given;
use super::read::{column, records};
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind};
use crate::format::checksum::digest;
use crate::format::manifest::CHUNK;
use crate::format::metadata::{BATCH, Chunks};
use crate::format::shard::MAX_SAMPLES;
use crate::read::{Cache, Io, MetadataSource, OnDamage, Table};

/// The most rows that are gathered.
const ROWS: u64 = 64;

/// The metadata of a cache: the number of samples, 4 bytes, modulo 2^20 + 1; the file.
pub fn metadata(given: &[u8]) -> bool {
    let mut given = Given(given);
    let samples = u64::from(u32::from_le_bytes(given.array())) % (MAX_SAMPLES + 1);
    let file = given.0;
    if file.is_empty() {
        return false;
    }
    thread_local!(static ROOT: tempfile::TempDir = directory());
    ROOT.with(|root| {
        write_metadata(root.path(), samples, file);
        let open = |io| Cache::open_by(root.path(), true, io).unwrap();
        let (mapped, read) = (open(Io::Mmap), open(Io::Pread));
        let found = whole(&mapped);
        let same = |other: &std::result::Result<Vec<RecordBatch>, u16>| match (&found, other) {
            (Ok(one), Ok(other)) => one.iter().zip(other).all(|(one, other)| bits(one) == bits(other)),
            (Err(one), Err(other)) => one == other,
            _ => false,
        };
        assert!(same(&whole(&read)), "mapped and read differ");
        assert_eq!(validated(samples, file), found.as_ref().err().copied(), "verification and readers differ");
        // A gather looks at less, and may find a value where the whole is refused; where it is not, it finds the same.
        for cache in [&mapped, &read] {
            check_rows(cache, samples, found.as_deref().ok());
        }
    });
    true
}

fn whole(cache: &Cache) -> std::result::Result<Vec<RecordBatch>, u16> {
    let table = cache.table().map_err(|error| breach(&error))?;
    let batches = table.batches().map_err(|error| breach(&error))?;
    let mut rows = 0;
    for batch in batches {
        assert_eq!(batch.num_rows() as u64, (table.len() - rows).min(BATCH));
        rows += batch.num_rows() as u64;
        for (column, (name, kind)) in batch.columns().iter().zip(table.columns()) {
            assert_eq!(*column.data_type(), kind.arrow(), "{name}");
            column.to_data().validate_full().unwrap();
        }
    }
    assert_eq!(rows, table.len());
    Ok(batches.to_vec())
}

/// The rule that verification says is broken first.
fn validated(samples: u64, file: &[u8]) -> Option<u16> {
    let digests: Vec<_> = file.chunks(CHUNK as usize).map(digest).collect();
    let chunks = Chunks::proven(Bytes::copy_from_slice(file), &digests);
    let mut weights = Vec::new();
    let table = Table::new(&"".into(), samples, chunks, &BTreeSet::from(["x"])).and_then(|table| {
        table.validate(&mut || Ok(()))?;
        table.weight_breaches(&mut |error: Error| {
            weights.push(breach(&error));
            Ok(())
        })
    });
    table.err().map(|error| breach(&error)).or_else(|| weights.first().copied())
}

fn check_rows(cache: &Cache, samples: u64, batches: Option<&[RecordBatch]>) {
    let Ok(table) = cache.table() else { return };
    for (number, (name, kind)) in table.columns().iter().enumerate() {
        for row in (0..samples.min(ROWS)).chain(samples.checked_sub(1)) {
            let expected = batches.map(|batches| {
                let batch = &batches[(row / BATCH) as usize];
                value(batch.column(number).as_ref(), *kind, (row % BATCH) as usize)
            });
            if let Some(expected) = &expected {
                assert_eq!(table.is_null(number, row).unwrap(), expected.is_none());
            } else if let Err(error) = table.is_null(number, row) {
                breach(&error);
            }
            let source = MetadataSource::new([cache.clone()].into(), name).unwrap();
            match (column(Arc::new(source), &[row], OnDamage::Raise), expected) {
                (Ok(found), Some(expected)) => {
                    let bytes = records(&found).remove(0).1;
                    assert_eq!(bytes, delivered(*kind, expected.unwrap_or_default()), "column {name:?}, row {row}");
                }
                (Ok(_), None) => {}
                // Null has no place among numbers.
                (Err(error), Some(None)) => assert_eq!(error.kind(), Kind::Value, "{error}"),
                (Err(error), Some(Some(_))) => panic!("row {row} of a sound table: {error}"),
                (Err(error), None) => assert!(error.kind() == Kind::Value || breach(&error) > 0, "{error}"),
            }
        }
    }
}

/// Those of a stored value in a batch of samples, where a date has twice as many.
fn delivered(kind: ColumnType, stored: Vec<u8>) -> Vec<u8> {
    match stored.first_chunk() {
        Some(days) if kind == ColumnType::Date => i64::from(i32::from_le_bytes(*days)).to_le_bytes().into(),
        _ => stored,
    }
}

/// The bytes of a value as a table holds it; none for null.
fn value(array: &dyn Array, kind: ColumnType, row: usize) -> Option<Vec<u8>> {
    if array.is_null(row) {
        return None;
    }
    Some(match kind {
        ColumnType::String => array.as_string_view().value(row).as_bytes().to_vec(),
        ColumnType::Binary => array.as_binary_view().value(row).to_vec(),
        ColumnType::Number(DType::Bool) => vec![array.as_boolean().value(row).into()],
        _ => {
            let width = kind.stored().unwrap().size();
            array.to_data().buffers()[0].as_slice()[row * width..][..width].to_vec()
        }
    })
}

/// All values of a batch; NaN is itself.
fn bits(batch: &RecordBatch) -> Vec<Vec<Option<Vec<u8>>>> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields()).map(|(array, field)| {
        let kind = ColumnType::all().find(|kind| kind.arrow() == *field.data_type()).unwrap();
        (0..array.len()).map(|row| value(array.as_ref(), kind, row)).collect()
    });
    columns.collect()
}
