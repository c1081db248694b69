//! A population: the rows of one or more caches that are in use, with weights and extra columns. Immutable.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow_array::ArrayRef;
use once_cell::race::OnceBox;

use super::column::Column;
use super::digest::{rows_digest, weights_digest};
use super::projection::{Projected, Projection};
use super::selection::Selection;
use super::stored;
use super::weights::{Held, Weights};
use crate::batch::{Allocator, Batch};
use crate::error::{Error, Kind, Result};
use crate::format::manifest::FieldEntry;
use crate::format::names::is_column_name;
use crate::lists::List;
use crate::read::gather::Pace;
use crate::read::{Cache, Id, Look, OnDamage, Rows, Threads, gather, gather_into};

/// The extra columns, and the place of each by its name.
#[derive(Default)]
struct Columns {
    listed: Vec<(Arc<str>, Arc<Column>)>,
    places: HashMap<Arc<str>, usize>,
}

/// That gather a batch which somebody waits for. Measured: two of them reach what memory can do.
const THREADS: Threads = Threads::UpTo(4);

/// Rows over caches. Clones are the same population.
#[derive(Clone)]
pub struct Population(Arc<Inner>);

struct Inner {
    caches: Arc<[Cache]>,
    /// Which fields of the first cache all others have, too.
    fields: OnceBox<Box<[usize]>>,
    /// What was asked for last: a sample takes less time to be read than a projection to be made over many caches. The lock
    /// is only tried, and nothing of the caller's is dropped under it.
    projected: Mutex<Option<Projected>>,
    rows: Selection,
    weights: Held,
    columns: Arc<Columns>,
    /// Shared by populations of the same rows.
    rows_digest: Arc<OnceBox<[u8; 32]>>,
    weights_digest: OnceBox<[u8; 32]>,
}

/// Samples of a batch, as places in a population and in a stream. All slices have the same length.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a> {
    /// Place of each in the population.
    pub rows: &'a [u64],
    /// Place of each in the stream.
    pub positions: &'a [u64],
    /// False for padding.
    pub valid: &'a [bool],
    /// Of the order.
    pub seed: u64,
}

impl Population {
    /// The samples `rows` of the caches laid end to end, duplicates allowed; all of them in order for None. `columns` hold
    /// one value for each row. The error for a bad row, weight or column names it.
    pub fn new(
        caches: Vec<Cache>,
        rows: Option<Vec<u64>>,
        weights: Weights,
        columns: Vec<(Arc<str>, ArrayRef)>,
    ) -> Result<Self> {
        check_caches(&caches)?;
        let lengths: Vec<u64> = caches.iter().map(Cache::len).collect();
        let rows = Selection::new(&lengths, rows)?;
        let columns = check_columns(&caches, rows.len(), columns)?;
        let weights = Held::new(weights, &caches, &rows)?;
        Ok(Self::of(caches.into(), rows, weights, columns, Arc::default()))
    }

    fn of(
        caches: Arc<[Cache]>,
        rows: Selection,
        weights: Held,
        columns: Arc<Columns>,
        rows_digest: Arc<OnceBox<[u8; 32]>>,
    ) -> Self {
        let (fields, projected, weights_digest) = (OnceBox::new(), Mutex::default(), OnceBox::new());
        Self(Arc::new(Inner { caches, fields, projected, rows, weights, columns, rows_digest, weights_digest }))
    }

    /// The same rows and columns with other weights.
    pub fn with_weights(&self, weights: Weights) -> Result<Self> {
        let Inner { caches, rows, columns, rows_digest, .. } = &*self.0;
        let weights = Held::new(weights, caches, rows)?;
        Ok(Self::of(caches.clone(), rows.clone(), weights, columns.clone(), rows_digest.clone()))
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.0.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The caches, in order.
    pub fn caches(&self) -> &Arc<[Cache]> {
        &self.0.caches
    }

    /// The numbers, in the first cache, of the payload fields that every cache has.
    pub(super) fn common_fields(&self) -> &[usize] {
        let common = || {
            let Some((first, others)) = self.0.caches.split_first() else { return Box::default() };
            let has =
                |cache: &Cache, name: &str| cache.manifest().fields.iter().any(|entry| *entry.field.name == *name);
            let in_all = |entry: &FieldEntry| others.iter().all(|cache| has(cache, &entry.field.name));
            let fields = first.manifest().fields.iter().enumerate().filter(|(_, entry)| in_all(entry));
            Box::new(fields.map(|(number, _)| number).collect())
        };
        self.0.fields.get_or_init(common)
    }

    /// What was projected last.
    pub(super) fn projected(&self) -> &Mutex<Option<Projected>> {
        &self.0.projected
    }

    /// The rows as places in the caches laid end to end; None for all samples in order.
    pub fn rows(&self) -> Option<&Arc<Vec<u64>>> {
        self.0.rows.rows()
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.0.rows
    }

    /// The sample of a row.
    pub fn id(&self, row: u64) -> Result<Id> {
        self.0.rows.id(row)
    }

    /// The samples of these rows.
    fn row_ids(&self, rows: &[u64], look: Look) -> Result<List<Id>> {
        thread_local!(static IDS: Cell<Vec<Id>> = const { Cell::new(Vec::new()) });
        let mut ids = List::take(&IDS, rows.len())?;
        let mut pace = Pace::new(look);
        for row in rows {
            pace.record(0)?;
            ids.push(self.0.rows.id(*row)?);
        }
        Ok(ids)
    }

    /// One weight a row, or None. Stored ones are read at the first call. An error if some rows have one and some not.
    pub fn weights(&self) -> Result<Option<&Arc<Vec<f64>>>> {
        self.0.weights.get(&self.0.caches, &self.0.rows)
    }

    /// The extra columns.
    pub fn extra_columns(&self) -> &[(Arc<str>, Arc<Column>)] {
        &self.0.columns.listed
    }

    /// The extra column of that name.
    pub fn extra_column(&self, name: &str) -> Option<&Arc<Column>> {
        let Columns { listed, places } = &*self.0.columns;
        listed.get(*places.get(name)?).map(|(_, column)| column)
    }

    /// Of caches and rows; known at once where the rows are all samples.
    pub fn rows_digest(&self) -> [u8; 32] {
        let compute = || {
            let caches: Vec<_> = self.0.caches.iter().map(|cache| (cache.id(), cache.len())).collect();
            Box::new(rows_digest(&caches, &self.0.rows))
        };
        *self.0.rows_digest.get_or_init(compute)
    }

    /// Of the weights; None if there are none.
    pub fn weights_digest(&self) -> Result<Option<[u8; 32]>> {
        let Some(weights) = self.weights()? else { return Ok(None) };
        Ok(Some(*self.0.weights_digest.get_or_init(|| Box::new(weights_digest(weights)))))
    }

    /// Gathers a batch of `rows`, in that order; a large one with up to four threads, of which none is left without a CPU.
    pub fn gather(
        &self,
        projection: &Projection,
        rows: &[u64],
        memory: &dyn Allocator,
        on_damage: OnDamage,
    ) -> Result<Batch> {
        self.gather_unless(projection, rows, memory, on_damage, &|| Ok(()))
    }

    /// The same. It looks now and then: an error of that ends it and comes up.
    pub fn gather_unless(
        &self,
        projection: &Projection,
        rows: &[u64],
        memory: &dyn Allocator,
        on_damage: OnDamage,
        look: Look,
    ) -> Result<Batch> {
        let valid = all_valid(rows.len())?;
        let places = Places { rows, positions: rows, valid: &valid, seed: 0 };
        self.gather_at(projection, &places, memory, on_damage, THREADS, look)
    }

    /// Gathers `rows` into memory that is there: see [`gather_into`]. It looks now and then, likewise.
    pub fn gather_into(
        &self,
        projection: &Projection,
        rows: &[u64],
        outs: &mut [&mut [u8]],
        on_damage: OnDamage,
        look: Look,
    ) -> Result<()> {
        let ids = self.row_ids(rows, look)?;
        let valid = all_valid(rows.len())?;
        let all = Rows { ids: &ids, rows, positions: rows, valid: &valid, seed: 0, look };
        gather_into(projection.columns(), &all, outs, on_damage, THREADS)
            .map_err(|error| self.place(error, projection, &ids))
    }

    /// Gathers a batch of a stream with `threads`, which look now and then, likewise.
    pub fn gather_at(
        &self,
        projection: &Projection,
        places: &Places,
        memory: &dyn Allocator,
        on_damage: OnDamage,
        threads: Threads,
        look: Look,
    ) -> Result<Batch> {
        let ids = self.row_ids(places.rows, look)?;
        let Places { rows, positions, valid, seed } = *places;
        let rows = Rows { ids: &ids, rows, positions, valid, seed, look };
        gather(projection.columns(), &rows, memory, on_damage, threads)
            .map_err(|error| self.place(error, projection, &ids))
    }
}

/// As many marks of samples that are no padding.
fn all_valid(len: usize) -> Result<List<bool>> {
    thread_local!(static VALID: Cell<Vec<bool>> = const { Cell::new(Vec::new()) });
    let mut valid = List::take(&VALID, len)?;
    valid.resize(len, true);
    Ok(valid)
}

/// R072: no cache twice. Caches without samples are exempt.
fn check_caches(caches: &[Cache]) -> Result<()> {
    if caches.is_empty() {
        return Err(Error::new(Kind::Value, "a population needs at least one cache"));
    }
    if u32::try_from(caches.len()).is_err() {
        return Err(Error::new(Kind::Value, "a population holds at most 2^32 - 1 caches"));
    }
    let mut known: HashMap<i64, &Cache> = HashMap::new();
    for cache in caches.iter().filter(|cache| !cache.is_empty()) {
        let Some(other) = known.insert(cache.id(), cache) else { continue };
        let (here, there) = (cache.path(), other.path());
        let what = if cache.manifest().digest == other.manifest().digest {
            format!("{here} and {there} are the same cache; open it once, and repeat rows to draw them more often")
        } else {
            format!("{here} and {there} have the same cache_id by chance; build one of them anew")
        };
        return Err(Error::rule(Kind::Format, 72, what));
    }
    Ok(())
}

fn check_columns(caches: &[Cache], rows: u64, columns: Vec<(Arc<str>, ArrayRef)>) -> Result<Arc<Columns>> {
    let mut checked = Columns::default();
    for (name, array) in columns {
        let refuse = |what: String| Err(Error::new(Kind::Schema, format!("extra column {name:?}: {what}")));
        if &*name == "weight" {
            return refuse("weights are given as weights, not as a column".into());
        }
        if !is_column_name(&name) {
            return refuse(
                "names have 1 to 255 bytes, do not begin with _, hold no U+0000 and are not cache_id or sample_id"
                    .into(),
            );
        }
        if checked.places.contains_key(&name) {
            return refuse("it is there twice".into());
        }
        if array.len() as u64 != rows {
            return refuse(format!("it has {} values for {rows} rows; give one for each", array.len()));
        }
        for cache in caches {
            let is_field = cache.manifest().fields.iter().any(|entry| entry.field.name == name);
            let what = if is_field {
                "a payload field"
            } else if stored::has_column(cache, &name)? {
                "a stored column"
            } else {
                continue;
            };
            return refuse(format!("{what} of {} has this name; take another one", cache.path()));
        }
        let column = Column::from_arrow(&array)
            .map_err(|e| Error::new(e.kind(), format!("extra column {name:?}: {}", e.message())))?;
        checked.places.insert(name.clone(), checked.listed.len());
        checked.listed.push((name, Arc::new(column)));
    }
    Ok(checked.into())
}
