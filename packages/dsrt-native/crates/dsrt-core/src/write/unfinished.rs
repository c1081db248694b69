//! What an earlier run noted in its journal.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::age::age;
use super::disk::{failed, names};
use super::journal::{self, Line, Lines};
use super::sealed::{Sealed, digest, get};
use super::target::{absolute, digest_at, look, split, work_path};
use crate::error::{Error, Result};
use crate::format::checksum::Digest;
use crate::format::json::Value;

/// The key of a line that says which cache is being published.
pub(super) const PUBLISHED: &str = "published";

/// A cache of which at least one shard is durable, or was: its journal may be damaged.
pub(super) struct Unfinished {
    /// The plan it is written by; null if that is what is damaged.
    pub plan: Value,
    /// Its durable shards, up to the damage if there is some.
    pub shards: Vec<Sealed>,
    /// Where the line of the plan ends, and that of each shard.
    pub ends: Vec<u64>,
    /// Why there may be durable shards that cannot be used (R060).
    pub damage: Option<String>,
    /// The digest of its manifest, once it was about to be published.
    pub published: Option<Digest>,
    /// How long ago the last line was written, in seconds.
    pub age: u64,
}

impl Unfinished {
    /// What the journal at `path` says of the shards in the directories of `fields`. None if there is none, or if no
    /// shard was durable.
    pub(super) fn read(path: &Path, fields: &Path) -> Result<Option<Self>> {
        let Some(Lines { good, behind }) = journal::read(path)? else { return Ok(None) };
        let (known, modified) = (good.len(), modified(path)?);
        let (mut shards, mut ends, mut published, mut damage) = (Vec::new(), Vec::new(), None, None);
        let mut lines = good.into_iter();
        let plan = lines.next().map_or(Value::Null, |Line { value, end }| {
            ends.push(end);
            value
        });
        for line in lines {
            if let Some(sealed) = Sealed::from_json(&line.value) {
                shards.push(sealed);
                ends.push(line.end);
                continue;
            }
            published = digest_of(&line.value);
            if published.is_none() {
                let number = ends.len() + 1;
                damage = Some(format!("line {number} of {} is of another version of DSRT (R060)", path.display()));
            }
            break;
        }
        // Files of shards are made after the plan is durable.
        if !behind.is_empty() || (known == 0 && has_shards(fields)?) {
            published = published.or_else(|| behind.iter().find_map(digest_of));
            let number = known + 1;
            damage.get_or_insert_with(|| format!("line {number} of {} is damaged (R060)", path.display()));
        }
        if shards.is_empty() && damage.is_none() {
            return Ok(None);
        }
        let age = SystemTime::now().duration_since(modified).map_or(0, |age| age.as_secs());
        Ok(Some(Self { plan, shards, ends, damage, published, age }))
    }

    /// Its durable samples.
    pub(super) fn samples(&self) -> u64 {
        samples(&self.shards)
    }

    /// "192 samples that an earlier run made durable, the last of them 3 h 12 min ago".
    pub(super) fn describe(&self) -> String {
        let (samples, age) = (self.samples(), age(self.age));
        match (samples, &self.damage) {
            (0, _) => format!("samples, nobody knows how many, that an earlier run made durable until {age} ago"),
            (_, None) => format!("{samples} samples that an earlier run made durable, the last of them {age} ago"),
            (_, Some(_)) => format!("{samples} samples and more that an earlier run made durable until {age} ago"),
        }
    }

    /// Whether it could be gone on with, for all that is known of its plan.
    pub(super) fn has_fingerprint(&self) -> bool {
        matches!(get(&self.plan, "fingerprint"), Some(Value::Str(_))) || self.plan == Value::Null
    }
}

/// What lies beside a target that was not finished, or is just being built.
#[derive(Debug)]
pub struct Left {
    /// The work directory.
    pub path: PathBuf,
    /// Samples that are durable.
    pub samples: u64,
    /// The same in words, with their age; None if there are none.
    pub described: Option<String>,
    /// Whether a run could go on from there: it has a fingerprint.
    pub has_fingerprint: bool,
    /// Whether it is the target already, and only the work directory was not removed.
    pub is_published: bool,
}

/// Looks for a build beside `target` that is not finished. Nothing is locked, changed or proven: another process may be
/// at it.
pub fn left_beside(target: &Path) -> Result<Option<Left>> {
    let target = absolute(target)?;
    let (parent, name) = split(&target)?;
    let path = work_path(parent, name);
    if !look(&path)?.is_some_and(|found| found.is_dir()) {
        return Ok(None);
    }
    let found = Unfinished::read(&path.join("journal"), &path.join("cache").join("fields"))?;
    let published = found.as_ref().and_then(|found| found.published);
    Ok(Some(Left {
        samples: found.as_ref().map_or(0, Unfinished::samples),
        described: found.as_ref().map(Unfinished::describe),
        has_fingerprint: found.as_ref().is_some_and(Unfinished::has_fingerprint),
        is_published: published.is_some() && published == digest_at(&target)?,
        path,
    }))
}

/// The digest that the line of a publication says.
fn digest_of(line: &Value) -> Option<Digest> {
    get(line, PUBLISHED).and_then(digest)
}

fn modified(path: &Path) -> Result<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).map_err(failed("looking at", path))
}

/// Whether there is a shard of any field.
fn has_shards(fields: &Path) -> Result<bool> {
    let is_directory = |path: &Path| Ok::<_, Error>(look(path)?.is_some_and(|found| found.is_dir()));
    if !is_directory(fields)? {
        return Ok(false);
    }
    for field in names(fields)? {
        let path = fields.join(field);
        if is_directory(&path)?
            && names(&path)?.iter().any(|name| Path::new(name).extension() == Some("shard".as_ref()))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Samples of shards.
pub(super) fn samples(shards: &[Sealed]) -> u64 {
    shards.iter().fold(0, |sum, shard| sum.saturating_add(shard.samples))
}
