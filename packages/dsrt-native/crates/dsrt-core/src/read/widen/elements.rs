//! Which type is delivered as which: the table of conversions.

use super::Widener;
use super::floats::{BF16, E4M3, E5M2, F16, F32, F64};
use super::in_place::{Element, widen};
use crate::dtype::DType;

macro_rules! integers {
    ($($integer:ident)+) => {$(
        impl Element<{ size_of::<$integer>() }> for $integer {
            #[inline(always)]
            fn of(bytes: [u8; size_of::<$integer>()]) -> Self {
                Self::from_le_bytes(bytes)
            }

            #[inline(always)]
            fn bytes(self) -> [u8; size_of::<$integer>()] {
                self.to_le_bytes()
            }
        }
    )+};
}

macro_rules! floats {
    ($($float:ident $bits:ident;)+) => {$(
        impl Element<{ size_of::<$bits>() }> for $float {
            #[inline(always)]
            fn of(bytes: [u8; size_of::<$bits>()]) -> Self {
                Self($bits::from_le_bytes(bytes))
            }

            #[inline(always)]
            fn bytes(self) -> [u8; size_of::<$bits>()] {
                self.0.to_le_bytes()
            }
        }
    )+};
}

integers!(u8 i8 u16 i16 u32 i32 u64 i64);
floats! { F16 u16; BF16 u16; E4M3 u8; E5M2 u8; F32 u32; F64 u64; }

/// What Rust calls the elements of a type. A bool is a byte that is 0 or 1, so what an integer of 8 bits is made of does
/// not depend on its sign; a complex number is two elements.
macro_rules! element {
    (Bool) => {
        u8
    };
    (Int8) => {
        i8
    };
    (Int16) => {
        i16
    };
    (Int32) => {
        i32
    };
    (Int64) => {
        i64
    };
    (UInt8) => {
        u8
    };
    (UInt16) => {
        u16
    };
    (UInt32) => {
        u32
    };
    (UInt64) => {
        u64
    };
    (Float16) => {
        F16
    };
    (BFloat16) => {
        BF16
    };
    (Float32) => {
        F32
    };
    (Float64) => {
        F64
    };
    (Float8E4M3Fn) => {
        E4M3
    };
    (Float8E5M2) => {
        E5M2
    };
    (Complex64) => {
        F32
    };
    (Complex128) => {
        F64
    };
}

macro_rules! table {
    ($pair:expr; $($from:ident to $($to:ident)+;)+) => {
        match $pair {
            $($((DType::$from, DType::$to) => Some(
                widen::<element!($from), element!($to), { size_of::<element!($from)>() }, { size_of::<element!($to)>() }>
            ),)+)+
            // 0 and 1 are the same bytes in both.
            (DType::Bool, DType::Int8) => Some(widen::<u8, u8, 1, 1>),
            _ => None,
        }
    };
}

/// What widens elements of type `from` to type `to`, another one. None unless `to` holds every value of `from`; and a truth
/// value is an integer, but no other number is one of another kind.
pub(super) fn widener(from: DType, to: DType) -> Option<Widener> {
    table! { (from, to);
        Bool to UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64;
        Int8 to Int16 Int32 Int64 Float16 BFloat16 Float32 Float64;
        Int16 to Int32 Int64 Float32 Float64;
        Int32 to Int64 Float64;
        UInt8 to Int16 UInt16 Int32 UInt32 Int64 UInt64 Float16 BFloat16 Float32 Float64;
        UInt16 to Int32 UInt32 Int64 UInt64 Float32 Float64;
        UInt32 to Int64 UInt64 Float64;
        Float16 to Float32 Float64;
        BFloat16 to Float32 Float64;
        Float8E4M3Fn to Float16 BFloat16 Float32 Float64;
        Float8E5M2 to Float16 BFloat16 Float32 Float64;
        Float32 to Float64;
        Complex64 to Complex128;
    }
}
