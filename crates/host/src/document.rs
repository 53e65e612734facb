//! The text of an open note: lines with their own endings.
//!
//! Inside, a line break is just the end of a line, as in the editors that people use: whoever asks for text
//! gets `\n`. Each line remembers how it ended in the file, and a new one ends as the first of the file
//! does, so that a note which is edited in one place keeps every other byte, mixed endings included. A mark
//! at the beginning of the file that says "this is UTF-8" is kept and is no part of the text.
//!
//! A vector of lines and no tree: notes are small, and an edit touches the lines it names.

use envelope::{Failure, Fault};

use crate::position::{EditorRange, Position, utf16_len};

const BOM: char = '\u{feff}';

/// How a line ends in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Lf,
    CrLf,
    Cr,
    /// The last line.
    Nothing,
}

impl Ending {
    fn text(self) -> &'static str {
        match self {
            Ending::Lf => "\n",
            Ending::CrLf => "\r\n",
            Ending::Cr => "\r",
            Ending::Nothing => "",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    text: String,
    end: Ending,
}

/// Invariant: at least one line; the last one, and no other, ends in nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    bom: bool,
    lines: Vec<Line>,
    /// How a new line ends.
    ending: Ending,
}

/// A place that was checked: a line, and a byte in it that begins a character or ends the line.
#[derive(Debug, Clone, Copy)]
struct Spot {
    line: usize,
    byte: usize,
}

impl Document {
    /// Reads the text of a file.
    pub(crate) fn parse(file: &str) -> Document {
        let text = file.strip_prefix(BOM).unwrap_or(file);
        let lines = split(text);
        let first = lines.first().map(|line| line.end);
        let ending = first.filter(|end| *end != Ending::Nothing).unwrap_or(Ending::Lf);
        Document { bom: text.len() != file.len(), lines, ending }
    }

    /// The text of the file.
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

    /// The text as an editor has it, with `\n` between lines.
    pub(crate) fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|line| line.text.as_str()).collect();
        lines.join("\n")
    }

    /// The place after the last character.
    pub(crate) fn end(&self) -> Position {
        let last = self.lines.last().map(|line| utf16_len(&line.text)).unwrap_or_default();
        Position { line: number(self.lines.len().saturating_sub(1)), ch: last }
    }

    /// The text of a line.
    pub(crate) fn line(&self, line: u32) -> Option<&str> {
        self.lines.get(index(line)).map(|line| line.text.as_str())
    }

    /// The text of a range, with `\n` between lines.
    pub(crate) fn slice(&self, range: EditorRange) -> Result<String, Fault> {
        let (from, to) = self.spots(range)?;
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

    /// Puts `text` in the place of a range; its line breaks may be of any kind. Returns the place after it.
    /// A range that is not in the note changes nothing.
    pub(crate) fn replace(&mut self, range: EditorRange, text: &str) -> Result<Position, Fault> {
        let (from, to) = self.spots(range)?;
        let mut pieces = split(text);
        let count = pieces.len();
        for piece in &mut pieces {
            piece.end = self.ending;
        }
        let mut end = Position::default();
        if let Some(first) = pieces.first_mut() {
            first.text.insert_str(0, &self.lines[from.line].text[..from.byte]);
        }
        if let Some(last) = pieces.last_mut() {
            end = Position { line: number(from.line + count - 1), ch: utf16_len(&last.text) };
            last.text.push_str(&self.lines[to.line].text[to.byte..]);
            last.end = self.lines[to.line].end;
        }
        self.lines.splice(from.line..=to.line, pieces);
        self.part_endings(from.line.saturating_sub(1)..from.line + count);
        Ok(end)
    }

    /// A lone `\r` before an empty line that ends in `\n` would be read back as one line break, not two. From
    /// the last line up, because a line that is mended can do the same to the one above it.
    fn part_endings(&mut self, lines: std::ops::Range<usize>) {
        for line in (0..lines.end).rev() {
            let merges = self.lines.get(line).is_some_and(|line| line.end == Ending::Cr)
                && self
                    .lines
                    .get(line + 1)
                    .is_some_and(|next| next.text.is_empty() && next.end == Ending::Lf);
            if merges {
                self.lines[line].end = Ending::Lf;
            } else if line < lines.start {
                return;
            }
        }
    }

    /// That a range is in the note, or what its places could be.
    pub(crate) fn check(&self, range: EditorRange) -> Result<(), Fault> {
        self.spots(range).map(drop)
    }

    fn spots(&self, range: EditorRange) -> Result<(Spot, Spot), Fault> {
        let spots = (self.spot(range.from)?, self.spot(range.to)?);
        if range.from > range.to {
            return Err(outside(format!(
                "the range begins at {} and ends before that, at {}",
                range.from, range.to
            ))
            .hint("give `from` and `to` in the order of the text"));
        }
        Ok(spots)
    }

    fn spot(&self, place: Position) -> Result<Spot, Fault> {
        let end = self.end();
        let line = index(place.line);
        let Some(text) = self.line(place.line) else {
            return Err(outside(format!("line {} is not in the note", place.line))
                .detail("lastLine", end.line)
                .hint(format!("the note has the lines 0 to {}; it ends at {end} (line:ch)", end.line)));
        };
        let mut units = 0;
        let widths = text.char_indices().map(|(byte, c)| (byte, number(c.len_utf16())));
        for (byte, width) in widths.chain([(text.len(), 0)]) {
            if units == place.ch {
                return Ok(Spot { line, byte });
            }
            if units > place.ch {
                return Err(outside(format!("{place} is inside a character")).hint(format!(
                    "that character takes two UTF-16 units; use ch {} or {units}",
                    units - 2
                )));
            }
            units += width;
        }
        Err(outside(format!("ch {} is past the end of line {}", place.ch, place.line))
            .detail("lastCh", units)
            .hint(format!("line {} has ch 0 to {units}, counted in UTF-16 units", place.line)))
    }

    /// Where a place is in [`Document::text`], in bytes. A place that is not in the note is its end.
    pub(crate) fn offset(&self, place: Position) -> usize {
        let Ok(spot) = self.spot(place) else {
            return self.text().len();
        };
        self.lines[..spot.line].iter().map(|line| line.text.len() + 1).sum::<usize>() + spot.byte
    }

    /// The place at a byte of [`Document::text`]; inside a character, the place before it.
    pub(crate) fn place(&self, offset: usize) -> Position {
        let mut left = offset;
        for (line, Line { text, .. }) in self.lines.iter().enumerate() {
            if left <= text.len() {
                let before = &text[..text.floor_char_boundary(left)];
                return Position { line: number(line), ch: utf16_len(before) };
            }
            left -= text.len() + 1;
        }
        self.end()
    }
}

fn outside(message: String) -> Fault {
    Fault::new(Failure::InvalidArguments, message)
}

/// The lines of a text, whatever ends them.
fn split(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['\n', '\r']) {
        let (line, tail) = rest.split_at(at);
        let end = if tail.starts_with("\r\n") {
            Ending::CrLf
        } else if tail.starts_with('\r') {
            Ending::Cr
        } else {
            Ending::Lf
        };
        lines.push(Line { text: line.to_owned(), end });
        rest = &tail[end.text().len()..];
    }
    lines.push(Line { text: rest.to_owned(), end: Ending::Nothing });
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
