//! A durable shard, as the journal notes it.

use super::spill::SpillMark;
use crate::format::checksum::{Digest, hex, unhex};
use crate::format::json::{Object, Value};
use crate::format::manifest::FileEntry;

/// A shard whose files, and whose rows in the spill, are durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    /// Its samples.
    pub samples: u64,
    /// Its file of each field, in order.
    pub files: Vec<FileEntry>,
    /// Where its rows end; None if there are no columns.
    pub spill: Option<SpillMark>,
}

impl Sealed {
    /// What the journal notes.
    pub(super) fn to_json(&self) -> Value {
        let spill = self
            .spill
            .map_or(Value::Null, |mark| object([("blake3", string(&hex(&mark.digest))), ("bytes", int(mark.bytes))]));
        let files = self.files.iter().map(file_to_json).collect();
        object([("files", Value::Array(files)), ("samples", int(self.samples)), ("spill", spill)])
    }

    /// What a line of the journal says, if it is of this sort.
    pub(super) fn from_json(line: &Value) -> Option<Self> {
        let Value::Array(files) = get(line, "files")? else { return None };
        let spill = match get(line, "spill")? {
            Value::Null => None,
            mark => Some(SpillMark { bytes: number(get(mark, "bytes")?)?, digest: digest(get(mark, "blake3")?)? }),
        };
        let files = files.iter().map(file_from_json).collect::<Option<_>>()?;
        Some(Self { samples: number(get(line, "samples")?)?, files, spill })
    }
}

/// What the journal notes of a file.
pub(super) fn file_to_json(file: &FileEntry) -> Value {
    let index = file.index.as_ref().map_or(Value::Null, |digest| string(&hex(digest)));
    object([("body_blake3", string(&hex(&file.body))), ("bytes", int(file.bytes)), ("index_blake3", index)])
}

/// The other way round.
pub(super) fn file_from_json(value: &Value) -> Option<FileEntry> {
    let index = match get(value, "index_blake3")? {
        Value::Null => None,
        index => Some(digest(index)?),
    };
    Some(FileEntry { bytes: number(get(value, "bytes")?)?, body: digest(get(value, "body_blake3")?)?, index })
}

/// The value of a key of an object.
pub(super) fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(entries) => entries.get(key),
        _ => None,
    }
}

/// The digest that a string spells.
pub(super) fn digest(value: &Value) -> Option<Digest> {
    match value {
        Value::Str(text) => unhex(text.as_bytes()),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// An object of these keys.
pub(super) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Object(entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Object>())
}

/// A string.
pub(super) fn string(text: &str) -> Value {
    Value::Str(text.into())
}

/// Counts and lengths on real disks are far below 2^63.
pub(super) fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_all_of_a_shard() {
        let files = vec![
            FileEntry { bytes: 76, body: [7; 32], index: None },
            FileEntry { bytes: 1 << 40, body: [8; 32], index: Some([9; 32]) },
        ];
        for spill in [None, Some(SpillMark { bytes: 5, digest: [1; 32] })] {
            let sealed = Sealed { samples: 3, files: files.clone(), spill };
            let mut text = Vec::new();
            sealed.to_json().write(&mut text);
            assert_eq!(Sealed::from_json(&Value::parse(&text).unwrap()), Some(sealed));
        }
    }

    #[test]
    fn other_lines_are_none() {
        for text in
            ["1", "{}", r#"{"files":[],"samples":-1,"spill":null}"#, r#"{"files":[1],"samples":1,"spill":null}"#]
        {
            assert_eq!(Sealed::from_json(&Value::parse(text.as_bytes()).unwrap()), None, "{text}");
        }
    }
}
