//! What a manifest lists that may break rules R007 to R021: the validator goes on with what is described well.

use std::sync::Arc;

use super::limits::{self, Breach};
use super::memory::gathered;
use super::{FileEntry, MetadataEntry, Value, proven, types, values};
use crate::error::Result;
use crate::field::Field;

/// The files of a cache, as far as its manifest describes them well enough to be opened.
pub struct Inventory {
    /// Number of samples as the manifest has it; none if it is negative.
    pub samples: Option<u64>,
    /// Samples of each shard; none if one of them is out of range (R010), and then no shard can be read.
    pub shards: Option<Vec<u64>>,
    /// The payload fields in the manifest's order.
    pub fields: Vec<ListedField>,
    /// Whether there are metadata columns.
    pub has_metadata: bool,
    /// Their file; none also where it is described wrongly (R012).
    pub metadata: Option<MetadataEntry>,
}

/// A payload field and its files.
pub struct ListedField {
    /// Its name, which may be no legal one.
    pub name: Arc<str>,
    /// How many files of shards are listed.
    pub listed: usize,
    /// Whether a dictionary is listed.
    pub has_dictionary: bool,
    /// What can be opened; none if the field breaks a rule other than R021.
    pub entry: Option<SoundField>,
}

/// A field that keeps every rule but R021.
pub struct SoundField {
    /// What a record is.
    pub field: Field,
    /// One for each shard; none where it breaks R021.
    pub files: Vec<Option<FileEntry>>,
    /// Iff the codec is zstd-dict.
    pub dictionary: Option<FileEntry>,
}

impl Inventory {
    /// Reads a manifest. A breach of R001 to R006 is an error, those of R007 to R021 are told one by one.
    pub fn read(bytes: &[u8], tell: &mut dyn FnMut(&Breach<'_>)) -> Result<Self> {
        proven(bytes)?;
        let value = Value::parse(bytes)?;
        let raw = types::read(&value)?;
        let mut are_shards_legal = true;
        let mut is_metadata_legal = true;
        let mut fields = gathered(raw.fields.iter().map(listed))?;
        limits::check(&raw, &mut |breach| {
            tell(&breach);
            are_shards_legal &= breach.rule != 10;
            is_metadata_legal &= breach.rule != 12;
            let Some(field) = breach.field.and_then(|(number, _)| fields.get_mut(number)) else { return };
            match (breach.rule, breach.shard, &mut field.entry) {
                (21, Some(shard), Some(entry)) => {
                    if let Some(file) = entry.files.get_mut(shard as usize) {
                        *file = None;
                    }
                }
                _ => field.entry = None,
            }
        })?;
        // One that is named twice has no files of its own.
        let mut wrong = gathered(fields.iter().map(|field| Ok(field.entry.is_none().then(|| field.name.clone()))))?;
        wrong.sort_unstable();
        for field in fields.iter_mut() {
            if wrong.binary_search(&Some(field.name.clone())).is_ok() {
                field.entry = None;
            }
        }
        Ok(Self {
            samples: u64::try_from(raw.samples).ok(),
            shards: values::shards(&raw)?.filter(|_| are_shards_legal),
            fields,
            has_metadata: raw.metadata.is_some(),
            metadata: values::metadata(&raw)?.filter(|_| is_metadata_legal),
        })
    }
}

fn listed(raw: &types::RawField) -> Result<ListedField> {
    let sound = |field| {
        let files = gathered(raw.files.iter().map(|file| Ok(Some(values::file(file)))))?;
        Ok(SoundField { field, files, dictionary: raw.dictionary.as_ref().map(values::file) })
    };
    Ok(ListedField {
        name: raw.name.into(),
        listed: raw.files.len(),
        has_dictionary: raw.dictionary.is_some(),
        entry: values::field(raw).map(sound).transpose()?,
    })
}
