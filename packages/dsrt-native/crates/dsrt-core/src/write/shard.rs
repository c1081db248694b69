//! One shard file of one field: digested in one place and written in another, in the order of the samples.

use std::path::PathBuf;

use blake3::Hasher;

use super::block::Part;
use super::disk::Disk;
use super::file::OutFile;
use crate::error::Result;
use crate::field::Field;
use crate::format::checksum;
use crate::format::header::{self, Header};
use crate::format::manifest::FileEntry;
use crate::format::shard::HEADER;

const ALIGNMENT: u64 = 8;

/// As many zeros as may be needed between records and index.
const PAD: [u8; ALIGNMENT as usize] = [0; ALIGNMENT as usize];

/// Index and digest of an open shard.
#[derive(Default)]
pub(super) struct Sum {
    /// The index with the checksums as they are before the key is applied, which only the end knows.
    index: Vec<u8>,
    hasher: Hasher,
    count: u64,
    stored: u64,
}

/// What comes behind the records of a shard, and before them.
pub(super) struct Tail {
    pad: &'static [u8],
    index: Vec<u8>,
    header: Header,
    entry: FileEntry,
}

impl Sum {
    /// Adds encoded records of `field`.
    pub(super) fn add(&mut self, field: &Field, part: &Part, from: usize, to: usize) {
        let axes = field.entry_axes();
        for (place, stored) in (from..to).zip(part.records(from, to)) {
            self.stored += stored.len() as u64;
            let entry = self.index.len();
            if !field.is_fixed() {
                self.index.extend((HEADER + self.stored).to_le_bytes());
            }
            let checksum_at = self.index.len();
            self.index.extend([0; 4]);
            let shape = part.shapes.get(place * axes..(place + 1) * axes).unwrap_or_default();
            self.index.extend(shape.iter().flat_map(|axis| axis.to_le_bytes()));
            debug_assert_eq!(self.index.len() - entry, field.entry_bytes());
            let at = self.index.get_mut(checksum_at..).and_then(|rest| rest.split_first_chunk_mut());
            if let Some((checksum, shape)) = at {
                *checksum = checksum::record(stored, self.count, shape).to_le_bytes();
            }
            self.count += 1;
        }
        self.hasher.update(part.bytes.get(part.start(from)..part.start(to)).unwrap_or_default());
    }

    /// Completes index and header, and begins anew.
    pub(super) fn end(&mut self, field: &Field) -> Tail {
        let Self { mut index, mut hasher, count, stored } = std::mem::take(self);
        let pad = stored.next_multiple_of(ALIGNMENT) - stored;
        let pad = PAD.get(..pad as usize).unwrap_or_default();
        let body = *hasher.update(pad).update(&index).finalize().as_bytes();
        apply_key(&mut index, field, checksum::key(&body));
        let digest = (!field.is_fixed()).then(|| checksum::digest(&index));
        let length = HEADER + stored + (pad.len() + index.len()) as u64;
        let header = header::shard(field, count, length, &body);
        Tail { pad, index, header, entry: FileEntry { bytes: length, body, index: digest } }
    }
}

/// XORs the key to the checksum of every entry, which also takes it away again.
pub(super) fn apply_key(index: &mut [u8], field: &Field, key: u32) {
    let checksum_at = if field.is_fixed() { 0 } else { 8 };
    for entry in index.chunks_exact_mut(field.entry_bytes()) {
        let checksum = entry.iter_mut().skip(checksum_at);
        checksum.zip(key.to_le_bytes()).for_each(|(byte, key)| *byte ^= key);
    }
}

/// The file of an open shard.
pub(super) struct Shard(OutFile);

impl Shard {
    /// Creates the file with a place for its header.
    pub(super) fn create(disk: &Disk, path: PathBuf) -> Result<Self> {
        let mut file = OutFile::create(disk, path)?;
        file.write(&[0; HEADER as usize])?;
        Ok(Self(file))
    }

    /// Appends encoded records.
    pub(super) fn write(&mut self, records: &[u8]) -> Result<()> {
        self.0.write(records)
    }

    /// Writes index and header. The file is complete then, and not yet durable.
    pub(super) fn end(mut self, tail: Tail) -> Result<(FileEntry, OutFile)> {
        self.0.write(tail.pad)?;
        self.0.write(&tail.index)?;
        self.0.overwrite(&tail.header)?;
        Ok((tail.entry, self.0))
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
        let mut part = Part::default();
        for (stored, shape) in records {
            part.bytes.extend_from_slice(stored);
            part.ends.push(part.bytes.len());
            part.shapes.extend_from_slice(shape.get(..field.entry_axes()).unwrap());
        }
        let mut sum = Sum::default();
        let half = records.len() / 2;
        sum.add(field, &part, 0, half);
        sum.add(field, &part, half, records.len());
        let tail = sum.end(field);
        let mut shard = Shard::create(&Disk::default(), path.clone()).unwrap();
        shard.write(&part.bytes).unwrap();
        let (entry, _) = shard.end(tail).unwrap();
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
