//! Aligned buffers for a stream on its way from the pipe to the disk and to the hasher.

/// Unit of direct writes, and alignment of the memory.
pub(super) const BLOCK: usize = 4096;

/// A buffer whose bytes have the same offset from a block boundary in memory as in the file, so that whole blocks can
/// be written directly.
#[derive(Debug)]
pub(super) struct AlignedChunk {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    limit: usize,
}

impl AlignedChunk {
    /// Holds up to `room` bytes, less the offset of its file position from a block boundary.
    pub(super) fn new(room: usize) -> AlignedChunk {
        AlignedChunk { buffer: vec![0; room + BLOCK], start: 0, end: 0, limit: room }
    }

    /// Returns a full chunk with these bytes, for the beginning of the file.
    pub(super) fn of(bytes: &[u8]) -> AlignedChunk {
        let mut chunk = AlignedChunk::new(bytes.len().next_multiple_of(BLOCK));
        chunk.begin(0);
        chunk.spare()[..bytes.len()].copy_from_slice(bytes);
        chunk.add(bytes.len());
        chunk
    }

    /// Empties it for bytes from this position of the file on.
    pub(super) fn begin(&mut self, place: u64) {
        let aligned = self.buffer.as_ptr().align_offset(BLOCK).min(BLOCK);
        self.limit = aligned + self.room();
        self.start = aligned + (place % BLOCK as u64) as usize;
        self.end = self.start;
    }

    pub(super) fn room(&self) -> usize {
        self.buffer.len() - BLOCK
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns the unused space. [`AlignedChunk::add`] takes the number of bytes that were put there.
    pub(super) fn spare(&mut self) -> &mut [u8] {
        &mut self.buffer[self.end..self.limit]
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.end = (self.end + bytes).min(self.limit);
    }

    pub(super) fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.start.saturating_add(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::{AlignedChunk, BLOCK};

    #[test]
    fn a_piece_is_off_a_block_as_far_as_its_place_in_the_file() {
        let mut chunk = AlignedChunk::new(4 * BLOCK);
        for place in [0, 1, 4095, 4096, 10_000_000_001] {
            chunk.begin(place);
            let off = (place % BLOCK as u64) as usize;
            assert_eq!(chunk.spare().as_ptr().align_offset(BLOCK), (BLOCK - off) % BLOCK);
            assert_eq!(chunk.spare().len(), 4 * BLOCK - off);
            let room = chunk.spare().len();
            chunk.add(room + 1);
            assert_eq!((chunk.bytes().len(), chunk.spare().len()), (room, 0));
        }
        let mut chunk = AlignedChunk::of(b"some");
        chunk.truncate(usize::MAX);
        assert_eq!(chunk.bytes(), b"some");
        chunk.truncate(2);
        assert_eq!(chunk.bytes(), b"so");
    }
}
