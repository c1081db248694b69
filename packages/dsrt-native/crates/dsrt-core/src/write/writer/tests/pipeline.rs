//! Threads, blocks and batches against the serial writer: the same files to the last byte.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use proptest::prelude::*;

use super::serial::{Cell, Files, Random, Sample, cache};
use super::*;
use crate::write::{Encoding, Observer, Operation, Records};

/// Options at random: some fields of any kind and codec, and limits that make several shards.
pub(super) fn some_options(random: &mut Random, most: u64) -> WriterOptions {
    let kinds = [
        FieldKind::Dense([].into()),
        FieldKind::Dense([3, 2].into()),
        FieldKind::Dense([0].into()),
        FieldKind::Ragged(1),
        FieldKind::Ragged(2),
        FieldKind::Bytes,
    ];
    let fields = (0..1 + random.below(4)).map(|number| {
        let codec = [Codec::Raw, Codec::Zstd, Codec::ZstdDict][random.below(3) as usize];
        let delta = if codec == Codec::Raw { 0 } else { random.below(3) as u8 };
        let kind = kinds[random.below(6) as usize].clone();
        let dtype = if delta > 0 || kind == FieldKind::Bytes { DType::UInt8 } else { DType::Int16 };
        let field = Field { name: format!("f{number}").into(), kind, dtype, codec, delta };
        let dictionary = (codec == Codec::ZstdDict).then(|| Dictionary::Body(random.bytes(300)));
        (field, Encoding { level: 1 + random.below(9) as i32, dictionary })
    });
    let fields = fields.collect();
    let metadata = &[("n", "int64"), ("s", "string")][..random.below(3) as usize];
    let mut options = options(fields, metadata);
    let samples = [5, 1000][random.below(2) as usize];
    options.samples_per_shard = 1 + random.below(samples);
    options.shard_bytes = 1 + random.below(4 * most);
    options.threads = 1 + random.below(4) as usize;
    options
}

/// Appends the samples one by one and in batches, as `random` has it.
pub(super) fn append(writer: &mut Writer, options: &WriterOptions, samples: &[Sample], random: &mut Random) {
    let mut rest = samples;
    while let Some(sample) = rest.first() {
        let (now, later) = rest.split_at(1 + random.below(rest.len() as u64) as usize);
        if random.below(2) == 0 {
            writer.append(&sample.records(), &sample.row(), &mut || Ok(())).unwrap();
            rest = &rest[1..];
            continue;
        }
        let rows: Vec<_> = now.iter().map(Sample::row).collect();
        let column = |place: usize| rows.iter().map(|row| row[place]).collect();
        let mut packed = Vec::new();
        for (place, (field, _)) in options.fields.iter().enumerate() {
            let bytes: Vec<u8> = now.iter().flat_map(|sample| sample.records[place].1.iter().copied()).collect();
            packed.push(matches!(field.kind, FieldKind::Dense(_)).then_some(bytes));
        }
        let records = |place: usize| match &packed[place] {
            Some(bytes) => {
                let (shape, first) = &now[0].records[place];
                Records::Packed { bytes, size: first.len(), shape }
            }
            None => Records::Each {
                bytes: now.iter().map(|sample| &*sample.records[place].1).collect(),
                shapes: match options.fields[place].0.kind {
                    FieldKind::Bytes => Vec::new(),
                    _ => now.iter().flat_map(|sample| sample.records[place].0.iter().copied()).collect(),
                },
            },
        };
        let batch = Samples {
            count: now.len(),
            fields: (0..options.fields.len()).map(records).collect(),
            columns: (0..options.metadata.len()).map(column).collect(),
        };
        writer.append_batch(&batch, &mut || Ok(())).unwrap();
        rest = later;
    }
}

/// What differs, by name: the files themselves are too long for a message.
pub(super) fn differences(found: &Files, expected: &Files) -> Vec<String> {
    let names = found.keys().chain(expected.keys());
    names.filter(|name| found.get(*name) != expected.get(*name)).map(|name| name.display().to_string()).collect()
}

fn check(seed: u64, count: usize, most: u64, block_bytes: usize) -> std::result::Result<(), TestCaseError> {
    let mut random = Random(seed | 1);
    let options = some_options(&mut random, most);
    let samples: Vec<_> = (0..count).map(|_| random.sample(&options, most)).collect();
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut writer = Writer::create(&target, options.clone()).unwrap();
    writer.open.as_mut().unwrap().block_bytes = block_bytes;
    append(&mut writer, &options, &samples, &mut random);
    prop_assert_eq!(writer.count(), count as u64);
    writer.publish(&mut || Ok(())).unwrap();
    let found = files(&target).into_iter().collect();
    prop_assert_eq!(differences(&found, &cache(&options, &samples).0), Vec::<String>::new());
    Ok(())
}

/// The block is far from full, and no number of samples says that the shard is.
#[test]
fn a_shard_that_its_bytes_fill_is_durable_while_samples_are_slow() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    (options.shard_bytes, options.fingerprint) = (1000, Some("a".into()));
    let mut writer = Writer::create(&root.path().join("x"), options).unwrap();
    for _ in 0..2 {
        std::thread::sleep(crate::write::open::LATE);
        writer.append(&[bytes(&[7; 600], &[600])], &[], &mut || Ok(())).unwrap();
    }
    while writer.durable() < 2 {
        std::thread::yield_now();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn neither_threads_nor_blocks_nor_batches_show_in_the_files(
        seed: u64, count in 0..200usize, most in 1..3000u64, block_bytes in 1..20_000usize,
    ) {
        check(seed, count, most, block_bytes)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]
    #[test]
    fn records_of_megabytes_are_written_like_others(seed: u64, count in 1..12usize, most in 1..3_000_000u64) {
        check(seed, count, most, BLOCK)?;
    }
}

#[test]
fn a_dictionary_is_trained_on_the_first_samples_and_the_delta_filter_comes_before_it() {
    const SIZE: usize = 512;
    let (mut plain, mut filtered) = (byte_field(Codec::ZstdDict), byte_field(Codec::ZstdDict));
    filtered.0.name = "filtered".into();
    filtered.0.delta = 2;
    plain.1.dictionary = Some(Dictionary::Train(SIZE));
    filtered.1.dictionary = Some(Dictionary::Train(SIZE));
    let text = |i: u64| {
        let noise = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        format!("{{\"user\": {i}, \"session\": \"{noise:x}\", \"kind\": \"page view\"}}").into_bytes()
    };
    let sample = |i: u64| {
        let (text, row) = (text(i), vec![Cell::Int(i as i64)]);
        Sample { records: vec![(vec![text.len() as u64], text.clone()), (vec![text.len() as u64], text)], row }
    };
    let samples: Vec<_> = (0..3000).map(sample).collect();
    let mut options = options(vec![plain, filtered], &[("n", "int64")]);
    options.samples_per_shard = 700;
    let mut given = options.clone();
    for (place, (field, encoding)) in given.fields.iter_mut().enumerate() {
        let filter = |sample: &Sample| crate::format::codec::filter(&sample.records[place].1, field.delta);
        let records: Vec<_> = samples.iter().map(filter).collect();
        let records: Vec<_> = records.iter().map(Vec::as_slice).collect();
        encoding.dictionary = Some(Dictionary::Body(crate::write::train_dictionary(&records, SIZE).unwrap()));
    }
    let expected = cache(&given, &samples).0;
    for block_bytes in [1000, 30_000, BLOCK] {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("x");
        let mut writer = Writer::create(&target, options.clone()).unwrap();
        writer.open.as_mut().unwrap().block_bytes = block_bytes;
        append(&mut writer, &options, &samples, &mut Random(block_bytes as u64 | 1));
        writer.publish(&mut || Ok(())).unwrap();
        let found = files(&target).into_iter().collect();
        assert_eq!(differences(&found, &expected), Vec::<String>::new());
    }
}

#[test]
fn too_little_to_train_on_is_an_error_that_names_the_field_and_the_way_out() {
    let root = tempfile::tempdir().unwrap();
    let mut field = byte_field(Codec::ZstdDict);
    field.1.dictionary = Some(Dictionary::Train(1000));
    for samples in [0, 3] {
        let mut writer = Writer::create(&root.path().join("x"), options(vec![field.clone()], &[])).unwrap();
        for _ in 0..samples {
            writer.append(&[bytes(b"a record", &[8])], &[], &mut || Ok(())).unwrap();
        }
        let error = writer.publish(&mut || Ok(())).unwrap_err();
        assert_eq!((error.kind(), error.place().field.as_deref()), (Kind::Schema, Some("data")));
        assert!(error.to_string().contains("use zstd"), "{error}");
        assert_eq!(names(root.path()), Vec::<String>::new());
    }
}

#[test]
fn whoever_waits_is_asked_whether_to_go_on_and_the_writer_stays_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut options = options(vec![field("x", FieldKind::Bytes, DType::UInt8, Codec::Zstd)], &[]);
    options.fields[0].1.level = 22;
    options.threads = 1;
    let mut writer = Writer::create(&target, options).unwrap();
    writer.open.as_mut().unwrap().block_bytes = 1;
    let record = Random(7).bytes(300_000);
    let append = |writer: &mut Writer, interrupt: &mut dyn FnMut() -> Result<()>| {
        writer.append(&[bytes(&record, &[record.len() as u64])], &[], interrupt)
    };
    let mut stop = || Err(Error::new(Kind::State, "stop"));
    let error = loop {
        if let Err(error) = append(&mut writer, &mut stop) {
            break error;
        }
    };
    assert_eq!(error.message(), "stop");
    let count = writer.count();
    append(&mut writer, &mut || Ok(())).unwrap();
    assert_eq!(writer.publish(&mut || Ok(())).unwrap().samples, count + 1);
}

#[test]
fn a_large_batch_is_interrupted_also_if_no_single_wait_is_long() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut writer = Writer::create(&target, options(vec![byte_field(Codec::Raw)], &[])).unwrap();
    // Many small blocks, of which each is written in a moment.
    writer.open.as_mut().unwrap().block_bytes = 2000;
    let batch = Samples {
        count: 300_000,
        fields: vec![Records::Each { bytes: vec![&[7u8; 30][..]; 300_000], shapes: Vec::new() }],
        columns: Vec::new(),
    };
    let error = writer.append_batch(&batch, &mut || Err(Error::new(Kind::State, "stop"))).unwrap_err();
    assert_eq!(error.message(), "stop");
    let count = writer.count();
    assert!(count < 300_000);
    writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())).unwrap();
    assert_eq!(writer.publish(&mut || Ok(())).unwrap().samples, count + 1);
}

/// Holds a cache back in the moment in which it is shown.
#[derive(Default)]
struct Gate {
    is_reached: AtomicBool,
    is_open: AtomicBool,
}

impl Observer for Gate {
    fn operation(&self, operation: &Operation<'_>, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if matches!(operation, Operation::Rename { .. }) {
            self.is_reached.store(true, SeqCst);
            while !self.is_open.load(SeqCst) {
                std::thread::yield_now();
            }
        }
        run()
    }
}

#[test]
fn an_error_that_ends_the_wait_says_that_the_cache_was_published_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let gate = Arc::new(Gate::default());
    let disk = Disk::observed(gate.clone());
    let mut writer = Writer::create_on(disk, &target, options(vec![byte_field(Codec::Raw)], &[])).unwrap();
    writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())).unwrap();
    let mut stop = || {
        if !gate.is_reached.load(SeqCst) {
            return Ok(());
        }
        gate.is_open.store(true, SeqCst);
        Err(Error::new(Kind::State, "stop"))
    };
    let error = writer.publish(&mut stop).unwrap_err();
    assert_eq!(error.to_string(), "stop; the cache was published all the same, and is durable");
    assert_eq!((manifest(&target).samples, names(root.path())), (1, vec!["x".to_owned()]));
}
