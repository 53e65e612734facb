//! Markdown link destinations: finding, unescaping and escaping them.

use std::ops::Range;

/// Byte range of a destination, without its `<` and `>`.
pub(super) struct DestinationSpan {
    pub(super) span: Range<usize>,
    pub(super) angle: bool,
}

/// Returns the destination that follows `](` or `]:` at `from`.
pub(super) fn find(text: &str, from: usize) -> Option<DestinationSpan> {
    let bytes = text.as_bytes();
    let mut at = from;
    let mut new_line = false;
    // The destination can be on the next line, after the `>` of a quote.
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' => {}
            b'\r' | b'\n' => new_line = true,
            b'>' if new_line => {}
            _ => break,
        }
        at += 1;
    }
    let angle = bytes.get(at) == Some(&b'<');
    if angle {
        at += 1;
    }
    let length = if angle { angle_length(&bytes[at..])? } else { bare_length(bytes.get(at..)?) };
    Some(DestinationSpan { span: at..at + length, angle })
}

fn angle_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'>' => return Some(at),
            b'\r' | b'\n' | b'<' => return None,
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 2,
            _ => at += 1,
        }
    }
    None
}

/// Returns the length up to the first space or the parenthesis that closes the link.
fn bare_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    let mut depth = 0_usize;
    while let Some(byte) = bytes.get(at) {
        match byte {
            0..=b' ' => break,
            b'(' => depth += 1,
            b')' if depth == 0 => break,
            b')' => depth -= 1,
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii_punctuation) => at += 1,
            _ => {}
        }
        at += 1;
    }
    at.min(bytes.len())
}

/// Decodes percent escapes such as `%20`. Invalid escapes stay; if the result is not UTF-8, the text stays
/// unchanged.
pub(super) fn percent_decoded(raw: &str) -> String {
    if !raw.contains('%') {
        return raw.to_owned();
    }
    let mut bytes = Vec::with_capacity(raw.len());
    let mut rest = raw.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        match escaped_byte(rest) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| raw.to_owned())
}

/// Returns the byte of the `%XX` escape at the start.
fn escaped_byte(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()
}

/// Escapes a path in the style of `like`, the escaped path that the author wrote. Characters escaped there
/// are escaped here; otherwise only the ones that need it are.
pub(super) fn escaped(path: &str, like: &str, angle: bool) -> String {
    let meant = percent_decoded(like);
    let author_escapes = |c: char| {
        if c.is_ascii() {
            meant.contains(c) && !like.contains(c)
        } else {
            like.is_ascii() && !meant.is_ascii()
        }
    };
    // A bare parenthesis needs its counterpart.
    let bare_parentheses = is_balanced(path) && !author_escapes('(') && !author_escapes(')');
    let mut written = String::with_capacity(path.len());
    for (at, c) in path.char_indices() {
        let rest = &path[at..];
        let must = match c {
            // `#` would start the heading.
            '#' => true,
            '%' => escaped_byte(rest.as_bytes()).is_some(),
            '&' => rest.contains(';'),
            '(' | ')' => !angle && !bare_parentheses,
            ' ' => !angle,
            '<' | '>' | '\\' => true,
            // In a table `|` would end the cell.
            '|' => true,
            other => other.is_control(),
        };
        if must || (author_escapes(c) && c != '/') {
            let mut buffer = [0; 4];
            for byte in c.encode_utf8(&mut buffer).bytes() {
                written.push_str(&format!("%{byte:02X}"));
            }
        } else {
            written.push(c);
        }
    }
    written
}

/// Whether all parentheses are balanced and not nested deeper than Markdown parsers accept.
fn is_balanced(path: &str) -> bool {
    const DEEPEST: i32 = 8;
    let mut depth = 0;
    for c in path.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if !(0..=DEEPEST).contains(&depth) {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{escaped, percent_decoded};

    #[test]
    fn the_manner_of_the_author_is_kept() {
        for (path, like, angle, written) in [
            ("My Note.md", "Old.md", false, "My%20Note.md"),
            ("My Note.md", "Old.md", true, "My Note.md"),
            ("My Note.md", "O%20d.md", true, "My%20Note.md"),
            ("café.md", "Old.md", false, "café.md"),
            ("café.md", "%C3%A9.md", false, "caf%C3%A9.md"),
            ("f(x).md", "Old.md", false, "f(x).md"),
            ("f(x.md", "Old.md", false, "f%28x.md"),
            ("f(x).md", "%28.md", false, "f%28x%29.md"),
            ("100%25.md", "Old.md", false, "100%2525.md"),
            ("100%.md", "Old.md", false, "100%.md"),
            ("a#b.md", "Old.md", true, "a%23b.md"),
            ("a&amp;b.md", "Old.md", false, "a%26amp;b.md"),
            ("R&D.md", "Old.md", false, "R&D.md"),
            ("a/b.md", "x%2Fy.md", false, "a/b.md"),
        ] {
            assert_eq!(escaped(path, like, angle), written, "{path} like {like}");
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_read_back(path in "[a-zé%&;#() /.$]{0,12}", like in "[a%20C3A9é()]{0,8}", angle in any::<bool>()) {
            assert_eq!(percent_decoded(&escaped(&path, &like, angle)), path);
        }
    }
}
