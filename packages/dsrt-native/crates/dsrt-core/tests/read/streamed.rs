//! Batches so large that their columns are stored past the caches and shared among threads: every record is as it was
//! written, or reported.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dsrt_core::batch::{Allocator, Batch, Buffer, Heap};
use dsrt_core::dtype::DType;
use dsrt_core::field::{Codec, Field, FieldKind};
use dsrt_core::format::json::Value as Json;
use dsrt_core::read::{Cache, Id, Io, Look, OnDamage, PayloadSource, Rows, Source, Threads, gather};
use dsrt_core::write::{Dictionary, Earlier, Encoding, Record, Writer, WriterOptions};
use dsrt_core::{Error, Kind, Result};

use crate::support::{change, gather_field, records};

const SAMPLES: u64 = 60;
const PER_SHARD: u64 = 25;

/// Bytes of a dense record: no multiple of a line of the caches.
const DENSE: u64 = 2_100;

/// Rows of a batch, of which each column has more than 4 MiB: from 2 MiB on it is stored past the caches, from 4 MiB on
/// it is shared, too.
const ROWS: u64 = 2_400;

const FLIPS: u64 = 8;

fn fields() -> [Field; 4] {
    let field = |name: &str, kind, dtype, codec| Field { name: name.into(), kind, dtype, codec, delta: 0 };
    [
        field("dense", FieldKind::Dense([DENSE].into()), DType::UInt8, Codec::Raw),
        field("ragged", FieldKind::Ragged(1), DType::UInt16, Codec::Raw),
        field("zstd", FieldKind::Ragged(1), DType::UInt16, Codec::Zstd),
        field("dict", FieldKind::Ragged(1), DType::UInt16, Codec::ZstdDict),
    ]
}

fn is_dense(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Dense(_))
}

/// What was written, as its elements and its bytes.
fn record(field: &Field, sample: u64) -> (u64, Vec<u8>) {
    let elements = if is_dense(field) { DENSE } else { 500 + sample * 371 % 1_500 };
    let bytes = elements * field.dtype.size() as u64;
    (elements, (0..bytes).map(|at| (sample * 31 + at / 7) as u8).collect())
}

fn written(directory: &Path) -> PathBuf {
    let encoding = |field: Field| {
        let body = || Dictionary::Body(b"the bytes of a raw dictionary".to_vec());
        let dictionary = (field.codec == Codec::ZstdDict).then(body);
        (field, Encoding { level: 3, dictionary })
    };
    let options = WriterOptions {
        fields: fields().map(encoding).into(),
        metadata: vec![],
        fingerprint: None,
        attributes: Json::Object(Default::default()),
        samples_per_shard: PER_SHARD,
        shard_bytes: 1 << 30,
        replace: false,
        threads: 2,
        earlier: Earlier::Ask,
    };
    let target = directory.join("cache");
    let mut writer = Writer::create(&target, options).unwrap();
    for sample in 0..SAMPLES {
        let values = fields().map(|field| record(&field, sample));
        let records =
            values.each_ref().map(|(elements, bytes)| Record { bytes, shape: std::slice::from_ref(elements) });
        writer.append(&records, &[], &mut || Ok(())).unwrap();
    }
    writer.publish(&mut || Ok(())).unwrap();
    target
}

fn rows() -> Vec<u64> {
    (0..ROWS).map(|place| place * 23 % SAMPLES).collect()
}

fn gathered(cache: &Cache, field: &Field, on: OnDamage, threads: usize) -> Result<Batch> {
    gathered_unless(cache, field, on, threads, &|| Ok(()))
}

fn gathered_unless(cache: &Cache, field: &Field, on: OnDamage, threads: usize, look: Look) -> Result<Batch> {
    gathered_into(&Heap, cache, field, &rows(), on, threads, look)
}

fn gathered_into(
    memory: &dyn Allocator,
    cache: &Cache,
    field: &Field,
    rows: &[u64],
    on: OnDamage,
    threads: usize,
    look: Look,
) -> Result<Batch> {
    let source = PayloadSource::new([cache.clone()].into(), &field.name)?;
    let columns: [(Arc<str>, Arc<dyn Source>); 1] = [(field.name.clone(), Arc::new(source))];
    let valid = vec![true; rows.len()];
    let ids: Vec<_> = rows.iter().map(|sample| Id { cache: 0, sample: *sample }).collect();
    let rows = Rows { ids: &ids, rows, positions: rows, valid: &valid, seed: 0, look };
    gather(&columns, &rows, memory, on, Threads::Given(threads))
}

/// Compares a large batch with what was written, where `bad` says which samples cannot be read.
fn check(cache: &Cache, field: &Field, bad: &[bool], threads: usize, case: &str) {
    let rows = rows();
    let is_bad = |sample: u64| bad[sample as usize];
    let batch = gathered(cache, field, OnDamage::Mask, threads).unwrap();
    let found = records(&batch);
    assert!(found.iter().map(Vec::len).sum::<usize>() > 4 << 20, "{case}: no large column");
    for (sample, found) in rows.iter().zip(&found) {
        let expected = match is_bad(*sample) {
            false => record(field, *sample).1,
            true if is_dense(field) => vec![0; DENSE as usize],
            true => vec![],
        };
        assert!(*found == expected, "{case}, sample {sample}");
    }
    let reported: Vec<_> = batch.damaged.iter().map(|(place, _)| *place).collect();
    let expected: Vec<_> = (0..rows.len()).filter(|place| is_bad(rows[*place])).collect();
    assert!(reported == expected, "{case}: {} places reported, {} are damaged", reported.len(), expected.len());
    let raised = gathered(cache, field, OnDamage::Raise, threads).err();
    assert_eq!(raised.is_some(), bad.contains(&true), "{case}");
    if let Some(error) = raised {
        assert!(error.place().sample.is_some_and(is_bad), "{case}: {error}");
    }
}

fn opened(path: &Path) -> [Cache; 2] {
    [Io::Mmap, Io::Pread].map(|io| Cache::open_by(path, true, io).unwrap())
}

#[test]
fn large_batches_are_what_was_written_by_one_thread_and_by_several() {
    let directory = tempfile::tempdir().unwrap();
    for cache in opened(&written(directory.path())) {
        for field in fields() {
            for threads in [1, 4] {
                let case = format!("{}, {}, {threads} threads", field.name, cache.access().name());
                check(&cache, &field, &[false; SAMPLES as usize], threads, &case);
            }
        }
    }
}

#[test]
fn a_flipped_bit_is_found_in_a_large_batch_as_in_a_small_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = written(directory.path());
    let mut damaged = 0;
    for (number, field) in fields().iter().enumerate() {
        for flip in 0..FLIPS {
            let shard = path.join(format!("fields/{}/0000{}.shard", field.name, flip % 3));
            let length = std::fs::metadata(&shard).unwrap().len();
            // Behind the header, anywhere.
            let bit = 512 + (flip * 2_654_435_761 + number as u64 * 40_503) % (8 * (length - 64));
            let turn = |bytes: &mut Vec<u8>| bytes[bit as usize / 8] ^= 1 << (bit % 8);
            change(&shard, turn);
            for cache in opened(&path) {
                let alone = |sample| gather_field(&cache, &field.name, &[sample], OnDamage::Raise).is_err();
                let bad: Vec<_> = (0..SAMPLES).map(alone).collect();
                damaged += bad.iter().filter(|bad| **bad).count();
                let case = format!("{}, {}, bit {bit} of {}", field.name, cache.access().name(), shard.display());
                check(&cache, field, &bad, if flip % 2 == 0 { 1 } else { 4 }, &case);
            }
            change(&shard, turn);
        }
    }
    assert!(damaged > 32, "only {damaged} records were damaged");
}

#[test]
fn a_gather_ends_soon_after_a_look_that_fails() {
    let directory = tempfile::tempdir().unwrap();
    for cache in opened(&written(directory.path())) {
        for (field, threads) in fields().iter().flat_map(|field| [(field, 1), (field, 4)]) {
            let looks = AtomicUsize::new(0);
            let look = || match looks.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => Ok(()),
                _ => Err(Error::new(Kind::State, "enough")),
            };
            for on in [OnDamage::Raise, OnDamage::Mask] {
                looks.store(0, Ordering::Relaxed);
                let error = gathered_unless(&cache, field, on, threads, &look).err().expect("it was interrupted");
                assert_eq!((error.kind(), error.message()), (Kind::State, "enough"), "{}", field.name);
                assert!(looks.load(Ordering::Relaxed) <= 3 + threads, "{}: {looks:?} looks", field.name);
            }
        }
    }
}

/// Memory that is asked for when the batch is planned: how often it was looked until then.
struct Planned<'a> {
    looks: &'a AtomicUsize,
    before: AtomicUsize,
}

impl Allocator for Planned<'_> {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        self.before.store(self.looks.load(Ordering::Relaxed), Ordering::Relaxed);
        Heap.allocate(bytes)
    }
}

#[test]
fn a_gather_that_may_have_to_wait_for_each_record_looks_every_few_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open_by(&written(directory.path()), true, Io::Pread).unwrap();
    for field in fields() {
        let looks = AtomicUsize::new(0);
        let look = || -> Result<()> {
            looks.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let memory = Planned { looks: &looks, before: AtomicUsize::new(0) };
        // Far fewer bytes than there are otherwise between two looks.
        let few = &rows()[..100];
        gathered_into(&memory, &cache, &field, few, OnDamage::Raise, 1, &look).unwrap();
        let (planned, all) = (memory.before.load(Ordering::Relaxed), looks.load(Ordering::Relaxed));
        // Each is read before memory is asked for, if that is not known without.
        let read = if is_dense(&field) { all } else { planned };
        assert!(read >= 6, "{}: {planned} looks to plan, {all} in all", field.name);
    }
}

/// Memory that is asked for when the batch is planned: how much the process had until then.
#[cfg(target_os = "linux")]
struct Weighed {
    before: AtomicUsize,
}

#[cfg(target_os = "linux")]
impl Allocator for Weighed {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        self.before.store(own_memory(), Ordering::Relaxed);
        Heap.allocate(bytes)
    }
}

/// Bytes of memory that are this process's own.
#[cfg(target_os = "linux")]
fn own_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[test]
#[cfg(target_os = "linux")]
fn records_that_are_read_to_be_checked_do_not_take_the_memory_of_their_batch_twice() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::open_by(&written(directory.path()), true, Io::Pread).unwrap();
    let field = &fields()[1];
    // Some 200 MB of records.
    let rows: Vec<_> = (0..80_000).map(|place| place * 23 % SAMPLES).collect();
    let memory = Weighed { before: AtomicUsize::new(0) };
    let began = own_memory();
    let batch = gathered_into(&memory, &cache, field, &rows, OnDamage::Raise, 2, &|| Ok(())).unwrap();
    let (planned, bytes) = (memory.before.load(Ordering::Relaxed).saturating_sub(began), batch.buffer.bytes().len());
    assert!(bytes > 180 << 20 && planned < 100 << 20, "{planned} bytes before memory is asked for {bytes}");
    for (sample, found) in rows.iter().zip(records(&batch)) {
        assert!(found == record(field, *sample).1, "sample {sample}");
    }
}
