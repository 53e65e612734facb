//! Writes a long stream so that it is on the disk soon after it was produced.
//!
//! Its beginning goes through the memory of the system, where it is found again quickly. What comes behind that
//! is a flood: it goes to the disk without a detour where the file system lets it, which costs half the work
//! and leaves nothing to wait for at the end.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use super::piece::{BLOCK, Piece};
use super::system;

/// How long a stream is before it is a flood.
const FLOOD: u64 = 32 << 20;
/// Shorter pieces are not worth a way of their own.
const WORTH_IT: usize = 64 << 10;
/// Where there is no direct way: how much is written before the system is told to begin moving it.
const BATCH: u64 = 16 << 20;
/// And after how much all of it has to have arrived.
const SYNC: u64 = 128 << 20;

/// The way to the disk.
#[derive(Debug)]
enum Direct {
    NotTried,
    Open(File),
    /// The file system knows none.
    None,
}

/// A file that grows at its end.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    direct: Direct,
    /// How much is in it.
    length: u64,
    /// Where `file` writes next.
    at: u64,
    /// How much the system was told to move, and how much of that has arrived.
    moving: u64,
    arrived: u64,
}

impl Disk {
    pub(super) fn new(file: File) -> Disk {
        Disk { file, direct: Direct::NotTried, length: 0, at: 0, moving: 0, arrived: 0 }
    }

    /// How much is in it, also after an error.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Writes a piece that begins where the file ends.
    pub(super) fn write(&mut self, piece: &Piece) -> io::Result<()> {
        let bytes = piece.bytes();
        if self.length < FLOOD || bytes.len() < WORTH_IT {
            return self.write_through_memory(bytes);
        }
        let off = (self.length % BLOCK as u64) as usize;
        let (lead, rest) = bytes.split_at((BLOCK - off) % BLOCK);
        let (blocks, tail) = rest.split_at(rest.len() - rest.len() % BLOCK);
        self.write_through_memory(lead)?;
        let written = self.write_directly(blocks)?;
        self.write_through_memory(&blocks[written..])?;
        self.write_through_memory(tail)
    }

    fn write_through_memory(&mut self, mut bytes: &[u8]) -> io::Result<()> {
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
        self.keep_moving()
    }

    /// Says how much was written: all, unless there is no direct way.
    fn write_directly(&mut self, blocks: &[u8]) -> io::Result<usize> {
        if matches!(self.direct, Direct::NotTried) {
            self.direct = system::open_directly(&self.file).map_or(Direct::None, Direct::Open);
        }
        let mut written = 0;
        while let Direct::Open(file) = &self.direct
            && written < blocks.len()
        {
            match file.write_at(&blocks[written..], self.length) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(some) => {
                    written += some;
                    self.length += some as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It was opened, but takes other blocks than ours, or none after all.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => self.direct = Direct::None,
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    /// Lets the system move what is in its memory, so that the last sync is short and a long file does not fill it.
    fn keep_moving(&mut self) -> io::Result<()> {
        while self.length - self.moving >= BATCH {
            system::let_go(&self.file, self.moving, BATCH);
            self.moving += BATCH;
        }
        if self.moving - self.arrived >= SYNC && !matches!(self.direct, Direct::Open(_)) {
            self.file.sync_data()?;
            system::let_go(&self.file, self.arrived, self.moving - self.arrived);
            self.arrived = self.moving;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{BLOCK, Disk, Piece};

    /// Bytes that are the same nowhere within a megabyte.
    fn bytes(from: u64, count: usize) -> impl Iterator<Item = u8> {
        (from..).take(count).map(|place| (place ^ (place >> 8) ^ (place >> 16)) as u8)
    }

    #[test]
    fn a_flood_of_pieces_of_any_length_is_in_the_file_as_it_came() {
        let target = tempfile::NamedTempFile::new().unwrap();
        let mut disk = Disk::new(target.reopen().unwrap());
        let mut piece = Piece::new(1 << 20);
        let whole = 1 << 20;
        let lengths =
            [whole; 32].into_iter().chain([whole, 5, 100_000, 70_001, whole, 1, BLOCK, 3 * BLOCK, whole]);
        for length in lengths {
            piece.begin(disk.length());
            let count = length.min(piece.spare().len());
            for (to, byte) in piece.spare().iter_mut().zip(bytes(disk.length(), count)) {
                *to = byte;
            }
            piece.add(count);
            disk.write(&piece).unwrap();
        }
        let written = fs::read(target.path()).unwrap();
        assert_eq!(written.len() as u64, disk.length());
        assert!(written.iter().copied().eq(bytes(0, written.len())));
    }
}
