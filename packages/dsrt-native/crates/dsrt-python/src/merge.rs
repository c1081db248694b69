//! Merging caches.

use std::path::PathBuf;

use dsrt_core::format::json;
use dsrt_core::write::{self, MergeOptions};
use dsrt_core::{Error, Kind};
use pyo3::prelude::*;

use crate::error::{attached, interruptible};

/// Puts caches together as one; returns warnings.
#[pyfunction]
#[pyo3(signature = (parts, path, *, link, fingerprint, attributes))]
pub fn merge(
    py: Python<'_>,
    parts: Vec<PathBuf>,
    path: PathBuf,
    link: bool,
    fingerprint: Option<String>,
    attributes: &[u8],
) -> PyResult<Vec<String>> {
    let refused = |error: Error| Error::new(Kind::Schema, format!("attributes cannot be stored: {}", error.message()));
    let attributes = attached(py, || json::Value::parse(attributes).map_err(refused))?;
    let options = MergeOptions { link, fingerprint, attributes };
    let published = interruptible(py, |interrupt| write::merge(&parts, &path, options, interrupt))?;
    Ok(published.warnings)
}
