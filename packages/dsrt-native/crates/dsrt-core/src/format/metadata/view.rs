//! Views: how the file stores strings. 16 bytes each: the length, and either up to 12 bytes of content or four bytes of
//! it, the number of a data buffer and an offset there.

use super::Extent;
use crate::error::Result;

use super::breach;

/// The longest content that lies in the view itself.
pub(super) const INLINE: u32 = 12;

/// Where the content of a string lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Its bytes in the file.
    pub content: Extent,
    /// The first bytes of content that is not in the view itself, to be compared (R042).
    pub prefix: Option<[u8; 4]>,
}

/// Follows the view that lies at byte `at` of the file (R042). The content is not looked at.
pub fn follow(view: &[u8; 16], at: u64, data: &[Extent]) -> Result<View> {
    let [l0, l1, l2, l3, content @ ..] = *view;
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    if length <= INLINE {
        if content.iter().skip(length as usize).any(|byte| *byte != 0) {
            return Err(breach(42, "a short string is not padded with zeros"));
        }
        return Ok(View { content: Extent { at: at + 4, len: length.into() }, prefix: None });
    }
    let [p0, p1, p2, p3, b0, b1, b2, b3, o0, o1, o2, o3] = content;
    let number = i32::from_le_bytes([b0, b1, b2, b3]);
    let offset = u64::from(u32::from_le_bytes([o0, o1, o2, o3]));
    let buffer = usize::try_from(number).ok().and_then(|number| data.get(number));
    let buffer =
        buffer.ok_or_else(|| breach(42, format!("a string lies in data buffer {number}, which there is not")))?;
    let len = u64::from(length);
    if length > i32::MAX as u32 || offset > i32::MAX as u64 || offset + len > buffer.len {
        return Err(breach(
            42,
            format!("a string lies at {offset} to {} of a buffer of {} bytes", offset + len, buffer.len),
        ));
    }
    Ok(View { content: Extent { at: buffer.at + offset, len }, prefix: Some([p0, p1, p2, p3]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: [Extent; 2] = [Extent { at: 100, len: 0 }, Extent { at: 200, len: 30 }];

    fn view(parts: [u32; 4]) -> [u8; 16] {
        let mut view = [0; 16];
        for (to, part) in view.as_chunks_mut::<4>().0.iter_mut().zip(parts) {
            *to = part.to_le_bytes();
        }
        view
    }

    #[test]
    fn short_content_lies_in_the_view() {
        let found = follow(&view([12, 1, 2, 3]), 64, &[]).unwrap();
        assert_eq!(found, View { content: Extent { at: 68, len: 12 }, prefix: None });
        assert_eq!(follow(&view([4, 1, 0, 0]), 64, &[]).unwrap().content, Extent { at: 68, len: 4 });
        assert_eq!(follow(&view([4, 1, 1, 0]), 64, &[]).unwrap_err().rule_number(), Some(42));
        assert_eq!(follow(&view([0, 0, 0, 1 << 31]), 64, &[]).unwrap_err().rule_number(), Some(42));
    }

    #[test]
    fn long_content_lies_in_its_buffer_or_nowhere() {
        let found = follow(&view([13, 7, 1, 17]), 64, &DATA).unwrap();
        assert_eq!(found, View { content: Extent { at: 217, len: 13 }, prefix: Some([7, 0, 0, 0]) });
        for bad in [
            [13, 7, 1, 18],
            [13, 7, 0, 0],
            [13, 7, 2, 0],
            [13, 7, u32::MAX, 0],
            [u32::MAX, 7, 1, 0],
            [13, 7, 1, u32::MAX],
        ] {
            assert_eq!(follow(&view(bad), 64, &DATA).unwrap_err().rule_number(), Some(42), "{bad:?}");
        }
    }
}
