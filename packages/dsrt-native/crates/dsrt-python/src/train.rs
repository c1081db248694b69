//! Trained dictionaries.

use dsrt_core::write;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::detached;

/// A dictionary for records that resemble these.
#[pyfunction]
pub fn train_dictionary<'py>(
    py: Python<'py>,
    records: Vec<Bound<'py, PyBytes>>,
    size: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let records: Vec<_> = records.iter().map(|record| record.as_bytes()).collect();
    let dictionary = detached(py, || write::train_dictionary(&records, size))?;
    Ok(PyBytes::new(py, &dictionary))
}
