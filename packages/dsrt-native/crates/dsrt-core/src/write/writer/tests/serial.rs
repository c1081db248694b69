//! A writer that does one thing after the other in memory, and samples for both.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::dtype::ColumnType;
use crate::format::codec::Encoder;
use crate::format::manifest::{CHUNK, FileEntry, MetadataEntry};
use crate::format::shard::HEADER;
use crate::write::block::Part;
use crate::write::metadata::oracle;
use crate::write::shard::{Shard, Sum};

pub(super) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A record for each field, and as many values as there are columns.
#[derive(Clone)]
pub(super) struct Sample {
    pub records: Vec<(Vec<u64>, Vec<u8>)>,
    pub row: Vec<Cell>,
}

#[derive(Clone)]
pub(super) enum Cell {
    Null,
    Int(i64),
    Text(String),
}

impl Sample {
    pub(super) fn records(&self) -> Vec<Record<'_>> {
        self.records.iter().map(|(shape, bytes)| Record { bytes, shape }).collect()
    }

    pub(super) fn row(&self) -> Vec<Value<'_>> {
        let value = |cell| match cell {
            &Cell::Null => Value::Null,
            &Cell::Int(value) => Value::Int(value.into()),
            Cell::Text(text) => Value::Str(text),
        };
        self.row.iter().map(value).collect()
    }
}

/// Numbers at random: Marsaglia's xorshift64.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % end
    }

    pub(super) fn bytes(&mut self, len: u64) -> Vec<u8> {
        let word = self.below(u64::MAX).to_le_bytes();
        (0..len).map(|i| if i % 5 < 3 { word[i as usize % 8] } else { self.below(8) as u8 }).collect()
    }

    /// A sample whose records have up to about `most` bytes where they may.
    pub(super) fn sample(&mut self, options: &WriterOptions, most: u64) -> Sample {
        let record = |random: &mut Self, (field, _): &(Field, crate::write::Encoding)| {
            let itemsize = field.dtype.size() as u64;
            let shape = match &field.kind {
                FieldKind::Dense(shape) => shape.to_vec(),
                FieldKind::Ragged(axes) => {
                    let mut shape: Vec<_> = (1..*axes).map(|_| random.below(3)).collect();
                    shape.push(random.below(most / itemsize / 4 + 2));
                    shape
                }
                _ => vec![random.below(most + 1)],
            };
            let bytes = random.bytes(shape.iter().product::<u64>() * itemsize);
            (shape, bytes)
        };
        let cell = |random: &mut Self, kind: ColumnType| match (random.below(5), kind) {
            (0, _) => Cell::Null,
            (_, ColumnType::String) => Cell::Text("lang genug ".repeat(random.below(4) as usize)),
            _ => Cell::Int(random.below(1 << 40) as i64),
        };
        Sample {
            records: options.fields.iter().map(|field| record(self, field)).collect(),
            row: options.metadata.iter().map(|(_, kind)| cell(self, *kind)).collect(),
        }
    }
}

/// Every file of the cache of those samples, and the numbers of samples in its shards.
pub(super) fn cache(options: &WriterOptions, samples: &[Sample]) -> (Files, Vec<u64>) {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let bodies: Vec<_> = options.fields.iter().map(|(_, encoding)| encoding.body()).collect();
    let codings = codings(options, &bodies).unwrap();
    let mut encoder = Encoder::default();
    let mut manifest = options.manifest("x").unwrap();
    let mut shard: Vec<(Part, Sum)> = Vec::new();
    let end = |shard: &mut Vec<(Part, Sum)>, manifest: &mut Manifest| {
        let number = manifest.shards.len();
        manifest.shards.push(shard.first().map_or(0, |(part, _)| part.ends.len()) as u64);
        for ((part, mut sum), entry) in shard.drain(..).zip(&mut manifest.fields) {
            let directory = at("fields").join(&*entry.field.name);
            std::fs::create_dir_all(&directory).unwrap();
            let mut file = Shard::create(&Disk::default(), directory.join(format!("{number:05}.shard"))).unwrap();
            file.write(&part.bytes).unwrap();
            entry.files.push(file.end(sum.end(&entry.field)).unwrap().0);
        }
    };
    for sample in samples {
        if shard.is_empty() {
            shard = options.fields.iter().map(|_| Default::default()).collect();
        }
        for (((field, _), coding), ((part, sum), (shape, bytes))) in
            options.fields.iter().zip(&codings).zip(shard.iter_mut().zip(&sample.records))
        {
            part.bytes.extend(encoder.encode(coding, bytes).unwrap());
            part.ends.push(part.bytes.len());
            part.shapes.extend(&shape[..field.entry_axes()]);
            sum.add(field, part, part.ends.len() - 1, part.ends.len());
        }
        let is_full = shard[0].0.ends.len() as u64 >= options.samples_per_shard
            || shard.iter().any(|(part, _)| part.bytes.len() as u64 >= options.shard_bytes);
        if is_full {
            end(&mut shard, &mut manifest);
        }
    }
    if !shard.is_empty() {
        end(&mut shard, &mut manifest);
    }
    manifest.samples = samples.len() as u64;
    if !options.metadata.is_empty() {
        let rows: Vec<_> = samples.iter().map(Sample::row).collect();
        let table = oracle::expected(&options.metadata, &rows);
        let chunks = table.chunks(CHUNK as usize).map(|chunk| *blake3::hash(chunk).as_bytes()).collect();
        manifest.metadata = Some(MetadataEntry { bytes: table.len() as u64, chunks });
        std::fs::write(at("metadata.arrow"), table).unwrap();
    }
    for ((field, _), body) in options.fields.iter().zip(bodies).filter_map(|(field, body)| Some((field, body?))) {
        let entry = FileEntry { bytes: HEADER + body.len() as u64, body: *blake3::hash(body).as_bytes(), index: None };
        let directory = at("fields").join(&*field.name);
        std::fs::create_dir_all(&directory).unwrap();
        let file = [&header::dictionary(entry.bytes, &entry.body)[..], body].concat();
        std::fs::write(directory.join("dictionary.bin"), file).unwrap();
    }
    std::fs::write(at("manifest.json"), manifest.to_bytes()).unwrap();
    (files(root.path()).into_iter().collect(), manifest.shards)
}
