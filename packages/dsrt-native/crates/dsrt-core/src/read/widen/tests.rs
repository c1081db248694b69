//! Every pair of types: which are widened is proven value by value, and so is what becomes of each value.

use proptest::prelude::*;

use super::*;

/// What bits mean, in one way for each value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// `odd` times 2 to the power of `power`; zero has power 0.
    Number {
        negative: bool,
        odd: u64,
        power: i32,
    },
    Infinity {
        negative: bool,
    },
    /// The bits behind the one that says that it is quiet, the first one highest.
    Nan {
        negative: bool,
        payload: u64,
    },
}

/// A type of floats: bits of the mantissa and of the exponent, and whether there are infinities.
type Float = (u32, u32, bool);

fn float(dtype: DType) -> Option<Float> {
    match dtype {
        DType::Float16 => Some((10, 5, true)),
        DType::BFloat16 => Some((7, 8, true)),
        DType::Float32 => Some((23, 8, true)),
        DType::Float64 => Some((52, 11, true)),
        DType::Float8E4M3Fn => Some((3, 4, false)),
        DType::Float8E5M2 => Some((2, 5, true)),
        _ => None,
    }
}

/// Whether numbers are signed, and how many bits they have beside the sign.
fn integer(dtype: DType) -> Option<(bool, u32)> {
    match dtype {
        DType::Bool => Some((false, 1)),
        DType::Int8 => Some((true, 7)),
        DType::Int16 => Some((true, 15)),
        DType::Int32 => Some((true, 31)),
        DType::Int64 => Some((true, 63)),
        DType::UInt8 => Some((false, 8)),
        DType::UInt16 => Some((false, 16)),
        DType::UInt32 => Some((false, 32)),
        DType::UInt64 => Some((false, 64)),
        _ => None,
    }
}

fn number(negative: bool, magnitude: u64, power: i32) -> Value {
    match magnitude.trailing_zeros() {
        64 => Value::Number { negative, odd: 0, power: 0 },
        zeros => Value::Number { negative, odd: magnitude >> zeros, power: power + zeros as i32 },
    }
}

/// The value of an element's bits.
fn value(dtype: DType, bits: u64) -> Value {
    if let Some((signed, width)) = integer(dtype) {
        let negative = signed && bits >> width & 1 == 1;
        let extended = if negative { bits | u64::MAX.checked_shl(width).unwrap_or(0) } else { bits };
        return number(negative, if negative { extended.wrapping_neg() } else { extended }, 0);
    }
    let (mantissa, exponent, infinities) = float(dtype).unwrap();
    let (fraction, raised) = (bits & ((1 << mantissa) - 1), bits >> mantissa & ((1 << exponent) - 1));
    let negative = bits >> (mantissa + exponent) == 1;
    let largest = raised == (1 << exponent) - 1;
    let payload = || fraction << (64 - mantissa) << 1;
    match (infinities, largest) {
        (true, true) if fraction == 0 => Value::Infinity { negative },
        (true, true) => Value::Nan { negative, payload: payload() },
        (false, true) if fraction == (1 << mantissa) - 1 => Value::Nan { negative, payload: payload() },
        _ => {
            let bias = (1 << (exponent - 1)) - 1;
            let hidden = u64::from(raised > 0) << mantissa;
            number(negative, fraction | hidden, raised.max(1) as i32 - bias - mantissa as i32)
        }
    }
}

/// Whether a type has that value.
fn holds(dtype: DType, value: Value) -> bool {
    let (negative, odd, power) = match value {
        Value::Number { negative, odd, power } => (negative, odd, power),
        Value::Infinity { .. } => return float(dtype).is_some_and(|(_, _, infinities)| infinities),
        // How many bits of a payload matter is not asked here.
        Value::Nan { .. } => return float(dtype).is_some(),
    };
    let bits = (64 - odd.leading_zeros()) as i32 + power;
    if let Some((signed, width)) = integer(dtype) {
        let least = signed && negative && odd == 1 && power == width as i32;
        // Minus zero is no integer.
        return power >= 0 && (!negative || signed && odd > 0) && (bits <= width as i32 || least);
    }
    let Some((mantissa, exponent, infinities)) = float(dtype) else { return false };
    let bias = (1 << (exponent - 1)) - 1;
    let most = if infinities { bias + 1 } else { bias + 2 };
    // The largest significand of a type without infinities is NaN; no type here has numbers that get there.
    odd == 0 || 64 - odd.leading_zeros() <= mantissa + 1 && power >= 1 - bias - mantissa as i32 && bits <= most
}

/// All elements of a type, or, where there are many, those at edges and many at random: bits.
fn elements(dtype: DType) -> Vec<u64> {
    let width = 8 * dtype.size() as u32;
    if dtype == DType::Bool {
        return vec![0, 1];
    }
    if width <= 16 {
        return (0..1 << width).collect();
    }
    let mask = u64::MAX >> (64 - width);
    let edges = (0..width).flat_map(|bit| {
        let power = 1u64 << bit;
        [power, power - 1, power + 1, power.wrapping_neg(), !power, mask >> bit, (mask >> bit) << (width - bit - 1)]
    });
    let random = (0..50_000u64).map(|n| (n ^ 0x5151).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
    // Many of a float's random numbers are large: these are as small as they get, infinite or NaN.
    let tiny = (0..10_000u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - width + 9));
    let (mantissa, exponent, _) = float(dtype).unwrap_or((8, 8, true));
    let special = (0..10_000u64).map(|n| n << (mantissa - 8) | ((1 << exponent) - 1) << mantissa);
    let all = edges.chain(random).chain(tiny).chain(special).flat_map(|bits| [bits, bits ^ 1 << (width - 1)]);
    all.map(|bits| bits & mask).collect()
}

/// A type whose elements come in pairs, as that of one of them.
fn single(dtype: DType) -> DType {
    match dtype {
        DType::Complex64 => DType::Float32,
        DType::Complex128 => DType::Float64,
        other => other,
    }
}

/// Widens stored bytes in the instructions.
fn widened(widening: Widening, instructions: Option<Instructions>, stored: &[u8]) -> Vec<u8> {
    let mut place = vec![0xA5; widening.room(stored.len() as u64).unwrap() as usize];
    widening.stored_part(&mut place).copy_from_slice(stored);
    match (instructions, widening.work) {
        (Some(instructions), Some((widener, _))) => widener(instructions, &mut place),
        _ => widening.widen(&mut place),
    }
    place
}

fn bytes(dtype: DType, elements: &[u64]) -> Vec<u8> {
    elements.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(dtype.size())).collect()
}

fn bits(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let wide = |element: &[u8]| element.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    bytes.chunks_exact(dtype.size()).map(wide).collect()
}

fn pairs() -> impl Iterator<Item = (DType, DType)> {
    DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to)))
}

#[test]
fn exactly_the_types_that_hold_every_value_are_possible() {
    let is_complex = |dtype| single(dtype) != dtype;
    for (from, to) in pairs() {
        let holds_all = elements(single(from)).iter().all(|bits| holds(single(to), value(single(from), *bits)));
        // A truth value is an integer and nothing else; a real number is not made a complex one.
        let is_same_sort = is_complex(from) == is_complex(to) && (from != DType::Bool || integer(to).is_some());
        // Two integers are two truth values, and an integer of one bit: neither is asked for.
        let expected = holds_all && is_same_sort;
        assert_eq!(Widening::new(from, to).is_ok(), expected, "{} as {}", from.name(), to.name());
    }
}

#[test]
fn every_value_stays_what_it_is_in_every_set_of_instructions() {
    for (from, to) in pairs() {
        let Ok(widening) = Widening::new(from, to) else { continue };
        let (from, to) = (single(from), single(to));
        let stored = elements(from);
        for instructions in Instructions::all() {
            let found = bits(to, &widened(widening, Some(instructions), &bytes(from, &stored)));
            assert_eq!(found.len(), stored.len());
            for (before, after) in stored.iter().zip(found) {
                assert_eq!(value(to, after), value(from, *before), "{widening:?}: {before:#x}, in {instructions:?}");
                if let (Value::Nan { .. }, Some((mantissa, ..)), true) = (value(to, after), float(to), from != to) {
                    assert_eq!(after >> (mantissa - 1) & 1, 1, "{widening:?}: {before:#x} is a NaN, which is quiet");
                }
            }
        }
    }
}

#[test]
fn a_refusal_names_both_types_and_what_is_possible() {
    let error = Widening::new(DType::UInt16, DType::Float16).unwrap_err();
    assert_eq!(error.kind(), Kind::Schema);
    let message = error.to_string();
    for part in ["float16", "uint16,", "which is int32, int64, uint16, uint32, uint64, float32, float64;"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn one_type_is_delivered_as_it_is() {
    let widening = Widening::new(DType::Float32, DType::Float32).unwrap();
    assert_eq!((widening.room(12), widened(widening, None, &[7; 12])), (Some(12), vec![7; 12]));
    assert_eq!(widening.stores(64 << 20), Stores::Streaming);
    assert_eq!(Widening::new(DType::UInt8, DType::Int64).unwrap().room(u64::MAX), None);
}

proptest! {
    #[test]
    fn any_number_of_elements_is_widened_as_in_plain_instructions(
        pair in 0usize..17 * 17,
        stored in prop::collection::vec(any::<u8>(), 0..3000),
    ) {
        let (from, to) = pairs().nth(pair).unwrap();
        if let Ok(widening) = Widening::new(from, to) {
            let stored = &stored[..stored.len() / from.size() * from.size()];
            let each: Vec<u8> =
                stored.chunks(from.size()).flat_map(|one| widened(widening, Instructions::all().first().copied(), one)).collect();
            for instructions in Instructions::all() {
                prop_assert_eq!(&widened(widening, Some(instructions), stored), &each);
            }
        }
    }
}
