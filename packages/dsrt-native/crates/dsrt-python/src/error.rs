//! Errors of the core as Python exceptions, and the one way to call the core.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use dsrt_core::{Error, Kind};
use pyo3::exceptions::{PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

/// Runs `work` without the GIL. What it returns or panics with becomes a Python exception.
///
/// Everything that can take longer than a microsecond or two goes through here.
pub fn detached<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    F: Send + FnOnce() -> dsrt_core::Result<T>,
    T: Send,
{
    let done = py.detach(|| caught(work));
    done.map_err(|error| raise(py, &error))
}

/// Runs `work`, which is short, with the GIL held.
pub fn attached<T>(py: Python<'_>, work: impl FnOnce() -> dsrt_core::Result<T>) -> PyResult<T> {
    caught(work).map_err(|error| raise(py, &error))
}

/// Runs `work` on objects of Python's, with the GIL held; it may panic as the core may.
pub fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|payload| Err(raise(py, &panicked(payload.as_ref()))))
}

/// Looks for signals, and does what it is given with the GIL.
pub type Look<'a> = dyn FnMut(&mut dyn FnMut(Python<'_>) -> PyResult<()>) -> dsrt_core::Result<()> + 'a;

/// Runs `work` without the GIL. The function it is given is to be called now and then while it waits: it looks for
/// signals, and its error ends the wait. What the handler of a signal raised is then raised here. In a thread where no
/// handler runs it does nothing, and waits for no GIL.
pub fn interruptible<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    F: Send + FnOnce(&mut dyn FnMut() -> dsrt_core::Result<()>) -> dsrt_core::Result<T>,
    T: Send,
{
    if !runs_handlers(py) {
        return detached(py, || work(&mut || Ok(())));
    }
    watched(py, |look| work(&mut || look(&mut |_| Ok(()))))
}

/// The same, where something is to be done with the GIL whenever signals are looked for. What that raises ends the work,
/// too, and comes up.
pub fn watched<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    F: Send + FnOnce(&mut Look<'_>) -> dsrt_core::Result<T>,
    T: Send,
{
    let mut raised = None;
    let done = py.detach(|| {
        caught(|| {
            work(&mut |also| {
                with_python(|py| py.check_signals().and_then(|()| also(py))).map_err(|error| {
                    raised = Some(error);
                    interrupted()
                })
            })
        })
    });
    settled(py, done, raised)
}

/// Runs `work` without the GIL, where the function it is given is called by many threads. That of the caller looks for
/// signals now and then; what the handler of one raised ends the work on all of them, and is then raised here. Where no
/// handler runs in that thread, the function does nothing.
pub fn interruptible_on_all<T, F>(py: Python<'_>, work: F) -> PyResult<T>
where
    F: Send + FnOnce(dsrt_core::read::Look<'_>) -> dsrt_core::Result<T>,
    T: Send,
{
    if !runs_handlers(py) {
        return detached(py, || work(&|| Ok(())));
    }
    let signals = Signals::default();
    let done = py.detach(|| caught(|| work(&|| signals.look())));
    settled(py, done, signals.raised.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the handlers of signals run in this thread, which is so in one only: Python's main thread.
fn runs_handlers(py: Python<'_>) -> bool {
    // What was found, and in which process. A fork makes the thread that forks the main one of the child.
    thread_local!(static FOUND: Cell<Option<(bool, u32)>> = const { Cell::new(None) });
    match FOUND.get() {
        Some((true, _)) => true,
        Some((false, id)) if id == process::id() => false,
        _ => {
            let found = may_set_handlers(py);
            FOUND.set(Some((found, process::id())));
            found
        }
    }
}

/// Asks Python itself, which knows it also where a program has started it in a thread that is not its first. Before it
/// looks at the handler, which it would refuse for another reason, it refuses a thread in which none would run.
fn may_set_handlers(py: Python<'_>) -> bool {
    const SIGINT: i32 = 2;
    let answer = py.import("_signal").and_then(|module| module.call_method1("signal", (SIGINT, py.None())));
    !answer.is_err_and(|refusal| refusal.is_instance_of::<PyValueError>(py))
}

/// Does something with the GIL, unless the interpreter is going away: then no handlers run any more.
fn with_python(work: impl FnOnce(Python<'_>) -> PyResult<()>) -> PyResult<()> {
    Python::try_attach(work).unwrap_or(Ok(()))
}

/// The handlers of signals run in the thread that made this.
struct Signals {
    thread: ThreadId,
    looked: Mutex<Instant>,
    is_interrupted: AtomicBool,
    raised: Mutex<Option<PyErr>>,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            thread: thread::current().id(),
            looked: Mutex::new(Instant::now()),
            is_interrupted: AtomicBool::new(false),
            raised: Mutex::default(),
        }
    }
}

impl Signals {
    /// Between two looks that take the GIL.
    const PATIENCE: Duration = Duration::from_millis(20);

    fn look(&self) -> dsrt_core::Result<()> {
        if self.is_interrupted.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        if thread::current().id() != self.thread {
            return Ok(());
        }
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.elapsed() < Self::PATIENCE {
            return Ok(());
        }
        *looked = Instant::now();
        drop(looked);
        with_python(|py| py.check_signals()).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            self.is_interrupted.store(true, Ordering::Relaxed);
            interrupted()
        })
    }
}

fn interrupted() -> Error {
    Error::new(Kind::State, "interrupted by a signal")
}

fn settled<T>(py: Python<'_>, done: dsrt_core::Result<T>, raised: Option<PyErr>) -> PyResult<T> {
    match (done, raised) {
        (Ok(done), None) => Ok(done),
        (Err(error), None) => Err(raise(py, &error)),
        // Where it had just finished, the signal still counts.
        (_, Some(raised)) => Err(raised),
    }
}

/// A panic is a defect of ours. `PyO3` would make it a `BaseException`, which no `except Exception` sees.
fn caught<T>(work: impl FnOnce() -> dsrt_core::Result<T>) -> dsrt_core::Result<T> {
    // What `work` changes is either gone after a panic or changed in one step: the core's locks are held for moments.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| Err(panicked(payload.as_ref())))
}

fn panicked(payload: &(dyn Any + Send)) -> Error {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Error::new(Kind::Internal, format!("the engine panicked: {text}; this is a defect of DSRT, please report it"))
}

/// The exception of an error.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.kind() {
        Kind::Format => "FormatError",
        Kind::Data => "DataError",
        Kind::UnknownVersion => "UnknownVersionError",
        Kind::NotPublished => "NotPublishedError",
        Kind::Stale => "StaleCacheError",
        Kind::Locked => "CacheLockedError",
        Kind::Exists => "CacheExistsError",
        Kind::Schema => "SchemaError",
        Kind::StateMismatch => "StateMismatchError",
        Kind::Internal => "InternalError",
        Kind::Index => return PyIndexError::new_err(error.to_string()),
        Kind::Value => return PyValueError::new_err(error.to_string()),
        Kind::State => return PyRuntimeError::new_err(error.to_string()),
        Kind::Memory => return PyMemoryError::new_err(error.to_string()),
        Kind::Io => return refused(error),
    };
    ours(py, name, error).unwrap_or_else(|failed| failed)
}

/// An `OSError`; with a number, Python itself picks the subclass.
fn refused(error: &Error) -> PyErr {
    match error.os_code() {
        Some(code) => {
            // Python shows the number itself.
            let text = error.to_string().replace(&format!(" (os error {code})"), "");
            match error.file() {
                Some(file) => PyOSError::new_err((code, text, file.to_owned())),
                None => PyOSError::new_err((code, text)),
            }
        }
        None => PyOSError::new_err(error.to_string()),
    }
}

/// An instance of the class of that name in `dsrt_format.errors`.
fn ours(py: Python<'_>, name: &str, error: &Error) -> PyResult<PyErr> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let errors = ERRORS.get_or_try_init(py, || py.import("dsrt_format.errors").map(Bound::unbind))?.bind(py);
    let class = errors.getattr(name)?;
    let instance = match error.rule_number() {
        // These say rule and place themselves, and keep them as attributes.
        Some(rule) => {
            let place = error.place();
            let keywords = PyDict::new(py);
            keywords.set_item("rule", format!("R{rule:03}"))?;
            keywords.set_item("cache", place.cache.as_deref())?;
            keywords.set_item("field", place.field.as_deref())?;
            keywords.set_item("shard", place.shard)?;
            keywords.set_item("sample", place.sample)?;
            class.call((error.message(),), Some(&keywords))?
        }
        None => class.call1((error.to_string(),))?,
    };
    Ok(PyErr::from_value(instance))
}
