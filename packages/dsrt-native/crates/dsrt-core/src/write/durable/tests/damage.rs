//! What a disk lost or changed, and what is gone on from then.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use super::*;

#[test]
fn the_good_part_ends_where_a_disk_lied() {
    let expected = uninterrupted();
    let work = |root: &Path, name: &str| root.join(".x.building").join(name);
    let change = |path: PathBuf, at: u64| {
        let file = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, &file).unwrap();
        OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[!file[at as usize]], at).unwrap();
    };
    type Damage<'a> = &'a dyn Fn(&Path);
    let damages: [(Damage<'_>, usize, &str); 8] = [
        (
            &|root| std::fs::remove_file(work(root, "cache/fields/b/00002.shard")).unwrap(),
            2,
            "b/00002.shard is missing",
        ),
        (&|root| std::fs::write(work(root, "cache/fields/c"), "").unwrap(), 4, ""),
        (&|root| change(work(root, "cache/fields/a/00001.shard"), 40), 1, "a/00001.shard is missing, short or another"),
        (&|root| change(work(root, "metadata.spill"), 0), 0, "metadata.spill has lost or changed rows"),
        (
            &|root| change(work(root, "metadata.spill"), 3 * 28 + 7 * 42 - 1),
            2,
            "metadata.spill has lost or changed rows",
        ),
        (&|root| std::fs::remove_file(work(root, "metadata.spill")).unwrap(), 0, "metadata.spill has lost"),
        (&|root| std::fs::remove_dir_all(work(root, "cache/fields/b")).unwrap(), 0, "b/00000.shard is missing"),
        (&|root| change(work(root, "journal"), std::fs::metadata(work(root, "journal")).unwrap().len() - 3), 3, ""),
    ];
    for (place, (damage, good, said)) in damages.iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        left(root.path(), &planned(), 4);
        damage(root.path());
        let mut durable = open(root.path(), &planned()).unwrap();
        assert_eq!(durable.shards() as usize, *good, "{place}");
        assert_eq!(durable.resumed(), SHARDS[..*good].iter().sum::<u64>());
        match durable.restarted() {
            None => assert_eq!(*said, ""),
            Some(text) => assert!(!said.is_empty() && text.contains(said) && text.contains("R061"), "{text}"),
        }
        if durable.is_fresh() {
            durable.begin(vec![None, None]).unwrap();
        }
        assert_eq!(publish(durable, &SHARDS), expected, "{place}");
    }
}

#[test]
fn nothing_is_removed_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    let (field, elsewhere) = (root.path().join(".x.building/cache/fields/b"), root.path().join("elsewhere"));
    std::fs::rename(&field, &elsewhere).unwrap();
    std::fs::write(elsewhere.join("note"), "mine").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &field).unwrap();
    let durable = open(root.path(), &planned()).unwrap();
    assert!(durable.is_fresh() && durable.restarted().unwrap().contains("fields/b is no directory"));
    assert_eq!(names(&elsewhere).unwrap(), ["00000.shard", "00001.shard", "note"]);
}

#[test]
fn rows_that_change_before_the_publication_end_the_run_and_not_the_resumable_part() {
    let root = tempfile::tempdir().unwrap();
    let mut durable = fresh(root.path(), &planned());
    SHARDS.iter().for_each(|samples| seal(&mut durable, *samples).unwrap());
    let spill = OpenOptions::new().write(true).open(durable.work.spill()).unwrap();
    spill.write_all_at(&[0xff], durable.marks[2].bytes + 3).unwrap();
    let error = durable.publish(&mut || Ok(())).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    assert!(error.to_string().contains("does not hold what was written"), "{error}");
    let durable = open(root.path(), &planned()).unwrap();
    assert_eq!(durable.shards(), 3);
    assert_eq!(publish(durable, &SHARDS), uninterrupted());
}

#[test]
fn trained_dictionaries_are_taken_over_and_given_ones_proven() {
    let mut options = planned();
    options.fields[1].0.codec = Codec::ZstdDict;
    options.fields[1].1.dictionary = Some(Dictionary::Body(b"a dictionary of raw content".to_vec()));
    let body: Arc<[u8]> = b"a dictionary of raw content"[..].into();
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &options, 2);
    let durable = open(root.path(), &options).unwrap();
    assert_eq!((durable.resumed(), durable.dictionaries()), (5, &[None, Some(body)][..]));
    assert_eq!(durable.manifest.fields[1].dictionary.as_ref().unwrap().bytes, 64 + 27);
    drop(durable);
    let path = root.path().join(".x.building/cache/fields/b/dictionary.bin");
    std::fs::remove_file(&path).unwrap();
    let durable = open(root.path(), &options).unwrap();
    assert!(durable.is_fresh() && durable.restarted().unwrap().contains("dictionary.bin is missing"));
}
