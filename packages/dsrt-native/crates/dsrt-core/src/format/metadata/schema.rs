//! The schema of the file: rule R045.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_ipc::{DateUnit, Endianness, Field, Precision, Schema, TimeUnit as ArrowUnit, Timestamp, Type};
use flatbuffers::VOffsetT;

use super::breach;
use super::flatbuffer::whole;
use crate::dtype::{ColumnType, DType, TimeUnit};
use crate::error::Result;
use crate::format::names::is_column_name;

/// What a column refers to.
const REFERENCES: [VOffsetT; 5] =
    [Field::VT_NAME, Field::VT_TYPE_, Field::VT_DICTIONARY, Field::VT_CHILDREN, Field::VT_CUSTOM_METADATA];

/// The columns of a verified schema. `fields` are the names of the payload fields, which no column may have.
pub(super) fn columns(schema: &Schema, fields: &BTreeSet<&str>) -> Result<Vec<(Arc<str>, ColumnType)>> {
    whole(schema._tab, &[Schema::VT_FIELDS, Schema::VT_CUSTOM_METADATA, Schema::VT_FEATURES])?;
    if schema.endianness() != Endianness::Little {
        return Err(breach(45, "the columns are big-endian"));
    }
    if schema.custom_metadata().is_some_and(|entries| !entries.is_empty()) {
        return Err(breach(45, "the schema has custom metadata; write the file without it (\"pandas\", for instance)"));
    }
    let mut columns = Vec::new();
    let mut names = BTreeSet::new();
    for field in schema.fields().into_iter().flatten() {
        whole(field._tab, &REFERENCES)?;
        // The verifier follows no reference to parameters of a type that it does not know: neither must anybody else.
        let is_known = field.type_type() != Type::NONE && field.type_type().variant_name().is_some();
        if is_known && let Some(parameters) = field.type_() {
            let zone: &[_] = if field.type_type() == Type::Timestamp { &[Timestamp::VT_TIMEZONE] } else { &[] };
            whole(parameters, zone)?;
        }
        let name = field.name().unwrap_or_default();
        if !is_column_name(name) || fields.contains(name) || !names.insert(name) {
            let message = format!("{name:?} is not a name that a column may have, or another's");
            return Err(breach(45, message).in_field(&name.into()));
        }
        let refused = |what: String| breach(45, format!("column {name:?} {what}")).in_field(&name.into());
        if !field.nullable() {
            return Err(refused("is not nullable".into()));
        }
        if field.custom_metadata().is_some_and(|entries| !entries.is_empty()) {
            return Err(refused("has custom metadata".into()));
        }
        if field.dictionary().is_some() || field.children().is_some_and(|children| !children.is_empty()) {
            return Err(refused("is a dictionary or has parts of its own; store plain columns".into()));
        }
        let found = field.type_type().variant_name().unwrap_or("unknown");
        let kind = column_type(&field).ok_or_else(|| {
            refused(format!(
                "has a type ({found}) that the format does not store: use numbers, strings, binary or times"
            ))
        })?;
        columns.push((name.into(), kind));
    }
    if columns.is_empty() {
        return Err(breach(45, "there is no column; a cache without metadata has no such file"));
    }
    Ok(columns)
}

fn column_type(field: &Field) -> Option<ColumnType> {
    Some(match field.type_type() {
        Type::Bool => ColumnType::Number(DType::Bool),
        Type::Int => {
            let int = field.type_as_int()?;
            ColumnType::Number(match (int.bitWidth(), int.is_signed()) {
                (8, true) => DType::Int8,
                (16, true) => DType::Int16,
                (32, true) => DType::Int32,
                (64, true) => DType::Int64,
                (8, false) => DType::UInt8,
                (16, false) => DType::UInt16,
                (32, false) => DType::UInt32,
                (64, false) => DType::UInt64,
                _ => return None,
            })
        }
        Type::FloatingPoint => ColumnType::Number(match field.type_as_floating_point()?.precision() {
            Precision::SINGLE => DType::Float32,
            Precision::DOUBLE => DType::Float64,
            _ => return None,
        }),
        Type::Utf8View => ColumnType::String,
        Type::BinaryView => ColumnType::Binary,
        Type::Date if field.type_as_date()?.unit() == DateUnit::DAY => ColumnType::Date,
        Type::Timestamp => {
            let timestamp = field.type_as_timestamp()?;
            let utc = match timestamp.timezone() {
                None => false,
                Some("UTC") => true,
                Some(_) => return None,
            };
            ColumnType::Timestamp(time_unit(timestamp.unit())?, utc)
        }
        Type::Duration => ColumnType::Duration(time_unit(field.type_as_duration()?.unit())?),
        _ => return None,
    })
}

fn time_unit(unit: ArrowUnit) -> Option<TimeUnit> {
    match unit {
        ArrowUnit::MILLISECOND => Some(TimeUnit::Milli),
        ArrowUnit::MICROSECOND => Some(TimeUnit::Micro),
        ArrowUnit::NANOSECOND => Some(TimeUnit::Nano),
        _ => None,
    }
}
