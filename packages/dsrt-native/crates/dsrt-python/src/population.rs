//! Populations: rows over caches.

use dsrt_core::batch::Allocator;
use dsrt_core::format::checksum::hex;
use dsrt_core::pool::Pool;
use dsrt_core::read::{Cache, OnDamage};
use dsrt_core::rows::{Population, Projection, Weights};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};

use crate::arrays::Arrays;
use crate::arrow::import_table;
use crate::batch::{PyBatch, element_name};
use crate::cache::{FieldDescription, PyCache, field_description};
use crate::column::named_columns;
use crate::error::{attached, detached, interruptible_on_all};
use crate::memory::{PythonMemory, View, numbers};
use crate::wanted::{Asked, wanted};

/// Rows over caches.
#[pyclass(frozen, name = "Population", module = "dsrt_native._native")]
pub struct PyPopulation(pub Population);

/// The name of a column; the elements and the shape that a sample has of it.
type DenseColumn<'py> = (String, Option<(String, Bound<'py, PyTuple>)>);

/// The names of columns, each with whether it is a payload field.
type Kinds = Vec<(String, bool)>;

impl PyPopulation {
    fn kinds_of(&self, projection: &Projection) -> Kinds {
        let fields = self.0.fields();
        let is_field = |name: &str| fields.iter().any(|field| *field.name == *name);
        projection.names().map(|name| (name.as_ref().to_owned(), is_field(name))).collect()
    }
}

#[pymethods]
impl PyPopulation {
    #[new]
    #[pyo3(signature = (caches, rows = None, weights = None, columns = None))]
    fn new(
        py: Python<'_>,
        caches: Vec<PyRef<'_, PyCache>>,
        rows: Option<PyBuffer<u64>>,
        weights: Option<PyBuffer<f64>>,
        columns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let caches = opened(&caches);
        let columns = columns.map(named_columns).transpose()?.unwrap_or_default();
        detached(py, || {
            let rows = rows.as_ref().map(numbers).transpose()?;
            Population::new(caches, rows, given(weights.as_ref(), Weights::Stored)?, columns)
        })
        .map(Self)
    }

    #[staticmethod]
    fn from_arrow(py: Python<'_>, caches: Vec<PyRef<'_, PyCache>>, table: &Bound<'_, PyAny>) -> PyResult<Self> {
        let caches = opened(&caches);
        let (schema, batches) = import_table(table)?;
        detached(py, || Population::from_table(caches, &schema, &batches)).map(Self)
    }

    fn with_weights(&self, py: Python<'_>, weights: Option<PyBuffer<f64>>) -> PyResult<Self> {
        detached(py, || self.0.with_weights(given(weights.as_ref(), Weights::None)?)).map(Self)
    }

    fn __len__(&self) -> usize {
        self.0.len() as usize
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<FieldDescription<'py>>> {
        self.0.fields().into_iter().map(|field| field_description(py, field)).collect()
    }

    fn columns(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let columns = detached(py, || self.0.columns())?;
        Ok(columns.into_iter().map(|(name, kind)| (name.as_ref().to_owned(), kind.name())).collect())
    }

    /// The names of a sample's columns, each with whether it is a payload field.
    fn kinds(&self, py: Python<'_>, fields: Option<Vec<Asked>>) -> PyResult<Kinds> {
        detached(py, || Ok(self.kinds_of(&self.0.project(wanted(fields)?.as_deref(), false)?)))
    }

    /// One sample: its columns as `kinds` gives them, and a batch of it alone, in which those that are null are not.
    fn sample(&self, py: Python<'_>, row: u64, fields: Option<Vec<Asked>>) -> PyResult<(Kinds, PyBatch)> {
        let (kinds, batch) = detached(py, || {
            let mut projection = self.0.project(wanted(fields)?.as_deref(), false)?;
            let kinds = self.kinds_of(&projection);
            // Payload is read whatever state the metadata are in.
            for (name, _) in kinds.iter().filter(|(_, is_field)| !is_field) {
                if self.0.is_null(row, name)? {
                    projection.leave_out(name);
                }
            }
            Ok((kinds, self.0.gather(&projection, &[row], &Pool, OnDamage::Raise)?))
        })?;
        Ok((kinds, PyBatch::new(batch)))
    }

    fn check(&self, py: Python<'_>, fields: Vec<Asked>) -> PyResult<()> {
        detached(py, || self.0.project(wanted(Some(fields))?.as_deref(), false).map(drop))
    }

    /// The names of a batch's columns, each with the elements and the shape that a sample has; None where that differs.
    fn dense<'py>(&self, py: Python<'py>, fields: Option<Vec<Asked>>, mask: bool) -> PyResult<Vec<DenseColumn<'py>>> {
        let projection = detached(py, || self.0.project(wanted(fields)?.as_deref(), mask))?;
        let described = projection.columns().iter().map(|(name, source)| {
            let name = name.as_ref().to_owned();
            let Some((element, shape)) = source.dense() else { return Ok((name, None)) };
            Ok((name, Some((element_name(element), PyTuple::new(py, shape)?))))
        });
        described.collect()
    }

    /// A batch in memory of the engine's, or in what a function gives.
    fn gather(
        &self,
        py: Python<'_>,
        rows: PyBuffer<u64>,
        fields: Option<Vec<Asked>>,
        mask: bool,
        allocate: Option<Py<PyAny>>,
    ) -> PyResult<PyBatch> {
        let lent = allocate.map(PythonMemory::new);
        let batch = interruptible_on_all(py, |look| {
            let projection = self.0.project(wanted(fields)?.as_deref(), mask)?;
            let memory: &dyn Allocator = lent.as_ref().map_or(&Pool, |lent| lent);
            self.0.gather_unless(&projection, &numbers(&rows)?, memory, on_damage(mask), look)
        });
        match lent.and_then(PythonMemory::into_raised) {
            Some(raised) => Err(raised),
            None => batch.map(PyBatch::new),
        }
    }

    /// A batch in arrays, one for each of its columns, which are all dense.
    fn gather_into(
        &self,
        py: Python<'_>,
        rows: PyBuffer<u64>,
        fields: Option<Vec<Asked>>,
        mask: bool,
        arrays: Vec<PyBuffer<u8>>,
    ) -> PyResult<()> {
        let outs = attached(py, || Arrays::new(&arrays))?;
        interruptible_on_all(py, |look| {
            let projection = self.0.project(wanted(fields)?.as_deref(), mask)?;
            // A copy: the rows may lie in one of the arrays.
            let rows = numbers(&rows)?;
            outs.write(|outs| self.0.gather_into(&projection, &rows, outs, on_damage(mask), look))
        })
    }

    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        self.0.rows().map(|rows| View::of_numbers(rows.clone()).shown(py)).transpose()
    }

    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let weights = detached(py, || Ok(self.0.weights()?.cloned()))?;
        weights.map(|weights| View::of_numbers(weights).shown(py)).transpose()
    }

    fn rows_digest(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || Ok(hex(&self.0.rows_digest())))
    }

    fn weights_digest(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let digest = detached(py, || self.0.weights_digest())?;
        Ok(digest.map(|digest| hex(&digest)))
    }
}

fn on_damage(mask: bool) -> OnDamage {
    if mask { OnDamage::Mask } else { OnDamage::Raise }
}

fn opened(caches: &[PyRef<'_, PyCache>]) -> Vec<Cache> {
    caches.iter().map(|cache| cache.0.clone()).collect()
}

fn given(weights: Option<&PyBuffer<f64>>, otherwise: Weights) -> dsrt_core::Result<Weights> {
    weights.map_or(Ok(otherwise), |weights| numbers(weights).map(Weights::Given))
}
