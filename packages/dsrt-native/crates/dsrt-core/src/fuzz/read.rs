//! One shard read in every way, each held to the others.

use std::path::Path;
use std::sync::Arc;

use super::breach;
use super::forge::Shard;
use super::oracle::decode;
use crate::batch::{Batch, Heap, Layout, Span};
use crate::error::Result;
use crate::format::shard::{HEADER, dense_bytes};
use crate::read::{Cache, Id, Io, OnDamage, PayloadSource, Rows, Source, Threads, gather};
use crate::verify::{Level, MOST_READ, Options, Part, verify};

/// The largest batch with damage in it that is asked for: a damaged record of a dense field takes the room of a whole one.
const MOST_MASKED: u64 = 64 << 20;

/// What a reader says of a record: its axes and bytes, or the rule that it breaks.
type Found = std::result::Result<(Vec<u64>, Vec<u8>), u16>;

/// Reads the cache of that shard, whose records lie in `ranges`.
pub(super) fn check(root: &Path, shard: &Shard, ranges: &[Option<(u64, u64)>]) {
    let samples = ranges.len() as u64;
    let open = |verify, io| Cache::open_by(root, verify, io).unwrap();
    let (mapped, read) = (open(true, Io::Mmap), open(true, Io::Pread));
    let found: Vec<_> = (0..samples).map(|sample| one(&mapped, sample)).collect();
    for (sample, found) in (0..).zip(&found) {
        assert_eq!(one(&read, sample), *found, "mapped and read differ in sample {sample}");
    }
    check_values(shard, ranges, &found);
    let whole = dense_bytes(shard.field).unwrap_or(0).saturating_mul(samples);
    if found.iter().all(|found| found.is_ok()) || whole <= MOST_MASKED {
        check_together(&mapped, &found);
        check_together(&read, &found);
    }
    let unchecked = open(false, Io::Mmap);
    for (sample, found) in (0..).zip(&found) {
        let other = one(&unchecked, sample);
        assert!(*found == Err(33) || other == *found, "without checksums sample {sample} is {other:?}, not {found:?}");
    }
    for cache in [&mapped, &read] {
        check_lengths(cache, &found);
    }
    if let (Ok(Some(slice)), true) = (mapped.slice(0, 0, samples), shard.field.is_fixed()) {
        let all: Vec<_> = found.iter().flat_map(|found| found.clone().unwrap().1).collect();
        assert_eq!(slice[..], all);
    }
    check_verified(root, shard, ranges, &found);
}

/// What was accepted is what the bytes mean.
fn check_values(shard: &Shard, ranges: &[Option<(u64, u64)>], found: &[Found]) {
    for (place, (range, found)) in ranges.iter().zip(found).enumerate() {
        let Ok((axes, bytes)) = found else { continue };
        assert!(shard.flipped == 0, "a header that is not the one implied is accepted");
        let (lo, hi) = range.expect("a record outside the record area is accepted");
        let stored = &shard.area[(lo - HEADER) as usize..(hi - HEADER) as usize];
        if let Some(expected) = decode(shard.field, shard.dictionary, stored) {
            assert_eq!(expected, *bytes, "record {place}");
        }
        let size = axes.iter().map(|axis| u128::from(*axis)).product::<u128>() * shard.field.dtype.size() as u128;
        assert_eq!(size, bytes.len() as u128);
        let shape: Vec<_> = shard.entries[place].shape.as_chunks().0.iter().map(|a| u64::from_le_bytes(*a)).collect();
        assert!(shape.is_empty() || shape == *axes);
    }
}

/// A batch of all samples, damaged ones masked, holds what each alone was found to be.
fn check_together(cache: &Cache, found: &[Found]) {
    let samples: Vec<_> = (0..found.len() as u64).collect();
    let batch = match read(cache, &samples, OnDamage::Mask) {
        Ok(batch) => batch,
        Err(error) => return assert_eq!(breach(&error), 0, "{error}"),
    };
    let damaged: Vec<_> = batch.damaged.iter().map(|(place, error)| (*place, breach(error))).collect();
    let expected = found.iter().enumerate().filter_map(|(place, found)| found.clone().err().map(|rule| (place, rule)));
    assert_eq!(damaged, expected.collect::<Vec<_>>());
    for (place, (axes, bytes)) in records(&batch).into_iter().enumerate() {
        match &found[place] {
            Ok(alone) => assert_eq!(*alone, (axes, bytes), "sample {place} in a batch"),
            Err(_) => assert!(bytes.iter().all(|byte| *byte == 0), "a damaged record shows through"),
        }
    }
    if let Some(Err(first)) = found.iter().find(|found| found.is_err()) {
        let error = read(cache, &samples, OnDamage::Raise).err().expect("damage is not raised");
        assert!(breach(&error) == *first || found.contains(&Err(breach(&error))), "{error}");
        assert!(error.place().cache.is_some() && error.place().field.is_some(), "{error:?}");
    }
}

fn check_lengths(cache: &Cache, found: &[Found]) {
    match cache.lengths(0) {
        Ok(lengths) => {
            assert_eq!(lengths.len(), found.len());
            for (length, found) in lengths.iter().zip(found) {
                if let Ok((axes, _)) = found {
                    assert_eq!(axes.iter().product::<u64>(), *length);
                }
            }
        }
        Err(error) => assert!([31, 34, 39].contains(&breach(&error)), "{error}"),
    }
}

/// Verification finds of each record what reading it found.
fn check_verified(root: &Path, shard: &Shard, ranges: &[Option<(u64, u64)>], found: &[Found]) {
    let options = Options { level: Level::Digests, part: Part::WHOLE, rate: None, threads: 1 };
    let problems = verify(root, &options, &mut |_, _| Ok(())).unwrap().problems;
    let rules = |sample: Option<u64>| {
        let of = problems.iter().filter(move |problem| problem.place.sample == sample);
        of.map(|problem| problem.rule).collect::<Vec<_>>()
    };
    let whole = rules(None);
    assert!(whole.iter().all(|rule| [31, 39, 40, 51, 53].contains(rule)), "{problems:?}");
    assert_eq!(whole.contains(&31), shard.flipped != 0);
    assert_eq!(whole.contains(&39), !shard.right_index && !shard.field.is_fixed());
    let read: u64 = ranges.iter().flatten().map(|(lo, hi)| hi - lo).sum();
    if shard.flipped != 0 || whole.contains(&40) || read > MOST_READ * shard.area.len() as u64 {
        return;
    }
    for (sample, found) in (0..).zip(found) {
        let expected = match found {
            Ok(_) => Vec::new(),
            Err(0) => continue,
            Err(rule) => vec![*rule],
        };
        let mut verified = rules(Some(sample));
        // A read does not look at bools.
        verified.retain(|rule| *rule != 52);
        assert_eq!(verified, expected, "sample {sample}");
    }
}

fn one(cache: &Cache, sample: u64) -> Found {
    let batch = read(cache, &[sample], OnDamage::Raise).map_err(|error| {
        assert!(breach(&error) == 0 || error.place().shard == Some(0) || breach(&error) == 40, "{error:?}");
        breach(&error)
    })?;
    Ok(records(&batch).remove(0))
}

pub(super) fn read(cache: &Cache, samples: &[u64], on: OnDamage) -> Result<Batch> {
    let source = PayloadSource::new([cache.clone()].into(), "x")?;
    column(Arc::new(source), samples, on)
}

/// One column of those samples of one cache.
pub(super) fn column(source: Arc<dyn Source>, samples: &[u64], on: OnDamage) -> Result<Batch> {
    let ids: Vec<_> = samples.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
    let valid = vec![true; samples.len()];
    let rows = Rows { ids: &ids, rows: samples, positions: samples, valid: &valid, seed: 0, look: &|| Ok(()) };
    let columns: [(Arc<str>, Arc<dyn Source>); 1] = [("x".into(), source)];
    gather(&columns, &rows, &Heap, on, Threads::Given(2))
}

/// Axes and bytes of each record of the batch's one column.
pub(super) fn records(batch: &Batch) -> Vec<(Vec<u64>, Vec<u8>)> {
    let buffer = batch.buffer.bytes();
    match &batch.columns[0].layout {
        Layout::Dense { element, shape, values } => {
            let bytes = values.of(buffer).unwrap();
            let stride = shape[1..].iter().product::<u64>() as usize * element.size();
            assert_eq!((shape[0] as usize, bytes.len()), (batch.len, stride * batch.len));
            (0..batch.len).map(|i| (shape[1..].to_vec(), bytes[i * stride..][..stride].to_vec())).collect()
        }
        Layout::Ragged { dtype, ndim, values, offsets, shapes } => {
            let records = split(buffer, *values, *offsets, dtype.size());
            let axes = match shapes {
                Some(shapes) => integers(buffer, *shapes),
                None => records.iter().map(|bytes| (bytes.len() / dtype.size()) as u64).collect(),
            };
            axes.chunks_exact(*ndim as usize).map(<[u64]>::to_vec).zip(records).collect()
        }
        Layout::Strings { values, offsets, .. } => {
            let records = split(buffer, *values, *offsets, 1);
            records.into_iter().map(|bytes| (vec![bytes.len() as u64], bytes)).collect()
        }
    }
}

fn split(buffer: &[u8], values: Span, offsets: Span, size: usize) -> Vec<Vec<u8>> {
    let values = values.of(buffer).unwrap();
    let offsets = integers(buffer, offsets);
    assert_eq!((offsets[0], *offsets.last().unwrap() as usize * size), (0, values.len()));
    offsets.windows(2).map(|pair| values[pair[0] as usize * size..pair[1] as usize * size].to_vec()).collect()
}

fn integers(buffer: &[u8], span: Span) -> Vec<u64> {
    span.of(buffer).unwrap().as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect()
}
