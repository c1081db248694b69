//! Whether caches can be parts of one: rules R070 and R071.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::MergeOptions;
use crate::dtype::ColumnType;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;
use crate::format::manifest::{FieldEntry, Manifest};
use crate::read::Cache;

/// Name and type of each column, in the file's order.
pub(super) type Columns = Vec<(Arc<str>, ColumnType)>;

/// The first part, against which all are compared, and which there were.
pub(super) struct Comparison {
    path: Arc<str>,
    /// Without files.
    fields: Vec<FieldEntry>,
    columns: Option<Columns>,
    seen: BTreeMap<Digest, Arc<str>>,
}

impl Comparison {
    pub(super) fn new(first: Cache) -> Result<Self> {
        let fields = first.manifest().fields.iter().map(|entry| FieldEntry {
            field: entry.field.clone(),
            files: Vec::new(),
            dictionary: entry.dictionary.clone(),
        });
        let fields = fields.collect();
        Ok(Self { path: first.path().clone(), fields, columns: columns(&first)?, seen: BTreeMap::new() })
    }

    /// The manifest of the whole before any part is added, proven by the reader's own rules.
    pub(super) fn plan(&self, name: &str, options: MergeOptions) -> Result<Manifest> {
        let mut manifest = Manifest {
            name: name.into(),
            samples: 0,
            shards: Vec::new(),
            fields: self.fields.clone(),
            fingerprint: options.fingerprint,
            attributes: options.attributes,
            metadata: None,
            digest: [0; 32],
        };
        let bytes = manifest.to_bytes();
        Manifest::parse(&bytes).map_err(|error| Error::new(Kind::Schema, error.message()))
    }

    /// Checks a part. Returns for each field of the whole the place it has in the part.
    pub(super) fn check(&mut self, part: &Cache) -> Result<Vec<usize>> {
        let manifest = part.manifest();
        let at = |error: Error| error.in_cache(part.path());
        // Caches without samples add nothing, so it does not matter how often they come.
        if manifest.samples > 0
            && let Some(path) = self.seen.insert(manifest.digest, part.path().clone())
        {
            return Err(at(breach(70, format!("the part is given twice; it is the same cache as {path}"))));
        }
        if manifest.fields.len() != self.fields.len() {
            return Err(at(self.other_fields(manifest)));
        }
        let order = self.fields.iter().map(|expected| {
            let same_name = |entry: &FieldEntry| entry.field.name == expected.field.name;
            let place = manifest.fields.iter().position(same_name).ok_or_else(|| self.other_fields(manifest))?;
            let found = manifest.fields.get(place).and_then(|found| self.difference(expected, found));
            found.map_or(Ok(place), |what| Err(breach(70, what).in_field(&expected.field.name)))
        });
        let order = order.collect::<Result<Vec<_>>>().map_err(at)?;
        let found = columns(part)?;
        if found != self.columns {
            let (found, expected) = (shown(found.as_ref()), shown(self.columns.as_ref()));
            let message = format!(
                "the metadata columns are {found}, and those of {} are {expected}; parts have the same columns in the \
                 same order",
                self.path
            );
            return Err(at(breach(71, message)));
        }
        Ok(order)
    }

    pub(super) fn into_columns(self) -> Option<Columns> {
        self.columns
    }

    fn other_fields(&self, found: &Manifest) -> Error {
        let names = |entries: &[FieldEntry]| entries.iter().map(|e| &*e.field.name).collect::<Vec<_>>().join(", ");
        let (found, expected) = (names(&found.fields), names(&self.fields));
        let message = format!("the fields are {found}, and those of {} are {expected}; parts have the same", self.path);
        breach(70, message)
    }

    /// What differs between a field of the first part and that of another, in words.
    fn difference(&self, expected: &FieldEntry, found: &FieldEntry) -> Option<String> {
        let path = &self.path;
        let (of, is) = (&expected.field, &found.field);
        let shape = |entry: &FieldEntry| format!("{:?}", entry.field.kind).to_lowercase();
        let (what, found_as, expected_as) = if of.kind != is.kind {
            ("kind and shape", shape(found), shape(expected))
        } else if of.dtype != is.dtype {
            ("dtype", is.dtype.name().into(), of.dtype.name().into())
        } else if of.codec != is.codec {
            ("codec", is.codec.name().into(), of.codec.name().into())
        } else if of.delta != is.delta {
            ("delta", is.delta.to_string(), of.delta.to_string())
        } else if expected.dictionary != found.dictionary {
            return Some(format!(
                "the dictionary is another one than in {path}, so records of one cannot be decoded with the other's; \
                 write all parts with one dictionary: train_dictionary makes it, Zstd(dictionary=...) takes it"
            ));
        } else {
            return None;
        };
        Some(format!("{what} {found_as}, and in {path} {expected_as}; parts have equal fields"))
    }
}

fn columns(cache: &Cache) -> Result<Option<Columns>> {
    if cache.manifest().metadata.is_none() {
        return Ok(None);
    }
    Ok(Some(cache.table()?.columns().to_vec()))
}

fn shown(columns: Option<&Columns>) -> String {
    let columns = columns.map(Vec::as_slice).unwrap_or_default();
    let columns: Vec<_> = columns.iter().map(|(name, kind)| format!("{name}: {}", kind.name())).collect();
    if columns.is_empty() { "none".into() } else { columns.join(", ") }
}

fn breach(rule: u16, message: String) -> Error {
    Error::rule(Kind::Format, rule, message)
}
