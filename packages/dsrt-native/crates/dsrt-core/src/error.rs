//! One error type for the whole core: opaque, with a kind to branch on and the place where the byte was read.
//!
//! An error is made where the problem is found and travels up unchanged; callers on the way may only fill in
//! parts of the place that were unknown further down. The binding turns each [`Kind`] into one Python class.

use std::fmt;
use std::sync::Arc;

use crate::format::names::short;
use crate::outcome::Outcome;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What sort of failure it is. Each kind is one exception class in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A cache breaks a rule of the format, found when it was opened or its metadata was first used.
    Format,
    /// A cache breaks a rule of the format, found while reading samples.
    Data,
    /// The cache was written in a later version of the format.
    UnknownVersion,
    /// There is no published cache at the path.
    NotPublished,
    /// The cache at the path is another one than was asked for.
    Stale,
    /// Another writer holds the target.
    Locked,
    /// The target of a writer exists.
    Exists,
    /// What was given does not fit the fields or columns.
    Schema,
    /// A saved state belongs to another stream.
    StateMismatch,
    /// A sample or row number out of range.
    Index,
    /// Any other argument that cannot be used.
    Value,
    /// A call that is wrong in the present state: closed, superseded, or made by two threads at once.
    State,
    /// Memory could not be allocated.
    Memory,
    /// The operating system refused; the source says why.
    Io,
    /// A defect of this library.
    Internal,
}

/// Where in a cache a problem lies, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The path the cache was opened by.
    pub cache: Option<Arc<str>>,
    /// The payload field or metadata column.
    pub field: Option<Arc<str>>,
    /// The shard number.
    pub shard: Option<u64>,
    /// The sample number within the cache.
    pub sample: Option<u64>,
}

/// Any failure of the core.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    rule: Option<u16>,
    place: Place,
    message: String,
    source: Option<std::io::Error>,
    file: Option<Box<str>>,
    outcome: Option<Outcome>,
}

impl Error {
    /// An error of `kind` whose message says what was found, what was expected and what to do.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            rule: None,
            place: Place::default(),
            message: message.into(),
            source: None,
            file: None,
            outcome: None,
        }))
    }

    /// A breach of rule `R0nn` of the format.
    pub fn rule(kind: Kind, rule: u16, message: impl Into<String>) -> Self {
        let mut error = Self::new(kind, message);
        error.0.rule = Some(rule);
        error
    }

    /// An operation on a file that the operating system refused. `doing` names the operation and the path.
    pub fn io(doing: impl Into<String>, source: std::io::Error) -> Self {
        let mut error = Self::new(Kind::Io, doing);
        error.0.source = Some(source);
        error
    }

    /// The same, of the file that is called `name`: its path inside its cache, or any other.
    pub fn io_of(doing: &str, name: &str, source: std::io::Error) -> Self {
        let mut error = Self::io(format!("{doing} {name}"), source);
        error.0.file = Some(name.into());
        error
    }

    /// Fills in the cache if it is not known yet.
    #[must_use]
    pub fn in_cache(mut self, cache: &Arc<str>) -> Self {
        self.0.place.cache.get_or_insert_with(|| cache.clone());
        self
    }

    /// Fills in the field if it is not known yet.
    #[must_use]
    pub fn in_field(mut self, field: &Arc<str>) -> Self {
        self.0.place.field.get_or_insert_with(|| field.clone());
        self
    }

    /// Fills in the shard if it is not known yet.
    #[must_use]
    pub fn in_shard(mut self, shard: u64) -> Self {
        self.0.place.shard.get_or_insert(shard);
        self
    }

    /// Fills in the sample if it is not known yet.
    #[must_use]
    pub fn at_sample(mut self, sample: u64) -> Self {
        self.0.place.sample.get_or_insert(sample);
        self
    }

    /// Says what becomes of the work that this error ended, if nothing is said yet.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome.get_or_insert(outcome);
        self
    }

    /// What was said of the work that this error ended.
    pub fn outcome(&self) -> Option<Outcome> {
        self.0.outcome
    }

    /// The same breach, found by a read instead of at opening.
    #[must_use]
    pub fn while_reading(mut self) -> Self {
        if self.0.kind == Kind::Format {
            self.0.kind = Kind::Data;
        }
        self
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The number of the broken rule of the format, if it is one.
    pub fn rule_number(&self) -> Option<u16> {
        self.0.rule
    }

    /// Where the problem lies.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// What was found and expected, without the place, the rule, the cause and the outcome.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file that the operating system refused something of, if one is known.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The error number of the operating system, if it refused something.
    pub fn os_code(&self) -> Option<i32> {
        self.0.source.as_ref().and_then(std::io::Error::raw_os_error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.0.place;
        let mut parts = Vec::new();
        if let Some(cache) = &place.cache {
            parts.push(format!("cache {cache}"));
        }
        if let Some(field) = &place.field {
            parts.push(format!("field {}", short(field)));
        }
        if let Some(shard) = place.shard {
            parts.push(format!("shard {shard}"));
        }
        if let Some(sample) = place.sample {
            parts.push(format!("sample {sample}"));
        }
        if !parts.is_empty() {
            write!(f, "{}: ", parts.join(", "))?;
        }
        f.write_str(&self.0.message)?;
        if let Some(rule) = self.0.rule {
            write!(f, " (R{rule:03})")?;
        }
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        if let Some(outcome) = &self.0.outcome {
            write!(f, "; {outcome}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_place_rule_and_cause() {
        let error = Error::rule(Kind::Format, 33, "the checksum differs")
            .at_sample(7)
            .in_shard(2)
            .in_field(&"image".into())
            .in_cache(&"caches/pets".into())
            .in_cache(&"elsewhere".into())
            .while_reading();
        assert_eq!(error.kind(), Kind::Data);
        assert_eq!(error.to_string(), "cache caches/pets, field image, shard 2, sample 7: the checksum differs (R033)");
    }

    #[test]
    fn a_refusal_names_its_file() {
        let error = Error::io_of("cannot open", "fields/x/00000.shard", std::io::Error::from_raw_os_error(13));
        assert_eq!(error.file(), Some("fields/x/00000.shard"));
        assert_eq!(error.to_string(), "cannot open fields/x/00000.shard: Permission denied (os error 13)");
        assert_eq!(Error::new(Kind::Io, "x").file(), None);
    }

    #[test]
    fn the_first_outcome_stands_at_the_end() {
        let error = Error::io("writing x", std::io::Error::from_raw_os_error(28));
        let error = error.with_outcome(Outcome::Published(3)).with_outcome(Outcome::Kept(3));
        assert_eq!(
            error.to_string(),
            "writing x: No space left on device (os error 28); the cache was published all the same, and is durable"
        );
    }
}
