//! A stretch of a stream on its way from the pipe to the disk and the hash.

/// What disks write at once, and what memory is aligned to.
pub(super) const BLOCK: usize = 4096;

/// Bytes that stand in memory as they will stand in the file: the same distance from a block. A disk can then
/// take whole blocks straight from here.
#[derive(Debug)]
pub(super) struct Piece {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    limit: usize,
}

impl Piece {
    /// Takes up to `room` bytes, less those by which its place in the file is off a block.
    pub(super) fn new(room: usize) -> Piece {
        Piece { buffer: vec![0; room + BLOCK], start: 0, end: 0, limit: room }
    }

    /// A piece that is full of these bytes, for the place where the file begins.
    pub(super) fn of(bytes: &[u8]) -> Piece {
        let mut piece = Piece::new(bytes.len().next_multiple_of(BLOCK));
        piece.begin(0);
        piece.spare()[..bytes.len()].copy_from_slice(bytes);
        piece.add(bytes.len());
        piece
    }

    /// Empties it for bytes from this place of the file on.
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

    /// Where more can be put; [`Piece::add`] says how much was.
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
    use super::{BLOCK, Piece};

    #[test]
    fn a_piece_is_off_a_block_as_far_as_its_place_in_the_file() {
        let mut piece = Piece::new(4 * BLOCK);
        for place in [0, 1, 4095, 4096, 10_000_000_001] {
            piece.begin(place);
            let off = (place % BLOCK as u64) as usize;
            assert_eq!(piece.spare().as_ptr().align_offset(BLOCK), (BLOCK - off) % BLOCK);
            assert_eq!(piece.spare().len(), 4 * BLOCK - off);
            let room = piece.spare().len();
            piece.add(room + 1);
            assert_eq!((piece.bytes().len(), piece.spare().len()), (room, 0));
        }
        let mut piece = Piece::of(b"some");
        piece.truncate(usize::MAX);
        assert_eq!(piece.bytes(), b"some");
        piece.truncate(2);
        assert_eq!(piece.bytes(), b"so");
    }
}
