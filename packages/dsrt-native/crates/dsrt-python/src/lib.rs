//! The extension module `dsrt_native._native`: registers the bindings, one file per concept of the core.

#[allow(dead_code)]
mod arrow;
mod batch;
#[allow(dead_code)] // the bindings that release the GIL follow
mod error;
#[allow(dead_code)] // the loader, which lends memory to batches, follows
mod memory;
mod order;
mod sample;
mod writer;

use pyo3::prelude::*;

/// The native engine. Private: `dsrt_native` is its public face.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    // Figures of a debug build say nothing; whoever measures asks this first.
    module.add("__build_profile__", if cfg!(debug_assertions) { "debug" } else { "release" })?;
    module.add_class::<batch::PyBatch>()?;
    module.add_class::<writer::PyWriter>()?;
    module.add_function(wrap_pyfunction!(order::order_rows, module)?)
}
