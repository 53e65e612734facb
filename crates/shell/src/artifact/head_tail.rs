//! The end of an artifact, and its beginning with its end.

use std::io::{Read, Seek};

use envelope::Fault;
use memchr::{memchr, memchr_iter, memrchr_iter};
use receipts::families::artifact::{ArtifactSlice, ArtifactView, ByteSelection, LineSelection, NextRequest};

use super::line_positions::START;
use super::reader::ArtifactReader;
use super::text_encoding::complete_characters_end;

/// Lines of the beginning and of the end without a requested number. More than any receipt shows.
const MOST_LINES: u64 = 1_000;

impl<R: Read + Seek> ArtifactReader<'_, R> {
    /// Returns the last lines, as many as fit one page.
    pub(super) fn tail(&mut self, lines: u64) -> Result<ArtifactSlice, Fault> {
        let mut slice = self.slice(ArtifactView::Tail);
        if self.total == 0 {
            return Ok(slice);
        }
        let (start, bytes, complete) = self.last_lines(lines.max(1), self.limits.page)?;
        let start_line = self.line_number_at(start)?;
        slice.total_lines = self.total_lines(start_line, &bytes);
        slice.pieces.push(self.slice_piece(start_line, start, &bytes));
        slice.next = (!complete).then(|| {
            let from = start.saturating_sub(self.limits.page);
            NextRequest::Bytes(ByteSelection { start: from, count: start - from })
        });
        Ok(slice)
    }

    /// Returns everything if it fits one page, else the beginning and the end.
    pub(super) fn head_and_tail(&mut self) -> Result<ArtifactSlice, Fault> {
        if self.total <= self.limits.page {
            let all = self.read_range(0, self.total)?;
            let mut slice = self.slice(ArtifactView::HeadAndTail);
            slice.total_lines = self.total_lines(Some(START.line), &all);
            slice.pieces.extend((self.total > 0).then(|| self.slice_piece(Some(START.line), 0, &all)));
            return Ok(slice);
        }
        let half = self.limits.page / 2;
        let (start, bytes, _) = self.last_lines(MOST_LINES, half)?;
        let begins_line = self.begins_line(start)?;
        let start_line = self.line_number_at(start)?;
        let mut slice = self.slice(ArtifactView::HeadAndTail);
        slice.total_lines = self.total_lines(start_line, &bytes);
        let head = self.read_range(0, half.min(start))?;
        let head = &head[..first_lines(&head)];
        let first = self.slice_piece(Some(START.line), 0, head);
        let gap = ByteSelection { start: first.end_byte, count: start - first.end_byte };
        let lines = memchr_iter(b'\n', head).count() as u64;
        slice.next =
            (gap.count > 0).then(|| match start_line.filter(|_| begins_line && head.ends_with(b"\n")) {
                Some(last) => {
                    let start = START.line + lines;
                    NextRequest::Lines(LineSelection { start, count: last - start, at_byte: Some(gap.start) })
                }
                None => NextRequest::Bytes(gap),
            });
        slice.pieces = vec![first, self.slice_piece(start_line, start, &bytes)];
        Ok(slice)
    }

    /// Returns where the last lines begin, their bytes, and whether they are all that were requested.
    fn last_lines(&mut self, lines: u64, most: u64) -> Result<(u64, Vec<u8>, bool), Fault> {
        let window = most.min(self.total);
        let from = self.total - window;
        let bytes = self.read_range(from, window)?;
        // A line break at the very end ends the last line; it does not begin another.
        let inside = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let wanted = usize::try_from(lines - 1).unwrap_or(usize::MAX);
        let (start, complete) = match memrchr_iter(b'\n', inside).nth(wanted) {
            Some(before) => (before + 1, true),
            None if from == 0 => (0, true),
            // The window usually begins inside of a line: start at the next one, if there is one.
            None => (memchr(b'\n', inside).map_or_else(|| first_character(&bytes), |end| end + 1), false),
        };
        Ok((from + start as u64, bytes[start..].to_vec(), complete))
    }

    /// Returns the number of the line at `byte`, if the artifact is small enough to count.
    fn line_number_at(&mut self, byte: u64) -> Result<Option<u64>, Fault> {
        if self.total > self.limits.counted {
            return Ok(None);
        }
        let begins = self.begins_line(byte)?;
        let place = self.count_to(START, byte, u64::MAX)?;
        Ok(Some(if begins { place.line } else { place.line - 1 }))
    }

    fn begins_line(&mut self, byte: u64) -> Result<bool, Fault> {
        Ok(byte == 0 || self.read_range(byte - 1, 1)? == b"\n")
    }

    fn total_lines(&self, start_line: Option<u64>, rest: &[u8]) -> Option<u64> {
        let lines = memrchr_iter(b'\n', rest).count() as u64 + u64::from(!rest.ends_with(b"\n"));
        start_line.map(|first| if rest.is_empty() { first - 1 } else { first + lines - 1 })
    }
}

/// Returns the end of the last whole line, or of the last whole character without a whole line.
fn first_lines(bytes: &[u8]) -> usize {
    let most = usize::try_from(MOST_LINES).unwrap_or(usize::MAX);
    match memchr_iter(b'\n', bytes).take(most).last() {
        Some(end) => end + 1,
        None => complete_characters_end(bytes),
    }
}

/// Returns the first byte that can begin a character.
fn first_character(bytes: &[u8]) -> usize {
    bytes.iter().take(4).position(|byte| byte & 0b1100_0000 != 0b1000_0000).unwrap_or(0)
}
