//! Reads pages of an artifact: lines, bytes, the beginning.

use std::io::{Read, Seek, SeekFrom};

use envelope::{Failure, Fault};
use memchr::{memchr_iter, memrchr};
use receipts::families::artifact::{
    ArtifactSlice, ArtifactView, ByteSelection, LineSelection, NextRequest, PieceEncoding, SlicePiece,
};

use super::line_positions::LineStart;
use super::text_encoding::{complete_characters_end, decode_exact, decode_lossy};
use super::{ContinueCheck, ReadLimits};

/// An artifact that is being read.
pub(super) struct ArtifactReader<'a, R> {
    source: R,
    pub(super) total: u64,
    pub(super) limits: ReadLimits,
    pub(super) check_continue: ContinueCheck<'a>,
}

/// Content of one page.
struct LinePage {
    piece: SlicePiece,
    /// Number of lines, including an incomplete last one.
    lines: u64,
    /// False if it ends inside of a line.
    whole_lines: bool,
}

impl<'a, R: Read + Seek> ArtifactReader<'a, R> {
    pub(super) fn new(
        source: R,
        total: u64,
        limits: ReadLimits,
        check_continue: ContinueCheck<'a>,
    ) -> ArtifactReader<'a, R> {
        ArtifactReader { source, total, limits, check_continue }
    }

    /// Returns lines, as many as fit one page.
    pub(super) fn lines(&mut self, ask: LineSelection) -> Result<ArtifactSlice, Fault> {
        let (start, count) = (ask.start.max(1), ask.count.max(1));
        let place = self.find_line(start, ask.at_byte)?;
        let mut slice = self.slice(ArtifactView::Lines);
        if place.byte >= self.total {
            // Counted from the first line, so the line after the last one gives their number.
            slice.total_lines = ask.at_byte.is_none().then_some(place.line - 1);
            return Ok(slice);
        }
        let page = self.page(place, count)?;
        let end = page.piece.end_byte;
        let goes_on_with_a_line = page.whole_lines && page.piece.encoding != PieceEncoding::Hex;
        slice.next = (end < self.total).then(|| match (goes_on_with_a_line, count - page.lines.min(count)) {
            (true, 0) => NextRequest::Lines(LineSelection {
                start: start + count,
                count: ask.count.max(1),
                at_byte: Some(end),
            }),
            (true, left) => NextRequest::Lines(LineSelection {
                start: start + page.lines,
                count: left,
                at_byte: Some(end),
            }),
            (false, _) => NextRequest::Bytes(ByteSelection { start: end, count: self.limits.page }),
        });
        slice.total_lines =
            self.count_total_lines(LineStart { line: place.line + page.lines, byte: end }, page.whole_lines)?;
        slice.pieces.push(page.piece);
        Ok(slice)
    }

    /// Returns the first lines.
    pub(super) fn head(&mut self, lines: u64) -> Result<ArtifactSlice, Fault> {
        let slice = self.lines(LineSelection { start: 1, count: lines, at_byte: None })?;
        Ok(ArtifactSlice { view: ArtifactView::Head, ..slice })
    }

    /// Returns bytes as text if they are UTF-8, else in hexadecimal.
    pub(super) fn bytes(&mut self, ask: ByteSelection) -> Result<ArtifactSlice, Fault> {
        let mut slice = self.slice(ArtifactView::Bytes);
        let asked_end = ask.start.saturating_add(ask.count.max(1)).min(self.total);
        if ask.start >= asked_end {
            return Ok(slice);
        }
        let bytes = self.read_range(ask.start, (asked_end - ask.start).min(self.limits.page))?;
        let at_end = ask.start + bytes.len() as u64 >= self.total;
        let (content, encoding, used) = decode_exact(&bytes, at_end);
        let end = ask.start + used as u64;
        slice.next = (end < self.total && used > 0).then(|| {
            let left = asked_end - end;
            // After a page that was cut short, the rest of the request is next; after a whole one, as much again.
            let count = if left > 3 { left } else { ask.count.max(1) };
            NextRequest::Bytes(ByteSelection { start: end, count })
        });
        slice.pieces.push(SlicePiece {
            start_line: None,
            start_byte: ask.start,
            end_byte: end,
            content,
            encoding,
        });
        Ok(slice)
    }

    /// Returns `count` lines from a position, within the limit of a page.
    fn page(&mut self, place: LineStart, count: u64) -> Result<LinePage, Fault> {
        let bytes = self.read_range(place.byte, self.limits.page)?;
        let wanted = usize::try_from(count - 1).unwrap_or(usize::MAX);
        let at_end = place.byte + bytes.len() as u64 >= self.total;
        let (end, whole_lines) = match memchr_iter(b'\n', &bytes).nth(wanted) {
            Some(last) => (last + 1, true),
            None if at_end => (bytes.len(), true),
            // Cut after the last line that fits, or inside of one that is longer than a page.
            None => match memrchr(b'\n', &bytes) {
                Some(last) => (last + 1, true),
                None => (complete_characters_end(&bytes), false),
            },
        };
        let lines =
            memchr_iter(b'\n', &bytes[..end]).count() as u64 + u64::from(!bytes[..end].ends_with(b"\n"));
        let piece = self.slice_piece(Some(place.line), place.byte, &bytes[..end]);
        Ok(LinePage { piece, lines, whole_lines })
    }

    pub(super) fn slice_piece(&self, start_line: Option<u64>, start_byte: u64, bytes: &[u8]) -> SlicePiece {
        let (content, encoding) = decode_lossy(bytes);
        let start_line = start_line.filter(|_| encoding != PieceEncoding::Hex);
        SlicePiece { start_line, start_byte, end_byte: start_byte + bytes.len() as u64, content, encoding }
    }

    /// Returns the number of all lines, if the artifact ends here or is small enough to count.
    fn count_total_lines(&mut self, next: LineStart, whole_lines: bool) -> Result<Option<u64>, Fault> {
        if next.byte >= self.total {
            return Ok(Some(next.line - 1));
        }
        if self.total > self.limits.counted {
            return Ok(None);
        }
        // A page that ends inside of a line has counted that line already.
        let from = if whole_lines { next } else { LineStart { line: next.line - 1, byte: next.byte } };
        Ok(Some(self.count_to(from, self.total, u64::MAX)?.line - 1))
    }

    /// Reads bytes from `start`; fewer at the end of the artifact.
    pub(super) fn read_range(&mut self, start: u64, most: u64) -> Result<Vec<u8>, Fault> {
        let most = most.min(self.total.saturating_sub(start));
        let mut read = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
        let result = self
            .source
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.source.by_ref().take(most).read_to_end(&mut read));
        result.map_err(|error| {
            Fault::new(Failure::ExecutionFailed, format!("the artifact cannot be read: {error}"))
        })?;
        Ok(read)
    }

    /// Returns an empty slice.
    pub(super) fn slice(&self, view: ArtifactView) -> ArtifactSlice {
        ArtifactSlice {
            path: String::new(),
            run: None,
            view,
            total_bytes: self.total,
            total_lines: (self.total == 0).then_some(0),
            pieces: Vec::new(),
            found: Vec::new(),
            grep: None,
            matches: None,
            next: None,
        }
    }
}
