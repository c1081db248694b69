//! Rows of caches, and their digests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use arrow_array::{ArrayRef, Int32Array, StringArray};
use dsrt_core::batch::Heap;
use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::error::{Kind, Result};
use dsrt_core::read::{Cache, Id, OnDamage};
use dsrt_core::rows::{Population, Weights};
use dsrt_core::write::Value;

fn two() -> (Root, Vec<Cache>) {
    let root = Root::new();
    let caches = vec![root.cache("a", 0, 7, &[]), root.cache("empty", 0, 0, &[]), root.cache("b", 100, 4, &[])];
    (root, caches)
}

fn over(caches: &[Cache], rows: Option<Vec<u64>>) -> Population {
    Population::new(caches.to_vec(), rows, Weights::Stored, vec![]).unwrap()
}

/// By the words of the specification.
fn digest(caches: &[Cache], runs: &[[u64; 3]]) -> [u8; 32] {
    let mut bytes = b"DSRTrows1".to_vec();
    let mut add = |number: u64| bytes.extend(number.to_le_bytes());
    add(caches.len() as u64);
    for cache in caches {
        add(cache.id() as u64);
        add(cache.len());
    }
    runs.iter().flatten().for_each(|number| add(*number));
    *blake3::hash(&bytes).as_bytes()
}

#[test]
fn all_rows_are_the_samples_of_every_cache_in_order() {
    let (_root, caches) = two();
    let all = over(&caches, None);
    assert_eq!((all.len(), all.rows()), (11, None));
    let batch = all.gather(&all.project(None, false).unwrap(), &[0, 6, 7, 10, 7], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(numbers(&batch, "x"), [0, 6, 100, 103, 100]);
    let ids = [6, 7].map(|row| all.id(row).unwrap());
    assert_eq!(ids, [Id { cache: 0, sample: 6 }, Id { cache: 2, sample: 0 }]);
}

#[test]
fn chosen_rows_may_repeat_and_come_in_any_order() {
    let (_root, caches) = two();
    let some = over(&caches, Some(vec![10, 0, 0, 8]));
    assert_eq!(some.len(), 4);
    let projection = some.project(Some(&["x".into(), "_row".into()]), false).unwrap();
    let batch = some.gather(&projection, &[3, 2, 1, 0], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(numbers(&batch, "x"), [101, 0, 0, 103]);
    assert_eq!(numbers(&batch, "_row"), [3, 2, 1, 0]);
}

#[test]
fn a_row_that_is_not_there_is_named() {
    let (_root, caches) = two();
    let error = Population::new(caches.clone(), Some(vec![3, 11]), Weights::Stored, vec![]).err().unwrap();
    assert_eq!(error.kind(), Kind::Index);
    assert!(error.to_string().contains("row 1 is sample 11"), "{error}");

    let all = over(&caches, None);
    let projection = all.project(None, false).unwrap();
    let error = all.gather(&projection, &[0, 11], &Heap, OnDamage::Raise).err().unwrap();
    assert_eq!(error.kind(), Kind::Index);
    assert!(error.to_string().contains("row 11") && error.to_string().contains("11 rows"), "{error}");
}

#[test]
fn the_rows_digest_is_of_caches_and_maximal_runs() {
    let (_root, caches) = two();
    let cases: [(Vec<u64>, &[[u64; 3]]); 6] = [
        (vec![0, 1, 2], &[[0, 0, 3]]),
        (vec![5, 6, 7, 8], &[[0, 5, 2], [2, 0, 2]]),
        (vec![1, 1, 2, 2], &[[0, 1, 1], [0, 1, 2], [0, 2, 1]]),
        (vec![3, 2], &[[0, 3, 1], [0, 2, 1]]),
        (vec![10, 0], &[[2, 3, 1], [0, 0, 1]]),
        (vec![], &[]),
    ];
    for (rows, runs) in cases {
        assert_eq!(over(&caches, Some(rows.clone())).rows_digest(), digest(&caches, runs), "{rows:?}");
    }
}

#[test]
fn keeping_every_row_is_the_same_as_all_rows() {
    let (_root, caches) = two();
    let all = over(&caches, None);
    let kept = over(&caches, Some((0..11).collect()));
    assert_eq!(all.rows_digest(), digest(&caches, &[[0, 0, 7], [2, 0, 4]]));
    assert_eq!(kept.rows_digest(), all.rows_digest());
    assert_eq!(kept.rows(), None, "the list is not kept");
    let shorter = over(&caches, Some((0..10).collect()));
    assert_ne!(shorter.rows_digest(), all.rows_digest());
}

#[test]
fn many_runs_are_digested_in_pieces() {
    let (_root, caches) = two();
    let rows: Vec<u64> = (0..20_000).map(|i| i * 2 % 7).collect();
    let mut runs: Vec<[u64; 3]> = Vec::new();
    for row in &rows {
        match runs.last_mut() {
            Some([_, first, count]) if *first + *count == *row => *count += 1,
            _ => runs.push([0, *row, 1]),
        }
    }
    assert_eq!(over(&caches, Some(rows)).rows_digest(), digest(&caches, &runs));
}

#[test]
fn the_same_cache_twice_is_refused_unless_it_is_empty() {
    let (root, caches) = two();
    let again = Cache::open(&root.path().join("a"), true).unwrap();
    let error = Population::new(vec![caches[0].clone(), again], None, Weights::Stored, vec![]).err().unwrap();
    assert_eq!(error.rule_number(), Some(72));
    assert!(error.to_string().matches("/a").count() == 2, "{error}");
    assert!(Population::new(vec![caches[1].clone(), caches[1].clone()], None, Weights::Stored, vec![]).is_ok());
    assert_eq!(Population::new(vec![], None, Weights::Stored, vec![]).err().unwrap().kind(), Kind::Value);
}

#[test]
fn a_gather_looks_now_and_then_whatever_the_column() {
    const LABEL: Metadata = ("label", ColumnType::Number(DType::Int32), |sample| Value::Int(i128::from(sample)));
    const WORD: Metadata = ("word", ColumnType::String, |_| Value::Str("word"));
    let root = Root::new();
    let cache = root.cache("c", 0, 4, &[LABEL, WORD]);
    let number: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c", "d"]));
    let weights = Weights::Given(vec![1.0; 4]);
    let all = Population::new(vec![cache], None, weights, vec![("n".into(), number), ("t".into(), text)]).unwrap();
    let rows = vec![3u64; 20_000];
    for name in ["x", "s", "label", "word", "n", "t", "weight", "_row", "_seed", "sample_id", "cache_id"] {
        let looks = AtomicUsize::new(0);
        let look = || -> Result<()> {
            looks.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let projection = all.project(Some(&[name.into()]), false).unwrap();
        all.gather_unless(&projection, &rows, &Heap, OnDamage::Raise, &look).unwrap();
        // One in some 4,000 records, while the samples are found and while the column is filled.
        assert!(looks.load(Ordering::Relaxed) >= 8, "{name}: {looks:?} looks");
    }
}
