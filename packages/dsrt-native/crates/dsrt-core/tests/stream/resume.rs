//! Stopped anywhere and gone on elsewhere.

use crate::support::*;
use dsrt_core::error::Kind;
use dsrt_core::load::{Last, Options, State};
use dsrt_core::order::Order;
use dsrt_core::rows::Weights;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_loaded_state_goes_on_with_the_very_next_batch(
        epoch_len in 4u64..40, batch in 1u64..4, stop in 0usize..30, seed: u64, threads in 1usize..4,
        order in proptest::sample::select(Order::ALL.to_vec()),
        last in proptest::sample::select(vec![Last::Drop, Last::Pad, Last::Short]),
    ) {
        let (_root, all) = counting(13);
        let weighted = all.with_weights(Weights::Given((0..13).map(f64::from).collect())).unwrap();
        let first = Options { order: Some(order), seed, epoch_len: Some(epoch_len), last: Some(last), ..options(batch) };
        let whole = alone(&weighted, first.clone()).unwrap();
        let expected: Vec<_> = (0..30).flat_map(|_| xs(&pass(&whole))).take(stop + 20).collect();

        let stopped = alone(&weighted, Options { threads, ..first.clone() }).unwrap();
        let mut seen = Vec::new();
        'all: loop {
            let pass = Pass::window();
            loop {
                if seen.len() == stop {
                    break 'all;
                }
                let Some(batch) = next(&stopped, &pass).unwrap() else { break };
                seen.push(numbers(&batch, "x"));
            }
        }
        let state = stopped.state().unwrap();
        stopped.close().unwrap();
        prop_assert_eq!(stopped.state().unwrap(), state.clone());

        let resumed = alone(&weighted, Options { threads: 4 - threads, prefetch: 9, ..first }).unwrap();
        prop_assert_eq!(resumed.load_state(&state, true).unwrap(), Vec::<String>::new());
        // As people resume: at most the rest of one epoch, then whole ones.
        while seen.len() < expected.len() {
            seen.extend(xs(&pass(&resumed)));
        }
        seen.truncate(expected.len());
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn the_stream_goes_on_with_another_batch_size_and_number_of_ranks(
        before in 1u64..6, after in 1u64..6, world in 1u64..4, steps in 0u64..6, seed: u64
    ) {
        let (_root, all) = counting(17);
        let first = alone(&all, Options { seed, ..options(before) }).unwrap();
        let begun = Pass::steps(Some(steps));
        let mut seen: Vec<u64> = xs(&rest(&first, &begun)).concat();
        let state = first.state().unwrap();
        prop_assert_eq!(state.position, before * steps);

        let ranks: Vec<_> = (0..world)
            .map(|rank| {
                let loader = ranked(&all, Options { seed, ..options(after) }, rank, world).unwrap();
                loader.load_state(&state, true).unwrap();
                let steps = Pass::steps(Some(4));
                xs(&rest(&loader, &steps))
            })
            .collect();
        seen.extend((0..4).flat_map(|step| ranks.iter().flat_map(move |rank| rank[step].clone())));

        let one = alone(&all, Options { seed, ..options(1) }).unwrap();
        let steps = Pass::steps(Some(seen.len() as u64));
        prop_assert_eq!(xs(&rest(&one, &steps)).concat(), seen);
    }
}

#[test]
fn a_state_holds_what_identifies_the_stream() {
    let (_root, all) = counting(5);
    let weighted = all.with_weights(Weights::Given(vec![1.0; 5])).unwrap();
    let loader = alone(&weighted, Options { seed: u64::MAX, epoch_len: Some(7), ..options(2) }).unwrap();
    let hex = |digest: [u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected = State {
        format: 1,
        order: "weighted".into(),
        seed: u64::MAX,
        position: 0,
        epoch_len: 7,
        n: 5,
        rows: hex(weighted.rows_digest()),
        weights: weighted.weights_digest().unwrap().map(hex),
        caches: vec![all.caches()[0].id()],
    };
    assert_eq!(loader.state().unwrap(), expected);
    let uniform = alone(&weighted, Options { order: Some(Order::Uniform), ..options(2) }).unwrap();
    assert_eq!(uniform.state().unwrap().weights, None, "they are not used");
}

#[test]
fn a_state_of_other_rows_is_refused_unless_only_its_position_is_wanted() {
    let (_root, all) = counting(5);
    let first = alone(&all, options(2)).unwrap();
    first.seek(9).unwrap();
    let state = first.state().unwrap();
    let other = alone(&all, Options { seed: 1, epoch_len: Some(4), ..options(2) }).unwrap();
    let error = other.load_state(&state, true).unwrap_err();
    assert_eq!(error.kind(), Kind::StateMismatch);
    let message = error.to_string();
    assert!(message.contains("seed: saved 0, here 1") && message.contains("epoch_len: saved 5, here 4"), "{message}");
    assert_eq!(other.position().unwrap(), 0, "nothing has changed");
    assert_eq!(other.load_state(&state, false).unwrap().len(), 2);
    assert_eq!(other.position().unwrap(), 9);
    assert!(!other.set_epoch(2).unwrap());
    assert_eq!(other.position().unwrap(), 9, "it lies in that window");
    assert!(other.set_epoch(0).unwrap(), "a loaded position is left");
    let impossible = State { position: 1 << 62, ..first.state().unwrap() };
    assert_eq!(first.load_state(&impossible, true).unwrap_err().kind(), Kind::StateMismatch);
}

#[test]
fn the_position_is_that_of_the_last_batch_handed_out_whatever_was_gathered_ahead() {
    let (_root, all) = counting(50);
    let loader = alone(&all, Options { prefetch: 20, ..options(2) }).unwrap();
    let pass = Pass::window();
    for step in 1..5 {
        next(&loader, &pass).unwrap().unwrap();
        while loader.stats().unwrap().queue_depth < 10 {
            std::thread::yield_now();
        }
        assert_eq!(loader.state().unwrap().position, step * 2);
    }
}

#[test]
fn new_weights_are_in_force_from_the_next_batch() {
    let (_root, all) = counting(4);
    let weighted = all.with_weights(Weights::Given(vec![1.0, 1.0, 0.0, 0.0])).unwrap();
    let fields = Some(vec!["x".into(), "weight".into()]);
    let loader = alone(&weighted, Options { epoch_len: Some(1000), prefetch: 8, fields, ..options(10) }).unwrap();
    let before = loader.state().unwrap();
    let pass = Pass::window();
    let seen = numbers(&next(&loader, &pass).unwrap().unwrap(), "x");
    assert!(seen.iter().all(|x| *x < 2));
    while loader.stats().unwrap().queue_depth < 8 {
        std::thread::yield_now();
    }
    loader.reweight(vec![0.0, 0.0, 2.0, 2.0]).unwrap();
    let batch = next(&loader, &pass).unwrap().unwrap();
    assert!(numbers(&batch, "x").iter().all(|x| *x >= 2));
    assert!(numbers(&batch, "weight").iter().all(|bits| f64::from_bits(*bits) == 2.0));
    assert_eq!(loader.position().unwrap(), 20, "the position goes on");
    assert_eq!(weighted.weights().unwrap().unwrap().to_vec(), [1.0, 1.0, 0.0, 0.0], "the population stays as it was");

    let error = loader.load_state(&before, true).unwrap_err();
    assert!(error.to_string().contains("weights (digest)") && !error.to_string().contains("rows (digest)"), "{error}");
    loader.reweight(vec![1.0, 1.0, 0.0, 0.0]).unwrap();
    loader.load_state(&before, true).unwrap();
}

#[test]
fn weights_that_cannot_be_are_refused_and_the_old_ones_stay() {
    let (_root, all) = counting(2);
    let weighted = all.with_weights(Weights::Given(vec![1.0, 0.0])).unwrap();
    let loader = alone(&weighted, options(2)).unwrap();
    let state = loader.state().unwrap();
    for bad in [vec![1.0], vec![0.0, 0.0], vec![1.0, f64::NAN]] {
        assert!(loader.reweight(bad).is_err());
    }
    assert_eq!(loader.state().unwrap(), state);
    assert_eq!(xs(&pass(&loader)), [[0, 0]]);
    let permuted = alone(&all, options(2)).unwrap();
    assert!(permuted.reweight(vec![1.0, 1.0]).unwrap_err().to_string().contains("permuted"));
}
