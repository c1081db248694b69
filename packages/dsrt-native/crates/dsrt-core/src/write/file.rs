//! One file of a cache while it is written: buffered, never read back, and every failure names the operation.

use std::path::PathBuf;

use super::disk::{Disk, DiskFile};
use crate::error::Result;

/// Small writes are gathered to this many bytes; larger ones go to the file as they are.
const BUFFER: usize = 128 << 10;

/// A new file that is written once from front to back (but for [`OutFile::overwrite`]), then made durable.
pub(super) struct OutFile {
    file: DiskFile,
    buffer: Vec<u8>,
    len: u64,
}

impl OutFile {
    /// Creates a file that nobody may write to later. It must not exist.
    pub(super) fn create(disk: &Disk, path: PathBuf) -> Result<Self> {
        let file = disk.create(path, 0o444)?;
        Ok(Self { file, buffer: Vec::new(), len: 0 })
    }

    /// Bytes written so far, that is, the length of the file when nothing else comes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Whether that many bytes more only fill the buffer.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.buffer.len() + bytes <= BUFFER
    }

    /// Appends `bytes`.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if !self.has_room(bytes.len()) {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            self.file.write(self.len, bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Writes over the first bytes of the file, which were written as a place holder.
    pub(super) fn overwrite(&mut self, bytes: &[u8]) -> Result<()> {
        self.flush()?;
        self.file.write(0, bytes)
    }

    /// Makes the content durable and closes the file. What a close could report, the sync before it has.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        self.file.sync()?;
        Ok(self.len)
    }

    /// Hands what is buffered to the file.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.file.write(self.len - self.buffer.len() as u64, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::error::Kind;

    #[test]
    fn small_and_large_writes_keep_their_order_and_the_start_can_be_filled_in() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        let mut file = OutFile::create(&Disk::default(), path.clone()).unwrap();
        let mut expected = vec![0; 4];
        file.write(&[0; 4]).unwrap();
        for size in [1, BUFFER - 6, 3, BUFFER, 0, BUFFER + 1, 2] {
            let piece: Vec<u8> = (0..size).map(|i| (i * 7 + size) as u8).collect();
            file.write(&piece).unwrap();
            expected.extend(piece);
        }
        file.overwrite(b"head").unwrap();
        file.write(b"tail").unwrap();
        expected.extend(b"tail");
        expected[..4].copy_from_slice(b"head");
        assert_eq!(file.finish().unwrap(), expected.len() as u64);
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o222, 0);
    }

    #[test]
    fn a_failure_names_operation_and_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        std::fs::write(&path, "").unwrap();
        let error = OutFile::create(&Disk::default(), path.clone()).err().unwrap();
        assert_eq!((error.kind(), error.os_code()), (Kind::Io, Some(17)));
        assert!(error.to_string().starts_with(&format!("creating {}", path.display())));
        let error = Disk::default().sync_directory(&path.join("y")).unwrap_err();
        assert!(error.to_string().contains("fsync of the directory"));
    }
}
