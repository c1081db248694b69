//! The end of a run: metadata and manifest are made, and the cache is shown.

use super::{Durable, ended};
use crate::error::Result;
use crate::format::checksum;
use crate::write::file::OutFile;
use crate::write::metadata::write_table;
use crate::write::publish::{settle, show};
use crate::write::sealed::{object, string};
use crate::write::unfinished::PUBLISHED;
use crate::write::writer::Published;

impl Durable {
    /// Completes the cache and shows it at the target. `pause` is called now and then; its error ends the run before the
    /// cache is shown.
    pub(in crate::write) fn publish(mut self, pause: &mut dyn FnMut() -> Result<()>) -> Result<Published> {
        if let Err(error) = self.complete(pause) {
            let error = self.explain(error);
            self.abort();
            return Err(error);
        }
        show(&self.work, self.options.replace).map_err(|error| self.explain(error))?;
        let (digest, samples) = (self.manifest.digest, self.samples());
        let warnings = settle(self.work)?;
        Ok(Published { digest, samples, warnings })
    }

    /// Writes metadata and manifest, and notes which cache is about to be shown.
    pub(super) fn complete(&mut self, pause: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        let mut journal = self.journal.take().ok_or_else(ended)?;
        let (cache, columns) = (self.work.cache(), &self.options.metadata);
        if !columns.is_empty() {
            let path = cache.join("metadata.arrow");
            let table = write_table(self.disk(), &path, columns, &self.work.spill(), &self.marks, pause)?;
            self.manifest.metadata = Some(table);
        }
        let bytes = self.manifest.to_bytes();
        self.size.check(self.manifest.metadata.as_ref().map_or(0, |metadata| metadata.chunks.len() as u64))?;
        let mut file = OutFile::create(self.disk(), cache.join("manifest.json"))?;
        file.write(&bytes)?;
        file.finish()?;
        self.disk().sync_directory(&cache)?;
        journal.append(&object([(PUBLISHED, string(&checksum::hex(&self.manifest.digest)))]))?;
        pause()
    }
}
