//! `set_epoch`, as trainers call it.

use super::*;

#[test]
fn set_epoch_goes_to_the_start_of_the_window() {
    let mut s = stream();
    assert!(!s.set_epoch(3).unwrap());
    assert_eq!(s.position(), 30);
    pass(&mut s, Last::Drop);
    assert!(!s.set_epoch(3).unwrap());
    assert_eq!(pass(&mut s, Last::Drop), [30, 34], "a window can be had again");
}

#[test]
fn set_epoch_leaves_a_loaded_or_sought_position_inside_that_window_alone() {
    for go in [Stream::load, Stream::seek] {
        let mut s = stream();
        go(&mut s, 14).unwrap();
        assert!(!s.set_epoch(1).unwrap());
        assert_eq!(pass(&mut s, Last::Drop), [14]);
    }
}

#[test]
fn set_epoch_counts_again_once_something_was_handed_out() {
    let mut s = stream();
    s.load(12).unwrap();
    let number = s.begin_pass(G, Last::Drop).unwrap();
    assert!(step(&mut s, number));
    assert_eq!(s.position(), 16);
    assert!(!s.set_epoch(1).unwrap(), "what was loaded has been used: no warning");
    assert_eq!(s.position(), 10);
}

#[test]
fn set_epoch_warns_when_it_leaves_a_loaded_position() {
    let mut s = stream();
    s.load(14).unwrap();
    assert!(s.set_epoch(0).unwrap());
    assert_eq!(s.position(), 0);
    assert!(!s.set_epoch(2).unwrap(), "only once");
    s.seek(14).unwrap();
    assert!(!s.set_epoch(0).unwrap(), "a sought position is the caller's own");
}

#[test]
fn set_epoch_without_effect_ends_nothing() {
    let mut s = stream();
    s.load(18).unwrap();
    let number = s.begin_pass(G, Last::Drop).unwrap();
    assert_eq!(s.position(), 20, "an empty pass has handed out nothing");
    assert!(!s.set_epoch(2).unwrap());
    assert!(s.left(number).is_ok());
    assert_eq!(pass(&mut s, Last::Drop), [20, 24]);
}

#[test]
fn set_epoch_before_every_pass_gives_every_window_whole() {
    for last in [Last::Drop, Last::Pad] {
        let mut s = stream();
        for epoch in 0..4 {
            assert!(!s.set_epoch(epoch).unwrap());
            let number = s.begin_pass(G, last).unwrap();
            // Some trainers never ask beyond the last batch.
            assert_eq!(steps(&mut s, number, if last == Last::Drop { 2 } else { 3 })[0], epoch * E);
        }
    }
}
