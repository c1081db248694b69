//! What one step of the stream holds: pure arithmetic on positions.

use std::cell::Cell;

use crate::error::{Error, Kind, Result};
use crate::lists::List;
use crate::order::Order;

thread_local! {
    static POSITIONS: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
    static VALID: Cell<Vec<bool>> = const { Cell::new(Vec::new()) };
}

/// Positions are below this.
pub(super) const POSITION_LIMIT: u64 = 1 << 62;

/// What happens at the end of a window when fewer samples than a step are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Last {
    /// They are left out.
    Drop,
    /// The step is filled up with samples of the window's start, marked as not valid.
    Pad,
    /// The step is shorter; one rank only.
    Short,
}

impl Last {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Drop, Self::Pad, Self::Short];

    /// The word for it in Python.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Pad => "pad",
            Self::Short => "short",
        }
    }

    /// The end of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|last| last.name() == name)
    }

    /// What people mean when they do not say: all samples once where the order is sequential, else whole steps.
    pub fn default_for(order: Order, world_size: u64) -> Self {
        match order {
            Order::Sequential if world_size == 1 => Self::Short,
            Order::Sequential => Self::Pad,
            Order::Uniform | Order::Weighted | Order::Permuted => Self::Drop,
        }
    }
}

/// One step of all ranks together: consecutive positions of the stream, filled up or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its first position.
    pub position: u64,
    /// How many positions it takes from the stream.
    pub take: u64,
    /// Elements of all ranks: `take`, or more where it is padded.
    pub len: u64,
    /// The window's first position, where padding begins.
    pub window_start: u64,
    /// The window's length, after which padding begins again.
    pub epoch_len: u64,
    /// The stream's position after it.
    pub next: u64,
}

/// The samples of one rank in one step.
pub(super) struct Elements {
    /// Position in the stream of each.
    pub positions: List<u64>,
    /// False for padding.
    pub valid: List<bool>,
}

impl Step {
    /// Elements `first .. first + count`, as far as the step has them.
    pub fn elements(&self, first: u64, count: u64) -> Result<Elements> {
        let end = self.len.min(first.saturating_add(count));
        let count = end.saturating_sub(first);
        let len = usize::try_from(count).unwrap_or(usize::MAX);
        let mut elements = Elements { positions: List::take(&POSITIONS, len)?, valid: List::take(&VALID, len)? };
        for element in first..end {
            let padding = element.checked_sub(self.take);
            elements.valid.push(padding.is_none());
            elements.positions.push(match padding {
                None => self.position + element,
                Some(padding) => self.window_start + padding % self.epoch_len,
            });
        }
        Ok(elements)
    }
}

/// What is left of a pass or of `steps()`: an iterator over its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The next step begins here.
    pub position: u64,
    /// It ends here.
    pub end: u64,
    /// Samples of a step, over all ranks.
    pub group: u64,
    /// Length of a window.
    pub epoch_len: u64,
    /// First position of the window.
    pub window_start: u64,
    /// What happens at the window's end; None where no window cuts the run.
    pub last: Option<Last>,
}

impl Run {
    /// What is left of `window` from `position` on. Under drop, nothing is left of less than one step.
    pub fn window(window: u64, position: u64, epoch_len: u64, group: u64, last: Last) -> Result<Self> {
        let end = window
            .checked_add(1)
            .and_then(|next| next.checked_mul(epoch_len))
            .filter(|end| *end < POSITION_LIMIT)
            .ok_or_else(|| beyond(&format!("window {window} of {epoch_len} positions")))?;
        let window_start = end - epoch_len;
        let mut run = Self { position, end, group, epoch_len, window_start, last: Some(last) };
        run.skip_tail();
        Ok(run)
    }

    /// `steps` whole steps from `position` on, or steps without end.
    pub fn endless(position: u64, epoch_len: u64, group: u64, steps: Option<u64>) -> Result<Self> {
        let end = steps
            .unwrap_or((POSITION_LIMIT - 1).saturating_sub(position) / group)
            .checked_mul(group)
            .and_then(|length| length.checked_add(position))
            .filter(|end| *end < POSITION_LIMIT && (steps.is_some() || *end > position))
            .ok_or_else(|| beyond(&format!("steps of {group} samples from position {position} on")))?;
        Ok(Self { position, end, group, epoch_len, window_start: position, last: None })
    }

    /// Whether no step is left.
    pub fn is_over(&self) -> bool {
        self.position >= self.end
    }

    fn skip_tail(&mut self) {
        if self.last == Some(Last::Drop) && self.end.saturating_sub(self.position) < self.group {
            self.position = self.end;
        }
    }
}

impl Iterator for Run {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let left = self.end.checked_sub(self.position).filter(|left| *left > 0)?;
        let (position, take) = (self.position, left.min(self.group));
        self.position += take;
        self.skip_tail();
        let len = if self.last == Some(Last::Pad) { self.group } else { take };
        let Self { window_start, epoch_len, position: next, .. } = *self;
        Some(Step { position, take, len, window_start, epoch_len, next })
    }
}

/// The number of steps of a whole window.
pub(super) fn window_steps(epoch_len: u64, group: u64, last: Last) -> Result<u64> {
    check_window(epoch_len, group, last)?;
    Ok(match last {
        Last::Drop => epoch_len / group,
        Last::Pad | Last::Short => epoch_len.div_ceil(group),
    })
}

/// Refuses windows that hold no step at all.
pub(super) fn check_window(epoch_len: u64, group: u64, last: Last) -> Result<()> {
    if last == Last::Drop && epoch_len < group {
        let message = format!(
            "an epoch of {epoch_len} samples holds no step of {group} (batch size times world size), and last='drop' \
             leaves out what is less; take a smaller batch, a larger epoch_len, last='pad', or steps()"
        );
        return Err(Error::new(Kind::Value, message));
    }
    Ok(())
}

fn beyond(what: &str) -> Error {
    Error::new(Kind::Value, format!("{what}: this leads beyond position 2^62, where every stream ends"))
}
