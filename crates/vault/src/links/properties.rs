//! Finds the strings in frontmatter that can hold links.
//!
//! A reader of YAML would say what a value is but not where its bytes stand, so the block is read as text:
//! just far enough to tell values from keys and comments, and to know how a string is quoted. A block that
//! is not valid YAML gives what can be made out and never an error.

use std::ops::Range;

use super::quoting::Quoting;

/// A string in the block: where it stands, without its quotes, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) span: Range<usize>,
    pub(super) quoting: Quoting,
}

/// The lines between the fences, if the note begins with a fence.
pub(super) fn frontmatter(text: &str) -> Option<Frontmatter> {
    let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---" && line.ends_with('\n'))?;
    let block = start + first.len();
    let mut at = block;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") && !line.starts_with([' ', '\t']) {
            return Some(Frontmatter { block: block..at, body: at + line.len() });
        }
        at += line.len();
    }
    None
}

pub(super) struct Frontmatter {
    pub(super) block: Range<usize>,
    /// Where the note itself begins.
    pub(super) body: usize,
}

/// Every string in the block that may be the value of a property.
pub(super) fn scalars(text: &str, block: &Range<usize>) -> Vec<Scalar> {
    let mut reader = Reader { text: &text[..block.end], at: block.start, found: Vec::new() };
    while reader.at < block.end {
        reader.line();
    }
    reader.found
}

struct Reader<'a> {
    /// Up to the end of the block.
    text: &'a str,
    at: usize,
    found: Vec<Scalar>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self, chars: &[char]) {
        self.at = self.text.len() - self.rest().trim_start_matches(chars).len();
    }

    fn line_end(&self) -> usize {
        self.rest().find('\n').map_or(self.text.len(), |length| self.at + length)
    }

    fn next_line(&mut self) {
        self.at = (self.line_end() + 1).min(self.text.len());
    }

    /// Reads one line, and the lines after it that belong to the same value.
    fn line(&mut self) {
        let line_start = self.at;
        self.skip(&[' ']);
        let indent = self.at - line_start;
        while self.rest().starts_with("- ") || self.rest().starts_with("? ") {
            self.at += 1;
            self.skip(&[' ', '\t']);
        }
        // At most a key and its value; what follows them is not valid and not read.
        if self.node(indent) == Read::Key {
            self.skip(&[' ', '\t']);
            self.node(indent);
        }
        self.next_line();
    }

    fn node(&mut self, indent: usize) -> Read {
        self.properties_of_node();
        match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some('|' | '>') => {
                self.block_scalar(indent);
                Read::Value
            }
            Some('[') if self.bare_link() => Read::Value,
            Some('[' | '{') => {
                self.flow();
                Read::Value
            }
            None | Some('#' | '\n' | '\r') => Read::Value,
            Some(_) => self.plain(),
        }
    }

    /// Skips the tag and the anchor before a value.
    fn properties_of_node(&mut self) {
        while self.rest().starts_with(['!', '&']) {
            let end = self.rest().find([' ', '\t', '\n']).unwrap_or(self.rest().len());
            self.at += end;
            self.skip(&[' ', '\t']);
        }
    }

    fn quoted(&mut self, quote: char) -> Read {
        let start = self.at + 1;
        let Some(end) = closing_quote(self.text, start, quote) else {
            self.at = self.text.len();
            return Read::Value;
        };
        self.at = end + 1;
        self.skip(&[' ', '\t']);
        if self.rest().starts_with(':') {
            self.at += 1;
            return Read::Key;
        }
        let quoting = if quote == '"' { Quoting::YamlDouble } else { Quoting::YamlSingle };
        self.found.push(Scalar { span: start..end, quoting });
        Read::Value
    }

    /// `[[Note]]` without quotes, alone on the rest of its line.
    fn bare_link(&mut self) -> bool {
        let line = &self.text[self.at..self.line_end()];
        let value = line.split_once(" #").map_or(line, |(value, _)| value).trim_end();
        let inner = value.strip_prefix("[[").and_then(|value| value.strip_suffix("]]"));
        let bare = inner.is_some_and(|inner| !inner.contains(['[', ']', '"', '{']));
        if bare {
            let span = self.at..self.at + value.len();
            self.at = span.end;
            self.found.push(Scalar { span, quoting: Quoting::YamlBare });
        }
        bare
    }

    /// `[ ... ]` or `{ ... }`: only the quoted strings in it are looked at.
    fn flow(&mut self) {
        let mut depth = 0_usize;
        // Whether a string may begin here: a quote inside a word is only a character.
        let mut fresh = true;
        while let Some(c) = self.rest().chars().next() {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                '"' | '\'' if fresh => {
                    // A key leaves the reader behind its colon, which begins a value as well.
                    self.quoted(c);
                    fresh = self.text[..self.at].ends_with(':');
                    continue;
                }
                '#' if self.text[..self.at].ends_with([' ', '\t', '\n']) => {
                    self.at = self.line_end();
                    continue;
                }
                _ => {}
            }
            fresh = matches!(c, '[' | '{' | ',' | ':') || (fresh && c.is_whitespace());
            self.at += c.len_utf8();
            if depth == 0 {
                return;
            }
        }
    }

    /// The indented lines after `|` or `>`. Each stands for itself.
    fn block_scalar(&mut self, indent: usize) {
        self.next_line();
        while self.at < self.text.len() {
            let line = &self.text[self.at..self.line_end()];
            let words = line.trim_start_matches(' ');
            if !words.trim().is_empty() && line.len() - words.len() <= indent {
                // `line` goes on behind the next line break, so step back onto the last one.
                self.at -= 1;
                return;
            }
            let start = self.at + (line.len() - words.len());
            let span = start..start + words.trim_end().len();
            self.found.push(Scalar { span, quoting: Quoting::None });
            self.next_line();
        }
    }

    /// A word without quotes: a key up to its colon, or a value up to the end of the line.
    fn plain(&mut self) -> Read {
        let end = self.line_end();
        let line = &self.text[self.at..end];
        let colon = line.match_indices(':').map(|(at, _)| at).find(|at| {
            let after = &line[at + 1..];
            after.trim_end().is_empty() || after.starts_with([' ', '\t'])
        });
        if let Some(colon) = colon {
            self.at += colon + 1;
            return Read::Key;
        }
        let value = line.split_once(" #").map_or(line, |(value, _)| value).trim_end();
        let span = self.at..self.at + value.len();
        self.found.push(Scalar { span, quoting: Quoting::None });
        self.at = end;
        Read::Value
    }
}

#[derive(PartialEq, Eq)]
enum Read {
    Key,
    Value,
}

fn closing_quote(text: &str, from: usize, quote: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'\\' if quote == '"' => at += 2,
            b'\'' if quote == '\'' && bytes.get(at + 1) == Some(&b'\'') => at += 2,
            byte if char::from(*byte) == quote => return Some(at),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{frontmatter, scalars};

    #[expect(clippy::needless_pass_by_value, reason = "an expectation is given away")]
    fn check(text: &str, expected: Expect) {
        let shown = match frontmatter(text) {
            None => "no frontmatter".to_owned(),
            Some(found) => scalars(text, &found.block)
                .into_iter()
                .map(|scalar| format!("{:?} {}\n", scalar.quoting, &text[scalar.span]))
                .collect(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn every_manner_of_quoting_is_told_apart() {
        check(
            "---\na: \"[[A]]\" # \"no\"\nb: '[[B''s]]'\n\"k\": word\nc:\n  - \"[[C]]\"\n  - plain [[D]]\nd: [\"x\", 'y', it's, \"k\": \"v\"]\ne: [[E]]\nf: {\"g\": \"[[G]]\"}\n---\n",
            expect![[r#"
                YamlDouble [[A]]
                YamlSingle [[B''s]]
                None word
                YamlDouble [[C]]
                None plain [[D]]
                YamlDouble x
                YamlSingle y
                YamlDouble v
                YamlBare [[E]]
                YamlDouble [[G]]
            "#]],
        );
    }

    #[test]
    fn blocks_of_text_are_read_line_by_line() {
        check(
            "---\na: >-\n  [[A]]\n\n  two\nb: |\n  - c: \"d\"\ne: \"over\n  lines\"\nf: x\n---\n",
            expect![[r#"
                None [[A]]
                None 
                None two
                None - c: "d"
                YamlDouble over
                  lines
                None x
            "#]],
        );
    }

    #[test]
    fn frontmatter_begins_on_the_first_line_and_ends() {
        check("\u{feff}---\r\na: x\r\n---\r\nb: y", expect![["None x\n"]]);
        check("\n---\na: x\n---\n", expect!["no frontmatter"]);
        check("---\na: x\n", expect!["no frontmatter"]);
        check("---", expect!["no frontmatter"]);
    }

    #[test]
    fn broken_blocks_end() {
        check("---\na: \"x\nb: [1, {\n---\n", expect![""]);
        check("---\na: [[[[\n---\n", expect![""]);
    }
}
