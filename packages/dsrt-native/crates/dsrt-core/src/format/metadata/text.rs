//! UTF-8 of a column of strings: sorted, and then each byte of its buffers is looked at once, though views may overlap, and
//! each of many can be the same megabytes.

use super::breach;
use super::chunks::memory;
use crate::error::Result;

/// The longest content that lies in the view itself.
const INLINE: usize = 12;

/// Where the content of a view lies: buffer, begin and end.
type Span = (u32, u32, u32);

/// Checks that every view is UTF-8 (R042). All lead into `buffers`.
///
/// What touches or overlaps is looked at once, as one text. If all views are UTF-8, so is that text, as none of them begins
/// or ends within a character; if the text is, then so are the views that begin and end at its characters.
pub fn check_text(views: &[u8], buffers: &[impl AsRef<[u8]>]) -> Result<()> {
    let mut spans = memory(views.len() / 16)?;
    for (row, view) in views.as_chunks::<16>().0.iter().enumerate() {
        match span(view) {
            Some(span) => spans.push(span),
            None if is_text(inline(view)) => {}
            None => return Err(refused(row)),
        }
    }
    spans.sort_unstable();
    let (mut rest, mut sound) = (&*spans, true);
    while let Some((buffer, from, end)) = rest.first().copied() {
        let mut to = end;
        let touches = |(other, begin, end): &Span| {
            let touches = *other == buffer && *begin <= to;
            to = if touches { to.max(*end) } else { to };
            !touches
        };
        let (together, after) = rest.split_at(rest.iter().position(touches).unwrap_or(rest.len()));
        let text = content((buffer, from, to), buffers).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let at = |place: u32| text.is_some_and(|text| text.is_char_boundary((place - from) as usize));
        sound &= together.iter().all(|(_, begin, end)| at(*begin) && at(*end));
        rest = after;
    }
    if sound { Ok(()) } else { Err(refused(first_wrong(views, buffers))) }
}

fn span(view: &[u8; 16]) -> Option<Span> {
    let [a, b, c, d, _, _, _, _, e, f, g, h, i, j, k, l] = *view;
    let len = u32::from_le_bytes([a, b, c, d]);
    let from = u32::from_le_bytes([i, j, k, l]);
    (len as usize > INLINE).then(|| (u32::from_le_bytes([e, f, g, h]), from, from.saturating_add(len)))
}

fn inline(view: &[u8; 16]) -> &[u8] {
    let [len, _, _, _, content @ ..] = view;
    content.get(..usize::from(*len)).unwrap_or_default()
}

fn content((buffer, from, to): Span, buffers: &[impl AsRef<[u8]>]) -> Option<&[u8]> {
    buffers.get(buffer as usize)?.as_ref().get(from as usize..to as usize)
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}

/// The row to be named: one by one, as there is one at which this ends.
fn first_wrong(views: &[u8], buffers: &[impl AsRef<[u8]>]) -> usize {
    let is_wrong = |view| match span(view) {
        Some(span) => !content(span, buffers).is_some_and(is_text),
        None => !is_text(inline(view)),
    };
    views.as_chunks::<16>().0.iter().position(is_wrong).unwrap_or(0)
}

fn refused(row: usize) -> crate::error::Error {
    breach(42, format!("the string in row {row} of a batch is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn view(buffer: u32, from: u32, len: u32) -> [u8; 16] {
        let mut view = [0; 16];
        view[..4].copy_from_slice(&len.to_le_bytes());
        view[8..12].copy_from_slice(&buffer.to_le_bytes());
        view[12..].copy_from_slice(&from.to_le_bytes());
        view
    }

    #[test]
    fn the_first_row_that_is_no_text_is_named() {
        let buffers = ["abcdefghijklmnopqrstuvwxyzé".as_bytes(), b"0123456789abcdef\xff0123456789abcdef"];
        let wrong = |views: &[[u8; 16]]| check_text(&views.concat(), &buffers).err().map(|e| e.message().to_owned());
        let good = [view(0, 0, 28), view(1, 0, 16), view(0, 3, 13), view(1, 17, 16), [0; 16]];
        assert_eq!(wrong(&good), None);
        for bad in [view(0, 0, 27), view(0, 14, 13), view(1, 3, 14), view(1, 16, 17)] {
            let found = wrong(&[good[0], bad, good[1], bad]).unwrap();
            assert!(found.contains("row 1 of"), "{found}");
        }
        let mut short = [0; 16];
        short[..6].copy_from_slice(&[2, 0, 0, 0, 0xc3, 0x41]);
        assert!(wrong(&[good[0], short]).unwrap().contains("row 1 of"));
    }

    #[test]
    fn a_text_that_every_row_is_part_of_is_looked_at_once() {
        let text = "é".repeat(1 << 20).into_bytes();
        let views: Vec<u8> = (0..1 << 18).flat_map(|row: u32| view(0, row * 2 % 4096, 2_000_000)).collect();
        check_text(&views, &[text]).unwrap();
    }

    proptest! {
        #[test]
        fn it_says_of_all_views_together_what_is_true_of_each(
            text in prop::collection::vec(prop::sample::select(&[0x41, 0x80, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0][..]), 20..60),
            text_of in "[aé€😀]{10,20}",
            spans in prop::collection::vec((0u32..2, 0u32..30, 13u32..24), 1..6),
        ) {
            let buffers = [text, text_of.into_bytes()];
            let spans: Vec<Span> = spans.into_iter().map(|(buffer, from, len)| (buffer, from, from + len)).collect();
            prop_assume!(spans.iter().all(|span| content(*span, &buffers).is_some()));
            let views: Vec<u8> = spans.iter().flat_map(|(buffer, from, to)| view(*buffer, *from, to - from)).collect();
            let each = spans.iter().all(|span| is_text(content(*span, &buffers).unwrap()));
            prop_assert_eq!(check_text(&views, &buffers).is_ok(), each);
        }
    }
}
