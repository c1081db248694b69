//! The cache that is written again and again: a field of each sort, metadata with nulls, several shards.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::error::Result;
use dsrt_core::field::{Codec, Field, FieldKind};
use dsrt_core::format::json::Value as Json;
use dsrt_core::write::{Dictionary, Disk, Earlier, Encoding, Published, Record, Value, Writer, WriterOptions};

use super::random::Random;

/// Samples of the cache, and of a shard.
pub const SAMPLES: u64 = 14;
const PER_SHARD: u64 = 4;

/// A writer that makes nothing durable for so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Name of the cache.
pub const NAME: &str = "pets";

/// One sample.
pub struct Sample {
    pub image: Vec<u8>,
    pub feature: Vec<u8>,
    pub tokens: Vec<u8>,
    pub caption: String,
    pub label: i32,
    pub species: Option<String>,
    pub weight: f64,
}

/// All samples of the cache of that version.
pub fn samples(version: u64) -> Vec<Sample> {
    (0..SAMPLES).map(|number| sample(version, number)).collect()
}

fn sample(version: u64, number: u64) -> Sample {
    let mut random = Random(version * 1000 + number);
    let mut bytes = |len: u64, limit: u64| (0..len).map(|_| random.below(limit) as u8).collect::<Vec<_>>();
    let (image, feature) = (bytes(12, 256), bytes(16, 3));
    let tokens = bytes(4 * (number % 5), 7);
    let words = bytes(440, 6);
    let word = |word: &u8| ["a cat ", "of grey ", "on the ", "wall ", "jumps ", "über "][usize::from(*word)];
    Sample {
        image,
        feature,
        tokens,
        caption: format!("{number}: {}", words.iter().map(word).collect::<String>()),
        label: (number * 7) as i32 - 20,
        species: (number % 3 != 1).then(|| format!("a species with a name longer than a view, {number}")),
        weight: number as f64 / 4.0,
    }
}

/// The fields, in order.
pub fn fields() -> Vec<(Field, Encoding)> {
    let field = |name: &str, kind, dtype, codec, dictionary| {
        (Field { name: name.into(), kind, dtype, codec, delta: 0 }, Encoding { level: 3, dictionary })
    };
    let body = Dictionary::Body(b"\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05\0\0\0".to_vec());
    vec![
        field("image", FieldKind::Dense([2, 2, 3].into()), DType::UInt8, Codec::Raw, None),
        field("feature", FieldKind::Dense([4].into()), DType::Float32, Codec::Zstd, None),
        field("tokens", FieldKind::Ragged(1), DType::Int32, Codec::ZstdDict, Some(body)),
        field("caption", FieldKind::Text, DType::UInt8, Codec::ZstdDict, Some(Dictionary::Train(256))),
    ]
}

pub(super) fn options(version: u64, replace: bool) -> WriterOptions {
    let column = |name: &str, kind: &str| (Arc::from(name), ColumnType::parse(kind).unwrap());
    WriterOptions {
        fields: fields(),
        metadata: vec![column("label", "int32"), column("species", "string"), column("weight", "float64")],
        fingerprint: Some(format!("version {version}")),
        attributes: Json::Object(Default::default()),
        samples_per_shard: PER_SHARD,
        shard_bytes: 256 << 20,
        replace,
        threads: 2,
        earlier: Earlier::Resume,
    }
}

/// What came of a run.
pub struct Run {
    /// Samples taken over from an earlier run, if it got so far.
    pub resumed: Option<u64>,
    pub outcome: Result<Published>,
}

/// Writes the cache of that version below `root`, going on from what is there.
pub fn write(disk: Disk, root: &Path, version: u64, replace: bool) -> Run {
    let mut run = Run { resumed: None, outcome: Err(dsrt_core::Error::new(dsrt_core::Kind::State, "")) };
    run.outcome = (|| {
        let mut writer = Writer::create_on(disk, &root.join(NAME), options(version, replace))?;
        run.resumed = Some(writer.resumed());
        let all = samples(version);
        for sample in all.iter().skip(writer.count() as usize) {
            append(&mut writer, sample)?;
        }
        writer.publish(&mut || Ok(()))
    })();
    run
}

/// Appends samples to a new cache below `root` until `enough` says so when it is told how many are durable.
pub fn write_until(disk: Disk, root: &Path, version: u64, mut enough: impl FnMut(u64, u64) -> bool) {
    let mut writer = Writer::create_on(disk, &root.join(NAME), options(version, false)).unwrap();
    for (count, sample) in (1..).zip(&samples(version)) {
        append(&mut writer, sample).unwrap();
        let full = count / PER_SHARD * PER_SHARD;
        let since = Instant::now();
        while !enough(full, writer.durable()) {
            assert!(since.elapsed() < PATIENCE, "{} of {full} samples are durable", writer.durable());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

pub(super) fn append(writer: &mut Writer, sample: &Sample) -> Result<()> {
    let (tokens, caption) = ([sample.tokens.len() as u64 / 4], [sample.caption.len() as u64]);
    let records = [
        Record { bytes: &sample.image, shape: &[2, 2, 3] },
        Record { bytes: &sample.feature, shape: &[4] },
        Record { bytes: &sample.tokens, shape: &tokens },
        Record { bytes: sample.caption.as_bytes(), shape: &caption },
    ];
    let species = sample.species.as_deref().map_or(Value::Null, Value::Str);
    writer.append(&records, &[Value::Int(sample.label.into()), species, Value::Float(sample.weight)], &mut || Ok(()))
}
