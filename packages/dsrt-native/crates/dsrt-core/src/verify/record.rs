//! The checks of one record: R033 to R038 and R052, the first that fails.

use super::content::Content;
use super::control::Control;
use super::dictionary::Decoder;
use super::pieces::Pieces;
use crate::error::Result;
use crate::field::{Codec, Field};
use crate::format::checksum::{self, Running};
use crate::format::codec::{check_frame, decode_whole};
use crate::format::shard::{check_raw, record_size};

/// What the index says of a record in the record area.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub ordinal: u64,
    pub from: u64,
    pub to: u64,
    pub crc: u32,
    /// As the index holds it: 8 bytes an axis.
    pub shape: &'a [u8],
}

/// The records of one shard.
pub(super) struct Records<'a> {
    field: &'a Field,
    decoder: Option<&'a Decoder>,
    key: u32,
    control: &'a Control,
}

impl<'a> Records<'a> {
    pub(super) fn new(field: &'a Field, decoder: Option<&'a Decoder>, key: u32, control: &'a Control) -> Self {
        Self { field, decoder, key, control }
    }

    /// Checks a record. `stored` and `decoded` are memory to be used.
    pub(super) fn check(
        &self,
        entry: &Entry,
        pieces: &mut Pieces,
        stored: &mut Vec<u8>,
        decoded: &mut Vec<u8>,
    ) -> Result<()> {
        if self.field.codec == Codec::Raw {
            return self.check_raw(entry, pieces);
        }
        let stored = pieces.whole(entry.from, entry.to, stored)?;
        let mut crc = Running::default();
        crc.update(stored);
        self.compare(crc, entry)?;
        let dictionary = match (self.field.codec, self.decoder) {
            (Codec::ZstdDict, Some(Decoder::Loaded(dictionary))) => Some(dictionary),
            // With its dictionary damaged no record can be told to be right or wrong.
            (Codec::ZstdDict, _) => return Ok(()),
            _ => None,
        };
        let size = record_size(self.field, entry.shape)?;
        check_frame(stored, size)?;
        decode_whole(self.field, dictionary, stored, size, decoded, &mut || self.control.check())?;
        let mut content = Content::of(self.field);
        content.feed(decoded);
        content.end()
    }

    /// Nothing is decoded, so that a record of any length is checked piece by piece.
    fn check_raw(&self, entry: &Entry, pieces: &mut Pieces) -> Result<()> {
        let mut crc = Running::default();
        let mut content = Content::of(self.field);
        let mut at = entry.from;
        while at < entry.to {
            let bytes = pieces.bytes(at, entry.to)?;
            crc.update(bytes);
            content.feed(bytes);
            at += bytes.len() as u64;
        }
        self.compare(crc, entry)?;
        check_raw(entry.to - entry.from, record_size(self.field, entry.shape)?)?;
        content.end()
    }

    /// R033.
    fn compare(&self, crc: Running, entry: &Entry) -> Result<()> {
        checksum::compare(crc.end(entry.ordinal, entry.shape), self.key, entry.crc)
    }
}
