//! The journal of a writer.

use crate::format::checksum::crc32c;
use crate::write::journal::fuzz::{again, lines};

/// A journal: as it is given, and with the checksum of each line made anew.
pub fn journal(given: &[u8]) -> bool {
    check(given);
    let mut forged = given.to_vec();
    for line in forged.split_mut(|byte| *byte == b'\n') {
        if let Some((prefix, json)) = line.split_at_mut_checked(9) {
            prefix.copy_from_slice(format!("{:08x} ", crc32c(json)).as_bytes());
        }
    }
    check(&forged);
    true
}

fn check(bytes: &[u8]) {
    let (good, behind) = lines(bytes);
    let mut from = 0;
    let mut rewritten = Vec::new();
    for (value, end) in &good {
        let end = usize::try_from(*end).unwrap();
        let line = &bytes[from..end];
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1), "one line each");
        assert_eq!(line[..9], *format!("{:08x} ", crc32c(&line[9..line.len() - 1])).as_bytes());
        rewritten.extend(again(value));
        from = end;
    }
    // Whatever comes behind the good lines, they are those.
    let (prefix, nothing) = lines(&bytes[..from]);
    assert!(prefix == good && nothing.is_empty());
    // A crash tears the last line.
    if let Some(torn) = bytes.get(..from.saturating_sub(1)) {
        let (kept, nothing) = lines(torn);
        assert!(kept == good[..good.len().saturating_sub(1)] && nothing.is_empty());
    }
    let after = bytes[from..].iter().filter(|byte| **byte == b'\n').count();
    assert!(behind.len() <= after.saturating_sub(1), "the first line behind the good ones is none of the sound ones");
    // What is written says the same, in the same number of lines.
    let (second, nothing) = lines(&rewritten);
    assert!(second.iter().map(|(value, _)| value).eq(good.iter().map(|(value, _)| value)) && nothing.is_empty());
    assert_eq!(second.last().map_or(0, |(_, end)| *end), rewritten.len() as u64);
}
