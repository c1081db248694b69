use super::*;

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

fn shown(row: &[Value<'_>]) -> String {
    let bits = row.iter().map(|value| match value {
        Value::Float(v) => format!("{:x}", v.to_bits()),
        value => format!("{value:?}"),
    });
    bits.collect::<Vec<_>>().join(",")
}

/// A spill of ten rows with a mark behind each number of `ends`.
fn written(path: &Path, ends: &[usize]) -> Vec<SpillMark> {
    let spill = Spill::create(&Disk::default(), path.to_path_buf()).unwrap();
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

fn replayed(path: &Path, marks: &[SpillMark]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    replay(path, 8, marks, &mut || Ok(()), |row| {
        found.push(shown(row));
        Ok(())
    })?;
    Ok(found)
}

#[test]
fn rows_come_back_to_the_last_bit_up_to_the_last_mark() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    for ends in [&[1, 5, 8][..], &[10], &[3, 4, 8], &[]] {
        let marks = written(&path, ends);
        let expected: Vec<_> =
            (0..ends.last().copied().unwrap_or(0)).map(|number| shown(&row(number as i128, &text(number)))).collect();
        assert_eq!(replayed(&path, &marks).unwrap(), expected);
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
        assert!(replayed(&path, &marks).unwrap_err().to_string().contains("does not hold what was written"));
        std::fs::write(&path, &sound[..at as usize]).unwrap();
        assert_eq!(proven(&path, &marks, &mut || Ok(())).unwrap(), good, "length {at}");
        assert_eq!(replayed(&path, &marks).unwrap_err().kind(), Kind::Io);
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(proven(&path, &marks, &mut || Ok(())).unwrap(), 0);
}

#[test]
fn a_resumed_spill_goes_on_where_its_good_part_ends() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    let marks = written(&path, &[2, 10]);
    let spill = Spill::resume(&Disk::default(), path.clone(), marks[0].bytes).unwrap();
    let mut bytes = Vec::new();
    encode(&row(7, "x"), &mut bytes);
    spill.append(&bytes).unwrap();
    let again = [marks[0], spill.mark().unwrap()];
    spill.sync().unwrap();
    let expected = [shown(&row(0, &text(0))), shown(&row(1, &text(1))), shown(&row(7, "x"))];
    assert_eq!(replayed(&path, &again).unwrap(), expected);
}

#[test]
fn a_pause_may_end_it() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("spill");
    let marks = written(&path, &[10]);
    let mut pause = || Err(Error::new(Kind::State, "enough"));
    assert_eq!(replay(&path, 8, &marks, &mut pause, |_| Ok(())).unwrap_err().kind(), Kind::State);
}
