//! The published vectors of the sampling arithmetic.

use super::*;
use serde_json::Value;

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../dsrt-format/src/dsrt_format/vectors/sampling.json");
    let text = std::fs::read(path).expect("the vectors lie in the package dsrt-format");
    serde_json::from_slice(&text).unwrap()
}

/// Integers stand in the vectors as numbers or, where those could lose digits elsewhere, as strings.
fn int(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn ints(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(int).collect()
}

/// A float64 in C's hexadecimal notation, `0x1.8p+1`.
fn hex_float(text: &str) -> f64 {
    let (digits, exponent) = text.strip_prefix("0x").unwrap().split_once('p').unwrap();
    let (whole, fraction) = digits.split_once('.').unwrap();
    let fraction = u64::from_str_radix(&format!("{fraction:0<13}"), 16).unwrap();
    let exponent: i64 = exponent.parse().unwrap();
    let biased = if whole == "0" { 0 } else { (exponent + 1023) as u64 };
    f64::from_bits(biased << 52 | fraction)
}

#[test]
fn philox_gives_its_published_answers() {
    for case in vectors()["philox4x32_10"].as_array().unwrap() {
        let counter = ints(&case["counter"]).try_into().unwrap();
        let key: Vec<u32> = ints(&case["key"]).into_iter().map(|word| word as u32).collect();
        assert_eq!(philox::philox4x32_10(counter, key.try_into().unwrap()).to_vec(), ints(&case["words"]));
    }
}

#[test]
fn uniform_rows_equal_the_vectors() {
    for case in vectors()["uniform"].as_array().unwrap() {
        let sampler = Sampler::new(Order::Uniform, int(&case["seed"]), int(&case["n"]), None).unwrap();
        assert_eq!(rows(&sampler, &ints(&case["k"])), ints(&case["row"]));
    }
}

#[test]
fn permuted_rows_equal_the_vectors() {
    for case in vectors()["permuted"].as_array().unwrap() {
        let permutation = Permutation::new(int(&case["seed"]), int(&case["n"])).unwrap();
        let keys = permutation.keys(int(&case["epoch"]) as u32);
        let rows: Vec<u64> = ints(&case["slot"]).into_iter().map(|slot| permutation.row(&keys, slot)).collect();
        assert_eq!(rows, ints(&case["row"]));
    }
}

#[test]
fn the_permuted_stream_runs_through_epochs() {
    for case in vectors()["permuted_stream"].as_array().unwrap() {
        let sampler = Sampler::new(Order::Permuted, int(&case["seed"]), int(&case["n"]), None).unwrap();
        assert_eq!(rows(&sampler, &ints(&case["position"])), ints(&case["row"]));
    }
}

#[test]
fn weighted_rows_and_integer_weights_equal_the_vectors() {
    for case in vectors()["weights"].as_array().unwrap() {
        let weights: Vec<f64> =
            case["weight"].as_array().unwrap().iter().map(|w| hex_float(w.as_str().unwrap())).collect();
        let table = WeightTable::new(&weights).unwrap();
        assert_eq!(table.integers(), ints(&case["fixed_point"]), "{}", case["name"]);
        assert_eq!(table.total(), int(&case["total"]));
        let sampler = Sampler::new(Order::Weighted, int(&case["seed"]), weights.len() as u64, Some(&weights)).unwrap();
        assert_eq!(rows(&sampler, &ints(&case["k"])), ints(&case["row"]), "{}", case["name"]);
    }
}

#[test]
fn sample_seeds_equal_the_vectors() {
    for case in vectors()["augment_seed"].as_array().unwrap() {
        let seeds: Vec<u64> =
            ints(&case["position"]).into_iter().map(|position| sample_seed(int(&case["seed"]), position)).collect();
        assert_eq!(seeds, ints(&case["value"]));
    }
}

#[test]
fn sequential_rows_repeat() {
    let sampler = Sampler::new(Order::Sequential, 0, 3, None).unwrap();
    assert_eq!(rows(&sampler, &[0, 1, 2, 3, 7, (1 << 62) - 1]), [0, 1, 2, 0, 1, ((1 << 62) - 1) % 3]);
}

#[test]
fn what_cannot_be_ordered_is_refused() {
    for order in Order::ALL {
        assert_eq!(Order::parse(order.name()), Some(order));
        assert_eq!(Sampler::new(order, 0, 0, Some(&[])).unwrap_err().kind(), Kind::Value);
    }
    assert!(Sampler::new(Order::Weighted, 0, 3, None).unwrap_err().to_string().contains("needs weights"));
    assert!(Sampler::new(Order::Weighted, 0, 3, Some(&[1.0])).unwrap_err().to_string().contains("1 weights for 3"));
}

#[test]
fn positions_behind_each_other_need_no_list_and_go_round() {
    let weights: Vec<f64> = (0..1000).map(f64::from).collect();
    for order in Order::ALL {
        let sampler = Sampler::new(order, 7, 1000, Some(&weights)).unwrap();
        for (start, count) in [(0, 0), (3, 1), (900, 512), (1, 513), (123, 2000), (u64::MAX - 1, 4)] {
            let positions: Vec<u64> = (0..count as u64).map(|step| start.wrapping_add(step)).collect();
            let mut found = vec![u64::MAX; count];
            sampler.rows_from(start, &mut found);
            assert_eq!(found, rows(&sampler, &positions), "{} {start} {count}", order.name());
        }
    }
}

/// In every set of instructions that this processor has.
fn rows(sampler: &Sampler, positions: &[u64]) -> Vec<u64> {
    let results = Instructions::all().into_iter().map(|instructions| {
        let mut out = vec![u64::MAX; positions.len()];
        sampler.rows_in(instructions, positions, &mut out);
        out
    });
    let mut results: Vec<_> = results.collect();
    let last = results.pop().unwrap();
    assert!(results.iter().all(|rows| *rows == last));
    last
}
