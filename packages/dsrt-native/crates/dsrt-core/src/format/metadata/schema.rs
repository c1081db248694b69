//! The schema of the file: rule R045.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_ipc::{DateUnit, Endianness, Precision, TimeUnit as ArrowUnit, Type};

use super::breach;
use super::flatbuffer::Table;
use crate::dtype::{ColumnType, DType, TimeUnit};
use crate::error::Result;
use crate::format::names::{is_column_name, short};

/// The columns of a schema. `fields` are the names of the payload fields, which no column may have.
pub(super) fn columns(schema: Table, fields: &BTreeSet<&str>) -> Result<Vec<(Arc<str>, ColumnType)>> {
    const ENDIANNESS: usize = 0;
    const FIELDS: usize = 1;
    const CUSTOM_METADATA: usize = 2;
    const FEATURES: usize = 3;
    if schema.i16(ENDIANNESS, 0)? != Endianness::Little.0 {
        return Err(breach(45, "the columns are big-endian"));
    }
    let mut columns = Vec::new();
    let mut names = BTreeSet::new();
    for field in schema.tables(FIELDS)? {
        let field = field?;
        let name = name(field)?;
        if !is_column_name(name) || fields.contains(name) || !names.insert(name) {
            let message = format!("{:?} is not a name that a column may have, or another's", short(name));
            return Err(breach(45, message).in_field(&name.into()));
        }
        // What breaks R042 is the description, and not the column that it is of.
        let place = |error: crate::error::Error| match error.rule_number() {
            Some(45) => error.in_field(&name.into()),
            _ => error,
        };
        columns.push((name.into(), column(field, name).map_err(place)?));
    }
    if columns.is_empty() {
        return Err(breach(45, "there is no column; a cache without metadata has no such file"));
    }
    if schema.count(CUSTOM_METADATA)? > 0 {
        return Err(breach(45, "the schema has custom metadata; write the file without it (\"pandas\", for instance)"));
    }
    schema.structs::<8>(FEATURES)?;
    Ok(columns)
}

fn name(field: Table<'_>) -> Result<&str> {
    const NAME: usize = 0;
    let name = field.text(NAME)?.unwrap_or_default();
    std::str::from_utf8(name).map_err(|_| breach(45, "the name of a column is not UTF-8"))
}

/// The type of the column of that name, of which everything else is right, too.
fn column(field: Table, name: &str) -> Result<ColumnType> {
    const NULLABLE: usize = 1;
    const TYPE: usize = 2;
    const PARAMETERS: usize = 3;
    const DICTIONARY: usize = 4;
    const CHILDREN: usize = 5;
    const CUSTOM_METADATA: usize = 6;
    let refused = |what: &str| breach(45, format!("column {name:?} {what}"));
    if field.u8(NULLABLE, 0)? == 0 {
        return Err(refused("is not nullable"));
    }
    let found = Type(field.u8(TYPE, 0)?);
    let unknown = || {
        let found = found.variant_name().unwrap_or("unknown");
        refused(&format!("has a type ({found}) that the format does not store: use numbers, strings, binary or times"))
    };
    if !STORED.contains(&found) {
        return Err(unknown());
    }
    let parameters = field.table(PARAMETERS)?.ok_or_else(unknown)?;
    let kind = kind(found, parameters)?.ok_or_else(unknown)?;
    if field.has(DICTIONARY) {
        return Err(refused("is a dictionary; store plain columns"));
    }
    if field.count(CHILDREN)? > 0 {
        return Err(refused("has parts of its own; store plain columns"));
    }
    if field.count(CUSTOM_METADATA)? > 0 {
        return Err(refused("has custom metadata"));
    }
    Ok(kind)
}

/// The types of which some are stored.
const STORED: [Type; 8] = [
    Type::Int,
    Type::FloatingPoint,
    Type::Bool,
    Type::Date,
    Type::Timestamp,
    Type::Duration,
    Type::BinaryView,
    Type::Utf8View,
];

/// The column type of one of those; none if its parameters make it another one.
fn kind(found: Type, parameters: Table) -> Result<Option<ColumnType>> {
    Ok(match found {
        Type::Bool => Some(ColumnType::Number(DType::Bool)),
        Type::Int => match (parameters.i32(0, 0)?, parameters.u8(1, 0)? != 0) {
            (8, true) => Some(DType::Int8),
            (16, true) => Some(DType::Int16),
            (32, true) => Some(DType::Int32),
            (64, true) => Some(DType::Int64),
            (8, false) => Some(DType::UInt8),
            (16, false) => Some(DType::UInt16),
            (32, false) => Some(DType::UInt32),
            (64, false) => Some(DType::UInt64),
            _ => None,
        }
        .map(ColumnType::Number),
        Type::FloatingPoint => match Precision(parameters.i16(0, Precision::HALF.0)?) {
            Precision::SINGLE => Some(ColumnType::Number(DType::Float32)),
            Precision::DOUBLE => Some(ColumnType::Number(DType::Float64)),
            _ => None,
        },
        Type::Utf8View => Some(ColumnType::String),
        Type::BinaryView => Some(ColumnType::Binary),
        Type::Date => {
            let unit = DateUnit(parameters.i16(0, DateUnit::MILLISECOND.0)?);
            (unit == DateUnit::DAY).then_some(ColumnType::Date)
        }
        Type::Timestamp => {
            let unit = time_unit(parameters.i16(0, ArrowUnit::SECOND.0)?);
            let is_utc = match parameters.text(1)? {
                None => Some(false),
                Some(zone) => (zone == b"UTC").then_some(true),
            };
            unit.zip(is_utc).map(|(unit, is_utc)| ColumnType::Timestamp(unit, is_utc))
        }
        Type::Duration => time_unit(parameters.i16(0, ArrowUnit::MILLISECOND.0)?).map(ColumnType::Duration),
        _ => None,
    })
}

fn time_unit(unit: i16) -> Option<TimeUnit> {
    match ArrowUnit(unit) {
        ArrowUnit::MILLISECOND => Some(TimeUnit::Milli),
        ArrowUnit::MICROSECOND => Some(TimeUnit::Micro),
        ArrowUnit::NANOSECOND => Some(TimeUnit::Nano),
        _ => None,
    }
}
