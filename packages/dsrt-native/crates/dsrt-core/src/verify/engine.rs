//! Threads that take jobs, and the calling thread that watches them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, scope};
use std::time::{Duration, Instant};

use super::control::Control;
use crate::error::{Error, Kind, Result};

/// How often the calling thread looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(10);

/// Memory that a thread uses for one file after the other.
#[derive(Default)]
pub(super) struct Scratch {
    /// A piece of the file.
    pub piece: Vec<u8>,
    /// Its index.
    pub index: Vec<u8>,
    /// A stored record that lies in several pieces.
    pub stored: Vec<u8>,
    /// A decoded record.
    pub decoded: Vec<u8>,
}

/// Does `work` for each of `jobs`, on up to that many threads but at least one, which have all ended when this returns.
/// `each` is handed what comes of it on the calling thread, in any order; threads wait for it. The first error of `work`
/// or of `look`, which is called every few milliseconds, ends all of it.
pub(super) fn run<T: Send>(
    jobs: &[usize],
    threads: usize,
    control: &Control,
    look: &mut dyn FnMut() -> Result<()>,
    work: impl Fn(usize, &mut Scratch) -> Result<T> + Sync,
    mut each: impl FnMut(usize, T),
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let take = |done: SyncSender<(usize, Result<T>)>| {
        let mut scratch = Scratch::default();
        loop {
            let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            if control.check().is_err() || done.send((*job, work(*job, &mut scratch))).is_err() {
                return;
            }
        }
    };
    scope(|scope| {
        let threads = threads.max(1).min(jobs.len());
        // Whoever watches may take its time, and what is found meanwhile is not to fill the memory.
        let (send, receive) = sync_channel(threads);
        let mut failed = None;
        let mut started = Vec::new();
        for _ in 0..threads {
            let send = send.clone();
            match Builder::new().name("dsrt-verify".into()).spawn_scoped(scope, || take(send)) {
                Ok(thread) => started.push(thread),
                Err(error) => {
                    // With fewer threads it takes longer; without any there is no going on.
                    if started.is_empty() {
                        failed = Some(Error::io("cannot start a thread", error));
                    }
                    break;
                }
            }
        }
        drop(send);
        let mut due = Instant::now();
        loop {
            let end = match receive.recv_timeout(LOOK) {
                Ok((job, Ok(done))) => {
                    each(job, done);
                    None
                }
                Ok((_, Err(error))) => Some(error),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Some(error) = end {
                control.stop();
                failed.get_or_insert(error);
            }
            if failed.is_none() && Instant::now() >= due {
                due = Instant::now() + LOOK;
                if let Err(error) = look() {
                    control.stop();
                    failed = Some(error);
                }
            }
        }
        // The scope itself would wait for the end of the work, and not of the threads.
        for thread in started {
            if thread.join().is_err() {
                failed.get_or_insert_with(|| Error::new(Kind::Internal, "a thread that verifies panicked"));
            }
        }
        failed.map_or(Ok(()), Err)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_whatever_the_threads() {
        let jobs: Vec<_> = (0..100).rev().collect();
        // None is one, for who asks for none wants it done all the same.
        for threads in [0, 1, 2, 5] {
            let mut done = vec![0; 100];
            let control = Control::new(None);
            run(
                &jobs,
                threads,
                &control,
                &mut || Ok(()),
                |job, _| Ok(job * 2),
                |job, twice| {
                    assert_eq!(twice, 2 * job);
                    done[job] += 1;
                },
            )
            .unwrap();
            assert!(done.iter().all(|times| *times == 1));
        }
    }

    #[test]
    fn the_first_error_ends_all() {
        let control = Control::new(None);
        let fails = |job, _: &mut Scratch| {
            if job == 3 { Err(Error::new(Kind::Memory, "no memory")) } else { control.check() }
        };
        let jobs: Vec<_> = (0..1 << 20).collect();
        let ended = run(&jobs, 2, &control, &mut || Ok(()), fails, |_, ()| ());
        assert_eq!(ended.unwrap_err().kind(), Kind::Memory);
    }

    #[test]
    fn whoever_watches_can_end_it() {
        let control = Control::new(None);
        let wait = |_, _: &mut Scratch| {
            while control.check().is_ok() {
                std::thread::sleep(Duration::from_millis(1));
            }
            control.check()
        };
        let mut looks = 0;
        let mut look = || {
            looks += 1;
            if looks == 3 { Err(Error::new(Kind::Value, "enough")) } else { Ok(()) }
        };
        assert_eq!(run(&[0; 5], 2, &control, &mut look, wait, |_, ()| ()).unwrap_err().kind(), Kind::Value);
    }
}
