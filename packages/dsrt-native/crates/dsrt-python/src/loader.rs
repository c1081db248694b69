//! Loaders: the stream of batches. The engine's threads know nothing of Python but for memory that it lends.
//!
//! Everything here runs without the GIL, however short it is: another thread may hold a lock of the loader's while
//! it waits for the GIL.

use std::sync::Arc;

use dsrt_core::batch::Allocator;
use dsrt_core::load::{Last, Loader, Options, Pass, Stats};
use dsrt_core::order::Order;
use dsrt_core::pool::Pool;
use dsrt_core::read::OnDamage;
use dsrt_core::{Error, Kind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyTuple};

use crate::batch::PyBatch;
use crate::error::{detached, interruptible, interruptible_on_all};
use crate::memory::{PythonMemory, View, numbers};
use crate::order::order_named;
use crate::population::PyPopulation;
use crate::state::{state_dict, state_of};
use crate::wanted::{Asked, wanted};

/// Streams batches.
#[pyclass(frozen, name = "Loader", module = "dsrt_native._native")]
pub struct PyLoader(Option<Loader>);

/// A pass or some steps, which begin at their first `next`.
#[pyclass(frozen, name = "Pass", module = "dsrt_native._native")]
pub struct PyPass(Pass);

#[pymethods]
impl PyPass {
    #[staticmethod]
    fn window() -> Self {
        Self(Pass::window())
    }

    #[staticmethod]
    fn steps(count: Option<u64>) -> Self {
        Self(Pass::steps(count))
    }
}

type StatsTuple<'py> = (u64, u64, f64, f64, f64, f64, usize, Bound<'py, PyTuple>);

impl PyLoader {
    fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Loader) -> dsrt_core::Result<T> + Send) -> PyResult<T> {
        detached(py, || work(self.loader()?))
    }

    fn loader(&self) -> dsrt_core::Result<&Loader> {
        self.0.as_ref().ok_or_else(|| Error::new(Kind::Internal, "the loader is gone"))
    }
}

#[pymethods]
impl PyLoader {
    #[new]
    #[pyo3(signature = (population, batch_size, *, order, seed, fields, epoch_len, last, threads, prefetch, max_bytes,
                        mask, allocate))]
    #[expect(clippy::too_many_arguments, reason = "one for each of the Python class's")]
    fn new(
        py: Python<'_>,
        population: &Bound<'_, PyPopulation>,
        batch_size: u64,
        order: Option<&str>,
        seed: u64,
        fields: Option<Vec<Asked>>,
        epoch_len: Option<u64>,
        last: Option<&str>,
        threads: usize,
        prefetch: usize,
        max_bytes: usize,
        mask: bool,
        allocate: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let order = order.map(|name| order_named(py, name)).transpose()?;
        let on_damage = if mask { OnDamage::Mask } else { OnDamage::Raise };
        let memory: Arc<dyn Allocator> = match allocate {
            Some(function) => Arc::new(PythonMemory::new(function)),
            None => Arc::new(Pool),
        };
        let population = population.get().0.clone();
        let last = last.map(last_named).transpose();
        detached(py, || {
            let (last, fields) = (last?, wanted(fields)?);
            let options =
                Options { order, seed, batch_size, epoch_len, last, fields, threads, prefetch, max_bytes, on_damage };
            Loader::new(population, options, memory)
        })
        .map(|loader| Self(Some(loader)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.run(py, |loader| Ok(loader.window_steps()? as usize))
    }

    #[getter]
    fn has_topology(&self, py: Python<'_>) -> PyResult<bool> {
        self.run(py, |loader| Ok(loader.topology()?.is_some()))
    }

    fn set_topology(&self, py: Python<'_>, rank: u64, world_size: u64) -> PyResult<()> {
        self.run(py, |loader| loader.set_topology(rank, world_size))
    }

    /// The next batch, or None at the end.
    fn next(&self, py: Python<'_>, taken: &Bound<'_, PyPass>) -> PyResult<Option<PyBatch>> {
        let pass = &taken.get().0;
        let batch = interruptible_on_all(py, |look| self.loader()?.next_unless(pass, look))?;
        Ok(batch.map(PyBatch::new))
    }

    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<u64> {
        self.run(py, Loader::position)
    }

    #[getter]
    fn epoch(&self, py: Python<'_>) -> PyResult<u64> {
        self.run(py, Loader::epoch)
    }

    fn seek(&self, py: Python<'_>, position: u64) -> PyResult<()> {
        self.run(py, |loader| loader.seek(position))
    }

    fn set_epoch(&self, py: Python<'_>, epoch: u64) -> PyResult<bool> {
        self.run(py, |loader| loader.set_epoch(epoch))
    }

    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        state_dict(py, &self.run(py, Loader::state)?)
    }

    fn load_state_dict(&self, py: Python<'_>, state: &Bound<'_, PyDict>, strict: bool) -> PyResult<Vec<String>> {
        let state = state_of(state)?;
        self.run(py, |loader| loader.load_state(&state, strict))
    }

    fn reweight(&self, py: Python<'_>, weights: PyBuffer<f64>) -> PyResult<()> {
        self.run(py, |loader| loader.reweight(numbers(&weights)?))
    }

    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let weights = self.run(py, |loader| match loader.order() {
            Order::Weighted => Ok(loader.population()?.weights()?.cloned()),
            _ => Ok(None),
        })?;
        weights.map(|weights| View::of_numbers(weights).shown(py)).transpose()
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<StatsTuple<'py>> {
        let Stats { batches, bytes, seconds, wait_seconds, wait_p50, wait_p95, queue_depth, damaged } =
            self.run(py, Loader::stats)?;
        let damaged = damaged.into_iter().map(|(cache, sample, field)| (cache, sample, field.as_ref().into()));
        let damaged = PyTuple::new(py, damaged.collect::<Vec<(i64, u64, String)>>())?;
        Ok((batches, bytes, seconds, wait_seconds, wait_p50, wait_p95, queue_depth, damaged))
    }

    /// What the handler of a signal raises ends the wait for the threads.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |look| self.loader()?.close_unless(look))
    }

    /// Closes it, and waits for the threads whatever happens: one of them may be about to ask for the GIL.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.run(py, Loader::close)
    }
}

impl Drop for PyLoader {
    /// Waits for the engine's threads, one of which may wait for the GIL.
    fn drop(&mut self) {
        let loader = self.0.take();
        Python::attach(|py| py.detach(|| drop(loader)));
    }
}

fn last_named(name: &str) -> dsrt_core::Result<Last> {
    let unknown = || Error::new(Kind::Value, format!("last={name:?}: expected 'drop', 'pad' or 'short'"));
    Last::parse(name).ok_or_else(unknown)
}

/// The CPUs that this process may use, by affinity and by the limits of its control group, when it first asked.
#[pyfunction]
pub fn cpus() -> usize {
    dsrt_core::cpus()
}
