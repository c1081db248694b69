//! Batches: one buffer, lent to Python, and where each column lies in it.

use std::any::Any;
use std::ffi::c_int;

use dsrt_core::batch::{Batch, Layout, Span};
use dsrt_core::dtype::Element;
use dsrt_core::{Error, Kind};
use pyo3::exceptions::PyIndexError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::error::{attached, raise};
use crate::memory::{Bytes, PythonBuffer};

/// Many samples in one buffer, which `memoryview()` and NumPy see through the buffer protocol.
#[pyclass(frozen, name = "Batch", module = "dsrt_native._native")]
pub struct PyBatch {
    /// The batch's buffer. From `new` on it is used through this address only.
    bytes: Bytes,
    batch: Batch,
}

impl PyBatch {
    pub fn new(mut batch: Batch) -> Self {
        Self { bytes: Bytes::of_mut(batch.buffer.bytes_mut()), batch }
    }

    /// The bytes of a span of strings.
    fn of_strings(&self, py: Python<'_>, span: Span) -> PyResult<&[u8]> {
        // SAFETY: the batch is alive as long as self, and Python writes to the arrays that it makes of the other
        // columns, never to strings.
        attached(py, || unsafe { self.bytes.part(span) })
    }
}

#[pymethods]
impl PyBatch {
    fn __len__(&self) -> usize {
        self.batch.len
    }

    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the batch owns its buffer, which does not move and is writable.
        unsafe { slf.get().bytes.lend(slf.as_any(), view, flags, false) }
    }

    /// The object whose memory was lent for this batch, or None: the memory is the engine's own.
    #[getter]
    fn memory(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let buffer: &dyn Any = self.batch.buffer.as_ref();
        buffer.downcast_ref::<PythonBuffer>().map(|lent| lent.object.clone_ref(py))
    }

    /// Pairs of a name and a layout; places are in bytes from the start of the buffer.
    #[getter]
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyTuple>)>> {
        self.batch.columns.iter().map(|column| Ok((&*column.name, described(py, &column.layout)?))).collect()
    }

    /// The strings of a column as a list of str, or bytes, or None for null.
    fn strings<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let layout = self.batch.columns.get(column).map(|column| &column.layout);
        let Some(Layout::Strings { text, values, offsets, valid }) = layout else {
            return Err(PyIndexError::new_err(format!("column {column} is not one of strings")));
        };
        let values = self.of_strings(py, *values)?;
        let (ends, _) = self.of_strings(py, *offsets)?.as_chunks();
        let valid = valid.map(|span| self.of_strings(py, span)).transpose()?;
        let items = PyList::empty(py);
        for (place, (from, to)) in ends.iter().zip(ends.iter().skip(1)).enumerate() {
            let null = valid.and_then(|valid| valid.get(place)) == Some(&0);
            let range = i64::from_le_bytes(*from) as usize..i64::from_le_bytes(*to) as usize;
            let item = values.get(range).ok_or_else(|| raise(py, &misplaced()))?;
            items.append(match (null, *text) {
                (true, _) => py.None().into_bound(py),
                (false, true) => PyString::from_bytes(py, item)?.into_any(),
                (false, false) => byte_string(py, item)?,
            })?;
        }
        Ok(items)
    }
}

/// Python's bytes. `PyBytes::new` of pyo3 panics where there is no memory for them.
fn byte_string<'py>(py: Python<'py>, item: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let (start, len) = (item.as_ptr().cast(), item.len() as ffi::Py_ssize_t);
    // SAFETY: Python copies `len` bytes, and gives an object of its own or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(start, len)) }
}

fn described<'py>(py: Python<'py>, layout: &Layout) -> PyResult<Bound<'py, PyTuple>> {
    match layout {
        Layout::Dense { element, shape, values } => {
            ("dense", element_name(*element), PyTuple::new(py, shape.iter())?, values.at).into_pyobject(py)
        }
        Layout::Ragged { dtype, ndim, values, offsets, shapes } => {
            let count = values.len / dtype.size();
            let shapes = shapes.map(|span| span.at);
            ("ragged", dtype.name(), *ndim, values.at, count, offsets.at, shapes).into_pyobject(py)
        }
        Layout::Strings { text, .. } => ("strings", if *text { "text" } else { "bytes" }).into_pyobject(py),
    }
}

fn misplaced() -> Error {
    Error::new(Kind::Internal, "the offsets of a batch's strings lead outside their bytes")
}

/// A dtype of the format, or what NumPy calls a count of days or of another unit.
pub fn element_name(element: Element) -> String {
    match element {
        Element::Plain(dtype) => dtype.name().into(),
        Element::Date => "datetime64[D]".into(),
        Element::Timestamp(unit) => format!("datetime64[{}]", unit.name()),
        Element::Duration(unit) => format!("timedelta64[{}]", unit.name()),
    }
}
