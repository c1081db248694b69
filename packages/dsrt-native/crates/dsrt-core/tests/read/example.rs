//! The example caches that the specification publishes, read.

use crate::support::{change, copy, example, gather_field, records};
use dsrt_core::Kind;
use dsrt_core::read::{Cache, OnDamage, PayloadSource};

const FIELDS: [&str; 5] = ["image", "feat", "tokens", "jpeg", "caption"];

fn demo() -> Cache {
    Cache::open(&example("demo"), true).unwrap()
}

fn read(cache: &Cache, field: &str) -> Vec<Vec<u8>> {
    records(&gather_field(cache, field, &[0, 1, 2, 3, 4], OnDamage::Raise).unwrap())
}

fn le<const N: usize, T>(values: &[T], bytes: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(bytes).collect()
}

#[test]
fn a_cache_without_samples_opens_and_gathers_nothing() {
    let cache = Cache::open(&example("empty"), true).unwrap();
    assert_eq!((cache.len(), cache.id()), (0, 5_800_493_788_793_326_625));
    assert_eq!(records(&gather_field(&cache, "x", &[], OnDamage::Raise).unwrap()), Vec::<Vec<u8>>::new());
    assert_eq!(gather_field(&cache, "x", &[0], OnDamage::Mask).err().unwrap().kind(), Kind::Index);
    assert_eq!(cache.lengths(0).unwrap(), []);
}

#[test]
fn every_field_reads_as_written() {
    let cache = demo();
    assert_eq!((cache.len(), cache.id()), (5, 1_779_736_405_239_361_470));
    assert_eq!(read(&cache, "image"), (0..5).map(|i| vec![i; 12]).collect::<Vec<_>>());
    let tokens: Vec<_> = (0..5).map(|n| le(&(0..n).collect::<Vec<i32>>(), |x| x.to_le_bytes())).collect();
    assert_eq!(read(&cache, "tokens"), tokens);
    let feat: Vec<_> = (0..5).map(|i| le(&[0, 1, 2, 3].map(|k| (i + k) as f32), |x| x.to_le_bytes())).collect();
    assert_eq!(read(&cache, "feat"), feat);
    assert_eq!(read(&cache, "jpeg"), (0..5).map(|i| [0xff, 0xd8].repeat(i)).collect::<Vec<_>>());
    assert_eq!(read(&cache, "caption"), (0..5).map(|i| "ü".repeat(i).into_bytes()).collect::<Vec<_>>());
}

#[test]
fn any_order_with_repetitions_is_the_order_of_the_batch() {
    let cache = demo();
    for field in FIELDS {
        let all = read(&cache, field);
        let order = [4, 0, 4, 3, 1, 2, 2];
        let batch = gather_field(&cache, field, &order, OnDamage::Raise).unwrap();
        assert_eq!(records(&batch), order.map(|i| all[i as usize].clone()));
    }
}

#[test]
fn lengths_count_elements_without_reading_records() {
    let cache = demo();
    let lengths = |field: &str| {
        let number = FIELDS.iter().position(|name| *name == field).unwrap();
        cache.lengths(number).unwrap()
    };
    assert_eq!(lengths("image"), [12; 5]);
    assert_eq!(lengths("feat"), [4; 5]);
    assert_eq!(lengths("tokens"), [0, 1, 2, 3, 4]);
    for field in ["jpeg", "caption"] {
        let expected: Vec<_> = read(&cache, field).iter().map(|record| record.len() as u64).collect();
        assert_eq!(lengths(field), expected);
    }
}

#[test]
fn slices_view_the_file_inside_one_fixed_shard() {
    let cache = demo();
    assert_eq!(*cache.slice(0, 1, 3).unwrap().unwrap(), [[1; 12], [2; 12]].concat());
    assert_eq!(*cache.slice(0, 3, 5).unwrap().unwrap(), [[3; 12], [4; 12]].concat());
    assert!(cache.slice(0, 2, 4).unwrap().is_none());
    assert!(cache.slice(1, 0, 1).unwrap().is_none());
    assert!(cache.slice(0, 1, 1).unwrap().is_none());
    assert_eq!(cache.slice(0, 4, 6).err().unwrap().kind(), Kind::Index);
}

#[test]
fn a_closed_cache_refuses_reads_and_views_of_it_live_on() {
    let cache = demo();
    let slice = cache.slice(0, 0, 3).unwrap().unwrap();
    let clone = cache.clone();
    cache.close();
    cache.close();
    let error = gather_field(&clone, "image", &[0], OnDamage::Mask).err().unwrap();
    assert_eq!((error.kind(), error.place().cache.as_deref()), (Kind::State, Some(&**clone.path())));
    assert!(clone.table().is_err() && clone.lengths(2).is_err() && clone.slice(0, 0, 1).is_err());
    assert_eq!((clone.len(), slice[0], slice[35]), (5, 0, 2));
}

#[test]
fn a_path_without_a_cache_is_not_published() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().join("nothing"), directory.path().into(), example("demo").join("manifest.json")] {
        let error = Cache::open(&path, true).err().unwrap();
        assert_eq!((error.kind(), error.rule_number()), (Kind::NotPublished, Some(0)), "{error}");
        assert_eq!(error.place().cache.as_deref(), path.to_str());
    }
    std::fs::create_dir(directory.path().join("manifest.json")).unwrap();
    assert_eq!(Cache::open(directory.path(), true).err().unwrap().rule_number(), Some(0));
}

#[test]
fn every_file_must_be_there_with_its_length() {
    let files =
        ["fields/image/00001.shard", "fields/tokens/dictionary.bin", "fields/caption/00000.shard", "metadata.arrow"];
    for file in files {
        let cache = copy(&example("demo"));
        let path = cache.path().join(file);
        change(&path, |bytes| bytes.push(0));
        let longer = Cache::open(cache.path(), true).err().unwrap();
        std::fs::remove_file(&path).unwrap();
        let missing = Cache::open(cache.path(), true).err().unwrap();
        std::fs::create_dir(&path).unwrap();
        let directory = Cache::open(cache.path(), true).err().unwrap();
        for error in [longer, missing, directory] {
            assert_eq!((error.kind(), error.rule_number()), (Kind::Format, Some(30)), "{error}");
            assert_eq!(error.place().field.is_some(), file.starts_with("fields"), "{error}");
        }
    }
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_block() {
    let cache = copy(&example("demo"));
    let open = Cache::open(cache.path(), true).unwrap();
    let path = cache.path().join("fields/image/00000.shard");
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(Cache::open(cache.path(), true).err().unwrap().rule_number(), Some(30));
    let error = gather_field(&open, "image", &[1], OnDamage::Raise).err().unwrap();
    assert_eq!((error.kind(), error.rule_number(), error.place().shard), (Kind::Data, Some(30), Some(0)));
}

#[test]
fn fields_that_are_read_together_must_be_alike() {
    let caches = [demo(), Cache::open(&example("empty"), true).unwrap()];
    let error = PayloadSource::new(caches.into(), "x").err().unwrap();
    assert_eq!(error.kind(), Kind::Schema);
    assert!(PayloadSource::new([demo(), demo()].into(), "tokens").is_ok());
}

#[test]
fn any_thread_may_use_a_cache() {
    let cache = demo();
    let expected: Vec<_> = FIELDS.iter().map(|field| read(&demo(), field)).collect();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for (field, expected) in FIELDS.iter().zip(&expected) {
                    assert_eq!(read(&cache, field), *expected);
                }
                assert_eq!(cache.table().unwrap().batches().unwrap()[0].num_rows(), 5);
            });
        }
    });
}
