//! Extra columns, from what the Python side made of people's arrays.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, BooleanArray, StringViewArray, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::{Error, Kind};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arrow::{columns_of_table, import_array, import_table};
use crate::error::detached;
use crate::memory::numbers;

/// Columns by name: a table, or a list of names and columns. A column is Arrow data, or a type word with the bytes
/// of an array, or a type word with a list of strings.
pub fn named_columns(columns: &Bound<'_, PyAny>) -> PyResult<Vec<(Arc<str>, ArrayRef)>> {
    let Ok(columns) = columns.cast::<PyList>() else {
        let (schema, batches) = import_table(columns)?;
        return detached(columns.py(), || columns_of_table(&schema, &batches));
    };
    columns
        .iter()
        .map(|pair| pair.extract::<(String, Bound<'_, PyAny>)>())
        .map(|pair| {
            let (name, values) = pair?;
            Ok((name.into(), column(&values)?))
        })
        .collect()
}

fn column(values: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let Ok(pair) = values.cast::<PyTuple>() else { return import_array(values) };
    let (word, data) = pair.extract::<(String, Bound<'_, PyAny>)>()?;
    let unknown = || PyTypeError::new_err(format!("{word} is no type of a column"));
    match ColumnType::parse(&word).ok_or_else(unknown)? {
        ColumnType::String => {
            let strings = data.extract::<Vec<Option<String>>>()?;
            Ok(Arc::new(StringViewArray::from_iter(strings)))
        }
        ColumnType::Binary => {
            let strings = data.extract::<Vec<Option<Vec<u8>>>>()?;
            Ok(Arc::new(BinaryViewArray::from_iter(strings)))
        }
        kind => {
            let bytes = PyBuffer::<u8>::get(&data)?;
            detached(data.py(), || array(kind, numbers(&bytes)?))
        }
    }
}

/// An array of the values that lie in `bytes`, native and back to back.
fn array(kind: ColumnType, bytes: Vec<u8>) -> dsrt_core::Result<ArrayRef> {
    if kind == ColumnType::Number(DType::Bool) {
        return Ok(Arc::new(BooleanArray::from_iter(bytes.iter().map(|byte| Some(*byte != 0)))));
    }
    let wide = kind.stored().map_or(1, DType::size);
    let values = ArrayData::builder(kind.arrow()).len(bytes.len() / wide).add_buffer(Buffer::from_vec(bytes));
    let data = values.align_buffers(true).build();
    data.map(make_array).map_err(|error| Error::new(Kind::Internal, format!("a column of {}: {error}", kind.name())))
}
