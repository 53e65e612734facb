//! Whether the text at hand is shown rather than said: inside a fenced code block or a code span.
//!
//! Only what Markdown needs for that is read: runs of backticks and tildes, and the line they stand on. Not here
//! on purpose: fences inside of lists and quotations, indented code, spans over several lines, escaped
//! backticks.

use memchr::memchr3;

use super::short::{self, same};

/// The shortest run that makes a fence.
const FENCE: u32 = 3;
/// Behind more spaces than this a run makes no fence.
const INDENT: usize = 3;

/// What the text is inside of, apart from what a run at hand will change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// A code span that began on this line with so many backticks.
    Span(u32),
    /// The first line of a fenced block. It turns out to be a span if there is another backtick on the line.
    Opening(Fence),
    Fence(Fence),
    /// A line of a fenced block that closes it, if nothing else stands on it.
    Closing(Fence),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: u8,
    length: u32,
}

/// Backticks or tildes in a row. Another may follow in the next piece of the text.
#[derive(Debug, Clone, Copy)]
struct Run {
    mark: u8,
    length: u32,
    /// Whether it stands at the start of its line.
    leads: bool,
}

#[derive(Debug)]
pub(super) struct Quotes {
    inside: Inside,
    run: Option<Run>,
    /// The spaces that the line consists of so far, if it consists of nothing else and a fence may follow.
    indent: Option<usize>,
}

impl Quotes {
    /// At the start of a line, in no code.
    pub(super) fn new() -> Quotes {
        Quotes { inside: Inside::Nothing, run: None, indent: Some(0) }
    }

    /// Whether text at this place is shown rather than said.
    pub(super) fn is_quoted(&self) -> bool {
        self.inside != Inside::Nothing
    }

    /// Reads a short piece if nothing in it matters. Says whether it did, and nothing if it did not even look at
    /// the piece.
    #[inline]
    pub(super) fn pass(&mut self, piece: &[u8]) -> Option<bool> {
        if self.run.is_some() || !matches!(self.inside, Inside::Nothing | Inside::Fence(_)) {
            return None;
        }
        let matters = |word| same(word, b'<') | same(word, b'`') | same(word, b'~') != 0;
        let passes = !short::any(piece, matters)?;
        if passes {
            self.note_indent(piece);
        }
        Some(passes)
    }

    /// Reads up to the next `<` and says where it is, or reads everything. A block may be left out behind the `<`:
    /// it is part of a line, and nothing else is known about it.
    pub(super) fn find_angle(&mut self, text: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            if let Some(run) = self.run {
                at += self.lengthen(run, &text[at..]);
                if self.run.is_some() {
                    return None;
                }
            }
            let needles = match self.inside {
                Inside::Nothing | Inside::Fence(_) => [b'<', b'`', b'~'],
                Inside::Span(_) | Inside::Opening(_) => [b'<', b'`', b'\n'],
                Inside::Closing(fence) => {
                    at += self.close_fence(fence, &text[at..]);
                    if at == text.len() {
                        self.note_indent(text);
                        return None;
                    }
                    continue;
                }
            };
            let Some(ahead) = memchr3(needles[0], needles[1], needles[2], &text[at..]) else {
                self.note_indent(text);
                return None;
            };
            at += ahead;
            match text[at] {
                b'<' => {
                    self.indent = None;
                    return Some(at);
                }
                b'\n' => self.end_line(),
                mark => self.run = Some(Run { mark, length: 1, leads: self.leads(&text[..at]) }),
            }
            at += 1;
        }
    }

    /// Takes the marks at the front of the text into the run. The run is over when something else follows.
    fn lengthen(&mut self, run: Run, text: &[u8]) -> usize {
        let more = text.iter().take_while(|byte| **byte == run.mark).count();
        let length = run.length.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.run = Some(Run { length, ..run });
        if more < text.len() {
            self.run = None;
            self.end_run(Run { length, ..run });
        } else {
            self.indent = None;
        }
        more
    }

    fn end_run(&mut self, run: Run) {
        let is_fence = run.leads && run.length >= FENCE;
        let is_tick = run.mark == b'`';
        let fence = Fence { mark: run.mark, length: run.length };
        self.inside =
            match self.inside {
                Inside::Nothing if is_fence => Inside::Opening(fence),
                Inside::Nothing if is_tick => Inside::Span(run.length),
                Inside::Span(length) if is_tick && length == run.length => Inside::Nothing,
                Inside::Opening(opening) if is_tick && opening.mark == b'`' => {
                    if opening.length == run.length { Inside::Nothing } else { Inside::Span(opening.length) }
                }
                Inside::Fence(open) if is_fence && run.mark == open.mark && run.length >= open.length => {
                    Inside::Closing(open)
                }
                same @ (Inside::Nothing
                | Inside::Span(_)
                | Inside::Opening(_)
                | Inside::Fence(_)
                | Inside::Closing(_)) => same,
            };
    }

    fn end_line(&mut self) {
        self.inside = match self.inside {
            Inside::Nothing | Inside::Span(_) | Inside::Closing(_) => Inside::Nothing,
            Inside::Opening(fence) | Inside::Fence(fence) => Inside::Fence(fence),
        };
    }

    /// Reads the rest of a line that may close a fence, up to the byte that decides, and says how far.
    fn close_fence(&mut self, fence: Fence, text: &[u8]) -> usize {
        let blank = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
        match text.get(blank) {
            None => blank,
            Some(b'\n') => {
                self.end_line();
                blank + 1
            }
            Some(_) => {
                self.inside = Inside::Fence(fence);
                blank
            }
        }
    }

    /// Whether a run that begins behind this text stands at the start of its line.
    fn leads(&self, before: &[u8]) -> bool {
        self.spaces(before).is_some()
    }

    /// The spaces behind the last line break, if there is nothing else and not too many.
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
    fn note_indent(&mut self, text: &[u8]) {
        self.indent = match text.last() {
            Some(b' ' | b'\n') | None => self.spaces(text),
            Some(_) => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Quotes;

    /// The text with every `<` replaced by `!` where it is quoted, read in pieces of a length.
    fn marked(text: &str, length: usize) -> String {
        let mut quotes = Quotes::new();
        let mut out = text.as_bytes().to_vec();
        let mut base = 0;
        for piece in text.as_bytes().chunks(length) {
            let mut at = 0;
            while let Some(ahead) = quotes.find_angle(&piece[at..]) {
                if quotes.is_quoted() {
                    out[base + at + ahead] = b'!';
                }
                at += ahead + 1;
            }
            base += piece.len();
        }
        String::from_utf8(out).unwrap()
    }

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
