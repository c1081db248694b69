//! The stored column `weight`: the default weights of a population (R046).

use std::sync::Arc;

use arrow_buffer::BooleanBuffer;

use super::table::Table;
use crate::dtype::{ColumnType, DType};
use crate::error::{Error, Kind, Result};
use crate::format::metadata::{BATCH, Extent};
use crate::format::names::WEIGHT;

impl Table {
    /// The stored weight of every row, all finite and not negative; none if the table has no column of weights.
    /// Reads that column and no other.
    pub fn weights(&self) -> Result<Option<&Arc<[f64]>>> {
        let read = || self.read_weights().map(Box::new).map_err(|e| self.place(e.in_field(&WEIGHT.into())));
        Ok(self.weights.get_or_try_init(read)?.as_ref())
    }

    /// R046 as part of reading the whole table.
    pub(super) fn check_weights(&self) -> Result<()> {
        self.weights().map(drop)
    }

    /// R046 of one batch; nothing where there is no column of weights.
    pub(super) fn check_weights_of(&self, batch: u64) -> Result<()> {
        match self.weight_column()? {
            Some(column) => self.weights_of(column, batch, |_| ()),
            None => Ok(()),
        }
    }

    fn read_weights(&self) -> Result<Option<Arc<[f64]>>> {
        let Some(column) = self.weight_column()? else { return Ok(None) };
        let mut weights = Vec::new();
        let reserved = usize::try_from(self.len()).ok().and_then(|rows| weights.try_reserve_exact(rows).ok());
        reserved.ok_or_else(|| Error::new(Kind::Memory, "the weights of all samples do not fit the memory"))?;
        for batch in 0..self.batch_count() {
            self.weights_of(column, batch, |weight| weights.push(weight))?;
        }
        Ok(Some(weights.into()))
    }

    fn weight_column(&self) -> Result<Option<usize>> {
        match self.column(WEIGHT) {
            None => Ok(None),
            Some((column, ColumnType::Number(DType::Float64))) => Ok(Some(column)),
            Some((_, kind)) => Err(breach(format!("a stored weight is float64, not {}", kind.name()))),
        }
    }

    /// Hands out the weights of a batch, each checked.
    fn weights_of(&self, column: usize, batch: u64, mut hand: impl FnMut(f64)) -> Result<()> {
        let layout = self.layout(batch as usize)?;
        let lost = || Error::new(Kind::Internal, "a batch lacks the weights");
        let column = layout.columns.get(column).ok_or_else(lost)?;
        if column.nulls > 0 {
            return Err(breach("a stored weight is null"));
        }
        if let Some(validity) = column.validity {
            let bits = BooleanBuffer::new(self.chunks().buffer(validity)?, 0, layout.rows as usize);
            if bits.count_set_bits() as u64 != layout.rows {
                return Err(Error::rule(Kind::Format, 42, "a stored weight is null in a batch that counts no nulls"));
            }
        }
        let extent = Extent { at: column.values.at, len: 8 * layout.rows };
        let weights = self.chunks().bytes(extent)?;
        for (row, bytes) in (batch * BATCH..).zip(weights.as_chunks::<8>().0) {
            let weight = f64::from_le_bytes(*bytes);
            if !weight.is_finite() || weight < 0.0 {
                return Err(breach(format!("the stored weight {weight} is not finite and at least 0")).at_sample(row));
            }
            hand(weight);
        }
        Ok(())
    }
}

fn breach(message: impl Into<String>) -> Error {
    Error::rule(Kind::Format, 46, message)
}
