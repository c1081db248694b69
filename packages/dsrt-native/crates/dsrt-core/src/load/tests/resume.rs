//! A saved position goes on as the original does, whatever happened before.

use super::*;
use crate::load::plan::POSITION_LIMIT;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Op {
    Pass(usize),
    Steps(usize),
    Seek(u64),
    Load(u64),
    SetEpoch(u64),
    Resize(u64),
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (0usize..6).prop_map(Op::Pass),
        2 => (0usize..6).prop_map(Op::Steps),
        1 => (0u64..80).prop_map(Op::Seek),
        1 => (0u64..80).prop_map(Op::Load),
        1 => (0u64..8).prop_map(Op::SetEpoch),
        1 => (1u64..12).prop_map(Op::Resize),
    ]
}

proptest! {
    /// Whatever is done, a new stream that loads the position goes on exactly as this one does.
    #[test]
    fn a_saved_position_is_all_the_state_there_is(
        epoch_len in 1u64..25, ops in proptest::collection::vec(any_op(), 0..20), more in 0usize..5,
        last in prop_oneof![Just(Last::Drop), Just(Last::Pad), Just(Last::Short)]
    ) {
        let mut group = 1;
        let mut s = Stream::new(epoch_len).unwrap();
        for op in ops {
            match op {
                Op::Pass(n) => {
                    if let Ok(number) = s.begin_pass(group, last) {
                        steps(&mut s, number, n);
                    }
                }
                Op::Steps(n) => {
                    let number = s.begin_steps(group, None).unwrap();
                    steps(&mut s, number, n);
                }
                Op::Seek(position) => s.seek(position).unwrap(),
                Op::Load(position) => s.load(position).unwrap(),
                Op::SetEpoch(epoch) => drop(s.set_epoch(epoch).unwrap()),
                Op::Resize(to) => group = to,
            }
            prop_assert!(s.position() < POSITION_LIMIT);
        }
        if last == Last::Drop && epoch_len < group {
            return Ok(());
        }
        // A pass is begun, left somewhere, saved and loaded elsewhere; both go on to the end and one window further.
        s.seek(s.position()).unwrap();
        let number = s.begin_pass(group, last).unwrap();
        steps(&mut s, number, more);
        let mut other = Stream::new(epoch_len).unwrap();
        other.load(s.position()).unwrap();
        let exhausted = s.left(number).unwrap().next().is_none();
        let rest = steps(&mut s, number, usize::MAX);
        if exhausted {
            // It stands at the start of the next window, which a new pass of either begins.
            prop_assert!(rest.is_empty() && s.position().is_multiple_of(epoch_len));
        } else {
            let resumed = other.begin_pass(group, last).unwrap();
            prop_assert_eq!(rest, steps(&mut other, resumed, usize::MAX));
        }
        prop_assert_eq!(s.position(), other.position());
        for _ in 0..2 {
            let (a, b) = (s.begin_pass(group, last).unwrap(), other.begin_pass(group, last).unwrap());
            prop_assert_eq!(steps(&mut s, a, usize::MAX), steps(&mut other, b, usize::MAX));
        }
    }
}
