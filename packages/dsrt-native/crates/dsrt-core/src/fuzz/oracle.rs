//! What a stored record means, found by other means than those of the reader.

use zstd_safe::{DCtx, InBuffer, OutBuffer};

use crate::field::{Codec, Field, FieldKind};

/// Decodes a stored record that a reader accepted, in small steps and byte by byte. None where streaming refuses it: of
/// blocks larger than Block_Maximum_Size and matches from behind the window a decoder may think either, and libzstd
/// takes them when a frame is decoded at once.
pub(super) fn decode(field: &Field, dictionary: Option<&[u8]>, stored: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = match field.codec {
        Codec::Raw => stored.to_vec(),
        Codec::Zstd | Codec::ZstdDict => inflate(dictionary, stored)?,
    };
    if field.delta > 0 {
        for at in usize::from(field.delta)..bytes.len() {
            bytes[at] = bytes[at].wrapping_add(bytes[at - usize::from(field.delta)]);
        }
    }
    if field.kind == FieldKind::Text {
        assert!(std::str::from_utf8(&bytes).is_ok());
    }
    Some(bytes)
}

/// By streaming, of which the reader knows nothing.
fn inflate(dictionary: Option<&[u8]>, stored: &[u8]) -> Option<Vec<u8>> {
    let mut context = DCtx::create();
    context.set_parameter(zstd_safe::DParameter::WindowLogMax(31)).unwrap();
    if let Some(dictionary) = dictionary {
        context.load_dictionary(dictionary).unwrap();
    }
    let mut out = Vec::new();
    let mut step = vec![0; 1 << 16];
    let mut from = InBuffer::around(stored);
    loop {
        let mut to = OutBuffer::around(&mut step[..]);
        let hint = context.decompress_stream(&mut to, &mut from);
        out.extend_from_slice(to.as_slice());
        match hint {
            Ok(0) => break,
            Ok(_) => assert!(from.pos < stored.len() || !to.as_slice().is_empty(), "the frame is cut off"),
            Err(_) => return None,
        }
    }
    assert_eq!(from.pos, stored.len(), "bytes follow the frame");
    Some(out)
}
