//! Tracks Markdown code: whether the current text is inside a fenced code block or a code span.
//!
//! Only runs of backticks and tildes and their position in the line are parsed. Deliberately omitted: fences in
//! lists and quotations, indented code, spans over several lines, escaped backticks.

use memchr::memchr3;

use super::short_text::{self, bytes_equal};

/// The shortest run that is a fence.
const FENCE: u32 = 3;
/// A run after more spaces than this is not a fence.
const INDENT: usize = 3;

/// The code that the text is in, without the effect of the current run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum QuoteContext {
    #[default]
    Nothing,
    /// A code span that started on this line with so many backticks.
    Span(u32),
    /// The first line of a fenced block. It is a span if there is another backtick on the line.
    Opening(FenceMark),
    Fence(FenceMark),
    /// A line that closes a fenced block unless it contains anything else.
    Closing(FenceMark),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FenceMark {
    mark: u8,
    length: u32,
}

/// Consecutive backticks or tildes. The run may continue in the next chunk.
#[derive(Debug, Clone, Copy)]
struct MarkRun {
    mark: u8,
    length: u32,
    /// Whether it is at the start of its line.
    leads: bool,
}

/// The kind of the code that a position is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CodeKind {
    /// A code span that started on this line with so many backticks.
    Span(u32),
    Fence,
}

#[derive(Debug)]
pub(super) struct QuoteTracker {
    inside: QuoteContext,
    /// Whether backticks on this line turned out to open no span.
    had_stray: bool,
    run: Option<MarkRun>,
    /// The number of spaces if the line has only those so far and a fence may follow.
    indent: Option<usize>,
}

impl QuoteTracker {
    /// Starts at the beginning of a line, outside of code.
    pub(super) fn new() -> QuoteTracker {
        QuoteTracker { inside: QuoteContext::Nothing, had_stray: false, run: None, indent: Some(0) }
    }

    /// Returns the code that this position is in, if any.
    pub(super) fn code(&self) -> Option<CodeKind> {
        match self.inside {
            QuoteContext::Nothing => None,
            QuoteContext::Span(length) => Some(CodeKind::Span(length)),
            QuoteContext::Opening(_) | QuoteContext::Fence(_) | QuoteContext::Closing(_) => {
                Some(CodeKind::Fence)
            }
        }
    }

    /// Whether [`leave`](QuoteTracker::leave) was called for a span on this line. The rest of the line is searched for
    /// the end of a span once only, which keeps the scanner linear.
    pub(super) fn had_stray(&self) -> bool {
        self.had_stray
    }

    /// Continues outside of code: what seemed to open it did not.
    pub(super) fn leave(&mut self) {
        self.had_stray |= matches!(self.inside, QuoteContext::Span(_));
        self.inside = QuoteContext::Nothing;
    }

    /// Skips a short chunk without relevant characters. Returns false if it has some, `None` if it was not tested.
    #[inline]
    pub(super) fn skip_plain(&mut self, piece: &[u8]) -> Option<bool> {
        if self.run.is_some() || !matches!(self.inside, QuoteContext::Nothing | QuoteContext::Fence(_)) {
            return None;
        }
        let matters = |word| bytes_equal(word, b'<') | bytes_equal(word, b'`') | bytes_equal(word, b'~') != 0;
        let passes = !short_text::any_word(piece, matters)?;
        if passes {
            self.track_indent(piece);
        }
        Some(passes)
    }

    /// Reads up to the next `<` and returns its index, or reads everything. The caller may skip a block after the
    /// `<`: it counts as part of the line.
    pub(super) fn find_angle(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            if let Some(run) = self.run {
                at += self.extend_run(run, &text[at..]);
                if self.run.is_some() {
                    return None;
                }
            }
            let needles = match self.inside {
                QuoteContext::Nothing | QuoteContext::Fence(_) => [b'<', b'`', b'~'],
                QuoteContext::Span(_) | QuoteContext::Opening(_) => [b'<', b'`', b'\n'],
                QuoteContext::Closing(fence) => {
                    at += self.close_fence(fence, &text[at..]);
                    if at == text.len() {
                        self.track_indent(text);
                        return None;
                    }
                    continue;
                }
            };
            let Some(ahead) = memchr3(needles[0], needles[1], needles[2], &text[at..]) else {
                self.track_indent(text);
                return None;
            };
            at += ahead;
            match text[at] {
                b'<' => {
                    self.indent = None;
                    return Some(at);
                }
                b'\n' => self.end_line(),
                mark => self.run = Some(MarkRun { mark, length: 1, leads: self.starts_line(&text[..at]) }),
            }
            at += 1;
        }
    }

    /// Adds the marks at the start of the text to the run. The run ends when another character follows.
    fn extend_run(&mut self, run: MarkRun, text: &[u8]) -> usize {
        let more = text.iter().take_while(|byte| **byte == run.mark).count();
        let length = run.length.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.run = Some(MarkRun { length, ..run });
        if more < text.len() {
            self.run = None;
            self.end_run(MarkRun { length, ..run });
        } else {
            self.indent = None;
        }
        more
    }

    fn end_run(&mut self, run: MarkRun) {
        let is_fence = run.leads && run.length >= FENCE;
        let is_tick = run.mark == b'`';
        let fence = FenceMark { mark: run.mark, length: run.length };
        self.inside = match self.inside {
            QuoteContext::Nothing if is_fence => QuoteContext::Opening(fence),
            QuoteContext::Nothing if is_tick => QuoteContext::Span(run.length),
            QuoteContext::Span(length) if is_tick && length == run.length => QuoteContext::Nothing,
            QuoteContext::Opening(opening) if is_tick && opening.mark == b'`' => {
                if opening.length == run.length {
                    QuoteContext::Nothing
                } else {
                    QuoteContext::Span(opening.length)
                }
            }
            QuoteContext::Fence(open) if is_fence && run.mark == open.mark && run.length >= open.length => {
                QuoteContext::Closing(open)
            }
            same @ (QuoteContext::Nothing
            | QuoteContext::Span(_)
            | QuoteContext::Opening(_)
            | QuoteContext::Fence(_)
            | QuoteContext::Closing(_)) => same,
        };
    }

    fn end_line(&mut self) {
        self.had_stray = false;
        self.inside = match self.inside {
            QuoteContext::Nothing | QuoteContext::Span(_) | QuoteContext::Closing(_) => QuoteContext::Nothing,
            QuoteContext::Opening(fence) | QuoteContext::Fence(fence) => QuoteContext::Fence(fence),
        };
    }

    /// Reads the rest of a line that may close a fence, up to the deciding byte. Returns how much was read.
    fn close_fence(&mut self, fence: FenceMark, text: &[u8]) -> usize {
        let blank = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        match text.get(blank) {
            None => blank,
            Some(b'\n') => {
                self.end_line();
                blank + 1
            }
            Some(_) => {
                self.inside = QuoteContext::Fence(fence);
                blank
            }
        }
    }

    /// Whether a run after this text is at the start of its line.
    fn starts_line(&self, before: &[u8]) -> bool {
        self.spaces(before).is_some()
    }

    /// Returns the number of spaces after the last line break, if there is nothing else and not too many.
    fn spaces(&self, text: &[u8]) -> Option<usize> {
        let tail = &text[text.len().saturating_sub(INDENT + 1)..];
        let spaces = tail.iter().rev().take_while(|byte| **byte == b' ').count();
        let earlier = match text.len().checked_sub(spaces + 1) {
            Some(before) => (text[before] == b'\n').then_some(0)?,
            None => self.indent?,
        };
        (earlier + spaces <= INDENT).then_some(earlier + spaces)
    }

    #[inline]
    fn track_indent(&mut self, text: &[u8]) {
        self.indent = match text.last() {
            Some(b' ' | b'\n') | None => self.spaces(text),
            Some(_) => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::QuoteTracker;

    /// The text with every `<` replaced by `!` where it is quoted, read in pieces of a length.
    fn marked(text: &str, length: usize) -> String {
        let mut quotes = QuoteTracker::new();
        let mut out = text.as_bytes().to_vec();
        let mut base = 0;
        for piece in text.as_bytes().chunks(length) {
            let mut at = 0;
            while let Some(ahead) = quotes.find_angle(&piece[at..]) {
                if quotes.code().is_some() {
                    out[base + at + ahead] = b'!';
                }
                at += ahead + 1;
            }
            base += piece.len();
        }
        String::from_utf8(out).unwrap()
    }

    // Conformance: proxy 4.4
    //     No fence stands around a block: one inside of a code block or a code span is text.
    //     In: sentinel/quote_tracker.rs
    #[test]
    fn quoted_places_are_the_same_in_whatever_pieces_the_text_comes() {
        for (text, expected) in [
            ("a < b", "a < b"),
            ("`<` <", "`!` <"),
            ("`< \n <", "`! \n <"),
            ("``<` <`` <", "``!` !`` <"),
            ("```\n<\n```\n<", "```\n!\n```\n<"),
            ("```<\n<\n```", "```!\n!\n```"),
            ("```<``` <\n<", "```!``` <\n<"),
            ("```<`\n<", "```!`\n<"),
            ("x ```\n<", "x ```\n<"),
            ("   ```\n<\n   ``` \t\r\n<", "   ```\n!\n   ``` \t\r\n<"),
            ("    ```\n<", "    ```\n<"),
            ("~~~ a`b\n<\n```\n<\n~~~~\n<", "~~~ a`b\n!\n```\n!\n~~~~\n<"),
            ("````\n<\n```\n<\n````", "````\n!\n```\n!\n````"),
            ("```\n<\n``` x\n<\n```\n<", "```\n!\n``` x\n!\n```\n<"),
            ("```\n<\n    ```\n<", "```\n!\n    ```\n!"),
            ("```\n<\n```<\n<", "```\n!\n```!\n!"),
            ("~~ < ~~ <", "~~ < ~~ <"),
            ("a\n\n ~~~\n<\n\n ~~~\n<", "a\n\n ~~~\n!\n\n ~~~\n<"),
            ("<```\n<", "<```\n<"),
            ("``", "``"),
            ("```\n<\n```", "```\n!\n```"),
        ] {
            for length in 1..=text.len() {
                assert_eq!(marked(text, length), expected, "in pieces of {length}");
            }
        }
    }
}
