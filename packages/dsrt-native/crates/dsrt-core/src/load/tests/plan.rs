//! Steps, windows and their ends.

use crate::error::Kind;
use crate::load::plan::{Last, POSITION_LIMIT, Run, Step, window_steps};
use crate::order::Order;
use proptest::prelude::*;

/// Every element of a step, over all ranks: (position, valid).
fn elements(step: &Step) -> Vec<(u64, bool)> {
    let all = step.elements(0, step.len).unwrap();
    all.positions.iter().copied().zip(all.valid.iter().copied()).collect()
}

fn window(window: u64, position: u64, epoch_len: u64, group: u64, last: Last) -> Vec<Step> {
    Run::window(window, position, epoch_len, group, last).unwrap().collect()
}

fn valid(from: u64, to: u64) -> Vec<(u64, bool)> {
    (from..to).map(|position| (position, true)).collect()
}

#[test]
fn the_last_step_of_a_dropping_window_moves_on_to_the_next_one() {
    let steps = window(0, 0, 10, 4, Last::Drop);
    assert_eq!(steps.iter().map(|s| (s.position, s.take, s.next)).collect::<Vec<_>>(), [(0, 4, 4), (4, 4, 10)]);
    let exact = window(0, 0, 8, 4, Last::Drop);
    assert_eq!(exact.iter().map(|s| s.next).collect::<Vec<_>>(), [4, 8]);
}

#[test]
fn a_dropping_window_with_less_than_a_step_left_is_empty_and_stands_at_its_end() {
    let run = Run::window(0, 7, 10, 4, Last::Drop).unwrap();
    assert_eq!((run.position, run.count()), (10, 0));
    assert_eq!(window(0, 6, 10, 4, Last::Drop).len(), 1);
}

#[test]
fn padding_repeats_the_window_from_its_start() {
    let steps = window(1, 10, 10, 4, Last::Pad);
    assert_eq!(steps.len(), 3);
    assert_eq!(elements(&steps[2]), [(18, true), (19, true), (10, false), (11, false)]);
    assert_eq!((steps[2].take, steps[2].next), (2, 20));
}

#[test]
fn padding_goes_round_and_round_a_window_that_is_shorter_than_a_step() {
    let steps = window(2, 6, 3, 8, Last::Pad);
    assert_eq!(steps.len(), 1);
    let positions: Vec<u64> = elements(&steps[0]).into_iter().map(|(position, _)| position).collect();
    assert_eq!(positions, [6, 7, 8, 6, 7, 8, 6, 7]);
    assert_eq!(steps[0].take, 3);
}

#[test]
fn padding_begins_at_the_start_of_the_window_even_when_the_pass_did_not() {
    let steps = window(0, 9, 10, 4, Last::Pad);
    assert_eq!(elements(&steps[0]), [(9, true), (0, false), (1, false), (2, false)]);
}

#[test]
fn a_short_step_holds_what_is_left() {
    let steps = window(0, 0, 10, 4, Last::Short);
    assert_eq!(elements(&steps[2]), [(8, true), (9, true)]);
    assert_eq!((steps[2].len, steps[2].next), (2, 10));
}

#[test]
fn steps_run_across_windows_and_nothing_is_dropped_or_padded() {
    let steps: Vec<Step> = Run::endless(7, 10, 4, Some(3)).unwrap().collect();
    let all: Vec<_> = steps.iter().flat_map(elements).collect();
    assert_eq!(all, valid(7, 19));
    assert_eq!(Run::endless(0, 10, 4, Some(0)).unwrap().count(), 0);
    assert_eq!(Run::endless(0, 2, 4, None).unwrap().take(5).last().unwrap().next, 20);
}

#[test]
fn nothing_leads_beyond_the_last_position() {
    let end = POSITION_LIMIT;
    assert!(Run::endless(end - 4, 10, 4, None).is_err());
    assert!(Run::endless(end - 4, 10, 4, Some(1)).is_err());
    assert_eq!(Run::endless(end - 5, 10, 4, Some(1)).unwrap().count(), 1);
    assert_eq!(Run::endless(end - 10, 10, 4, None).unwrap().last().unwrap().next, end - 2);
    assert!(Run::endless(0, 10, 4, Some(u64::MAX)).is_err());
    assert!(Run::window(1, end / 2, end / 2, 4, Last::Pad).is_err());
    assert!(Run::window(u64::MAX, 0, 4, 4, Last::Pad).is_err());
    assert_eq!(Run::window(0, end - 9, end - 1, 4, Last::Drop).unwrap().last().unwrap().next, end - 1);
}

#[test]
fn the_number_of_steps_is_that_of_a_whole_window() {
    assert_eq!(window_steps(10, 4, Last::Drop).unwrap(), 2);
    assert_eq!(window_steps(10, 4, Last::Pad).unwrap(), 3);
    assert_eq!(window_steps(10, 4, Last::Short).unwrap(), 3);
    assert_eq!(window_steps(3, 4, Last::Pad).unwrap(), 1);
    let message = window_steps(3, 4, Last::Drop).unwrap_err().to_string();
    assert!(message.contains('3') && message.contains('4') && message.contains("drop"), "{message}");
}

#[test]
fn ends_default_to_what_people_mean() {
    for order in [Order::Uniform, Order::Weighted, Order::Permuted] {
        assert_eq!(Last::default_for(order, 1), Last::Drop);
        assert_eq!(Last::default_for(order, 8), Last::Drop);
    }
    assert_eq!(Last::default_for(Order::Sequential, 1), Last::Short);
    assert_eq!(Last::default_for(Order::Sequential, 2), Last::Pad);
    assert!(Last::ALL.into_iter().all(|last| Last::parse(last.name()) == Some(last)));
}

#[test]
fn a_batch_too_large_to_plan_is_a_memory_error() {
    let step = Run::endless(0, 1, 1 << 61, Some(1)).unwrap().next().unwrap();
    assert_eq!(step.elements(0, 1 << 61).err().unwrap().kind(), Kind::Memory);
}

fn any_last() -> impl Strategy<Value = Last> {
    prop_oneof![Just(Last::Drop), Just(Last::Pad), Just(Last::Short)]
}

proptest! {
    #[test]
    fn a_pass_gives_the_rest_of_its_window_in_order(
        epoch in 0u64..1 << 40, epoch_len in 1u64..60, start in 0u64..60, batch in 1u64..9, world in 1u64..5, last in any_last()
    ) {
        let world = if last == Last::Short { 1 } else { world };
        let group = batch * world;
        let position = epoch * epoch_len + start % epoch_len;
        let end = (epoch + 1) * epoch_len;
        let steps = window(epoch, position, epoch_len, group, last);

        let mut stream = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            // The ranks' batches in rank order are the step.
            let ranks: Vec<_> = (0..world).map(|rank| step.elements(rank * batch, batch).unwrap()).collect();
            let joined: Vec<_> = ranks
                .iter()
                .flat_map(|e| e.positions.iter().copied().zip(e.valid.iter().copied()))
                .collect();
            prop_assert_eq!(&joined, &elements(step));
            if last != Last::Short {
                prop_assert!(ranks.iter().all(|e| e.positions.len() as u64 == batch));
            }
            prop_assert!(joined.iter().all(|(p, _)| p / epoch_len == epoch));
            prop_assert_eq!(step.next, steps.get(i + 1).map_or(end, |after| after.position));
            stream.extend(joined);
        }
        let kept: Vec<_> = stream.iter().copied().filter(|(_, valid)| *valid).collect();
        let left = end - position;
        let whole = if last == Last::Drop { left - left % group } else { left };
        prop_assert_eq!(kept, valid(position, position + whole));
        if position % epoch_len == 0 && (last != Last::Drop || epoch_len >= group) {
            prop_assert_eq!(steps.len() as u64, window_steps(epoch_len, group, last).unwrap());
        }
        // Going on from any step's end gives what would have followed.
        for (i, step) in steps.iter().enumerate().filter(|(_, step)| step.next < end) {
            prop_assert_eq!(&window(epoch, step.next, epoch_len, group, last), &steps[i + 1..]);
        }
    }
}
