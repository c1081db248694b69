//! The corpus that fuzzing found worth keeping, gone through once, and what only forged caches show.

use std::path::Path;
use std::sync::Arc;

use super::forge::{Entry, Shard, directory};
use crate::batch::{Allocator, Buffer};
use crate::dtype::DType;
use crate::error::{Error, Kind, Result};
use crate::field::{Codec, Field, FieldKind};
use crate::format::shard::HEADER;
use crate::read::{Cache, Id, OnDamage, PayloadSource, Rows, Source, Threads, gather};

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

/// Memory that nobody should ask for.
struct Refused;

impl Allocator for Refused {
    fn allocate(&self, bytes: usize) -> Result<Box<dyn Buffer>> {
        Err(Error::new(Kind::Memory, format!("{bytes} bytes were asked for")))
    }
}

/// What reading the one record of a field says, of which this is stored.
fn refusal(codec: Codec, stored: &[u8], size: u64, damage: impl Fn(&Path)) -> Error {
    let field = Field { name: "x".into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec, delta: 0 };
    let entry = Entry { end: HEADER + stored.len() as u64, crc: 0, shape: size.to_le_bytes().to_vec() };
    let mut shard = Shard {
        field: &field,
        dictionary: (codec == Codec::ZstdDict).then_some(b"12345678"),
        entries: vec![entry],
        area: stored.to_vec(),
        flipped: 0,
        right_checksums: true,
        right_index: true,
    };
    shard.fit().unwrap();
    let root = directory();
    shard.write(root.path());
    damage(root.path());
    let cache = Cache::open(root.path(), true).unwrap();
    let source = PayloadSource::new([cache].into(), "x").unwrap();
    let columns: [(Arc<str>, Arc<dyn Source>); 1] = [("x".into(), Arc::new(source))];
    let ids = [Id { cache: 0, sample: 0 }];
    let rows = Rows { ids: &ids, rows: &[0], positions: &[0], valid: &[true], seed: 0, look: &|| Ok(()) };
    gather(&columns, &rows, &Refused, OnDamage::Raise, Threads::Given(1)).err().unwrap()
}

#[test]
fn no_memory_is_asked_for_by_the_word_of_a_frame() {
    // 2 GiB, within the bound on expansion, and blocks that hold nothing.
    let size = 1u64 << 31;
    let mut stored = [&[0x28, 0xB5, 0x2F, 0xFD, 0xE0][..], &size.to_le_bytes()].concat();
    stored.resize(1 << 16, 0);
    let error = refusal(Codec::Zstd, &stored, size, |_| ());
    assert_eq!((error.rule_number(), error.place().sample), (Some(37), Some(0)), "{error}");
    // The dictionary is judged before the blocks.
    let cut = |root: &Path| {
        let path = root.join("fields/x/dictionary.bin");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[70] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    assert_eq!(refusal(Codec::ZstdDict, &stored, size, cut).rule_number(), Some(40));
    assert_eq!(refusal(Codec::ZstdDict, &stored, size, |_| ()).rule_number(), Some(37));
}
