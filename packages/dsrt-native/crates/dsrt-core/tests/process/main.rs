//! What a loader does to its process: threads, and forks. One test, so that it has the process for itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![cfg(target_os = "linux")]

#[path = "../stream/support.rs"]
#[expect(dead_code, reason = "other tests need more of it")]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dsrt_core::load::{Next, Options};
use dsrt_core::order::Order;
use support::*;

unsafe extern "C" {
    safe fn fork() -> i32;
    safe fn _exit(code: i32) -> !;
}

/// Threads of loaders in this process, by their names.
fn loader_threads() -> usize {
    let is_loader = |task: &std::fs::DirEntry| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("dsrt-load"))
    };
    std::fs::read_dir("/proc/self/task").unwrap().flatten().filter(is_loader).count()
}

/// Waits for that number: a thread takes its name when it begins to run, and is in the list a moment longer than it runs.
fn await_threads(count: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while loader_threads() != count {
        assert!(Instant::now() < deadline, "{} threads of loaders instead of {count}", loader_threads());
        std::thread::yield_now();
    }
}

/// How a child ended.
fn exit_status(child: i32) -> Option<i32> {
    let child = rustix::process::Pid::from_raw(child);
    let (_, status) = rustix::process::waitpid(child, rustix::process::WaitOptions::empty()).unwrap().unwrap();
    status.exit_status()
}

#[test]
fn threads_start_at_the_first_batch_and_a_forked_child_has_its_own() {
    let (_root, all) = counting(400);
    let options = Options { order: Some(Order::Sequential), threads: 3, prefetch: 5, ..options(4) };
    let loader = alone(&all, options).unwrap();
    let pass = Pass::window();
    assert_eq!((loader.window_steps().unwrap(), loader_threads()), (100, 0), "none before the first next()");
    assert_eq!(numbers(&next(&loader, &pass).unwrap().unwrap(), "x"), [0, 1, 2, 3]);
    await_threads(3);

    // Many forks, so that some fall into moments in which the parent's threads hold locks.
    for round in 1..=30 {
        let step = round * 4;
        let child = fork();
        if child == 0 {
            let ok = catch_unwind(AssertUnwindSafe(|| {
                assert_eq!(loader_threads(), 0);
                assert_eq!((loader.position().unwrap(), loader.stats().unwrap().queue_depth), (step, 0));
                for start in [step, step + 4, step + 8] {
                    let batch = next(&loader, &pass).unwrap().unwrap();
                    assert_eq!(numbers(&batch, "x"), [start, start + 1, start + 2, start + 3]);
                }
                await_threads(3);
                loader.seek(0).unwrap();
                assert_eq!(xs(&support::pass(&loader)).len(), 100);
                loader.close().unwrap();
                await_threads(0);
            }));
            _exit(if ok.is_ok() { 7 } else { 8 });
        }
        assert_eq!(exit_status(child), Some(7), "round {round}");
        // The parent goes on as if nothing had happened.
        assert_eq!(numbers(&next(&loader, &pass).unwrap().unwrap(), "x")[0], step);
    }

    // A child that only leaves drops the parent's loader without a wait.
    let child = fork();
    if child == 0 {
        drop(loader);
        _exit(7);
    }
    assert_eq!(exit_status(child), Some(7));
    assert!(matches!(loader.next(&pass, Duration::from_secs(60)).unwrap(), Next::Batch(_)));
    drop(loader);
    await_threads(0);
}
