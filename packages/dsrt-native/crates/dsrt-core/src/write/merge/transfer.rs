//! The files of a part on their way into the whole: linked and synced, or copied with every digest checked.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::error::{Error, Kind, Result};
use crate::format::manifest::{FieldEntry, FileEntry};
use crate::read::{Cache, CacheFile};
use crate::write::disk::{Disk, failed, is_unsupported};
use crate::write::file::OutFile;
use crate::write::proof::prove_shard;
use crate::write::spill::Spill;

/// How often signals are looked for.
const PAUSE: Duration = Duration::from_millis(20);

/// What a file cannot be linked for, and can be copied: another file system, one without links or whose rules forbid
/// this one, a file that has as many names as it can.
const COPIED: [Errno; 3] = [Errno::XDEV, Errno::PERM, Errno::MLINK];

/// Brings over files and rows.
pub(super) struct Transfer<'a> {
    disk: Disk,
    link: bool,
    interrupt: &'a mut dyn FnMut() -> Result<()>,
    asked: Option<Instant>,
    buffer: Vec<u8>,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(disk: Disk, link: bool, interrupt: &'a mut dyn FnMut() -> Result<()>) -> Self {
        Self { disk, link, interrupt, asked: None, buffer: Vec::new() }
    }

    /// To be called at least every few milliseconds of work.
    pub(super) fn pause(&mut self) -> Result<()> {
        if self.asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
            return Ok(());
        }
        self.asked = Some(Instant::now());
        (self.interrupt)()
    }

    /// Brings over the dictionary of a field, if it has one, from `cache` at the path `part` into a directory.
    pub(super) fn dictionary(&mut self, cache: &Cache, part: &Path, entry: &FieldEntry, into: &Path) -> Result<()> {
        let Some(file) = &entry.dictionary else { return Ok(()) };
        let (source, bytes) = cache.dictionary_file(&entry.field, file)?;
        let to = into.join("dictionary.bin");
        if self.linked(&source, part, &to)? {
            return Ok(());
        }
        let mut out = OutFile::create(&self.disk, to)?;
        out.write(&bytes)?;
        out.finish().map(drop)
    }

    /// Brings over the shards of a field. `first` is the number of the first one in the whole.
    pub(super) fn shards(
        &mut self,
        cache: &Cache,
        part: &Path,
        entry: &FieldEntry,
        into: &Path,
        first: u64,
    ) -> Result<()> {
        let found = cache.manifest().fields.iter().find(|found| found.field.name == entry.field.name);
        let found = found.ok_or_else(|| Error::new(Kind::Internal, "a part has lost a field"))?;
        for (number, (file, count)) in (0..).zip(found.files.iter().zip(&cache.manifest().shards)) {
            self.pause()?;
            let to = into.join(format!("{:05}.shard", first + number));
            let transferred = cache.shard_file(found, number).and_then(|source| {
                if self.linked(&source, part, &to)? { Ok(()) } else { self.copy(&source, found, file, *count, to) }
            });
            transferred.map_err(|error| error.in_cache(cache.path()).in_field(&found.field.name).in_shard(number))?;
        }
        Ok(())
    }

    /// Brings over the metadata of a part.
    pub(super) fn rows(&mut self, cache: &Cache, spill: &Spill) -> Result<()> {
        let found = cache.table()?;
        for batch in 0..found.batch_count() {
            self.pause()?;
            spill.extend(&found.batch(batch)?, &mut || self.pause())?;
        }
        // What is cut off a mapped file reads as zeros to the end of its page.
        found.check_whole().map_err(|error| error.while_reading().in_cache(cache.path()))
    }

    /// Links a file; false if it has to be copied.
    fn linked(&self, source: &CacheFile, part: &Path, to: &Path) -> Result<bool> {
        if !self.link {
            return Ok(false);
        }
        let from = part.join(&source.name);
        // Readers follow symbolic links, and a second name for one would lead nowhere.
        let found = std::fs::symlink_metadata(&from).map_err(failed("looking at", &from))?;
        let from =
            if found.is_symlink() { std::fs::canonicalize(&from).map_err(failed("following", &from))? } else { from };
        match self.disk.link(&from, to) {
            Ok(()) => {}
            Err(e) if is_unsupported(&e) || COPIED.iter().any(|no| e.raw_os_error() == Some(no.raw_os_error())) => {
                return Ok(false);
            }
            Err(e) => return Err(Error::io(format!("linking {} to {}", from.display(), to.display()), e)),
        }
        // The name may lead to another file than the one that was looked into.
        let checked = source.file.metadata().map_err(failed("looking at", &from))?;
        let linked = std::fs::symlink_metadata(to).map_err(failed("looking at", to))?;
        if (checked.dev(), checked.ino()) == (linked.dev(), linked.ino()) {
            // Whoever copied the part here may not have asked for that, and a merge is durable when it is reported.
            return self.disk.sync_content(&source.file, to).map(|()| true);
        }
        let message = format!("{} was replaced while the cache was being merged; merge again", from.display());
        Err(Error::new(Kind::Stale, message))
    }

    /// Copies a shard, proven by the digests of its body (R050) and of its index (R039).
    fn copy(
        &mut self,
        source: &CacheFile,
        entry: &FieldEntry,
        file: &FileEntry,
        count: u64,
        to: PathBuf,
    ) -> Result<()> {
        let mut out = OutFile::create(&self.disk, to)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let copied = prove_shard(source, &entry.field, file, count, &mut buffer, &mut |piece| {
            self.pause()?;
            out.write(piece)
        });
        self.buffer = buffer;
        copied?;
        out.finish().map(drop)
    }
}
