//! The life of the thread that makes shards durable, one after the other, and publishes the cache.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::durable::Durable;
use super::jobs::{Ending, Seal};
use super::schedule::Schedule;
use super::worker::{Shared, caught};
use crate::error::{Error, Kind, Result};

impl Shared {
    /// Seals and publishes. Gives back what it did not publish.
    pub(super) fn seal(&self, mut durable: Durable) -> Option<Durable> {
        loop {
            match self.next_seal() {
                Seal::Shard(shard) => {
                    let samples = shard.samples;
                    if let Err(error) = caught(|| durable.seal(samples, shard.files, shard.mark)) {
                        self.fail(error);
                        return Some(durable);
                    }
                    self.durable.fetch_add(samples, Ordering::AcqRel);
                    self.did(Schedule::sealed);
                }
                Seal::Publish => {
                    match caught(|| durable.publish(&mut || self.is_wanted())) {
                        Ok(published) => self.lock().published = Some(published),
                        Err(error) => self.fail(error),
                    }
                    self.caller.notify_one();
                    return None;
                }
                Seal::Stop | Seal::Wait => return Some(durable),
            }
        }
    }

    fn next_seal(&self) -> Seal {
        let mut state = self.lock();
        loop {
            match state.schedule.seal() {
                Seal::Wait => state = self.seals.wait(state).unwrap_or_else(PoisonError::into_inner),
                next => return next,
            }
        }
    }

    fn is_wanted(&self) -> Result<()> {
        match self.lock().schedule.ending {
            Ending::Stop => Err(Error::new(Kind::State, "this writer was aborted while it published")),
            _ => Ok(()),
        }
    }
}
