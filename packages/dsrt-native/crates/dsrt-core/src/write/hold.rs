//! Samples that are held back until there are enough of them to train dictionaries on.

use std::sync::Arc;

use super::block::Block;
use super::train::{SAMPLE_BYTES, train_dictionary};
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::codec::filter;

/// So many bytes are held at the most, of all fields and of metadata: beside images, a field of labels would hold
/// gigabytes.
const MOST: usize = 256 << 20;

/// Blocks that wait, and what for.
pub(super) struct Hold {
    blocks: Vec<Block>,
    /// Size of the dictionary of each field that is trained, and bytes of its records so far.
    fields: Vec<Option<(usize, u64)>>,
    total: usize,
}

impl Hold {
    /// For fields of which those with a size get a dictionary of that size.
    pub(super) fn new(sizes: impl Iterator<Item = Option<usize>>) -> Self {
        Self { blocks: Vec::new(), fields: sizes.map(|size| size.map(|size| (size, 0))).collect(), total: 0 }
    }

    /// Holds a block, too. Whether that is enough now.
    pub(super) fn add(&mut self, block: Block) -> bool {
        self.total = self.total.saturating_add(block.size);
        for (field, part) in self.fields.iter_mut().zip(&block.fields) {
            if let Some((_, held)) = field {
                *held = held.saturating_add(part.bytes.len() as u64);
            }
        }
        self.blocks.push(block);
        let is_enough = |(size, held): &(usize, u64)| *held >= (size * SAMPLE_BYTES) as u64;
        self.total >= MOST || self.fields.iter().flatten().all(is_enough)
    }

    /// Trains the dictionaries that are missing.
    pub(super) fn train(&self, fields: &[Field], dictionaries: &mut [Option<Arc<[u8]>>]) -> Result<()> {
        for (number, (field, dictionary)) in fields.iter().zip(dictionaries).enumerate() {
            let Some(Some((size, _))) = self.fields.get(number) else { continue };
            let trained = self.train_one(number, field, *size).map_err(|error| {
                let message = format!("{}; use zstd without a dictionary for this field", error.message());
                Error::new(error.kind(), message).in_field(&field.name)
            });
            *dictionary = Some(trained?.into());
        }
        Ok(())
    }

    fn train_one(&self, number: usize, field: &Field, size: usize) -> Result<Vec<u8>> {
        let parts = self.blocks.iter().filter_map(|block| block.fields.get(number));
        let mut left = size.saturating_mul(SAMPLE_BYTES);
        let mut records = Vec::new();
        for record in parts.flat_map(|part| part.records(0, part.ends.len())) {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(record.len());
            records.try_reserve(1).map_err(|_| Error::new(Kind::Memory, "no memory to train a dictionary"))?;
            records.push(record);
        }
        if field.delta == 0 {
            return train_dictionary(&records, size);
        }
        let filtered: Vec<_> = records.iter().map(|record| filter(record, field.delta)).collect();
        train_dictionary(&filtered.iter().map(Vec::as_slice).collect::<Vec<_>>(), size)
    }

    /// What was held, in order.
    pub(super) fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_is_held_when_every_dictionary_has_its_records_or_the_memory_is_used_up() {
        let block = |bytes: [usize; 3], size| {
            let mut block = Block::new(3);
            block.fields.iter_mut().zip(bytes).for_each(|(part, bytes)| part.bytes = vec![0; bytes]);
            Block { size, ..block }
        };
        let hold = || Hold::new([Some(300), None, Some(256)].into_iter());
        let mut held = hold();
        assert!(!held.add(block([30_000, 99_999, 25_599], 1 << 20)));
        assert!(held.add(block([0, 0, 1], 1)));
        // Whatever it is that takes the memory: other fields, metadata, or the places of many empty records.
        let mut held = hold();
        assert!(!held.add(block([0; 3], MOST - 1)));
        assert!(held.add(block([0; 3], 1)));
    }
}
