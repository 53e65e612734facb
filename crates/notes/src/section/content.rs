//! Adapts new content to its position in the note.

use crate::lines::{LineEnding, line_end};

/// Returns `text` without leading empty lines.
pub(super) fn without_leading_blank(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            return rest;
        }
        rest = after;
    }
    if rest.trim().is_empty() { "" } else { rest }
}

/// Returns `text` without trailing empty lines and without its last line ending.
pub(super) fn without_trailing_blank(text: &str) -> &str {
    &text[..line_end(text, text.trim_end().len())]
}

/// Returns `text` without leading and trailing empty lines.
pub(super) fn trim_blank_lines(text: &str) -> &str {
    without_trailing_blank(without_leading_blank(text))
}

/// Returns `text` with `prefix` before every line but the first, which the note has already begun.
pub(super) fn indented(text: &str, prefix: &str, ending: LineEnding) -> String {
    if prefix.is_empty() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + prefix.len());
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            out.push_str(ending.as_str());
            out.push_str(if line.is_empty() { prefix.trim_end() } else { prefix });
        }
        out.push_str(line);
    }
    out
}

/// Whether `text` begins with the marker of a list item.
pub(super) fn is_list_item(text: &str) -> bool {
    let rest = text.trim_start_matches(' ');
    let behind = match rest.strip_prefix(['-', '*', '+']) {
        Some(behind) => behind,
        None => {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match rest[digits..].strip_prefix(['.', ')']) {
                Some(behind) if (1..=9).contains(&digits) => behind,
                Some(_) | None => return false,
            }
        }
    };
    behind.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::{indented, is_list_item, trim_blank_lines};
    use crate::lines::LineEnding;

    #[test]
    fn empty_lines_around_go_and_indentation_stays() {
        for (text, expected) in [
            ("\n \n    code\n\nmore  \n\n", "    code\n\nmore  "),
            ("one", "one"),
            ("one\r\n", "one"),
            (" \n", ""),
            ("", ""),
        ] {
            assert_eq!(trim_blank_lines(text), expected, "{text:?}");
        }
    }

    #[test]
    fn later_lines_stand_below_the_first() {
        assert_eq!(indented("a\n\nb", "> ", LineEnding::Lf), "a\n>\n> b");
        assert_eq!(indented("a\r\nb", "  ", LineEnding::CrLf), "a\r\n  b");
    }

    #[test]
    fn the_markers_of_list_items_are_known() {
        for text in ["- a", "* a", "+ a", "1. a", "12) a", "  - [ ] a"] {
            assert!(is_list_item(text), "{text:?}");
        }
        for text in ["-a", "a", "1a", ". a", "---", "", "1234567890. a"] {
            assert!(!is_list_item(text), "{text:?}");
        }
    }
}
