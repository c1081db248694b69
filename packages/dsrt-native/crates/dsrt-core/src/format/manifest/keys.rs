//! Taking the keys of JSON objects one by one, with errors (rule R006) that say where in the manifest they are.

use std::fmt;

use super::breach;
use super::memory::gathered;
use crate::error::{Error, Result};
use crate::format::checksum::{Digest, unhex};
use crate::format::json::{Object, Value};
use crate::format::names::short;

/// A place inside the manifest. A chain on the stack: shards and files come by the hundred thousand, so a place is
/// only spelt out when there is something to say about it.
pub(super) enum At<'a> {
    Root,
    Key(&'a At<'a>, &'a str),
    Item(&'a At<'a>, usize),
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Root => f.write_str("manifest.json"),
            At::Key(At::Root, key) => write!(f, "{key:?} of manifest.json"),
            At::Key(parent, key) => write!(f, "{key:?} of {parent}"),
            At::Item(parent, index) => write!(f, "item {index} of {parent}"),
        }
    }
}

/// Whether a key must be there, must not, or may.
#[derive(Clone, Copy)]
pub(super) enum Need {
    Yes,
    No,
    Open,
}

impl Need {
    /// Must be there iff `needed`, as far as what decides that is `known`.
    pub(super) fn of(known: bool, needed: bool) -> Self {
        match (known, needed) {
            (false, _) => Self::Open,
            (true, true) => Self::Yes,
            (true, false) => Self::No,
        }
    }
}

/// The keys of one object, all of which must be taken before the end.
pub(super) struct Keys<'a, 'b> {
    entries: &'a Object,
    at: &'b At<'b>,
    taken: Vec<&'static str>,
}

impl<'a, 'b> Keys<'a, 'b> {
    pub(super) fn of(value: &'a Value, at: &'b At<'b>) -> Result<Self> {
        match value {
            Value::Object(entries) => Ok(Self { entries, at, taken: Vec::with_capacity(entries.len().min(16)) }),
            _ => Err(wrong(at, "an object")),
        }
    }

    pub(super) fn take<T>(&mut self, key: &'static str, read: impl FnOnce(&'a Value, &At) -> Result<T>) -> Result<T> {
        self.take_if(Need::Yes, key, read)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn take_if<T>(
        &mut self,
        need: Need,
        key: &'static str,
        read: impl FnOnce(&'a Value, &At) -> Result<T>,
    ) -> Result<Option<T>> {
        match (self.entries.get(key), need) {
            (Some(value), Need::Yes | Need::Open) => {
                self.taken.push(key);
                read(value, &At::Key(self.at, key)).map(Some)
            }
            (None, Need::Yes) => Err(self.missing(key)),
            // A key that must not be there stays in the object, and the end finds it.
            (_, Need::No | Need::Open) => Ok(None),
        }
    }

    pub(super) fn end(self) -> Result<()> {
        if self.taken.len() == self.entries.len() {
            return Ok(());
        }
        let left = self.entries.keys().filter(|key| !self.taken.contains(key));
        let left: Vec<_> = left.take(9).map(short).collect();
        Err(breach(6, format!("{} has keys that do not belong there: {left:?}", self.at)))
    }

    fn missing(&self, key: &str) -> Error {
        breach(6, format!("{} has no key {key:?}", self.at))
    }
}

pub(super) fn wrong(at: &At, expected: &str) -> Error {
    breach(6, format!("{at} is not {expected}"))
}

pub(super) fn str<'a>(value: &'a Value, at: &At) -> Result<&'a str> {
    match value {
        Value::Str(text) => Ok(text),
        _ => Err(wrong(at, "a string")),
    }
}

pub(super) fn int(value: &Value, at: &At) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(wrong(at, "an int")),
    }
}

pub(super) fn hex(value: &Value, at: &At) -> Result<Digest> {
    unhex(str(value, at)?.as_bytes()).ok_or_else(|| wrong(at, "64 lower-case hexadecimal digits"))
}

pub(super) fn list<'a, T>(value: &'a Value, at: &At, each: impl Fn(&'a Value, &At) -> Result<T>) -> Result<Vec<T>> {
    match value {
        Value::Array(items) => gathered(items.iter().enumerate().map(|(i, item)| each(item, &At::Item(at, i)))),
        _ => Err(wrong(at, "a list")),
    }
}
