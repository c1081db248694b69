//! The corpus that fuzzing found worth keeping, gone through once.

use std::path::Path;

fn replay(target: &str, run: fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut used = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        eprintln!("{}", path.display());
        used += usize::from(run(&std::fs::read(path).unwrap()));
    }
    assert!(used >= 20, "{used} entries of the corpus are of use");
    // What is no whole input, too.
    run(&[]);
    run(&[0xff; 3]);
}

#[test]
fn manifests_of_the_corpus_are_judged_rightly() {
    replay("manifest", super::manifest);
}

#[test]
fn shards_of_the_corpus_are_judged_rightly() {
    replay("index", super::index);
}

#[test]
fn records_of_the_corpus_are_judged_rightly() {
    replay("record", super::record);
}

#[test]
fn metadata_of_the_corpus_is_judged_rightly() {
    replay("metadata", super::metadata);
}

#[test]
fn journals_of_the_corpus_are_judged_rightly() {
    replay("journal", super::journal);
}
