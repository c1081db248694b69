//! How much of an unfinished cache is really there, and the removal of what is not part of it.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::disk::{failed, names, open_regular};
use super::sealed::Sealed;
use super::spill;
use super::target::look;
use super::unfinished::Unfinished;
use super::work::Work;
use crate::error::Result;
use crate::field::Field;
use crate::format::checksum;
use crate::format::header;
use crate::format::manifest::FileEntry;
use crate::format::shard::{HEADER, MAX_SAMPLES};

/// The file of a field for a shard.
pub(super) fn shard_path(work: &Work, field: &Field, shard: u64) -> PathBuf {
    work.fields().join(&*field.name).join(format!("{shard:05}.shard"))
}

/// The file of a field's dictionary.
pub(super) fn dictionary_path(work: &Work, field: &Field) -> PathBuf {
    work.fields().join(&*field.name).join("dictionary.bin")
}

/// The first shards of which everything is there, and what is wrong behind them, if something is (R061). Shard files
/// are known by length and header, which holds the digest of the rest; rows of metadata are read and digested.
pub(super) fn good_part(
    work: &Work,
    unfinished: &Unfinished,
    fields: &[&Field],
    columns: usize,
    pause: &mut dyn FnMut() -> Result<()>,
) -> Result<(usize, Option<String>)> {
    if let Some(path) = elsewhere(work, fields)? {
        return Ok((0, Some(format!("{} is no directory", path.display()))));
    }
    let (mut good, mut problem) = (unfinished.shards.len(), None);
    for (number, shard) in unfinished.shards.iter().enumerate() {
        pause()?;
        if let Some(found) = shard_problem(work, number as u64, shard, fields, columns)? {
            (good, problem) = (number, Some(found));
            break;
        }
    }
    let marks: Vec<_> = unfinished.shards.iter().take(good).filter_map(|shard| shard.spill).collect();
    let proven = spill::proven(&work.spill(), &marks, pause)?;
    if proven < marks.len() {
        let path = work.spill();
        (good, problem) = (proven, Some(format!("{} has lost or changed rows", path.display())));
    }
    Ok((good, problem))
}

/// A name that should be a directory and is something else: what a link leads to is not ours to tidy up.
fn elsewhere(work: &Work, fields: &[&Field]) -> Result<Option<PathBuf>> {
    let of_fields = fields.iter().map(|field| work.fields().join(&*field.name));
    for path in [work.cache(), work.fields()].into_iter().chain(of_fields) {
        if look(&path)?.is_some_and(|found| !found.is_dir()) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn shard_problem(
    work: &Work,
    number: u64,
    shard: &Sealed,
    fields: &[&Field],
    columns: usize,
) -> Result<Option<String>> {
    let is_of_this_plan = shard.files.len() == fields.len() && shard.spill.is_some() == (columns > 0);
    if !is_of_this_plan || !(1..=MAX_SAMPLES).contains(&shard.samples) {
        return Ok(Some("the journal is of another version".to_owned()));
    }
    for (field, entry) in fields.iter().zip(&shard.files) {
        let path = shard_path(work, field, number);
        let expected = header::shard(field, shard.samples, entry.bytes, &entry.body);
        if !begins_with(&path, entry.bytes, &expected)? {
            return Ok(Some(format!("{} is missing, short or another one", path.display())));
        }
    }
    Ok(None)
}

fn begins_with(path: &Path, bytes: u64, expected: &header::Header) -> Result<bool> {
    let Some(file) = open_regular(path)? else { return Ok(false) };
    let len = file.metadata().map_err(failed("looking at", path))?.len();
    let mut head = Vec::with_capacity(expected.len());
    file.take(HEADER).read_to_end(&mut head).map_err(failed("reading", path))?;
    Ok(len == bytes && head == expected)
}

/// The body of a field's dictionary, if it is there and sound.
pub(super) fn dictionary(work: &Work, field: &Field, entry: &FileEntry) -> Result<Option<Vec<u8>>> {
    let path = dictionary_path(work, field);
    let Some(file) = open_regular(&path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(entry.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed("reading", &path))?;
    let body = bytes.strip_prefix(&header::dictionary(entry.bytes, &entry.body));
    Ok(body.filter(|body| checksum::digest(body) == entry.body).map(<[u8]>::to_vec))
}

/// Removes from the work directory what is neither a dictionary nor one of the first `shards` shards. What lies there
/// otherwise is half written, or of another cache that was exchanged for this one. Returns the directories of which
/// something is gone: that is not durable yet.
pub(super) fn tidy(work: &Work, fields: &[&Field], shards: u64) -> Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    let mut only = |path: &Path, kept: &BTreeSet<String>| -> Result<()> {
        let mut removed = false;
        for name in names(path)? {
            if name.to_str().is_none_or(|name| !kept.contains(name)) {
                work.disk().remove_all(&path.join(name))?;
                removed = true;
            }
        }
        changed.extend(removed.then(|| path.to_path_buf()));
        Ok(())
    };
    only(&work.cache(), &BTreeSet::from(["fields".to_owned()]))?;
    only(&work.fields(), &fields.iter().map(|field| field.name.to_string()).collect())?;
    for field in fields {
        let mut kept: BTreeSet<_> = (0..shards).map(|shard| format!("{shard:05}.shard")).collect();
        if field.codec == crate::field::Codec::ZstdDict {
            kept.insert("dictionary.bin".to_owned());
        }
        only(&work.fields().join(&*field.name), &kept)?;
    }
    Ok(changed)
}
