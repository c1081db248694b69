//! Metadata: the example's, and files made or broken here, each with every digest made anew.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, BinaryViewArray, Float64Array, Int32Array, RecordBatch, StringViewArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Field as ArrowField, MetadataVersion, root_as_footer};
use arrow_schema::{DataType, Field, Schema};
use dsrt_core::Kind;
use dsrt_core::batch::Layout;
use dsrt_core::dtype::{ColumnType, DType, Element};
use dsrt_core::format::checksum::digest;
use dsrt_core::format::manifest::{CHUNK, Manifest, MetadataEntry};
use dsrt_core::read::{Cache, Io, MetadataSource, OnDamage};
use proptest::prelude::*;

use crate::support::{change, copy, example, gather_source, integers, records};

/// The demo with another metadata file, or none.
fn with_metadata(bytes: Option<&[u8]>) -> (tempfile::TempDir, Cache) {
    let directory = copy(&example("demo"));
    let file = directory.path().join("metadata.arrow");
    std::fs::remove_file(&file).unwrap();
    let metadata = bytes.map(|bytes| {
        std::fs::write(&file, bytes).unwrap();
        MetadataEntry { bytes: bytes.len() as u64, chunks: bytes.chunks(CHUNK as usize).map(digest).collect() }
    });
    change(&directory.path().join("manifest.json"), |bytes| {
        let mut manifest = Manifest::parse(bytes).unwrap();
        manifest.metadata = metadata;
        *bytes = manifest.to_bytes();
    });
    let cache = Cache::open(directory.path(), true).unwrap();
    (directory, cache)
}

fn file(batches: &[RecordBatch], options: IpcWriteOptions) -> Vec<u8> {
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.into_inner().unwrap()
}

/// With wider alignment, arrow-ipc does not put the first message at byte 8.
fn plain() -> IpcWriteOptions {
    IpcWriteOptions::try_new(8, false, MetadataVersion::V5).unwrap()
}

/// Five rows of a few types, with nulls where `nulls` says so.
fn rows(nulls: bool, weights: &[f64]) -> RecordBatch {
    let hole = |i: usize| nulls && i == 2;
    let text = ["", "short", "exactly 12 b", "longer than twelve", "größer als zwölf"];
    let numbers = (0..5).map(|i| (!hole(i)).then_some(i as i32 * 10)).collect::<Int32Array>();
    let words = (0..5).map(|i| (!hole(i)).then_some(text[i])).collect::<StringViewArray>();
    let blobs = (0..5).map(|i| (!hole(i)).then_some(text[i].as_bytes())).collect::<BinaryViewArray>();
    RecordBatch::try_from_iter_with_nullable([
        ("number", Arc::new(numbers) as _, true),
        ("word", Arc::new(words) as _, true),
        ("blob", Arc::new(blobs) as _, true),
        ("weight", Arc::new(Float64Array::from(weights.to_vec())) as _, true),
    ])
    .unwrap()
}

const WEIGHTS: [f64; 5] = [1.0, 0.0, -0.0, 5e-324, 1e300];

fn gather(cache: &Cache, name: &str, samples: &[u64]) -> dsrt_core::Result<dsrt_core::batch::Batch> {
    let source = MetadataSource::new([cache.clone()].into(), name)?;
    gather_source(name, Arc::new(source), samples, OnDamage::Mask)
}

#[test]
fn the_examples_table_reads_as_written() {
    let cache = Cache::open(&example("demo"), true).unwrap();
    let table = cache.table().unwrap();
    let [batch] = table.batches().unwrap() else { panic!() };
    let columns = [("label".into(), ColumnType::Number(DType::Int64)), ("split".into(), ColumnType::String)];
    assert_eq!((table.len(), table.columns()), (5, &columns[..]));
    assert_eq!(*batch.column(0).to_data().buffers()[0].typed_data::<i64>(), [0, 1, 2, 3, 4]);
    let split = batch.column(1).as_any().downcast_ref::<StringViewArray>().unwrap();
    assert!(split.iter().all(|value| value == Some("train")));
    cache.close();
    assert_eq!(cache.table().err().unwrap().kind(), Kind::State);
}

#[test]
fn a_cache_without_metadata_has_a_table_without_columns() {
    let (_directory, cache) = with_metadata(None);
    let table = cache.table().unwrap();
    assert_eq!((table.columns().len(), table.batches().unwrap().len(), table.len()), (0, 0, 5));
    assert_eq!(table.weights().unwrap(), None);
    assert_eq!(gather(&cache, "number", &[0]).err().unwrap().kind(), Kind::Schema);
}

#[test]
fn columns_are_gathered_in_any_order() {
    let (_directory, cache) = with_metadata(Some(&file(&[rows(false, &WEIGHTS)], plain())));
    let batch = gather(&cache, "number", &[4, 0, 2, 2]).unwrap();
    let Layout::Dense { element, shape, values } = &batch.columns[0].layout else { panic!() };
    assert_eq!((*element, &**shape), (Element::Plain(DType::Int32), &[4][..]));
    assert_eq!(values.of(batch.buffer.bytes()).unwrap(), [40, 0, 20, 20].map(i32::to_ne_bytes).concat());
    let batch = gather(&cache, "word", &[4, 3, 1, 0, 2]).unwrap();
    let expected: [&[u8]; 5] = ["größer als zwölf".as_bytes(), b"longer than twelve", b"short", b"", b"exactly 12 b"];
    assert_eq!(records(&batch), expected);
    assert!(matches!(batch.columns[0].layout, Layout::Strings { text: true, valid: None, .. }));
    assert!(matches!(gather(&cache, "blob", &[1]).unwrap().columns[0].layout, Layout::Strings { text: false, .. }));
    assert_eq!(gather(&cache, "word", &[5]).err().unwrap().kind(), Kind::Index);
    assert_eq!(cache.table().unwrap().weights().unwrap().unwrap()[..], WEIGHTS);
}

#[test]
fn a_null_is_told_in_strings_and_refused_in_numbers() {
    let (_directory, cache) = with_metadata(Some(&file(&[rows(true, &WEIGHTS)], plain())));
    let batch = gather(&cache, "word", &[1, 2, 3]).unwrap();
    assert_eq!(records(&batch), [&b"short"[..], b"", b"longer than twelve"]);
    let Layout::Strings { valid: Some(valid), offsets, .. } = batch.columns[0].layout else { panic!() };
    assert_eq!(valid.of(batch.buffer.bytes()).unwrap(), [1, 0, 1]);
    assert_eq!(integers(offsets.of(batch.buffer.bytes()).unwrap()), [0, 5, 5, 23]);
    gather(&cache, "number", &[1, 3]).unwrap();
    let error = gather(&cache, "number", &[1, 2, 3, 2]).err().unwrap();
    assert_eq!(
        (error.kind(), error.place().sample, error.place().field.as_deref()),
        (Kind::Value, Some(2), Some("number"))
    );
    assert!(error.to_string().contains("2 of the 4") && error.to_string().contains("fill_null"), "{error}");
    assert_eq!(cache.table().unwrap().batches().unwrap()[0].column(1).null_count(), 1);
}

/// The rule that reading the whole table breaks, mapped or not.
fn rule(bytes: &[u8]) -> Option<u16> {
    let (directory, cache) = with_metadata(Some(bytes));
    let [mapped, read] = [cache, Cache::open_by(directory.path(), true, Io::Pread).unwrap()].map(|cache| {
        let result = cache.table().and_then(|table| table.batches().map(|batches| batches.len()));
        let error = result.err()?;
        assert_eq!((error.kind(), error.place().cache.as_ref()), (Kind::Data, Some(cache.path())), "{error}");
        Some((error.rule_number(), error.message().to_owned()))
    });
    assert_eq!(mapped, read);
    mapped?.0
}

fn one_column(field: Field, column: Arc<dyn Array>) -> Vec<u8> {
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
    file(&[batch], plain())
}

#[test]
fn rows_batches_schema_and_weights_break_rules_of_their_own() {
    let batch = rows(false, &WEIGHTS);
    assert_eq!(rule(&file(std::slice::from_ref(&batch), plain())), None);
    assert_eq!(rule(&file(&[batch.slice(0, 4)], plain())), Some(43));
    assert_eq!(rule(&file(&[batch.clone(), batch.clone()], plain())), Some(43));
    assert_eq!(rule(&file(&[batch.slice(0, 4), batch.slice(4, 1)], plain())), Some(44));
    assert_eq!(rule(&file(&[batch.clone(), batch.slice(0, 0)], plain())), Some(44));
    for weight in [f64::NAN, f64::INFINITY, -1.0, -5e-324] {
        let bad = file(&[rows(false, &[1.0, 1.0, weight, 1.0, 1.0])], plain());
        assert_eq!(rule(&bad), Some(46));
        let (_directory, cache) = with_metadata(Some(&bad));
        let error = cache.table().unwrap().weights().unwrap_err();
        assert_eq!((error.place().sample, error.place().field.as_deref()), (Some(2), Some("weight")));
    }
    let numbers = || Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5]));
    assert_eq!(rule(&one_column(Field::new("x", DataType::Int32, true), numbers())), None);
    assert_eq!(rule(&one_column(Field::new("weight", DataType::Int32, true), numbers())), Some(46));
    let holes = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(1.0), Some(1.0), Some(1.0)]));
    assert_eq!(rule(&one_column(Field::new("weight", DataType::Float64, true), holes)), Some(46));
    for name in ["", "_x", "cache_id", "image", "caption", &"x".repeat(256)] {
        assert_eq!(rule(&one_column(Field::new(name, DataType::Int32, true), numbers())), Some(45), "{name}");
    }
    let (_directory, cache) =
        with_metadata(Some(&one_column(Field::new("x".repeat(1 << 20), DataType::Int32, true), numbers())));
    assert!(cache.table().err().unwrap().message().len() < 200, "a name of any length is shown in part");
    assert_eq!(rule(&one_column(Field::new("x", DataType::Int32, false), numbers())), Some(45));
    let noted = Field::new("x", DataType::Int32, true).with_metadata([("a".to_owned(), "b".to_owned())]);
    assert_eq!(rule(&one_column(noted, numbers())), Some(45));
    let text = Arc::new(arrow_array::StringArray::from(vec!["a"; 5]));
    assert_eq!(rule(&one_column(Field::new("x", DataType::Utf8, true), text)), Some(45));
    let seconds = Arc::new(arrow_array::TimestampSecondArray::from(vec![1; 5]));
    assert_eq!(rule(&one_column(Field::new("x", seconds.data_type().clone(), true), seconds)), Some(45));
    let v4 = IpcWriteOptions::try_new(8, false, MetadataVersion::V4).unwrap();
    assert_eq!(rule(&file(&[batch], v4)), Some(45));
    assert_eq!(rule(b"ARROW1"), Some(42));
    assert_eq!(rule(&[0; 64]), Some(42));
}

#[test]
fn a_chunk_is_compared_with_its_digest() {
    let directory = copy(&example("demo"));
    let cache = Cache::open(directory.path(), true).unwrap();
    change(&directory.path().join("metadata.arrow"), |bytes| bytes[300] ^= 1);
    assert_eq!(cache.table().err().unwrap().rule_number(), Some(41));
    change(&directory.path().join("metadata.arrow"), |bytes| bytes.truncate(300));
    assert_eq!(cache.table().err().unwrap().rule_number(), Some(30));
}

#[test]
fn a_gather_follows_views_with_suspicion() {
    let sound = file(&[rows(true, &WEIGHTS)], plain());
    let find = |text: &[u8]| sound.windows(text.len()).position(|window| window == text).unwrap();
    let broken = |at: usize, byte: u8| {
        let mut bytes = sound.clone();
        bytes[at] = byte;
        let (_directory, cache) = with_metadata(Some(&bytes));
        let gathered = gather(&cache, "word", &[0, 1, 2, 3, 4]).err().and_then(|error| {
            assert_eq!(error.kind(), Kind::Data);
            error.rule_number()
        });
        (gathered, rule(&bytes))
    };
    let short = find(b"short\0\0\0\0\0\0\0");
    let long = find(b"longer than twelve");
    let view = find(b"long\0\0\0\0");
    assert_eq!(broken(short, 0xff), (Some(42), Some(42)));
    assert_eq!(broken(short + 5, 1), (Some(42), Some(42)));
    assert_eq!(broken(long + 1, b'x'), (Some(42), Some(42)));
    assert_eq!(broken(long + 5, 0xff), (Some(42), Some(42)));
    assert_eq!(broken(view + 4, 1), (Some(42), Some(42)));
    assert_eq!(broken(view + 11, 0x7f), (Some(42), Some(42)));
    assert_eq!(broken(view - 2, 1), (Some(42), Some(42)));
    // What lies under a null is looked at by the whole table only.
    assert_eq!(broken(short + 16, 1), (None, Some(42)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every digest is made anew, so this is what Arrow and flatbuffers would have to stand.
    #[test]
    fn nothing_makes_the_metadata_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        words in any::<bool>(),
    ) {
        let mut bytes = file(&[rows(true, &WEIGHTS)], plain());
        for (at, byte) in changes {
            if words {
                let at = at.index(bytes.len() / 4) * 4;
                bytes[at..at + 4].fill(if byte & 1 == 0 { 0xff } else { byte });
            } else {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let (_directory, cache) = with_metadata(Some(&bytes));
        let known = |error: dsrt_core::Error| matches!(error.rule_number(), Some(42..=46)) || matches!(error.kind(), Kind::Schema | Kind::Value);
        if let Err(error) = cache.table().and_then(|table| table.batches().map(drop)) {
            prop_assert!(known(error));
        }
        for name in ["number", "word", "blob"] {
            if let Err(error) = gather(&cache, name, &[0, 1, 2, 3, 4]) {
                prop_assert!(known(error));
            }
        }
        let _ = cache.table().and_then(|table| table.weights().map(drop));
        prop_assert!(Path::new(&**cache.path()).exists());
    }
}

#[test]
fn column_types_come_from_the_schema() {
    let cache = Cache::open(&example("demo"), true).unwrap();
    let table = cache.table().unwrap();
    for (number, (name, kind)) in table.columns().iter().enumerate() {
        assert_eq!(table.column(name), Some((number, *kind)));
        assert_eq!(*table.schema().field(number).data_type(), kind.arrow());
        assert_eq!(MetadataSource::new([cache.clone()].into(), name).unwrap().kind(), *kind);
    }
    assert_eq!(table.column("nothing"), None::<(usize, ColumnType)>);
}

#[test]
fn parameters_of_an_unknown_type_are_not_followed() {
    let sound = file(&[rows(false, &WEIGHTS)], plain());
    let length = sound.len();
    let footer_length = u32::from_le_bytes(*sound[length - 10..].first_chunk().unwrap()) as usize;
    let footer_at = length - 10 - footer_length;
    let column =
        root_as_footer(&sound[footer_at..length - 10]).unwrap().schema().unwrap().fields().unwrap().get(0)._tab;
    let place = |slot| footer_at + column.loc() + usize::from(column.vtable().get(slot));
    let (kind, parameters) = (place(ArrowField::VT_TYPE_TYPE), place(ArrowField::VT_TYPE_));
    for unknown in [0, 99, 255] {
        let mut bytes = sound.clone();
        bytes[kind] = unknown;
        bytes[parameters..parameters + 4].copy_from_slice(&0x1000_u32.to_le_bytes());
        let (_directory, cache) = with_metadata(Some(&bytes));
        assert_eq!(cache.table().err().unwrap().rule_number(), Some(45), "type {unknown}");
    }
}
