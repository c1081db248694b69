//! The extension module `dsrt_native._native`: registers the bindings, one file per concept of the core.

use pyo3::prelude::*;

/// The native engine. Private: `dsrt_native` is its public face.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
