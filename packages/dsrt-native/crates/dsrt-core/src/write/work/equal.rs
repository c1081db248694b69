//! Which is the new cache where target and work directory have one of the same digest.

use std::path::Path;

use super::Work;
use crate::error::Result;
use crate::format::checksum::Digest;
use crate::write::disk::Disk;
use crate::write::proof::{has_sound_files, is_whole};
use crate::write::target::{absolute, digest_at, look, split, work_path};

impl Work {
    /// Whether what lies in `cache` may be the new cache, of that digest, where the target has the same. Before the
    /// exchange it is, and is sound; behind it, it is the old one, most likely replaced because it is damaged. To
    /// publish a sound one again does no harm.
    pub(super) fn may_be_new(&self, published: Option<Digest>, pause: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
        Ok(published == digest_at(&self.cache())? && has_sound_files(&self.cache(), pause)?)
    }

    /// Whether the target has the digest of the unfinished cache and is sound, so that nothing is left to be done.
    fn is_done(&self, pause: &mut dyn FnMut() -> Result<()>) -> Result<bool> {
        let published = self.unfinished.as_ref().and_then(|unfinished| unfinished.published);
        Ok(published.is_some() && published == digest_at(&self.target)? && is_whole(&self.target, pause)?)
    }
}

/// Removes what a writer left beside `target` that died just after it had published it. An unfinished build of another
/// plan stays, and so does what a living writer works in. `pause` is called now and then; its error ends that.
pub fn tidy(target: &Path, pause: &mut dyn FnMut() -> Result<()>) {
    let left = absolute(target).and_then(|target| {
        let (parent, name) = split(&target)?;
        look(&work_path(parent, name))
    });
    if matches!(left, Ok(Some(_))) {
        // Whatever fails is left to the next writer, who says so.
        let _ = Work::open(Disk::default(), target, true, pause)
            .and_then(|mut work| if work.is_done(pause)? { work.clear() } else { Ok(()) });
    }
}
