//! Verification: every problem of a cache.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use dsrt_core::verify::{Findings, Level, Options, Part, Problem, Rate, verify as verify_cache};
use dsrt_core::{Error, Kind};
use pyo3::prelude::*;

use crate::error::{attached, interruptible, watched};

/// How often progress is told.
const TELL: Duration = Duration::from_millis(50);

/// A problem: rule, field, shard, sample, message, and how many it stands for that are not listed.
type Found = (String, Option<String>, Option<u64>, Option<u64>, String, u64);

/// What the operating system refused to read: the path inside the cache, and the error number.
type Unread = (String, i32);

/// Lists every problem of a cache, and what could not be read.
#[pyfunction]
#[pyo3(signature = (path, *, level, part, rate, threads, progress))]
pub fn verify(
    py: Python<'_>,
    path: PathBuf,
    level: &str,
    part: (u64, u64),
    rate: Option<f64>,
    threads: usize,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<(Vec<Found>, Vec<Unread>)> {
    let options = attached(py, || {
        let unknown = || Error::new(Kind::Value, format!("there is no level {level:?}"));
        let (level, part) = (Level::parse(level).ok_or_else(unknown)?, Part::new(part.0, part.1)?);
        Ok(Options { level, part, rate: rate.map(Rate::new).transpose()?, threads })
    })?;
    let Findings { problems, unread } = match progress {
        None => interruptible(py, |look| verify_cache(&path, &options, &mut |_, _| look()))?,
        Some(tell) => {
            let mut meter = Meter { tell: tell.unbind(), due: Instant::now(), told: None, last: None };
            watched(py, |look| {
                let found =
                    verify_cache(&path, &options, &mut |done, total| look(&mut |py| meter.count(py, done, total)))?;
                look(&mut |py| meter.end(py))?;
                Ok(found)
            })?
        }
    };
    let unread = unread.into_iter().map(|unread| (unread.file, unread.code)).collect();
    Ok((problems.into_iter().map(found).collect(), unread))
}

/// Tells a Python function how far a run is: at the beginning, at the end, and now and then between them.
struct Meter {
    tell: Py<PyAny>,
    due: Instant,
    told: Option<u64>,
    last: Option<(u64, u64)>,
}

impl Meter {
    fn count(&mut self, py: Python<'_>, done: u64, total: u64) -> PyResult<()> {
        self.last = Some((done, total));
        let now = Instant::now();
        if total == 0 || self.told == Some(done) || (now < self.due && done < total) {
            return Ok(());
        }
        (self.due, self.told) = (now + TELL, Some(done));
        self.tell.call1(py, (done, total)).map(drop)
    }

    /// Tells the last count, which is less than the total where a file could not be read.
    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some((done, total)) = self.last else { return Ok(()) };
        self.due = Instant::now();
        self.count(py, done, total)
    }
}

fn found(problem: Problem) -> Found {
    let place = problem.place;
    let field = place.field.map(|field| field.to_string());
    (format!("R{:03}", problem.rule), field, place.shard, place.sample, problem.message, problem.unlisted)
}
