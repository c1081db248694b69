//! The orders by themselves, for those who want rows without a loader.

use dsrt_core::order::{Order, Sampler};
use dsrt_core::{Error, Kind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::error::{attached, detached};
use crate::memory::{numbers, numbers_mut};

/// So many draws are over before another thread has taken the GIL.
const FEW: usize = 512;

/// The order of that name.
pub fn order_named(py: Python<'_>, name: &str) -> PyResult<Order> {
    attached(py, || Order::parse(name).ok_or_else(|| Error::new(Kind::Value, format!("there is no order {name:?}"))))
}

/// An order made ready.
#[pyclass(frozen, name = "Sampler", module = "dsrt_native._native")]
pub struct PySampler(Sampler);

#[pymethods]
impl PySampler {
    #[new]
    #[pyo3(signature = (order, n, seed, weights = None))]
    fn new(py: Python<'_>, order: &str, n: u64, seed: u64, weights: Option<PyBuffer<f64>>) -> PyResult<Self> {
        let order = order_named(py, order)?;
        detached(py, || {
            let weights = weights.as_ref().map(numbers).transpose()?;
            Sampler::new(order, seed, n, weights.as_deref())
        })
        .map(Self)
    }

    /// Writes the rows at `start` and the positions behind it to an array that nobody else has yet.
    fn fill(&self, py: Python<'_>, start: u64, out: PyBuffer<i64>) -> PyResult<()> {
        let few = out.item_count() <= FEW;
        let fill = || numbers_mut(&out, |rows| self.0.rows_from(start, rows));
        if few { attached(py, fill) } else { detached(py, fill) }
    }
}
