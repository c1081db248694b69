//! Numbers delivered as wider ones, of every kind of column, and memory that is there already.

use std::sync::Arc;

use crate::support::*;
use arrow_array::{BooleanArray, Float32Array, StringArray, UInt16Array};
use dsrt_core::batch::{Heap, Layout};
use dsrt_core::dtype::{ColumnType, DType, Element};
use dsrt_core::error::{Kind, Result};
use dsrt_core::load::Options;
use dsrt_core::read::OnDamage;
use dsrt_core::rows::{Population, Wanted, Weights};
use dsrt_core::write::Value;

const LABEL: Metadata = ("label", ColumnType::Number(DType::Int8), |sample| Value::Int(-i128::from(sample)));
const GOOD: Metadata = ("good", ColumnType::Number(DType::Bool), |sample| Value::Bool(sample % 3 == 1));
const DAY: Metadata = ("day", ColumnType::Date, |sample| Value::Int(i128::from(sample) - 2));
const WORD: Metadata = ("word", ColumnType::String, |_| Value::Str("w"));

fn rows() -> (Root, Population) {
    let root = Root::new();
    let cache = root.cache("c", 0, 7, &[LABEL, GOOD, DAY, WORD]);
    let columns: Vec<(Arc<str>, arrow_array::ArrayRef)> = vec![
        ("short".into(), Arc::new(UInt16Array::from((0..7).map(|i| 65_535 - i).collect::<Vec<_>>()))),
        ("ratio".into(), Arc::new(Float32Array::from((0..7).map(|i| i as f32 / 3.0).collect::<Vec<_>>()))),
        ("flag".into(), Arc::new(BooleanArray::from((0..7).map(|i| i % 2 == 0).collect::<Vec<_>>()))),
        ("text".into(), Arc::new(StringArray::from(vec!["t"; 7]))),
    ];
    let weights = Weights::Given(vec![1.0; 7]);
    (root, Population::new(vec![cache], None, weights, columns).unwrap())
}

fn wanted(name: &str, dtype: DType) -> Wanted {
    Wanted { dtype: Some(dtype), ..name.into() }
}

fn gathered(population: &Population, wanted: &[Wanted]) -> Result<dsrt_core::batch::Batch> {
    population.gather(&population.project(Some(wanted), false)?, &[6, 0, 3], &Heap, OnDamage::Raise)
}

#[test]
fn columns_of_numbers_are_delivered_as_wider_ones() {
    let (_root, population) = rows();
    let cases: [(&str, DType, [u64; 3]); 8] = [
        ("x", DType::UInt64, [6, 0, 3]),
        ("label", DType::Int64, [-6i64 as u64, 0, -3i64 as u64]),
        ("label", DType::Float32, [(-6f32).to_bits().into(), 0, (-3f32).to_bits().into()]),
        ("good", DType::UInt16, [0, 0, 0]),
        ("short", DType::Int32, [65_529, 65_535, 65_532]),
        ("ratio", DType::Float64, [6f32 / 3.0, 0.0, 1.0].map(|ratio| f64::from(ratio).to_bits())),
        ("flag", DType::Int64, [1, 1, 0]),
        ("flag", DType::Bool, [1, 1, 0]),
    ];
    for (name, dtype, expected) in cases {
        let batch = gathered(&population, &[wanted(name, dtype)]).unwrap();
        assert_eq!(numbers(&batch, name), expected, "{name}");
        let Layout::Dense { element, .. } = column(&batch, name).layout else { panic!() };
        assert_eq!(element, Element::Plain(dtype), "{name}");
    }
}

#[test]
fn a_day_has_as_many_bits_as_another_time() {
    let (_root, population) = rows();
    let batch = gathered(&population, &["day".into()]).unwrap();
    assert_eq!(numbers(&batch, "day"), [4, -2i64 as u64, 1]);
    let Layout::Dense { element, .. } = column(&batch, "day").layout else { panic!() };
    assert_eq!((element, element.dtype()), (Element::Date, DType::Int64));
}

#[test]
fn what_could_lose_a_value_is_refused_by_name() {
    let (_root, population) = rows();
    let cases = [
        ("x", DType::Float64, &["field x: ", "float64", "which is uint64;"][..]),
        ("label", DType::UInt64, &["field label: ", "uint64", "int8, ", "int16, int32, int64, float16"]),
        ("short", DType::Int16, &["field short: ", "int16", "uint16, ", "int32, int64"]),
        ("day", DType::Int64, &["field day: ", "int64", "date", "None"]),
        ("word", DType::Int64, &["field word: ", "string", "None"]),
        ("text", DType::UInt8, &["field text: ", "string", "None"]),
        ("s", DType::UInt8, &["field s: ", "bytes", "None"]),
        ("_row", DType::Float64, &["_row", "float64", "always int64"]),
        ("_valid", DType::UInt8, &["_valid", "always bool"]),
        ("weight", DType::Float32, &["weight", "always float64"]),
    ];
    for (name, dtype, parts) in cases {
        let error = gathered(&population, &[wanted(name, dtype)]).err().unwrap();
        assert_eq!(error.kind(), Kind::Schema, "{name}");
        let message = error.to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    for (name, dtype) in [("_row", DType::Int64), ("_valid", DType::Bool), ("weight", DType::Float64)] {
        assert!(gathered(&population, &[wanted(name, dtype)]).is_ok(), "{name} is that");
    }
}

#[test]
fn a_loader_widens_and_its_state_does_not_change() {
    let (_root, population) = rows();
    let fields = |dtype| Some(vec![Wanted { dtype, ..Wanted::from("short") }, "x".into()]);
    let loader = |dtype| alone(&population, Options { seed: 5, fields: fields(dtype), ..options(2) }).unwrap();
    let (narrow, wide) = (loader(None), loader(Some(DType::Float64)));
    let shorts = |batch: &dsrt_core::batch::Batch| numbers(batch, "short");
    let expected: Vec<_> = pass(&narrow).iter().map(shorts).collect();
    let found: Vec<_> = pass(&wide).iter().map(shorts).collect();
    let widened = expected.iter().map(|batch| batch.iter().map(|short| (*short as f64).to_bits()).collect());
    assert_eq!(found, widened.collect::<Vec<Vec<_>>>());
    assert_eq!(narrow.state().unwrap(), wide.state().unwrap());
    assert!(alone(&population, Options { fields: fields(Some(DType::UInt8)), ..options(2) }).is_err());
}

#[test]
fn every_dense_column_can_be_put_into_memory_that_is_there() {
    let (_root, population) = rows();
    let all = ["x", "label", "good", "day", "short", "ratio", "flag", "_row", "_valid", "cache_id", "weight"];
    let wanted: Vec<Wanted> = all.map(Wanted::from).into();
    let projection = population.project(Some(&wanted), false).unwrap();
    let batch = population.gather(&projection, &[6, 0, 3], &Heap, OnDamage::Mask).unwrap();
    let dense = |source: &dyn dsrt_core::read::Source| source.dense().map(|(element, _)| 3 * element.size());
    let mut memory: Vec<Vec<u8>> =
        projection.columns().iter().map(|(_, source)| vec![0xAA; dense(source.as_ref()).unwrap()]).collect();
    let mut outs: Vec<&mut [u8]> = memory.iter_mut().map(Vec::as_mut_slice).collect();
    population.gather_into(&projection, &[6, 0, 3], &mut outs, OnDamage::Mask, &|| Ok(())).unwrap();
    for (name, memory) in all.iter().zip(&memory) {
        let Layout::Dense { values, .. } = column(&batch, name).layout else { panic!() };
        assert_eq!(values.of(batch.buffer.bytes()).unwrap(), memory, "{name}");
    }
    let strings = population.project(Some(&["s".into(), "word".into(), "text".into()]), false).unwrap();
    assert!(strings.columns().iter().all(|(_, source)| dense(source.as_ref()).is_none()));
}
