//! Open caches.

use std::path::PathBuf;
use std::sync::Arc;

use dsrt_core::field::{Field, FieldKind};
use dsrt_core::format::checksum::hex;
use dsrt_core::read::Cache;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};

use crate::arrow::PyArrowStream;
use crate::error::{detached, interruptible};
use crate::memory::View;

/// An open cache.
#[pyclass(frozen, name = "Cache", module = "dsrt_native._native")]
pub struct PyCache(pub Cache);

/// Name, kind, dtype, shape and codec of a field; None for an axis that each record has for itself.
pub type FieldDescription<'py> = (String, &'static str, &'static str, Bound<'py, PyTuple>, &'static str);

pub fn field_description<'py>(py: Python<'py>, field: &Field) -> PyResult<FieldDescription<'py>> {
    let shape: Vec<Option<u64>> = match &field.kind {
        FieldKind::Dense(shape) => shape.iter().copied().map(Some).collect(),
        FieldKind::Ragged(_) | FieldKind::Bytes | FieldKind::Text => vec![None; field.entry_axes()],
    };
    let shape = PyTuple::new(py, shape)?;
    Ok((field.name.as_ref().to_owned(), field.kind_name(), field.dtype.name(), shape, field.codec.name()))
}

#[pymethods]
impl PyCache {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, verify: bool, io: String) -> PyResult<Self> {
        detached(py, || Cache::open_by(&path, verify, io.parse()?)).map(Self)
    }

    fn __len__(&self) -> usize {
        // Fewer than 2^46: a manifest of 64 MiB, the longest, lists no more than 2^25 shards of 2^20 samples.
        self.0.len() as usize
    }

    #[getter]
    fn path(&self) -> &str {
        self.0.path()
    }

    #[getter]
    fn io(&self) -> &'static str {
        self.0.access().name()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.manifest().name
    }

    #[getter]
    fn cache_id(&self) -> i64 {
        self.0.id()
    }

    #[getter]
    fn digest(&self) -> String {
        hex(&self.0.manifest().digest)
    }

    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Vec<FieldDescription<'py>>> {
        self.0.manifest().fields.iter().map(|entry| field_description(py, &entry.field)).collect()
    }

    fn columns(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        detached(py, || {
            let table = self.0.table()?;
            Ok(table.columns().iter().map(|(name, kind)| (name.as_ref().to_owned(), kind.name())).collect())
        })
    }

    fn lengths<'py>(&self, py: Python<'py>, field: usize) -> PyResult<Bound<'py, PyMemoryView>> {
        detached(py, || Ok(View::of_numbers(Arc::new(self.0.lengths(field)?))))?.shown(py)
    }

    fn slice<'py>(
        &self,
        py: Python<'py>,
        field: usize,
        start: u64,
        stop: u64,
    ) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let slice = detached(py, || self.0.slice(field, start, stop))?;
        slice.map(|slice| View::new(Arc::new(slice), |bytes| bytes).shown(py)).transpose()
    }

    fn metadata_stream(&self, py: Python<'_>) -> PyResult<Option<PyArrowStream>> {
        if self.0.manifest().metadata.is_none() {
            return Ok(None);
        }
        let (schema, batches) = interruptible(py, |look| {
            let table = self.0.table()?;
            Ok((table.schema().clone(), table.batches_unless(look)?.to_vec()))
        })?;
        Ok(Some(PyArrowStream { schema, batches }))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            self.0.close();
            Ok(())
        })
    }
}
