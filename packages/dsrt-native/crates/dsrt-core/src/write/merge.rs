//! One cache made of several, in order: shard files are linked, metadata is written anew.
//!
//! Nothing in a shard file says where it belongs, so no byte of payload is read, and every digest comes from the
//! manifests of the parts. Two passes: the first compares the parts and sums up their manifests, the second opens each
//! part again and takes its files. Only one is open at a time, so that there may be thousands.

mod compare;
mod transfer;

use std::path::{Path, PathBuf};

use super::disk::{Disk, failed};
use super::file::OutFile;
use super::metadata::write_table;
use super::publish::{settle, show};
use super::size::ManifestSize;
use super::spill::Spill;
use super::target::{absolute, split, work_path};
use super::work::Work;
use super::writer::Published;
use crate::error::{Error, Kind, Result};
use crate::format::checksum::Digest;
use crate::format::json::Value;
use crate::format::manifest::{FieldEntry, Manifest};
use crate::read::Cache;
use compare::Comparison;
use transfer::Transfer;

/// How parts are put together.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// Whether files are linked where the file system can; otherwise all are copied.
    pub link: bool,
    /// Whatever identifies code and inputs of the whole.
    pub fingerprint: Option<String>,
    /// A JSON object, free for the source's use.
    pub attributes: Value,
}

/// Puts published caches together as one, at `target`: the samples of the first part, then those of the second, and so on.
///
/// All parts have the same fields (R070, in any order; that of the first counts) and the same columns (R071), and none
/// is there twice. A shard is linked if the file system can do that, and otherwise copied, its digest checked
/// meanwhile. The metadata has the bytes that a writer of all the samples would have written.
///
/// `interrupt` is called about every 20 ms; its error ends the merge. On any error nothing is left behind.
///
/// # Errors
/// What opening the parts raises; R030, R031, R039 to R046 and R050 for a part whose files are damaged, with cache, field
/// and shard; [`Kind::Exists`] for a target that is there; [`Kind::Schema`] for a name or attributes that no cache has;
/// [`Kind::Value`] for no parts, parts that lie where the whole is made, a target in a published cache, or a manifest
/// that would be too long.
pub fn merge(
    parts: &[PathBuf],
    target: &Path,
    options: MergeOptions,
    interrupt: &mut dyn FnMut() -> Result<()>,
) -> Result<Published> {
    merge_on(Disk::default(), parts, target, options, interrupt)
}

/// As [`merge`], by operations of `disk`.
pub fn merge_on(
    disk: Disk,
    parts: &[PathBuf],
    target: &Path,
    options: MergeOptions,
    interrupt: &mut dyn FnMut() -> Result<()>,
) -> Result<Published> {
    let mut transfer = Transfer::new(disk.clone(), options.link, interrupt);
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Merged { mut manifest, columns, size, digests } = survey(parts, name, options, &mut transfer)?;
    check_parts_outside(parts, target)?;
    let mut work = Work::open(disk, target, false, &mut || transfer.pause())?;
    if let Some(unfinished) = work.take_unfinished() {
        let message = format!(
            "{} has {}; finish that build, or remove the directory, or merge to another path",
            work.path().display(),
            unfinished.describe()
        );
        return Err(Error::new(Kind::Exists, message));
    }
    work.make_cache()?;
    let spill = columns.as_deref().map(|columns| Spill::create(work.disk(), work.spill(), columns)).transpose()?;
    let directory = |entry: &FieldEntry| work.fields().join(&*entry.field.name);
    for entry in &manifest.fields {
        work.disk().make_directory(&directory(entry))?;
    }
    let mut first = 0;
    for (place, (part, digest)) in parts.iter().zip(&digests).enumerate() {
        let cache = reopen(part, digest)?;
        for entry in &manifest.fields {
            if place == 0 {
                transfer.dictionary(&cache, part, entry, &directory(entry))?;
            }
            transfer.shards(&cache, part, entry, &directory(entry), first)?;
        }
        if let Some(spill) = &spill {
            transfer.rows(&cache, spill)?;
        }
        first += cache.manifest().shards.len() as u64;
    }
    for entry in &manifest.fields {
        work.disk().sync_directory(&directory(entry))?;
    }
    if let (Some(columns), Some(spill)) = (&columns, spill) {
        // It need not be durable: no later run goes on from it.
        let mark = spill.mark()?;
        spill.flush()?;
        let path = work.cache().join("metadata.arrow");
        let pause = &mut || transfer.pause();
        manifest.metadata = Some(write_table(work.disk(), &path, columns, &work.spill(), &[mark], pause)?);
    }
    size.check(manifest.metadata.as_ref().map_or(0, |metadata| metadata.chunks.len() as u64))?;
    let bytes = manifest.to_bytes();
    let mut file = OutFile::create(work.disk(), work.cache().join("manifest.json"))?;
    file.write(&bytes)?;
    file.finish()?;
    work.sync_names()?;
    show(&work, false)?;
    let warnings = settle(work)?;
    Ok(Published { digest: manifest.digest, samples: manifest.samples, warnings })
}

/// Refuses parts below the places where the whole is made and shown.
fn check_parts_outside(parts: &[PathBuf], target: &Path) -> Result<()> {
    let target = absolute(target)?;
    let (parent, name) = split(&target)?;
    // No part lies below a directory that is missing.
    let Ok(parent) = std::fs::canonicalize(parent) else { return Ok(()) };
    let (target, work) = (parent.join(name), work_path(&parent, name));
    for part in parts {
        let found = std::fs::canonicalize(part).map_err(failed("looking at", part))?;
        let taken = [&work, &target].into_iter().find(|place| found.starts_with(place) && found != **place);
        if let Some(place) = taken {
            let (part, place) = (part.display(), place.display());
            let message =
                format!("the part {part} lies in {place}, where the whole is made; move it, or merge elsewhere");
            return Err(Error::new(Kind::Value, message));
        }
    }
    Ok(())
}

/// The whole, as far as the manifests of the parts tell.
struct Merged {
    /// Without metadata.
    manifest: Manifest,
    columns: Option<compare::Columns>,
    size: ManifestSize,
    /// Of the parts, which must be the same ones later.
    digests: Vec<Digest>,
}

/// Opens each part, compares it with the first, and sums up.
fn survey(parts: &[PathBuf], name: &str, options: MergeOptions, transfer: &mut Transfer<'_>) -> Result<Merged> {
    let Some(first) = parts.first() else {
        return Err(Error::new(Kind::Value, "there are no parts to merge; give at least one published cache"));
    };
    let mut comparison = Comparison::new(Cache::open(first, true)?)?;
    let mut manifest = comparison.plan(name, options)?;
    let mut size = ManifestSize::new(manifest.to_bytes().len() as u64);
    let mut digests = Vec::new();
    for part in parts {
        transfer.pause()?;
        let cache = Cache::open(part, true)?;
        let order = comparison.check(&cache)?;
        let found = cache.manifest();
        for (entry, place) in manifest.fields.iter_mut().zip(order) {
            entry.files.extend(found.fields.get(place).into_iter().flat_map(|entry| &entry.files).cloned());
        }
        for (number, samples) in (manifest.shards.len()..).zip(&found.shards) {
            size.add(*samples, manifest.fields.iter().filter_map(|entry| entry.files.get(number)));
        }
        size.check(0)?;
        manifest.shards.extend(&found.shards);
        let sum = manifest.samples.checked_add(found.samples).filter(|sum| i64::try_from(*sum).is_ok());
        manifest.samples = sum.ok_or_else(|| Error::new(Kind::Value, "the parts have more than 2^63 samples"))?;
        digests.push(found.digest);
    }
    Ok(Merged { manifest, columns: comparison.into_columns(), size, digests })
}

/// Opens a part again, which must still be the one that was compared.
fn reopen(part: &Path, digest: &Digest) -> Result<Cache> {
    let cache = Cache::open(part, true)?;
    if cache.manifest().digest == *digest {
        return Ok(cache);
    }
    let error = Error::new(Kind::Stale, "it was replaced by another cache while it was being merged; merge again");
    Err(error.in_cache(cache.path()))
}

#[cfg(test)]
mod tests;
