//! Populations: rows over caches.

use dsrt_core::format::checksum::hex;
use dsrt_core::pool::Pool;
use dsrt_core::read::{Cache, OnDamage};
use dsrt_core::rows::{Population, Weights};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::arrow::import_table;
use crate::batch::PyBatch;
use crate::cache::{FieldDescription, PyCache, field_description};
use crate::column::named_columns;
use crate::error::detached;
use crate::memory::{View, numbers};

/// Rows over caches.
#[pyclass(frozen, name = "Population", module = "dsrt_native._native")]
pub struct PyPopulation(pub Population);

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

    /// The names of a sample's columns, each with "field", "column", or "null" where it is null.
    fn columns_of(
        &self,
        py: Python<'_>,
        row: u64,
        names: Option<Vec<String>>,
    ) -> PyResult<Vec<(String, &'static str)>> {
        detached(py, || {
            let projection = self.0.project(names.as_deref(), false)?;
            let fields = self.0.fields();
            let state = |name: &str| -> dsrt_core::Result<&'static str> {
                // Payload is read whatever state the metadata are in.
                if fields.iter().any(|field| *field.name == *name) {
                    return Ok("field");
                }
                Ok(if self.0.is_null(row, name)? { "null" } else { "column" })
            };
            projection.names().map(|name| Ok((name.as_ref().to_owned(), state(name)?))).collect()
        })
    }

    fn check(&self, py: Python<'_>, names: Vec<String>) -> PyResult<()> {
        detached(py, || self.0.project(Some(&names), false).map(drop))
    }

    fn gather(&self, py: Python<'_>, rows: PyBuffer<u64>, names: Option<Vec<String>>, mask: bool) -> PyResult<PyBatch> {
        let on_damage = if mask { OnDamage::Mask } else { OnDamage::Raise };
        let batch = detached(py, || {
            let projection = self.0.project(names.as_deref(), mask)?;
            self.0.gather(&projection, &numbers(&rows)?, &Pool, on_damage)
        })?;
        Ok(PyBatch::new(batch))
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

fn opened(caches: &[PyRef<'_, PyCache>]) -> Vec<Cache> {
    caches.iter().map(|cache| cache.0.clone()).collect()
}

fn given(weights: Option<&PyBuffer<f64>>, otherwise: Weights) -> dsrt_core::Result<Weights> {
    weights.map_or(Ok(otherwise), |weights| numbers(weights).map(Weights::Given))
}
