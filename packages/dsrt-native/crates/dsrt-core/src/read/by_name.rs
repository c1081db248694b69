//! Columns by their names. A metadata file can have as many as it has space for, and each read looks for all of them.

use std::sync::Arc;

use crate::dtype::ColumnType;
use crate::error::{Error, Kind, Result};

/// Numbers of columns in the order of their names.
pub(super) struct ByName(Box<[u32]>);

impl ByName {
    pub(super) fn of(columns: &[(Arc<str>, ColumnType)]) -> Result<Self> {
        let too_many = || Error::new(Kind::Memory, "metadata.arrow has too many columns for the memory");
        let count = u32::try_from(columns.len()).map_err(|_| too_many())?;
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(columns.len()).map_err(|_| too_many())?;
        numbers.extend(0..count);
        numbers.sort_unstable_by_key(|number| columns.get(*number as usize).map(|(name, _)| name));
        Ok(Self(numbers.into()))
    }

    /// The number of the column of that name among those that this was made of.
    pub(super) fn find(&self, columns: &[(Arc<str>, ColumnType)], name: &str) -> Option<usize> {
        let named = |number: &u32| columns.get(*number as usize).map_or("", |(name, _)| name);
        let place = self.0.binary_search_by(|number| named(number).cmp(name)).ok()?;
        self.0.get(place).map(|number| *number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn every_column_is_found_by_its_name_and_no_other() {
        let kind = ColumnType::Number(DType::Int8);
        let columns: Vec<_> = ["b", "a", "é", "aa", "B"].map(|name| (Arc::from(name), kind)).into();
        let by_name = ByName::of(&columns).unwrap();
        for (number, (name, _)) in columns.iter().enumerate() {
            assert_eq!(by_name.find(&columns, name), Some(number));
        }
        assert_eq!(by_name.find(&columns, "ab"), None);
        assert_eq!(ByName::of(&[]).unwrap().find(&[], ""), None);
    }
}
