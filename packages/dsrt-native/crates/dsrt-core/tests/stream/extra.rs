//! Extra columns: every type, as every Arrow array it may come in.

use std::sync::Arc;

use crate::support::*;
use arrow_array::types::{Date32Type, DurationMillisecondType, TimestampMicrosecondType, TimestampNanosecondType};
use arrow_array::*;
use arrow_schema::DataType;
use dsrt_core::batch::{Heap, Layout};
use dsrt_core::dtype::{DType, Element, TimeUnit};
use dsrt_core::error::Kind;
use dsrt_core::read::OnDamage;
use dsrt_core::rows::{Population, Weights};

fn with(array: ArrayRef) -> (Root, Population) {
    let root = Root::new();
    let cache = root.cache("c", 0, array.len() as u64, &[]);
    let population = Population::new(vec![cache], None, Weights::Stored, vec![("e".into(), array)]).unwrap();
    (root, population)
}

fn gather(population: &Population, rows: &[u64]) -> dsrt_core::error::Result<dsrt_core::batch::Batch> {
    population.gather(&population.project(Some(&["e".into()]), false).unwrap(), rows, &Heap, OnDamage::Raise)
}

#[test]
fn numbers_and_times_keep_their_bits() {
    let nan = f64::from_bits(0x7FF8_0000_DEAD_BEEF);
    let cases: Vec<(ArrayRef, Element, Vec<u64>)> = vec![
        (Arc::new(BooleanArray::from(vec![true, false, true])), Element::Plain(DType::Bool), vec![1, 0, 1]),
        (Arc::new(Int8Array::from(vec![-1, 2, 3])), Element::Plain(DType::Int8), vec![255, 2, 3]),
        (Arc::new(Int64Array::from(vec![i64::MIN, 0, 7])), Element::Plain(DType::Int64), vec![1 << 63, 0, 7]),
        (Arc::new(UInt16Array::from(vec![65535, 0, 1])), Element::Plain(DType::UInt16), vec![65535, 0, 1]),
        (
            Arc::new(Float64Array::from(vec![nan, -0.0, 1.5])),
            Element::Plain(DType::Float64),
            vec![nan.to_bits(), 1 << 63, 1.5f64.to_bits()],
        ),
        (Arc::new(PrimitiveArray::<Date32Type>::from(vec![1, 2, 3])), Element::Date, vec![1, 2, 3]),
        (
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(vec![1, 2, 3]).with_timezone("UTC")),
            Element::Timestamp(TimeUnit::Micro),
            vec![1, 2, 3],
        ),
        (
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::from(vec![1, 2, 3])),
            Element::Timestamp(TimeUnit::Nano),
            vec![1, 2, 3],
        ),
        (
            Arc::new(PrimitiveArray::<DurationMillisecondType>::from(vec![1, 2, 3])),
            Element::Duration(TimeUnit::Milli),
            vec![1, 2, 3],
        ),
    ];
    for (array, element, values) in cases {
        let (_root, population) = with(array);
        let batch = gather(&population, &[0, 1, 2, 0]).unwrap();
        assert!(matches!(&column(&batch, "e").layout, Layout::Dense { element: found, .. } if *found == element));
        assert_eq!(numbers(&batch, "e"), [values[0], values[1], values[2], values[0]]);
    }
}

#[test]
fn slices_of_arrays_begin_where_they_say() {
    let (_root, numbers_of) = with(Arc::new(Int32Array::from((0..100).collect::<Vec<i32>>()).slice(40, 10)));
    assert_eq!(numbers(&gather(&numbers_of, &[0, 9]).unwrap(), "e"), [40, 49]);
    let (_root, bits) =
        with(Arc::new(BooleanArray::from((0..100).map(|i| i % 3 == 0).collect::<Vec<_>>()).slice(31, 9)));
    assert_eq!(numbers(&gather(&bits, &[0, 1, 2, 8]).unwrap(), "e"), [0, 0, 1, 1]);
    let words: Vec<String> = (0..100).map(|i| format!("w{i}")).collect();
    let (_root, texts) = with(Arc::new(StringArray::from(words).slice(40, 10)));
    assert_eq!(strings(&gather(&texts, &[9, 0]).unwrap(), "e"), [Some(b"w49".to_vec()), Some(b"w40".to_vec())]);
}

#[test]
fn strings_are_the_same_from_every_kind_of_array() {
    let values = vec![Some("größe"), None, Some(""), Some("exactly12byt"), Some("longer than twelve bytes")];
    let bytes: Vec<Option<&[u8]>> = values.iter().map(|value| value.map(str::as_bytes)).collect();
    let arrays: Vec<(ArrayRef, bool)> = vec![
        (Arc::new(StringArray::from(values.clone())), true),
        (Arc::new(LargeStringArray::from(values.clone())), true),
        (Arc::new(StringViewArray::from(values.clone())), true),
        (Arc::new(BinaryArray::from(bytes.clone())), false),
        (Arc::new(LargeBinaryArray::from(bytes.clone())), false),
        (Arc::new(BinaryViewArray::from(bytes.clone())), false),
    ];
    for (array, is_text) in arrays {
        let (_root, population) = with(array);
        let batch = gather(&population, &[4, 3, 2, 1, 0, 4]).unwrap();
        assert!(matches!(&column(&batch, "e").layout, Layout::Strings { text, .. } if *text == is_text));
        let found = strings(&batch, "e");
        let expected: Vec<_> = [4, 3, 2, 1, 0, 4].map(|row: usize| bytes[row].map(<[u8]>::to_vec)).into();
        assert_eq!(found, expected);
        let whole = gather(&population, &[0, 4]).unwrap();
        assert!(matches!(&column(&whole, "e").layout, Layout::Strings { valid: None, .. }), "nothing is null there");
    }
}

#[test]
fn a_null_number_is_an_error_that_counts_and_names_the_first() {
    let (_root, population) = with(Arc::new(Int32Array::from(vec![Some(1), None, Some(3), None])));
    assert!(gather(&population, &[0, 2]).is_ok());
    let error = gather(&population, &[2, 3, 1]).err().unwrap();
    assert_eq!(error.kind(), Kind::Value);
    let message = error.to_string();
    assert!(
        message.contains("2 of the rows") && message.contains("row 3") && message.contains("fill_null"),
        "{message}"
    );
    assert!(population.is_null(1, "e").unwrap());
    assert!(!population.is_null(0, "e").unwrap());

    let projection = population.project(None, false).unwrap();
    let message = population.check_nulls(&projection).unwrap_err().to_string();
    assert!(message.contains("field e") && message.contains("2 of the rows") && message.contains("row 1"), "{message}");
    let without = population.project(Some(&["x".into()]), false).unwrap();
    assert!(population.check_nulls(&without).is_ok());
}

#[test]
fn arrow_types_without_a_word_of_ours_are_refused_with_advice() {
    let root = Root::new();
    let cache = root.cache("c", 0, 0, &[]);
    let refused = [
        (DataType::Decimal128(10, 2), "float64"),
        (DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)), "string"),
        (DataType::new_list(DataType::Int32, true), "payload field"),
        (DataType::Timestamp(arrow_schema::TimeUnit::Second, None), "milliseconds"),
        (DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("Europe/Paris".into())), "UTC"),
        (DataType::Null, "cast"),
        (DataType::Float16, "float32"),
    ];
    for (kind, advice) in refused {
        let columns = vec![("e".into(), new_empty_array(&kind))];
        let error = Population::new(vec![cache.clone()], None, Weights::Stored, columns).err().unwrap();
        assert_eq!(error.kind(), Kind::Schema);
        assert!(error.to_string().contains(advice) && error.to_string().contains("\"e\""), "{error}");
    }
}

#[test]
fn names_and_lengths_of_extra_columns_are_checked() {
    let (root, _) = counting(2);
    let cache = dsrt_core::read::Cache::open(&root.path().join("counting"), true).unwrap();
    let column = |name: &str, len: i32| -> (Arc<str>, ArrayRef) {
        (name.into(), Arc::new(Int32Array::from((0..len).collect::<Vec<_>>())))
    };
    let cases = [
        (vec![column("x", 2)], "payload field"),
        (vec![column("weight", 2)], "as weights"),
        (vec![column("_row", 2)], "begin with _"),
        (vec![column("sample_id", 2)], "sample_id"),
        (vec![column("a", 2), column("a", 2)], "twice"),
        (vec![column("a", 3)], "3 values for 2 rows"),
    ];
    for (columns, word) in cases {
        let error = Population::new(vec![cache.clone()], None, Weights::Stored, columns).err().unwrap();
        assert_eq!(error.kind(), Kind::Schema);
        assert!(error.to_string().contains(word), "{error}");
    }
}
