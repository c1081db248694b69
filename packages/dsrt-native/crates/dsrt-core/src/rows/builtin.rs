//! Columns that are known without reading: which sample it is, where in the stream it stands, what it weighs.

use std::sync::Arc;

use crate::batch::{Layout, Span, Spans};
use crate::dtype::{DType, Element};
use crate::error::{Error, Kind, Result};
use crate::order::sample_seed;
use crate::read::gather::{Pace, Threads, VALID};
use crate::read::{Damage, Planned, Rows, Source};

/// A built-in column.
pub(super) enum BuiltIn {
    /// Place in the population, int64.
    Row,
    /// Position in the stream, int64.
    Position,
    /// Seed of the sample at its position, uint64.
    Seed,
    /// False for padding, bool.
    Valid,
    /// The cache's number, int64, of each cache.
    CacheId(Arc<[i64]>),
    /// Place in the cache, int64.
    SampleId,
    /// float64, of each row.
    Weight(Arc<Vec<f64>>),
}

/// The names of the built-in columns.
pub const NAMES: [&str; 7] = ["_row", "_position", "_seed", VALID, "cache_id", "sample_id", "weight"];

impl BuiltIn {
    /// Refuses any other type than the column's: `_valid` is a truth value, and nothing is wider than the others.
    pub fn check(&self, name: &str, dtype: Option<DType>) -> Result<()> {
        let own = self.dtype();
        match dtype.filter(|dtype| *dtype != own) {
            None => Ok(()),
            Some(other) => {
                let message = format!("fields= asks for {name} as {}, and it is always {}", other.name(), own.name());
                Err(Error::new(Kind::Schema, message))
            }
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Self::Row | Self::Position | Self::CacheId(_) | Self::SampleId => DType::Int64,
            Self::Seed => DType::UInt64,
            Self::Valid => DType::Bool,
            Self::Weight(_) => DType::Float64,
        }
    }

    /// The bits of the value at `place`, in the low bytes.
    fn bits(&self, rows: &Rows, place: usize) -> Option<u64> {
        match self {
            Self::Row => rows.rows.get(place).copied(),
            Self::Position => rows.positions.get(place).copied(),
            Self::Seed => rows.positions.get(place).map(|position| sample_seed(rows.seed, *position)),
            Self::Valid => rows.valid.get(place).map(|valid| u64::from(*valid)),
            Self::CacheId(ids) => rows.ids.get(place).and_then(|id| ids.get(id.cache as usize)).map(|id| *id as u64),
            Self::SampleId => rows.ids.get(place).map(|id| id.sample),
            Self::Weight(weights) => {
                let row = usize::try_from(*rows.rows.get(place)?).ok()?;
                weights.get(row).map(|weight| weight.to_bits())
            }
        }
    }
}

impl Source for BuiltIn {
    fn dense(&self) -> Option<(Element, Box<[u64]>)> {
        Some((Element::Plain(self.dtype()), [].into()))
    }

    fn plan<'a>(&'a self, rows: &Rows<'a>, spans: &mut Spans, _: &mut Damage) -> Result<Box<dyn Planned + 'a>> {
        let values = spans.reserve(rows.len() as u64 * self.dtype().size() as u64)?;
        Ok(Box::new(Known { column: self, rows: *rows, values }))
    }
}

struct Known<'a> {
    column: &'a BuiltIn,
    rows: Rows<'a>,
    values: Span,
}

impl Planned for Known<'_> {
    fn fill(self: Box<Self>, buffer: &mut [u8], _: &mut Damage, _: Threads) -> Result<Layout> {
        let Self { column, rows, values } = *self;
        let dtype = column.dtype();
        let mut pace = Pace::new(rows.look);
        for (place, to) in values.of_mut(buffer)?.chunks_exact_mut(dtype.size()).enumerate() {
            pace.record(0)?;
            let missing = || Error::new(Kind::Internal, "a batch was asked for with slices of different lengths");
            let bits = column.bits(&rows, place).ok_or_else(missing)?.to_le_bytes();
            to.copy_from_slice(bits.get(..dtype.size()).unwrap_or_default());
        }
        Ok(Layout::Dense { element: Element::Plain(dtype), shape: [rows.len() as u64].into(), values })
    }
}
