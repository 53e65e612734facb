//! The text of an open note: lines with their own endings.
//!
//! The text has `\n` between lines, as in editors. Each line keeps its ending in the file, and a new one gets the ending
//! of the first, so that an edit keeps every other byte, mixed endings included. A byte order mark is kept and is not
//! part of the text.
//!
//! A vector of lines, not a tree: notes are small, and an edit touches few lines.

use envelope::{Failure, Fault};

use crate::position::{EditorPosition, EditorRange, utf16_len};

const BOM: char = '\u{feff}';

/// Ending of a line in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoteLineEnding {
    Lf,
    CrLf,
    Cr,
    /// The last line.
    Nothing,
}

impl NoteLineEnding {
    fn text(self) -> &'static str {
        match self {
            NoteLineEnding::Lf => "\n",
            NoteLineEnding::CrLf => "\r\n",
            NoteLineEnding::Cr => "\r",
            NoteLineEnding::Nothing => "",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct DocumentLine {
    text: String,
    end: NoteLineEnding,
}

/// Invariant: at least one line; the last one, and no other, ends in nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteDocument {
    bom: bool,
    lines: Vec<DocumentLine>,
    /// Ending of a new line.
    ending: NoteLineEnding,
}

/// A valid position: a line, and a byte offset in it at a character boundary.
#[derive(Debug, Clone, Copy)]
struct LineOffset {
    line: usize,
    byte: usize,
}

impl NoteDocument {
    /// Parses the text of a file.
    pub(crate) fn parse(file: &str) -> NoteDocument {
        let text = file.strip_prefix(BOM).unwrap_or(file);
        let lines = split(text);
        let first = lines.first().map(|line| line.end);
        let ending = first.filter(|end| *end != NoteLineEnding::Nothing).unwrap_or(NoteLineEnding::Lf);
        NoteDocument { bom: text.len() != file.len(), lines, ending }
    }

    /// Returns the text of the file.
    pub(crate) fn file_text(&self) -> String {
        let mut text = String::with_capacity(self.lines.iter().map(|line| line.text.len() + 2).sum());
        if self.bom {
            text.push(BOM);
        }
        for line in &self.lines {
            text.push_str(&line.text);
            text.push_str(line.end.text());
        }
        text
    }

    /// Returns the text as an editor has it, with `\n` between lines.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }

    /// Returns the position after the last character.
    pub(crate) fn end(&self) -> EditorPosition {
        let last = self.lines.last().map(|line| utf16_len(&line.text)).unwrap_or_default();
        EditorPosition { line: number(self.lines.len().saturating_sub(1)), ch: last }
    }

    /// Returns the text of a line.
    pub(crate) fn line(&self, line: u32) -> Option<&str> {
        self.lines.get(index(line)).map(|line| line.text.as_str())
    }

    /// Returns the text of a range, with `\n` between lines. Fails if the range is not in the note.
    pub(crate) fn slice(&self, range: EditorRange) -> Result<String, Fault> {
        let (from, to) = self.line_offsets(range)?;
        if from.line == to.line {
            return Ok(self.lines[from.line].text[from.byte..to.byte].to_owned());
        }
        let mut text = self.lines[from.line].text[from.byte..].to_owned();
        for line in &self.lines[from.line + 1..to.line] {
            text.push('\n');
            text.push_str(&line.text);
        }
        text.push('\n');
        text.push_str(&self.lines[to.line].text[..to.byte]);
        Ok(text)
    }

    /// Replaces a range by `text`, whose line breaks can be of any kind. Returns the position after it. Fails, and changes
    /// nothing, if the range is not in the note.
    pub(crate) fn replace(&mut self, range: EditorRange, text: &str) -> Result<EditorPosition, Fault> {
        let (from, to) = self.line_offsets(range)?;
        let mut pieces = split(text);
        let count = pieces.len();
        for piece in &mut pieces {
            piece.end = self.ending;
        }
        let mut end = EditorPosition::default();
        if let Some(first) = pieces.first_mut() {
            first.text.insert_str(0, &self.lines[from.line].text[..from.byte]);
        }
        if let Some(last) = pieces.last_mut() {
            end = EditorPosition { line: number(from.line + count - 1), ch: utf16_len(&last.text) };
            last.text.push_str(&self.lines[to.line].text[to.byte..]);
            last.end = self.lines[to.line].end;
        }
        self.lines.splice(from.line..=to.line, pieces);
        self.separate_endings(from.line.saturating_sub(1)..from.line + count);
        Ok(end)
    }

    /// Separates a lone `\r` from a following empty line that ends in `\n`: together they would be parsed as one line break.
    /// From the last line up, because a changed ending can cause the same in the line above.
    fn separate_endings(&mut self, lines: std::ops::Range<usize>) {
        for line in (0..lines.end).rev() {
            let merges = self.lines.get(line).is_some_and(|line| line.end == NoteLineEnding::Cr)
                && self
                    .lines
                    .get(line + 1)
                    .is_some_and(|next| next.text.is_empty() && next.end == NoteLineEnding::Lf);
            if merges {
                self.lines[line].end = NoteLineEnding::Lf;
            } else if line < lines.start {
                return;
            }
        }
    }

    /// Fails if a range is not in the note, with the valid positions in the hint.
    pub(crate) fn check(&self, range: EditorRange) -> Result<(), Fault> {
        self.line_offsets(range).map(drop)
    }

    fn line_offsets(&self, range: EditorRange) -> Result<(LineOffset, LineOffset), Fault> {
        let spots = (self.line_offset(range.from)?, self.line_offset(range.to)?);
        if range.from > range.to {
            return Err(outside_note(format!(
                "the range begins at {} and ends before that, at {}",
                range.from, range.to
            ))
            .hint("give `from` and `to` in the order of the text"));
        }
        Ok(spots)
    }

    fn line_offset(&self, place: EditorPosition) -> Result<LineOffset, Fault> {
        let end = self.end();
        let line = index(place.line);
        let Some(text) = self.line(place.line) else {
            return Err(outside_note(format!("line {} is not in the note", place.line))
                .detail("lastLine", end.line)
                .hint(format!("the note has the lines 0 to {}; it ends at {end} (line:ch)", end.line)));
        };
        let mut units = 0;
        let widths = text.char_indices().map(|(byte, c)| (byte, number(c.len_utf16())));
        for (byte, width) in widths.chain([(text.len(), 0)]) {
            if units == place.ch {
                return Ok(LineOffset { line, byte });
            }
            if units > place.ch {
                return Err(outside_note(format!("{place} is inside a character")).hint(format!(
                    "that character takes two UTF-16 units; use ch {} or {units}",
                    units - 2
                )));
            }
            units += width;
        }
        Err(outside_note(format!("ch {} is past the end of line {}", place.ch, place.line))
            .detail("lastCh", units)
            .hint(format!("line {} has ch 0 to {units}, counted in UTF-16 units", place.line)))
    }

    /// Returns the byte offset of a position in [`NoteDocument::text`]; the end for a position that is not in the note.
    pub(crate) fn offset(&self, place: EditorPosition) -> usize {
        let Ok(spot) = self.line_offset(place) else {
            return self.text().len();
        };
        self.lines[..spot.line].iter().map(|line| line.text.len() + 1).sum::<usize>() + spot.byte
    }

    /// Returns the position at a byte offset of [`NoteDocument::text`]; inside a character, the position before it.
    pub(crate) fn position_at(&self, offset: usize) -> EditorPosition {
        let mut left = offset;
        for (line, DocumentLine { text, .. }) in self.lines.iter().enumerate() {
            if left <= text.len() {
                let before = &text[..text.floor_char_boundary(left)];
                return EditorPosition { line: number(line), ch: utf16_len(before) };
            }
            left -= text.len() + 1;
        }
        self.end()
    }
}

fn outside_note(message: String) -> Fault {
    Fault::new(Failure::InvalidArguments, message)
}

/// Splits a text into lines at any kind of line break.
fn split(text: &str) -> Vec<DocumentLine> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let (line, tail) = rest.split_at(at);
        let end = if tail.starts_with("\r\n") {
            NoteLineEnding::CrLf
        } else if tail.starts_with('\r') {
            NoteLineEnding::Cr
        } else {
            NoteLineEnding::Lf
        };
        lines.push(DocumentLine { text: line.to_owned(), end });
        rest = &tail[end.text().len()..];
    }
    lines.push(DocumentLine { text: rest.to_owned(), end: NoteLineEnding::Nothing });
    lines
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
