//! The stream a loader gives is the order's, whatever the batch size, the ranks, the threads and the bounds.

use std::sync::Arc;

use crate::support::*;
use dsrt_core::load::{Last, Options};
use dsrt_core::order::{Order, Sampler, sample_seed};
use dsrt_core::rows::{Population, Wanted, Weights};
use proptest::prelude::*;

fn any_order() -> impl Strategy<Value = Order> {
    proptest::sample::select(Order::ALL.to_vec())
}

fn any_last() -> impl Strategy<Value = Last> {
    proptest::sample::select(vec![Last::Drop, Last::Pad])
}

/// Positions of one pass, in the order of the stream over all ranks, with their rows, values, seeds and validity.
fn window(population: &Population, options: &Options, world: u64, epoch: u64) -> Vec<[u64; 5]> {
    let mut ranks: Vec<_> = (0..world)
        .map(|rank| {
            let loader = ranked(population, options.clone(), rank, world).unwrap();
            loader.set_epoch(epoch).unwrap();
            pass(&loader).into_iter()
        })
        .collect();
    let mut all = Vec::new();
    while let Some(batches) = ranks.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>() {
        for batch in batches {
            let columns = ["_position", "_row", "x", "_seed", "_valid"].map(|name| numbers(&batch, name));
            all.extend((0..batch.len).map(|place| columns.each_ref().map(|column| column[place])));
        }
    }
    assert!(ranks.iter_mut().all(|rank| rank.next().is_none()), "every rank has as many steps");
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn ranks_in_order_are_the_stream(
        rows in proptest::collection::vec(0u64..30, 1..40), epoch_len in 1u64..50, batch in 1u64..9, world in 1u64..4,
        order in any_order(), last in any_last(), seed: u64, epoch in 0u64..5, threads in 1usize..5, prefetch in 1usize..5,
        max_bytes in proptest::sample::select(vec![0usize, 300, 1 << 20]),
    ) {
        let group = batch * world;
        prop_assume!(last == Last::Pad || group <= epoch_len);
        let (_root, all) = counting(30);
        let weights: Vec<f64> = rows.iter().map(|row| (row % 5) as f64 + f64::from(u8::from(*row == rows[0]))).collect();
        let given = Weights::Given(weights.clone());
        let population = Population::new(all.caches().to_vec(), Some(rows.clone()), given, vec![]).unwrap();
        let fields = Some(["x", "_position", "_row", "_seed", "_valid"].map(Wanted::from).into());
        let options = Options {
            order: Some(order), seed, epoch_len: Some(epoch_len), last: Some(last), fields, threads, prefetch, max_bytes,
            ..options(batch)
        };
        let sampler = Sampler::new(order, seed, rows.len() as u64, Some(&weights)).unwrap();
        let found = window(&population, &options, world, epoch);

        let start = epoch * epoch_len;
        let valid: Vec<u64> = found.iter().filter(|element| element[4] == 1).map(|element| element[0]).collect();
        let count = if last == Last::Drop { epoch_len / group * group } else { epoch_len };
        prop_assert!(valid.into_iter().eq(start..start + count));
        prop_assert_eq!(found.len() as u64, count.next_multiple_of(group));
        for (place, [position, row, x, sample, valid]) in found.into_iter().enumerate() {
            let padding = (place as u64).checked_sub(count).filter(|_| valid == 0);
            prop_assert_eq!(position, start + padding.map_or(place as u64, |padding| padding % epoch_len));
            let mut expected = [0];
            sampler.rows(&[position], &mut expected);
            prop_assert_eq!((row, x), (expected[0], rows[expected[0] as usize]));
            prop_assert_eq!(sample, sample_seed(seed, position));
        }
    }
}

#[test]
fn two_loaders_of_one_population_do_not_disturb_each_other() {
    let (_root, all) = counting(40);
    let loaders = [1, 2].map(|seed| alone(&all, Options { seed, ..options(4) }).unwrap());
    let passes = [Pass::window(), Pass::window()];
    let mut seen = [vec![], vec![]];
    for _ in 0..10 {
        for (which, seen) in seen.iter_mut().enumerate() {
            seen.extend(numbers(&next(&loaders[which], &passes[which]).unwrap().unwrap(), "x"));
        }
    }
    assert_ne!(seen[0], seen[1]);
    for seen in &mut seen {
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(0..40));
    }
}

#[test]
fn a_loader_may_go_from_thread_to_thread() {
    let (_root, all) = counting(12);
    let loader = Arc::new(alone(&all, Options { order: Some(Order::Sequential), ..options(4) }).unwrap());
    let pass = Arc::new(Pass::window());
    let mut seen = Vec::new();
    for _ in 0..3 {
        let (loader, pass) = (loader.clone(), pass.clone());
        let batch = std::thread::spawn(move || next(&loader, &pass).unwrap().unwrap()).join().unwrap();
        seen.extend(numbers(&batch, "x"));
    }
    assert!(seen.into_iter().eq(0..12));
}
