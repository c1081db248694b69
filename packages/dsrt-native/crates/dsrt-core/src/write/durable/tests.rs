use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::dtype::DType;
use crate::field::{Codec, FieldKind};
use crate::write::disk::{Observer, Operation, names};
use crate::write::options::tests::{field, options};
use crate::write::options::{Dictionary, Earlier};
use crate::write::publish::show;
use crate::write::spill;
use crate::write::unfinished::left_beside;
use crate::write::value::Value as Cell;
use crate::write::work::tidy;

mod damage;
mod journal;
mod old;

fn planned() -> WriterOptions {
    let fields = vec![
        field("a", FieldKind::Dense([].into()), DType::UInt8, Codec::Raw),
        field("b", FieldKind::Bytes, DType::UInt8, Codec::Raw),
    ];
    let mut options = options(fields, &[("n", "int32"), ("s", "string")]);
    options.fingerprint = Some("f".into());
    options.earlier = Earlier::Resume;
    options
}

fn open(root: &Path, options: &WriterOptions) -> Result<Durable> {
    Durable::open(Disk::default(), &root.join("x"), options, &mut || Ok(()))
}

fn fresh(root: &Path, options: &WriterOptions) -> Durable {
    let mut durable = open(root, options).unwrap();
    assert!(durable.is_fresh());
    durable.begin(durable.dictionaries().to_vec()).unwrap();
    durable
}

/// Seals the next shard, of so many samples. Its content follows from its number; it keeps only the rules that are
/// looked at here.
fn seal(durable: &mut Durable, samples: u64) -> Result<()> {
    let number = durable.shards();
    let fields: Vec<_> = durable.options.fields.iter().map(|(field, _)| field.clone()).collect();
    let mut files = Vec::new();
    for field in fields {
        let records = if field.is_fixed() { samples.next_multiple_of(8) } else { 8 };
        let body = vec![number as u8; records as usize + samples as usize * field.entry_bytes()];
        let bytes = HEADER + body.len() as u64;
        let index = (!field.is_fixed()).then_some([7; 32]);
        let entry = FileEntry { bytes, body: checksum::digest(&body), index };
        let path = durable.field_path(&field).join(format!("{number:05}.shard"));
        let mut file = OutFile::create(durable.disk(), path)?;
        file.write(&header::shard(&field, samples, bytes, &entry.body))?;
        file.write(&body)?;
        files.push((entry, file));
    }
    let mark = durable.spill().map(|spill| {
        let mut rows = Vec::new();
        for row in durable.samples()..durable.samples() + samples {
            spill::encode(&[Cell::Int(row.into()), Cell::Str("text that is not short")], &mut rows);
        }
        spill.append(&rows).unwrap();
        spill.mark().unwrap()
    });
    durable.seal(samples, files, mark)
}

fn publish(mut durable: Durable, shards: &[u64]) -> Vec<(PathBuf, Vec<u8>)> {
    shards.iter().skip(durable.shards() as usize).for_each(|samples| seal(&mut durable, *samples).unwrap());
    let target = durable.work.target().to_path_buf();
    let published = durable.publish(&mut || Ok(())).unwrap();
    assert_eq!((published.samples, published.warnings.len()), (shards.iter().sum(), 0));
    let mut found = Vec::new();
    let mut open = vec![target.clone()];
    while let Some(directory) = open.pop() {
        for name in names(&directory).unwrap() {
            let path = directory.join(name);
            if path.is_dir() {
                open.push(path);
            } else {
                found.push((path.strip_prefix(&target).unwrap().to_path_buf(), std::fs::read(&path).unwrap()));
            }
        }
    }
    assert_eq!(names(target.parent().unwrap()).unwrap(), ["x"]);
    found.sort();
    found
}

const SHARDS: [u64; 4] = [3, 2, 2, 1];

fn uninterrupted() -> Vec<(PathBuf, Vec<u8>)> {
    let root = tempfile::tempdir().unwrap();
    publish(fresh(root.path(), &planned()), &SHARDS)
}

/// A work directory with the first `sealed` shards durable, as a writer leaves it that dies there.
fn left(root: &Path, options: &WriterOptions, sealed: usize) {
    let mut durable = fresh(root, options);
    SHARDS[..sealed].iter().for_each(|samples| seal(&mut durable, *samples).unwrap());
    // Something that is not sealed, too.
    std::fs::write(root.join(".x.building/cache/fields/a/00009.shard"), "half").unwrap();
    std::fs::write(root.join(".x.building/cache/manifest.json"), "half").unwrap();
    if let Some(spill) = durable.spill() {
        let mut row = Vec::new();
        spill::encode(&[Cell::Int(0), Cell::Null], &mut row);
        spill.append(&row).unwrap();
        spill.mark().unwrap();
        spill.sync().unwrap();
    }
    durable.work.keep(true);
}

#[test]
fn a_dead_writer_is_gone_on_from_to_the_same_bytes() {
    let expected = uninterrupted();
    for sealed in 1..=4 {
        let root = tempfile::tempdir().unwrap();
        left(root.path(), &planned(), sealed);
        let durable = open(root.path(), &planned()).unwrap();
        assert_eq!((durable.resumed(), durable.samples()), (SHARDS[..sealed].iter().sum(), durable.resumed()));
        assert_eq!((durable.restarted(), durable.shards()), (None, sealed as u64));
        assert_eq!(names(&root.path().join(".x.building/cache")).unwrap(), ["fields"]);
        assert_eq!(names(&root.path().join(".x.building/cache/fields/a")).unwrap().len(), sealed);
        assert_eq!(publish(durable, &SHARDS), expected);
    }
}

#[test]
fn an_abort_keeps_what_is_durable_if_the_next_run_can_use_it() {
    let root = tempfile::tempdir().unwrap();
    let mut durable = fresh(root.path(), &planned());
    assert_eq!(durable.abort(), 0);
    assert!(names(root.path()).unwrap().is_empty());
    durable = fresh(root.path(), &planned());
    seal(&mut durable, 3).unwrap();
    assert_eq!(durable.abort(), 3);
    assert_eq!(open(root.path(), &planned()).unwrap().abort(), 3);
    assert_eq!(open(root.path(), &planned()).unwrap().resumed(), 3);
    let mut options = planned();
    options.fingerprint = None;
    let mut durable = open(root.path(), &options).unwrap();
    assert!(
        durable.is_fresh()
            && durable.restarted().unwrap().contains("discarded: the fingerprint changed since then (R062)")
    );
    durable.begin(vec![None, None]).unwrap();
    seal(&mut durable, 3).unwrap();
    assert_eq!(durable.abort(), 0);
    assert!(names(root.path()).unwrap().is_empty());
}

/// Counts syncs.
#[derive(Default)]
struct Syncs(AtomicUsize);

impl Observer for Syncs {
    fn operation(&self, operation: &Operation<'_>, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if matches!(operation, Operation::SyncFile { .. } | Operation::SyncDirectory { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        run()
    }
}

#[test]
fn a_run_that_is_interrupted_while_it_reads_what_was_left_leaves_it() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    for calls in 0..4 {
        let mut left = calls;
        let mut stop = || {
            left -= 1;
            if left < 0 { Err(Error::new(Kind::State, "stop")) } else { Ok(()) }
        };
        // Two shards are looked at, and the metadata of each is read.
        let error = Durable::open(Disk::default(), &root.path().join("x"), &planned(), &mut stop).err().unwrap();
        assert_eq!(error.message(), "stop");
    }
    assert_eq!(open(root.path(), &planned()).unwrap().resumed(), 5);
}

#[test]
fn an_abort_removes_what_is_half_written_and_syncs_nothing() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    let syncs = Arc::new(Syncs::default());
    let durable =
        Durable::open(Disk::observed(syncs.clone()), &root.path().join("x"), &planned(), &mut || Ok(())).unwrap();
    let half = root.path().join(".x.building/cache/fields/a/00002.shard");
    std::fs::write(&half, "half").unwrap();
    let before = syncs.0.load(Ordering::Relaxed);
    assert_eq!((durable.abort(), half.exists()), (5, false));
    assert_eq!(syncs.0.load(Ordering::Relaxed), before);
}

#[test]
fn durable_samples_are_an_error_until_somebody_says_what_becomes_of_them() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    let mut options = planned();
    options.earlier = Earlier::Ask;
    let ask = |options: &WriterOptions| open(root.path(), options).err().unwrap();
    let error = ask(&options);
    assert_eq!(error.kind(), Kind::Exists);
    for said in ["5 samples", "resume=True to go on", "resume=False", " s ago"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    options.samples_per_shard = 7;
    assert!(ask(&options).to_string().contains("discards them, too: samples_per_shard changed since then"));
    assert_eq!(open(root.path(), &planned()).unwrap().resumed(), 5);
    options.earlier = Earlier::Discard;
    let durable = open(root.path(), &options).unwrap();
    assert!(durable.is_fresh());
    assert!(durable.restarted().unwrap().starts_with("5 samples"), "{:?}", durable.restarted());
    drop(durable);
    assert!(names(root.path()).unwrap().is_empty());
}

#[test]
fn a_run_without_fingerprint_is_not_resumed_and_nobody_is_asked() {
    let root = tempfile::tempdir().unwrap();
    let mut options = planned();
    options.fingerprint = None;
    for earlier in [Earlier::Ask, Earlier::Resume] {
        left(root.path(), &options, 2);
        options.earlier = earlier;
        let durable = open(root.path(), &options).unwrap();
        assert!(durable.is_fresh() && durable.restarted().unwrap().contains("without fingerprint"));
    }
}

#[test]
fn another_plan_starts_over_and_says_in_what_it_differs() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    let mut options = planned();
    options.fields[0].0.dtype = DType::Int8;
    let durable = open(root.path(), &options).unwrap();
    assert!(durable.is_fresh());
    let said = durable.restarted().unwrap();
    assert!(said.contains("5 samples") && said.contains("field a (dtype) changed since then (R062)"), "{said}");
}

#[test]
fn a_cache_that_was_published_by_exchange_leaves_nothing_to_resume() {
    let root = tempfile::tempdir().unwrap();
    let mut options = planned();
    publish(fresh(root.path(), &options), &SHARDS[..1]);
    options.replace = true;
    options.earlier = Earlier::Ask;
    for shown in [false, true] {
        let mut durable = fresh(root.path(), &options);
        SHARDS[..2].iter().for_each(|samples| seal(&mut durable, *samples).unwrap());
        durable.complete(&mut || Ok(())).unwrap();
        if shown {
            show(&durable.work, true).unwrap();
            drop(durable);
            assert!(open(root.path(), &options).unwrap().is_fresh());
        } else {
            drop(durable);
            assert!(open(root.path(), &options).is_err(), "not shown yet, so it can be gone on with");
            options.earlier = Earlier::Resume;
            assert_eq!(open(root.path(), &options).unwrap().resumed(), 5);
            options.earlier = Earlier::Discard;
            drop(open(root.path(), &options).unwrap());
            options.earlier = Earlier::Ask;
        }
    }
}

#[test]
fn what_a_writer_left_that_died_just_after_publishing_is_tidied_up_and_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    let mut options = planned();
    tidy(&target, &mut || Ok(()));
    assert!(names(root.path()).unwrap().is_empty());
    for replace in [false, true] {
        options.replace = replace;
        let mut durable = fresh(root.path(), &options);
        seal(&mut durable, 3).unwrap();
        tidy(&target, &mut || Ok(()));
        durable.complete(&mut || Ok(())).unwrap();
        show(&durable.work, replace).unwrap();
        drop(durable);
        assert_eq!(names(root.path()).unwrap().len(), 2);
        tidy(&target, &mut || Ok(()));
        assert_eq!(names(root.path()).unwrap(), ["x"]);
    }
    options.fingerprint = Some("another".into());
    left(root.path(), &options, 2);
    tidy(&target, &mut || Ok(()));
    assert_eq!(open(root.path(), &options).unwrap().resumed(), 5);
}

#[test]
fn what_is_left_beside_a_target_is_told_and_not_touched() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    assert!(left_beside(&target).unwrap().is_none());
    let mut options = planned();
    left(root.path(), &options, 2);
    let before = names(&root.path().join(".x.building")).unwrap();
    let found = left_beside(&target).unwrap().unwrap();
    assert_eq!((found.samples, found.has_fingerprint, found.is_published), (5, true, false));
    assert!(found.path.ends_with(".x.building"));
    assert!(found.described.unwrap().starts_with("5 samples that an earlier run made durable"));
    assert_eq!(names(&root.path().join(".x.building")).unwrap(), before);
    // One that just began, while it is under way, and one that died when it had published.
    options.fingerprint = None;
    let mut durable = fresh(root.path(), &options);
    let found = left_beside(&target).unwrap().unwrap();
    assert_eq!((found.samples, found.has_fingerprint, found.is_published), (0, false, false));
    assert!(found.described.is_none());
    seal(&mut durable, 3).unwrap();
    durable.complete(&mut || Ok(())).unwrap();
    show(&durable.work, false).unwrap();
    let found = left_beside(&target).unwrap().unwrap();
    assert_eq!((found.samples, found.has_fingerprint, found.is_published), (3, false, true));
}

#[test]
fn a_target_that_is_refused_costs_no_durable_samples() {
    let root = tempfile::tempdir().unwrap();
    left(root.path(), &planned(), 2);
    std::fs::write(root.path().join("x"), "in the way").unwrap();
    assert_eq!(open(root.path(), &planned()).err().unwrap().kind(), Kind::Exists);
    std::fs::remove_file(root.path().join("x")).unwrap();
    assert_eq!(open(root.path(), &planned()).unwrap().resumed(), 5);
}

#[test]
fn an_error_says_what_is_kept_and_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let mut durable = fresh(root.path(), &planned());
    let full = || Error::io("writing y", std::io::Error::from_raw_os_error(28));
    assert!(
        durable.explain(full()).to_string().ends_with("no sample was durable yet, and nothing of this run is kept")
    );
    seal(&mut durable, 3).unwrap();
    let said = durable.explain(full()).to_string();
    assert!(
        said.ends_with("; 3 samples are durable, and the next run with the same plan goes on from there"),
        "{said}"
    );
    std::fs::write(root.path().join(".x.building/cache/fields/a/00001.shard"), "").unwrap();
    assert_eq!(seal(&mut durable, 3).unwrap_err().kind(), Kind::Io);
    std::fs::remove_dir_all(root.path().join(".x.building/cache/fields/b")).unwrap();
    std::fs::remove_file(root.path().join(".x.building/cache/fields/a/00001.shard")).unwrap();
    assert!(seal(&mut durable, 3).is_err());
}
