//! The delta filter: each byte as its difference from the byte `distance` before it, as PNG's filter "Sub" does for a
//! pixel.

/// Turns differences back into bytes, in place. The first `distance` bytes are themselves.
pub(super) fn undo(bytes: &mut [u8], distance: u8) {
    match distance {
        0 => {}
        1 => lanes::<1>(bytes),
        2 => lanes::<2>(bytes),
        3 => lanes::<3>(bytes),
        4 => lanes::<4>(bytes),
        _ => rows(bytes, distance.into()),
    }
}

/// Running sums that stay in registers: for few lanes, where a sum would wait for the store of the one before.
fn lanes<const N: usize>(bytes: &mut [u8]) {
    let mut sums = [0u8; N];
    let (chunks, rest) = bytes.as_chunks_mut::<N>();
    for chunk in chunks {
        for (byte, sum) in chunk.iter_mut().zip(&mut sums) {
            *sum = sum.wrapping_add(*byte);
            *byte = *sum;
        }
    }
    for (byte, sum) in rest.iter_mut().zip(&sums) {
        *byte = byte.wrapping_add(*sum);
    }
}

/// One row added to the next: for many lanes, which fill a vector register.
fn rows(bytes: &mut [u8], distance: usize) {
    let mut chunks = bytes.chunks_mut(distance);
    let Some(mut above) = chunks.next() else { return };
    for row in chunks {
        for (byte, sum) in row.iter_mut().zip(above.iter()) {
            *byte = byte.wrapping_add(*sum);
        }
        above = row;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn apply(bytes: &[u8], distance: usize) -> Vec<u8> {
        let before = |i: usize| if i < distance { 0 } else { bytes[i - distance] };
        bytes.iter().enumerate().map(|(i, byte)| byte.wrapping_sub(before(i))).collect()
    }

    #[test]
    fn differences_are_of_the_byte_that_many_places_before() {
        let mut bytes = [1, 2, 3, 1, 255, 0, 0, 1];
        undo(&mut bytes, 3);
        assert_eq!(bytes, [1, 2, 3, 2, 1, 3, 2, 2]);
    }

    proptest! {
        #[test]
        fn undoing_gives_the_bytes_back(bytes in prop::collection::vec(any::<u8>(), 0..600), distance in 1u8..) {
            let mut found = apply(&bytes, distance.into());
            undo(&mut found, distance);
            prop_assert_eq!(found, bytes);
        }
    }
}
