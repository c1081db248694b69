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
    pub fn weights(&self) -> Result<Option<&Arc<Vec<f64>>>> {
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
            Some(column) => self.weights_of(column, batch, |row, weight| checked(row, weight).map(drop)),
            None => Ok(()),
        }
    }

    fn read_weights(&self) -> Result<Option<Arc<Vec<f64>>>> {
        let Some(column) = self.weight_column()? else { return Ok(None) };
        let mut weights = Vec::new();
        let reserved = usize::try_from(self.len()).ok().and_then(|rows| weights.try_reserve_exact(rows).ok());
        reserved.ok_or_else(|| Error::new(Kind::Memory, "the weights of all samples do not fit the memory"))?;
        for batch in 0..self.batch_count() {
            self.weights_of(column, batch, |row, weight| {
                weights.push(checked(row, weight)?);
                Ok(())
            })?;
        }
        self.check_whole()?;
        Ok(Some(Arc::new(weights)))
    }

    /// Tells every breach of R046: a column of another type, or each weight that is none.
    pub(crate) fn weight_breaches(&self, tell: &mut dyn FnMut(Error) -> Result<()>) -> Result<()> {
        let mut tell = |error: Error| tell(error.in_field(&WEIGHT.into()));
        let column = match self.weight_column() {
            Ok(Some(column)) => column,
            Ok(None) => return Ok(()),
            Err(error) => return tell(error),
        };
        (0..self.batch_count()).try_for_each(|batch| {
            self.weights_of(column, batch, |row, weight| checked(row, weight).map(drop).or_else(&mut tell))
        })
    }

    fn weight_column(&self) -> Result<Option<usize>> {
        match self.column(WEIGHT) {
            None => Ok(None),
            Some((column, ColumnType::Number(DType::Float64))) => Ok(Some(column)),
            Some((_, kind)) => Err(breach(format!("a stored weight is float64, not {}", kind.name()))),
        }
    }

    /// Hands out the weights of a batch with their rows; none for null.
    fn weights_of(
        &self,
        column: usize,
        batch: u64,
        mut hand: impl FnMut(u64, Option<f64>) -> Result<()>,
    ) -> Result<()> {
        let layout = self.read_layout(batch as usize)?;
        let lost = || Error::new(Kind::Internal, "a batch lacks the weights");
        let column = layout.columns.get(column).ok_or_else(lost)?;
        let bits = |validity| Ok(BooleanBuffer::new(self.chunks().buffer(validity)?, 0, layout.rows as usize));
        let valid: Option<BooleanBuffer> = column.validity.map(bits).transpose()?;
        if column.nulls == 0 && valid.as_ref().is_some_and(|valid| valid.count_set_bits() as u64 != layout.rows) {
            return Err(Error::rule(Kind::Format, 42, "a stored weight is null in a batch that counts no nulls"));
        }
        let mut valid = valid.iter().flatten();
        let extent = Extent { at: column.values.at, len: 8 * layout.rows };
        let weights = self.chunks().bytes(extent)?;
        for (row, bytes) in (batch * BATCH..).zip(weights.as_chunks::<8>().0) {
            let is_valid = valid.next().unwrap_or(true);
            hand(row, is_valid.then(|| f64::from_le_bytes(*bytes)))?;
        }
        Ok(())
    }
}

fn checked(row: u64, weight: Option<f64>) -> Result<f64> {
    match weight {
        Some(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        Some(weight) => Err(breach(format!("the stored weight {weight} is not finite and at least 0")).at_sample(row)),
        None => Err(breach("a stored weight is null").at_sample(row)),
    }
}

fn breach(message: impl Into<String>) -> Error {
    Error::rule(Kind::Format, 46, message)
}
