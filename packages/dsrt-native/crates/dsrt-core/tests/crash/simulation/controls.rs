//! The controls: a kind of sync is left out, and the survey must notice.

use std::path::Path;

use super::dataset::NAME;
use super::trace::Done;

/// A kind of sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    Shards,
    Dictionaries,
    Spill,
    Journal,
    Metadata,
    Manifest,
    FieldDirectories,
    Fields,
    Cache,
    Work,
    Parent,
}

impl Sync {
    /// All kinds.
    pub const ALL: [Self; 11] = [
        Self::Shards,
        Self::Dictionaries,
        Self::Spill,
        Self::Journal,
        Self::Metadata,
        Self::Manifest,
        Self::FieldDirectories,
        Self::Fields,
        Self::Cache,
        Self::Work,
        Self::Parent,
    ];

    /// Whether an operation is one of that kind.
    pub fn is(self, done: &Done) -> bool {
        match done {
            Done::SyncFile(path) => match self {
                Self::Shards => path.extension().is_some_and(|extension| extension == "shard"),
                Self::Dictionaries => path.ends_with("dictionary.bin"),
                Self::Spill => path.ends_with("metadata.spill"),
                Self::Journal => path.ends_with("journal"),
                Self::Metadata => path.ends_with("metadata.arrow"),
                Self::Manifest => path.ends_with("manifest.json"),
                _ => false,
            },
            Done::SyncDirectory(path) => match self {
                Self::FieldDirectories => path.parent().is_some_and(|parent| parent.ends_with("cache/fields")),
                Self::Fields => path.ends_with("cache/fields"),
                Self::Cache => path.ends_with("cache"),
                Self::Work => *path == Path::new(&format!(".{NAME}.building")),
                Self::Parent => path.as_os_str().is_empty(),
                _ => false,
            },
            _ => false,
        }
    }
}
