//! Records that are found, and asked for, some time before they are used: memory answers many questions at once, but
//! each of them late.

use super::super::field::FieldReader;
use super::super::gather::Id;
use super::super::shard::Shard;
use super::Readers;
use crate::error::Result;
use crate::field::Field;

/// So many records are asked for ahead of the one in use. Measured: 8 are too few for 64 bytes each, 16 enough.
const AHEAD: usize = 16;

/// Calls `ask` for each of `count` places, and `then` with its answer when `ask` was called for those that follow.
pub(super) fn ahead<T>(
    count: usize,
    mut ask: impl FnMut(usize) -> T,
    mut then: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let mut answers: [Option<T>; AHEAD] = std::array::from_fn(|place| (place < count).then(|| ask(place)));
    for place in 0..count {
        let Some(slot) = answers.get_mut(place % AHEAD) else { continue };
        let next = place + AHEAD;
        let answer = std::mem::replace(slot, (next < count).then(|| ask(next)));
        if let Some(answer) = answer {
            then(place, answer)?;
        }
    }
    Ok(())
}

/// Finds shards of samples, one after another: most often it is the one found last.
pub(super) struct Finder<'a> {
    readers: &'a Readers,
    near: Option<Near<'a>>,
}

/// A shard, open, and what holds for all records in it.
pub(super) struct Near<'a> {
    cache: u32,
    first: u64,
    end: u64,
    pub shard: &'a Shard,
    pub field: &'a Field,
    /// Whether checksums are compared.
    pub verify: bool,
}

impl<'a> Finder<'a> {
    pub(super) fn new(readers: &'a Readers) -> Self {
        Self { readers, near: None }
    }

    /// The shard of a sample and its ordinal there. None if something is wrong: then whoever asks goes the usual way,
    /// which says what.
    pub(super) fn find(&mut self, id: Id) -> Option<(&Near<'a>, u64)> {
        let is_near = |near: &Near| near.cache == id.cache && (near.first..near.end).contains(&id.sample);
        if !self.near.as_ref().is_some_and(is_near) {
            self.near = Some(Near::new(self.readers.of(id).ok()?, id)?);
        }
        let near = self.near.as_ref()?;
        Some((near, id.sample - near.first))
    }
}

impl<'a> Near<'a> {
    fn new(reader: &'a FieldReader, id: Id) -> Option<Self> {
        let (number, ordinal) = reader.locate(id.sample).ok()?;
        let left = reader.left(id.sample).ok()?;
        Some(Self {
            cache: id.cache,
            first: id.sample - ordinal,
            end: id.sample + left,
            shard: reader.shard(number).ok()?,
            field: reader.field().ok()?,
            verify: reader.cache().verify(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, Kind};

    #[test]
    fn each_place_is_asked_for_before_it_is_used_and_used_once() {
        for count in [0, 1, AHEAD - 1, AHEAD, AHEAD + 1, 5 * AHEAD + 3] {
            let asked = std::cell::Cell::new(0);
            let mut used = 0;
            let ask = |place| {
                assert_eq!(place, asked.replace(place + 1));
                3 * place
            };
            let then = |place, answer| {
                assert_eq!((place, answer), (used, 3 * used));
                used += 1;
                assert_eq!(asked.get(), count.min(place + 1 + AHEAD));
                Ok(())
            };
            ahead(count, ask, then).unwrap();
            assert_eq!((asked.get(), used), (count, count));
        }
    }

    #[test]
    fn an_error_ends_it() {
        let mut used = 0;
        let then = |place, ()| {
            used += 1;
            if place == 3 { Err(Error::new(Kind::Internal, "three")) } else { Ok(()) }
        };
        assert_eq!(ahead(40, |_| (), then).unwrap_err().message(), "three");
        assert_eq!(used, 4);
    }
}
