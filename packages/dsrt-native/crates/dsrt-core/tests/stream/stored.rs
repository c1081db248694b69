//! Stored metadata columns, and stored weights.

use std::sync::Arc;

use crate::support::*;
use dsrt_core::batch::Heap;
use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::error::Kind;
use dsrt_core::load::{Loader, Options};
use dsrt_core::order::Order;
use dsrt_core::read::{Cache, OnDamage};
use dsrt_core::rows::{Population, Wanted, Weights};
use dsrt_core::write::Value;

const LABEL: Metadata = ("label", ColumnType::Number(DType::Int32), |sample| Value::Int(i128::from(sample * 10)));
const WORD: Metadata =
    ("word", ColumnType::String, |sample| if sample % 2 == 0 { Value::Str("even") } else { Value::Null });
const HOLES: Metadata =
    ("holes", ColumnType::Number(DType::Int8), |sample| if sample % 3 == 1 { Value::Null } else { Value::Int(1) });
const WEIGHT: Metadata = ("weight", ColumnType::Number(DType::Float64), |sample| Value::Float(sample as f64));

fn over(caches: Vec<Cache>, rows: Option<Vec<u64>>) -> Population {
    Population::new(caches, rows, Weights::Stored, vec![]).unwrap()
}

#[test]
fn stored_columns_come_with_the_samples_and_weights_do_not() {
    let root = Root::new();
    let all = over(vec![root.cache("a", 0, 4, &[LABEL, WEIGHT, WORD])], None);
    let names_of: Vec<_> = all.columns().unwrap().into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names_of, ["label", "word"]);
    let batch = all.gather(&all.project(None, false).unwrap(), &[3, 0], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(names(&batch), ["x", "s", "label", "word"]);
    assert_eq!(numbers(&batch, "label"), [30, 0]);
    assert_eq!(strings(&batch, "word"), [None, Some(b"even".to_vec())]);
}

#[test]
fn only_columns_that_every_cache_has_come_by_default() {
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 3, &[WORD, LABEL]), root.cache("b", 100, 3, &[LABEL])];
    let all = over(caches, None);
    let batch = all.gather(&all.project(None, false).unwrap(), &[2, 4], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(names(&batch), ["x", "s", "label"]);
    assert_eq!(numbers(&batch, "label"), [20, 10]);
    let error = all.project(Some(&["word".into()]), false).err().unwrap();
    assert_eq!(error.kind(), Kind::Schema);
}

#[test]
fn an_extra_column_cannot_take_a_stored_column_s_name() {
    let root = Root::new();
    let cache = root.cache("a", 0, 1, &[LABEL]);
    let columns = vec![("label".into(), Arc::new(arrow_array::Int8Array::from(vec![1])) as arrow_array::ArrayRef)];
    let error = Population::new(vec![cache], None, Weights::Stored, columns).err().unwrap();
    assert!(error.to_string().contains("a stored column of") && error.to_string().contains("/a"), "{error}");
}

#[test]
fn a_loader_refuses_numbers_that_are_null_among_its_rows() {
    let root = Root::new();
    let cache = root.cache("a", 0, 9, &[HOLES, WORD]);
    let refusal = |rows, fields: Option<Vec<Wanted>>| {
        let population = over(vec![cache.clone()], rows);
        Loader::new(population, Options { fields, ..options(2) }, Arc::new(Heap)).err()
    };
    let error = refusal(Some(vec![0, 2, 7, 4, 7]), None).unwrap();
    assert_eq!(error.kind(), Kind::Value);
    let message = error.to_string();
    assert!(
        message.contains("field holes: 3 of") && message.contains("row 2") && message.contains("fill_null"),
        "{message}"
    );
    assert!(refusal(None, None).unwrap().to_string().contains("3 of"));
    assert!(refusal(Some(vec![0, 2, 8]), None).is_none(), "none of these rows is null");
    assert!(refusal(None, Some(vec!["word".into(), "x".into()])).is_none(), "strings may be null");
}

#[test]
fn the_columns_that_are_null_at_a_row_are_known() {
    let root = Root::new();
    let all = over(vec![root.cache("a", 0, 6, &[HOLES, WORD])], Some(vec![0, 1, 3, 4]));
    let nulls = |name: &str| (0..4).map(|row| all.is_null(row, name).unwrap()).collect::<Vec<_>>();
    assert_eq!(nulls("holes"), [false, true, false, true]);
    assert_eq!(nulls("word"), [false, true, true, false]);
    assert_eq!(nulls("x"), [false; 4], "a field has no nulls");
    assert_eq!(all.is_null(4, "word").err().unwrap().kind(), Kind::Index);
}

#[test]
fn stored_weights_are_those_of_the_rows() {
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 3, &[WEIGHT]), root.cache("b", 100, 4, &[WEIGHT])];
    let weights = |rows| over(caches.clone(), rows).weights().unwrap().unwrap().to_vec();
    assert_eq!(weights(None), [0.0, 1.0, 2.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(weights(Some(vec![6, 2, 2, 4])), [3.0, 2.0, 2.0, 1.0]);
    let loader = alone(&over(caches.clone(), Some(vec![0, 3, 1])), options(1)).unwrap();
    assert_eq!(loader.order(), Order::Weighted);
    assert_eq!(xs(&pass(&loader)), [[1], [1], [1]], "the others weigh nothing");
    let unweighted = over(caches, None).with_weights(Weights::None).unwrap();
    assert!(unweighted.weights().unwrap().is_none());
}

#[test]
fn weights_that_only_some_caches_store_are_an_error_where_rows_of_both_are_used() {
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 3, &[WEIGHT]), root.cache("b", 100, 4, &[]), root.cache("c", 200, 0, &[])];
    let both = over(caches.clone(), None);
    let error = Loader::new(both.clone(), options(1), Arc::new(Heap)).err().unwrap();
    assert_eq!(error.kind(), Kind::Schema);
    let message = error.to_string();
    assert!(
        message.contains("4 rows") && message.contains("/b") && !message.contains("/a") && !message.contains("/c"),
        "{message}"
    );
    assert!(alone(&both, Options { order: Some(Order::Permuted), ..options(1) }).is_ok());
    assert_eq!(over(caches.clone(), Some(vec![2, 1])).weights().unwrap().unwrap().to_vec(), [2.0, 1.0]);
    assert!(over(caches, Some(vec![3, 4])).weights().unwrap().is_none());
}
