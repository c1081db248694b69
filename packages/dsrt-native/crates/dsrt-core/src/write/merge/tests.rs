use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::*;
use crate::dtype::DType;
use crate::field::{Codec, Field, FieldKind};
use crate::format::metadata::BATCH;
use crate::write::disk::{Observer, Operation};
use crate::write::options::tests::{field, options};
use crate::write::{Dictionary, Encoding, Record, Value as Cell, Writer, WriterOptions};

const DICTIONARY: &[u8] = b"the quick brown fox jumps over the lazy dog";

/// A fixed field, an indexed one, one with a dictionary, and columns.
fn plan() -> WriterOptions {
    let mut text = field("text", FieldKind::Text, DType::UInt8, Codec::ZstdDict);
    text.1.dictionary = Some(Dictionary::Body(DICTIONARY.to_vec()));
    let number = field("number", FieldKind::Dense([].into()), DType::Int32, Codec::Raw);
    let bytes = field("bytes", FieldKind::Bytes, DType::UInt8, Codec::Zstd);
    let mut plan = options(vec![number, bytes, text], &[("name", "string"), ("score", "float32"), ("good", "bool")]);
    plan.samples_per_shard = 3;
    plan
}

/// Writes the samples of those numbers.
fn write(target: &Path, mut plan: WriterOptions, numbers: std::ops::Range<u32>) {
    if numbers.len() > 1000 {
        plan.samples_per_shard = 1 << 20;
    }
    let mut writer = Writer::create(target, plan).unwrap();
    for i in numbers {
        let text = format!("the {i}th lazy dog");
        let name = format!("{i} is a name that does not lie in a view");
        let (number, length) = (i.to_le_bytes(), text.len() as u64);
        let records = [
            Record { bytes: &number, shape: &[] },
            Record { bytes: &number, shape: &[4] },
            Record { bytes: text.as_bytes(), shape: &[length] },
        ];
        let payload = f64::from(f32::from_bits(0x7fc0_0000 | i));
        let row = [
            if i % 7 == 0 { Cell::Null } else { Cell::Str(&name) },
            if i % 5 == 0 { Cell::Null } else { Cell::Float(payload) },
            Cell::Bool(i % 2 == 0),
        ];
        writer.append(&records, &row, &mut || Ok(())).unwrap();
    }
    writer.publish(&mut || Ok(())).unwrap();
}

fn settings(link: bool) -> MergeOptions {
    MergeOptions { link, fingerprint: None, attributes: Value::Object(Default::default()) }
}

fn merged(parts: &[PathBuf], target: &Path, link: bool) -> Result<Published> {
    merge(parts, target, settings(link), &mut || Ok(()))
}

/// Parts of 7, 0 and 4 samples.
fn parts(root: &Path) -> Vec<PathBuf> {
    let parts = [("p0", 0..7), ("p1", 7..7), ("p2", 7..11)].map(|(name, numbers)| {
        write(&root.join(name), plan(), numbers);
        root.join(name)
    });
    parts.to_vec()
}

fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// What becomes of the parts once `damage` was done; nothing else is there afterwards.
fn refused(root: &Path, parts: &[PathBuf], link: bool) -> Error {
    let before = names(root);
    let error = merged(parts, &root.join("all"), link).unwrap_err();
    assert_eq!(names(root), before, "{error}");
    error
}

/// Writes a byte of a file anew.
fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    replace(path, &bytes);
}

fn replace(path: &Path, bytes: &[u8]) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn place(error: &Error) -> (Option<u16>, Option<&str>, Option<u64>) {
    (error.rule_number(), error.place().field.as_deref(), error.place().shard)
}

#[test]
fn shards_are_linked_under_their_new_numbers_and_the_manifest_says_what_the_parts_did() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    let all = root.path().join("all");
    let published = merged(&parts, &all, true).unwrap();
    assert_eq!((published.samples, published.warnings.len()), (11, 0));
    let cache = Cache::open(&all, true).unwrap();
    let manifest = cache.manifest();
    assert_eq!((&*manifest.name, &*manifest.shards, manifest.digest), ("all", &[3, 3, 1, 3, 1][..], published.digest));
    for (old, new) in [("p0", 0), ("p0", 1), ("p0", 2), ("p2", 3), ("p2", 4)] {
        let number = if old == "p0" { new } else { new - 3 };
        for field in ["number", "bytes", "text"] {
            let from = root.path().join(format!("{old}/fields/{field}/{number:05}.shard"));
            let to = all.join(format!("fields/{field}/{new:05}.shard"));
            assert_eq!(inode(&from), inode(&to));
            assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o444);
        }
    }
    let dictionary = "fields/text/dictionary.bin";
    assert_eq!(inode(&all.join(dictionary)), inode(&parts[0].join(dictionary)));
    assert_eq!(names(&all), ["fields", "manifest.json", "metadata.arrow"]);
    write(&root.path().join("serial"), plan(), 0..11);
    let metadata = |name: &str| std::fs::read(root.path().join(name).join("metadata.arrow")).unwrap();
    assert_eq!(metadata("all"), metadata("serial"));
}

#[test]
fn metadata_has_the_bytes_of_a_serial_build_wherever_parts_end() {
    let root = tempfile::tempdir().unwrap();
    let batch = BATCH as u32;
    let ends = [0, 5, batch - 2, batch - 1, 2 * batch + 3];
    let mut parts = Vec::new();
    for (number, end) in ends.windows(2).enumerate() {
        let part = root.path().join(format!("p{number}"));
        write(&part, plan(), end[0]..end[1]);
        parts.push(part);
    }
    write(&root.path().join("serial"), plan(), 0..2 * batch + 3);
    merged(&parts, &root.path().join("all"), true).unwrap();
    let metadata = |name: &str| std::fs::read(root.path().join(name).join("metadata.arrow")).unwrap();
    assert!(metadata("all") == metadata("serial"), "the bytes differ");
    let manifest = |name: &str| Cache::open(&root.path().join(name), true).unwrap().manifest().metadata.clone();
    assert_eq!(manifest("all"), manifest("serial"));
}

#[test]
fn copies_are_equal_and_files_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    merged(&parts, &root.path().join("linked"), true).unwrap();
    merged(&parts, &root.path().join("copied"), false).unwrap();
    for field in ["number", "bytes", "text"] {
        let at = |cache: &str| root.path().join(cache).join("fields").join(field);
        assert_eq!(names(&at("copied")), names(&at("linked")));
        for name in names(&at("copied")) {
            let (copied, linked) = (at("copied").join(&name), at("linked").join(&name));
            assert_eq!(std::fs::read(&copied).unwrap(), std::fs::read(&linked).unwrap());
            assert_ne!(inode(&copied), inode(&linked));
            assert_eq!(std::fs::metadata(&copied).unwrap().permissions().mode() & 0o777, 0o444);
        }
    }
}

/// Stands in for a file system: what `instead` returns for an operation happens in its place.
struct Stand<F>(F);

impl<F: Fn(&Operation<'_>) -> Option<i32> + Send + Sync> Observer for Stand<F> {
    fn operation(&self, operation: &Operation<'_>, run: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        match (self.0)(operation) {
            Some(code) => Err(io::Error::from_raw_os_error(code)),
            None => run(),
        }
    }
}

fn merged_on(
    parts: &[PathBuf],
    target: &Path,
    instead: impl Fn(&Operation<'_>) -> Option<i32> + Send + Sync + 'static,
) -> Result<Published> {
    merge_on(Disk::observed(Arc::new(Stand(instead))), parts, target, settings(true), &mut || Ok(()))
}

#[test]
fn what_cannot_be_linked_is_copied() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    for (number, errno) in [Errno::XDEV, Errno::PERM, Errno::MLINK, Errno::OPNOTSUPP].into_iter().enumerate() {
        let code = errno.raw_os_error();
        let link = move |operation: &Operation<'_>| matches!(operation, Operation::Link { .. }).then_some(code);
        let all = root.path().join(format!("all{number}"));
        merged_on(&parts, &all, link).unwrap();
        assert_ne!(inode(&all.join("fields/text/00000.shard")), inode(&parts[0].join("fields/text/00000.shard")));
    }
    let full =
        |operation: &Operation<'_>| matches!(operation, Operation::Link { .. }).then_some(Errno::NOSPC.raw_os_error());
    let error = merged_on(&parts, &root.path().join("all"), full).unwrap_err();
    assert_eq!((error.kind(), error.os_code()), (Kind::Io, Some(28)));
    assert!(error.to_string().contains("linking "), "{error}");
}

#[test]
fn what_is_linked_is_made_durable() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    let files = Arc::new(Mutex::new((Vec::new(), Vec::new())));
    let seen = files.clone();
    let note = move |operation: &Operation<'_>| {
        let (linked, synced) = &mut *seen.lock().unwrap();
        match operation {
            Operation::Link { to, .. } => linked.push(to.to_path_buf()),
            Operation::SyncFile { path } => synced.push(path.to_path_buf()),
            // Nothing is shown before.
            Operation::Rename { .. } => assert!(linked.iter().all(|path| synced.contains(path))),
            _ => {}
        }
        None
    };
    merged_on(&parts, &root.path().join("all"), note).unwrap();
    assert!(files.lock().unwrap().0.len() > 10);
}

#[test]
fn any_operation_may_fail_and_the_next_merge_succeeds() {
    for link in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let parts = parts(root.path());
        let all = root.path().join("all");
        let mut failures = 0;
        for fails in 0.. {
            let count = Arc::new(AtomicUsize::new(0));
            let counted = count.clone();
            let disk = Disk::observed(Arc::new(Stand(move |_: &Operation<'_>| {
                (counted.fetch_add(1, Ordering::Relaxed) == fails).then_some(5)
            })));
            // Some failures do not matter: of a note for other writers, of tidying up.
            if let Err(error) = merge_on(disk, &parts, &all, settings(link), &mut || Ok(())) {
                failures += 1;
                assert_eq!((error.kind(), error.os_code()), (Kind::Io, Some(5)));
                assert!(!all.exists() || error.to_string().contains("is published"), "{error}");
            }
            if all.exists() {
                assert_eq!(Cache::open(&all, true).unwrap().len(), 11);
                std::fs::remove_dir_all(&all).unwrap();
            }
            if count.load(Ordering::Relaxed) < fails {
                break;
            }
        }
        assert!(failures > 30, "{failures} operations");
        merged(&parts, &all, link).unwrap();
        assert_eq!(names(root.path()), ["all", "p0", "p1", "p2"]);
    }
}

#[test]
fn a_part_that_is_cut_off_while_its_rows_are_brought_over_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("part"), plan(), 0..7);
    let cache = Cache::open(&root.path().join("part"), true).unwrap();
    let table = cache.table().unwrap();
    table.batches().unwrap();
    let spill = Spill::create(&Disk::default(), root.path().join("spill"), table.columns()).unwrap();
    // After its proof, and within its last page: what is cut off is the end of the footer, which was read.
    let file = std::fs::OpenOptions::new().write(true).open(root.path().join("part/metadata.arrow")).unwrap();
    let bytes = file.metadata().unwrap().len();
    let cut = &mut || file.set_len(bytes - 1).map_err(|e| Error::io("cutting", e));
    let error = Transfer::new(Disk::default(), false, cut).rows(&cache, &spill).unwrap_err();
    assert_eq!(error.rule_number(), Some(30));
    assert!(error.to_string().contains("/part"), "{error}");
}

#[test]
fn an_interrupt_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    let stop = &mut || Err(Error::new(Kind::State, "stop"));
    let error = merge(&parts, &root.path().join("deep/all"), settings(true), stop).unwrap_err();
    assert_eq!(error.to_string(), "stop");
    assert_eq!(names(root.path()), ["p0", "p1", "p2"]);
}

#[test]
fn a_link_in_a_part_is_followed() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    let shard = parts[0].join("fields/text/00001.shard");
    std::fs::rename(&shard, root.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../../../elsewhere", &shard).unwrap();
    let all = root.path().join("all");
    merged(&parts, &all, true).unwrap();
    let found = std::fs::symlink_metadata(all.join("fields/text/00001.shard")).unwrap();
    assert_eq!((found.is_file(), found.ino()), (true, inode(&root.path().join("elsewhere"))));
}

#[test]
fn a_file_that_is_swapped_after_it_was_checked_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    let swap = |operation: &Operation<'_>| {
        if let Operation::Link { from, .. } = operation
            && from.ends_with("p2/fields/bytes/00000.shard")
        {
            replace(from, b"another");
        }
        None
    };
    let error = merged_on(&parts, &root.path().join("all"), swap).unwrap_err();
    assert_eq!((error.kind(), place(&error)), (Kind::Stale, (None, Some("bytes"), Some(0))));
    assert_eq!(names(root.path()), ["p0", "p1", "p2"]);
}

#[test]
fn damaged_parts_are_named_with_cache_field_and_shard() {
    let shard = "fields/bytes/00001.shard";
    let damage = |link: bool, file: &str, damage: &dyn Fn(&Path)| {
        let root = tempfile::tempdir().unwrap();
        let parts = parts(root.path());
        damage(&parts[2].join(file));
        let error = refused(root.path(), &parts, link);
        assert_eq!(error.place().cache.as_deref(), parts[2].to_str());
        let (rule, field, shard) = place(&error);
        // What is found in the metadata is found by reading them.
        assert_eq!(error.kind(), if rule == Some(41) { Kind::Data } else { Kind::Format });
        (rule.unwrap(), field.map(str::to_owned), shard)
    };
    let at = |rule, shard| (rule, Some("bytes".to_owned()), Some(shard));
    for link in [true, false] {
        assert_eq!(damage(link, shard, &|path| std::fs::remove_file(path).unwrap()), at(30, 1));
        assert_eq!(damage(link, shard, &|path| replace(path, b"short")), at(30, 1));
        assert_eq!(damage(link, shard, &|path| flip(path, 16)), at(31, 1));
        assert_eq!(damage(link, "metadata.arrow", &|path| flip(path, 700)).0, 41);
        assert_eq!(damage(link, "manifest.json", &|path| flip(path, 100)).0, 3);
    }
    // The first part's dictionary is the one that is taken.
    for (byte, rule) in [(40, 31), (70, 40)] {
        let root = tempfile::tempdir().unwrap();
        let parts = parts(root.path());
        flip(&parts[0].join("fields/text/dictionary.bin"), byte);
        assert_eq!(place(&refused(root.path(), &parts, true)), (Some(rule), Some("text"), None));
    }
    // Only a copy looks into the payload, and into the index, which is the end of the file.
    for byte in [66, 90] {
        assert_eq!(damage(false, shard, &|path| flip(path, byte)), at(50, 1));
    }
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    flip(&parts[2].join(shard), 66);
    merged(&parts, &root.path().join("all"), true).unwrap();
}

#[test]
fn fields_that_differ_are_refused_and_a_dictionary_with_advice() {
    type Change = fn(&mut (Field, Encoding));
    let cases: [(usize, Change, &str); 8] = [
        (0, |f| f.0.name = "others".into(), "the fields are others, bytes, text, and those of"),
        (0, |f| f.0.dtype = DType::UInt32, "dtype uint32, and in"),
        (0, |f| f.0.kind = FieldKind::Dense([1].into()), "kind and shape dense([1]), and in"),
        (0, |f| f.0.kind = FieldKind::Ragged(1), "kind and shape ragged(1), and in"),
        (1, |f| f.0.codec = Codec::Raw, "codec raw, and in"),
        (1, |f| f.0.delta = 1, "delta 1, and in"),
        (2, |f| f.1.dictionary = Some(Dictionary::Body(vec![7; 43])), "train_dictionary makes it"),
        (2, |f| f.0.kind = FieldKind::Bytes, "kind and shape bytes, and in"),
    ];
    for (number, change, said) in cases {
        let root = tempfile::tempdir().unwrap();
        let parts = [root.path().join("a"), root.path().join("b")];
        write(&parts[0], plan(), 0..3);
        let mut other = plan();
        change(&mut other.fields[number]);
        Writer::create(&parts[1], other).unwrap().publish(&mut || Ok(())).unwrap();
        let error = refused(root.path(), &parts, true);
        assert_eq!((error.kind(), error.rule_number()), (Kind::Format, Some(70)));
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.place().cache.as_deref(), parts[1].to_str());
    }
}

#[test]
fn the_order_of_fields_is_that_of_the_first_part() {
    let root = tempfile::tempdir().unwrap();
    let parts = [root.path().join("a"), root.path().join("b")];
    let mut other = plan();
    other.fields.rotate_left(1);
    Writer::create(&parts[0], other).unwrap().publish(&mut || Ok(())).unwrap();
    write(&parts[1], plan(), 0..4);
    let all = root.path().join("all");
    merged(&parts, &all, true).unwrap();
    let cache = Cache::open(&all, true).unwrap();
    let order: Vec<_> = cache.manifest().fields.iter().map(|entry| &*entry.field.name).collect();
    assert_eq!(order, ["bytes", "text", "number"]);
    for name in order {
        let shard = |cache: &Path| inode(&cache.join(format!("fields/{name}/00001.shard")));
        assert_eq!(shard(&all), shard(&parts[1]));
    }
}

#[test]
fn columns_that_differ_are_refused() {
    for columns in [
        &[][..],
        &[("name", "string"), ("good", "bool"), ("score", "float32")],
        &[("name", "string"), ("score", "float64"), ("good", "bool")],
        &[("name", "string"), ("score", "float32")],
    ] {
        let root = tempfile::tempdir().unwrap();
        let parts = [root.path().join("a"), root.path().join("b")];
        write(&parts[0], plan(), 0..3);
        let other = WriterOptions { metadata: options(vec![], columns).metadata, ..plan() };
        Writer::create(&parts[1], other).unwrap().publish(&mut || Ok(())).unwrap();
        for order in [[0, 1], [1, 0]] {
            let error = refused(root.path(), &order.map(|place: usize| parts[place].clone()), true);
            assert_eq!((error.kind(), error.rule_number()), (Kind::Format, Some(71)));
            assert!(error.to_string().contains("name: string, score: float32, good: bool"), "{error}");
        }
    }
}

#[test]
fn a_part_is_given_once_unless_it_has_no_samples() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    let twice = [parts[0].clone(), parts[2].clone(), parts[0].clone()];
    let error = refused(root.path(), &twice, true);
    assert_eq!(error.rule_number(), Some(70));
    assert!(error.to_string().contains("given twice"), "{error}");
    let published = merged(&[parts[1].clone(), parts[1].clone()], &root.path().join("none"), true).unwrap();
    assert_eq!(published.samples, 0);
    let other = merged(&parts[..1], &root.path().join("one"), true).unwrap();
    assert_eq!(other.samples, 7);
}

#[test]
fn targets_that_are_there_and_names_that_no_cache_has_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let parts = parts(root.path());
    assert_eq!(merged(&parts, &parts[1], true).unwrap_err().kind(), Kind::Exists);
    assert_eq!(merged(&parts, &root.path().join("a b"), true).unwrap_err().kind(), Kind::Schema);
    assert_eq!(merged(&[], &root.path().join("all"), true).unwrap_err().kind(), Kind::Value);
    let missing = [parts[0].clone(), root.path().join("nowhere")];
    let error = merged(&missing, &root.path().join("all"), true).unwrap_err();
    assert_eq!((error.kind(), error.place().cache.as_deref()), (Kind::NotPublished, missing[1].to_str()));
    assert_eq!(names(root.path()), ["p0", "p1", "p2"]);
}

#[test]
fn parts_that_lie_where_the_whole_is_made_are_refused_and_stay() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    for part in [".all.building/cache", ".all.building/p0", "all/p0"] {
        std::fs::create_dir_all(at(part).parent().unwrap()).unwrap();
        write(&at(part), plan(), 0..4);
        let error = merged(&[at(part)], &at("all"), true).unwrap_err();
        assert_eq!(error.kind(), Kind::Value);
        assert!(error.to_string().contains(&format!("{part} lies in ")), "{error}");
        assert_eq!(Cache::open(&at(part), true).unwrap().manifest().samples, 4);
    }
}
