//! An artifact in blocks of whole lines: memory stays flat, and no line is torn unless it is longer than a block.

use std::io::{Read, Seek};

use envelope::Fault;
use memchr::memrchr;

use super::pages::Pages;
use super::text::whole_characters;

/// A block.
pub(super) struct Block {
    /// Where it begins.
    pub(super) byte: u64,
    pub(super) bytes: Vec<u8>,
}

impl<R: Read + Seek> Pages<'_, R> {
    /// The block that begins at `byte`; none at the end.
    pub(super) fn block(&mut self, byte: u64) -> Result<Option<Block>, Fault> {
        if byte >= self.total {
            return Ok(None);
        }
        (self.go_on)()?;
        let mut bytes = self.part(byte, self.limits.block as u64)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let at_end = byte + bytes.len() as u64 >= self.total;
        if !at_end {
            let end = memrchr(b'\n', &bytes).map_or_else(|| whole_characters(&bytes), |last| last + 1);
            bytes.truncate(end);
        }
        Ok(Some(Block { byte, bytes }))
    }
}
