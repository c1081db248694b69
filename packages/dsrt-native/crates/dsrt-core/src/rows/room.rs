//! A batch that the memory refuses: whose it was.

use std::collections::BTreeSet;

use super::population::Population;
use super::projection::Projection;
use crate::error::{Error, Kind};
use crate::read::Id;

/// The most names that a message lists.
const SHOWN: usize = 8;

impl Population {
    /// An error of a batch. One of memory that names no record says which samples and columns of which caches the batch
    /// was to hold: none of them is damaged, so it is never masked.
    pub(super) fn place(&self, error: Error, projection: &Projection, ids: &[Id]) -> Error {
        if error.kind() != Kind::Memory || error.place().cache.is_some() {
            return error;
        }
        let caches: BTreeSet<u32> = ids.iter().map(|id| id.cache).collect();
        let caches: Vec<_> = caches.iter().filter_map(|number| self.caches().get(*number as usize)).collect();
        let samples = if ids.len() == 1 { "one sample".into() } else { format!("{} samples", ids.len()) };
        let columns = listed(projection.names().map(|name| &**name));
        let paths = listed(caches.iter().map(|cache| &**cache.path()));
        let mut placed = Error::new(
            Kind::Memory,
            format!(
                "{}: {samples} with {columns} of {paths}; ask for fewer samples or fields at once (errors=\"mask\" is for \
                 damage, and nothing is damaged)",
                error.message(),
            ),
        );
        if let [cache] = *caches {
            placed = placed.in_cache(cache.path());
        }
        match ids {
            [id] => placed.at_sample(id.sample),
            _ => placed,
        }
    }
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<_> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let shown = names.join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
