use std::sync::Arc;

use super::*;
use crate::dtype::ColumnType;
use crate::write::value::Value;

/// A row of every sort of value, whose string has `len` bytes.
fn row<'a>(number: i128, text: &'a str) -> [Value<'a>; 8] {
    [
        Value::Null,
        Value::Bool(number % 2 == 0),
        Value::Int(number),
        Value::Int(i128::from(u64::MAX) - number),
        Value::Float(f64::from_bits(0x7ff8_0000_0000_0000 | number as u64)),
        Value::Str(text),
        Value::Bytes(text.as_bytes()),
        Value::Float(-0.0),
    ]
}

fn text(number: usize) -> String {
    let len = match number {
        3 => 3 * PIECE,
        4 => PIECE - 40,
        _ => number * 37 % 50,
    };
    "ä".repeat(len)
}

fn columns() -> Vec<(Arc<str>, ColumnType)> {
    let kinds = ["int32", "bool", "int64", "uint64", "float64", "string", "binary", "float32"];
    kinds.iter().map(|kind| ((*kind).into(), ColumnType::parse(kind).unwrap())).collect()
}

/// A spill of ten rows with a mark behind each number of `ends`.
fn written(path: &Path, ends: &[usize]) -> Vec<SpillMark> {
    let spill = Spill::create(&Disk::default(), path.to_path_buf(), &columns()).unwrap();
    let mut marks = Vec::new();
    for number in 0..10 {
        let (mut bytes, text) = (Vec::new(), text(number));
        encode(&row(number as i128, &text), &mut bytes);
        spill.append(&bytes).unwrap();
        if ends.contains(&(number + 1)) {
            marks.push(spill.mark().unwrap());
        }
    }
    spill.sync().unwrap();
    marks
}

/// What the spill has of each column: validity, values and strings.
fn found(path: &Path, marks: &[SpillMark]) -> Vec<[Vec<u8>; 3]> {
    let end = marks.last().map_or(0, |mark| mark.bytes);
    let mut reader = Reader::open(path, columns().iter().map(|(_, kind)| *kind), end).unwrap();
    let mut found = vec![<[Vec<u8>; 3]>::default(); 8];
    while let Some(batch) = reader.next(&mut || Ok(())).unwrap() {
        for (column, parts) in found.iter_mut().enumerate() {
            for (out, part) in parts.iter_mut().zip([Part::Valid, Part::Values, Part::Data]) {
                let mut each = |bytes: &[u8]| {
                    out.extend_from_slice(bytes);
                    Ok(())
                };
                batch.each(column, part, &mut || Ok(()), &mut each).unwrap();
            }
        }
    }
    found
}

/// The same of the rows themselves.
fn expected(numbers: &[usize]) -> Vec<[Vec<u8>; 3]> {
    let mut expected = vec![<[Vec<u8>; 3]>::default(); 8];
    for number in numbers {
        let text = text(*number);
        let number = *number as u64;
        let long = if text.len() > 12 { text.as_bytes() } else { &[] };
        let mut view = [0; 16];
        view[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
        let shown = if text.len() > 12 { 4 } else { text.len() };
        view[4..4 + shown].copy_from_slice(&text.as_bytes()[..shown]);
        let columns: [(u8, &[u8], &[u8]); 8] = [
            (0, &[0; 4], &[]),
            (1, &[u8::from(number.is_multiple_of(2))], &[]),
            (1, &number.to_le_bytes(), &[]),
            (1, &(u64::MAX - number).to_le_bytes(), &[]),
            (1, &(0x7ff8_0000_0000_0000 | number).to_le_bytes(), &[]),
            (1, &view, long),
            (1, &view, long),
            (1, &[0, 0, 0, 0x80], &[]),
        ];
        for (parts, (valid, value, data)) in expected.iter_mut().zip(columns) {
            parts[0].push(valid);
            parts[1].extend_from_slice(value);
            parts[2].extend_from_slice(data);
        }
    }
    expected
}

#[test]
fn rows_come_back_column_by_column_to_the_last_bit_up_to_the_last_mark() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    for ends in [&[1, 5, 8][..], &[10], &[3, 4, 8], &[]] {
        let marks = written(&path, ends);
        let numbers: Vec<_> = (0..ends.last().copied().unwrap_or(0)).collect();
        assert!(found(&path, &marks) == expected(&numbers));
        assert_eq!(proven(&path, &marks, &mut || Ok(())).unwrap(), ends.len());
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_changed_byte_or_a_lost_end_is_found_at_its_mark() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    let marks = written(&path, &[2, 6, 10]);
    let sound = std::fs::read(&path).unwrap();
    for (at, good) in [(0, 0), (marks[0].bytes - 1, 0), (marks[0].bytes, 1), (marks[1].bytes + 7, 2)] {
        let mut damaged = sound.clone();
        damaged[at as usize] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(proven(&path, &marks, &mut || Ok(())).unwrap(), good, "byte {at}");
        std::fs::write(&path, &sound[..at as usize]).unwrap();
        assert_eq!(proven(&path, &marks, &mut || Ok(())).unwrap(), good, "length {at}");
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(proven(&path, &marks, &mut || Ok(())).unwrap(), 0);
}

#[test]
fn a_resumed_spill_goes_on_where_its_good_part_ends() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    let marks = written(&path, &[2, 10]);
    let spill = Spill::resume(&Disk::default(), path.clone(), &columns(), marks[0].bytes, 2).unwrap();
    let (mut bytes, text) = (Vec::new(), text(7));
    encode(&row(7, &text), &mut bytes);
    spill.append(&bytes).unwrap();
    let again = [marks[0], spill.mark().unwrap()];
    spill.sync().unwrap();
    assert!(found(&path, &again) == expected(&[0, 1, 7]));
}

#[test]
fn a_pause_may_end_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    let marks = written(&path, &[10]);
    let mut pause = || Err(Error::new(Kind::State, "enough"));
    assert_eq!(proven(&path, &marks, &mut pause).unwrap_err().kind(), Kind::State);
}
