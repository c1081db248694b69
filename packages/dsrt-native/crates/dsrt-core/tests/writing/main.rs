//! What a writer does to its process: threads, and forks. One test, so that it has the process for itself.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(target_os = "linux")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dsrt_core::dtype::DType;
use dsrt_core::field::{Codec, Field, FieldKind};
use dsrt_core::format::json::Value as Json;
use dsrt_core::write::{Earlier, Encoding, Record, Writer, WriterOptions};
use dsrt_core::{Kind, Result};

unsafe extern "C" {
    safe fn fork() -> i32;
    safe fn _exit(code: i32) -> !;
}

/// Threads of writers in this process, by their names.
fn writer_threads() -> usize {
    let is_writers = |task: &std::fs::DirEntry| {
        let name = std::fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.starts_with("dsrt-write") || name.starts_with("dsrt-seal"))
    };
    std::fs::read_dir("/proc/self/task").unwrap().flatten().filter(is_writers).count()
}

/// Waits for that: a thread takes its name when it begins to run, and is in the list a moment longer than it runs.
fn eventually(what: &str, holds: impl Fn(usize) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds(writer_threads()) {
        assert!(Instant::now() < deadline, "{} threads of writers: {what}", writer_threads());
        std::thread::yield_now();
    }
}

fn append(writer: &mut Writer, bytes: &[u8]) -> Result<()> {
    writer.append(&[Record { bytes, shape: &[bytes.len() as u64] }], &[], &mut || Ok(()))
}

#[test]
fn threads_start_with_the_first_block_and_a_forked_child_leaves_them_alone() {
    let root = tempfile::tempdir().unwrap();
    let field =
        |name: &str, codec| Field { name: name.into(), kind: FieldKind::Bytes, dtype: DType::UInt8, codec, delta: 0 };
    let options = WriterOptions {
        fields: vec![(field("x", Codec::Zstd), Encoding { level: 3, dictionary: None })],
        metadata: Vec::new(),
        fingerprint: Some("given".into()),
        attributes: Json::Object(Default::default()),
        samples_per_shard: 50,
        shard_bytes: 1 << 28,
        replace: false,
        threads: 3,
        earlier: Earlier::Ask,
    };
    let mut writer = Writer::create(&root.path().join("x"), options.clone()).unwrap();
    append(&mut writer, &[1; 100]).unwrap();
    assert_eq!(writer_threads(), 0, "none before the first block is full");
    let record: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    // Many forks, so that some fall into moments in which the parent's threads hold locks.
    for round in 0..20 {
        (0..15).for_each(|_| append(&mut writer, &record).unwrap());
        eventually("some, and no more than asked for", |found| (1..=4).contains(&found));
        let child = fork();
        if child == 0 {
            let ok = catch_unwind(AssertUnwindSafe(|| {
                assert_eq!(append(&mut writer, &record).unwrap_err().kind(), Kind::State);
                drop(writer);
            }));
            _exit(if ok.is_ok() { 7 } else { 8 });
        }
        let child = rustix::process::Pid::from_raw(child);
        let (_, status) = rustix::process::waitpid(child, rustix::process::WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(7), "round {round}");
    }
    // The parent goes on as if nothing had happened: 301 samples, of which 300 fill shards.
    assert_eq!(writer.abort(&mut || Ok(())), 300);
    eventually("none after the end", |found| found == 0);
    let writer = Writer::create(&root.path().join("x"), WriterOptions { earlier: Earlier::Resume, ..options }).unwrap();
    assert_eq!(writer.publish(&mut || Ok(())).unwrap().samples, 300);
    eventually("none after the publication", |found| found == 0);
}
