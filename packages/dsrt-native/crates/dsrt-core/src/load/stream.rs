//! The stream: one position, the window of the last pass, and which pass may go on. A pure state machine.
//!
//! `position` is all there is to save. It moves when a batch is handed out, and by `seek`, `set_epoch`, a loaded
//! state, and a pass that begins at a window's start.

use super::plan::{Last, POSITION_LIMIT, Run, Step, check_window};
use crate::error::{Error, Kind, Result};

/// Where the position came from, as long as nothing was handed out since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Seek,
    State,
}

/// The position of a loader, and its passes.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    epoch_len: u64,
    position: u64,
    /// The window of the last pass; None where the next pass takes up the position as it is.
    window: Option<u64>,
    origin: Option<Origin>,
    /// Number of passes and `steps()` begun so far; the last one's number.
    begun: u64,
    /// The number of what is running, and what is left of it after what was handed out.
    running: Option<(u64, Run)>,
    /// Which run was ended last, and by what.
    ended: Option<(u64, &'static str)>,
}

impl Stream {
    /// A stream at position 0 whose windows have `epoch_len` positions, 1 to 2^62 - 1.
    pub fn new(epoch_len: u64) -> Result<Self> {
        if epoch_len == 0 || epoch_len >= POSITION_LIMIT {
            let message = format!("epoch_len is {epoch_len}; it must be at least 1 and below 2^62");
            return Err(Error::new(Kind::Value, message));
        }
        Ok(Self { epoch_len, position: 0, window: None, origin: None, begun: 0, running: None, ended: None })
    }

    /// The next position, absolute over all ranks, as of the last batch handed out.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The window that the position lies in.
    pub fn epoch(&self) -> u64 {
        self.position / self.epoch_len
    }

    /// Positions of a window.
    pub fn epoch_len(&self) -> u64 {
        self.epoch_len
    }

    /// Begins a pass over one window in steps of `group` samples, and ends what is running. Gives the pass's number.
    pub fn begin_pass(&mut self, group: u64, last: Last) -> Result<u64> {
        check_window(self.epoch_len, group, last)?;
        let (window, position) = match self.window {
            None => (self.epoch(), self.position),
            // The product stays in 64 bits: the end of the last window is below 2^62.
            Some(window) => (window + 1, (window + 1) * self.epoch_len),
        };
        let run = Run::window(window, position, self.epoch_len, group, last)?;
        self.position = run.position;
        self.window = Some(window);
        Ok(self.begin(run))
    }

    /// Begins `steps` steps, or steps without end, from the position on, and ends what is running.
    pub fn begin_steps(&mut self, group: u64, steps: Option<u64>) -> Result<u64> {
        let run = Run::endless(self.position, self.epoch_len, group, steps)?;
        self.window = None;
        Ok(self.begin(run))
    }

    fn begin(&mut self, run: Run) -> u64 {
        self.end_running("another pass or steps() began");
        self.begun += 1;
        self.running = Some((self.begun, run));
        self.begun
    }

    /// What is left of the run of that number, from the position on. An error if it was ended.
    pub fn left(&self, number: u64) -> Result<Run> {
        match self.running {
            Some((running, run)) if running == number => Ok(run),
            _ => Err(self.was_ended(number)),
        }
    }

    /// Notes that `step` of the run of that number was handed out, or raised. An error if the run was ended.
    pub fn hand_out(&mut self, number: u64, step: &Step) -> Result<()> {
        match &mut self.running {
            Some((running, run)) if *running == number => {
                run.position = step.next;
                self.position = step.next;
                self.origin = None;
                if run.last.is_some() {
                    self.window = Some(run.window_start / self.epoch_len);
                }
                Ok(())
            }
            _ => Err(self.was_ended(number)),
        }
    }

    fn was_ended(&self, number: u64) -> Error {
        let by = match self.ended {
            Some((ended, by)) if ended == number => by,
            _ => "a later pass, steps(), seek(), set_epoch(), load_state_dict() or close() ended it",
        };
        let message = format!("this iterator is no longer the loader's: {by}; take a new one with iter() or steps()");
        Error::new(Kind::State, message)
    }

    /// Ends what is running; `by` says what did it.
    pub fn end_running(&mut self, by: &'static str) {
        if let Some((number, _)) = self.running.take() {
            self.ended = Some((number, by));
        }
    }

    /// Goes to `position`.
    pub fn seek(&mut self, position: u64) -> Result<()> {
        self.go(position, Some(Origin::Seek), "seek() was called")
    }

    /// Goes to the position of a loaded state.
    pub fn load(&mut self, position: u64) -> Result<()> {
        self.go(position, Some(Origin::State), "load_state_dict() was called")
    }

    /// Goes to the start of window `epoch`, unless a loaded or sought position inside it has not been used yet.
    /// True where a loaded position is left, which deserves a warning.
    pub fn set_epoch(&mut self, epoch: u64) -> Result<bool> {
        if self.origin.is_some() && self.epoch() == epoch {
            // A pass that had begun and handed out nothing has not used up the window.
            self.window = None;
            return Ok(false);
        }
        let leaves_state = self.origin == Some(Origin::State);
        let position = epoch.checked_mul(self.epoch_len).unwrap_or(POSITION_LIMIT);
        self.go(position, None, "set_epoch() was called")?;
        Ok(leaves_state)
    }

    fn go(&mut self, position: u64, origin: Option<Origin>, by: &'static str) -> Result<()> {
        if position >= POSITION_LIMIT {
            let message = format!("a position of {position} or more is beyond the end of every stream, 2^62");
            return Err(Error::new(Kind::Value, message));
        }
        self.end_running(by);
        self.position = position;
        self.window = None;
        self.origin = origin;
        Ok(())
    }
}
