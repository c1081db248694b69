//! Lists that are as long as a manifest says: their memory is asked for, and that it is refused is an error.

use crate::error::{Error, Kind, Result};

/// The items in one list, or the first error of one.
pub(super) fn gathered<T>(items: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(items.len()).map_err(|_| refused())?;
    for item in items {
        list.push(item?);
    }
    Ok(list)
}

fn refused() -> Error {
    Error::new(Kind::Memory, "the manifest lists too much for the memory")
}
