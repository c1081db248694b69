//! Arrow data by the PyCapsule interface, in and out, without pyarrow.
//!
//! A capsule holds a C struct that its consumer moves out of it; what is not moved is released with the capsule.

use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray, make_array,
    new_empty_array,
};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use dsrt_core::{Error, Kind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::{attached, detached};

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
    if object.hasattr("__arrow_c_array__")? {
        return import_single(object);
    }
    let stream = stream_of(object)?;
    detached(object.py(), move || {
        let reader = ArrayStreamReader::try_new(stream).map_err(|error| unreadable(&error))?;
        let kind = ArrayReader::field(&reader).data_type().clone();
        let chunks = reader.collect::<Result<Vec<_>, _>>().map_err(|error| unreadable(&error))?;
        joined(&kind, &chunks.iter().collect::<Vec<_>>())
    })
}

/// A table from an object that speaks the interface, as the batches it comes in.
pub fn import_table(object: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    if object.hasattr("__arrow_c_stream__")? {
        let stream = stream_of(object)?;
        return detached(object.py(), move || {
            let reader = RecordBatchStreamReader::try_new(stream).map_err(|error| unreadable(&error))?;
            let schema = reader.schema();
            Ok((schema, reader.collect::<Result<_, _>>().map_err(|error| unreadable(&error))?))
        });
    }
    let array = import_single(object)?;
    attached(object.py(), || {
        let rows = array.as_any().downcast_ref::<StructArray>().filter(|rows| rows.null_count() == 0);
        let no_table =
            || Error::new(Kind::Schema, format!("expected a table, found an array of {}", array.data_type()));
        let batch = RecordBatch::from(rows.ok_or_else(no_table)?);
        Ok((batch.schema(), vec![batch]))
    })
}

/// The columns of a table, each in one piece.
pub fn columns_of_table(schema: &SchemaRef, batches: &[RecordBatch]) -> dsrt_core::Result<Vec<(Arc<str>, ArrayRef)>> {
    let column = |(place, field): (usize, &FieldRef)| {
        let chunks: Vec<_> = batches.iter().filter_map(|batch| batch.columns().get(place)).collect();
        Ok((field.name().as_str().into(), joined(field.data_type(), &chunks)?))
    };
    schema.fields().iter().enumerate().map(column).collect()
}

fn joined(kind: &DataType, chunks: &[&ArrayRef]) -> dsrt_core::Result<ArrayRef> {
    match chunks {
        [] => Ok(new_empty_array(kind)),
        [only] => Ok(Arc::clone(only)),
        several => {
            let several: Vec<_> = several.iter().map(|chunk| &***chunk).collect();
            arrow_select::concat::concat(&several).map_err(|error| unreadable(&error))
        }
    }
}

fn stream_of(object: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    if !object.hasattr("__arrow_c_stream__")? {
        let message = format!("expected Arrow data with __arrow_c_stream__ or __arrow_c_array__, not {object}");
        return Err(PyTypeError::new_err(message));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?;
    moved_out(&capsule, c"arrow_array_stream", |held| {
        // SAFETY: a capsule of that name holds a live stream; it is moved out, which marks it as released.
        unsafe { FFI_ArrowArrayStream::from_raw(held.as_ptr()) }
    })
}

fn import_single(object: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if !object.hasattr("__arrow_c_array__")? {
        let message = format!("expected Arrow data with __arrow_c_stream__ or __arrow_c_array__, not {object}");
        return Err(PyTypeError::new_err(message));
    }
    let capsules = object.call_method0("__arrow_c_array__")?;
    let (schema, array) = capsules.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
    let schema = moved_out(&schema, c"arrow_schema", |held| {
        // SAFETY: a capsule of that name holds a live schema; it is moved out.
        unsafe { FFI_ArrowSchema::from_raw(held.as_ptr()) }
    })?;
    let array = moved_out(&array, c"arrow_array", |held| {
        // SAFETY: a capsule of that name holds a live array; it is moved out.
        unsafe { FFI_ArrowArray::from_raw(held.as_ptr()) }
    })?;
    detached(object.py(), move || {
        // SAFETY: the producer promises an array that fits the schema it gave beside it.
        let data = unsafe { from_ffi(array, &schema) }.map_err(|error| unreadable(&error))?;
        Ok(make_array(data))
    })
}

/// What a capsule of that name holds, by `take`, which knows the type that goes with the name.
fn moved_out<T, C>(capsule: &Bound<'_, PyAny>, name: &'static CStr, take: fn(NonNull<C>) -> T) -> PyResult<T> {
    let held = capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))?;
    Ok(take(held.cast()))
}

fn unreadable(error: &ArrowError) -> Error {
    Error::new(Kind::Schema, format!("the Arrow data cannot be read: {error}"))
}
