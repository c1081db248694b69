//! Arrow arrays on their way to the writer: as the records of a field, and as the values of a metadata column.
//!
//! As with other arrays nothing is cast: the elements of a payload have the field's type, and a number, a date or a
//! time of a column is stored if the column's type holds that very value.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, downcast_integer_array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, TimeUnit as Unit};
use dsrt_core::dtype::{ColumnType, DType, TimeUnit};
use dsrt_core::field::{Field, FieldKind};
use dsrt_core::write::Value;

use crate::sample::{Held, HeldRecord};
use crate::samples::{HeldRecords, Misfit};

type Judged<T> = Result<T, Misfit>;

/// The records of a field.
pub fn records<'py>(field: &Field, array: ArrayRef) -> Judged<HeldRecords<'py>> {
    let array = plain(array)?;
    no_nulls(&*array, |place| place)?;
    match &field.kind {
        FieldKind::Bytes if is_binary(array.data_type()) => Ok(HeldRecords::Strings(array)),
        FieldKind::Text if is_text(array.data_type()) => Ok(HeldRecords::Strings(array)),
        FieldKind::Bytes => Err(refused(&array, "a field of bytes", "use binary; text becomes bytes by .encode()")),
        FieldKind::Text => Err(refused(&array, "a field of text", "use string; bytes become text by .decode()")),
        FieldKind::Dense(_) => {
            equal_records(field, &array, "use fixed-size lists of exactly that type, or a NumPy array")
        }
        FieldKind::Ragged(_) => match (array.as_list_opt::<i32>(), array.as_list_opt::<i64>()) {
            (Some(list), _) => unequal_records(field, list.value_offsets(), list.values()),
            (_, Some(list)) => unequal_records(field, list.value_offsets(), list.values()),
            _ => equal_records(field, &array, "use lists, or a RaggedArray"),
        },
    }
}

/// The values of a metadata column.
pub fn values(kind: ColumnType, array: &ArrayRef) -> Judged<Vec<Value<'_>>> {
    let temporal = matches!(kind, ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_));
    let found = array.data_type();
    let all = 0..array.len();
    let known = |value: fn(&ArrayRef, usize) -> Value<'_>| {
        Ok(all.clone().map(|place| if array.is_null(place) { Value::Null } else { value(array, place) }).collect())
    };
    match found {
        DataType::Null => known(|_, _| Value::Null),
        _ if temporal || found.is_temporal() => moments(kind, array),
        DataType::Boolean => known(|array, place| Value::Bool(array.as_boolean().value(place))),
        DataType::Float16 => {
            known(|array, place| Value::Float(array.as_primitive::<Float16Type>().value(place).to_f64()))
        }
        DataType::Float32 => {
            known(|array, place| Value::Float(array.as_primitive::<Float32Type>().value(place).into()))
        }
        DataType::Float64 => known(|array, place| Value::Float(array.as_primitive::<Float64Type>().value(place))),
        found if found.is_integer() => {
            Ok(integers(array).into_iter().map(|v| v.map_or(Value::Null, Value::Int)).collect())
        }
        found if is_text(found) => all
            .map(|place| match string(array, place) {
                None => Ok(Value::Null),
                Some(bytes) => std::str::from_utf8(bytes)
                    .map(Value::Str)
                    .map_err(|error| Misfit::at(place, format!("the text is not UTF-8: {error}"))),
            })
            .collect(),
        found if is_binary(found) => {
            Ok(all.map(|place| string(array, place).map_or(Value::Null, Value::Bytes)).collect())
        }
        _ => Err(refused(array, &kind.name(), "cast it to that type")),
    }
}

/// An array with its dictionary looked up.
pub fn plain(array: ArrayRef) -> Judged<ArrayRef> {
    match array.as_any_dictionary_opt() {
        Some(coded) => arrow_select::take::take(coded.values(), coded.keys(), None)
            .map_err(|error| Misfit::of_all(format!("the dictionary cannot be looked up: {error}"))),
        None => Ok(array),
    }
}

/// One string; none for a null.
pub fn string(array: &ArrayRef, place: usize) -> Option<&[u8]> {
    if array.is_null(place) {
        return None;
    }
    match array.data_type() {
        DataType::Binary => Some(array.as_binary::<i32>().value(place)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(place)),
        DataType::BinaryView => Some(array.as_binary_view().value(place)),
        DataType::FixedSizeBinary(_) => Some(array.as_fixed_size_binary().value(place)),
        DataType::Utf8 => Some(array.as_string::<i32>().value(place).as_bytes()),
        DataType::LargeUtf8 => Some(array.as_string::<i64>().value(place).as_bytes()),
        DataType::Utf8View => Some(array.as_string_view().value(place).as_bytes()),
        _ => None,
    }
}

fn is_binary(kind: &DataType) -> bool {
    matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn integers(array: &ArrayRef) -> Vec<Option<i128>> {
    downcast_integer_array!(
        array => array.iter().map(|value| value.map(i128::from)).collect(),
        // The caller has looked at the type.
        _ => Vec::new(),
    )
}

/// Records that all have one shape: numbers, or fixed-size lists of them, however deep.
fn equal_records<'py>(field: &Field, array: &ArrayRef, advice: &str) -> Judged<HeldRecords<'py>> {
    let (axes, values) = peeled(array, |place| place)?;
    let bytes = elements(field, &values, array, advice)?;
    let shape = std::iter::once(array.len() as u64).chain(axes).collect();
    Ok(HeldRecords::Packed(HeldRecord { data: Held::Arrow(bytes), shape }))
}

/// Records that differ in the length of their first axis: lists of numbers or of fixed-size lists.
fn unequal_records<'py, O: OffsetSizeTrait>(
    field: &Field,
    offsets: &[O],
    values: &ArrayRef,
) -> Judged<HeldRecords<'py>> {
    let places: Vec<usize> = offsets.iter().map(|offset| offset.as_usize()).collect();
    let (first, last) = (places.first().copied().unwrap_or(0), places.last().copied().unwrap_or(0));
    if !places.is_sorted() || last > values.len() {
        return Err(Misfit::of_all("the lists' offsets do not rise within their values".into()));
    }
    let used = values.slice(first, last - first);
    let sample = |place| places.partition_point(|start| start - first <= place).saturating_sub(1);
    no_nulls(&*used, sample)?;
    let (axes, inner) = peeled(&used, sample)?;
    let bytes = elements(field, &inner, values, "cast its elements, or use a RaggedArray")?;
    let width = axes.iter().fold(field.dtype.size(), |bytes, axis| bytes.saturating_mul(*axis as usize));
    let lengths = places.iter().zip(places.iter().skip(1)).map(|(start, end)| (end - start) as u64);
    let shapes = lengths.flat_map(|length| std::iter::once(length).chain(axes.iter().copied())).collect();
    let places = places.iter().map(|place| (place - first).saturating_mul(width)).collect();
    HeldRecords::pieces(field, Held::Arrow(bytes), places, shapes, 1 + axes.len())
}

/// What lies inside fixed-size lists, and the lengths of these. `sample` says to which sample one of the lists belongs.
fn peeled(array: &ArrayRef, sample: impl Fn(usize) -> usize) -> Judged<(Vec<u64>, ArrayRef)> {
    let (mut axes, mut array, mut width) = (Vec::new(), array.clone(), 1usize);
    while let Some(list) = array.as_fixed_size_list_opt() {
        let length = usize::try_from(list.value_length()).unwrap_or(0);
        axes.push(length as u64);
        width = width.saturating_mul(length);
        let inner = list.values().clone();
        no_nulls(&*inner, |place| sample(place / width.max(1)))?;
        array = inner;
    }
    Ok((axes, array))
}

/// The bytes of numbers that are exactly the field's elements.
fn elements(field: &Field, values: &ArrayRef, whole: &ArrayRef, advice: &str) -> Judged<Buffer> {
    let wanted = match field.dtype {
        DType::Float16 => Some(DataType::Float16),
        dtype => {
            let kind = ColumnType::Number(dtype);
            ColumnType::all().any(|known| known == kind).then(|| kind.arrow())
        }
    };
    let name = field.dtype.name();
    let Some(wanted) = wanted else {
        return Err(Misfit::of_all(format!("Arrow has no {name}; give NumPy arrays")));
    };
    if *values.data_type() != wanted {
        return Err(refused(whole, name, advice));
    }
    if let Some(flags) = values.as_boolean_opt() {
        return Ok(flags.values().iter().map(u8::from).collect::<Vec<_>>().into());
    }
    let data = values.to_data();
    let size = field.dtype.size();
    match data.buffers() {
        [buffer] => Ok(buffer.slice_with_length(data.offset() * size, data.len() * size)),
        _ => Err(Misfit::of_all(format!("Arrow data of {} has other buffers than one", data.data_type()))),
    }
}

/// Refuses nulls, which a payload has no place for. `sample` says to which sample a value belongs.
fn no_nulls(array: &dyn Array, sample: impl Fn(usize) -> usize) -> Judged<()> {
    if array.logical_null_count() == 0 {
        return Ok(());
    }
    let nulls = array.logical_nulls();
    let first = nulls.and_then(|nulls| (0..nulls.len()).find(|place| nulls.is_null(*place)));
    Err(Misfit::at(sample(first.unwrap_or(0)), "a null, and a payload has no place for them; fill it first".into()))
}

/// Dates, timestamps and durations in units of the column.
fn moments(kind: ColumnType, array: &ArrayRef) -> Judged<Vec<Value<'static>>> {
    let found = array.data_type();
    let (step, whole) = match (kind, found) {
        (ColumnType::Date, DataType::Date32) => (1, 1),
        (ColumnType::Date, DataType::Date64) => (1, 86_400_000),
        (ColumnType::Timestamp(to, utc), DataType::Timestamp(from, zone)) if utc == zone.is_some() => ratio(*from, to),
        (ColumnType::Duration(to), DataType::Duration(from)) => ratio(*from, to),
        (ColumnType::Timestamp(_, true), DataType::Timestamp(_, None)) => {
            return Err(refused(array, &kind.name(), "say its zone, such as by replace_time_zone"));
        }
        (ColumnType::Timestamp(unit, false), DataType::Timestamp(_, Some(_))) => {
            let advice = format!("it has a zone and the column none; make it 'timestamp[{}, UTC]'", unit.name());
            return Err(refused(array, &kind.name(), &advice));
        }
        _ => return Err(refused(array, &kind.name(), "convert it yourself if that is meant")),
    };
    let counts = integers(&counted(array)?);
    let value = |(place, count): (usize, Option<i128>)| match count {
        None => Ok(Value::Null),
        Some(count) if count % whole == 0 => Ok(Value::Int(count * step / whole)),
        Some(count) => {
            let reason = format!("{count} of {found} is no whole number of units of the column, {}", kind.name());
            Err(Misfit::at(place, reason))
        }
    };
    counts.into_iter().enumerate().map(value).collect()
}

/// What a count is multiplied with and divided by on its way from unit to unit.
fn ratio(from: Unit, to: TimeUnit) -> (i128, i128) {
    let a_second = |unit: Unit| match unit {
        Unit::Second => 1,
        Unit::Millisecond => 1_000,
        Unit::Microsecond => 1_000_000,
        Unit::Nanosecond => 1_000_000_000,
    };
    let to = match to {
        TimeUnit::Milli => Unit::Millisecond,
        TimeUnit::Micro => Unit::Microsecond,
        TimeUnit::Nano => Unit::Nanosecond,
    };
    let (from, to) = (a_second(from), a_second(to));
    if to >= from { (to / from, 1) } else { (1, from / to) }
}

/// The integers that an array of dates or times consists of.
fn counted(array: &ArrayRef) -> Judged<ArrayRef> {
    let kind = if matches!(array.data_type(), DataType::Date32) { DataType::Int32 } else { DataType::Int64 };
    let data = array.to_data().into_builder().data_type(kind).build();
    data.map(arrow_array::make_array).map_err(|error| Misfit::of_all(format!("the Arrow data cannot be read: {error}")))
}

fn refused(array: &ArrayRef, wanted: &str, advice: &str) -> Misfit {
    Misfit::of_all(format!("Arrow data of {} is not stored as {wanted}; {advice}", array.data_type()))
}
