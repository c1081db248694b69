use std::path::PathBuf;

use super::*;
use crate::dtype::DType;
use crate::field::{Codec, Field, FieldKind};
use crate::format::header;
use crate::format::manifest::Manifest;
use crate::write::Dictionary;
use crate::write::options::tests::{field, options};

mod pipeline;
mod resume;
mod serial;

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Every file below `path`, by its path from there.
fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![path.to_path_buf()];
    while let Some(directory) = open.pop() {
        for name in names(&directory) {
            let at = directory.join(name);
            if at.is_dir() {
                open.push(at);
            } else {
                found.push((at.strip_prefix(path).unwrap().to_path_buf(), std::fs::read(&at).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn manifest(cache: &Path) -> Manifest {
    Manifest::parse(&std::fs::read(cache.join("manifest.json")).unwrap()).unwrap()
}

fn byte_field(codec: Codec) -> (Field, crate::write::Encoding) {
    field("data", FieldKind::Bytes, DType::UInt8, codec)
}

fn bytes<'a>(bytes: &'a [u8], shape: &'a [u64; 1]) -> Record<'a> {
    Record { bytes, shape }
}

/// Appends until that fails, which is soon.
fn first_error(writer: &mut Writer) -> Error {
    loop {
        if let Err(error) = writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())) {
            return error;
        }
    }
}

#[test]
fn a_cache_of_no_samples_is_complete() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("empty");
    let fields = vec![field("x", FieldKind::Dense([].into()), DType::UInt8, Codec::Raw)];
    let published = Writer::create(&target, options(fields, &[])).unwrap().publish(&mut || Ok(())).unwrap();
    assert_eq!((published.samples, published.warnings.len()), (0, 0));
    // The worked example of the specification.
    assert_eq!(
        std::fs::read_to_string(target.join("manifest.json")).unwrap(),
        r#"{"digest":"507f7e5e5ae2cc21b51996d37ad0d08f1a85ff01f53616cb09bf8e27fdf5fb4e","attributes":{},"#.to_owned()
            + r#""fields":[{"codec":"raw","dtype":"uint8","files":[],"kind":"dense","name":"x","shape":[]}],"#
            + r#""fingerprint":null,"format":1,"metadata":null,"name":"empty","samples":0,"shards":[]}"#
    );
    assert_eq!(names(root.path()), ["empty"]);
}

#[test]
fn shards_rotate_by_samples_and_by_stored_bytes_whichever_comes_first() {
    let root = tempfile::tempdir().unwrap();
    let mut options =
        options(vec![byte_field(Codec::Raw), field("n", FieldKind::Ragged(1), DType::Int16, Codec::Raw)], &[]);
    options.samples_per_shard = 4;
    options.shard_bytes = 100;
    let target = root.path().join("x");
    let mut writer = Writer::create(&target, options).unwrap();
    for length in [0, 0, 0, 0, 99, 1, 500, 3, 100, 7] {
        writer
            .append(
                &[bytes(&vec![1; length], &[length as u64]), Record { bytes: &[1, 2], shape: &[1] }],
                &[],
                &mut || Ok(()),
            )
            .unwrap();
    }
    assert_eq!(writer.count(), 10);
    writer.publish(&mut || Ok(())).unwrap();
    let manifest = manifest(&target);
    assert_eq!(manifest.shards, [4, 2, 1, 2, 1]);
    assert_eq!(names(&target.join("fields/data")).last().unwrap(), "00004.shard");
    assert_eq!(manifest.fields[0].files.len(), 5);
    for (entry, number) in manifest.fields[0].files.iter().zip(0..) {
        let file = std::fs::read(target.join(format!("fields/data/{number:05}.shard"))).unwrap();
        assert_eq!(file.len() as u64, entry.bytes);
        let count = manifest.shards[number];
        assert_eq!(file[..64], header::shard(&manifest.fields[0].field, count, entry.bytes, &entry.body));
    }
}

#[test]
fn a_refused_sample_changes_nothing() {
    let write = |with_bad_ones: bool| {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("x");
        let fields = vec![
            byte_field(Codec::Zstd),
            field("flag", FieldKind::Dense([2].into()), DType::Bool, Codec::Raw),
            field("text", FieldKind::Text, DType::UInt8, Codec::Raw),
        ];
        let mut writer = Writer::create(&target, options(fields, &[("n", "int8"), ("weight", "float64")])).unwrap();
        for i in 0..5 {
            let good = (bytes(b"abc", &[3]), Record { bytes: &[0, 1], shape: &[2] }, bytes(b"t", &[1]));
            let row = [Value::Int(i), Value::Float(1.0)];
            if with_bad_ones {
                let refused = |writer: &mut Writer, records: [Record<'_>; 3], row: [Value<'_>; 2], name: &str| {
                    let error = writer.append(&records, &row, &mut || Ok(())).unwrap_err();
                    assert_eq!(error.kind(), Kind::Schema);
                    assert_eq!((error.place().field.as_deref(), error.place().sample), (Some(name), Some(i as u64)));
                };
                refused(&mut writer, [good.0, Record { bytes: &[0, 2], shape: &[2] }, good.2], row, "flag");
                refused(&mut writer, [good.0, good.1, bytes(&[0xff], &[1])], row, "text");
                refused(&mut writer, [bytes(b"abc", &[4]), good.1, good.2], row, "data");
                refused(&mut writer, good.into(), [Value::Int(128), row[1]], "n");
                refused(&mut writer, good.into(), [row[0], Value::Null], "weight");
            }
            writer.append(&[good.0, good.1, good.2], &row, &mut || Ok(())).unwrap();
        }
        assert_eq!(writer.publish(&mut || Ok(())).unwrap().samples, 5);
        files(&target)
    };
    assert_eq!(write(true), write(false));
}

#[test]
fn a_writer_that_is_dropped_or_aborted_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("deep/x");
    for abort in [false, true] {
        let mut writer = Writer::create(&target, options(vec![byte_field(Codec::Raw)], &[("n", "int8")])).unwrap();
        writer.append(&[bytes(b"abc", &[3])], &[Value::Int(1)], &mut || Ok(())).unwrap();
        assert_eq!(names(&root.path().join("deep")), [".x.building"]);
        if abort {
            writer.abort(&mut || Ok(()));
        } else {
            drop(writer);
        }
        assert!(names(root.path()).is_empty());
    }
}

#[test]
fn after_a_failed_operation_the_writer_is_at_its_end_and_nothing_is_left() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.samples_per_shard = 1;
    let mut writer = Writer::create(&target, options).unwrap();
    writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())).unwrap();
    // The next shard's name is taken, so that it cannot be created.
    std::fs::write(root.path().join(".x.building/cache/fields/data/00001.shard"), "").unwrap();
    let error = first_error(&mut writer);
    assert_eq!(error.kind(), Kind::Io);
    assert!(error.to_string().starts_with("creating "), "{error}");
    assert!(names(root.path()).is_empty());
    let later = writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())).unwrap_err();
    assert_eq!(later.kind(), Kind::State);
    assert!(later.to_string().contains("00001.shard"), "{later}");
    assert_eq!(writer.publish(&mut || Ok(())).unwrap_err().kind(), Kind::State);
}

#[test]
fn bad_options_touch_nothing() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut damaged = byte_field(Codec::ZstdDict);
    damaged.1.dictionary = Some(Dictionary::Body(b"\x37\xA4\x30\xEC and nonsense".to_vec()));
    let error = Writer::create(&target, options(vec![damaged], &[])).err().unwrap();
    assert_eq!((error.kind(), error.place().field.as_deref()), (Kind::Schema, Some("data")));
    let error = Writer::create(&root.path().join("a.b"), options(vec![byte_field(Codec::Raw)], &[])).err().unwrap();
    assert_eq!(error.kind(), Kind::Schema);
    assert!(names(root.path()).is_empty());
}

#[test]
fn a_dictionary_is_a_file_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut data = byte_field(Codec::ZstdDict);
    data.1.dictionary = Some(Dictionary::Body(b"a dictionary of raw content".to_vec()));
    let mut writer = Writer::create(&target, options(vec![data], &[])).unwrap();
    writer.append(&[bytes(b"raw content of a dictionary", &[27])], &[], &mut || Ok(())).unwrap();
    writer.publish(&mut || Ok(())).unwrap();
    let file = std::fs::read(target.join("fields/data/dictionary.bin")).unwrap();
    let entry = manifest(&target).fields[0].dictionary.clone().unwrap();
    assert_eq!(entry.bytes, file.len() as u64);
    assert_eq!(file[..64], header::dictionary(entry.bytes, &entry.body));
    assert_eq!(&file[64..], b"a dictionary of raw content");
}

#[test]
fn a_rebuild_replaces_the_cache_when_it_is_complete_and_not_before() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let write = |records: u64, replace: bool| {
        let mut options = options(vec![byte_field(Codec::Raw)], &[]);
        options.replace = replace;
        let mut writer = Writer::create(&target, options)?;
        (0..records).for_each(|_| writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())).unwrap());
        Ok::<_, Error>(writer)
    };
    write(1, false).unwrap().publish(&mut || Ok(())).unwrap();
    assert_eq!(write(2, false).err().unwrap().kind(), Kind::Exists);
    write(2, true).unwrap().abort(&mut || Ok(()));
    assert_eq!(manifest(&target).samples, 1);
    write(2, true).unwrap().publish(&mut || Ok(())).unwrap();
    assert_eq!(manifest(&target).samples, 2);
    assert_eq!(names(root.path()), ["x"]);
}

#[test]
fn a_manifest_that_readers_would_refuse_is_refused_at_the_seal() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.samples_per_shard = 1;
    let empty = options.manifest("x").unwrap().to_bytes().len() as u64;
    let limit = crate::format::manifest::MAX_BYTES;
    // Room for one shard, and not for two. A fingerprint is part of the manifest, and may be long.
    options.fingerprint = Some("f".repeat((limit - empty - 400) as usize));
    let mut writer = Writer::create(&root.path().join("x"), options).unwrap();
    writer.append(&[bytes(b"", &[0])], &[], &mut || Ok(())).unwrap();
    let error = first_error(&mut writer);
    assert!(error.to_string().contains("samples_per_shard"), "{error}");
    assert!(error.to_string().contains("1 samples are durable"), "{error}");
    assert_eq!((writer.durable(), names(root.path())), (1, vec![".x.building".to_owned()]));
}

#[test]
fn what_is_written_can_be_read() {
    use arrow_array::cast::AsArray;

    use crate::batch::{Heap, Layout};
    use crate::read::{Cache, Id, OnDamage, PayloadSource, Rows, Source, Threads, gather};

    let root = tempfile::tempdir().unwrap();
    let mut data = byte_field(Codec::ZstdDict);
    data.1.dictionary = Some(Dictionary::Body(b"a dictionary of raw content".to_vec()));
    data.0.delta = 2;
    let mut options = options(vec![data], &[("text", "string")]);
    options.samples_per_shard = 3;
    let target = root.path().join("x");
    let mut writer = Writer::create(&target, options).unwrap();
    let records: Vec<Vec<u8>> = (0..10).map(|i| (0..i * 40).map(|j| (i * j) as u8).collect()).collect();
    for record in &records {
        let text = format!("a record of {} bytes", record.len());
        writer.append(&[bytes(record, &[record.len() as u64])], &[Value::Str(&text)], &mut || Ok(())).unwrap();
    }
    writer.publish(&mut || Ok(())).unwrap();

    let caches: std::sync::Arc<[Cache]> = vec![Cache::open(&target, true).unwrap()].into();
    let table = caches[0].table().unwrap();
    let texts = table.batches().unwrap()[0].column(0).clone();
    assert_eq!(texts.as_string_view().value(9), "a record of 360 bytes");
    let source: std::sync::Arc<dyn Source> = std::sync::Arc::new(PayloadSource::new(caches.clone(), "data").unwrap());
    let places: Vec<u64> = (0..10).collect();
    let ids: Vec<_> = places.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
    let rows = Rows { ids: &ids, rows: &places, positions: &places, valid: &[true; 10], seed: 0, look: &|| Ok(()) };
    let batch = gather(&[("data".into(), source)], &rows, &Heap, OnDamage::Raise, Threads::Given(1)).unwrap();
    let Layout::Strings { values, .. } = &batch.columns[0].layout else { panic!("bytes are strings") };
    assert_eq!(values.of(batch.buffer.bytes()).unwrap(), records.concat());
}

/// Panics where the second shard is created.
struct Defect;

impl crate::write::Observer for Defect {
    fn operation(
        &self,
        operation: &crate::write::Operation<'_>,
        run: &mut dyn FnMut() -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match operation {
            crate::write::Operation::Create { path } if path.ends_with("00001.shard") => panic!("a defect"),
            _ => run(),
        }
    }
}

/// A process that has as many files open as it may have.
struct Full;

impl crate::write::Observer for Full {
    fn operation(
        &self,
        operation: &crate::write::Operation<'_>,
        run: &mut dyn FnMut() -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match operation {
            crate::write::Operation::Create { path } if path.ends_with("00001.shard") => {
                Err(rustix::io::Errno::MFILE.into())
            }
            _ => run(),
        }
    }
}

#[test]
fn too_many_open_files_are_counted_and_the_way_out_is_named() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.samples_per_shard = 1;
    let disk = Disk::observed(std::sync::Arc::new(Full));
    let mut writer = Writer::create_on(disk, &root.path().join("x"), options).unwrap();
    let error = first_error(&mut writer);
    assert_eq!(error.os_code(), Some(24));
    for part in ["00001.shard: of each of 1 fields", "2 in all", "`ulimit -n`: Too many open files"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_panic_in_a_thread_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.samples_per_shard = 1;
    let disk = Disk::observed(std::sync::Arc::new(Defect));
    let mut writer = Writer::create_on(disk, &root.path().join("x"), options).unwrap();
    let error = first_error(&mut writer);
    assert_eq!(error.kind(), Kind::Internal);
    assert!(error.to_string().contains("panicked: a defect"), "{error}");
    let error = writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(())).unwrap_err();
    assert_eq!(error.kind(), Kind::State);
    assert_eq!(names(root.path()), Vec::<String>::new());
}
