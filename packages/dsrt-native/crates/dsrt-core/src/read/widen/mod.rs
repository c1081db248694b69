//! Delivering elements as a wider type than the stored one, where every value stays what it is.
//!
//! The stored elements of a column's place are read into its last bytes, as if nothing were to become of them, and checked
//! there. Then they are widened in place, from front to back, while they are in the cache: there is no second buffer.

mod elements;
mod floats;
mod in_place;

use std::fmt;

use self::elements::widener;
use crate::copy::Stores;
use crate::cpu::Instructions;
use crate::dtype::{ColumnType, DType, Element};
use crate::error::{Error, Kind, Result};

/// How elements come from the type they are stored as to the type they are delivered as; the same type, mostly.
#[derive(Clone, Copy)]
pub(crate) struct Widening {
    stored: DType,
    delivered: DType,
    /// A delivered element has 2 to the power of this times the bytes of a stored one.
    times: u32,
    /// What has to be done, and in which instructions. None for one type.
    work: Option<(Widener, Instructions)>,
}

/// Widens all elements of a place in a batch, which are its last bytes.
type Widener = fn(Instructions, &mut [u8]);

impl Widening {
    /// Delivers elements as they are stored.
    pub fn none(stored: DType) -> Self {
        Self { stored, delivered: stored, times: 0, work: None }
    }

    /// Delivers elements as `delivered`. An error that names both types and those that are possible if some value would
    /// not stay what it is.
    pub fn new(stored: DType, delivered: DType) -> Result<Self> {
        if stored == delivered {
            return Ok(Self::none(stored));
        }
        let Some(widener) = widener(stored, delivered) else { return Err(refused(stored, delivered)) };
        let times = delivered.size().ilog2() - stored.size().ilog2();
        Ok(Self { stored, delivered, times, work: Some((widener, Instructions::widest())) })
    }

    /// The type that the stored elements have.
    pub fn stored(&self) -> DType {
        self.stored
    }

    /// The type that the elements of the batch have.
    pub fn delivered(&self) -> DType {
        self.delivered
    }

    /// Bytes in the batch of so many stored bytes, which are whole elements. None if there is no such number.
    pub fn room(&self, stored: u64) -> Option<u64> {
        stored.checked_mul(1 << self.times)
    }

    /// The part of a place in the batch that the stored elements are read into: the last bytes of it.
    pub fn stored_part<'a>(&self, place: &'a mut [u8]) -> &'a mut [u8] {
        let skipped = place.len() - (place.len() >> self.times);
        place.get_mut(skipped..).unwrap_or_default()
    }

    /// Widens what was read into [`Self::stored_part`], so that it fills the place.
    #[inline]
    pub fn widen(&self, place: &mut [u8]) {
        if let Some((widener, instructions)) = self.work {
            widener(instructions, place);
        }
    }

    /// How to store what is read, in a column of `bytes` bytes: what is widened at once is wanted in the cache.
    pub fn stores(&self, bytes: usize) -> Stores {
        if self.work.is_some() { Stores::Cached } else { Stores::of(bytes) }
    }
}

impl fmt::Debug for Widening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as {}", self.stored.name(), self.delivered.name())
    }
}

/// How the numbers of a metadata or extra column are delivered.
#[derive(Clone, Copy)]
pub(crate) struct Numeric {
    /// What the batch holds.
    pub element: Element,
    /// How it gets there.
    pub widening: Widening,
}

impl Numeric {
    /// As their column has them; a date as many days as a batch's times count in, which is more than the stored ones. None
    /// for strings.
    pub fn of(kind: ColumnType) -> Option<Self> {
        let (stored, element) = (kind.stored()?, kind.element()?);
        Some(Self { element, widening: Widening::new(stored, element.dtype()).ok()? })
    }

    /// As `dtype`. An error if the column has no numbers, or they could lose their value.
    pub fn widened(kind: ColumnType, dtype: DType) -> Result<Self> {
        match kind {
            ColumnType::Number(stored) => {
                Ok(Self { element: Element::Plain(dtype), widening: Widening::new(stored, dtype)? })
            }
            other => Err(no_number(&other.name(), dtype)),
        }
    }
}

/// The error for what has no type of elements that could be widened.
pub(crate) fn no_number(what: &str, dtype: DType) -> Error {
    let message = format!(
        "fields= asks for {}, and this is {what}, which is delivered in one way only; give None in place of a dtype",
        dtype.name()
    );
    Error::new(Kind::Schema, message)
}

fn refused(stored: DType, delivered: DType) -> Error {
    let possible = DType::ALL.into_iter().filter(|to| *to == stored || widener(stored, *to).is_some());
    let possible: Vec<_> = possible.map(DType::name).collect();
    let message = format!(
        "fields= asks for {}, and the values are {}: only a type that holds every one of them is delivered, which is {}; \
         convert the batch yourself where something may be lost",
        delivered.name(),
        stored.name(),
        possible.join(", ")
    );
    Error::new(Kind::Schema, message)
}

#[cfg(test)]
mod tests;
