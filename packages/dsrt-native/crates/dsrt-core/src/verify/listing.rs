//! What the manifest lists, with every breach of it that still lets the rest be looked at.

use super::problem::Place;
use super::reader::Reader;
use super::report::Report;
use crate::error::Result;
use crate::format::manifest::Inventory;
use crate::read::{Directory, MANIFEST};

/// Reads the manifest. A breach of R000 to R006 is an error, those of R007 to R021 are listed, sorted by rule.
pub(super) fn read(directory: &Directory) -> Result<(Inventory, Report)> {
    // Only for its pages to be given back.
    let reader = directory.open_file(MANIFEST)?.map(|file| Reader::new(file.into(), MANIFEST.into()));
    let bytes = directory.manifest();
    drop(reader);
    let mut report = Report::default();
    let inventory = Inventory::read(&bytes?, &mut |breach| {
        let field = breach.field.map(|(_, name)| name.into());
        report.add(breach.rule, &Place { field, shard: breach.shard, sample: None }, breach.message);
    })?;
    report.sort_by_rule();
    Ok((inventory, report))
}
