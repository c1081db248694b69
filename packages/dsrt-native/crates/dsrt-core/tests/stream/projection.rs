//! What a batch holds.

use std::sync::Arc;

use crate::support::*;
use arrow_array::Int32Array;
use dsrt_core::batch::{Heap, Layout};
use dsrt_core::dtype::{DType, Element};
use dsrt_core::error::Kind;
use dsrt_core::order::sample_seed;
use dsrt_core::read::{OnDamage, Threads};
use dsrt_core::rows::{Places, Population, Wanted, Weights};

fn two() -> (Root, Population) {
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 3, &[]), root.cache("b", 100, 2, &[])];
    let extra = Arc::new(Int32Array::from(vec![5, 6, 7, 8, 9]));
    let weights = Weights::Given(vec![1.0, 2.0, 3.0, 4.0, 5.0]);
    let population = Population::new(caches, None, weights, vec![("extra".into(), extra)]).unwrap();
    (root, population)
}

fn wanted(names: &[&str]) -> Vec<Wanted> {
    names.iter().map(|name| (*name).into()).collect()
}

#[test]
fn by_default_a_batch_holds_fields_and_columns_without_built_ins() {
    let (_root, population) = two();
    let batch = population.gather(&population.project(None, false).unwrap(), &[4], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(names(&batch), ["x", "s", "extra"]);
    assert_eq!((numbers(&batch, "x"), numbers(&batch, "extra")), (vec![101], vec![9]));
    assert_eq!(strings(&batch, "s"), [Some(vec![1])]);
}

#[test]
fn built_ins_say_which_sample_it_is_and_where_it_stands() {
    let (_root, population) = two();
    let built_in = ["weight", "_valid", "_seed", "sample_id", "cache_id", "_position", "_row"];
    let projection = population.project(Some(&wanted(&built_in)), true).unwrap();
    let places = Places { rows: &[4, 0], positions: &[77, 1 << 61], valid: &[true, false], seed: 9 };
    let batch =
        population.gather_at(&projection, &places, &Heap, OnDamage::Raise, Threads::Given(1), &|| Ok(())).unwrap();
    assert_eq!(names(&batch), built_in, "_valid is there once");
    let ids: Vec<u64> = population.caches().iter().map(|cache| cache.id() as u64).collect();
    let expected: [(&str, DType, [u64; 2]); 7] = [
        ("weight", DType::Float64, [5.0f64.to_bits(), 1.0f64.to_bits()]),
        ("_valid", DType::Bool, [1, 0]),
        ("_seed", DType::UInt64, [sample_seed(9, 77), sample_seed(9, 1 << 61)]),
        ("sample_id", DType::Int64, [1, 0]),
        ("cache_id", DType::Int64, [ids[1], ids[0]]),
        ("_position", DType::Int64, [77, 1 << 61]),
        ("_row", DType::Int64, [4, 0]),
    ];
    for (name, dtype, values) in expected {
        assert_eq!(numbers(&batch, name), values, "{name}");
        let Layout::Dense { element, .. } = column(&batch, name).layout else { panic!() };
        assert_eq!(element, Element::Plain(dtype), "{name}");
    }
}

#[test]
fn validity_is_added_at_the_end_where_it_is_needed() {
    let (_root, population) = two();
    let projection = population.project(Some(&wanted(&["x"])), true).unwrap();
    assert_eq!(projection.names().map(|name| &**name).collect::<Vec<_>>(), ["x", "_valid"]);
}

#[test]
fn an_unknown_name_is_refused_with_all_that_there_is() {
    let (_root, population) = two();
    let error = population.project(Some(&wanted(&["x", "y"])), false).err().unwrap();
    assert_eq!(error.kind(), Kind::Schema);
    let message = error.to_string();
    for known in ["\"y\"", "x, s, extra, _row", "_seed", "cache_id"] {
        assert!(message.contains(known), "{message}");
    }
    assert!(population.project(Some(&wanted(&["_source"])), false).is_err());
}

#[test]
fn a_name_asked_for_twice_is_refused() {
    let (_root, population) = two();
    let error = population.project(Some(&wanted(&["x", "s", "x"])), false).err().unwrap();
    assert!(error.to_string().contains("\"x\" is asked for twice"), "{error}");
}

#[test]
fn nothing_at_all_may_be_asked_for() {
    let (_root, population) = two();
    let batch =
        population.gather(&population.project(Some(&[]), false).unwrap(), &[1, 2], &Heap, OnDamage::Raise).unwrap();
    assert_eq!((batch.len, batch.columns.len()), (2, 0));
    let empty = population.gather(&population.project(None, false).unwrap(), &[], &Heap, OnDamage::Raise).unwrap();
    assert_eq!((empty.len, numbers(&empty, "x").len()), (0, 0));
}
