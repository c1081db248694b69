//! Many samples on their way to the writer: the values of each field together, held still and seen as bytes.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use dsrt_core::dtype::ColumnType;
use dsrt_core::field::{Field, FieldKind};
use dsrt_core::write::{Records, Samples, Value};
use dsrt_core::{Error, Kind};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{attached, raise};
use crate::given::{Given, all_given, plain_numbers};
use crate::memory::numbers;
use crate::plan::{ColumnIn, FieldIn};
use crate::sample::{Held, HeldRecord, HeldValue, Refusal, array as array_of};
use crate::table;
use crate::writer::refuse;

/// Why values are not taken, and which sample's it is if one alone is at fault.
pub struct Misfit {
    place: Option<usize>,
    why: Refusal,
}

impl Misfit {
    pub fn of_all(reason: String) -> Self {
        Self { place: None, why: Refusal::Because(reason) }
    }

    pub fn at(place: usize, reason: String) -> Self {
        Self { place: Some(place), why: Refusal::Because(reason) }
    }
}

impl Misfit {
    fn raised(self, py: Python<'_>, name: &Arc<str>, first: u64) -> PyErr {
        match (self.why, self.place) {
            (why, Some(place)) => refuse(py, why, name, first + place as u64),
            (Refusal::Because(reason), None) => raise(py, &Error::new(Kind::Schema, reason).in_field(name)),
            (Refusal::Raised(error), None) => error,
        }
    }
}

impl From<Refusal> for Misfit {
    fn from(why: Refusal) -> Self {
        Self { place: None, why }
    }
}

impl From<PyErr> for Misfit {
    fn from(error: PyErr) -> Self {
        Refusal::from(error).into()
    }
}

type Judged<T> = Result<T, Misfit>;

/// Samples that stay where they are as long as this lives.
pub struct HeldSamples<'py> {
    first: u64,
    /// How many there are, and of which name that was learnt.
    count: Option<(Arc<str>, usize)>,
    fields: Vec<HeldRecords<'py>>,
    columns: Vec<HeldValues<'py>>,
}

/// The records of a field.
pub enum HeldRecords<'py> {
    /// Records of one shape; the first axis counts them.
    Packed(HeldRecord<'py>),
    /// Records that are pieces of something, from place to place in bytes.
    Pieces { data: Held<'py>, places: Vec<usize>, shapes: Vec<u64> },
    /// Records that are objects of their own.
    Each(Vec<HeldRecord<'py>>),
    /// Text or bytes.
    Strings(ArrayRef),
}

/// The values of a metadata column.
enum HeldValues<'py> {
    Each(Vec<HeldValue<'py>>),
    Plain(Vec<Value<'static>>),
    Arrow(ArrayRef),
}

impl<'py> HeldSamples<'py> {
    /// Looks at a dict or table of columns; `first` is the number of the first sample in it.
    pub fn take(fields: &[FieldIn], columns: &[ColumnIn], given: &Bound<'py, PyAny>, first: u64) -> PyResult<Self> {
        let py = given.py();
        let mut given = all_given(given)?;
        let mut held = Self { first, count: None, fields: Vec::new(), columns: Vec::new() };
        let missing = |what| Misfit::of_all(format!("there are no values for this {what} among the columns"));
        for input in fields {
            let name = &input.field.name;
            let given = given.remove(&**name).ok_or_else(|| missing("field"));
            let records = given.and_then(|given| HeldRecords::take(py, input, given));
            let records = records.and_then(|records| held.agrees(name, records.count()).map(|()| records));
            held.fields.push(records.map_err(|misfit| misfit.raised(py, name, first))?);
        }
        for input in columns {
            let given = given.remove(&*input.name).ok_or_else(|| missing("column"));
            let values = given.and_then(|given| HeldValues::take(py, input.kind, given));
            let values = values.and_then(|values| held.agrees(&input.name, values.count()).map(|()| values));
            held.columns.push(values.map_err(|misfit| misfit.raised(py, &input.name, first))?);
        }
        if given.is_empty() { Ok(held) } else { Err(unknown(py, fields, columns, given.into_keys().collect())) }
    }

    /// The samples as the core takes them.
    pub fn samples(&self, py: Python<'_>, columns: &[ColumnIn]) -> PyResult<Samples<'_>> {
        let values = self.columns.iter().zip(columns);
        let values = values.map(|(held, input)| {
            held.values(py, input.kind).map_err(|misfit| misfit.raised(py, &input.name, self.first))
        });
        Ok(Samples {
            count: self.count.as_ref().map_or(0, |(_, count)| *count),
            fields: self.fields.iter().map(HeldRecords::records).collect(),
            columns: values.collect::<PyResult<_>>()?,
        })
    }

    fn agrees(&mut self, name: &Arc<str>, found: usize) -> Judged<()> {
        let (other, known) = self.count.get_or_insert_with(|| (name.clone(), found));
        if *known == found {
            return Ok(());
        }
        Err(Misfit::of_all(format!("there are {found} values, and {known} of {other}; give one for each sample")))
    }
}

impl<'py> HeldRecords<'py> {
    fn take(py: Python<'py>, input: &FieldIn, given: Given<'py>) -> Judged<Self> {
        let field = &input.field;
        let dtype = input.dtype.as_ref().map(|dtype| dtype.bind(py));
        match given {
            Given::Arrow(array) => table::records(field, array),
            Given::Packed(array) => {
                let record = array_of(field.dtype, dtype, &array)?;
                match record.shape.is_empty() {
                    true => Err(Misfit::of_all("one array without axes; its first axis counts the samples".into())),
                    false => Ok(Self::Packed(record)),
                }
            }
            Given::Ragged(values, offsets, shapes) => {
                let HeldRecord { data, shape } = array_of(field.dtype, dtype, &values)?;
                let [length] = *shape else {
                    return Err(Misfit::of_all(format!(
                        "the values of a RaggedArray have one axis, not {}",
                        shape.len()
                    )));
                };
                let places = attached(py, || numbers(&offsets))?;
                if !places.is_sorted() || places.last().is_none_or(|end| *end > length) {
                    let message = format!("the offsets of a RaggedArray rise, to its {length} values at most");
                    return Err(Misfit::of_all(message));
                }
                let shapes = match shapes {
                    Some(shapes) => attached(py, || numbers(&shapes))?,
                    None => places.windows(2).filter_map(|pair| pair.last()?.checked_sub(*pair.first()?)).collect(),
                };
                let axes = shapes.len().checked_div(places.len() - 1).unwrap_or_else(|| field.entry_axes());
                let size = field.dtype.size();
                let places = places.into_iter().map(|place| place as usize * size).collect();
                Self::pieces(field, data, places, shapes, axes)
            }
            Given::Each(list) => Self::each(field, dtype, &list),
            Given::Numbers(..) => Err(Misfit::of_all("plain numbers, and this is a payload field".into())),
        }
    }

    /// Records from place to place in bytes; `axes` is how many each of them has.
    pub fn pieces(field: &Field, data: Held<'py>, places: Vec<usize>, shapes: Vec<u64>, axes: usize) -> Judged<Self> {
        if axes != field.entry_axes() && places.len() > 1 {
            return Err(Misfit::of_all(wrong_axes(field, axes)));
        }
        Ok(Self::Pieces { data, places, shapes })
    }

    fn each(field: &Field, dtype: Option<&Bound<'py, PyAny>>, list: &Bound<'py, PyList>) -> Judged<Self> {
        let take = |(place, value): (usize, Bound<'py, PyAny>)| {
            let record = HeldRecord::take(field, dtype, &value).map_err(|why| Misfit { place: Some(place), why })?;
            match &field.kind {
                FieldKind::Ragged(_) if record.shape.len() != field.entry_axes() => {
                    Err(Misfit::at(place, wrong_axes(field, record.shape.len())))
                }
                FieldKind::Dense(shape) if **shape != *record.shape => {
                    let message = format!("the shape is {:?}, and the field's is {shape:?}", record.shape);
                    Err(Misfit::at(place, message))
                }
                _ => Ok(record),
            }
        };
        list.iter().enumerate().map(take).collect::<Judged<_>>().map(Self::Each)
    }

    fn count(&self) -> usize {
        match self {
            Self::Packed(record) => record.shape.first().map_or(0, |count| *count as usize),
            Self::Pieces { places, .. } => places.len().saturating_sub(1),
            Self::Each(records) => records.len(),
            Self::Strings(array) => array.len(),
        }
    }

    fn records(&self) -> Records<'_> {
        match self {
            Self::Packed(record) => {
                let bytes = record.data.as_bytes();
                let size = bytes.len().checked_div(self.count()).unwrap_or(0);
                Records::Packed { bytes, size, shape: record.shape.get(1..).unwrap_or_default() }
            }
            Self::Pieces { data, places, shapes } => {
                let bytes = data.as_bytes();
                let piece = |pair: &[usize]| match pair {
                    [start, end] => bytes.get(*start..*end).unwrap_or_default(),
                    _ => &[],
                };
                Records::Each { bytes: places.windows(2).map(piece).collect(), shapes: shapes.clone() }
            }
            Self::Each(records) => Records::Each {
                bytes: records.iter().map(|record| record.data.as_bytes()).collect(),
                shapes: records.iter().flat_map(|record| record.shape.iter().copied()).collect(),
            },
            Self::Strings(array) => Records::Each {
                bytes: (0..array.len()).map(|place| table::string(array, place).unwrap_or_default()).collect(),
                shapes: Vec::new(),
            },
        }
    }
}

impl<'py> HeldValues<'py> {
    fn take(py: Python<'py>, kind: ColumnType, given: Given<'py>) -> Judged<Self> {
        match given {
            Given::Arrow(array) => table::plain(array).map(Self::Arrow),
            Given::Each(list) => {
                let take = |(place, value): (usize, Bound<'py, PyAny>)| {
                    HeldValue::take(kind, &value).map_err(|why| Misfit { place: Some(place), why })
                };
                list.iter().enumerate().map(take).collect::<Judged<_>>().map(Self::Each)
            }
            Given::Numbers(dtype, bytes, nulls) => {
                Ok(Self::Plain(attached(py, || plain_numbers(dtype, &bytes, nulls.as_ref()))?))
            }
            Given::Packed(_) | Given::Ragged(..) => Err(Misfit::of_all("arrays, and this is a metadata column".into())),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Each(values) => values.len(),
            Self::Plain(values) => values.len(),
            Self::Arrow(array) => array.len(),
        }
    }

    fn values(&self, py: Python<'_>, kind: ColumnType) -> Judged<Vec<Value<'_>>> {
        match self {
            Self::Each(values) => Ok(values.iter().map(HeldValue::as_value).collect()),
            Self::Plain(values) => Ok(values.clone()),
            Self::Arrow(array) => py.detach(|| table::values(kind, array)),
        }
    }
}

fn wrong_axes(field: &Field, found: usize) -> String {
    format!("the value has {found} axes, and the field {}", field.entry_axes())
}

fn unknown(py: Python<'_>, fields: &[FieldIn], columns: &[ColumnIn], mut unknown: Vec<String>) -> PyErr {
    unknown.sort_unstable();
    let known = fields.iter().map(|input| &*input.field.name).chain(columns.iter().map(|column| &*column.name));
    let message = format!(
        "the columns have {}, which no field or metadata column is called; there are {}",
        unknown.join(", "),
        known.collect::<Vec<_>>().join(", ")
    );
    raise(py, &Error::new(Kind::Schema, message))
}
