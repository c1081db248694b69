//! Weights that were given.

use crate::support::*;
use dsrt_core::batch::Heap;
use dsrt_core::error::Kind;
use dsrt_core::read::OnDamage;
use dsrt_core::rows::Weights;

#[test]
fn weights_are_one_for_each_row_finite_and_not_negative() {
    let (_root, all) = counting(3);
    for (weights, word) in [
        (vec![1.0, 2.0], "2 weights for 3 rows"),
        (vec![1.0, f64::NAN, 1.0], "row 1"),
        (vec![1.0, 1.0, f64::INFINITY], "row 2"),
        (vec![-1.0, 1.0, 1.0], "row 0"),
    ] {
        let error = all.with_weights(Weights::Given(weights)).err().unwrap();
        assert_eq!(error.kind(), Kind::Schema);
        assert!(error.to_string().contains(word), "{error}");
    }
    assert!(all.with_weights(Weights::Given(vec![0.0; 3])).is_ok(), "all zero is an error of a loader only");
}

#[test]
fn the_weights_digest_is_of_the_bits_and_knows_one_zero() {
    let (_root, all) = counting(3);
    let digest = |weights: [f64; 3]| {
        let weighted = all.with_weights(Weights::Given(weights.into())).unwrap();
        weighted.weights_digest().unwrap().unwrap()
    };
    let mut bytes = b"DSRTwght1".to_vec();
    [0.5, 0.0, 1e300].iter().for_each(|weight: &f64| bytes.extend(weight.to_bits().to_le_bytes()));
    assert_eq!(digest([0.5, 0.0, 1e300]), *blake3::hash(&bytes).as_bytes());
    assert_eq!(digest([0.5, -0.0, 1e300]), digest([0.5, 0.0, 1e300]));
    assert_ne!(digest([0.5, 5e-324, 1e300]), digest([0.5, 0.0, 1e300]));
    assert_eq!(all.weights_digest().unwrap(), None);
}

#[test]
fn weights_come_with_the_batch_when_they_are_asked_for() {
    let (_root, all) = counting(3);
    let wanted = ["weight".into()];
    let error = all.project(Some(&wanted), false).err().unwrap();
    assert_eq!(error.kind(), Kind::Value);
    let weighted = all.with_weights(Weights::Given(vec![0.5, 1.5, 2.5])).unwrap();
    let projection = weighted.project(Some(&wanted), false).unwrap();
    let batch = weighted.gather(&projection, &[2, 0], &Heap, OnDamage::Raise).unwrap();
    assert_eq!(numbers(&batch, "weight"), [2.5f64.to_bits(), 0.5f64.to_bits()]);
}

#[test]
fn other_weights_make_another_population_over_the_same_rows() {
    let (_root, all) = counting(3);
    let weighted = all.with_weights(Weights::Given(vec![1.0; 3])).unwrap();
    assert!(all.weights().unwrap().is_none());
    assert_eq!(weighted.weights().unwrap().unwrap().to_vec(), [1.0; 3]);
    assert!(weighted.with_weights(Weights::None).unwrap().weights().unwrap().is_none());
    assert_eq!(all.rows_digest(), weighted.rows_digest());
}

#[test]
fn weights_of_some_rows_are_an_error_where_weights_are_needed() {
    let (_root, all) = counting(3);
    let partial = all.with_weights(Weights::Partial(vec![Some(1.0), None, None])).unwrap();
    let error = partial.weights().unwrap_err();
    assert_eq!(error.kind(), Kind::Schema);
    assert!(error.to_string().contains("2 rows") && error.to_string().contains("/counting"), "{error}");
    let none = all.with_weights(Weights::Partial(vec![None; 3])).unwrap();
    assert!(none.weights().unwrap().is_none());
    let whole = all.with_weights(Weights::Partial(vec![Some(2.0); 3])).unwrap();
    assert_eq!(whole.weights().unwrap().unwrap().to_vec(), [2.0; 3]);
    assert!(all.with_weights(Weights::Partial(vec![Some(-1.0), None, None])).is_err());
}
