//! Finds where lines begin, by counting line breaks block by block.

use std::io::{Read, Seek};

use envelope::{Failure, Fault};
use memchr::memchr_iter;

use super::reader::ArtifactReader;

/// Bytes of one read while counting.
const CHUNK: usize = 256 << 10;

/// The beginning of a line, or the end of the artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineStart {
    pub(super) line: u64,
    pub(super) byte: u64,
}

/// The beginning of the artifact.
pub(super) const START: LineStart = LineStart { line: 1, byte: 0 };

impl<R: Read + Seek> ArtifactReader<'_, R> {
    /// Returns where a line begins. If there are fewer lines, returns where the line after the last one would begin.
    pub(super) fn find_line(&mut self, line: u64, at_byte: Option<u64>) -> Result<LineStart, Fault> {
        match at_byte {
            Some(byte) => self.check_position(line, byte),
            None => self.count_to(START, self.total, line),
        }
    }

    /// Checks a position that an earlier result returned: it must at least be the beginning of a line.
    fn check_position(&mut self, line: u64, byte: u64) -> Result<LineStart, Fault> {
        let begins = match byte.checked_sub(1) {
            None => line == 1,
            Some(before) => byte <= self.total && self.read_range(before, 1)? == b"\n",
        };
        if begins {
            return Ok(LineStart { line, byte });
        }
        Err(Fault::new(Failure::InvalidArguments, format!("no line begins at byte {byte}"))
            .hint("give `at_byte` as `next` returned it, or leave it out"))
    }

    /// Counts from a position to the beginning of a line or to `end`.
    pub(super) fn count_to(&mut self, from: LineStart, end: u64, line: u64) -> Result<LineStart, Fault> {
        let mut place = from;
        let mut at = from.byte;
        // Whether the last byte that was read ends a line.
        let mut ended = true;
        while at < end && place.line < line {
            (self.check_continue)()?;
            let chunk = self.read_range(at, (end - at).min(CHUNK as u64))?;
            if chunk.is_empty() {
                break;
            }
            for found in memchr_iter(b'\n', &chunk) {
                place = LineStart { line: place.line + 1, byte: at + found as u64 + 1 };
                if place.line == line {
                    return Ok(place);
                }
            }
            ended = chunk.ends_with(b"\n");
            at += chunk.len() as u64;
        }
        if place.line < line && !ended {
            place.line += 1;
        }
        place.byte = place.byte.max(at.min(end));
        Ok(place)
    }
}
