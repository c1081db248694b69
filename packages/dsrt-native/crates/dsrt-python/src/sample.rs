//! Values of a sample on their way to the writer: looked at, held still, and seen as bytes.
//!
//! Nothing is cast. An array must have the field's dtype in native byte order; a plain number must be held
//! exactly by the type it is stored as. Whether shape, range and content fit is the core's to judge.

use std::borrow::Cow;

use arrow_buffer::Buffer;
use dsrt_core::dtype::{ColumnType, DType};
use dsrt_core::field::{Field, FieldKind};
use dsrt_core::write::{Value, scalar_bytes};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyType};

/// Why a value is not taken: in words, or because Python raised.
pub enum Refusal {
    Because(String),
    Raised(PyErr),
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

type Judged<T> = Result<T, Refusal>;

/// The bytes of a value, which stay where they are as long as this lives.
pub enum Held<'py> {
    Buffer(PyUntypedBuffer),
    Bytes(Bound<'py, PyBytes>),
    Text(Bound<'py, PyString>),
    Number([u8; 8], usize),
    Arrow(Buffer),
}

impl Held<'_> {
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Buffer(buffer) if buffer.len_bytes() == 0 => &[],
            // SAFETY: the buffer is C-contiguous (checked when it was taken), so its bytes are `len_bytes` in a
            // row, and holding it keeps them alive and in place. That nobody writes to an array while it is
            // being stored is up to the program, as with every library that lets go of the GIL; here at worst a
            // record would not match its checksum.
            Self::Buffer(buffer) => unsafe {
                std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes())
            },
            Self::Bytes(bytes) => bytes.as_bytes(),
            // It could be encoded when it was taken, and Python keeps the result.
            Self::Text(text) => text.to_str().unwrap_or_default().as_bytes(),
            Self::Number(bytes, width) => bytes.get(..*width).unwrap_or_default(),
            Self::Arrow(buffer) => buffer.as_slice(),
        }
    }
}

/// The value of a payload field.
pub struct HeldRecord<'py> {
    pub data: Held<'py>,
    pub shape: Vec<u64>,
}

impl<'py> HeldRecord<'py> {
    /// `dtype` is NumPy's for the field's elements, if NumPy has it.
    pub fn take(field: &Field, dtype: Option<&Bound<'py, PyAny>>, value: &Bound<'py, PyAny>) -> Judged<Self> {
        if value.is_none() {
            let advice = "store an empty or a zero record, or leave the sample out";
            return Err(format!("this is None, for which a payload field has no place; {advice}").into());
        }
        let data = match &field.kind {
            FieldKind::Text => text(value)?,
            FieldKind::Bytes => byte_string(value)?,
            FieldKind::Dense(shape) if shape.is_empty() && !is_scalar_of(dtype, value)? => match number(value)? {
                Some(number) => {
                    let (bytes, width) = scalar_bytes(field.dtype, number)?;
                    return Ok(Self { data: Held::Number(bytes, width), shape: Vec::new() });
                }
                None => return array(field.dtype, dtype, value),
            },
            _ => return array(field.dtype, dtype, value),
        };
        let shape = vec![data.as_bytes().len() as u64];
        Ok(Self { data, shape })
    }
}

/// The value of a metadata column. Dates and times have become integers before.
pub enum HeldValue<'py> {
    Plain(Value<'static>),
    Text(Held<'py>),
    Bytes(Held<'py>),
}

impl<'py> HeldValue<'py> {
    pub fn take(kind: ColumnType, value: &Bound<'py, PyAny>) -> Judged<Self> {
        Ok(match kind {
            _ if value.is_none() => Self::Plain(Value::Null),
            ColumnType::String => Self::Text(text(value)?),
            ColumnType::Binary => Self::Bytes(byte_string(value)?),
            _ => match number(value)? {
                Some(number) => Self::Plain(number),
                None => {
                    let given = type_name(value);
                    return Err(format!("{given} is not stored as {}; give one number", kind.name()).into());
                }
            },
        })
    }

    pub fn as_value(&self) -> Value<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Text(text) => std::str::from_utf8(text.as_bytes()).map_or(Value::Null, Value::Str),
            Self::Bytes(bytes) => Value::Bytes(bytes.as_bytes()),
        }
    }
}

fn text<'py>(value: &Bound<'py, PyAny>) -> Judged<Held<'py>> {
    let Ok(text) = value.cast::<PyString>() else {
        let given = type_name(value);
        return Err(format!("text is a str, and this is {given}; bytes become one by .decode()").into());
    };
    if text.to_str().is_err() {
        return Err("the text holds a lone surrogate, which UTF-8 cannot express".to_owned().into());
    }
    Ok(Held::Text(text.clone()))
}

fn byte_string<'py>(value: &Bound<'py, PyAny>) -> Judged<Held<'py>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Held::Bytes(bytes.clone()));
    }
    refuse_masked(value)?;
    let refused = || {
        let given = type_name(value);
        let advice = "use .encode() of a str, .tobytes() of an array or memoryview";
        format!("a value of bytes is bytes or a contiguous buffer of them, and this is {given}; {advice}")
    };
    let buffer = PyUntypedBuffer::get(value).map_err(|_| refused())?;
    let is_bytes = buffer.item_size() == 1 && matches!(buffer.format().to_bytes(), b"B" | b"c");
    if is_bytes && buffer.dimensions() == 1 && buffer.is_c_contiguous() {
        return Ok(Held::Buffer(buffer));
    }
    Err(refused().into())
}

/// Whether a value is a NumPy scalar of the very dtype: its bits are stored as they are, NaN's too.
fn is_scalar_of(dtype: Option<&Bound<'_, PyAny>>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match dtype {
        Some(dtype) if value.is_instance(numpy_type(value.py(), &GENERIC, "generic")?)? => {
            value.getattr("dtype")?.eq(dtype)
        }
        _ => Ok(false),
    }
}

/// A single number of Python's or NumPy's; none if the value is something else.
fn number(value: &Bound<'_, PyAny>) -> Judged<Option<Value<'static>>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(Value::Bool(value.is_truthy()?)));
    }
    if value.is_instance_of::<PyInt>() {
        // What does not fit into 128 bits is out of every range.
        let number: Option<i128> = value.extract().ok();
        return number.map(|number| Some(Value::Int(number))).ok_or_else(|| format!("{value} is out of range").into());
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Some(Value::Float(number.value())));
    }
    let py = value.py();
    if !value.is_instance(numpy_type(py, &GENERIC, "generic")?)? {
        return Ok(None);
    }
    let dtype = value.getattr("dtype")?;
    let (kind, width): (String, usize) = (dtype.getattr("kind")?.extract()?, dtype.getattr("itemsize")?.extract()?);
    if !matches!(&*kind, "b" | "i" | "u" | "f") || width > 8 {
        return Ok(None);
    }
    number(&value.call_method0("item")?)
}

/// An array of exactly the dtype, in C order.
pub fn array<'py>(
    element: DType,
    dtype: Option<&Bound<'py, PyAny>>,
    value: &Bound<'py, PyAny>,
) -> Judged<HeldRecord<'py>> {
    let py = value.py();
    let name = element.name();
    let Some(dtype) = dtype else {
        return Err(format!("arrays of {name} need the package ml_dtypes: pip install 'dsrt-native[dtypes]'").into());
    };
    let array = as_array(name, value)?;
    let found = array.getattr("dtype")?;
    if !found.is(dtype) && !found.eq(dtype)? {
        return Err(wrong_dtype(name, dtype, &found)?.into());
    }
    let mut array: Cow<'_, Bound<'py, PyAny>> = Cow::Borrowed(&array);
    // The buffer protocol has no word for these; their bits are as good.
    if matches!(element, DType::BFloat16 | DType::Float8E4M3Fn | DType::Float8E5M2) {
        array = Cow::Owned(array.call_method1("view", (if element.size() == 2 { "uint16" } else { "uint8" },))?);
    }
    let shape: Vec<u64> = array.getattr("shape")?.extract()?;
    if shape.is_empty() {
        // PyO3 does not take a buffer without axes.
        array = Cow::Owned(array.call_method1("reshape", (1,))?);
    }
    let mut buffer = PyUntypedBuffer::get(&array)?;
    if !buffer.is_c_contiguous() {
        buffer.release(py);
        buffer = PyUntypedBuffer::get(&array.call_method1("copy", ("C",))?)?;
    }
    Ok(HeldRecord { data: Held::Buffer(buffer), shape })
}

fn as_array<'py>(name: &str, value: &Bound<'py, PyAny>) -> Judged<Bound<'py, PyAny>> {
    let py = value.py();
    if value.is_instance(numpy_type(py, &NDARRAY, "ndarray")?)? {
        refuse_masked(value)?;
        return Ok(value.clone());
    }
    let numpy = py.import("numpy")?;
    if value.is_instance(numpy_type(py, &GENERIC, "generic")?)? {
        return Ok(numpy.call_method1("asarray", (value,))?);
    }
    // A memoryview in between, because NumPy takes bytes for one string.
    match py.import("builtins")?.call_method1("memoryview", (value,)) {
        Ok(view) => Ok(numpy.call_method1("asarray", (view,))?),
        Err(_) => {
            let given = type_name(value);
            Err(format!("an array of {name} is stored here, and this is {given}; call numpy.asarray(value, '{name}')")
                .into())
        }
    }
}

/// A masked array is one of NumPy's in all but its mask, which would be lost.
fn refuse_masked(value: &Bound<'_, PyAny>) -> Judged<()> {
    let py = value.py();
    let ndarray = numpy_type(py, &NDARRAY, "ndarray")?;
    if value.is_exact_instance(ndarray)
        || !value.is_instance(ndarray)?
        || !value.is_instance(&py.import("numpy.ma")?.getattr("MaskedArray")?)?
    {
        return Ok(());
    }
    Err("a masked array, and there is no place for masks; call .filled(value) first".to_owned().into())
}

fn wrong_dtype(name: &str, dtype: &Bound<'_, PyAny>, found: &Bound<'_, PyAny>) -> PyResult<String> {
    if found.call_method1("newbyteorder", ("=",))?.eq(dtype)? {
        return Ok(format!("the array is big-endian ({}); call .astype('{name}') first", found.getattr("str")?));
    }
    if found.getattr("hasobject")?.is_truthy()? {
        return Ok(format!("the array holds Python objects; call numpy.stack or .astype('{name}') first"));
    }
    Ok(format!("the array's dtype is {found}, and {name} is stored here; call .astype('{name}') if that is meant"))
}

/// `a list`, `a pandas.Series`: what the value is, for messages.
fn type_name(value: &Bound<'_, PyAny>) -> String {
    let class = value.get_type();
    let name = class.fully_qualified_name().map_or_else(|_| "thing".to_owned(), |name| name.to_string());
    let article = if name.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    if value.is_none() { "None".to_owned() } else { format!("{article} {name}") }
}

static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static GENERIC: PyOnceLock<Py<PyType>> = PyOnceLock::new();

fn numpy_type<'py>(
    py: Python<'py>,
    place: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    place.import(py, "numpy", name)
}
