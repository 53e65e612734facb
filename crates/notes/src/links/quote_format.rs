//! Quoted strings that contain links: YAML and JSON.
//!
//! A quoted string is decoded together with the origin of each of its bytes. A rewrite then replaces the
//! bytes of one name and leaves every other escape in the string as its author wrote it.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuoteFormat {
    /// No escapes.
    None,
    /// `[[Note]]` without quotes as a value; to YAML, a list in a list.
    YamlBare,
    YamlSingle,
    YamlDouble,
    Json,
}

/// A decoded string with the positions of its bytes in the file.
pub(super) struct DecodedString {
    pub(super) text: String,
    /// File offset of each byte of `text`, and the offset where the last one ends.
    origin: Vec<usize>,
}

impl DecodedString {
    /// Returns the bytes of the file that a part of the text came from.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        let at = |index: usize| self.origin.get(index).copied().unwrap_or_default();
        at(part.start)..at(part.end)
    }

    fn push(&mut self, c: char, from: usize) {
        self.text.push(c);
        self.origin.resize(self.text.len(), from);
    }
}

impl QuoteFormat {
    /// Decodes the string at `inner` of the file, between its quotes. Returns `None` if it is invalid.
    pub(super) fn decode(self, file: &str, inner: Range<usize>) -> Option<DecodedString> {
        let source = file.get(inner.clone())?;
        let mut read = DecodedString { text: String::with_capacity(source.len()), origin: Vec::new() };
        let mut at = 0;
        while let Some(c) = source[at..].chars().next() {
            let from = inner.start + at;
            let rest = &source[at..];
            at += match (self, c) {
                (QuoteFormat::YamlSingle, '\'') => {
                    read.push('\'', from);
                    if rest.starts_with("''") { 2 } else { 1 }
                }
                (QuoteFormat::YamlDouble | QuoteFormat::Json, '\\') => {
                    let (meant, length) = escape(rest)?;
                    if let Some(meant) = meant {
                        read.push(meant, from);
                    }
                    length
                }
                (QuoteFormat::YamlSingle | QuoteFormat::YamlDouble, ' ' | '\t' | '\r' | '\n') => {
                    fold_white_space(rest, from, &mut read)
                }
                (
                    QuoteFormat::None
                    | QuoteFormat::YamlBare
                    | QuoteFormat::YamlSingle
                    | QuoteFormat::YamlDouble
                    | QuoteFormat::Json,
                    other,
                ) => {
                    read.push(other, from);
                    other.len_utf8()
                }
            };
        }
        read.origin.push(inner.end);
        Some(read)
    }

    /// Encodes a part of a quoted string.
    pub(super) fn encode(self, text: &str) -> String {
        match self {
            QuoteFormat::None | QuoteFormat::YamlBare => text.to_owned(),
            QuoteFormat::YamlSingle => text.replace('\'', "''"),
            // Names contain no control characters, so only these two need an escape.
            QuoteFormat::YamlDouble | QuoteFormat::Json => text.replace('\\', "\\\\").replace('"', "\\\""),
        }
    }
}

/// Folds white space in a quoted scalar: one line break becomes one space.
fn fold_white_space(rest: &str, from: usize, read: &mut DecodedString) -> usize {
    let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    let space = &rest[..length];
    match space.matches('\n').count() {
        0 => {
            for (at, c) in space.char_indices() {
                read.push(c, from + at);
            }
        }
        1 => read.push(' ', from),
        // Blank lines are kept as one line break. File names have no line break, so their number does not
        // matter.
        _ => read.push('\n', from),
    }
    length
}

/// Returns the character of an escape, if any, and the length of the escape.
fn escape(rest: &str) -> Option<(Option<char>, usize)> {
    let kind = rest[1..].chars().next()?;
    let simple = match kind {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '"' | '/' | '\\' => kind,
        'x' => return unicode_escape(rest, 2),
        'u' => return unicode_escape(rest, 4),
        'U' => return unicode_escape(rest, 8),
        // An escaped line break is dropped together with the indentation after it.
        '\r' | '\n' => {
            let after = rest[1..].trim_start_matches([' ', '\t', '\r', '\n']);
            return Some((None, rest.len() - after.len()));
        }
        _ => return None,
    };
    Some((Some(simple), 2))
}

/// Decodes `\u00e9`, or a surrogate pair of two such escapes.
fn unicode_escape(rest: &str, digits: usize) -> Option<(Option<char>, usize)> {
    let number = |from: usize| u32::from_str_radix(rest.get(from..from + digits)?, 16).ok();
    let first = number(2)?;
    let length = 2 + digits;
    if let Some(c) = char::from_u32(first) {
        return Some((Some(c), length));
    }
    // A lone surrogate is not a character and cannot be part of a name.
    let second = rest[length..].strip_prefix("\\u").and_then(|_| number(length + 2));
    let pair = second.filter(|second| (0xdc00..0xe000).contains(second) && (0xd800..0xdc00).contains(&first));
    match pair {
        Some(second) => {
            let c = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
            Some((Some(c), 2 * length))
        }
        None => Some((Some(char::REPLACEMENT_CHARACTER), length)),
    }
}

#[cfg(test)]
mod tests {
    use super::QuoteFormat;

    fn read(quoting: QuoteFormat, file: &str) -> Option<String> {
        quoting.decode(file, 0..file.len()).map(|read| read.text)
    }

    #[test]
    fn escapes_are_read_as_their_format_says() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read(QuoteFormat::YamlSingle, "it''s \\n"), some("it's \\n"));
        assert_eq!(read(QuoteFormat::YamlDouble, r#"\"\u00e9\x41\U0001F600 \/"#), some("\"éA😀 /"));
        assert_eq!(read(QuoteFormat::Json, r"\ud83d\ude00\t\ud83d"), some("😀\t\u{fffd}"));
        assert_eq!(read(QuoteFormat::YamlDouble, "a\n   b\\\n  c"), some("a bc"));
        assert_eq!(read(QuoteFormat::YamlDouble, r"\q"), None);
        assert_eq!(read(QuoteFormat::YamlDouble, r"\u12"), None);
    }

    #[test]
    fn each_part_knows_the_bytes_it_came_from() {
        let file = r#"x"caf\u00e9 [[b]]""#;
        let read = QuoteFormat::Json.decode(file, 2..file.len() - 1).unwrap();
        let at = read.text.find("[[b]]").unwrap();
        assert_eq!(&file[read.origin(&(at..at + 5))], "[[b]]");
        assert_eq!(&file[read.origin(&(3..5))], r"\u00e9");
    }
}
