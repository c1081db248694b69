//! The exact value of a float64, scaled by powers of two and rounded to integers without floating point.

/// A finite float64 that is not negative: `mantissa * 2^exponent`, mantissa below 2^53.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary {
    mantissa: u64,
    exponent: i64,
}

impl Binary {
    /// Takes `value` apart. The sign is dropped: -0.0 is 0.
    #[inline]
    pub fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        match (bits >> 52) & 0x7FF {
            0 => Self { mantissa: fraction, exponent: -1074 },
            biased => Self { mantissa: fraction | 1 << 52, exponent: biased as i64 - 1075 },
        }
    }

    /// The `e` of `value = f * 2^e` with f in [0.5, 1), also of subnormals. Not asked of 0.
    pub fn frexp_exponent(self) -> i64 {
        self.exponent + i64::from(u64::BITS - self.mantissa.leading_zeros())
    }

    /// floor(value * 2^shift), which the caller knows to be below 2^64.
    #[inline]
    pub fn scaled_floor(self, shift: i64) -> u64 {
        let by = self.exponent + shift;
        match u32::try_from(by) {
            Ok(left) => self.mantissa.checked_shl(left).unwrap_or(0),
            Err(_) => u32::try_from(-by).ok().and_then(|right| self.mantissa.checked_shr(right)).unwrap_or(0),
        }
    }

    /// value * 2^shift, which the caller knows to be below 2^64, to the nearest integer, halves to the even one.
    #[inline]
    pub fn scaled_round(self, shift: i64) -> u64 {
        let by = -(self.exponent + shift);
        match by {
            // A mantissa below 2^53 is less than half of 2^54.
            54.. => 0,
            1.. => {
                let floor = self.mantissa >> by;
                let rest = self.mantissa & ((1 << by) - 1);
                let half = 1 << (by - 1);
                floor + u64::from(rest > half || (rest == half && floor % 2 == 1))
            }
            _ => self.scaled_floor(shift),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_frexp() {
        for (value, e) in [(1.0, 1), (0.5, 0), (0.75, 0), (f64::MAX, 1024), (f64::MIN_POSITIVE, -1021)] {
            assert_eq!(Binary::of(value).frexp_exponent(), e);
        }
        assert_eq!(Binary::of(5e-324).frexp_exponent(), -1073);
        assert_eq!(Binary::of(1e-310).frexp_exponent(), -1029);
    }

    #[test]
    fn rounding_is_half_to_even_and_exact() {
        for (value, shift, floor, round) in [
            (2.5, 0, 2, 2),
            (3.5, 0, 3, 4),
            (0.5, 0, 0, 0),
            (1.5, 0, 1, 2),
            (0.75, 0, 0, 1),
            (3.0, 4, 48, 48),
            (3.0, -1, 1, 2),
            (5.0, -1, 2, 2),
            (0.0, 100, 0, 0),
            (-0.0, 0, 0, 0),
            (1.0, 63, 1 << 63, 1 << 63),
            (5e-324, 1074, 1, 1),
            (5e-324, 1073, 0, 0),
            (1e300, -2000, 0, 0),
        ] {
            let binary = Binary::of(value);
            assert_eq!((binary.scaled_floor(shift), binary.scaled_round(shift)), (floor, round), "{value} {shift}");
        }
    }
}
