//! What in a work directory is a writer's own, and may be removed by the next one.

use std::path::Path;

use crate::error::{Error, Kind, Result};
use crate::write::disk::names;
use crate::write::target::look;

/// All that a writer makes there. The first two are regular files.
const OWN: [&str; 5] = ["lock", "journal", "metadata.spill", "cache", "old"];

/// Refuses a work directory in which there is something that no writer made. Nothing is touched.
pub(super) fn check_names(work: &Path) -> Result<()> {
    let found = match names(work) {
        // The lock finds that out: the writer before us is just removing it, or it is no directory.
        Err(_) if look(work)?.is_none_or(|found| !found.is_dir()) => return Ok(()),
        found => found?,
    };
    for name in found {
        let (path, name) = (work.join(&name), name.to_string_lossy());
        let problem = if name.starts_with(".nfs") {
            // So NFS calls a file that was removed while somebody had it open.
            None
        } else if !OWN.contains(&&*name) {
            Some("was not put there by a writer, to whom that directory belongs and who removes it; move it away")
        } else if OWN.iter().take(2).any(|file| *file == name) && look(&path)?.is_some_and(|found| !found.is_file()) {
            Some("is no regular file, and a writer needs that name; remove it")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(Error::new(Kind::Exists, format!("{} {problem}", path.display())));
        }
    }
    Ok(())
}
