//! Rows as bytes: for each value what it is, then its bits.

use crate::error::Result;
use crate::write::value::Value;

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const LARGE: u8 = 4;
const FLOAT: u8 = 5;
const STR: u8 = 6;
const BYTES: u8 = 7;

/// Appends a row that was checked: for each value what it is, then its bits.
pub(in crate::write) fn encode(row: &[Value<'_>], out: &mut Vec<u8>) {
    for value in row {
        match *value {
            Value::Null => out.push(NULL),
            Value::Bool(v) => out.push(if v { TRUE } else { FALSE }),
            Value::Int(v) => match i64::try_from(v) {
                Ok(v) => tagged(INT, &v.to_le_bytes(), out),
                Err(_) => tagged(LARGE, &v.to_le_bytes(), out),
            },
            Value::Float(v) => tagged(FLOAT, &v.to_bits().to_le_bytes(), out),
            Value::Str(v) => string(STR, v.as_bytes(), out),
            Value::Bytes(v) => string(BYTES, v, out),
        }
    }
}

fn tagged(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(bytes);
}

/// A string in a column has less than 2^31 bytes.
fn string(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    tagged(tag, &(bytes.len() as u32).to_le_bytes(), out);
    out.extend_from_slice(bytes);
}

/// Hands out the whole rows that `bytes` begins with and says how long they are; None if they are no rows.
pub(super) fn rows(
    bytes: &[u8],
    columns: usize,
    each: &mut impl FnMut(&[Value<'_>]) -> Result<()>,
) -> Result<Option<usize>> {
    let mut rest = bytes;
    let mut row = Vec::with_capacity(columns);
    loop {
        row.clear();
        let mut at = rest;
        while row.len() < columns {
            match value(&mut at) {
                Next::Value(value) => row.push(value),
                Next::Short => return Ok(Some(bytes.len() - rest.len())),
                Next::Wrong => return Ok(None),
            }
        }
        if at.len() == rest.len() {
            return Ok(Some(bytes.len()));
        }
        each(&row)?;
        rest = at;
    }
}

enum Next<'a> {
    Value(Value<'a>),
    Short,
    Wrong,
}

fn value<'a>(at: &mut &'a [u8]) -> Next<'a> {
    decode(at).unwrap_or(Next::Short)
}

fn decode<'a>(at: &mut &'a [u8]) -> Option<Next<'a>> {
    let [tag] = *take::<1>(at)?;
    Some(Next::Value(match tag {
        NULL => Value::Null,
        FALSE => Value::Bool(false),
        TRUE => Value::Bool(true),
        INT => Value::Int(i64::from_le_bytes(*take(at)?).into()),
        LARGE => Value::Int(i128::from_le_bytes(*take(at)?)),
        FLOAT => Value::Float(f64::from_bits(u64::from_le_bytes(*take(at)?))),
        STR | BYTES => {
            let length = u32::from_le_bytes(*take(at)?);
            let (string, rest) = at.split_at_checked(length as usize)?;
            *at = rest;
            match (tag, std::str::from_utf8(string)) {
                (BYTES, _) => Value::Bytes(string),
                (_, Ok(text)) => Value::Str(text),
                (_, Err(_)) => return Some(Next::Wrong),
            }
        }
        _ => return Some(Next::Wrong),
    }))
}

fn take<'a, const N: usize>(at: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, rest) = at.split_first_chunk()?;
    *at = rest;
    Some(taken)
}
