//! Memory that a text drives: it is asked for, and that it is refused is an error and not the end of the process.

use crate::error::{Error, Kind};

/// Why a text is not read to its end.
pub(super) enum Stop {
    /// The memory refused so little that an error is best made after what was read is given back.
    Memory,
    /// R004.
    Breach(Error),
}

impl Stop {
    pub(super) fn error(self) -> Error {
        match self {
            Self::Memory => Error::new(Kind::Memory, "the manifest is too large for the memory"),
            Self::Breach(error) => error,
        }
    }
}

/// What a step of reading gives.
pub(super) type Step<T> = Result<T, Stop>;

/// Makes room for one more item: exactly one at first, because most lists in a hostile text are that short, and later
/// half as many again.
pub(super) fn one_more<T>(items: &mut Vec<T>) -> Step<()> {
    if items.len() < items.capacity() {
        return Ok(());
    }
    items.try_reserve_exact((items.len() / 2).max(1)).map_err(|_| Stop::Memory)
}

/// A copy of a text that takes no more than its bytes.
pub(super) fn copy(text: &str) -> Step<Box<str>> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| Stop::Memory)?;
    copy.push_str(text);
    // Nothing is moved, as nothing is left over.
    Ok(copy.into_boxed_str())
}
