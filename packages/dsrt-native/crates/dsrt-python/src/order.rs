//! The orders by themselves, for those who want rows without a loader.

use dsrt_core::order::{Order, Sampler};
use dsrt_core::{Error, Kind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::error::{attached, detached};
use crate::memory::{View, numbers};

/// The order of that name.
pub fn order_named(py: Python<'_>, name: &str) -> PyResult<Order> {
    attached(py, || Order::parse(name).ok_or_else(|| Error::new(Kind::Value, format!("there is no order {name:?}"))))
}

/// The rows at `count` positions from `start` on, as int64.
#[pyfunction]
#[pyo3(signature = (order, n, seed, start, count, weights = None))]
pub fn order_rows<'py>(
    py: Python<'py>,
    order: &str,
    n: u64,
    seed: u64,
    start: u64,
    count: u64,
    weights: Option<PyBuffer<f64>>,
) -> PyResult<Bound<'py, PyMemoryView>> {
    let order = order_named(py, order)?;
    let rows = detached(py, || {
        let weights = weights.as_ref().map(numbers).transpose()?;
        let sampler = Sampler::new(order, seed, n, weights.as_deref())?;
        let mut rows = room(count)?;
        let mut positions = room(count)?;
        // The end of the range may be 2^64, which is no u64.
        positions.extend((0..count).map(|step| start.wrapping_add(step)));
        rows.resize(positions.len(), 0);
        sampler.rows(&positions, &mut rows);
        Ok(View::of_numbers(rows.into()))
    })?;
    rows.shown(py)
}

fn room(count: u64) -> dsrt_core::Result<Vec<u64>> {
    let mut rows = Vec::new();
    let reserved = usize::try_from(count).is_ok_and(|count| rows.try_reserve_exact(count).is_ok());
    reserved.then_some(rows).ok_or_else(|| Error::new(Kind::Memory, format!("{count} rows do not fit into memory")))
}
