//! The parts of a cache, and the merge that makes one of them.

use std::path::Path;

use dsrt_core::format::json::Value as Json;
use dsrt_core::write::{Dictionary, Disk, MergeOptions, Writer, merge_on, train_dictionary};

use super::dataset::{NAME, Run, SAMPLES, append, options, samples};

/// Names of the parts, and where each ends.
const PARTS: [(&str, u64); 2] = [("first", 6), ("second", SAMPLES)];

/// Writes the parts of the cache of that version below `root`.
pub fn write_parts(root: &Path, version: u64) {
    let all = samples(version);
    // Parts can be merged if they have one dictionary.
    let captions: Vec<_> = all.iter().map(|sample| sample.caption.as_bytes()).collect();
    let dictionary = train_dictionary(&captions, 256).unwrap();
    let mut from = 0;
    for (name, to) in PARTS {
        let mut options = options(version, false);
        let (_, caption) = options.fields.last_mut().unwrap();
        caption.dictionary = Some(Dictionary::Body(dictionary.clone()));
        let mut writer = Writer::create_on(Disk::default(), &root.join(name), options).unwrap();
        for sample in &all[from as usize..to as usize] {
            append(&mut writer, sample).unwrap();
        }
        writer.publish(&mut || Ok(())).unwrap();
        from = to;
    }
}

/// Merges them.
pub fn merge(disk: Disk, root: &Path, version: u64, link: bool) -> Run {
    let parts = PARTS.map(|(name, _)| root.join(name));
    let fingerprint = Some(format!("version {version}"));
    let options = MergeOptions { link, fingerprint, attributes: Json::Object(Default::default()) };
    Run { resumed: None, outcome: merge_on(disk, &parts, &root.join(NAME), options, &mut || Ok(())) }
}
