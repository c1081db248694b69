//! Runs that end half-way, and those that go on from there.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use proptest::prelude::*;

use super::pipeline::{append, differences, some_options};
use super::serial::{Random, cache};
use super::*;
use crate::write::Earlier;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_run_that_goes_on_gives_the_files_of_one_that_was_not_interrupted(
        seed: u64, count in 1..150usize, most in 1..2000u64, block_bytes in 1..20_000usize, ends in 1..4usize,
    ) {
        let mut random = Random(seed | 1);
        let mut options = some_options(&mut random, most);
        options.fingerprint = Some("the same".into());
        options.earlier = Earlier::Resume;
        let samples: Vec<_> = (0..count).map(|_| random.sample(&options, most)).collect();
        let (expected, shards) = cache(&options, &samples);
        let full = |samples: u64| {
            let ends = shards.iter().scan(0, |end, shard| { *end += shard; Some(*end) });
            // The last shard ends with the samples, so it may not be full.
            ends.take(shards.len() - 1).filter(|end| *end <= samples).last().unwrap_or(0)
        };
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("x");
        let mut kept = 0;
        for end in 0..=ends {
            options.threads = 1 + random.below(4) as usize;
            let mut writer = Writer::create(&target, options.clone()).unwrap();
            writer.open.as_mut().unwrap().block_bytes = block_bytes;
            prop_assert_eq!((writer.resumed(), writer.count(), writer.durable()), (kept, kept, kept));
            prop_assert_eq!(writer.restarted(), None);
            let rest = &samples[kept as usize..];
            if end == ends {
                append(&mut writer, &options, rest, &mut random);
                writer.publish(&mut || Ok(())).unwrap();
                break;
            }
            append(&mut writer, &options, &rest[..random.below(rest.len() as u64 + 1) as usize], &mut random);
            let appended = writer.count();
            let durable = writer.abort(&mut || Ok(()));
            prop_assert!(durable >= full(appended) && durable <= appended, "{durable} of {appended}");
            kept = durable;
        }
        let found = files(&target).into_iter().collect();
        prop_assert_eq!(differences(&found, &expected), Vec::<String>::new());
        prop_assert_eq!(names(root.path()), ["x"]);
    }
}

#[test]
fn a_trained_dictionary_is_used_by_the_runs_that_go_on() {
    let write = |ends: &[u64]| {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("x");
        let mut field = byte_field(Codec::ZstdDict);
        field.1.dictionary = Some(Dictionary::Train(256));
        let mut options = options(vec![field], &[]);
        options.fingerprint = Some("the same".into());
        options.earlier = Earlier::Resume;
        options.samples_per_shard = 300;
        for end in ends {
            let mut writer = Writer::create(&target, options.clone()).unwrap();
            for i in writer.count()..*end {
                let text = format!("record {i}, which is much like the {} others", i * 7 % 1000).into_bytes();
                writer.append(&[bytes(&text, &[text.len() as u64])], &[], &mut || Ok(())).unwrap();
            }
            match end {
                2000 => assert_eq!(writer.publish(&mut || Ok(())).unwrap().samples, 2000),
                // 25,600 bytes are held back before the first is stored.
                _ if *end < 600 => assert_eq!(writer.abort(&mut || Ok(())), 0),
                _ => assert_eq!(writer.abort(&mut || Ok(())), end / 300 * 300),
            }
        }
        files(&target)
    };
    let expected = write(&[2000]);
    assert!(write(&[1000, 2000]) == expected);
    assert!(write(&[100, 1000, 1001, 1999, 2000]) == expected);
}

/// Fails one operation on a file, and every later one, as a broken disk does.
struct Broken {
    left: std::sync::atomic::AtomicI64,
}

impl crate::write::Observer for Broken {
    fn operation(
        &self,
        _: &crate::write::Operation<'_>,
        run: &mut dyn FnMut() -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        match self.left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) {
            ..=0 => Err(std::io::Error::from_raw_os_error(5)),
            _ => run(),
        }
    }
}

#[test]
fn whatever_operation_fails_the_run_ends_with_its_error_and_the_next_one_completes() {
    let mut random = Random(3);
    let mut options = some_options(&mut random, 200);
    options.fingerprint = Some("the same".into());
    options.earlier = Earlier::Resume;
    options.samples_per_shard = 7;
    options.threads = 2;
    let samples: Vec<_> = (0..40).map(|_| random.sample(&options, 200)).collect();
    let expected = cache(&options, &samples).0;
    let mut failed = 0;
    for left in 0.. {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("x");
        let write = |disk: Disk| {
            let mut writer = Writer::create_on(disk, &target, options.clone())?;
            writer.open.as_mut().unwrap().block_bytes = 300;
            for sample in &samples[writer.count() as usize..] {
                writer.append(&sample.records(), &sample.row(), &mut || Ok(()))?;
            }
            writer.publish(&mut || Ok(()))
        };
        let disk = Disk::observed(std::sync::Arc::new(Broken { left: std::sync::atomic::AtomicI64::new(left) }));
        match write(disk) {
            // Where only the tidying up failed, the cache is there.
            Ok(published) if published.warnings.is_empty() => break,
            Ok(_) => {}
            Err(error) => {
                assert_eq!((error.kind(), error.os_code()), (Kind::Io, Some(5)), "{error}");
                failed += 1;
                if !target.exists() {
                    assert_eq!(write(Disk::default()).unwrap().samples, 40);
                }
            }
        }
        assert_eq!(differences(&files(&target).into_iter().collect(), &expected), Vec::<String>::new());
    }
    assert!(failed > 50, "{failed} operations");
}

/// A process that is killed beside the exchange of old and new cache: just before it, or just behind it.
struct Killed {
    exchanges: bool,
    dead: std::sync::atomic::AtomicBool,
}

impl crate::write::Observer for Killed {
    fn operation(
        &self,
        operation: &crate::write::Operation<'_>,
        run: &mut dyn FnMut() -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let is_exchange = matches!(operation, crate::write::Operation::Exchange { .. });
        if self.dead.fetch_or(is_exchange, std::sync::atomic::Ordering::SeqCst) || (is_exchange && !self.exchanges) {
            return Err(std::io::Error::from_raw_os_error(5));
        }
        run()
    }
}

#[test]
fn a_damaged_cache_is_not_taken_for_the_equal_one_that_is_to_replace_it() {
    let mut options = options(vec![byte_field(Codec::Raw)], &[("n", "int32")]);
    options.fingerprint = Some("the same".into());
    options.earlier = Earlier::Resume;
    options.samples_per_shard = 3;
    let write = |disk: Disk, target: &Path, replace| {
        let mut writer = Writer::create_on(disk, target, WriterOptions { replace, ..options.clone() })?;
        let resumed = (writer.resumed(), writer.restarted().map(str::to_owned));
        for i in writer.count()..10 {
            writer.append(&[bytes(&[i as u8; 40], &[40])], &[Value::Int(i.into())], &mut || Ok(()))?;
        }
        writer.publish(&mut || Ok(())).map(|_| resumed)
    };
    let remove = |shard: PathBuf| std::fs::remove_file(shard).unwrap();
    let change = |shard: PathBuf| {
        let mut bytes = std::fs::read(&shard).unwrap();
        bytes[100] ^= 1;
        std::fs::remove_file(&shard).unwrap();
        std::fs::write(shard, bytes).unwrap();
    };
    for damage in [&remove as &dyn Fn(PathBuf), &change, &|_| ()] {
        for exchanges in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let target = root.path().join("x");
            write(Disk::default(), &target, false).unwrap();
            let expected = files(&target);
            damage(target.join("fields/data/00001.shard"));
            let damaged = files(&target);
            let killed = Killed { exchanges, dead: false.into() };
            write(Disk::observed(std::sync::Arc::new(killed)), &target, true).unwrap_err();
            assert!(files(&target) == if exchanges { expected.clone() } else { damaged.clone() });
            // As `build` does it where it finds the cache that it was to make.
            crate::write::tidy(&target, &mut || Ok(()));
            let is_whole = exchanges || damaged == expected;
            assert_eq!(names(root.path()).len(), if is_whole { 1 } else { 2 });
            if !is_whole {
                assert_eq!(write(Disk::default(), &target, true).unwrap(), (10, None));
            }
            assert!(files(&target) == expected);
            assert_eq!(names(root.path()), ["x"]);
        }
    }
}

#[test]
fn an_interrupt_while_an_equal_cache_is_proven_leaves_all_as_it_is() {
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.fingerprint = Some("the same".into());
    options.earlier = Earlier::Resume;
    options.samples_per_shard = 3;
    let write = |disk: Disk, target: &Path, replace, stop: Interrupt<'_>| {
        let mut writer = Writer::start(disk, target, WriterOptions { replace, ..options.clone() }, stop)?;
        let resumed = writer.resumed();
        for _ in writer.count()..10 {
            writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(()))?;
        }
        writer.publish(&mut || Ok(())).map(|_| resumed)
    };
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("x");
    write(Disk::default(), &target, false, &mut || Ok(())).unwrap();
    let killed = Killed { exchanges: false, dead: false.into() };
    write(Disk::observed(Arc::new(killed)), &target, true, &mut || Ok(())).unwrap_err();
    // The lock is signed anew.
    let left = || files(root.path()).into_iter().filter(|(path, _)| !path.ends_with("lock")).collect::<Vec<_>>();
    let before = left();
    let mut stop = || Err(Error::new(Kind::State, "stop"));
    assert_eq!(write(Disk::default(), &target, true, &mut stop).unwrap_err().message(), "stop");
    crate::write::tidy(&target, &mut stop);
    assert!(left() == before);
    assert_eq!(write(Disk::default(), &target, true, &mut || Ok(())).unwrap(), 10);
    assert_eq!(names(root.path()), ["x"]);
}

#[test]
fn an_old_cache_that_was_exchanged_for_an_equal_one_is_gone_on_from_only_if_it_is_sound() {
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.fingerprint = Some("the same".into());
    options.earlier = Earlier::Resume;
    let write = |disk: Disk, target: &Path, replace| {
        let mut writer = Writer::create_on(disk, target, WriterOptions { replace, ..options.clone() })?;
        let resumed = writer.resumed();
        if writer.count() == 0 {
            writer.append(&[bytes(b"abc", &[3])], &[], &mut || Ok(()))?;
        }
        writer.publish(&mut || Ok(())).map(|_| resumed)
    };
    for is_sound in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("x");
        write(Disk::default(), &target, false).unwrap();
        let expected = files(&target);
        if !is_sound {
            std::fs::remove_file(target.join("fields/data/00000.shard")).unwrap();
        }
        let killed = Killed { exchanges: true, dead: false.into() };
        write(Disk::observed(std::sync::Arc::new(killed)), &target, true).unwrap_err();
        assert_eq!(write(Disk::default(), &target, true).unwrap(), u64::from(is_sound));
        assert!(files(&target) == expected);
        assert_eq!(names(root.path()), ["x"]);
    }
}

/// Holds a writer back where it creates its fourth shard.
#[derive(Default)]
struct Gate {
    is_reached: AtomicBool,
    is_open: AtomicBool,
}

impl crate::write::Observer for Gate {
    fn operation(
        &self,
        operation: &crate::write::Operation<'_>,
        run: &mut dyn FnMut() -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        if matches!(operation, crate::write::Operation::Create { path } if path.ends_with("00003.shard")) {
            self.is_reached.store(true, SeqCst);
            while !self.is_open.load(SeqCst) {
                std::thread::yield_now();
            }
            // What asked for that has to be heard first.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        run()
    }
}

#[test]
fn an_abort_that_is_interrupted_keeps_what_is_durable_and_waits_for_no_more() {
    let root = tempfile::tempdir().unwrap();
    let gate = Arc::new(Gate::default());
    let mut options = options(vec![byte_field(Codec::Raw)], &[]);
    options.fingerprint = Some("the same".into());
    options.samples_per_shard = 1;
    let mut writer = Writer::create_on(Disk::observed(gate.clone()), &root.path().join("x"), options).unwrap();
    let mut stop = || Err(Error::new(Kind::State, "stop"));
    // Until there is no room for more.
    while writer.append(&[bytes(b"abc", &[3])], &[], &mut stop).is_ok() {}
    let appended = writer.count();
    let kept = writer.abort(&mut || {
        if !gate.is_reached.load(SeqCst) {
            return Ok(());
        }
        gate.is_open.store(true, SeqCst);
        Err(Error::new(Kind::State, "stop"))
    });
    assert!(kept <= 3 && appended > 3, "{kept} of {appended}");
}
