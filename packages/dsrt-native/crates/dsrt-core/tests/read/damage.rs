//! Damaged files: what is found, where, by which rule, and what `mask` makes of it.
//!
//! Whatever lies behind the record checksum is reached by reading without it (`verify` false), as a file that was
//! forged with good checksums would be.

use std::path::Path;
use std::sync::Arc;

use crate::support::{change, copy, example, gather_field, gather_wide, integers, records, widened};
use dsrt_core::batch::{Batch, Layout};
use dsrt_core::error::Place;
use dsrt_core::read::{Cache, Id, Io, OnDamage, PayloadSource, Rows, Source, Threads, gather_into};
use dsrt_core::{Error, Kind, Result};

const ALL: [u64; 5] = [0, 1, 2, 3, 4];

/// The demo with one file changed, opened before the change: mapped, and to be read by `pread`.
struct Damaged {
    cache: Cache,
    read: Cache,
    _directory: tempfile::TempDir,
}

fn damaged(verify: bool, file: &str, edit: impl FnOnce(&mut Vec<u8>)) -> Damaged {
    let directory = copy(&example("demo"));
    let [cache, read] = both(directory.path(), verify);
    change(&directory.path().join(file), edit);
    Damaged { cache, read, _directory: directory }
}

fn both(path: &Path, verify: bool) -> [Cache; 2] {
    [Io::Mmap, Io::Pread].map(|io| Cache::open_by(path, verify, io).unwrap())
}

impl Damaged {
    /// What both find, which is the same, and the same if elements are widened.
    fn gather(&self, field: &str, samples: &[u64], on: OnDamage) -> Result<Batch> {
        let mapped = gather_field(&self.cache, field, samples, on);
        let read = gather_field(&self.read, field, samples, on);
        match (&mapped, &read) {
            (Ok(mapped), Ok(read)) => {
                assert_eq!(records(mapped), records(read));
                let damaged =
                    |batch: &Batch| batch.damaged.iter().map(|(place, e)| (*place, seen(e))).collect::<Vec<_>>();
                assert_eq!(damaged(mapped), damaged(read));
            }
            (Err(mapped), Err(read)) => assert_eq!(seen(mapped), seen(read)),
            _ => panic!("{:?} and {:?}", mapped.err(), read.err()),
        }
        for (cache, stored) in [(&self.cache, &mapped), (&self.read, &read)] {
            if let Some(wide) = gather_wide(cache, field, samples, on) {
                check_wide(cache, field, &wide, stored);
            }
        }
        mapped
    }
}

fn check_wide(cache: &Cache, field: &str, wide: &Result<Batch>, stored: &Result<Batch>) {
    let dtype = cache.manifest().fields.iter().find(|entry| *entry.field.name == *field).unwrap().field.dtype;
    match (wide, stored) {
        (Ok(wide), Ok(stored)) => {
            let expected = records(stored).iter().map(|record| widened(dtype, record)).collect::<Vec<_>>();
            assert_eq!(records(wide), expected);
            let damaged = |batch: &Batch| batch.damaged.iter().map(|(place, e)| (*place, seen(e))).collect::<Vec<_>>();
            assert_eq!(damaged(wide), damaged(stored));
        }
        (Err(wide), Err(stored)) => assert_eq!(seen(wide), seen(stored)),
        _ => panic!("{:?} and {:?}", wide.as_ref().err(), stored.as_ref().err()),
    }
}

fn seen(error: &Error) -> (Kind, Option<u16>, Place, String) {
    (error.kind(), error.rule_number(), error.place().clone(), error.message().into())
}

fn error(damaged: &Damaged, field: &str, sample: u64) -> Error {
    damaged.gather(field, &[sample], OnDamage::Raise).err().expect("an error")
}

fn rule(verify: bool, file: &str, sample: u64, edit: impl FnOnce(&mut Vec<u8>)) -> Option<u16> {
    let field = Path::new(file).parent().unwrap().file_name().unwrap().to_str().unwrap();
    let error = error(&damaged(verify, file, edit), field, sample);
    assert_eq!(error.kind(), Kind::Data, "{error}");
    error.rule_number()
}

#[test]
fn every_flipped_bit_of_a_used_byte_is_found() {
    for (field, entry, pad) in
        [("image", 4, 92..92), ("tokens", 20, 110..112), ("jpeg", 20, 78..80), ("caption", 20, 0..0)]
    {
        let file = format!("fields/{field}/00001.shard");
        let length = std::fs::metadata(example("demo").join(&file)).unwrap().len() as usize;
        let index = length - 2 * entry;
        let directory = copy(&example("demo"));
        let sound = std::fs::read(directory.path().join(&file)).unwrap();
        for at in 0..length {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(directory.path().join(&file), bytes).unwrap();
            let [mapped, read] = both(directory.path(), true)
                .map(|cache| ALL.map(|sample| gather_field(&cache, field, &[sample], OnDamage::Raise).err()));
            assert_eq!(mapped.each_ref().map(|e| e.as_ref().map(seen)), read.map(|e| e.as_ref().map(seen)));
            let found = mapped;
            assert!(found[..3].iter().all(Option::is_none), "{field} {at}: the other shard is sound");
            let rules: Vec<_> = found[3..].iter().flatten().filter_map(Error::rule_number).collect();
            match at {
                0..64 => assert_eq!(rules, [31, 31], "{field} {at}"),
                _ if pad.contains(&at) || (field == "caption" && at < index && rules.is_empty()) => {
                    assert!(rules.is_empty(), "{field} {at}: {rules:?}");
                }
                _ => assert!(
                    !rules.is_empty() && rules.iter().all(|rule| matches!(rule, 32 | 33)),
                    "{field} {at}: {rules:?}"
                ),
            }
        }
    }
}

#[test]
fn an_error_names_cache_field_shard_and_sample() {
    let broken = damaged(true, "fields/image/00001.shard", |bytes| bytes[80] ^= 1);
    let error = error(&broken, "image", 4);
    let place = Place {
        cache: Some(broken.cache.path().clone()),
        field: Some("image".into()),
        shard: Some(1),
        sample: Some(4),
    };
    assert_eq!(error.place(), &place);
    assert!(error.to_string().contains("field image, shard 1, sample 4: ") && error.to_string().ends_with("(R033)"));
    assert_eq!(broken.cache.slice(0, 3, 5).err().unwrap().place(), &place);
    // Without the comparison the bytes come as they are.
    let unverified = damaged(false, "fields/image/00001.shard", |bytes| bytes[80] ^= 1);
    let batch = unverified.gather("image", &[4], OnDamage::Raise).unwrap();
    assert_eq!(records(&batch)[0][4], 5);
}

#[test]
fn a_file_that_went_missing_or_short_after_opening_is_found_at_its_first_use() {
    assert_eq!(rule(true, "fields/feat/00001.shard", 3, |bytes| bytes.truncate(70)), Some(30));
    assert_eq!(rule(true, "fields/tokens/dictionary.bin", 3, |bytes| bytes.truncate(70)), Some(30));
    assert_eq!(rule(true, "fields/tokens/dictionary.bin", 3, |bytes| bytes[40] ^= 1), Some(31));
    assert_eq!(rule(true, "fields/tokens/dictionary.bin", 3, |bytes| bytes[70] ^= 1), Some(40));
    let broken = damaged(true, "fields/feat/00001.shard", |_| ());
    std::fs::remove_file(Path::new(&**broken.cache.path()).join("fields/feat/00001.shard")).unwrap();
    assert_eq!(error(&broken, "feat", 3).rule_number(), Some(30));
}

#[test]
fn the_checks_behind_the_checksum_do_not_depend_on_it() {
    let tokens = "fields/tokens/00001.shard";
    let jpeg = "fields/jpeg/00001.shard";
    let caption = "fields/caption/00001.shard";
    // The index: of tokens at 112 and of jpeg at 80, entries of 20 bytes.
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[112] = 63), Some(32));
    assert_eq!(rule(false, tokens, 4, |bytes| bytes[112] = 111), Some(32));
    assert_eq!(rule(false, tokens, 4, |bytes| bytes[132] = 113), Some(32));
    assert_eq!(rule(false, tokens, 4, |bytes| bytes[139] = 0xff), Some(32));
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[131] = 1), Some(34));
    assert_eq!(rule(false, jpeg, 3, |bytes| bytes[92] = 7), Some(34));
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[127] = 1), Some(35));
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[124] = 4), Some(36));
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[64] = 0), Some(36));
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[70] |= 6), Some(37));
    assert_eq!(rule(false, tokens, 3, |bytes| bytes[112] = 84), Some(37));
    // Sample 4 of captions is a frame of ü repeated; a zero byte inside makes one half of it.
    let length = std::fs::metadata(example("demo").join(caption)).unwrap().len();
    let frame = 64..length as usize - 40;
    let rules = frame.filter_map(|at| {
        let broken = damaged(false, caption, |bytes| bytes[at] ^= 0x40);
        broken.gather("caption", &[3, 4], OnDamage::Raise).err()?.rule_number()
    });
    assert!(rules.collect::<Vec<_>>().contains(&38));
}

#[test]
fn lengths_are_proven_by_the_digest_of_the_index() {
    let broken = damaged(true, "fields/tokens/00001.shard", |bytes| bytes[150] ^= 1);
    for cache in [&broken.cache, &broken.read] {
        let error = cache.lengths(2).unwrap_err();
        assert_eq!((error.kind(), error.rule_number(), error.place().shard), (Kind::Data, Some(39), Some(1)));
    }
    // Without checksums of records, too.
    let broken = damaged(false, "fields/tokens/00001.shard", |bytes| bytes[150] ^= 1);
    assert_eq!(broken.cache.lengths(2).unwrap_err().rule_number(), Some(39));
}

#[test]
fn masked_records_are_zero_or_empty_and_reported() {
    let order = [4, 3, 0, 3];
    for (field, itemsize, fixed) in [("image", 1, true), ("feat", 4, true), ("tokens", 4, false), ("jpeg", 1, false)] {
        let sound = records(&damaged(true, "manifest.json", |_| ()).gather(field, &order, OnDamage::Mask).unwrap());
        // The first record of the second shard is sample 3.
        let broken = damaged(true, &format!("fields/{field}/00001.shard"), |bytes| bytes[64] ^= 1);
        let batch = broken.gather(field, &order, OnDamage::Mask).unwrap();
        let mut expected = sound.clone();
        for place in [1, 3] {
            expected[place] = if fixed { vec![0; expected[place].len()] } else { vec![] };
        }
        assert_eq!(records(&batch), expected, "{field} {itemsize}");
        let found: Vec<_> =
            batch.damaged.iter().map(|(place, e)| (*place, e.rule_number(), e.place().sample)).collect();
        assert_eq!(found, [(1, Some(33), Some(3)), (3, Some(33), Some(3))]);
    }
}

#[test]
fn damage_found_while_decoding_leaves_no_gap() {
    let broken = damaged(false, "fields/tokens/00001.shard", |bytes| bytes[70] |= 6);
    let batch = broken.gather("tokens", &[4, 3, 2], OnDamage::Mask).unwrap();
    let Layout::Ragged { offsets, values, .. } = &batch.columns[0].layout else { panic!() };
    assert_eq!(integers(offsets.of(batch.buffer.bytes()).unwrap()), [0, 4, 4, 6]);
    assert_eq!(values.len, 24);
    assert_eq!(records(&batch)[2], [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(batch.damaged.len(), 1);
    // Dense: zero, whatever the frame had decoded to.
    let broken = damaged(false, "fields/feat/00000.shard", |bytes| bytes[70] |= 6);
    let batch = broken.gather("feat", &[0, 3], OnDamage::Mask).unwrap();
    assert_eq!((records(&batch)[0].clone(), batch.damaged[0].1.rule_number()), (vec![0; 16], Some(37)));
}

#[test]
fn a_missing_shard_is_masked_sample_by_sample() {
    let broken = damaged(true, "fields/image/00001.shard", |bytes| bytes.clear());
    let batch = broken.gather("image", &[0, 1, 3, 4], OnDamage::Mask).unwrap();
    let places: Vec<_> = batch.damaged.iter().map(|(place, error)| (*place, error.rule_number())).collect();
    assert_eq!(places, [(2, Some(30)), (3, Some(30))]);
    assert_eq!(records(&batch)[1], [1; 12]);
}

#[test]
fn a_large_batch_is_many_small_ones_whoever_fills_it() {
    let order = [4, 3, 0, 3, 2];
    // As many as several threads share.
    for (field, times) in [("image", 80_000), ("feat", 4_000), ("tokens", 8_000), ("jpeg", 1_000)] {
        let many: Vec<u64> = std::iter::repeat_n(order, times).flatten().collect();
        for change in [0, 1] {
            let broken = damaged(true, &format!("fields/{field}/00001.shard"), |bytes| bytes[64] ^= change);
            let gather = |samples: &[u64]| gather_field(&broken.cache, field, samples, OnDamage::Mask).unwrap();
            let (few, all) = (gather(&order), gather(&many));
            if let Some(wide) = gather_wide(&broken.cache, field, &many, OnDamage::Mask) {
                check_wide(&broken.cache, field, &wide, &Ok(gather(&many)));
            }
            assert!(records(&all).chunks(order.len()).all(|some| some == records(&few)), "{field}");
            let places = |batch: &Batch| batch.damaged.iter().map(|(place, _)| *place).collect::<Vec<_>>();
            let repeated =
                (0..times).flat_map(|time| places(&few).into_iter().map(move |place| order.len() * time + place));
            assert_eq!(places(&all), repeated.collect::<Vec<_>>(), "{field}");
            let error = gather_field(&broken.cache, field, &many, OnDamage::Raise).err();
            assert_eq!(error.map(|error| error.place().sample), (change != 0).then_some(Some(3)), "{field}");
        }
    }
}

#[test]
fn memory_that_is_there_holds_what_a_batch_would_wherever_it_begins() {
    let order = [4, 3, 0, 3, 2, 1];
    for (on, change) in [(OnDamage::Raise, 0), (OnDamage::Mask, 0), (OnDamage::Mask, 1), (OnDamage::Raise, 1)] {
        let broken = damaged(true, "fields/image/00001.shard", |bytes| bytes[64] ^= change);
        let source = |name: &str| -> (Arc<str>, Arc<dyn Source>) {
            (name.into(), Arc::new(PayloadSource::new([broken.cache.clone()].into(), name).unwrap()))
        };
        let expected = broken.gather("image", &order, on);
        let feat = records(&broken.gather("feat", &order, on).unwrap()).concat();
        let ids: Vec<_> = order.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
        let rows = Rows { ids: &ids, rows: &order, positions: &order, valid: &[true; 6], seed: 0, look: &|| Ok(()) };
        for skip in [0, 1, 7] {
            let (mut image, mut other) = (vec![0xAA; 6 * 12 + 8], vec![0xAA; feat.len() + 8]);
            let outs = &mut [&mut image[skip..][..6 * 12], &mut other[8 - skip..][..feat.len()]];
            let found = gather_into(&[source("image"), source("feat")], &rows, outs, on, Threads::Given(2));
            match &expected {
                Ok(expected) => {
                    found.unwrap();
                    assert_eq!(
                        (&image[skip..][..6 * 12], &other[8 - skip..][..feat.len()]),
                        (&records(expected).concat()[..], &feat[..])
                    );
                }
                Err(expected) => assert_eq!(seen(&found.unwrap_err()), seen(expected)),
            }
            assert_eq!((image[..skip].iter().chain(&image[skip + 6 * 12..])).filter(|byte| **byte != 0xAA).count(), 0);
        }
        let refused = |name: &str, bytes: usize| {
            gather_into(&[source(name)], &rows, &mut [&mut vec![0; bytes]], OnDamage::Raise, Threads::Given(1))
                .unwrap_err()
                .kind()
        };
        assert_eq!((refused("feat", feat.len() - 1), refused("tokens", 8)), (Kind::Internal, Kind::Internal));
        assert_eq!(
            gather_into(&[source("feat")], &rows, &mut [], on, Threads::Given(1)).unwrap_err().kind(),
            Kind::Internal
        );
    }
}
