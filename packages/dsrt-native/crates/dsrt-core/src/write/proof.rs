//! Whether the bytes of a cache are those that its manifest gives digests of. They are read in pieces.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use blake3::Hasher;

use super::shard::apply_key;
use crate::error::{Error, Kind, Result};
use crate::field::Field;
use crate::format::checksum;
use crate::format::manifest::FileEntry;
use crate::format::shard::{HEADER, index_start};
use crate::read::{Cache, CacheFile};

/// Bytes that are read at a time.
const PIECE: usize = 1 << 20;

/// How often signals are looked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads a shard whose length and header are known to be right, and compares the digests of its body (R050) and of its
/// index (R039). `each` is given every piece of the file, in order.
pub(super) fn prove_shard(
    source: &CacheFile,
    field: &Field,
    file: &FileEntry,
    count: u64,
    buffer: &mut Vec<u8>,
    each: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let lost = || Error::new(Kind::Internal, "a shard without an index");
    let start = index_start(field, file.bytes, count).ok_or_else(lost)?;
    let (mut body, mut index) = (Hasher::new(), Hasher::new());
    let mut at = 0;
    while at < start {
        // The header alone first, which is no part of the body.
        let end = if at < HEADER { HEADER } else { start.min(at + PIECE as u64) };
        let piece = read(source, at, end, buffer)?;
        if at >= HEADER {
            body.update(piece);
        }
        each(piece)?;
        at = end;
    }
    // The digest of the body is that of the index without the key, so whole entries are needed.
    let entries = (PIECE / field.entry_bytes()).max(1) * field.entry_bytes();
    while at < file.bytes {
        let end = file.bytes.min(at + entries as u64);
        let piece = read(source, at, end, buffer)?;
        index.update(piece);
        each(piece)?;
        apply_key(piece, field, checksum::key(&file.body));
        body.update(piece);
        at = end;
    }
    let differs = |rule, what: &str| {
        let message = format!("{what} of {} does not match its digest; copy or build the part anew", source.name);
        Error::rule(Kind::Format, rule, message)
    };
    if *body.finalize().as_bytes() != file.body {
        return Err(differs(50, "the body"));
    }
    if file.index.is_some_and(|expected| *index.finalize().as_bytes() != expected) {
        return Err(differs(39, "the index"));
    }
    Ok(())
}

fn read<'a>(source: &CacheFile, from: u64, to: u64, buffer: &'a mut Vec<u8>) -> Result<&'a mut [u8]> {
    buffer.resize((to - from) as usize, 0);
    let read = source.file.read_exact_at(buffer, from);
    read.map_err(|e| Error::io(format!("cannot read {}", source.name), e))?;
    Ok(buffer)
}

/// What is called now and then; its error ends what calls it.
type Pause<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Whether every shard and dictionary of the cache at `path` is there and sound.
pub(super) fn has_sound_files(path: &Path, pause: Pause<'_>) -> Result<bool> {
    is_sound(pause, |pause| prove_files(&Cache::open(path, true)?, pause))
}

/// Whether all of the cache at `path` is there and sound.
pub(super) fn is_whole(path: &Path, pause: Pause<'_>) -> Result<bool> {
    is_sound(pause, |pause| {
        let cache = Cache::open(path, true)?;
        prove_files(&cache, pause)?;
        if cache.manifest().metadata.is_some() {
            let table = cache.table()?;
            for batch in 0..table.batch_count() {
                pause()?;
                table.batch(batch)?;
            }
        }
        Ok(())
    })
}

/// What the operating system refuses says nothing of a cache, and neither does the error of `pause`.
fn is_sound(pause: Pause<'_>, prove: impl FnOnce(Pause<'_>) -> Result<()>) -> Result<bool> {
    let (mut asked, mut is_stopped) = (None::<Instant>, false);
    let proven = prove(&mut || {
        if asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
            return Ok(());
        }
        asked = Some(Instant::now());
        pause().inspect_err(|_| is_stopped = true)
    });
    match proven {
        Ok(()) => Ok(true),
        Err(error) if is_stopped || matches!(error.kind(), Kind::Io | Kind::Memory | Kind::Internal) => Err(error),
        Err(_) => Ok(false),
    }
}

fn prove_files(cache: &Cache, pause: Pause<'_>) -> Result<()> {
    let mut buffer = Vec::new();
    for entry in &cache.manifest().fields {
        if let Some(file) = &entry.dictionary {
            cache.dictionary_file(&entry.field, file)?;
        }
        for (number, (file, count)) in (0..).zip(entry.files.iter().zip(&cache.manifest().shards)) {
            let source = cache.shard_file(entry, number)?;
            prove_shard(&source, &entry.field, file, *count, &mut buffer, &mut |_| pause())
                .map_err(|error| error.in_cache(cache.path()))?;
        }
    }
    Ok(())
}
