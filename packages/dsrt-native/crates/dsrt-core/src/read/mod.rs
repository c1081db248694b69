//! Published caches: opening them, and reading samples with every byte checked.

mod by_name;
mod cache;
mod column;
mod content;
mod directory;
mod field;
mod file;
pub mod gather;
mod io;
mod kept;
mod lengths;
mod locate;
mod maps;
mod network;
mod pages;
mod payload;
mod shard;
mod slice;
mod table;
mod warmth;
mod weights;

pub use crate::format::names::WEIGHT;
pub use cache::Cache;
pub(crate) use cache::METADATA;
pub use column::MetadataSource;
pub(crate) use directory::{ABSENT, Directory, MANIFEST, TRIES};
pub(crate) use field::dictionary_name;
pub(crate) use file::{CacheFile, check_header};
pub use gather::{Damage, Id, OnDamage, Planned, Rows, Source, gather};
pub use io::{Access, Io};
pub use payload::PayloadSource;
pub(crate) use shard::file_name as shard_file_name;
pub use slice::Slice;
pub use table::Table;
