//! What becomes of the durable samples of an earlier run.

use std::sync::Arc;

use super::Durable;
use crate::error::{Error, Kind, Result};
use crate::format::manifest::FileEntry;
use crate::write::journal::Journal;
use crate::write::options::{Dictionary, Earlier};
use crate::write::plan;
use crate::write::resume::{dictionary, dictionary_path, good_part, tidy};
use crate::write::spill::Spill;
use crate::write::unfinished::{Unfinished, samples};

/// An earlier run from which this one goes on.
struct Taken {
    unfinished: Unfinished,
    /// Shards of it that are there.
    good: usize,
    dictionaries: Vec<Option<(FileEntry, Arc<[u8]>)>>,
}

impl Durable {
    /// Takes the durable samples of an earlier run over, or clears the work directory.
    pub(super) fn take_over(&mut self, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let Some(unfinished) = self.work.take_unfinished() else {
            return self.work.clear();
        };
        match self.judge(unfinished, pause)? {
            Some(taken) => self.go_on(taken),
            None => self.work.clear(),
        }
    }

    fn judge(&mut self, unfinished: Unfinished, pause: &mut dyn FnMut() -> Result<()>) -> Result<Option<Taken>> {
        let difference = match unfinished.shards.is_empty() {
            true => None,
            false => plan::difference(&unfinished.plan, &self.plan),
        };
        let not_used = match (self.options.earlier, &difference) {
            (Earlier::Ask, _) if unfinished.has_fingerprint() => {
                return Err(self.ask(&unfinished, difference.as_deref()));
            }
            (Earlier::Discard, _) => "resume=False".to_owned(),
            _ if unfinished.shards.is_empty() => unfinished.damage.clone().unwrap_or_default(),
            (_, Some(difference)) => format!("{difference} changed since then (R062)"),
            (_, None) if !unfinished.has_fingerprint() => "a run without fingerprint is not resumed".to_owned(),
            (_, None) => return self.examine(unfinished, pause),
        };
        self.restarted = Some(format!("{} are discarded: {not_used}", unfinished.describe()));
        Ok(None)
    }

    /// Durable work is not thrown away, nor gone on with, unless somebody says so.
    fn ask(&self, unfinished: &Unfinished, difference: Option<&str>) -> Error {
        let then = match (difference, &self.options.fingerprint, &unfinished.damage) {
            (Some(difference), ..) => format!(" (which discards them, too: {difference} changed since then)"),
            (None, None, _) => " (which discards them, too: there is no fingerprint)".to_owned(),
            (None, Some(_), None) => String::new(),
            (None, Some(_), Some(damage)) if unfinished.shards.is_empty() => {
                format!(" (which discards them, too: {damage})")
            }
            (None, Some(_), Some(damage)) => {
                format!(" (from the first {} of them, because {damage})", unfinished.samples())
            }
        };
        let (path, left) = (self.work.path().display(), unfinished.describe());
        let message =
            format!("{path} holds {left}; pass resume=True to go on from there{then}, or resume=False to start over");
        Error::new(Kind::Exists, message)
    }

    /// Looks whether everything is there that the journal says is durable.
    fn examine(&mut self, unfinished: Unfinished, pause: &mut dyn FnMut() -> Result<()>) -> Result<Option<Taken>> {
        let (left, all) = (unfinished.describe(), unfinished.samples());
        let mut dictionaries = Vec::new();
        for ((field, encoding), entry) in self.options.fields.iter().zip(&self.manifest.fields) {
            let expected = match &encoding.dictionary {
                None => None,
                Some(Dictionary::Body(_)) => entry.dictionary.clone(),
                Some(Dictionary::Train(_)) => plan::trained(&unfinished.plan, &field.name),
            };
            let found = match &expected {
                Some(entry) => dictionary(&self.work, field, entry)?,
                None => None,
            };
            if encoding.dictionary.is_some() && found.is_none() {
                let path = dictionary_path(&self.work, field);
                let lost = format!("{} is missing, short or another one (R061)", path.display());
                self.restarted = Some(format!("{left} are discarded: {lost}"));
                return Ok(None);
            }
            dictionaries.push(expected.zip(found.map(Arc::from)));
        }
        let (good, problem) = good_part(&self.work, &unfinished, &self.fields(), self.options.metadata.len(), pause)?;
        if let Some(problem) = problem {
            let kept = samples(unfinished.shards.get(..good).unwrap_or_default());
            let rest = format!("{} of {left} are discarded", all - kept);
            self.restarted = Some(format!("{rest}: {problem} (R061); the disk did not keep what it had confirmed"));
        } else if let Some(damage) = &unfinished.damage {
            self.restarted = Some(format!("of {left} all but the first {all} are discarded: {damage}"));
        }
        Ok((good > 0).then_some(Taken { unfinished, good, dictionaries }))
    }

    fn go_on(&mut self, taken: Taken) -> Result<()> {
        let Taken { unfinished, good, dictionaries } = taken;
        let disk = self.work.disk().clone();
        // First of all, so that the journal never speaks of files that are written anew.
        let end = unfinished.ends.get(good).copied().unwrap_or_default();
        self.journal = Some(Journal::resume(&disk, self.work.journal(), end)?);
        for (entry, found) in self.manifest.fields.iter_mut().zip(&dictionaries) {
            entry.dictionary = found.as_ref().map(|(file, _)| file.clone());
        }
        self.dictionaries = dictionaries.into_iter().map(|found| found.map(|(_, body)| body)).collect();
        for shard in unfinished.shards.into_iter().take(good) {
            self.size.add(shard.samples, shard.files.iter());
            self.count(shard);
        }
        if let Some(mark) = self.marks.last() {
            let columns = &self.options.metadata;
            let spill = Spill::resume(&disk, self.work.spill(), columns, mark.bytes, self.samples())?;
            self.spill = Some(Arc::new(spill));
        }
        for path in tidy(&self.work, &self.fields(), self.shards())? {
            disk.sync_directory(&path)?;
        }
        self.resumed = self.samples();
        Ok(())
    }
}
