//! The FlatBuffers in which the file describes itself, read one number at a time, each within its buffer (R042).
//!
//! Nothing is verified beforehand, so that of several breaches the first in the order of the specification is found,
//! however the rest of the buffer is mangled, and a message costs what is looked at and not what it holds.

use arrow_ipc::{root_as_footer, root_as_message};
use flatbuffers::InvalidFlatbuffer;

use super::breach;
use crate::error::{Error, Result};

/// Bytes of a table's directory that hold its own size and the table's.
const SIZES: usize = 4;

/// A table. Its fields have numbers, in the order of Arrow's schemas of them.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where each field lies, from the table's beginning: 2 bytes a field, 0 for one that is absent.
    places: &'a [u8],
}

impl<'a> Table<'a> {
    /// The outermost table of a buffer.
    pub(super) fn root(bytes: &'a [u8]) -> Result<Self> {
        Self::at(bytes, u32::from_le_bytes(number(bytes, 0)?) as usize)
    }

    fn at(bytes: &'a [u8], at: usize) -> Result<Self> {
        let back = i32::from_le_bytes(number(bytes, at)?);
        let directory = usize::try_from(at as i64 - i64::from(back)).map_err(|_| outside())?;
        let size = usize::from(u16::from_le_bytes(number(bytes, directory)?));
        if size % 2 != 0 {
            return Err(outside());
        }
        let places = bytes.get(directory..).and_then(|rest| rest.get(..size)).and_then(|found| found.get(SIZES..));
        Ok(Self { bytes, at, places: places.ok_or_else(outside)? })
    }

    /// Whether a field is there.
    pub(super) fn has(&self, field: usize) -> bool {
        self.place(field).is_some()
    }

    /// A number of one byte.
    pub(super) fn u8(&self, field: usize, default: u8) -> Result<u8> {
        Ok(self.number(field)?.map_or(default, u8::from_le_bytes))
    }

    /// A number of two bytes.
    pub(super) fn i16(&self, field: usize, default: i16) -> Result<i16> {
        Ok(self.number(field)?.map_or(default, i16::from_le_bytes))
    }

    /// A number of four bytes.
    pub(super) fn i32(&self, field: usize, default: i32) -> Result<i32> {
        Ok(self.number(field)?.map_or(default, i32::from_le_bytes))
    }

    /// A number of eight bytes.
    pub(super) fn i64(&self, field: usize, default: i64) -> Result<i64> {
        Ok(self.number(field)?.map_or(default, i64::from_le_bytes))
    }

    /// A table inside this one, if it is there.
    pub(super) fn table(&self, field: usize) -> Result<Option<Self>> {
        self.place(field).map(|at| Self::at(self.bytes, self.follow(at)?)).transpose()
    }

    /// The tables of a list, in order; absent is empty.
    pub(super) fn tables(&self, field: usize) -> Result<impl Iterator<Item = Result<Self>> + use<'a>> {
        let (start, count) = self.list(field, 4)?;
        let table = *self;
        Ok((0..count).map(move |item| Self::at(table.bytes, table.follow(start + 4 * item)?)))
    }

    /// How many tables a list has, none of which is looked at; absent is empty.
    pub(super) fn count(&self, field: usize) -> Result<usize> {
        self.list(field, 4).map(|(_, count)| count)
    }

    /// The structs or numbers of a list, of `N` bytes each and with a number of 8 bytes in them; absent is empty.
    pub(super) fn structs<const N: usize>(&self, field: usize) -> Result<&'a [[u8; N]]> {
        let (start, count) = self.list(field, N)?;
        // Where a list of structs is empty, some writers do not align it.
        if !start.is_multiple_of(8) && (count > 0 || N == 8) {
            return Err(outside());
        }
        let structs = self.bytes.get(start..).map(|rest| rest.as_chunks::<N>().0);
        structs.and_then(|structs| structs.get(..count)).ok_or_else(outside)
    }

    /// The bytes of a string, if it is there.
    pub(super) fn text(&self, field: usize) -> Result<Option<&'a [u8]>> {
        if !self.has(field) {
            return Ok(None);
        }
        let (start, count) = self.list(field, 1)?;
        if self.bytes.get(start + count) != Some(&0) {
            return Err(damaged("a string does not end with a zero"));
        }
        Ok(self.bytes.get(start..start + count))
    }

    fn place(&self, field: usize) -> Option<usize> {
        let place = self.places.as_chunks::<2>().0.get(field).map(|place| usize::from(u16::from_le_bytes(*place)));
        place.filter(|place| *place > 0).map(|place| self.at + place)
    }

    fn number<const N: usize>(&self, field: usize) -> Result<Option<[u8; N]>> {
        self.place(field).map(|at| number(self.bytes, at)).transpose()
    }

    /// Where the reference at `at` leads.
    fn follow(&self, at: usize) -> Result<usize> {
        match u32::from_le_bytes(number(self.bytes, at)?) {
            // No writer makes it, and libraries differ in whether it is an empty list or damage.
            0 => Err(damaged("a reference leads to its own place")),
            offset => Ok(at + offset as usize),
        }
    }

    /// Where the items of a list begin, of so many bytes each, and how many there are.
    fn list(&self, field: usize, width: usize) -> Result<(usize, usize)> {
        let Some(at) = self.place(field) else { return Ok((0, 0)) };
        let start = self.follow(at)?;
        let count = u32::from_le_bytes(number(self.bytes, start)?) as usize;
        let fits = count.checked_mul(width).and_then(|length| length.checked_add(start + 4));
        if fits.is_none_or(|end| end > self.bytes.len()) {
            return Err(outside());
        }
        Ok((start + 4, count))
    }
}

/// The `N` bytes of a number, which lies at a multiple of its size.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk).filter(|_| at.is_multiple_of(N));
    found.copied().ok_or_else(outside)
}

/// Checks a footer as the library of FlatBuffers does (R042).
pub(super) fn verify_footer(bytes: &[u8]) -> Result<()> {
    root_as_footer(bytes).map(drop).map_err(|error| refused(&error))
}

/// Checks a message as the library of FlatBuffers does (R042).
pub(super) fn verify_message(bytes: &[u8]) -> Result<()> {
    root_as_message(bytes).map(drop).map_err(|error| refused(&error))
}

fn refused(error: &InvalidFlatbuffer) -> Error {
    // Further lines trace the way to the place, in terms of the schema's tables.
    damaged(error.to_string().lines().next().unwrap_or_default())
}

fn outside() -> Error {
    damaged("an offset leaves it or is not aligned")
}

fn damaged(what: &str) -> Error {
    breach(42, format!("a description is damaged: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with a number of 8 bytes (field 0), one that is absent, a string, a list of two numbers of 8 bytes and a
    /// list of a table without fields.
    fn buffer() -> Vec<u8> {
        let mut bytes = vec![0; 120];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &24u32.to_le_bytes());
        // The directory at 4: its size, the table's, and the places of five fields.
        for (at, value) in (4..).step_by(2).zip([14u16, 28, 8, 0, 16, 20, 24]) {
            put(at, &value.to_le_bytes());
        }
        put(24, &20i32.to_le_bytes());
        put(32, &(-5i64).to_le_bytes());
        for (at, to) in [(40u32, 56u32), (44, 68), (48, 92)] {
            put(at as usize, &(to - at).to_le_bytes());
        }
        put(56, &[3, 0, 0, 0, b'a', b'b', b'c', 0]);
        put(68, &2u32.to_le_bytes());
        put(72, &7u64.to_le_bytes());
        put(80, &8u64.to_le_bytes());
        put(92, &1u32.to_le_bytes());
        put(96, &4u32.to_le_bytes());
        // Its directory lies behind it.
        put(100, &(-8i32).to_le_bytes());
        put(108, &[4, 0, 4, 0]);
        bytes
    }

    fn rule<T>(result: Result<T>) -> Option<u16> {
        result.err().and_then(|error| error.rule_number())
    }

    #[test]
    fn fields_are_read_where_they_lie_and_absent_ones_have_their_default() {
        let bytes = buffer();
        let table = Table::root(&bytes).unwrap();
        assert_eq!((table.i64(0, 1).unwrap(), table.i64(1, 1).unwrap(), table.i64(9, 2).unwrap()), (-5, 1, 2));
        assert_eq!(table.text(2).unwrap(), Some(&b"abc"[..]));
        assert_eq!((table.text(1).unwrap(), table.has(1), table.has(2)), (None, false, true));
        assert_eq!(table.structs::<8>(3).unwrap(), [7u64.to_le_bytes(), 8u64.to_le_bytes()]);
        assert_eq!((table.structs::<8>(1).unwrap().len(), table.count(4).unwrap()), (0, 1));
        let inner = table.tables(4).unwrap().next().unwrap().unwrap();
        assert_eq!((inner.u8(0, 3).unwrap(), inner.has(0), inner.table(0).unwrap().is_none()), (3, false, true));
    }

    #[test]
    fn what_leads_out_of_the_buffer_is_found_where_it_is_looked_at() {
        let broken = |at: usize, value: &[u8]| {
            let mut bytes = buffer();
            bytes[at..at + value.len()].copy_from_slice(value);
            bytes
        };
        for (at, value) in
            [(0, 119u32), (0, u32::MAX), (0, 26), (4, 13), (4, 2), (4, 60000), (24, u32::MAX), (24, 1 << 31)]
        {
            assert_eq!(rule(Table::root(&broken(at, &value.to_le_bytes()))), Some(42), "{at} {value}");
        }
        let bytes = broken(8, &[200, 0]);
        let table = Table::root(&bytes).unwrap();
        assert_eq!((rule(table.i64(0, 0)), table.text(2).unwrap()), (Some(42), Some(&b"abc"[..])));
        // A number at an odd place, a reference to itself or far away, lists that are too long, a string without an end.
        assert_eq!(rule(Table::root(&broken(8, &[12, 0])).unwrap().i64(0, 0)), Some(42));
        for value in [0, u32::MAX, 77] {
            let bytes = broken(40, &value.to_le_bytes());
            assert_eq!(rule(Table::root(&bytes).unwrap().text(2)), Some(42), "{value}");
        }
        assert_eq!(rule(Table::root(&broken(63, &[1])).unwrap().text(2)), Some(42));
        for count in [7, u32::MAX] {
            let bytes = broken(68, &count.to_le_bytes());
            assert_eq!(rule(Table::root(&bytes).unwrap().structs::<8>(3)), Some(42), "{count}");
            let bytes = broken(92, &count.to_le_bytes());
            assert_eq!(rule(Table::root(&bytes).unwrap().count(4)), Some(42), "{count}");
        }
        let bytes = broken(96, &1u32.to_le_bytes());
        let table = Table::root(&bytes).unwrap();
        assert_eq!((table.count(4).unwrap(), rule(table.tables(4).unwrap().next().unwrap())), (1, Some(42)));
        for length in 0..4 {
            assert_eq!(rule(Table::root(&buffer()[..length])), Some(42));
        }
    }
}
