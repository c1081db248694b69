//! What a writer is asked to write, and whether the format has such caches.

use std::sync::Arc;

use super::metadata::check_columns;
use super::train::DICTIONARY_SIZES;
use crate::dtype::ColumnType;
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field};
use crate::format::checksum;
use crate::format::json::Value;
use crate::format::manifest::{FieldEntry, FileEntry, Manifest};
use crate::format::shard::{HEADER, MAX_SAMPLES};

/// Levels of zstd that are of use.
const LEVELS: std::ops::RangeInclusive<i32> = 1..=22;

/// More threads than that are a mistake.
const MAX_THREADS: u64 = 1024;

/// The least length of a dictionary: shorter ones zstd silently ignores.
const MIN_DICTIONARY: usize = 8;

/// How the records of a field are compressed.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// Level of zstd; not looked at if the codec is raw.
    pub level: i32,
    /// The dictionary, iff the codec is zstd-dict.
    pub dictionary: Option<Dictionary>,
}

/// Where the dictionary of a field comes from.
#[derive(Clone, Debug)]
pub enum Dictionary {
    /// It is given: its body.
    Body(Vec<u8>),
    /// It is trained on the first samples and gets so many bytes.
    Train(usize),
}

/// What becomes of the durable samples of an earlier run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// They are an error, of kind `Exists`, that says how to choose.
    Ask,
    /// They are kept if the plan is the same, and the run goes on behind them.
    Resume,
    /// They are removed.
    Discard,
}

/// Everything that a cache is apart from its samples.
#[derive(Clone, Debug)]
pub struct WriterOptions {
    /// The payload fields in order.
    pub fields: Vec<(Field, Encoding)>,
    /// The metadata columns in order.
    pub metadata: Vec<(Arc<str>, ColumnType)>,
    /// Whatever identifies code and inputs.
    pub fingerprint: Option<String>,
    /// A JSON object, free for the source's use.
    pub attributes: Value,
    /// A shard is closed when it holds so many samples, at most 2^20 ...
    pub samples_per_shard: u64,
    /// ... or when one of its files holds so many bytes of records.
    pub shard_bytes: u64,
    /// Whether a published cache at the target is replaced; otherwise it is an error.
    pub replace: bool,
    /// Threads that compress, digest and write, beside the caller's and the one that makes shards durable.
    pub threads: usize,
    /// What becomes of the durable samples of an earlier run.
    pub earlier: Earlier,
}

impl Dictionary {
    /// What the manifest says of it. As long as it is not trained, its digest is zero.
    fn entry(&self) -> FileEntry {
        let (bytes, body) = match self {
            Self::Body(body) => (body.len(), checksum::digest(body)),
            Self::Train(size) => (*size, [0; 32]),
        };
        FileEntry { bytes: HEADER + bytes as u64, body, index: None }
    }
}

impl Encoding {
    /// The body of the dictionary, if one is given.
    pub(super) fn body(&self) -> Option<&[u8]> {
        match &self.dictionary {
            Some(Dictionary::Body(body)) => Some(body),
            _ => None,
        }
    }
}

impl WriterOptions {
    /// The manifest of the cache as it would be without samples, proven by the reader's own rules.
    pub(super) fn manifest(&self, name: &str) -> Result<Manifest> {
        self.check()?;
        let fields = self.fields.iter().map(|(field, encoding)| FieldEntry {
            field: field.clone(),
            files: Vec::new(),
            dictionary: encoding.dictionary.as_ref().map(Dictionary::entry),
        });
        let mut manifest = Manifest {
            name: name.into(),
            samples: 0,
            shards: Vec::new(),
            fields: fields.collect(),
            fingerprint: self.fingerprint.clone(),
            attributes: self.attributes.clone(),
            metadata: None,
            digest: [0; 32],
        };
        let bytes = manifest.to_bytes();
        Manifest::parse(&bytes).map_err(|error| {
            let problem = Error::new(Kind::Schema, error.message());
            match &error.place().field {
                Some(field) => problem.in_field(field),
                None => problem,
            }
        })
    }

    fn check(&self) -> Result<()> {
        let range = |what: &str, value: u64, most: u64| {
            if (1..=most).contains(&value) {
                return Ok(());
            }
            Err(Error::new(Kind::Value, format!("{what} is {value}; it is 1 to {most}")))
        };
        range("samples_per_shard", self.samples_per_shard, MAX_SAMPLES)?;
        range("shard_bytes", self.shard_bytes, i64::MAX as u64)?;
        range("threads", self.threads as u64, MAX_THREADS)?;
        check_columns(&self.metadata, self.fields.iter().map(|(field, _)| &*field.name))?;
        self.fields.iter().try_for_each(|(field, encoding)| check_encoding(field, encoding))
    }
}

fn check_encoding(field: &Field, encoding: &Encoding) -> Result<()> {
    let problem = match (field.codec, &encoding.dictionary) {
        (Codec::Raw, None) => return Ok(()),
        (Codec::Zstd | Codec::ZstdDict, _) if !LEVELS.contains(&encoding.level) => {
            format!("level {} of zstd; levels are {} to {}", encoding.level, LEVELS.start(), LEVELS.end())
        }
        (Codec::Zstd, None) => return Ok(()),
        (Codec::ZstdDict, Some(Dictionary::Body(body))) if body.len() >= MIN_DICTIONARY => return Ok(()),
        (Codec::ZstdDict, Some(Dictionary::Body(body))) => {
            format!("a dictionary of {} bytes; it has at least {MIN_DICTIONARY}", body.len())
        }
        (Codec::ZstdDict, Some(Dictionary::Train(size))) if DICTIONARY_SIZES.contains(size) => return Ok(()),
        (Codec::ZstdDict, Some(Dictionary::Train(size))) => {
            let (low, high) = (DICTIONARY_SIZES.start(), DICTIONARY_SIZES.end());
            format!("a dictionary of {size} bytes to train; it gets {low} to {high}")
        }
        (codec, _) => format!("a dictionary goes with the codec zstd-dict, and this one is {}", codec.name()),
    };
    Err(Error::new(Kind::Schema, problem).in_field(&field.name))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::field::FieldKind;

    /// A field with the usual level.
    pub(crate) fn field(name: &str, kind: FieldKind, dtype: DType, codec: Codec) -> (Field, Encoding) {
        let field = Field { name: name.into(), kind, dtype, codec, delta: 0 };
        (field, Encoding { level: 3, dictionary: None })
    }

    /// Options with the usual limits.
    pub(crate) fn options(fields: Vec<(Field, Encoding)>, metadata: &[(&str, &str)]) -> WriterOptions {
        let column = |(name, kind): &(&str, &str)| ((*name).into(), ColumnType::parse(kind).unwrap());
        WriterOptions {
            fields,
            metadata: metadata.iter().map(column).collect(),
            fingerprint: None,
            attributes: Value::Object(Default::default()),
            samples_per_shard: MAX_SAMPLES,
            shard_bytes: 256 << 20,
            replace: false,
            threads: 2,
            earlier: Earlier::Ask,
        }
    }

    /// The manifest of a cache without samples.
    pub(crate) fn empty_manifest(name: &str) -> Vec<u8> {
        options(vec![bytes("a")], &[]).manifest(name).unwrap().to_bytes()
    }

    fn bytes(name: &str) -> (Field, Encoding) {
        field(name, FieldKind::Bytes, DType::UInt8, Codec::Raw)
    }

    fn problem(options: &WriterOptions) -> String {
        options.manifest("x").unwrap_err().to_string()
    }

    #[test]
    fn the_readers_rules_judge_the_plan() {
        assert_eq!(options(vec![bytes("a")], &[]).manifest("x").unwrap().fields.len(), 1);
        assert!(problem(&options(vec![], &[])).contains("0 fields"));
        assert!(problem(&options(vec![bytes("a"), bytes("A")], &[])).starts_with("field A: another field"));
        assert!(problem(&options(vec![bytes("_a")], &[])).contains("not a name"));
        assert!(options(vec![bytes("a")], &[]).manifest("con").unwrap_err().to_string().contains("not a name"));
        let wide = field("a", FieldKind::Dense([1 << 48, 2].into()), DType::Bool, Codec::Raw);
        let error = options(vec![wide], &[]).manifest("x").unwrap_err();
        assert_eq!((error.kind(), error.place().field.as_deref()), (Kind::Schema, Some("a")));
        let mut filtered = bytes("a");
        filtered.0.delta = 3;
        assert!(problem(&options(vec![filtered], &[])).contains("delta"));
        assert!(problem(&options(vec![bytes("a")], &[("a", "int8")])).contains("a field's name"));
    }

    #[test]
    fn limits_and_levels_are_checked() {
        let with = |change: fn(&mut WriterOptions)| {
            let mut options = options(vec![field("a", FieldKind::Text, DType::UInt8, Codec::Zstd)], &[]);
            change(&mut options);
            options.manifest("x").err().map(|error| error.kind())
        };
        assert_eq!(with(|_| {}), None);
        assert_eq!(with(|options| options.samples_per_shard = 0), Some(Kind::Value));
        assert_eq!(with(|options| options.samples_per_shard = MAX_SAMPLES + 1), Some(Kind::Value));
        assert_eq!(with(|options| options.shard_bytes = 0), Some(Kind::Value));
        assert_eq!(with(|options| options.fields[0].1.level = 23), Some(Kind::Schema));
        assert_eq!(
            with(|options| options.fields[0].1.dictionary = Some(Dictionary::Body(vec![1; 8]))),
            Some(Kind::Schema)
        );
        assert_eq!(with(|options| options.fields[0].0.codec = Codec::ZstdDict), Some(Kind::Schema));
        fn dictionary(options: &mut WriterOptions, len: usize) {
            options.fields[0].0.codec = Codec::ZstdDict;
            options.fields[0].1.dictionary = Some(Dictionary::Body(vec![1; len]));
        }
        assert_eq!(with(|options| dictionary(options, 7)), Some(Kind::Schema));
        assert_eq!(with(|options| dictionary(options, 8)), None);
        assert_eq!(with(|options| dictionary(options, (1 << 20) + 1)), Some(Kind::Schema));
        fn train(options: &mut WriterOptions, size: usize) {
            options.fields[0].0.codec = Codec::ZstdDict;
            options.fields[0].1.dictionary = Some(Dictionary::Train(size));
        }
        assert_eq!(with(|options| train(options, 255)), Some(Kind::Schema));
        assert_eq!(with(|options| train(options, 1 << 20)), None);
        assert_eq!(with(|options| options.threads = 0), Some(Kind::Value));
    }
}
