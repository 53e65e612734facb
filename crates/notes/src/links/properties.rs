//! Finds the strings in frontmatter that can contain links.
//!
//! A YAML parser would return the values without the positions of their bytes. So the block is scanned as
//! text, just far enough to separate values from keys and comments and to know how a string is quoted. A
//! block that is not valid YAML yields the strings that can be recognized, never an error.

use std::ops::Range;

use super::quote_format::QuoteFormat;

/// A string in the block: its byte range without the quotes, and its quoting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScalarSpan {
    pub(super) span: Range<usize>,
    pub(super) quoting: QuoteFormat,
}

/// Returns the lines between the fences, if the note begins with a fence.
pub(super) fn frontmatter(text: &str) -> Option<FrontmatterSpan> {
    let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut lines = text[start..].split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---" && line.ends_with('\n'))?;
    let block = start + first.len();
    let mut at = block;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") && !line.starts_with([' ', '\t']) {
            return Some(FrontmatterSpan { block: block..at, body: at + line.len() });
        }
        at += line.len();
    }
    None
}

pub(super) struct FrontmatterSpan {
    pub(super) block: Range<usize>,
    /// Offset of the text after the frontmatter.
    pub(super) body: usize,
}

/// Returns every string in the block that can be the value of a property.
pub(super) fn scalars(text: &str, block: &Range<usize>) -> Vec<ScalarSpan> {
    let mut reader = YamlScanner { text: &text[..block.end], at: block.start, found: Vec::new() };
    while reader.at < block.end {
        reader.line();
    }
    reader.found
}

struct YamlScanner<'a> {
    /// The text up to the end of the block.
    text: &'a str,
    at: usize,
    found: Vec<ScalarSpan>,
}

impl YamlScanner<'_> {
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
        // At most a key and its value; text after them is invalid and ignored.
        if self.node(indent) == ScalarEnd::Key {
            self.skip(&[' ', '\t']);
            self.node(indent);
        }
        self.next_line();
    }

    fn node(&mut self, indent: usize) -> ScalarEnd {
        self.properties_of_node();
        match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some('|' | '>') => {
                self.block_scalar(indent);
                ScalarEnd::Value
            }
            Some('[') if self.bare_link() => ScalarEnd::Value,
            Some('[' | '{') => {
                self.flow();
                ScalarEnd::Value
            }
            None | Some('#' | '\n' | '\r') => ScalarEnd::Value,
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

    fn quoted(&mut self, quote: char) -> ScalarEnd {
        let start = self.at + 1;
        let Some(end) = closing_quote(self.text, start, quote) else {
            self.at = self.text.len();
            return ScalarEnd::Value;
        };
        self.at = end + 1;
        self.skip(&[' ', '\t']);
        if self.rest().starts_with(':') {
            self.at += 1;
            return ScalarEnd::Key;
        }
        let quoting = if quote == '"' { QuoteFormat::YamlDouble } else { QuoteFormat::YamlSingle };
        self.found.push(ScalarSpan { span: start..end, quoting });
        ScalarEnd::Value
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
            self.found.push(ScalarSpan { span, quoting: QuoteFormat::YamlBare });
        }
        bare
    }

    /// `[ ... ]` or `{ ... }`: only the quoted strings in it are collected.
    fn flow(&mut self) {
        let mut depth = 0_usize;
        // True if a string can begin here: a quote inside a word is an ordinary character.
        let mut fresh = true;
        while let Some(c) = self.rest().chars().next() {
            match c {
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                '"' | '\'' if fresh => {
                    // After a key the scanner is behind its colon, where a value can begin as well.
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

    /// The indented lines after `|` or `>`. Each is a string of its own.
    fn block_scalar(&mut self, indent: usize) {
        self.next_line();
        while self.at < self.text.len() {
            let line = &self.text[self.at..self.line_end()];
            let words = line.trim_start_matches(' ');
            if !words.trim().is_empty() && line.len() - words.len() <= indent {
                // `line` continues after the next line break, so step back onto the last one.
                self.at -= 1;
                return;
            }
            let start = self.at + (line.len() - words.len());
            let span = start..start + words.trim_end().len();
            self.found.push(ScalarSpan { span, quoting: QuoteFormat::None });
            self.next_line();
        }
    }

    /// Text without quotes: a key up to its colon, or a value up to the end of the line.
    fn plain(&mut self) -> ScalarEnd {
        let end = self.line_end();
        let line = &self.text[self.at..end];
        let colon = line.match_indices(':').map(|(at, _)| at).find(|at| {
            let after = &line[at + 1..];
            after.trim_end().is_empty() || after.starts_with([' ', '\t'])
        });
        if let Some(colon) = colon {
            self.at += colon + 1;
            return ScalarEnd::Key;
        }
        let value = line.split_once(" #").map_or(line, |(value, _)| value).trim_end();
        let span = self.at..self.at + value.len();
        self.found.push(ScalarSpan { span, quoting: QuoteFormat::None });
        self.at = end;
        ScalarEnd::Value
    }
}

#[derive(PartialEq, Eq)]
enum ScalarEnd {
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
