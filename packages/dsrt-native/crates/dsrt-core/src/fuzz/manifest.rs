//! manifest.json.

use super::breach;
use crate::format::checksum::{digest, hex};
use crate::format::manifest::{Inventory, Manifest, PREFIX};
use crate::format::shard::{MAX_SAMPLES, dense_bytes, fixed_file_bytes, index_start};

/// Where the digest stands.
const DIGEST: std::ops::Range<usize> = 11..75;

/// A manifest, whose digest is made anew where there is room for it.
pub fn manifest(given: &[u8]) -> bool {
    let mut bytes = given.to_vec();
    if let Some(rest) = given.get(PREFIX..) {
        let digest = digest(&[b"{", rest].concat());
        bytes[DIGEST].copy_from_slice(hex(&digest).as_bytes());
    }
    let mut rules = Vec::new();
    let inventory = Inventory::read(&bytes, &mut |breach| rules.push(breach.rule));
    match (Manifest::parse(&bytes), inventory) {
        (Ok(manifest), Ok(inventory)) => {
            assert!(rules.is_empty(), "accepted, and breaks {rules:?}");
            check(&manifest, &inventory);
            check_written(manifest);
        }
        (Err(error), Ok(_)) => assert_eq!(Some(breach(&error)), rules.iter().min().copied(), "{error}"),
        (Err(error), Err(listed)) => {
            assert_eq!(breach(&error), breach(&listed));
            assert!(breach(&error) <= 6, "{error}");
        }
        (Ok(_), Err(error)) => panic!("accepted, and not listed: {error}"),
    }
    given.len() >= PREFIX
}

/// What is accepted keeps the rules, judged once more by plain arithmetic.
fn check(manifest: &Manifest, inventory: &Inventory) {
    let sum: u128 = manifest.shards.iter().map(|count| u128::from(*count)).sum();
    assert_eq!(sum, manifest.samples.into());
    assert!(manifest.shards.iter().all(|count| (1..=MAX_SAMPLES).contains(count)));
    assert!((1..=256).contains(&manifest.fields.len()));
    assert!(manifest.cache_id() >= 0);
    for entry in &manifest.fields {
        assert_eq!(entry.files.len(), manifest.shards.len());
        for (file, count) in entry.files.iter().zip(&manifest.shards) {
            assert_eq!(file.index.is_none(), entry.field.is_fixed());
            if entry.field.is_fixed() {
                assert_eq!(fixed_file_bytes(dense_bytes(&entry.field).unwrap(), *count), file.bytes.into());
            } else {
                assert!(index_start(&entry.field, file.bytes, *count).is_some());
            }
        }
    }
    assert_eq!(inventory.samples, Some(manifest.samples));
    assert_eq!(inventory.shards.as_ref(), Some(&manifest.shards));
    assert_eq!(inventory.metadata, manifest.metadata);
    for (listed, entry) in inventory.fields.iter().zip(&manifest.fields) {
        let sound = listed.entry.as_ref().unwrap();
        assert_eq!((&sound.field, &sound.dictionary), (&entry.field, &entry.dictionary));
        assert!(sound.files.iter().zip(&entry.files).all(|(listed, file)| listed.as_ref() == Some(file)));
    }
}

/// Written again it is the same manifest, and that in the one form which writers give it.
fn check_written(mut manifest: Manifest) {
    let written = manifest.to_bytes();
    let mut again = Manifest::parse(&written).unwrap();
    assert_eq!(again, manifest);
    assert_eq!(again.to_bytes(), written);
}
