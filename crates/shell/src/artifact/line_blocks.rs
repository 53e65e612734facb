//! Reads an artifact in blocks of whole lines: memory is constant, and only a line that is longer than a block is
//! split.

use std::io::{Read, Seek};

use envelope::Fault;
use memchr::memrchr;

use super::reader::ArtifactReader;
use super::text_encoding::complete_characters_end;

/// A block.
pub(super) struct LineBlock {
    /// Where it begins.
    pub(super) byte: u64,
    pub(super) bytes: Vec<u8>,
}

impl<R: Read + Seek> ArtifactReader<'_, R> {
    /// Returns the block that begins at `byte`, or `None` at the end.
    pub(super) fn block(&mut self, byte: u64) -> Result<Option<LineBlock>, Fault> {
        if byte >= self.total {
            return Ok(None);
        }
        (self.check_continue)()?;
        let mut bytes = self.read_range(byte, self.limits.block as u64)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let at_end = byte + bytes.len() as u64 >= self.total;
        if !at_end {
            let end = memrchr(b'\n', &bytes).map_or_else(|| complete_characters_end(&bytes), |last| last + 1);
            bytes.truncate(end);
        }
        Ok(Some(LineBlock { byte, bytes }))
    }
}
