//! What the Python side hands over for many samples: for each name a word and what it says is there.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use dsrt_core::dtype::DType;
use dsrt_core::write::Value;
use dsrt_core::{Error, Kind};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrow::{columns_of_table, import_array, import_table};
use crate::error::{detached, raise};
use crate::memory::numbers;

/// The values of one field or column.
pub enum Given<'py> {
    /// Arrow data.
    Arrow(ArrayRef),
    /// An array with one record for each place of its first axis.
    Packed(Bound<'py, PyAny>),
    /// Elements, offsets and, where records have several axes, shapes.
    Ragged(Bound<'py, PyAny>, PyBuffer<u64>, Option<PyBuffer<u64>>),
    /// One object for each sample.
    Each(Bound<'py, PyList>),
    /// Numbers of the dtype of that name, and where they are null.
    Numbers(DType, PyBuffer<u8>, Option<PyBuffer<u8>>),
}

/// What is given, by name.
pub fn all_given<'py>(given: &Bound<'py, PyAny>) -> PyResult<HashMap<String, Given<'py>>> {
    let Ok(columns) = given.cast::<PyDict>() else {
        let (schema, batches) = import_table(given)?;
        let columns = detached(given.py(), || columns_of_table(&schema, &batches))?;
        let mut found = HashMap::new();
        for (name, array) in columns {
            if found.insert(name.to_string(), Given::Arrow(array)).is_some() {
                let message = format!("two columns of the table are called {name}");
                return Err(raise(given.py(), &Error::new(Kind::Schema, message)));
            }
        }
        return Ok(found);
    };
    columns.iter().map(|(name, values)| Ok((name.extract()?, given_as(&values)?))).collect()
}

fn given_as<'py>(values: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let (word, values) = values.extract::<(String, Bound<'py, PyAny>)>()?;
    match &*word {
        "arrow" => import_array(&values).map(Given::Arrow),
        "packed" => Ok(Given::Packed(values)),
        "ragged" => values.extract().map(|(values, offsets, shapes)| Given::Ragged(values, offsets, shapes)),
        "each" => Ok(Given::Each(values.cast_into()?)),
        word => {
            let unknown = || PyTypeError::new_err(format!("there is no way to take values called {word}"));
            let (bytes, nulls) = values.extract()?;
            Ok(Given::Numbers(DType::parse(word).ok_or_else(unknown)?, bytes, nulls))
        }
    }
}

/// Numbers of one of the four types that hold all others.
pub fn plain_numbers(
    dtype: DType,
    bytes: &PyBuffer<u8>,
    nulls: Option<&PyBuffer<u8>>,
) -> dsrt_core::Result<Vec<Value<'static>>> {
    let (bytes, nulls) = (numbers(bytes)?, nulls.map(numbers).transpose()?);
    let (words, _) = bytes.as_chunks::<8>();
    let mut values: Vec<_> = match dtype {
        DType::Bool => bytes.iter().map(|byte| Value::Bool(*byte != 0)).collect(),
        DType::Int64 => words.iter().map(|word| Value::Int(i64::from_le_bytes(*word).into())).collect(),
        DType::UInt64 => words.iter().map(|word| Value::Int(u64::from_le_bytes(*word).into())).collect(),
        DType::Float64 => words.iter().map(|word| Value::Float(f64::from_le_bytes(*word))).collect(),
        _ => return Err(Error::new(Kind::Internal, format!("numbers handed over as {}", dtype.name()))),
    };
    for (value, _) in values.iter_mut().zip(nulls.unwrap_or_default()).filter(|(_, null)| *null != 0) {
        *value = Value::Null;
    }
    Ok(values)
}
