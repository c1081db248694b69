use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_ipc::reader::FileReader;
use arrow_ipc::{MetadataVersion, root_as_footer};

use proptest::prelude::*;

use super::oracle::expected;
use super::*;
use crate::format::manifest::CHUNK;
use crate::format::metadata::BATCH;
use crate::write::spill::{Spill, encode};

fn columns(kinds: &[(&str, &str)]) -> Vec<(Arc<str>, ColumnType)> {
    kinds.iter().map(|(name, kind)| ((*name).into(), ColumnType::parse(kind).unwrap())).collect()
}

/// Rows by way of a spill that is marked now and then.
fn written(kinds: &[(&str, &str)], rows: usize, row: impl for<'a> Fn(usize, &'a str) -> Vec<Value<'a>>) -> Vec<u8> {
    let kinds = columns(kinds);
    let texts: Vec<_> =
        (0..rows).map(|number| format!("{number} is a number and this string is longer than a view")).collect();
    let rows: Vec<_> = texts.iter().enumerate().map(|(number, text)| row(number, text)).collect();
    rows.iter().for_each(|row| check_row(&kinds, row).unwrap());
    table(&kinds, &rows, &[rows.len() / 3, rows.len() / 3 + 1])
}

/// The file that is made of rows, with marks behind some of them and behind the last.
fn table(kinds: &Columns, rows: &[Vec<Value<'_>>], marks: &[usize]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let (path, spilled) = (directory.path().join("metadata.arrow"), directory.path().join("spill"));
    let spill = Spill::create(&Disk::default(), spilled.clone(), kinds).unwrap();
    let (mut found, mut bytes) = (Vec::new(), Vec::new());
    for (number, row) in rows.iter().enumerate() {
        bytes.clear();
        encode(row, &mut bytes);
        spill.append(&bytes).unwrap();
        if number + 1 == rows.len() || marks.contains(&number) {
            found.push(spill.mark().unwrap());
        }
    }
    spill.sync().unwrap();
    made(&path, kinds, &spilled, &found)
}

fn made(path: &Path, kinds: &Columns, spilled: &Path, marks: &[SpillMark]) -> Vec<u8> {
    let MetadataEntry { bytes, chunks } =
        write_table(&Disk::default(), path, kinds, spilled, marks, &mut || Ok(())).unwrap();
    let file = std::fs::read(path).unwrap();
    assert_eq!(bytes as usize, file.len());
    let digests: Vec<_> = file.chunks(CHUNK as usize).map(|chunk| *blake3::hash(chunk).as_bytes()).collect();
    assert_eq!(chunks, digests);
    file
}

#[test]
fn rows_come_back_from_batches_of_fixed_length() {
    let rows = BATCH as usize + 3;
    let file = written(&[("n", "int32"), ("s", "string"), ("flag", "bool")], rows, |i, text| {
        vec![Value::Int(i as i128), if i % 7 == 0 { Value::Null } else { Value::Str(text) }, Value::Bool(i % 2 == 0)]
    });
    let reader = FileReader::try_new(Cursor::new(file), None).unwrap();
    let batches: Vec<_> = reader.map(|batch| batch.unwrap()).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [BATCH as usize, 3]);
    let last = batches.last().unwrap();
    assert_eq!(last.column(0).as_primitive::<Int32Type>().value(2), 262_146);
    assert!(last.column(1).as_string_view().value(2).starts_with("262146 is"));
    assert!(last.column(2).as_boolean().value(2));
    assert_eq!(last.column(0).nulls(), None);
}

#[test]
fn the_schema_is_at_byte_8_and_buffers_are_aligned_to_64() {
    let file = written(&[("a", "uint8"), ("b", "string")], 5, |i, text| vec![Value::Int(i as i128), Value::Str(text)]);
    assert_eq!(&file[..12], b"ARROW1\0\0\xff\xff\xff\xff");
    let length = i32::from_le_bytes(file[file.len() - 10..file.len() - 6].try_into().unwrap()) as usize;
    let footer = root_as_footer(&file[file.len() - 10 - length..file.len() - 10]).unwrap();
    assert_eq!(footer.version(), MetadataVersion::V5);
    assert!(footer.custom_metadata().is_none() && footer.dictionaries().unwrap().is_empty());
    assert!(footer.schema().unwrap().custom_metadata().is_none());
    let block = footer.recordBatches().unwrap().get(0);
    let body = block.offset() + i64::from(block.metaDataLength());
    assert_eq!((block.offset() % 64, body % 64, block.bodyLength() % 64), (0, 0, 0));
    let message = &file[block.offset() as usize + 8..body as usize];
    let message = arrow_ipc::root_as_message(message).unwrap();
    let batch = message.header_as_record_batch().unwrap();
    assert!(batch.compression().is_none() && message.custom_metadata().is_none());
    let buffers: Vec<_> = batch.buffers().unwrap().iter().map(|b| (b.offset() % 64, b.length())).collect();
    assert!(buffers.iter().all(|(offset, _)| *offset == 0));
    assert_eq!(buffers.iter().map(|b| b.1).collect::<Vec<_>>()[..4], [0, 5, 0, 80], "no validity where no null is");
    assert_eq!(batch.variadicBufferCounts().unwrap().iter().collect::<Vec<_>>(), [1]);
}

#[test]
fn a_table_without_rows_has_no_batches_and_equal_rows_give_equal_bytes() {
    let write = |rows| {
        written(&[("x", "float64"), ("b", "binary")], rows, |i, text| {
            vec![Value::Float(i as f64), Value::Bytes(text.as_bytes())]
        })
    };
    let reader = FileReader::try_new(Cursor::new(write(0)), None).unwrap();
    assert_eq!(reader.num_batches(), 0);
    assert_eq!(write(1000), write(1000));
    let batch = FileReader::try_new(Cursor::new(write(2)), None).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.column(0).as_primitive::<Float64Type>().values(), &[0.0, 1.0]);
}

#[test]
fn columns_that_a_cache_cannot_have_are_refused() {
    let refused = |kinds: &[(&str, &str)]| check_columns(&columns(kinds), ["image", "x"].into_iter()).is_err();
    assert!(!refused(&[]) && !refused(&[("Image", "int8"), ("é ü", "date"), ("weight", "float64")]));
    for bad in ["_x", "", "cache_id", "sample_id", "a\0b", "image", &"é".repeat(128)] {
        assert!(refused(&[(bad, "int8")]), "{bad:?}");
    }
    assert!(refused(&[("a", "int8"), ("a", "int16")]));
    assert!(refused(&[("weight", "float32")]));
}

#[test]
fn weights_are_finite_and_not_negative() {
    let kinds = columns(&[("weight", "float64"), ("other", "float64")]);
    for good in [Value::Float(0.0), Value::Float(-0.0), Value::Float(5e-324), Value::Int(7)] {
        check_row(&kinds, &[good, Value::Null]).unwrap();
    }
    for bad in [Value::Null, Value::Float(f64::NAN), Value::Float(f64::INFINITY), Value::Float(-1.0), Value::Int(-1)] {
        let error = check_row(&kinds, &[bad, Value::Float(-1.0)]).unwrap_err();
        assert_eq!(error.place().field.as_deref(), Some("weight"));
    }
}

/// A value of a column, from numbers that a test draws.
fn value<'a>(kind: ColumnType, text: &'a str, is_null: bool) -> Value<'a> {
    match kind {
        _ if is_null => Value::Null,
        ColumnType::String => Value::Str(text),
        ColumnType::Binary => Value::Bytes(text.as_bytes()),
        ColumnType::Number(DType::Bool) => Value::Bool(text.len() % 3 == 1),
        ColumnType::Number(DType::UInt64) => Value::Int(i128::from(u64::MAX) - text.len() as i128),
        ColumnType::Number(DType::Float32 | DType::Float64) => Value::Float(-0.25 * text.len() as f64),
        _ => Value::Int(text.len() as i128 % 128),
    }
}

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..40usize, 2 => 16_360..16_400usize, 1 => 30_000..70_000usize]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_file_is_what_arrow_makes_of_the_same_rows(
        kinds in prop::collection::vec(prop::sample::select(ColumnType::all().collect::<Vec<_>>()), 1..6),
        lengths in prop::collection::vec((lengths(), 0..9u32), 0..150),
        marks in prop::collection::vec(0..150usize, 0..4),
        nulls in 0..4u32,
    ) {
        let columns: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| (format!("c{n}").into(), *kind)).collect();
        let texts: Vec<_> = lengths.iter().map(|(length, _)| "0123456789abcdef".repeat(length / 16 + 1)).collect();
        let rows: Vec<Vec<_>> = lengths.iter().zip(&texts).map(|((length, dice), text)| {
            let is_null = |column: usize| (*dice + column as u32) % 9 < nulls;
            (0..).zip(&kinds).map(|(column, kind)| value(*kind, &text[..*length], is_null(column))).collect()
        }).collect();
        prop_assert!(table(&columns, &rows, &marks) == expected(&columns, &rows));
    }
}

#[test]
fn batches_end_where_arrows_would_and_long_strings_have_buffers_of_their_own() {
    let kinds = columns(&[("s", "string"), ("flag", "bool"), ("n", "int16"), ("b", "binary")]);
    let texts: Vec<_> = (0..40usize).map(|n| "x".repeat(n)).chain(["y".repeat(2 << 20), "z".repeat(5 << 20)]).collect();
    for rows in [BATCH as usize - 1, BATCH as usize, BATCH as usize + 1, 2 * BATCH as usize + 77] {
        let rows: Vec<Vec<_>> = (0..rows)
            .map(|n| {
                let text = if n % 100_003 == 5 { &texts[40 + n % 2] } else { &texts[n % 40] };
                kinds.iter().map(|(name, kind)| value(*kind, text, &**name == "s" && n % 1000 == 999)).collect()
            })
            .collect();
        assert!(table(&kinds, &rows, &[7, 99_999, BATCH as usize - 1]) == expected(&kinds, &rows), "{}", rows.len());
    }
}

#[test]
fn rows_that_come_as_batches_give_the_same_file_wherever_those_end() {
    let kinds = columns(&[("s", "string"), ("flag", "bool"), ("t", "timestamp[us]"), ("b", "binary")]);
    let texts: Vec<_> = (0..60usize).map(|n| "x".repeat(n)).chain(["z".repeat(3 << 20)]).collect();
    let row = |n: usize| -> Vec<Value<'_>> {
        let text = if n == 4_321 { &texts[60] } else { &texts[n % 60] };
        let is_null = |column: usize| column < 3 && (n + column).is_multiple_of(11);
        kinds.iter().enumerate().map(|(column, (_, kind))| value(*kind, text, is_null(column))).collect()
    };
    let rows: Vec<_> = (0..BATCH as usize + 5_000).map(row).collect();
    let directory = tempfile::tempdir().unwrap();
    let spilled = directory.path().join("spill");
    let spill = Spill::create(&Disk::default(), spilled.clone(), &kinds).unwrap();
    for part in [&rows[..4_000], &rows[4_000..4_001], &rows[4_001..]] {
        let reader = FileReader::try_new(Cursor::new(table(&kinds, part, &[])), None).unwrap();
        reader.for_each(|batch| spill.extend(&batch.unwrap(), &mut || Ok(())).unwrap());
    }
    let mark = spill.mark().unwrap();
    spill.flush().unwrap();
    let file = made(&directory.path().join("metadata.arrow"), &kinds, &spilled, &[mark]);
    assert!(file == table(&kinds, &rows, &[50]));
}
