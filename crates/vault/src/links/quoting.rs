//! The strings that links are wrapped in: quoted YAML and JSON.
//!
//! A wrapped string is read together with where each of its bytes came from. A rewrite then replaces the
//! bytes of one name and leaves every other escape in the string as its author wrote it.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Nothing is escaped.
    None,
    /// `[[Note]]` without quotes as a value: to YAML a list in a list.
    YamlBare,
    YamlSingle,
    YamlDouble,
    Json,
}

/// A string as it is meant, and where it stands in the file.
pub(super) struct Unquoted {
    pub(super) text: String,
    /// Where each byte of `text` begins in the file, and where the last one ends.
    origin: Vec<usize>,
}

impl Unquoted {
    /// The bytes of the file that a part of the text came from.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        let at = |index: usize| self.origin.get(index).copied().unwrap_or_default();
        at(part.start)..at(part.end)
    }

    fn push(&mut self, c: char, from: usize) {
        self.text.push(c);
        self.origin.resize(self.text.len(), from);
    }
}

impl Quoting {
    /// Reads what stands between the quotes, at `inner` of the file. `None` when it breaks the rules.
    pub(super) fn read(self, file: &str, inner: Range<usize>) -> Option<Unquoted> {
        let source = file.get(inner.clone())?;
        let mut read = Unquoted { text: String::with_capacity(source.len()), origin: Vec::new() };
        let mut at = 0;
        while let Some(c) = source[at..].chars().next() {
            let from = inner.start + at;
            let rest = &source[at..];
            at += match (self, c) {
                (Quoting::YamlSingle, '\'') => {
                    read.push('\'', from);
                    if rest.starts_with("''") { 2 } else { 1 }
                }
                (Quoting::YamlDouble | Quoting::Json, '\\') => {
                    let (meant, length) = escape(rest)?;
                    if let Some(meant) = meant {
                        read.push(meant, from);
                    }
                    length
                }
                (Quoting::YamlSingle | Quoting::YamlDouble, ' ' | '\t' | '\r' | '\n') => {
                    folded(rest, from, &mut read)
                }
                (
                    Quoting::None
                    | Quoting::YamlBare
                    | Quoting::YamlSingle
                    | Quoting::YamlDouble
                    | Quoting::Json,
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

    /// Writes a part of a wrapped string.
    pub(super) fn write(self, text: &str) -> String {
        match self {
            Quoting::None | Quoting::YamlBare => text.to_owned(),
            Quoting::YamlSingle => text.replace('\'', "''"),
            // A name holds no control characters, so these two are all that need an escape.
            Quoting::YamlDouble | Quoting::Json => text.replace('\\', "\\\\").replace('"', "\\\""),
        }
    }
}

/// White space in a quoted scalar: a line break in it is read as one space.
fn folded(rest: &str, from: usize, read: &mut Unquoted) -> usize {
    let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    let space = &rest[..length];
    match space.matches('\n').count() {
        0 => {
            for (at, c) in space.char_indices() {
                read.push(c, from + at);
            }
        }
        1 => read.push(' ', from),
        // Blank lines are kept. No name holds a line break, so how many there are does not matter.
        _ => read.push('\n', from),
    }
    length
}

/// The character an escape stands for, if any, and the length of the escape.
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
        'x' => return code(rest, 2),
        'u' => return code(rest, 4),
        'U' => return code(rest, 8),
        // A break that is escaped is not there, and neither is the indentation after it.
        '\r' | '\n' => {
            let after = rest[1..].trim_start_matches([' ', '\t', '\r', '\n']);
            return Some((None, rest.len() - after.len()));
        }
        _ => return None,
    };
    Some((Some(simple), 2))
}

/// `\u00e9`, with the second half of a pair where there is one.
fn code(rest: &str, digits: usize) -> Option<(Option<char>, usize)> {
    let number = |from: usize| u32::from_str_radix(rest.get(from..from + digits)?, 16).ok();
    let first = number(2)?;
    let length = 2 + digits;
    if let Some(c) = char::from_u32(first) {
        return Some((Some(c), length));
    }
    // Half a pair alone is no character; it cannot be part of a name.
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
    use super::Quoting;

    fn read(quoting: Quoting, file: &str) -> Option<String> {
        quoting.read(file, 0..file.len()).map(|read| read.text)
    }

    #[test]
    fn escapes_are_read_as_their_format_says() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read(Quoting::YamlSingle, "it''s \\n"), some("it's \\n"));
        assert_eq!(read(Quoting::YamlDouble, r#"\"\u00e9\x41\U0001F600 \/"#), some("\"éA😀 /"));
        assert_eq!(read(Quoting::Json, r"\ud83d\ude00\t\ud83d"), some("😀\t\u{fffd}"));
        assert_eq!(read(Quoting::YamlDouble, "a\n   b\\\n  c"), some("a bc"));
        assert_eq!(read(Quoting::YamlDouble, r"\q"), None);
        assert_eq!(read(Quoting::YamlDouble, r"\u12"), None);
    }

    #[test]
    fn each_part_knows_the_bytes_it_came_from() {
        let file = r#"x"caf\u00e9 [[b]]""#;
        let read = Quoting::Json.read(file, 2..file.len() - 1).unwrap();
        let at = read.text.find("[[b]]").unwrap();
        assert_eq!(&file[read.origin(&(at..at + 5))], "[[b]]");
        assert_eq!(&file[read.origin(&(3..5))], r"\u00e9");
    }
}
