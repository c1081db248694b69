//! Arrow data by the PyCapsule interface, in and out, without pyarrow.
//!
//! A capsule holds a C struct that its consumer moves out of it; what is not moved is released with the capsule.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchIterator, StructArray, make_array, new_empty_array,
};
use arrow_schema::{ArrowError, SchemaRef};
use dsrt_core::{Error, Kind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::detached;

/// Hands out record batches through `__arrow_c_stream__`, as often as it is asked.
#[pyclass(frozen, name = "ArrowStream", module = "dsrt_native._native")]
pub struct PyArrowStream {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

#[pymethods]
impl PyArrowStream {
    /// A capsule that holds an Arrow C stream of struct arrays. A requested schema is not cast to.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok::<_, ArrowError>);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// An array from an object that speaks the interface; the chunks of a stream are put together.
pub fn import_array(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let py = object.py();
    if object.hasattr("__arrow_c_array__")? {
        return import_single(object);
    }
    if !object.hasattr("__arrow_c_stream__")? {
        let message = format!("expected Arrow data with __arrow_c_stream__ or __arrow_c_array__, not {object}");
        return Err(PyTypeError::new_err(message));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let stream = moved_out(&capsule, c"arrow_array_stream", |held: NonNull<FFI_ArrowArrayStream>| {
        // SAFETY: a capsule of that name holds a live stream; it is moved out, which marks it as released.
        unsafe { FFI_ArrowArrayStream::from_raw(held.as_ptr()) }
    })?;
    detached(py, move || {
        let reader = ArrayStreamReader::try_new(stream).map_err(|error| unreadable(&error))?;
        let kind = ArrayReader::field(&reader).data_type().clone();
        let chunks = reader.collect::<Result<Vec<_>, _>>().map_err(|error| unreadable(&error))?;
        match chunks.as_slice() {
            [] => Ok(new_empty_array(&kind)),
            [only] => Ok(only.clone()),
            several => {
                let several: Vec<_> = several.iter().map(|chunk| &**chunk).collect();
                arrow_select::concat::concat(&several).map_err(|error| unreadable(&error))
            }
        }
    })
}

fn import_single(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array) =
        object.call_method0("__arrow_c_array__")?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
    let schema = moved_out(&schema, c"arrow_schema", |held: NonNull<FFI_ArrowSchema>| {
        // SAFETY: a capsule of that name holds a live schema; it is moved out.
        unsafe { FFI_ArrowSchema::from_raw(held.as_ptr()) }
    })?;
    let array = moved_out(&array, c"arrow_array", |held: NonNull<FFI_ArrowArray>| {
        // SAFETY: a capsule of that name holds a live array; it is moved out.
        unsafe { FFI_ArrowArray::from_raw(held.as_ptr()) }
    })?;
    detached(object.py(), move || {
        // SAFETY: the producer promises an array that fits the schema it gave beside it.
        let data = unsafe { from_ffi(array, &schema) }.map_err(|error| unreadable(&error))?;
        Ok(make_array(data))
    })
}

fn moved_out<T, C>(
    capsule: &Bound<'_, PyAny>,
    name: &'static std::ffi::CStr,
    take: impl FnOnce(NonNull<C>) -> T,
) -> PyResult<T> {
    let held = capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?;
    Ok(take(held.cast()))
}

/// The columns of a table: of an array of structs none of which is null.
pub fn columns_of_table(table: &ArrayRef) -> dsrt_core::Result<Vec<(Arc<str>, ArrayRef)>> {
    let rows = table.as_any().downcast_ref::<StructArray>().filter(|rows| rows.null_count() == 0);
    let Some(rows) = rows else {
        let message = format!("expected a table, found an array of {}", table.data_type());
        return Err(Error::new(Kind::Schema, message));
    };
    let names = rows.column_names().into_iter().map(Arc::from);
    Ok(names.zip(rows.columns().iter().cloned()).collect())
}

fn unreadable(error: &ArrowError) -> Error {
    Error::new(Kind::Schema, format!("the Arrow data cannot be read: {error}"))
}
