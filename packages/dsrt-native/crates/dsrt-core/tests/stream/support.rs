//! Small caches, written for a test, and batches as plain values.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsrt_core::batch::{Batch, Column, Layout, Span};
use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::error::Result;
use dsrt_core::field::{Codec, Field, FieldKind};
use dsrt_core::format::json::Value as Json;
pub use dsrt_core::load::Pass;
use dsrt_core::load::{Loader, Options};
use dsrt_core::pool::Pool;
use dsrt_core::read::{Cache, OnDamage};
use dsrt_core::rows::{Population, Weights};
use dsrt_core::write::{Earlier, Encoding, Record, Value, Writer, WriterOptions};
use tempfile::TempDir;

/// Caches of a test, gone with it.
pub struct Root(TempDir);

/// What a metadata column is to hold for a sample.
pub type Metadata = (&'static str, ColumnType, fn(u64) -> Value<'static>);

impl Root {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A cache with the field `x`, a uint64: `base + sample`; the field `s`, bytes: `sample % 4` times the sample's last
    /// byte; and those metadata columns. Shards of 5 samples.
    pub fn cache(&self, name: &str, base: u64, samples: u64, metadata: &[Metadata]) -> Cache {
        let path = self.path().join(name);
        let plain = Encoding { level: 3, dictionary: None };
        let field = |name: &str, kind, dtype| Field { name: name.into(), kind, dtype, codec: Codec::Raw, delta: 0 };
        let x = field("x", FieldKind::Dense([].into()), DType::UInt64);
        let s = field("s", FieldKind::Bytes, DType::UInt8);
        let options = WriterOptions {
            fields: vec![(x, plain.clone()), (s, plain)],
            metadata: metadata.iter().map(|(name, kind, _)| ((*name).into(), *kind)).collect(),
            fingerprint: None,
            attributes: Json::Object(Default::default()),
            samples_per_shard: 5,
            shard_bytes: 1 << 28,
            replace: false,
            threads: 2,
            earlier: Earlier::Ask,
        };
        let mut writer = Writer::create(&path, options).unwrap();
        for sample in 0..samples {
            let x = (base + sample).to_le_bytes();
            let s = vec![sample as u8; sample as usize % 4];
            let records = [Record { bytes: &x, shape: &[] }, Record { bytes: &s, shape: &[s.len() as u64] }];
            let row: Vec<_> = metadata.iter().map(|(_, _, value)| value(sample)).collect();
            writer.append(&records, &row, &mut || Ok(())).unwrap();
        }
        writer.publish(&mut || Ok(())).unwrap();
        Cache::open(&path, true).unwrap()
    }
}

/// All rows of one cache of `samples`, whose `x` is the row.
pub fn counting(samples: u64) -> (Root, Population) {
    let root = Root::new();
    let cache = root.cache("counting", 0, samples, &[]);
    (root, Population::new(vec![cache], None, Weights::Stored, vec![]).unwrap())
}

/// Options with nothing out of the ordinary.
pub fn options(batch_size: u64) -> Options {
    Options {
        order: None,
        seed: 0,
        batch_size,
        epoch_len: None,
        last: None,
        fields: None,
        threads: 2,
        prefetch: 3,
        max_bytes: 1 << 20,
        on_damage: OnDamage::Raise,
    }
}

/// A loader that is the only rank.
pub fn alone(population: &Population, options: Options) -> Result<Loader> {
    ranked(population, options, 0, 1)
}

pub fn ranked(population: &Population, options: Options, rank: u64, world_size: u64) -> Result<Loader> {
    let loader = Loader::new(population.clone(), options, Arc::new(Pool))?;
    loader.set_topology(rank, world_size)?;
    Ok(loader)
}

/// The next batch; None at the end.
pub fn next(loader: &Loader, pass: &Pass) -> Result<Option<Batch>> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loader.next_unless(pass, &|| {
        assert!(Instant::now() < deadline, "a batch took a minute");
        Ok(())
    })
}

/// The rest of a pass.
pub fn rest(loader: &Loader, pass: &Pass) -> Vec<Batch> {
    std::iter::from_fn(|| next(loader, pass).unwrap()).collect()
}

/// A whole pass.
pub fn pass(loader: &Loader) -> Vec<Batch> {
    rest(loader, &Pass::window())
}

pub fn column<'a>(batch: &'a Batch, name: &str) -> &'a Column {
    batch.columns.iter().find(|column| *column.name == *name).unwrap_or_else(|| panic!("no {name}"))
}

pub fn names(batch: &Batch) -> Vec<&str> {
    batch.columns.iter().map(|column| &*column.name).collect()
}

fn bytes(batch: &Batch, span: Span) -> &[u8] {
    span.of(batch.buffer.bytes()).unwrap()
}

/// A dense column of one axis, its elements zero-extended to 64 bits.
pub fn numbers(batch: &Batch, name: &str) -> Vec<u64> {
    let Layout::Dense { element, shape, values } = &column(batch, name).layout else { panic!("{name} is not dense") };
    assert_eq!(**shape, [batch.len as u64]);
    let widened = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(wide)
    };
    bytes(batch, *values).chunks_exact(element.size()).map(widened).collect()
}

/// A column of strings.
pub fn strings(batch: &Batch, name: &str) -> Vec<Option<Vec<u8>>> {
    let Layout::Strings { values, offsets, valid, .. } = &column(batch, name).layout else { panic!("{name} is dense") };
    let offsets: Vec<usize> = bytes(batch, *offsets)
        .chunks_exact(8)
        .map(|end| u64::from_le_bytes(end.try_into().unwrap()) as usize)
        .collect();
    assert_eq!((offsets.len(), offsets[0]), (batch.len + 1, 0));
    let value = |place: usize| bytes(batch, *values)[offsets[place]..offsets[place + 1]].to_vec();
    let valid: Vec<bool> =
        valid.map_or(vec![true; batch.len], |valid| bytes(batch, valid).iter().map(|flag| *flag == 1).collect());
    (0..batch.len).map(|place| valid[place].then(|| value(place))).collect()
}

/// The `x` of every batch.
pub fn xs(batches: &[Batch]) -> Vec<Vec<u64>> {
    batches.iter().map(|batch| numbers(batch, "x")).collect()
}
