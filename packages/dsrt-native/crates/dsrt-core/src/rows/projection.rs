//! What a batch holds: names become columns that can be gathered.

use std::sync::Arc;

use super::builtin::{self, BuiltIn};
use super::extra::{ExtraSource, null_error, takes_nulls};
use super::population::Population;
use super::stored;
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::names::is_column_name;
use crate::read::gather::VALID;
use crate::read::{PayloadSource, Source};

/// A column that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its name.
    pub name: Arc<str>,
    /// The type that its elements are delivered as, which holds every value of theirs; None for that which they have.
    pub dtype: Option<DType>,
}

impl From<&str> for Wanted {
    fn from(name: &str) -> Self {
        Self { name: name.into(), dtype: None }
    }
}

/// Columns of a batch, in order. Clones share them.
#[derive(Clone)]
pub struct Projection {
    columns: Vec<(Arc<str>, Arc<dyn Source>)>,
}

/// A projection, and what was asked for.
pub(super) struct Projected {
    wanted: Option<Vec<Wanted>>,
    with_valid: bool,
    projection: Projection,
}

impl Projection {
    /// What the driver gathers.
    pub fn columns(&self) -> &[(Arc<str>, Arc<dyn Source>)] {
        &self.columns
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.columns.iter().map(|(name, _)| name)
    }

    /// Leaves out the column of that name.
    pub fn leave_out(&mut self, name: &str) {
        self.columns.retain(|(known, _)| **known != *name);
    }
}

impl Population {
    /// The payload fields that every cache has, in the order of the first one.
    pub fn fields(&self) -> Vec<&Field> {
        self.each_field().collect()
    }

    fn each_field(&self) -> impl Iterator<Item = &Field> {
        let all = self.caches().first().map_or(&[][..], |cache| &cache.manifest().fields);
        self.common_fields().iter().filter_map(|number| all.get(*number)).map(|entry| &entry.field)
    }

    fn has_field(&self, name: &str) -> bool {
        self.each_field().any(|field| *field.name == *name)
    }

    /// The stored columns that every cache has, but for `weight`, then the extra columns.
    pub fn columns(&self) -> Result<Vec<(Arc<str>, ColumnType)>> {
        let mut columns = stored::columns(self.caches())?;
        columns.extend(self.extra_columns().iter().map(|(name, column)| (name.clone(), column.kind())));
        Ok(columns)
    }

    /// The columns that are asked for; of None all payload fields, stored columns and extra columns that every cache has.
    /// `with_valid` adds `_valid` where it is not among them.
    pub fn project(&self, wanted: Option<&[Wanted]>, with_valid: bool) -> Result<Projection> {
        if let Ok(last) = self.projected().try_lock()
            && let Some(Projected { wanted: known, with_valid: had_valid, projection }) = &*last
            && (known.as_deref(), *had_valid) == (wanted, with_valid)
        {
            return Ok(projection.clone());
        }
        let projection = self.projection(wanted, with_valid)?;
        let new = Projected { wanted: wanted.map(<[_]>::to_vec), with_valid, projection: projection.clone() };
        let old = self.projected().try_lock().ok().and_then(|mut last| last.replace(new));
        drop(old);
        Ok(projection)
    }

    fn projection(&self, wanted: Option<&[Wanted]>, with_valid: bool) -> Result<Projection> {
        let mut wanted: Vec<Wanted> = match wanted {
            Some(wanted) => wanted.into(),
            None => {
                let fields = self.fields().into_iter().map(|field| field.name.clone());
                let names = fields.chain(self.columns()?.into_iter().map(|(name, _)| name));
                names.map(|name| Wanted { name, dtype: None }).collect()
            }
        };
        let mut sorted: Vec<_> = wanted.iter().map(|wanted| &wanted.name).collect();
        sorted.sort_unstable();
        let pairs = sorted.iter().zip(sorted.iter().skip(1));
        if let Some((twice, _)) = pairs.into_iter().find(|(a, b)| a == b) {
            return Err(Error::new(Kind::Schema, format!("{twice:?} is asked for twice")));
        }
        if with_valid && !wanted.iter().any(|wanted| *wanted.name == *VALID) {
            wanted.push(VALID.into());
        }
        let columns = wanted.into_iter().map(|Wanted { name, dtype }| {
            let source = self.source(&name, dtype)?;
            Ok((name, source))
        });
        Ok(Projection { columns: columns.collect::<Result<_>>()? })
    }

    fn source(&self, name: &str, dtype: Option<DType>) -> Result<Arc<dyn Source>> {
        let built_in = match name {
            "_row" => BuiltIn::Row,
            "_position" => BuiltIn::Position,
            "_seed" => BuiltIn::Seed,
            VALID => BuiltIn::Valid,
            "cache_id" => BuiltIn::CacheId(self.caches().iter().map(|cache| cache.id()).collect()),
            "sample_id" => BuiltIn::SampleId,
            "weight" => BuiltIn::Weight(self.weights()?.cloned().ok_or_else(|| {
                Error::new(Kind::Value, "\"weight\" is asked for, and the rows have no weights; set them first")
            })?),
            _ => return self.data_source(name, dtype),
        };
        built_in.check(name, dtype)?;
        Ok(Arc::new(built_in))
    }

    fn data_source(&self, name: &str, dtype: Option<DType>) -> Result<Arc<dyn Source>> {
        if let Some(column) = self.extra_column(name) {
            return Ok(Arc::new(ExtraSource::new(name, column.clone(), dtype)?));
        }
        if self.has_field(name) {
            let source = PayloadSource::new(self.caches().clone(), name)?;
            return Ok(Arc::new(match dtype {
                Some(dtype) => source.delivered_as(dtype)?,
                None => source,
            }));
        }
        if stored::have_column(self.caches(), name)? {
            return stored::source(self.caches(), name, dtype);
        }
        let fields = self.fields().into_iter().map(|field| field.name.to_string());
        let columns = self.columns()?.into_iter().map(|(name, _)| name.to_string());
        let known: Vec<String> = fields.chain(columns).chain(builtin::NAMES.map(String::from)).collect();
        Err(Error::new(Kind::Schema, format!("there is no {name:?}; there is {}", known.join(", "))))
    }

    /// Refuses columns that become arrays and are null at any row of the population: count, first row, and what to do.
    pub fn check_nulls(&self, projection: &Projection) -> Result<()> {
        for name in projection.names() {
            let nulls = match self.extra_column(name) {
                Some(column) if takes_nulls(column.kind()) => None,
                Some(column) => column.first_null().map(|first| (column.null_count() as u64, first as u64)),
                // Metadata are not read for payload and built-ins.
                None if self.has_field(name) || !is_column_name(name) => None,
                None => stored::nulls(self, name)?,
            };
            if let Some((count, first)) = nulls {
                return Err(null_error(count, first).in_field(name));
            }
        }
        Ok(())
    }
}
