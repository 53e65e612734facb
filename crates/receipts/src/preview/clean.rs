//! Sanitizes terminal output: returns what a terminal would finally show, without control sequences or characters
//! that hide or reorder text.
//!
//! - Escape sequences are removed. An unterminated one loses only its introducer: the text after it is kept.
//! - A lone carriage return restarts its line, so a progress bar is shown in its last state; a backspace removes
//!   one character.
//! - Any other control character, and every invisible one, is escaped as `\u{202e}`. Bells and shifts are dropped.
//! - Bytes that are not UTF-8 become U+FFFD and are counted.
//!
//! Only tabs and line feeds are kept. Deliberately omitted: a screen. Output with cursor movements over several lines
//! is shown line by line, as printed.

use std::borrow::Cow;

use envelope::{escape_invisible, is_invisible, may_begin_invisible};

/// Sanitized text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanText {
    pub text: String,
    /// Number of byte sequences that were not UTF-8; each is one U+FFFD in the text.
    pub not_utf8: u64,
}

/// Sanitizes complete output.
pub fn clean(bytes: &[u8]) -> CleanText {
    let mut cleaner = TextCleaner::default();
    cleaner.done.text.reserve(bytes.len());
    cleaner.push(bytes);
    cleaner.finish()
}

/// Sanitizes a text for one line: every line break and tab becomes a space.
pub fn line(text: &str) -> String {
    clean(text.trim().as_bytes()).text.replace(['\n', '\t'], " ")
}

/// Sanitizes output incrementally. The result does not depend on how the bytes are split.
#[derive(Debug, Default)]
pub struct TextCleaner {
    done: CleanText,
    /// The first bytes of an incomplete character, at most three.
    unfinished: Vec<u8>,
    /// Start of the current line in the text.
    line_start: usize,
    moved: CursorMove,
    inside: EscapeState,
    /// The text contains an invisible character. It is escaped at the end, when the characters around it are known.
    has_invisible: bool,
}

/// Cursor movement since the last visible character. It takes effect when a character is written.
#[derive(Debug, Default, Clone, Copy)]
enum CursorMove {
    #[default]
    No,
    ToLineStart,
    Back(usize),
}

/// State of the escape sequence parser.
#[derive(Debug, Default, Clone, Copy)]
enum EscapeState {
    #[default]
    Text,
    /// After ESC and any intermediate characters.
    Escape,
    /// After `ESC [`.
    Control,
    /// After `ESC ]` and similar introducers. The text from `since` on is removed if the sequence is terminated.
    Message { since: usize },
}

const ESC: char = '\u{1b}';

impl TextCleaner {
    pub fn push(&mut self, bytes: &[u8]) {
        if self.unfinished.is_empty() {
            return self.push_from_boundary(bytes);
        }
        // At most three bytes are carried over, so only a few bytes are joined one by one.
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

    /// Ends the text. An incomplete character counts as not UTF-8.
    pub fn finish(mut self) -> CleanText {
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
            let plain = if matches!(self.inside, EscapeState::Text) { plain_length(&bytes[at..]) } else { 0 };
            if plain > 0 {
                self.write_plain(&text[at..at + plain]);
                at += plain;
            } else if let Some(c) = text[at..].chars().next() {
                self.one(c);
                at += c.len_utf8();
            }
        }
    }

    /// Appends text without special characters except line feeds.
    fn write_plain(&mut self, plain: &str) {
        if !plain.starts_with('\n') {
            self.settle();
        }
        self.moved = CursorMove::No;
        self.done.text.push_str(plain);
        if let Some(last) = plain.rfind('\n') {
            self.line_start = self.done.text.len() - plain.len() + last + 1;
        }
    }

    /// Applies the cursor movement to the line, because a character is about to be written.
    fn settle(&mut self) {
        match std::mem::take(&mut self.moved) {
            CursorMove::No => {}
            // A redrawn progress bar is replaced; any other overwritten line may be important and is kept.
            CursorMove::ToLineStart if is_progress(&self.done.text[self.line_start..]) => {
                self.done.text.truncate(self.line_start);
            }
            CursorMove::ToLineStart if self.done.text.len() == self.line_start => {}
            CursorMove::ToLineStart => self.write_plain("\n"),
            CursorMove::Back(characters) => {
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
            EscapeState::Text => self.in_text(c),
            EscapeState::Escape => self.in_escape(c),
            EscapeState::Control => self.in_control(c),
            EscapeState::Message { since } => self.in_message(c, since),
        }
    }

    fn in_text(&mut self, c: char) {
        match c {
            '\n' => self.write_plain("\n"),
            '\r' => self.moved = CursorMove::ToLineStart,
            '\u{8}' => {
                self.moved = match self.moved {
                    CursorMove::No => CursorMove::Back(1),
                    CursorMove::Back(before) => CursorMove::Back(before + 1),
                    CursorMove::ToLineStart => CursorMove::ToLineStart,
                }
            }
            // Bell and the character set shifts.
            '\u{7}' | '\u{e}' | '\u{f}' => {}
            ESC => self.inside = EscapeState::Escape,
            '\u{9b}' => self.inside = EscapeState::Control,
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.begin_message(),
            // The byte order mark at the start.
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
            '[' => self.inside = EscapeState::Control,
            ']' | 'P' | 'X' | '^' | '_' => self.begin_message(),
            ' '..='/' => {}
            '0'..='~' => self.inside = EscapeState::Text,
            _ => self.abandon(c),
        }
    }

    fn in_control(&mut self, c: char) {
        match c {
            ' '..='?' => {}
            // "Erase line", which is how a progress bar is removed.
            'K' => {
                if matches!(self.moved, CursorMove::ToLineStart) {
                    self.moved = CursorMove::No;
                    self.done.text.truncate(self.line_start);
                }
                self.inside = EscapeState::Text;
            }
            '@'..='~' => self.inside = EscapeState::Text,
            _ => self.abandon(c),
        }
    }

    fn begin_message(&mut self) {
        self.settle();
        self.inside = EscapeState::Message { since: self.done.text.len() };
    }

    fn in_message(&mut self, c: char, since: usize) {
        match c {
            '\u{7}' | '\u{9c}' | '\u{18}' | '\u{1a}' => {
                self.done.text.truncate(since);
                self.inside = EscapeState::Text;
            }
            // Either the terminator, `ESC \`, or the start of another sequence, which also ends it.
            ESC => {
                self.done.text.truncate(since);
                self.inside = EscapeState::Escape;
            }
            // Unterminated: such a sequence has no second line, so it is kept as text.
            '\n' => self.abandon(c),
            '\r' => {}
            _ => {
                self.has_invisible |= is_invisible(c);
                self.done.text.push(c);
            }
        }
    }

    /// Ends a broken sequence; the current character is read as text.
    fn abandon(&mut self, c: char) {
        self.inside = EscapeState::Text;
        self.in_text(c);
    }
}

/// Returns the number of leading bytes without special characters. It ends at a character boundary.
fn plain_length(bytes: &[u8]) -> usize {
    let suspect = |&byte: &u8| may_begin_invisible(byte) && !matches!(byte, b'\n' | b'\t');
    bytes.iter().position(suspect).unwrap_or(bytes.len())
}

/// Returns true if a line shows progress: a percentage, a count of a total, a bar or a spinner.
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
