//! What must hold of a record's bytes by their meaning: text is UTF-8 (R038), a bool is 0 or 1 (R052). Seen in pieces.

use crate::dtype::DType;
use crate::error::{Error, Kind, Result};
use crate::field::{Field, FieldKind};

/// The content of one record so far.
pub(super) enum Content {
    /// Any bytes will do.
    Any,
    /// UTF-8, up to a character that is cut off.
    Text { at: u64, cut: Vec<u8>, wrong: Option<u64> },
    /// Bytes 0 and 1.
    Bool { at: u64, wrong: Option<(u64, u8)> },
}

impl Content {
    pub(super) fn of(field: &Field) -> Self {
        match (&field.kind, field.dtype) {
            (FieldKind::Text, _) => Self::Text { at: 0, cut: Vec::new(), wrong: None },
            (_, DType::Bool) => Self::Bool { at: 0, wrong: None },
            _ => Self::Any,
        }
    }

    /// Goes on with the bytes that follow.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        match self {
            Self::Any => {}
            Self::Text { at, cut, wrong } => {
                if wrong.is_none() {
                    *wrong = text(cut, bytes).map(|place| *at + place as u64);
                }
                *at += bytes.len() as u64;
            }
            Self::Bool { at, wrong } => {
                // All at once first, which the processor does many bytes at a time.
                if wrong.is_none() && bytes.iter().fold(0, |all, byte| all | byte) > 1 {
                    let found = (*at..).zip(bytes).find(|(_, byte)| **byte > 1);
                    *wrong = found.map(|(place, byte)| (place, *byte));
                }
                *at += bytes.len() as u64;
            }
        }
    }

    /// The verdict on the whole.
    pub(super) fn end(self) -> Result<()> {
        match self {
            Self::Text { wrong: Some(place), .. } => Err(not_text(place)),
            Self::Text { at, cut, .. } if !cut.is_empty() => Err(not_text(at - cut.len() as u64)),
            Self::Bool { wrong: Some((place, byte)), .. } => {
                let message = format!("byte {place} of the record is {byte}; a bool is 0 or 1");
                Err(Error::rule(Kind::Format, 52, message))
            }
            _ => Ok(()),
        }
    }
}

fn not_text(place: u64) -> Error {
    Error::rule(Kind::Format, 38, format!("the text is not UTF-8 at byte {place}"))
}

/// Where `bytes`, which follow the beginning of a character in `cut`, are found not to be UTF-8. Keeps in `cut` the
/// character that they end in the middle of.
fn text(cut: &mut Vec<u8>, bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    // At most three bytes of a character are missing.
    while !cut.is_empty() {
        let (byte, after) = rest.split_first()?;
        cut.push(*byte);
        match std::str::from_utf8(cut) {
            Ok(_) => cut.clear(),
            Err(error) if error.error_len().is_some() => return Some(bytes.len() - rest.len()),
            Err(_) => {}
        }
        rest = after;
    }
    let error = std::str::from_utf8(rest).err()?;
    let place = bytes.len() - rest.len() + error.valid_up_to();
    if error.error_len().is_some() {
        return Some(place);
    }
    cut.extend_from_slice(bytes.get(place..).unwrap_or_default());
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn verdict(mut content: Content, pieces: &[&[u8]]) -> Option<u16> {
        pieces.iter().for_each(|piece| content.feed(piece));
        content.end().err().and_then(|error| error.rule_number())
    }

    fn new_text() -> Content {
        Content::Text { at: 0, cut: Vec::new(), wrong: None }
    }

    #[test]
    fn a_bool_is_a_byte_0_or_1() {
        let flags = || Content::Bool { at: 0, wrong: None };
        assert_eq!(verdict(flags(), &[&[0, 1], &[1, 1, 0]]), None);
        assert_eq!(verdict(flags(), &[&[0, 1], &[1, 2, 0]]), Some(52));
        let mut content = flags();
        content.feed(&[1; 7]);
        content.feed(&[0, 255, 3]);
        assert!(content.end().unwrap_err().to_string().contains("byte 8 of the record is 255"));
    }

    proptest! {
        #[test]
        fn text_in_pieces_is_judged_as_the_whole(
            text in any::<String>(), other in prop::collection::vec(any::<u8>(), 0..4), place in any::<prop::sample::Index>(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)
        ) {
            let mut bytes = text.into_bytes();
            let at = place.index(bytes.len() + 1);
            bytes.splice(at..at, other);
            let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            ends.extend([0, bytes.len()]);
            ends.sort_unstable();
            let pieces: Vec<_> = ends.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let expected = std::str::from_utf8(&bytes).err().map(|_| 38);
            prop_assert_eq!(verdict(new_text(), &pieces), expected);
        }
    }
}
