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
    pub(super) fn seal(&self, durable: Durable) -> Option<Durable> {
        let mut durable = Some(durable);
        match caught(|| self.seal_all(&mut durable)) {
            Ok(()) => self.caller.notify_one(),
            Err(error) => self.fail(error),
        }
        durable
    }

    fn seal_all(&self, durable: &mut Option<Durable>) -> Result<()> {
        while let Some(open) = durable {
            match self.next_seal() {
                Seal::Shard(shard) => {
                    open.seal(shard.samples, shard.files, shard.mark)?;
                    self.durable.fetch_add(shard.samples, Ordering::AcqRel);
                    self.did(Schedule::sealed);
                }
                Seal::Publish => {
                    let published = durable.take().map(|durable| durable.publish(&mut || self.is_wanted()));
                    self.lock().published = published.transpose()?;
                }
                Seal::Stop | Seal::Wait => break,
            }
        }
        Ok(())
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
