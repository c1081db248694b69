//! A loader's state as a dict of plain values, and back.

use dsrt_core::load::State;
use dsrt_core::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::raise;

pub fn state_dict<'py>(py: Python<'py>, state: &State) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("format", state.format)?;
    dict.set_item("order", &state.order)?;
    dict.set_item("seed", state.seed)?;
    dict.set_item("position", state.position)?;
    dict.set_item("epoch_len", state.epoch_len)?;
    dict.set_item("n", state.n)?;
    dict.set_item("rows", &state.rows)?;
    dict.set_item("weights", state.weights.as_deref())?;
    dict.set_item("caches", &state.caches)?;
    Ok(dict)
}

pub fn state_of(dict: &Bound<'_, PyDict>) -> PyResult<State> {
    Ok(State {
        format: value(dict, "format")?,
        order: value(dict, "order")?,
        seed: value(dict, "seed")?,
        position: value(dict, "position")?,
        epoch_len: value(dict, "epoch_len")?,
        n: value(dict, "n")?,
        rows: value(dict, "rows")?,
        weights: value(dict, "weights")?,
        caches: value(dict, "caches")?,
    })
}

fn value<T: for<'a, 'py> FromPyObject<'a, 'py>>(dict: &Bound<'_, PyDict>, key: &str) -> PyResult<T> {
    let wrong = |what: String| {
        let message = format!("this is no state of a loader: {what}; give what state_dict() returned");
        raise(dict.py(), &Error::new(Kind::StateMismatch, message))
    };
    let found = dict.get_item(key)?.ok_or_else(|| wrong(format!("{key:?} is missing")))?;
    found.extract().map_err(|_| wrong(format!("{key:?} is {found}")))
}
