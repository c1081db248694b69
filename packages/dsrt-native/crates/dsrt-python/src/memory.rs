//! Memory that crosses the border: ours lent to Python through the buffer protocol, and Python's lent to us.

use std::any::Any;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use dsrt_core::batch::{ALIGNMENT, Allocator, Buffer, Span};
use dsrt_core::{Error, Kind, Result};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

/// The address of bytes that some object keeps alive and in place.
pub struct Bytes(NonNull<[u8]>);

// SAFETY: an address. Whoever reads or writes there has an argument beside the act.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    pub fn of(bytes: &[u8]) -> Self {
        Self(NonNull::from(bytes))
    }

    pub fn of_mut(bytes: &mut [u8]) -> Self {
        Self(NonNull::from(bytes))
    }

    /// A part of these bytes.
    ///
    /// # Safety
    /// Their owner must be alive, and nobody may write to the part, as long as the result is used.
    pub unsafe fn part(&self, span: Span) -> Result<&[u8]> {
        if span.at.checked_add(span.len).is_none_or(|end| end > self.0.len()) {
            return Err(Error::new(Kind::Internal, "a span lies outside its batch"));
        }
        // SAFETY: the part lies inside; the rest is the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(self.0.cast::<u8>().as_ptr().add(span.at), span.len) })
    }

    /// Answers a request for a buffer. Python keeps `owner` alive as long as it uses the bytes.
    ///
    /// # Safety
    /// `owner` must keep the bytes alive and in place, and they must be writable unless `readonly`. `view` is
    /// Python's.
    pub unsafe fn lend(
        &self,
        owner: &Bound<'_, PyAny>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
        readonly: bool,
    ) -> PyResult<()> {
        // Never more than isize::MAX: no slice is longer.
        let len = self.0.len() as ffi::Py_ssize_t;
        let start = self.0.cast().as_ptr();
        // SAFETY: `owner` is a live object and holds the bytes; Python fills in the view or sets an exception.
        match unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), start, len, readonly.into(), flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(owner.py())),
        }
    }
}

/// Read-only bytes that something of the core keeps alive: a stretch of a mapped file, or numbers. Python gets a
/// `memoryview` of it.
#[pyclass(frozen, name = "View", module = "dsrt_native._native")]
pub struct View {
    bytes: Bytes,
    /// Only to be dropped with the view.
    _owner: Box<dyn Any + Send + Sync>,
}

/// Numbers every byte of which is part of their value.
pub trait Number: Send + Sync + 'static {}
impl Number for u8 {}
impl Number for u64 {}
impl Number for f64 {}

impl View {
    /// The bytes that `find` shows in `owner`. They must not move when the handle does, as those of a map never do.
    pub fn new<T: Any + Send + Sync>(owner: Arc<T>, find: impl FnOnce(&T) -> &[u8]) -> Self {
        let bytes = Bytes::of(find(&owner));
        Self { bytes, _owner: Box::new(owner) }
    }

    /// The bytes of shared numbers, in native order.
    pub fn of_numbers<T: Number>(numbers: Arc<Vec<T>>) -> Self {
        let start = numbers.as_ptr().cast::<u8>();
        // SAFETY: the numbers are alive and in place as long as the owner, and have no padding.
        let bytes = Bytes::of(unsafe { std::slice::from_raw_parts(start, size_of_val(numbers.as_slice())) });
        Self { bytes, _owner: Box::new(numbers) }
    }

    /// As Python gets it.
    pub fn shown(self, py: Python<'_>) -> PyResult<Bound<'_, PyMemoryView>> {
        PyMemoryView::from(Bound::new(py, self)?.as_any())
    }
}

#[pymethods]
impl View {
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        // SAFETY: the view owns what holds its bytes; they are lent for reading only.
        unsafe { slf.get().bytes.lend(slf.as_any(), view, flags, true) }
    }
}

/// A copy of the numbers in an array of Python's, which lie in a row there. Made without the GIL: it may be 10^8 of them.
pub fn numbers<T: Number + Element + Copy>(buffer: &PyBuffer<T>) -> Result<Vec<T>> {
    if buffer.item_count() == 0 {
        return Ok(Vec::new());
    }
    let found = buffer
        .as_slice_ptr()
        .ok_or_else(|| Error::new(Kind::Internal, "numbers were given that do not lie in a row"))?;
    let mut copy = Vec::new();
    let refused = |_| Error::new(Kind::Memory, format!("{} numbers do not fit in memory", found.len()));
    copy.try_reserve_exact(found.len()).map_err(refused)?;
    // SAFETY: the buffer keeps its elements alive, in place and aligned, and any bits are such a number. That nobody
    // writes to an array while it is read is up to the program.
    copy.extend_from_slice(unsafe { found.as_ref() });
    Ok(copy)
}

/// Writes to the int64 numbers in an array of Python's, which lie in a row there. They are taken for unsigned ones, which no
/// caller makes so large that they differ.
pub fn numbers_mut(buffer: &PyBuffer<i64>, write: impl FnOnce(&mut [u64])) -> Result<()> {
    let found = buffer.as_slice_ptr().filter(|_| !buffer.readonly());
    let found =
        found.ok_or_else(|| Error::new(Kind::Internal, "an array was given that cannot be written in a row"))?;
    if found.is_empty() {
        return Ok(());
    }
    let mut found = NonNull::slice_from_raw_parts(found.cast::<u64>(), found.len());
    // SAFETY: the buffer keeps its elements alive, in place, aligned and writable, and any bits are such a number. The
    // array was made for this call: nobody else knows of it.
    write(unsafe { found.as_mut() });
    Ok(())
}

/// Gets the memory of batches from a Python function: size in bytes -> an object with a writable buffer.
pub struct PythonMemory {
    function: Py<PyAny>,
    /// What was raised where memory was asked for.
    raised: Mutex<Option<PyErr>>,
}

impl Allocator for PythonMemory {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        // A thread of ours may ask while the interpreter is going away; then nobody waits for the batch.
        Python::try_attach(|py| self.ask(py, bytes).map_err(|error| self.refused(py, error)))
            .unwrap_or_else(|| Err(Error::new(Kind::State, "the interpreter is shutting down")))
    }
}

impl PythonMemory {
    pub fn new(function: Py<PyAny>) -> Self {
        Self { function, raised: Mutex::new(None) }
    }

    /// What was raised where memory was asked for, if something was.
    pub fn into_raised(self) -> Option<PyErr> {
        self.raised.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, py: Python<'_>, raised: PyErr) -> Error {
        let kind = if raised.is_instance_of::<PyMemoryError>(py) { Kind::Memory } else { Kind::Value };
        let error = Error::new(kind, format!("memory for a batch: {raised}"));
        let before = self.raised.lock().unwrap_or_else(PoisonError::into_inner).replace(raised);
        // Under no lock: it may run anything, and wait for a thread that is here, too.
        drop(before);
        error
    }

    fn ask(&self, py: Python<'_>, bytes: usize) -> PyResult<Box<dyn Buffer>> {
        let object = self.function.bind(py).call1((bytes,))?;
        let buffer = PyBuffer::<u8>::get(&object)?;
        let found = buffer.as_slice_ptr().filter(|found| {
            let is_aligned = bytes == 0 || found.cast::<u8>().addr().get().is_multiple_of(ALIGNMENT);
            !buffer.readonly() && found.len() == bytes && is_aligned
        });
        let Some(found) = found else {
            return Err(PyValueError::new_err(format!(
                "the function that lends memory gave a buffer of {} bytes at {:p} (read-only: {}); expected {bytes} \
                 contiguous writable bytes, aligned to {ALIGNMENT}",
                buffer.len_bytes(),
                buffer.buf_ptr(),
                buffer.readonly()
            )));
        };
        Ok(Box::new(PythonBuffer { bytes: Bytes(found), object: object.unbind(), _held: buffer }))
    }
}

/// Memory of a Python object. The held buffer keeps it in place.
pub struct PythonBuffer {
    bytes: Bytes,
    pub object: Py<PyAny>,
    _held: PyBuffer<u8>,
}

impl Buffer for PythonBuffer {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the held buffer keeps the bytes alive; the object was made for this batch and belongs to it alone.
        unsafe { self.bytes.0.as_ref() }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, it is writable, and self is borrowed exclusively.
        unsafe { self.bytes.0.as_mut() }
    }
}
