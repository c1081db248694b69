//! Files that change under an open cache that maps none of them: the old bytes, or an error that names the place.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use dsrt_core::Kind;
use dsrt_core::read::{Access, Cache, Io, MetadataSource, OnDamage};

use crate::support::{copy, example, gather_field, gather_source, records};

const FIELDS: [&str; 5] = ["image", "feat", "tokens", "jpeg", "caption"];
const ALL: [u64; 5] = [0, 1, 2, 3, 4];
/// The first sample of the second shard.
const SECOND: usize = 3;

fn open(path: &Path) -> Cache {
    Cache::open_by(path, true, Io::Pread).unwrap()
}

fn read(cache: &Cache, field: &str) -> Vec<Vec<u8>> {
    records(&gather_field(cache, field, &ALL, OnDamage::Raise).unwrap())
}

#[test]
fn a_shard_that_is_cut_off_anywhere_gives_what_is_left_of_it() {
    for field in FIELDS {
        let directory = copy(&example("demo"));
        let cache = open(directory.path());
        let sound = read(&cache, field);
        let file = directory.path().join(format!("fields/{field}/00001.shard"));
        let file = File::options().write(true).open(file).unwrap();
        let length = file.metadata().unwrap().len();
        for length in (0..length).rev() {
            file.set_len(length).unwrap();
            let mut lost = Vec::new();
            for sample in ALL {
                match gather_field(&cache, field, &[sample], OnDamage::Raise) {
                    Ok(batch) => assert_eq!(records(&batch)[0], sound[sample as usize], "{field} {length}"),
                    Err(error) => {
                        let place = error.place();
                        assert_eq!((error.kind(), error.rule_number()), (Kind::Data, Some(30)), "{error}");
                        assert_eq!((place.cache.as_ref(), place.field.as_deref()), (Some(cache.path()), Some(field)));
                        assert_eq!((place.shard, place.sample), (Some(1), Some(sample)));
                        assert!(error.message().starts_with(&format!("fields/{field}/00001.shard ends before byte")));
                        lost.push(sample as usize);
                    }
                }
            }
            // The last checksum is the last of the file, so the last record is always lost.
            assert!(lost.ends_with(&[4]) && lost.iter().all(|sample| *sample >= SECOND), "{field} {length}: {lost:?}");
            // Neighbours are read together, and judged one by one.
            let error = gather_field(&cache, field, &ALL, OnDamage::Raise).err().unwrap();
            assert_eq!(error.place().sample, Some(lost[0] as u64));
            let masked = gather_field(&cache, field, &ALL, OnDamage::Mask).unwrap();
            assert_eq!(masked.damaged.iter().map(|(place, _)| *place).collect::<Vec<_>>(), lost);
            assert!((0..SECOND).all(|sample| records(&masked)[sample] == sound[sample]));
        }
        assert_eq!(cache.lengths(0).unwrap(), [12; 5]);
        if ["tokens", "jpeg", "caption"].contains(&field) {
            let number = FIELDS.iter().position(|name| *name == field).unwrap();
            let error = cache.lengths(number).unwrap_err();
            assert_eq!((error.rule_number(), error.place().shard), (Some(30), Some(1)));
        }
    }
}

#[test]
fn files_that_are_open_stay_what_they_were_and_others_are_found_changed() {
    let directory = copy(&example("demo"));
    let cache = open(directory.path());
    let sound = FIELDS.map(|field| read(&cache, field));
    let late = open(directory.path());
    let table = late.table().unwrap();
    for field in FIELDS {
        let file = |name: &str| directory.path().join(format!("fields/{field}/{name}"));
        // The first shard of another file's length, the second gone.
        std::fs::write(file("new"), [0; 99]).unwrap();
        std::fs::rename(file("new"), file("00000.shard")).unwrap();
        std::fs::remove_file(file("00001.shard")).unwrap();
    }
    std::fs::remove_file(directory.path().join("metadata.arrow")).unwrap();
    for (field, sound) in FIELDS.iter().zip(sound) {
        assert_eq!(read(&cache, field), sound);
        for sample in ALL {
            let error = gather_field(&late, field, &[sample], OnDamage::Raise).err().unwrap();
            assert_eq!((error.kind(), error.rule_number()), (Kind::Data, Some(30)), "{error}");
        }
    }
    assert_eq!(table.batches().unwrap()[0].num_rows(), 5);
    assert_eq!(cache.table().err().unwrap().rule_number(), Some(30));
}

#[test]
fn there_is_no_view_of_a_file_that_is_not_mapped() {
    let cache = open(&example("demo"));
    assert_eq!(cache.access(), Access::Pread);
    assert!(cache.slice(0, 0, 2).unwrap().is_none());
    assert!(Cache::open(&example("demo"), true).unwrap().slice(0, 0, 2).unwrap().is_some());
}

#[test]
fn of_metadata_only_the_files_that_a_batch_is_from_are_looked_at() {
    let directory = copy(&example("demo"));
    let caches = [Cache::open(&example("demo"), true).unwrap(), Cache::open(directory.path(), true).unwrap()];
    let source = MetadataSource::new(caches.into(), "label").unwrap();
    File::options().write(true).open(directory.path().join("metadata.arrow")).unwrap().set_len(100).unwrap();
    let batch = gather_source("label", Arc::new(source), &ALL, OnDamage::Raise).unwrap();
    assert_eq!(records(&batch), ALL.map(|n| n.to_ne_bytes().to_vec()));
}

#[test]
fn mapped_metadata_that_is_cut_off_gives_no_zeros() {
    let directory = copy(&example("demo"));
    let cache = Cache::open(directory.path(), true).unwrap();
    let label = || {
        let source = MetadataSource::new([cache.clone()].into(), "label")?;
        gather_source("label", Arc::new(source), &ALL, OnDamage::Mask).map(|batch| records(&batch))
    };
    let table = cache.table().unwrap();
    assert_eq!(label().unwrap(), ALL.map(|n| n.to_ne_bytes().to_vec()));
    // Within its first page the map goes on, and what was cut off reads as zeros.
    let file = File::options().write(true).open(directory.path().join("metadata.arrow")).unwrap();
    file.set_len(100).unwrap();
    let error = label().unwrap_err();
    assert_eq!((error.kind(), error.rule_number()), (Kind::Data, Some(30)), "{error}");
    assert_eq!(error.place().field.as_deref(), Some("label"));
    assert_eq!(table.is_null(0, 1).unwrap_err().rule_number(), Some(30));
    assert!(table.batches().is_err());
}
