//! The stream, sentence by sentence of its specification.

use super::*;
use crate::error::Kind;
use crate::load::plan::POSITION_LIMIT;

#[test]
fn the_epoch_is_the_position_by_the_epoch_length() {
    let mut s = stream();
    for (position, epoch) in [(0, 0), (9, 0), (10, 1), (POSITION_LIMIT - 1, (POSITION_LIMIT - 1) / 10)] {
        s.seek(position).unwrap();
        assert_eq!((s.position(), s.epoch()), (position, epoch));
    }
}

#[test]
fn handing_out_a_batch_moves_the_position() {
    let mut s = stream();
    let number = s.begin_pass(G, Last::Pad).unwrap();
    assert_eq!(s.position(), 0);
    assert!(step(&mut s, number));
    assert_eq!(s.position(), 4);
}

#[test]
fn a_state_saved_after_the_last_batch_of_a_dropping_epoch_stands_in_the_next_one() {
    let mut s = stream();
    let number = s.begin_pass(G, Last::Drop).unwrap();
    assert_eq!(steps(&mut s, number, 2), [0, 4]);
    assert_eq!((s.position(), s.epoch()), (10, 1));
    assert!(!step(&mut s, number));
}

#[test]
fn passes_go_from_window_to_window() {
    let mut s = stream();
    assert_eq!(pass(&mut s, Last::Drop), [0, 4]);
    assert_eq!(pass(&mut s, Last::Drop), [10, 14]);
    assert_eq!(pass(&mut s, Last::Pad), [20, 24, 28]);
    assert_eq!(s.position(), 30);
}

#[test]
fn the_pass_after_an_abandoned_one_takes_the_next_window_from_its_start() {
    let mut s = stream();
    let first = s.begin_pass(G, Last::Drop).unwrap();
    assert_eq!(steps(&mut s, first, 1), [0]);
    assert_eq!(s.position(), 4, "a break leaves the position where it is");
    assert_eq!(pass(&mut s, Last::Drop), [10, 14]);
}

#[test]
fn a_peek_uses_up_its_window() {
    let mut s = stream();
    let peek = s.begin_pass(G, Last::Drop).unwrap();
    assert!(step(&mut s, peek));
    assert_eq!(pass(&mut s, Last::Drop), [10, 14]);
    s.seek(0).unwrap();
    assert_eq!(pass(&mut s, Last::Drop), [0, 4]);
}

#[test]
fn a_pass_that_handed_out_nothing_has_used_up_its_window_too() {
    let mut s = stream();
    s.begin_pass(G, Last::Pad).unwrap();
    assert_eq!(pass(&mut s, Last::Pad), [10, 14, 18]);
}

#[test]
fn the_first_pass_after_load_seek_set_epoch_or_steps_goes_on_inside_the_window() {
    for last in [Last::Drop, Last::Pad] {
        let mut loaded = stream();
        pass(&mut loaded, last);
        loaded.load(14).unwrap();
        assert_eq!(pass(&mut loaded, last)[0], 14);

        let mut sought = stream();
        pass(&mut sought, last);
        sought.seek(2).unwrap();
        assert_eq!(pass(&mut sought, last)[0], 2);
        assert_eq!(pass(&mut sought, last)[0], 10, "and the one after it takes the next window");

        let mut set = stream();
        pass(&mut set, last);
        assert!(!set.set_epoch(7).unwrap());
        assert_eq!(pass(&mut set, last)[0], 70);

        let mut stepped = stream();
        pass(&mut stepped, last);
        let number = stepped.begin_steps(G, Some(1)).unwrap();
        assert_eq!(steps(&mut stepped, number, 9), [10]);
        assert_eq!(pass(&mut stepped, last)[0], 14);
    }
}

#[test]
fn set_epoch_of_a_loaded_position_takes_it_up_again_behind_a_pass_that_handed_out_nothing() {
    let mut s = stream();
    s.load(14).unwrap();
    for _ in 0..2 {
        assert!(!s.set_epoch(1).unwrap());
        s.begin_pass(G, Last::Pad).unwrap();
    }
    assert!(!s.set_epoch(1).unwrap());
    let number = s.begin_pass(G, Last::Pad).unwrap();
    // Of a pass that goes on, and is left early.
    assert!(!s.set_epoch(1).unwrap());
    assert_eq!(steps(&mut s, number, 1), [14]);
    assert_eq!(pass(&mut s, Last::Pad), [20, 24, 28]);
}

#[test]
fn steps_that_have_only_begun_make_the_next_pass_a_first_one() {
    let mut s = stream();
    let number = s.begin_pass(G, Last::Pad).unwrap();
    assert_eq!(steps(&mut s, number, 1), [0]);
    s.begin_steps(G, None).unwrap();
    assert_eq!(pass(&mut s, Last::Pad)[0], 4);
}

#[test]
fn a_first_pass_with_less_than_a_step_left_is_empty_under_drop_and_sets_the_position() {
    let mut s = stream();
    s.load(17).unwrap();
    let number = s.begin_pass(G, Last::Drop).unwrap();
    assert!(!step(&mut s, number));
    assert_eq!(s.position(), 20);
    assert_eq!(pass(&mut s, Last::Drop), [20, 24]);
}

#[test]
fn a_first_pass_from_the_middle_keeps_the_rest_under_pad_and_short() {
    for last in [Last::Pad, Last::Short] {
        let mut s = stream();
        s.load(17).unwrap();
        assert_eq!(pass(&mut s, last), [17]);
        assert_eq!(s.position(), 20);
    }
}

#[test]
fn steps_are_cut_by_no_window_and_stop_after_their_number() {
    let mut s = stream();
    s.seek(3).unwrap();
    let number = s.begin_steps(G, Some(4)).unwrap();
    assert_eq!(steps(&mut s, number, 99), [3, 7, 11, 15]);
    assert_eq!(s.position(), 19);
    let number = s.begin_steps(G, None).unwrap();
    assert_eq!(steps(&mut s, number, 3), [19, 23, 27]);
}

#[test]
fn windows_shorter_than_a_step_are_an_error_of_passes_under_drop_only() {
    let mut s = Stream::new(3).unwrap();
    assert_eq!(s.begin_pass(G, Last::Drop).unwrap_err().kind(), Kind::Value);
    assert!(s.begin_pass(G, Last::Pad).is_ok());
    s.seek(0).unwrap();
    let number = s.begin_steps(G, Some(2)).unwrap();
    assert_eq!(steps(&mut s, number, 9), [0, 4]);
}

#[test]
fn a_pass_that_cannot_begin_changes_nothing() {
    let mut s = Stream::new(3).unwrap();
    let number = s.begin_steps(G, None).unwrap();
    assert!(step(&mut s, number));
    assert!(s.begin_pass(G, Last::Drop).is_err());
    assert_eq!(s.position(), 4);
    assert!(step(&mut s, number));
}

#[test]
fn beginning_ends_what_is_running_with_an_error_of_its_own() {
    let mut s = stream();
    let first = s.begin_pass(G, Last::Drop).unwrap();
    assert!(step(&mut s, first));
    let second = s.begin_pass(G, Last::Drop).unwrap();
    let error = s.left(first).unwrap_err();
    assert_eq!(error.kind(), Kind::State);
    assert!(error.to_string().contains("another pass"), "{error}");
    assert!(step(&mut s, second));
    let third = s.begin_steps(G, None).unwrap();
    assert!(s.left(second).is_err() && s.left(first).is_err());
    assert!(step(&mut s, third));
}

#[test]
fn a_step_of_an_ended_run_is_not_counted() {
    let mut s = stream();
    let first = s.begin_pass(G, Last::Drop).unwrap();
    let late = s.left(first).unwrap().next().unwrap();
    s.seek(50).unwrap();
    assert_eq!(s.hand_out(first, &late).unwrap_err().kind(), Kind::State);
    assert_eq!(s.position(), 50);
}

#[test]
fn seek_set_epoch_load_and_close_end_what_is_running() {
    type Call = fn(&mut Stream);
    let calls: [(Call, &str); 4] = [
        (|s| s.seek(4).unwrap(), "seek()"),
        (|s| s.set_epoch(0).map(drop).unwrap(), "set_epoch()"),
        (|s| s.load(4).unwrap(), "load_state_dict()"),
        (|s| s.end_running("close() was called"), "close()"),
    ];
    for (call, name) in calls {
        let mut s = stream();
        let number = s.begin_pass(G, Last::Drop).unwrap();
        assert!(step(&mut s, number));
        call(&mut s);
        let message = s.left(number).unwrap_err().to_string();
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn a_batch_that_raised_counts_as_handed_out() {
    let mut s = stream();
    let number = s.begin_pass(G, Last::Drop).unwrap();
    let raised = s.left(number).unwrap().next().unwrap();
    s.hand_out(number, &raised).unwrap();
    assert_eq!(s.position(), 4);
    assert_eq!(steps(&mut s, number, 9), [4]);
}

#[test]
fn positions_and_epochs_beyond_the_end_are_refused_and_change_nothing() {
    let mut s = stream();
    let number = s.begin_pass(G, Last::Drop).unwrap();
    assert_eq!(s.seek(POSITION_LIMIT).unwrap_err().kind(), Kind::Value);
    assert_eq!(s.load(u64::MAX).unwrap_err().kind(), Kind::Value);
    assert_eq!(s.set_epoch(u64::MAX / 2).unwrap_err().kind(), Kind::Value);
    assert!(step(&mut s, number));
    for epoch_len in [0, POSITION_LIMIT, u64::MAX] {
        assert_eq!(Stream::new(epoch_len).unwrap_err().kind(), Kind::Value);
    }
    s.seek(POSITION_LIMIT - 1).unwrap();
    assert!(s.begin_pass(G, Last::Pad).is_err());
    assert!(s.begin_steps(G, None).is_err());
}
