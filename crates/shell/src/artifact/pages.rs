//! Pages of an artifact: lines, bytes, the beginning.

use std::io::{Read, Seek, SeekFrom};

use envelope::{Failure, Fault};
use memchr::{memchr_iter, memrchr};
use toolkit::families::artifact::{Bytes, Encoding, Lines, Next, Piece, Slice, View};

use super::place::Place;
use super::text::{exact, lenient, whole_characters};
use super::{GoOn, Limits};

/// An artifact that is being read.
pub(super) struct Pages<'a, R> {
    source: R,
    pub(super) total: u64,
    pub(super) limits: Limits,
    pub(super) go_on: GoOn<'a>,
}

/// What one page took.
struct Page {
    piece: Piece,
    /// Lines of it, the last one perhaps without its end.
    lines: u64,
    /// False when it ends inside of a line.
    whole_lines: bool,
}

impl<'a, R: Read + Seek> Pages<'a, R> {
    pub(super) fn new(source: R, total: u64, limits: Limits, go_on: GoOn<'a>) -> Pages<'a, R> {
        Pages { source, total, limits, go_on }
    }

    /// Lines, as many as one page has room for.
    pub(super) fn lines(&mut self, ask: Lines) -> Result<Slice, Fault> {
        let (start, count) = (ask.start.max(1), ask.count.max(1));
        let place = self.find_line(start, ask.at_byte)?;
        let mut slice = self.slice(View::Lines);
        if place.byte >= self.total {
            // Counted from the first line, the line behind the last one says how many there are.
            slice.total_lines = ask.at_byte.is_none().then_some(place.line - 1);
            return Ok(slice);
        }
        let page = self.page(place, count)?;
        let end = page.piece.end_byte;
        let goes_on_with_a_line = page.whole_lines && page.piece.encoding != Encoding::Hex;
        slice.next = (end < self.total).then(|| match (goes_on_with_a_line, count - page.lines.min(count)) {
            (true, 0) => {
                Next::Lines(Lines { start: start + count, count: ask.count.max(1), at_byte: Some(end) })
            }
            (true, left) => Next::Lines(Lines { start: start + page.lines, count: left, at_byte: Some(end) }),
            (false, _) => Next::Bytes(Bytes { start: end, count: self.limits.page }),
        });
        slice.total_lines =
            self.counted(Place { line: place.line + page.lines, byte: end }, page.whole_lines)?;
        slice.pieces.push(page.piece);
        Ok(slice)
    }

    /// The first lines.
    pub(super) fn head(&mut self, lines: u64) -> Result<Slice, Fault> {
        let slice = self.lines(Lines { start: 1, count: lines, at_byte: None })?;
        Ok(Slice { view: View::Head, ..slice })
    }

    /// Bytes as they are: as text if they are text, else as digits.
    pub(super) fn bytes(&mut self, ask: Bytes) -> Result<Slice, Fault> {
        let mut slice = self.slice(View::Bytes);
        let asked_end = ask.start.saturating_add(ask.count.max(1)).min(self.total);
        if ask.start >= asked_end {
            return Ok(slice);
        }
        let bytes = self.part(ask.start, (asked_end - ask.start).min(self.limits.page))?;
        let at_end = ask.start + bytes.len() as u64 >= self.total;
        let (content, encoding, used) = exact(&bytes, at_end);
        let end = ask.start + used as u64;
        slice.next = (end < self.total && used > 0).then(|| {
            let left = asked_end - end;
            // A page that was cut short goes on with the rest of what was asked for, a whole one with as much again.
            let count = if left > 3 { left } else { ask.count.max(1) };
            Next::Bytes(Bytes { start: end, count })
        });
        slice.pieces.push(Piece {
            start_line: None,
            start_byte: ask.start,
            end_byte: end,
            content,
            encoding,
        });
        Ok(slice)
    }

    /// So many lines from a place on, within the bound of a page.
    fn page(&mut self, place: Place, count: u64) -> Result<Page, Fault> {
        let bytes = self.part(place.byte, self.limits.page)?;
        let wanted = usize::try_from(count - 1).unwrap_or(usize::MAX);
        let at_end = place.byte + bytes.len() as u64 >= self.total;
        let (end, whole_lines) = match memchr_iter(b'\n', &bytes).nth(wanted) {
            Some(last) => (last + 1, true),
            None if at_end => (bytes.len(), true),
            // Cut behind the last line that fits, or inside of one that is longer than a page.
            None => match memrchr(b'\n', &bytes) {
                Some(last) => (last + 1, true),
                None => (whole_characters(&bytes), false),
            },
        };
        let lines =
            memchr_iter(b'\n', &bytes[..end]).count() as u64 + u64::from(!bytes[..end].ends_with(b"\n"));
        let piece = self.piece(Some(place.line), place.byte, &bytes[..end]);
        Ok(Page { piece, lines, whole_lines })
    }

    pub(super) fn piece(&self, start_line: Option<u64>, start_byte: u64, bytes: &[u8]) -> Piece {
        let (content, encoding) = lenient(bytes);
        let start_line = start_line.filter(|_| encoding != Encoding::Hex);
        Piece { start_line, start_byte, end_byte: start_byte + bytes.len() as u64, content, encoding }
    }

    /// How many lines there are in all, if they end here or can be counted from here in no time.
    fn counted(&mut self, next: Place, whole_lines: bool) -> Result<Option<u64>, Fault> {
        if next.byte >= self.total {
            return Ok(Some(next.line - 1));
        }
        if self.total > self.limits.counted {
            return Ok(None);
        }
        // A page that ends inside of a line has counted that line already.
        let from = if whole_lines { next } else { Place { line: next.line - 1, byte: next.byte } };
        Ok(Some(self.count_to(from, self.total, u64::MAX)?.line - 1))
    }

    /// Bytes from `start` on; fewer where the artifact ends.
    pub(super) fn part(&mut self, start: u64, most: u64) -> Result<Vec<u8>, Fault> {
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

    /// A slice with nothing in it so far.
    pub(super) fn slice(&self, view: View) -> Slice {
        Slice {
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
