//! Text that a command printed, made safe to read: what a terminal would have shown in the end, and nothing
//! that moves a cursor, recolours, hides or reorders what stands beside it.
//!
//! - Escape sequences of terminals are left out. One that never ends costs nothing but its own introducer:
//!   what it would have swallowed is shown.
//! - A lone carriage return starts its line anew, so a progress bar is shown in its last state; a backspace
//!   takes one character back.
//! - Any other control character, and every invisible one, is spelled out as `\u{202e}`. Bells and shifts are
//!   dropped.
//! - Bytes that are not UTF-8 become U+FFFD and are counted.
//!
//! Only tabs and line feeds stay as they are. Absent on purpose: a screen. A program that paints with
//! cursor movements over several lines is shown line by line, as it printed them.

use std::borrow::Cow;

use envelope::{escape_invisible, is_invisible, may_begin_invisible};

/// What came out of cleaning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    pub text: String,
    /// How many stretches of bytes were not UTF-8; each stands in the text as one U+FFFD.
    pub not_utf8: u64,
}

/// Cleans bytes that are all there.
pub fn clean(bytes: &[u8]) -> Cleaned {
    let mut cleaner = Cleaner::default();
    cleaner.done.text.reserve(bytes.len());
    cleaner.push(bytes);
    cleaner.finish()
}

/// Cleans a text that has to stand on one line: every line end and tab in it becomes a space.
pub fn line(text: &str) -> String {
    clean(text.trim().as_bytes()).text.replace(['\n', '\t'], " ")
}

/// Cleans bytes as they arrive. However they are cut, the text is the same.
#[derive(Debug, Default)]
pub struct Cleaner {
    done: Cleaned,
    /// The beginning of a character whose other bytes have not arrived: at most three.
    unfinished: Vec<u8>,
    /// Where the current line begins in the text.
    line_start: usize,
    moved: Moved,
    inside: Inside,
    /// The text holds an invisible character. It is spelled out at the end, when what stands around it is known.
    has_invisible: bool,
}

/// Where the cursor went since the last visible character. It only matters once something is written there.
#[derive(Debug, Default, Clone, Copy)]
enum Moved {
    #[default]
    No,
    ToLineStart,
    Back(usize),
}

/// Which escape sequence we are in.
#[derive(Debug, Default, Clone, Copy)]
enum Inside {
    #[default]
    Text,
    /// After ESC, and after the signs that may follow it.
    Escape,
    /// After `ESC [`.
    Control,
    /// After `ESC ]` and its kind. What it swallows is kept from `since` on until it ends as it should.
    Message { since: usize },
}

const ESC: char = '\u{1b}';

impl Cleaner {
    pub fn push(&mut self, bytes: &[u8]) {
        if self.unfinished.is_empty() {
            return self.push_from_boundary(bytes);
        }
        // At most three bytes are carried over, so joining them to what came is cheap only for their own end.
        let mut rest = bytes;
        while !self.unfinished.is_empty() && !rest.is_empty() {
            let (first, others) = rest.split_at(1);
            rest = others;
            let mut joined = std::mem::take(&mut self.unfinished);
            joined.extend_from_slice(first);
            self.push_from_boundary(&joined);
        }
        self.push_from_boundary(rest);
    }

    /// Ends the text. What stands open is settled: half a character is one that was not UTF-8.
    pub fn finish(mut self) -> Cleaned {
        if !self.unfinished.is_empty() {
            self.unfinished.clear();
            self.not_utf8();
        }
        if self.has_invisible
            && let Cow::Owned(escaped) = escape_invisible(&self.done.text)
        {
            self.done.text = escaped;
        }
        self.done
    }

    fn push_from_boundary(&mut self, bytes: &[u8]) {
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.push_text(chunk.valid());
            let broken = chunk.invalid();
            if broken.is_empty() {
                continue;
            }
            let could_go_on = chunks.peek().is_none()
                && std::str::from_utf8(broken).is_err_and(|error| error.error_len().is_none());
            if could_go_on {
                self.unfinished = broken.to_vec();
            } else {
                self.not_utf8();
            }
        }
    }

    fn not_utf8(&mut self) {
        self.done.not_utf8 += 1;
        self.one('\u{fffd}');
    }

    fn push_text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let plain = if matches!(self.inside, Inside::Text) { plain_length(&bytes[at..]) } else { 0 };
            if plain > 0 {
                self.write_plain(&text[at..at + plain]);
                at += plain;
            } else if let Some(c) = text[at..].chars().next() {
                self.one(c);
                at += c.len_utf8();
            }
        }
    }

    /// Text without a single character that needs a look, line feeds excepted.
    fn write_plain(&mut self, plain: &str) {
        if !plain.starts_with('\n') {
            self.settle();
        }
        self.moved = Moved::No;
        self.done.text.push_str(plain);
        if let Some(last) = plain.rfind('\n') {
            self.line_start = self.done.text.len() - plain.len() + last + 1;
        }
    }

    /// Does to the line what the cursor's movement meant, now that something is written there.
    fn settle(&mut self) {
        match std::mem::take(&mut self.moved) {
            Moved::No => {}
            // A bar that is drawn anew is worth its last state; anything else that is overwritten may be the news.
            Moved::ToLineStart if is_progress(&self.done.text[self.line_start..]) => {
                self.done.text.truncate(self.line_start);
            }
            Moved::ToLineStart if self.done.text.len() == self.line_start => {}
            Moved::ToLineStart => self.write_plain("\n"),
            Moved::Back(characters) => {
                for _ in 0..characters {
                    if self.done.text.len() == self.line_start {
                        break;
                    }
                    self.done.text.pop();
                }
            }
        }
    }

    fn one(&mut self, c: char) {
        match self.inside {
            Inside::Text => self.in_text(c),
            Inside::Escape => self.in_escape(c),
            Inside::Control => self.in_control(c),
            Inside::Message { since } => self.in_message(c, since),
        }
    }

    fn in_text(&mut self, c: char) {
        match c {
            '\n' => self.write_plain("\n"),
            '\r' => self.moved = Moved::ToLineStart,
            '\u{8}' => {
                self.moved = match self.moved {
                    Moved::No => Moved::Back(1),
                    Moved::Back(before) => Moved::Back(before + 1),
                    Moved::ToLineStart => Moved::ToLineStart,
                }
            }
            // Bell, and the shifts between sets of characters.
            '\u{7}' | '\u{e}' | '\u{f}' => {}
            ESC => self.inside = Inside::Escape,
            '\u{9b}' => self.inside = Inside::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.begin_message(),
            // The mark of byte order, where it is one.
            '\u{feff}' if self.done.text.is_empty() => {}
            _ => {
                self.settle();
                self.has_invisible |= is_invisible(c);
                self.done.text.push(c);
            }
        }
    }

    fn in_escape(&mut self, c: char) {
        match c {
            '[' => self.inside = Inside::Control,
            ']' | 'P' | 'X' | '^' | '_' => self.begin_message(),
            ' '..='/' => {}
            '0'..='~' => self.inside = Inside::Text,
            _ => self.abandon(c),
        }
    }

    fn in_control(&mut self, c: char) {
        match c {
            ' '..='?' => {}
            // "Erase the line", which is how a progress bar goes away.
            'K' => {
                if matches!(self.moved, Moved::ToLineStart) {
                    self.moved = Moved::No;
                    self.done.text.truncate(self.line_start);
                }
                self.inside = Inside::Text;
            }
            '@'..='~' => self.inside = Inside::Text,
            _ => self.abandon(c),
        }
    }

    fn begin_message(&mut self) {
        self.settle();
        self.inside = Inside::Message { since: self.done.text.len() };
    }

    fn in_message(&mut self, c: char, since: usize) {
        match c {
            '\u{7}' | '\u{9c}' | '\u{18}' | '\u{1a}' => {
                self.done.text.truncate(since);
                self.inside = Inside::Text;
            }
            // Either the end, `ESC \`, or the beginning of another sequence, which ends it as well.
            ESC => {
                self.done.text.truncate(since);
                self.inside = Inside::Escape;
            }
            // It never ended: no message has two lines. What looked like one is text.
            '\n' => self.abandon(c),
            '\r' => {}
            _ => {
                self.has_invisible |= is_invisible(c);
                self.done.text.push(c);
            }
        }
    }

    /// The sequence broke off; the character that broke it is read as text.
    fn abandon(&mut self, c: char) {
        self.inside = Inside::Text;
        self.in_text(c);
    }
}

/// How many of the first bytes are certainly plain. It ends at the boundary of a character.
fn plain_length(bytes: &[u8]) -> usize {
    let suspect = |&byte: &u8| may_begin_invisible(byte) && !matches!(byte, b'\n' | b'\t');
    bytes.iter().position(suspect).unwrap_or(bytes.len())
}

/// Whether a line is a state of something that goes on: it has a share, a count of a count, a bar or a spinner.
fn is_progress(line: &str) -> bool {
    let line = line.trim();
    let spins = |c: char| matches!(c, '|' | '/' | '-' | '\\') || ('\u{2800}'..='\u{28ff}').contains(&c);
    let counts = line.split('/').zip(line.split('/').skip(1)).any(|(before, after)| {
        before.ends_with(|c: char| c.is_ascii_digit()) && after.starts_with(|c: char| c.is_ascii_digit())
    });
    let bar = ["==", "##", "=>", "\u{2588}", "\u{2501}", "...."].iter().any(|bar| line.contains(bar));
    let spinner = line.starts_with(spins) || line.ends_with(spins);
    line.contains('%') || counts || bar || spinner
}
