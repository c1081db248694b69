//! Lengths of all records of a field, without reading a record.

use super::cache::Cache;
use super::field::FieldReader;
use crate::error::{Error, Kind, Result};
use crate::format::shard::{dense_bytes, record_size};

impl Cache {
    /// Elements of every record of the field of that number: the product of its shape; bytes, for bytes and text.
    ///
    /// Planned from the indexes alone, each proven as a whole by its digest (R039); nothing is decoded.
    pub fn lengths(&self, field: usize) -> Result<Vec<u64>> {
        let reader = self.field(field)?;
        let too_many = || {
            let message = "the lengths of all records do not fit the memory, 8 bytes each";
            reader.place(Error::new(Kind::Memory, message), None, None)
        };
        let samples = usize::try_from(self.len()).map_err(|_| too_many())?;
        let mut lengths = Vec::new();
        lengths.try_reserve_exact(samples).map_err(|_| too_many())?;
        let itemsize = reader.field()?.dtype.size() as u64;
        if let Some(bytes) = dense_bytes(reader.field()?) {
            lengths.resize(samples, bytes / itemsize);
            return Ok(lengths);
        }
        for number in 0..self.manifest().shards.len() as u32 {
            shard(&reader, number, itemsize, &mut lengths)?;
        }
        Ok(lengths)
    }
}

fn shard(reader: &FieldReader, number: u32, itemsize: u64, lengths: &mut Vec<u64>) -> Result<()> {
    let place = |error: Error| reader.place(error, Some(number), None);
    let entry = reader.entry()?;
    let lost = || Error::new(Kind::Internal, "a shard is not in the manifest");
    let file = entry.files.get(number as usize).ok_or_else(lost)?;
    let index = reader.shard(number).and_then(|shard| shard.proven_index(file)).map_err(place)?;
    let (first, _) = reader.cache().locator().range(number).ok_or_else(lost)?;
    for (sample, entry) in (first..).zip(index.chunks_exact(reader.field()?.entry_bytes())) {
        let shape = entry.get(12..).unwrap_or_default();
        let bytes = record_size(reader.field()?, shape).map_err(|e| place(e.at_sample(sample)))?;
        lengths.push(bytes / itemsize);
    }
    Ok(())
}
