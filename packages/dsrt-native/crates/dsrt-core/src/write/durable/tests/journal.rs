//! A journal that a disk damaged: what was durable is not thrown away without a word.

use super::*;
use crate::format::checksum::crc32c;

fn journal(root: &Path) -> PathBuf {
    root.join(".x.building/journal")
}

/// Flips a bit in the middle of a line.
fn damage(root: &Path, line: usize) {
    let mut lines = lines(root);
    let middle = lines[line].len() / 2;
    lines[line][middle] ^= 1;
    std::fs::write(journal(root), lines.concat()).unwrap();
}

fn lines(root: &Path) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(journal(root)).unwrap();
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn asking() -> WriterOptions {
    WriterOptions { earlier: Earlier::Ask, ..planned() }
}

#[test]
fn a_damaged_line_costs_what_lies_behind_it_and_that_is_said() {
    let expected = uninterrupted();
    for (line, good) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
        let root = tempfile::tempdir().unwrap();
        left(root.path(), &planned(), 4);
        damage(root.path(), line);
        let said = format!("line {} of {} is damaged (R060)", line + 1, journal(root.path()).display());
        let before = lines(root.path());
        let error = open(root.path(), &asking()).err().unwrap();
        assert_eq!(error.kind(), Kind::Exists);
        for part in [&*said, "resume=True", "resume=False"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert_eq!(lines(root.path()), before, "nothing is lost by asking");
        let mut durable = open(root.path(), &planned()).unwrap();
        assert_eq!((durable.shards(), durable.is_fresh()), (good, good == 0));
        let restarted = durable.restarted().unwrap();
        assert!(restarted.contains("discarded") && restarted.ends_with(&said), "{restarted}");
        if durable.is_fresh() {
            durable.begin(vec![None, None]).unwrap();
        }
        assert_eq!(publish(durable, &SHARDS), expected, "{line}");
    }
}

#[test]
fn the_last_line_is_torn_by_a_crash_and_nothing_is_said_of_it() {
    for (sealed, good) in [(3, 2), (1, 0)] {
        let root = tempfile::tempdir().unwrap();
        left(root.path(), &planned(), sealed);
        let bytes = std::fs::read(journal(root.path())).unwrap();
        std::fs::write(journal(root.path()), &bytes[..bytes.len() - 10]).unwrap();
        let options = if good == 0 { asking() } else { planned() };
        let durable = open(root.path(), &options).unwrap();
        assert_eq!((durable.shards(), durable.restarted()), (good, None));
    }
}

#[test]
fn a_plan_that_was_torn_before_there_were_shards_is_of_no_interest() {
    let root = tempfile::tempdir().unwrap();
    let mut durable = fresh(root.path(), &planned());
    durable.work.keep(true);
    drop(durable);
    damage(root.path(), 0);
    assert_eq!(open(root.path(), &asking()).unwrap().restarted(), None);
}

#[test]
fn lines_of_a_later_version_are_not_thrown_away_without_a_word() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    let mut later = lines(root.path());
    for line in &mut later[1..] {
        let json = br#"{"shard":{"samples":3}}"#;
        *line = format!("{:08x} {}\n", crc32c(json), String::from_utf8_lossy(json)).into_bytes();
    }
    std::fs::write(journal(root.path()), later.concat()).unwrap();
    let error = open(root.path(), &asking()).err().unwrap().to_string();
    assert!(error.contains("line 2 of ") && error.contains("is of another version of DSRT (R060)"), "{error}");
    let durable = open(root.path(), &WriterOptions { earlier: Earlier::Discard, ..planned() }).unwrap();
    assert!(durable.is_fresh() && durable.restarted().unwrap().ends_with("are discarded: resume=False"));
}

#[test]
fn a_cache_that_was_published_is_known_behind_the_damage_too() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    left(root.path(), &planned(), 1);
    let mut durable = open(root.path(), &planned()).unwrap();
    durable.complete(&mut || Ok(())).unwrap();
    show(&durable.work, false).unwrap();
    // As after an exchange.
    std::fs::create_dir_all(root.path().join(".x.building/cache/fields/a")).unwrap();
    std::fs::write(root.path().join(".x.building/cache/fields/a/00000.shard"), "old").unwrap();
    durable.work.keep(true);
    drop(durable);
    damage(root.path(), 0);
    tidy(&target, &mut || Ok(()));
    assert_eq!(names(root.path()).unwrap(), ["x"]);
}
