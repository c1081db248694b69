//! Floating-point numbers as bits, and every one of them in the wider types that hold it.
//!
//! The bits are computed with integers. What the processor has been told about tiny numbers (some programs have them
//! flushed to zero) makes no difference then, nor does what its conversions make of a NaN: sign and payload stay, and it
//! is quiet afterwards, as IEEE 754 has it for a conversion.

/// Bits of an IEEE binary16.
#[derive(Clone, Copy)]
pub(super) struct F16(pub u16);

/// Bits of a bfloat16.
#[derive(Clone, Copy)]
pub(super) struct BF16(pub u16);

/// Bits of a float8 with 4 bits of exponent: no infinities, and NaN where all bits but the sign are 1.
#[derive(Clone, Copy)]
pub(super) struct E4M3(pub u8);

/// Bits of a float8 with 5 bits of exponent.
#[derive(Clone, Copy)]
pub(super) struct E5M2(pub u8);

/// Bits of an IEEE binary32.
#[derive(Clone, Copy)]
pub(super) struct F32(pub u32);

/// Bits of an IEEE binary64.
#[derive(Clone, Copy)]
pub(super) struct F64(pub u64);

/// Where the bits of a binary32 begin: of the mantissa 23, then 8 of the exponent.
const MANTISSA: u32 = 23;
const EXPONENT: u32 = 0xFF << MANTISSA;
const QUIET: u32 = 1 << (MANTISSA - 1);
const SIGN: u32 = 1 << 31;

/// The bits of a binary32 with the value of one of fewer bits: `bits` of it without the sign, `mantissa` of them the
/// mantissa's, its exponents counted from `bias`. `least` is 2 to the power of 1 - `bias` - `mantissa`, and numbers
/// from `special` on are infinity and NaN.
#[inline(always)]
fn single(bits: u32, sign: u32, mantissa: u32, bias: u32, least: f32, special: u32) -> u32 {
    let shifted = bits << (MANTISSA - mantissa);
    let magnitude = if bits >> mantissa == 0 {
        // A product of two normal numbers that is one, or zero.
        (bits as i32 as f32 * least).to_bits()
    } else if bits < special {
        shifted + ((127 - bias) << MANTISSA)
    } else {
        quiet(shifted | EXPONENT)
    };
    sign | magnitude
}

/// The bits with those of a NaN made quiet.
#[inline(always)]
fn quiet(magnitude: u32) -> u32 {
    if magnitude > EXPONENT { magnitude | QUIET } else { magnitude }
}

impl From<F16> for F32 {
    #[inline(always)]
    fn from(F16(bits): F16) -> Self {
        let bits = u32::from(bits);
        /// 2^-24.
        const LEAST: f32 = 1.0 / (1 << 24) as f32;
        Self(single(bits & 0x7FFF, (bits & 0x8000) << 16, 10, 15, LEAST, 0x7C00))
    }
}

impl From<BF16> for F32 {
    #[inline(always)]
    fn from(BF16(bits): BF16) -> Self {
        let bits = u32::from(bits) << 16;
        Self(bits & SIGN | quiet(bits & !SIGN))
    }
}

impl From<E4M3> for F32 {
    #[inline(always)]
    fn from(E4M3(bits): E4M3) -> Self {
        let bits = u32::from(bits);
        /// 2^-9.
        const LEAST: f32 = 1.0 / (1 << 9) as f32;
        Self(single(bits & 0x7F, (bits & 0x80) << 24, 3, 7, LEAST, 0x7F))
    }
}

impl From<E5M2> for F32 {
    #[inline(always)]
    fn from(bits: E5M2) -> Self {
        F16::from(bits).into()
    }
}

impl From<E5M2> for F16 {
    #[inline(always)]
    fn from(E5M2(bits): E5M2) -> Self {
        // The upper half of one.
        let bits = u16::from(bits) << 8;
        Self(if bits & 0x7FFF > 0x7C00 { bits | 0x0200 } else { bits })
    }
}

impl From<E4M3> for F16 {
    #[inline(always)]
    fn from(bits: E4M3) -> Self {
        F32::from(bits).half()
    }
}

impl From<E4M3> for BF16 {
    #[inline(always)]
    fn from(bits: E4M3) -> Self {
        F32::from(bits).brain()
    }
}

impl From<E5M2> for BF16 {
    #[inline(always)]
    fn from(bits: E5M2) -> Self {
        F32::from(bits).brain()
    }
}

impl F32 {
    /// The same number, of which a bfloat16 has all bits that are not 0.
    #[inline(always)]
    fn brain(self) -> BF16 {
        BF16((self.0 >> 16) as u16)
    }

    /// The same number, which is zero, NaN, or a normal number of a binary16 with all bits that are not 0.
    #[inline(always)]
    fn half(self) -> F16 {
        let magnitude = self.0 & !SIGN;
        let rebased = if magnitude >= EXPONENT {
            0x7C00 | (magnitude & !EXPONENT) >> 13
        } else if magnitude == 0 {
            0
        } else {
            (magnitude >> 13).wrapping_sub((127 - 15) << 10)
        };
        F16(((self.0 & SIGN) >> 16 | rebased) as u16)
    }
}

impl From<F32> for F64 {
    #[inline(always)]
    fn from(F32(bits): F32) -> Self {
        /// 2^-149.
        const LEAST: f64 = f64::from_bits((1023 - 149) << 52);
        /// By how much the exponents differ.
        const BIAS: u64 = (1023 - 127) << 52;
        let magnitude = bits & !SIGN;
        let shifted = u64::from(quiet(magnitude)) << 29;
        let wide = if magnitude >> MANTISSA == 0 {
            (f64::from(magnitude as i32) * LEAST).to_bits()
        } else if magnitude < EXPONENT {
            shifted + BIAS
        } else {
            // Once for the exponent, and once for what it lacks to be the largest.
            shifted + 2 * BIAS
        };
        Self(u64::from(bits & SIGN) << 32 | wide)
    }
}

macro_rules! by_single {
    ($($narrow:ty)+) => {$(
        impl From<$narrow> for F64 {
            #[inline(always)]
            fn from(bits: $narrow) -> Self {
                F32::from(bits).into()
            }
        }
    )+};
}

by_single!(F16 BF16 E4M3 E5M2);

/// Integers: Rust knows which of them a float holds, all but for the small ones.
macro_rules! integers {
    ($($wide:ident $float:ident: $($narrow:ident)+;)+) => {$($(
        impl From<$narrow> for $wide {
            #[inline(always)]
            fn from(value: $narrow) -> Self {
                Self($float::from(value).to_bits())
            }
        }
    )+)+};
}

integers! {
    F32 f32: u8 i8 u16 i16;
    F64 f64: u8 i8 u16 i16 u32 i32;
}

/// Of 8 bits, which is as many as the mantissa of a bfloat16 has, with the one that is not written.
macro_rules! small_integers {
    ($($narrow:ident)+) => {$(
        impl From<$narrow> for F16 {
            #[inline(always)]
            fn from(value: $narrow) -> Self {
                F32::from(value).half()
            }
        }

        impl From<$narrow> for BF16 {
            #[inline(always)]
            fn from(value: $narrow) -> Self {
                F32::from(value).brain()
            }
        }
    )+};
}

small_integers!(u8 i8);
