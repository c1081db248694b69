//! Populations from tables of samples.

use std::sync::Arc;

use crate::support::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use dsrt_core::batch::Heap;
use dsrt_core::error::{Error, Kind, Result};
use dsrt_core::read::{Cache, OnDamage};
use dsrt_core::rows::Population;

fn caches() -> (Root, Vec<Cache>) {
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 3, &[]), root.cache("b", 100, 4, &[])];
    (root, caches)
}

type Columns = Vec<(&'static str, ArrayRef)>;

fn ints(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

fn table(caches: &[Cache], parts: Vec<Columns>) -> Result<Population> {
    let fields: Vec<Field> =
        parts[0].iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let batches: Vec<RecordBatch> = parts
        .into_iter()
        .map(|columns| RecordBatch::try_new(schema.clone(), columns.into_iter().map(|(_, a)| a).collect()).unwrap())
        .collect();
    Population::from_table(caches.to_vec(), &schema, &batches)
}

/// One part whose rows are (cache, sample).
fn of(caches: &[Cache], rows: &[(usize, i64)], more: Columns) -> Columns {
    let mut columns = vec![
        ("cache_id", ints(rows.iter().map(|(cache, _)| caches[*cache].id()).collect())),
        ("sample_id", ints(rows.iter().map(|(_, sample)| *sample).collect())),
    ];
    columns.extend(more);
    columns
}

fn error(result: Result<Population>) -> Error {
    result.err().unwrap()
}

#[test]
fn identities_become_rows_in_the_order_of_the_table() {
    let (_root, caches) = caches();
    let parts =
        vec![of(&caches, &[(1, 3), (0, 0), (0, 0)], vec![]), of(&caches, &[], vec![]), of(&caches, &[(1, 0)], vec![])];
    let population = table(&caches, parts).unwrap();
    let batch =
        population.gather(&population.project(None, false).unwrap(), &[0, 1, 2, 3], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(numbers(&batch, "x"), [103, 0, 0, 100]);
    assert!(population.weights().unwrap().is_none());
}

#[test]
fn a_table_of_all_samples_in_order_is_all_rows() {
    let (_root, caches) = caches();
    let rows = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)];
    assert_eq!(table(&caches, vec![of(&caches, &rows, vec![])]).unwrap().rows(), None);
}

#[test]
fn other_columns_are_delivered_with_the_samples() {
    let (_root, caches) = caches();
    let part = |rows: &[(usize, i64)], split: &[&str]| {
        of(&caches, rows, vec![("split", Arc::new(StringViewArray::from(split.to_vec())) as ArrayRef)])
    };
    let population =
        table(&caches, vec![part(&[(0, 1), (1, 1)], &["train", "a rather long word"]), part(&[(0, 0)], &["test"])]);
    let population = population.unwrap();
    let batch = population.gather(&population.project(None, false).unwrap(), &[2, 1], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(names(&batch), ["x", "s", "split"]);
    assert_eq!(strings(&batch, "split"), [Some(b"test".to_vec()), Some(b"a rather long word".to_vec())]);
}

#[test]
fn weights_are_all_there_or_all_null() {
    let (_root, caches) = caches();
    let with = |weights: Vec<Option<f64>>| {
        let column = Arc::new(Float64Array::from(weights)) as ArrayRef;
        table(&caches, vec![of(&caches, &[(0, 0), (1, 0)], vec![("weight", column)])])
    };
    assert_eq!(with(vec![Some(1.0), Some(0.0)]).unwrap().weights().unwrap().unwrap().to_vec(), [1.0, 0.0]);
    assert!(with(vec![None, None]).unwrap().weights().unwrap().is_none());
    let partial = with(vec![Some(1.0), None]).unwrap();
    let message = partial.weights().unwrap_err().to_string();
    assert!(message.contains("/b") && !message.contains("/a"), "{message}");
    assert!(error(with(vec![Some(1.0), Some(f64::NAN)])).to_string().contains("row 1"));
    let wrong = of(&caches, &[(0, 0)], vec![("weight", ints(vec![1]))]);
    assert!(error(table(&caches, vec![wrong])).to_string().contains("float64"));
}

#[test]
fn identities_that_are_not_there_are_named_by_row() {
    let (_root, caches) = caches();
    let unknown = vec![("cache_id", ints(vec![caches[0].id(), 42])), ("sample_id", ints(vec![0, 0]))];
    let message = error(table(&caches, vec![unknown])).to_string();
    assert!(message.contains("row 1") && message.contains("42") && message.contains("/a"), "{message}");
    for sample in [3, -1] {
        let failed = error(table(&caches, vec![of(&caches, &[(0, 0)], vec![]), of(&caches, &[(0, sample)], vec![])]));
        assert_eq!(failed.kind(), Kind::Schema);
        assert!(failed.to_string().contains("row 1") && failed.to_string().contains("3 samples"), "{failed}");
    }
    let null = vec![
        ("cache_id", ints(vec![caches[0].id(); 2])),
        ("sample_id", Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef),
    ];
    let message = error(table(&caches, vec![null])).to_string();
    assert!(message.contains("row 1") && message.contains("sample_id"), "{message}");
}

#[test]
fn a_table_without_identities_is_refused() {
    let (_root, caches) = caches();
    let missing = error(table(&caches, vec![vec![("cache_id", ints(vec![]))]]));
    assert!(missing.to_string().contains("sample_id"), "{missing}");
    let wrong = vec![("cache_id", ints(vec![])), ("sample_id", Arc::new(Int32Array::from(vec![1; 0])) as ArrayRef)];
    assert!(error(table(&caches, vec![wrong])).to_string().contains("int64"));
}

#[test]
fn a_table_without_rows_keeps_its_columns() {
    let (_root, caches) = caches();
    let fields = [
        ("cache_id", DataType::Int64),
        ("sample_id", DataType::Int64),
        ("k", DataType::Int8),
        ("weight", DataType::Float64),
    ];
    let schema = Schema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec());
    let population = Population::from_table(caches, &schema, &[]).unwrap();
    assert_eq!(population.len(), 0);
    assert_eq!(population.extra_columns()[0].0, "k".into());
    assert!(population.weights().unwrap().is_none());
}
