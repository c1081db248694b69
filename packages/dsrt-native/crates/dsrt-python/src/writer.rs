//! The writer: samples one by one or many at once, waits that answer Ctrl-C, and what is durable.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrt_core::format::checksum::hex;
use dsrt_core::format::json;
use dsrt_core::write::{Disk, Record, Value, Writer, WriterOptions};
use dsrt_core::{Error, Kind, Outcome};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::{attached, detached, guarded, interruptible, raise};
use crate::plan::{ColumnIn, FieldIn, FieldSpec, column_type, earlier_named};
use crate::sample::{HeldRecord, HeldValue, Refusal};
use crate::samples::HeldSamples;

/// Writes a cache. `dsrt_native.CacheWriter` is its public face.
#[pyclass(frozen, name = "Writer", module = "dsrt_native._native")]
pub struct PyWriter {
    writer: Mutex<Option<Writer>>,
    fields: Vec<FieldIn>,
    columns: Vec<ColumnIn>,
    /// What was durable when the writer was last asked.
    durable: AtomicU64,
    end: Mutex<Option<End>>,
}

/// What became of a writer that has ended.
#[derive(Clone, Copy)]
struct End {
    outcome: Outcome,
    /// Whether an exception said so already.
    is_told: bool,
}

#[pymethods]
impl PyWriter {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one Python call")]
    #[pyo3(signature = (path, *, fields, metadata, fingerprint, attributes, samples_per_shard, shard_bytes, replace,
                        threads, earlier))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        fields: Vec<FieldSpec>,
        metadata: Vec<(String, String)>,
        fingerprint: Option<String>,
        attributes: &[u8],
        samples_per_shard: u64,
        shard_bytes: u64,
        replace: bool,
        threads: usize,
        earlier: &str,
    ) -> PyResult<Self> {
        let (inputs, columns, options) = attached(py, || {
            let (mut inputs, mut specs, mut columns) = (Vec::new(), Vec::new(), Vec::new());
            for spec in fields {
                let key = PyString::intern(py, &spec.name).unbind();
                let dtype = spec.numpy.as_ref().map(|dtype| dtype.clone_ref(py));
                let (field, encoding) = spec.parse()?;
                inputs.push(FieldIn { key, field: field.clone(), dtype });
                specs.push((field, encoding));
            }
            for (name, kind) in metadata {
                let key = PyString::intern(py, &name).unbind();
                columns.push(ColumnIn { key, kind: column_type(&name, &kind)?, name: name.into() });
            }
            let options = WriterOptions {
                fields: specs,
                metadata: columns.iter().map(|column| (column.name.clone(), column.kind)).collect(),
                fingerprint,
                attributes: json::Value::parse(attributes).map_err(|error| {
                    Error::new(Kind::Schema, format!("attributes cannot be stored: {}", error.message()))
                })?,
                samples_per_shard,
                shard_bytes,
                replace,
                threads,
                earlier: earlier_named(earlier)?,
            };
            Ok((inputs, columns, options))
        })?;
        // It may have to remove what a dead writer left, or to read it, and makes dictionaries durable.
        let writer = interruptible(py, |interrupt| Writer::start(Disk::default(), &path, options, interrupt))?;
        let durable = AtomicU64::new(writer.durable());
        Ok(Self { writer: Mutex::new(Some(writer)), fields: inputs, columns, durable, end: Mutex::new(None) })
    }

    /// The number of the next sample.
    #[getter]
    fn count(&self) -> PyResult<u64> {
        Ok(self.open()?.as_ref().ok_or_else(closed)?.count())
    }

    /// Samples that survive a crash. While another thread appends, and after the end, what was last known.
    #[getter]
    fn durable(&self) -> u64 {
        if let Ok(writer) = self.open() {
            self.look(writer.as_ref());
        }
        self.end().map_or(self.durable.load(Ordering::Relaxed), |end| end.outcome.durable())
    }

    /// What became of it, once it has ended: "kept", "removed", "published" or "unsure" (published, and maybe not
    /// durable), of how many samples, and whether an exception has said so already.
    #[getter]
    fn outcome(&self) -> Option<(&'static str, u64, bool)> {
        let End { outcome, is_told } = self.end()?;
        let (name, samples) = match outcome {
            Outcome::Kept(samples) => ("kept", samples),
            Outcome::Removed(samples) => ("removed", samples),
            Outcome::Published(samples) => ("published", samples),
            Outcome::Unsure => ("unsure", 0),
        };
        Some((name, samples, is_told))
    }

    /// Durable samples that were taken over from an earlier run.
    #[getter]
    fn resumed(&self) -> PyResult<u64> {
        Ok(self.open()?.as_ref().ok_or_else(closed)?.resumed())
    }

    /// Why durable samples of an earlier run were not used.
    #[getter]
    fn restarted(&self) -> PyResult<Option<String>> {
        Ok(self.open()?.as_ref().ok_or_else(closed)?.restarted().map(str::to_owned))
    }

    /// Appends one sample, given as a dict.
    fn append(&self, py: Python<'_>, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut open = self.open()?;
        let writer = open.as_mut().ok_or_else(closed)?;
        let Ok(sample) = sample.cast::<PyDict>() else {
            let given = sample.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a sample is a dict of the fields' and columns' names to values, not a {given}"
            )));
        };
        let place = writer.count();
        let records = self.records(sample, place)?;
        let row = self.row(sample, place)?;
        if sample.len() > records.len() + row.len() {
            return Err(self.unknown(sample, place));
        }
        let records: Vec<_> =
            records.iter().map(|held| Record { bytes: held.data.as_bytes(), shape: &held.shape }).collect();
        let row: Vec<Value<'_>> = row.iter().map(HeldValue::as_value).collect();
        if writer.is_brief(&records, &row) {
            return attached(py, || writer.append(&records, &row, &mut || Ok(())));
        }
        self.run(py, |interrupt| writer.append(&records, &row, interrupt))
    }

    /// Appends many samples, given as a dict of the fields' and columns' names to what the Python side made of their
    /// values, or as an Arrow table.
    fn append_batch(&self, py: Python<'_>, columns: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut open = self.open()?;
        let writer = open.as_mut().ok_or_else(closed)?;
        let held = guarded(py, || HeldSamples::take(&self.fields, &self.columns, columns, writer.count()))?;
        let samples = guarded(py, || held.samples(py, &self.columns))?;
        self.run(py, |interrupt| writer.append_batch(&samples, interrupt))
    }

    /// Completes and publishes the cache: its samples, its digest, and warnings.
    fn publish(&self, py: Python<'_>) -> PyResult<(u64, String, Vec<String>)> {
        let writer = self.open()?.take().ok_or_else(closed)?;
        self.look(Some(&writer));
        let published = self.run(py, |interrupt| {
            let published = writer.publish(interrupt)?;
            self.ended(Outcome::Published(published.samples), false);
            Ok(published)
        })?;
        Ok((published.samples, hex(&published.digest), published.warnings))
    }

    /// Ends the run, if it has not ended yet. A signal meanwhile ends the wait for shards that are full.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(writer) = self.open()?.take() {
            let reached = writer.durable();
            interruptible(py, |interrupt| {
                let kept = writer.abort(interrupt);
                self.ended(if kept > 0 { Outcome::Kept(kept) } else { Outcome::Removed(reached) }, false);
                Ok(())
            })?;
        }
        Ok(())
    }
}

impl Drop for PyWriter {
    /// Aborts what was not published: that may be many files to remove.
    fn drop(&mut self) {
        if let Some(writer) = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            Python::attach(|py| py.detach(|| drop(writer)));
        }
    }
}

impl PyWriter {
    fn open(&self) -> PyResult<MutexGuard<'_, Option<Writer>>> {
        // Waiting here would hold the GIL that the other thread wants back.
        let guard = self.writer.try_lock();
        guard.map_err(|_| PyRuntimeError::new_err("two threads use one writer at once; let one of them append"))
    }

    /// Runs what may take long, and notes what became of the cache if that ended it.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        work: impl Send + FnOnce(&mut dyn FnMut() -> dsrt_core::Result<()>) -> dsrt_core::Result<T>,
    ) -> PyResult<T> {
        interruptible(py, |interrupt| {
            let mut is_interrupted = false;
            let done = work(&mut || interrupt().inspect_err(|_| is_interrupted = true));
            if let Err(error) = &done
                && let Some(outcome) = error.outcome()
            {
                // What is raised is then the signal's own exception, which knows nothing of it.
                self.ended(outcome, !is_interrupted);
            }
            done
        })
    }

    fn end(&self) -> Option<End> {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, outcome: Outcome, is_told: bool) {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(End { outcome, is_told });
    }

    fn look(&self, writer: Option<&Writer>) {
        if let Some(writer) = writer {
            self.durable.store(writer.durable(), Ordering::Relaxed);
        }
    }

    fn records<'py>(&self, sample: &Bound<'py, PyDict>, place: u64) -> PyResult<Vec<HeldRecord<'py>>> {
        let py = sample.py();
        let take = |input: &FieldIn| {
            let missing = || "the sample has no value for this field".to_owned();
            let value = sample.get_item(&input.key)?.ok_or_else(missing)?;
            HeldRecord::take(&input.field, input.dtype.as_ref().map(|dtype| dtype.bind(py)), &value)
        };
        self.fields.iter().map(|input| take(input).map_err(|why| refuse(py, why, &input.field.name, place))).collect()
    }

    fn row<'py>(&self, sample: &Bound<'py, PyDict>, place: u64) -> PyResult<Vec<HeldValue<'py>>> {
        let take = |column: &ColumnIn| {
            let missing = || "the sample has no value for this column; say None where there is none".to_owned();
            let value = sample.get_item(&column.key)?.ok_or_else(missing)?;
            HeldValue::take(column.kind, &value)
        };
        let refuse = |why, column: &ColumnIn| refuse(sample.py(), why, &column.name, place);
        self.columns.iter().map(|column| take(column).map_err(|why| refuse(why, column))).collect()
    }

    fn unknown(&self, sample: &Bound<'_, PyDict>, place: u64) -> PyErr {
        let known: Vec<&str> =
            self.fields.iter().map(|input| &*input.field.name).chain(self.columns.iter().map(|c| &*c.name)).collect();
        let is_known = |key: &Bound<'_, PyAny>| key.extract::<&str>().is_ok_and(|key| known.contains(&key));
        let unknown: Vec<_> = sample.keys().iter().filter(|key| !is_known(key)).map(|key| key.to_string()).collect();
        let message = format!(
            "the sample has {}, which no field or metadata column is called; there are {}",
            unknown.join(", "),
            known.join(", ")
        );
        raise(sample.py(), &Error::new(Kind::Schema, message).at_sample(place))
    }
}

/// The exception of a value that is not taken, of the sample of that number.
pub fn refuse(py: Python<'_>, why: Refusal, name: &Arc<str>, place: u64) -> PyErr {
    match why {
        Refusal::Because(reason) => raise(py, &Error::new(Kind::Schema, reason).in_field(name).at_sample(place)),
        Refusal::Raised(error) => error,
    }
}

fn closed() -> PyErr {
    PyRuntimeError::new_err("this writer is closed; make a new one")
}

/// To be called in a child of `fork`.
#[pyfunction]
pub fn leave_locks_to_parent() {
    dsrt_core::write::leave_locks_to_parent();
}

/// Removes what a writer left that died just after publishing.
#[pyfunction]
pub fn tidy(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    interruptible(py, |interrupt| {
        dsrt_core::write::tidy(&path, interrupt);
        Ok(())
    })
}

/// The directory, samples, these in words, whether they can be gone on from, and whether the target is what was built.
type Left = (PathBuf, u64, Option<String>, bool, bool);

/// What a build left beside a target.
#[pyfunction]
pub fn left_beside(py: Python<'_>, path: PathBuf) -> PyResult<Option<Left>> {
    let left = detached(py, || dsrt_core::write::left_beside(&path))?;
    Ok(left.map(|left| (left.path, left.samples, left.described, left.has_fingerprint, left.is_published)))
}
