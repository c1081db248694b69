//! Which values of a metadata column are null.

use super::Cell;
use crate::error::Result;
use crate::read::gather::Look;
use crate::read::table::Table;

impl Table {
    /// How many values of a column are null, by the counts of the batches. No value is read.
    pub fn null_count(&self, column: usize) -> Result<u64> {
        let count = || {
            let mut nulls = 0;
            for layout in self.layouts() {
                nulls += layout?.columns.get(column).map_or(0, |column| column.nulls);
            }
            Ok(nulls)
        };
        count().map_err(|error| self.place(error))
    }

    /// Whether a value of a column is null. Only the chunk that says so is read.
    pub fn is_null(&self, column: usize, row: u64) -> Result<bool> {
        let look: Look = &|| Ok(());
        let cell = self.locate(column, row, look).map(|(layout, row)| Cell { table: self, layout, row, look });
        let null = cell.and_then(|cell| cell.is_null());
        null.and_then(|null| self.check_whole().map(|()| null)).map_err(|error| self.place(error.at_sample(row)))
    }
}
