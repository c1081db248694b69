//! Arrays of Python's that a batch is written into.

use std::ptr::NonNull;

use dsrt_core::{Error, Kind, Result};
use pyo3::buffer::PyBuffer;

/// Bytes that are written, of one array each. No two of them are the same.
pub struct Arrays<'a>(Vec<(NonNull<u8>, &'a PyBuffer<u8>)>);

// SAFETY: addresses. Writing there has an argument beside the act.
unsafe impl Send for Arrays<'_> {}

impl<'a> Arrays<'a> {
    /// An error if two of them overlap. That each is contiguous and writable was seen to where its dtype and shape were
    /// compared, and is an error of ours otherwise.
    pub fn new(arrays: &'a [PyBuffer<u8>]) -> Result<Self> {
        let refused = || Error::new(Kind::Internal, "an array was given that cannot be written in a row");
        let mut found = Vec::with_capacity(arrays.len());
        for array in arrays {
            let bytes = match array.len_bytes() {
                0 => NonNull::dangling(),
                _ => array.as_slice_ptr().filter(|_| !array.readonly()).ok_or_else(refused)?.cast(),
            };
            found.push((bytes, array));
        }
        let mut ranges: Vec<_> = found.iter().map(|(start, array)| (start.addr().get(), array.len_bytes())).collect();
        ranges.retain(|(_, len)| *len > 0);
        ranges.sort_unstable();
        if ranges.iter().zip(ranges.iter().skip(1)).any(|((start, len), (next, _))| start + len > *next) {
            let message = "two of the arrays in out= share memory; give each column an array of its own";
            return Err(Error::new(Kind::Value, message));
        }
        Ok(Self(found))
    }

    /// Writes to all of them at once.
    pub fn write<T>(self, write: impl FnOnce(&mut [&mut [u8]]) -> T) -> T {
        let bytes = self.0.iter().map(|(start, array)| {
            // SAFETY: the buffers are held, so these bytes are there, in place and initialised; they are writable, and no
            // two slices overlap. That nobody else uses an array while it is written is up to the program.
            unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), array.len_bytes()) }
        });
        write(&mut bytes.collect::<Vec<_>>())
    }
}
