//! The records of one field of a block, encoded.

use super::block::Part;
use crate::error::Result;
use crate::field::Field;
use crate::format::codec::{Coding, Encoder};

/// Encodes the records of `given` into `encoded`, which is empty; their shapes go over to it.
pub(super) fn encode<'a>(
    encoder: &mut Encoder<'a>,
    field: &Field,
    coding: &'a Coding,
    given: &mut Part,
    encoded: &mut Part,
) -> Result<()> {
    for record in given.records(0, given.ends.len()) {
        let stored = encoder.encode(coding, record).map_err(|error| error.in_field(&field.name))?;
        encoded.reserve(field, stored.len())?;
        encoded.bytes.extend_from_slice(stored);
        encoded.ends.push(encoded.bytes.len());
    }
    std::mem::swap(&mut given.shapes, &mut encoded.shapes);
    Ok(())
}
