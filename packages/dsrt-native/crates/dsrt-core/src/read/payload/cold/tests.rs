use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use rustix::fs::{Advice, fadvise};

use super::super::share::{COPIED, DECODED, MAPPED};
use super::*;
use crate::batch::Heap;
use crate::dtype::DType;
use crate::field::{Codec, Field, FieldKind};
use crate::format::json::Value as Json;
use crate::read::maps::Maps;
use crate::read::{Access, Cache, Io, OnDamage, PayloadSource, Rows, Source, Threads, gather};
use crate::write::{Earlier, Encoding, Record, Writer, WriterOptions};

const SAMPLES: u64 = 200;
const NAMES: [&str; 3] = ["dense", "ragged", "bytes"];

/// Records of about a page, in shards of 16.
fn write(root: &Path) {
    let field = |name: &str, kind, codec| {
        let field = Field { name: name.into(), kind, dtype: DType::UInt8, codec, delta: 0 };
        (field, Encoding { level: 3, dictionary: None })
    };
    let options = WriterOptions {
        fields: vec![
            field("dense", FieldKind::Dense([3000].into()), Codec::Raw),
            field("ragged", FieldKind::Ragged(1), Codec::Raw),
            field("bytes", FieldKind::Bytes, Codec::Zstd),
        ],
        metadata: Vec::new(),
        fingerprint: None,
        attributes: Json::Object(Default::default()),
        samples_per_shard: 16,
        shard_bytes: 1 << 20,
        replace: false,
        threads: 1,
        earlier: Earlier::Ask,
    };
    let mut writer = Writer::create(root, options).unwrap();
    for sample in 0..SAMPLES {
        let [dense, ragged, bytes] = NAMES.map(|name| record(name, sample));
        let records = [(&dense, 3000), (&ragged, ragged.len() as u64), (&bytes, bytes.len() as u64)];
        let shapes = records.map(|(_, length)| [length]);
        let records: Vec<_> = records.iter().zip(&shapes).map(|((bytes, _), shape)| Record { bytes, shape }).collect();
        writer.append(&records, &[], &mut || Ok(())).unwrap();
    }
    writer.publish(&mut || Ok(())).unwrap();
}

fn record(name: &str, sample: u64) -> Vec<u8> {
    let length = if name == "dense" { 3000 } else { sample * 37 % 9000 };
    (0..length).map(|byte| (byte * byte / 7 + sample) as u8).collect()
}

/// Has the kernel forget what it can of the files of a cache, which are durable.
fn evict(root: &Path) {
    for name in NAMES {
        for file in std::fs::read_dir(root.join("fields").join(name)).unwrap() {
            let file = File::open(file.unwrap().path()).unwrap();
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        }
    }
}

fn open(root: &Path, io: Io, maps: &'static Maps) -> Cache {
    Cache::open_named(root, &"x".into(), true, io, maps).unwrap()
}

fn check(cache: &Cache, name: &str, samples: &[u64]) {
    let ids: Vec<_> = samples.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
    let valid = vec![true; samples.len()];
    let rows = Rows { ids: &ids, rows: samples, positions: samples, valid: &valid, seed: 0, look: &|| Ok(()) };
    let source: Arc<dyn Source> = Arc::new(PayloadSource::new([cache.clone()].into(), name).unwrap());
    let batch = gather(&[(name.into(), source)], &rows, &Heap, OnDamage::Raise, Threads::Given(2)).unwrap();
    let values = batch.columns[0].layout.spans().next().unwrap();
    let expected: Vec<_> = samples.iter().flat_map(|sample| record(name, *sample)).collect();
    assert!(values.of(batch.buffer.bytes()).unwrap() == expected, "{name}: {samples:?}");
}

/// Samples of a batch: from everywhere, or in order.
fn batches() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        prop::collection::vec(0..SAMPLES, 0..40),
        (0..SAMPLES, 1..40u64).prop_map(|(from, count)| (from..SAMPLES.min(from + count)).collect()),
    ]
}

#[test]
fn records_are_the_same_cold_and_warm_mapped_and_read() {
    static MANY: Maps = Maps::new(1000);
    static FEW: Maps = Maps::new(4);
    static NONE: Maps = Maps::new(0);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("x");
    write(&root);
    let calls = prop::collection::vec((batches(), any::<bool>(), any::<bool>()), 1..8);
    proptest!(ProptestConfig::with_cases(24), |(calls in calls)| {
        let caches = [(Io::Mmap, &MANY), (Io::Mmap, &FEW), (Io::Mmap, &NONE), (Io::Pread, &MANY)];
        let caches = caches.map(|(io, maps)| open(&root, io, maps));
        for (samples, is_cold, is_known) in &calls {
            if *is_cold {
                evict(&root);
            }
            for (cache, (number, name)) in caches.iter().flat_map(|cache| NAMES.iter().enumerate().map(move |c| (cache, c))) {
                if *is_known {
                    cache.field(number).unwrap().warmth().unwrap().note(!is_cold, u32::MAX);
                }
                check(cache, name, samples);
            }
        }
    });
}

#[test]
fn a_cache_of_more_files_than_may_be_mapped_is_read_beyond_them() {
    static FIVE: Maps = Maps::new(5);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("x");
    write(&root);
    let cache = open(&root, Io::Mmap, &FIVE);
    let all: Vec<_> = (0..SAMPLES).collect();
    for name in NAMES {
        check(&cache, name, &all);
    }
    assert_eq!((FIVE.count(), cache.access()), (5, Access::Mmap));
    // Only of what is mapped there are views; the first field came first.
    let views = (0..SAMPLES).step_by(16).filter(|from| {
        let view = cache.slice(0, *from, from + 2).unwrap();
        view.is_some_and(|view| *view == [*from, from + 1].map(|sample| record("dense", sample)).concat())
    });
    assert_eq!(views.count(), 5);
    cache.close();
    assert_eq!(FIVE.count(), 0);
    check(&open(&root, Io::Mmap, &FIVE), "bytes", &all);
}

#[test]
fn a_whole_shard_can_be_viewed_cold() {
    static MANY: Maps = Maps::new(100);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("x");
    write(&root);
    for verify in [true, false] {
        evict(&root);
        let cache = Cache::open_named(&root, &"x".into(), verify, Io::Mmap, &MANY).unwrap();
        let expected: Vec<_> = (16..32).flat_map(|sample| record("dense", sample)).collect();
        assert!(*cache.slice(0, 16, 32).unwrap().unwrap() == expected);
        let lengths: Vec<_> = (0..SAMPLES).map(|sample| record("ragged", sample).len() as u64).collect();
        assert_eq!(cache.lengths(1).unwrap(), lengths);
    }
}

#[test]
fn parts_are_asked_for_in_whole_pages_and_each_page_once() {
    static MANY: Maps = Maps::new(100);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("x");
    write(&root);
    let readers = Readers { all: vec![open(&root, Io::Mmap, &MANY).field(0).unwrap()], is_cold: true };
    let mut finder = Finder::new(&readers);
    let page = rustix::param::page_size() as u64;
    let mut asked = |parts: &[(u64, u64, u64)]| {
        let mut found = Parts::default();
        for (sample, from, to) in parts {
            let place = finder.place(Id { cache: 0, sample: *sample }).unwrap();
            found.add(&place, Some(from * page + 1..to * page)).unwrap();
        }
        found.ask();
        found.asked / page
    };
    assert_eq!(asked(&[]), 0);
    assert_eq!(asked(&[(0, 0, 1), (0, 0, 1), (1, 1, 2), (2, 2, 5)]), 5);
    assert_eq!(asked(&[(0, 5, 9), (0, 0, 1), (1, 6, 8), (2, 8, 10)]), 6);
    // Other shards are other files.
    assert_eq!(asked(&[(0, 0, 4), (16, 0, 4), (32, 3, 4), (1, 2, 5)]), 10);
}

#[test]
fn samples_are_in_order_if_each_follows_the_one_before() {
    let run = |numbers: &[(u32, u64)]| {
        let ids: Vec<_> = numbers.iter().map(|(cache, sample)| Id { cache: *cache, sample: *sample }).collect();
        in_order(&ids)
    };
    assert_eq!(run(&[]), None);
    assert_eq!(run(&[(1, 7)]), Some(7..8));
    assert_eq!(run(&[(1, 7), (1, 8), (1, 9)]), Some(7..10));
    for numbers in [[(1, 7), (1, 9)], [(1, 7), (2, 8)], [(1, 7), (1, 7)], [(1, 7), (1, 6)], [(0, u64::MAX), (0, 0)]] {
        assert_eq!(run(&numbers), None);
    }
}

#[test]
fn samples_whose_pages_are_not_mapped_are_worth_more_threads_than_their_bytes() {
    static MANY: Maps = Maps::new(100);
    let root = tempfile::tempdir().unwrap();
    let root = root.path().join("x");
    write(&root);
    let cache = open(&root, Io::Mmap, &MANY);
    let source = |name| PayloadSource::new([cache.clone()].into(), name).unwrap();
    let worth = |name, bytes, samples| source(name).readers().unwrap().worth(bytes, samples);
    assert_eq!([worth("dense", 3000 << 8, 256), worth("dense", 64 << 30, 2)], [3000 * MAPPED, COPIED]);
    assert_eq!([worth("dense", 256, 256), worth("dense", 0, 0)], [MAPPED, 0]);
    cache.field(0).unwrap().warmth().unwrap().note(true, u32::MAX);
    cache.field(2).unwrap().warmth().unwrap().note(true, u32::MAX);
    assert_eq!([worth("dense", 3000 << 8, 256), worth("bytes", 3000 << 8, 256)], [COPIED, DECODED]);
}
