//! What is being gathered ahead: slots in the order of the steps, and the room they may take. No threads here.

use std::collections::VecDeque;
use std::sync::Arc;

use super::engine::Work;
use super::plan::{Run, Step};
use crate::error::Result;

/// The slots between the step handed out last and the step claimed last.
pub(super) struct Ring<O> {
    /// At most so many slots.
    prefetch: usize,
    /// At most so many bytes in all of them; a larger one is alone.
    max_bytes: usize,
    /// Counts restarts: what was claimed before is nobody's any more.
    generation: u64,
    /// What is still to be claimed, and who does it.
    job: Option<Job<O>>,
    slots: VecDeque<Slot<O>>,
    /// Number of the first slot since the restart.
    first: u64,
    /// Bytes reserved by all slots.
    bytes: usize,
}

/// Steps, and who makes them.
pub(super) type Job<O> = (Run, Arc<dyn Work<Output = O>>);

/// What a restart leaves over.
#[expect(dead_code, reason = "it is only dropped")]
pub(super) struct Forgotten<O>(VecDeque<Slot<O>>, Option<Job<O>>);

struct Slot<O> {
    step: Step,
    /// None as long as nothing is known of it.
    bytes: Option<usize>,
    result: Option<Result<O>>,
}

/// A step that somebody works on.
pub(super) struct Claim<O> {
    pub generation: u64,
    pub number: u64,
    pub step: Step,
    pub work: Arc<dyn Work<Output = O>>,
}

/// Whether a step may take its memory now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Yes,
    NotYet,
    /// The step is not wanted any more.
    Never,
}

/// What stands at the head of the ring.
pub(super) enum Head<O> {
    Ready(Step, Result<O>),
    Pending,
    End,
}

impl<O> Ring<O> {
    pub fn new(prefetch: usize, max_bytes: usize) -> Self {
        Self { prefetch, max_bytes, generation: 0, job: None, slots: VecDeque::new(), first: 0, bytes: 0 }
    }

    /// Starts on `job` and forgets what was gathered, which the caller drops when no lock is held.
    #[must_use]
    pub fn restart(&mut self, job: Option<Job<O>>) -> Forgotten<O> {
        self.generation += 1;
        self.first = 0;
        self.bytes = 0;
        Forgotten(std::mem::take(&mut self.slots), std::mem::replace(&mut self.job, job))
    }

    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The next step, if there is one and a slot for it.
    pub fn claim(&mut self) -> Option<Claim<O>> {
        if self.slots.len() >= self.prefetch {
            return None;
        }
        let (run, work) = self.job.as_mut()?;
        let step = run.next()?;
        let number = self.first + self.slots.len() as u64;
        self.slots.push_back(Slot { step, bytes: None, result: None });
        Some(Claim { generation: self.generation, number, step, work: work.clone() })
    }

    /// The next step, if nobody works on any and none waits to be taken.
    pub fn claim_first(&mut self) -> Option<Claim<O>> {
        if self.slots.is_empty() { self.claim() } else { None }
    }

    fn place(&self, generation: u64, number: u64) -> Option<usize> {
        let place = number.checked_sub(self.first).filter(|_| generation == self.generation)?;
        usize::try_from(place).ok().filter(|place| *place < self.slots.len())
    }

    /// Reserves `bytes` for a claimed step in place of what it had reserved. Steps are given room in their order, so
    /// that one which nothing else waits for can never take the room of one that the consumer waits for.
    pub fn reserve(&mut self, generation: u64, number: u64, bytes: usize) -> Room {
        let Some(place) = self.place(generation, number) else { return Room::Never };
        let all_known = self.slots.iter().take(place).all(|slot| slot.bytes.is_some());
        let Some(slot) = self.slots.get_mut(place) else { return Room::Never };
        let sum = self.bytes.saturating_sub(slot.bytes.unwrap_or(0)).saturating_add(bytes);
        if place > 0 && (sum > self.max_bytes || !all_known) {
            return Room::NotYet;
        }
        slot.bytes = Some(bytes);
        self.bytes = sum;
        Room::Yes
    }

    /// Puts the result of a claimed step into its slot. Gives it back if the step is not wanted any more, else
    /// whether it is the next one to be handed out.
    pub fn finish(&mut self, generation: u64, number: u64, result: Result<O>) -> std::result::Result<bool, Result<O>> {
        let place = self.place(generation, number);
        match place.and_then(|place| self.slots.get_mut(place)) {
            Some(slot) => {
                slot.result = Some(result);
                slot.bytes.get_or_insert(0);
                Ok(place == Some(0))
            }
            None => Err(result),
        }
    }

    /// Takes the next result, if it is there.
    pub fn take(&mut self) -> Head<O> {
        match self.slots.pop_front() {
            Some(Slot { step, bytes, result: Some(result) }) => {
                self.first += 1;
                self.bytes = self.bytes.saturating_sub(bytes.unwrap_or(0));
                Head::Ready(step, result)
            }
            Some(pending) => {
                self.slots.push_front(pending);
                Head::Pending
            }
            None if self.job.as_ref().is_some_and(|(run, _)| !run.is_over()) => Head::Pending,
            None => Head::End,
        }
    }

    /// Number of results that wait to be handed out.
    pub fn depth(&self) -> usize {
        self.slots.iter().filter(|slot| slot.result.is_some()).count()
    }
}
