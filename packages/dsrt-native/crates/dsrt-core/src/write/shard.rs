//! One shard file of one field: records go out as they come, the index waits in memory for the seal.

use std::path::PathBuf;

use super::disk::Disk;
use super::file::OutFile;
use crate::error::Result;
use crate::field::Field;
use crate::format::checksum;
use crate::format::header;
use crate::format::manifest::FileEntry;
use crate::format::shard::HEADER;

const ALIGNMENT: u64 = 8;

/// An open shard.
pub(super) struct Shard {
    file: OutFile,
    /// The index with the checksums as they are before the key is applied, which only the seal knows.
    index: Vec<u8>,
    count: u64,
}

impl Shard {
    /// Creates the file with a place for its header.
    pub(super) fn create(disk: &Disk, path: PathBuf) -> Result<Self> {
        let mut file = OutFile::create(disk, path)?;
        file.write(&[0; HEADER as usize])?;
        file.begin_digest()?;
        Ok(Self { file, index: Vec::new(), count: 0 })
    }

    /// Appends an encoded record of `field`.
    pub(super) fn push(&mut self, field: &Field, stored: &[u8], shape: &[u64]) -> Result<()> {
        let entry = self.index.len();
        if !field.is_fixed() {
            let end = self.file.len() + stored.len() as u64;
            self.index.extend(end.to_le_bytes());
        }
        let checksum_at = self.index.len();
        self.index.extend([0; 4]);
        if field.entry_axes() > 0 {
            self.index.extend(shape.iter().flat_map(|axis| axis.to_le_bytes()));
        }
        debug_assert_eq!(self.index.len() - entry, field.entry_bytes());
        if let Some((place, shape)) = self.index.get_mut(checksum_at..).and_then(|rest| rest.split_first_chunk_mut()) {
            *place = checksum::record(stored, self.count, shape).to_le_bytes();
        }
        self.count += 1;
        self.file.write(stored)
    }

    /// Whether a record of that size only fills the buffer.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.file.has_room(bytes)
    }

    /// Bytes of the records so far.
    pub(super) fn stored(&self) -> u64 {
        self.file.len() - HEADER
    }

    /// Writes index and header, and makes the file durable.
    pub(super) fn seal(mut self, field: &Field) -> Result<FileEntry> {
        let pad = self.file.len().next_multiple_of(ALIGNMENT) - self.file.len();
        self.file.write([0; ALIGNMENT as usize].get(..pad as usize).unwrap_or_default())?;
        let body = self.file.end_digest(&self.index)?;
        apply_key(&mut self.index, field, checksum::key(&body));
        let index = (!field.is_fixed()).then(|| checksum::digest(&self.index));
        self.file.write(&self.index)?;
        let bytes = self.file.len();
        self.file.overwrite(&header::shard(field, self.count, bytes, &body))?;
        self.file.finish()?;
        Ok(FileEntry { bytes, body, index })
    }
}

/// XORs the key to the checksum of every entry.
fn apply_key(index: &mut [u8], field: &Field, key: u32) {
    let checksum_at = if field.is_fixed() { 0 } else { 8 };
    for entry in index.chunks_exact_mut(field.entry_bytes()) {
        let checksum = entry.iter_mut().skip(checksum_at);
        checksum.zip(key.to_le_bytes()).for_each(|(byte, key)| *byte ^= key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;
    use crate::field::{Codec, FieldKind};

    fn field(kind: FieldKind, codec: Codec) -> Field {
        Field { name: "x".into(), kind, dtype: DType::UInt8, codec, delta: 0 }
    }

    fn sealed(field: &Field, records: &[(&[u8], &[u64])]) -> (Vec<u8>, FileEntry) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("00000.shard");
        let mut shard = Shard::create(&Disk::default(), path.clone()).unwrap();
        records.iter().for_each(|(stored, shape)| shard.push(field, stored, shape).unwrap());
        let entry = shard.seal(field).unwrap();
        (std::fs::read(path).unwrap(), entry)
    }

    #[test]
    fn the_fixed_shard_of_the_specification_comes_out_byte_for_byte() {
        let image = field(FieldKind::Dense([2, 2, 3].into()), Codec::Raw);
        let (file, entry) = sealed(&image, &[(&[3; 12], &[2, 2, 3]), (&[4; 12], &[2, 2, 3])]);
        let expected = "89445352540d0a1a01000100040000000200000000000000 2000000000000000
            cb3dbcdf99b4640c7072240646895f2cd1c8398550255f2feb82536f8fdafe2a
            030303030303030303030303 040404040404040404040404 3686cbbd 8820b4fa";
        assert_eq!(hexadecimal(&file), expected.replace(char::is_whitespace, ""));
        assert_eq!((entry.bytes, entry.index), (96, None));
        assert_eq!(entry.body[..4], [0xcb, 0x3d, 0xbc, 0xdf]);
    }

    #[test]
    fn the_index_of_the_specifications_indexed_shard_comes_out_byte_for_byte() {
        let mut tokens = field(FieldKind::Ragged(1), Codec::ZstdDict);
        tokens.dtype = DType::Int32;
        let first = b"\x28\xb5\x2f\xfd\x20\x0c\x61\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0";
        let second = b"\x28\xb5\x2f\xfd\x20\x10\x81\0\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0";
        let (file, entry) = sealed(&tokens, &[(first, &[3]), (second, &[4])]);
        assert_eq!(file.len(), 152);
        assert_eq!(file[110..112], [0, 0]);
        let expected = "5500000000000000 bf36e580 0300000000000000 6e00000000000000 62be9776 0400000000000000";
        assert_eq!(hexadecimal(&file[112..]), expected.replace(' ', ""));
        assert_eq!(hexadecimal(&entry.body[..4]), "e073a50a");
        assert_eq!(hexadecimal(&entry.index.unwrap()[..4]), "247e2ca6");
    }

    #[test]
    fn records_of_no_bytes_need_nothing_special() {
        let (file, entry) = sealed(&field(FieldKind::Dense([0].into()), Codec::Raw), &[(&[][..], &[0][..]); 3]);
        assert_eq!((file.len(), entry.bytes), (64 + 12, 76));
        let (file, entry) = sealed(&field(FieldKind::Ragged(2), Codec::Raw), &[(&[], &[0, 5]), (&[9], &[1, 1])]);
        assert_eq!((file.len() as u64, file[64], entry.bytes), (64 + 8 + 2 * 28, 9, 128));
    }

    fn hexadecimal(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
