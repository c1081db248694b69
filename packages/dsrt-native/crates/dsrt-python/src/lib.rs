//! The extension module `dsrt_native._native`: registers the bindings, one file per concept of the core.

mod arrays;
mod arrow;
mod batch;
mod cache;
mod column;
mod error;
mod given;
mod loader;
mod memory;
mod merge;
mod order;
mod plan;
mod population;
mod sample;
mod samples;
mod state;
mod table;
mod train;
mod verify;
mod wanted;
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
    module.add_class::<arrow::PyArrowStream>()?;
    module.add_class::<cache::PyCache>()?;
    module.add_class::<population::PyPopulation>()?;
    module.add_class::<order::PySampler>()?;
    module.add_class::<loader::PyLoader>()?;
    module.add_class::<loader::PyPass>()?;
    module.add_function(wrap_pyfunction!(loader::cpus, module)?)?;
    module.add_function(wrap_pyfunction!(writer::leave_locks_to_parent, module)?)?;
    module.add_function(wrap_pyfunction!(writer::tidy, module)?)?;
    module.add_function(wrap_pyfunction!(writer::left_beside, module)?)?;
    module.add_function(wrap_pyfunction!(train::train_dictionary, module)?)?;
    module.add_function(wrap_pyfunction!(merge::merge, module)?)?;
    module.add_function(wrap_pyfunction!(verify::verify, module)?)
}
