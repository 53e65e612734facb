//! Where lines begin, found by counting line ends block by block.

use std::io::{Read, Seek};

use envelope::{Failure, Fault};
use memchr::memchr_iter;

use super::pages::Pages;

/// What is read at once while counting.
const CHUNK: usize = 256 << 10;

/// The beginning of a line, or the end of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) byte: u64,
}

/// The beginning of everything.
pub(super) const START: Place = Place { line: 1, byte: 0 };

impl<R: Read + Seek> Pages<'_, R> {
    /// Where a line begins. If there are fewer lines, where the line behind the last one would begin.
    pub(super) fn find_line(&mut self, line: u64, at_byte: Option<u64>) -> Result<Place, Fault> {
        match at_byte {
            Some(byte) => self.trusted(line, byte),
            None => self.count_to(START, self.total, line),
        }
    }

    /// A place that was told before: it must at least be the beginning of a line.
    fn trusted(&mut self, line: u64, byte: u64) -> Result<Place, Fault> {
        let begins = match byte.checked_sub(1) {
            None => line == 1,
            Some(before) => byte <= self.total && self.part(before, 1)? == b"\n",
        };
        if begins {
            return Ok(Place { line, byte });
        }
        Err(Fault::new(Failure::InvalidArguments, format!("no line begins at byte {byte}"))
            .hint("give `at_byte` as `next` told it, or leave it out"))
    }

    /// Counts on from a place, up to the beginning of a line or to `end`.
    pub(super) fn count_to(&mut self, from: Place, end: u64, line: u64) -> Result<Place, Fault> {
        let mut place = from;
        let mut at = from.byte;
        // Whether the last byte that was read ends a line.
        let mut ended = true;
        while at < end && place.line < line {
            (self.go_on)()?;
            let chunk = self.part(at, (end - at).min(CHUNK as u64))?;
            if chunk.is_empty() {
                break;
            }
            for found in memchr_iter(b'\n', &chunk) {
                place = Place { line: place.line + 1, byte: at + found as u64 + 1 };
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
