//! Writes a long stream so that it reaches the disk soon after it was printed.
//!
//! The beginning goes through the page cache, where readers find it quickly. The rest is written with direct I/O if the
//! file system supports it. That costs half the work, and leaves nothing to wait for at the end.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use super::chunk::{AlignedChunk, BLOCK};
use crate::platform;

/// Length at which a stream switches to direct I/O.
const FLOOD: u64 = 32 << 20;
/// Shorter chunks always go through the page cache.
const WORTH_IT: usize = 64 << 10;
/// Without direct I/O: bytes after which the system is asked to start writing back.
const BATCH: u64 = 16 << 20;
/// Without direct I/O: bytes after which a sync is forced.
const SYNC: u64 = 128 << 20;

/// State of direct I/O.
#[derive(Debug)]
enum DirectIo {
    NotTried,
    Open(File),
    /// The file system does not support it.
    None,
}

/// A file that grows at its end.
#[derive(Debug)]
pub(super) struct DiskWriter {
    file: File,
    direct: DirectIo,
    /// Bytes in the file.
    length: u64,
    /// Offset of the next write to `file`.
    at: u64,
    /// Bytes that the system was asked to write back, and bytes that a sync has covered.
    moving: u64,
    synced: u64,
}

impl DiskWriter {
    pub(super) fn new(file: File) -> DiskWriter {
        DiskWriter { file, direct: DirectIo::NotTried, length: 0, at: 0, moving: 0, synced: 0 }
    }

    /// Bytes in the file, also after an error.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes a chunk that begins where the file ends.
    pub(super) fn write(&mut self, chunk: &AlignedChunk) -> io::Result<()> {
        let bytes = chunk.bytes();
        if self.length < FLOOD || bytes.len() < WORTH_IT {
            return self.write_cached(bytes);
        }
        let off = (self.length % BLOCK as u64) as usize;
        let (lead, rest) = bytes.split_at((BLOCK - off) % BLOCK);
        let (blocks, tail) = rest.split_at(rest.len() - rest.len() % BLOCK);
        self.write_cached(lead)?;
        let written = self.write_direct(blocks)?;
        self.write_cached(&blocks[written..])?;
        self.write_cached(tail)
    }

    fn write_cached(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() && self.at != self.length {
            self.at = self.file.seek(SeekFrom::Start(self.length))?;
        }
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(some) => {
                    bytes = &bytes[some..];
                    self.at += some as u64;
                    self.length = self.at;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.start_writeback()
    }

    /// Returns how much was written: everything, unless direct I/O is not supported.
    fn write_direct(&mut self, blocks: &[u8]) -> io::Result<usize> {
        if matches!(self.direct, DirectIo::NotTried) {
            self.direct = platform::open_direct(&self.file).map_or(DirectIo::None, DirectIo::Open);
        }
        let mut written = 0;
        while let DirectIo::Open(file) = &self.direct
            && written < blocks.len()
        {
            match file.write_at(&blocks[written..], self.length) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(some) => {
                    written += some;
                    self.length += some as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The file was opened, but its blocks have another size, or direct I/O does not work after all.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.direct = DirectIo::None,
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Starts writing back, so that the last sync is short and a long file does not fill the page cache.
    fn start_writeback(&mut self) -> io::Result<()> {
        while self.length - self.moving >= BATCH {
            platform::drop_cached_pages(&self.file, self.moving, BATCH);
            self.moving += BATCH;
        }
        if self.moving - self.synced >= SYNC && !matches!(self.direct, DirectIo::Open(_)) {
            self.file.sync_data()?;
            platform::drop_cached_pages(&self.file, self.synced, self.moving - self.synced);
            self.synced = self.moving;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{AlignedChunk, BLOCK, DiskWriter};

    /// Returns bytes that do not repeat within a megabyte.
    fn bytes(from: u64, count: usize) -> impl Iterator<Item = u8> {
        (from..).take(count).map(|place| (place ^ (place >> 8) ^ (place >> 16)) as u8)
    }

    #[test]
    fn a_flood_of_pieces_of_any_length_is_in_the_file_as_it_came() {
        let target = tempfile::NamedTempFile::new().unwrap();
        let mut disk = DiskWriter::new(target.reopen().unwrap());
        let mut chunk = AlignedChunk::new(1 << 20);
        let whole = 1 << 20;
        let lengths =
            [whole; 32].into_iter().chain([whole, 5, 100_000, 70_001, whole, 1, BLOCK, 3 * BLOCK, whole]);
        for length in lengths {
            chunk.begin(disk.length());
            let count = length.min(chunk.spare().len());
            for (to, byte) in chunk.spare().iter_mut().zip(bytes(disk.length(), count)) {
                *to = byte;
            }
            chunk.add(count);
            disk.write(&chunk).unwrap();
        }
        let written = fs::read(target.path()).unwrap();
        assert_eq!(written.len() as u64, disk.length());
        assert!(written.iter().copied().eq(bytes(0, written.len())));
    }
}
