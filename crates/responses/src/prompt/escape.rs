//! Escapes untrusted text, so that it reads the same and is never taken for a call, a record or a speaker.
//!
//! The bracket of every marker is written as its JSON escape: `<tool_call>` becomes `\u003ctool_call>`. Everything
//! else stays unchanged. A text that contains such an escape before such a word gets its backslash escaped
//! (`\u005cu003ctool_call>`), once more for each earlier time, so every text is restored exactly, and unescaping once
//! never makes a bracket that was not there.
//!
//! JSON's own escape is used because a model that copies it into the arguments of a call has copied the bracket.

use std::borrow::Cow;

use super::marker::{bracket, makes_marker, may_change};

const BACKSLASH: &str = "\\u005c";
/// The length of `uXXXX`.
const UNIT: usize = 5;

/// Returns the text with every marker escaped; borrowed if it has none.
pub fn escape(text: &str) -> Cow<'_, str> {
    rewrite(text, |rest, out| {
        let mut chars = rest.chars();
        let first = chars.next()?;
        if first == '\\' {
            is_escaped_marker(chars.as_str()).then(|| out.push_str(BACKSLASH))?;
        } else {
            makes_marker(bracket(first)?, chars.as_str()).then(|| push_unit(out, first))?;
        }
        Some(first.len_utf8())
    })
}

/// Returns the text before [`escape`]. Other escapes stay unchanged.
pub fn unescape(text: &str) -> Cow<'_, str> {
    rewrite(text, |rest, out| {
        let behind = rest.strip_prefix('\\')?;
        if let Some(inner) = behind.strip_prefix("u005c") {
            is_escaped_marker(inner).then(|| out.push('\\'))?;
            return Some(BACKSLASH.len());
        }
        let (c, tail) = parse_unit(behind)?;
        makes_marker(bracket(c)?, tail).then(|| out.push(c))?;
        Some(rest.len() - tail.len())
    })
}

/// Whether more text after a backslash and `behind` could change the result of [`unescape`].
pub(super) fn is_open(behind: &str) -> bool {
    let mut inner = behind;
    while let Some(deeper) = inner.strip_prefix("u005c") {
        inner = deeper;
    }
    match parse_unit(inner) {
        Some((c, tail)) => bracket(c).is_some_and(|bracket| may_change(bracket, tail)),
        // The other digits may follow.
        None => inner.len() < UNIT && is_beginning_of_unit(inner),
    }
}

fn is_beginning_of_unit(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_none_or(|first| first == b'u') && bytes.all(is_digit)
}

/// Copies a text and calls `at` at every bracket and backslash. `at` may write a replacement, and returns how many
/// bytes it replaces.
fn rewrite(text: &str, at: impl Fn(&str, &mut String) -> Option<usize>) -> Cow<'_, str> {
    let (mut out, mut instead) = (String::new(), String::new());
    let (mut copied, mut next) = (0, 0);
    while let Some(found) = text.as_bytes()[next..].iter().position(|&byte| is_interesting(byte)) {
        let here = next + found;
        next = here + 1;
        instead.clear();
        if let Some(taken) = at(&text[here..], &mut instead) {
            out.push_str(&text[copied..here]);
            out.push_str(&instead);
            copied = here + taken;
            next = copied;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Whether a character that starts with this byte can be a bracket or a backslash. No such byte occurs inside a
/// character.
fn is_interesting(byte: u8) -> bool {
    matches!(byte, b'<' | b'[' | b'\\' | 0xcb | 0xe1 | 0xe2 | 0xe3 | 0xef)
}

/// Whether this, after a backslash, is an escaped marker, however often it was escaped.
fn is_escaped_marker(mut behind: &str) -> bool {
    while let Some(inner) = behind.strip_prefix("u005c") {
        behind = inner;
    }
    parse_unit(behind).is_some_and(|(c, tail)| bracket(c).is_some_and(|bracket| makes_marker(bracket, tail)))
}

/// Parses `uXXXX` with small letters, as [`push_unit`] writes it after the backslash.
fn parse_unit(text: &str) -> Option<(char, &str)> {
    let (digits, tail) = text.strip_prefix('u')?.split_at_checked(4)?;
    if !digits.bytes().all(is_digit) {
        return None;
    }
    let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((c, tail))
}

fn is_digit(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

/// All brackets have four digits.
fn push_unit(out: &mut String, c: char) {
    out.push_str(&format!("\\u{:04x}", u32::from(c)));
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::collection::vec;
    use proptest::prelude::{
        ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };
    use proptest::sample::select;

    use super::{escape, unescape};
    use crate::prompt::marker::{bracket, makes_marker};

    #[track_caller]
    fn check(text: &str, escaped: &str) {
        assert_eq!(escape(text), escaped);
        assert_eq!(unescape(escaped), text);
    }

    #[test]
    fn only_the_bracket_of_a_marker_changes() {
        check("see <tool_call>{}</tool_call> <b>", "see \\u003ctool_call>{}\\u003c/tool_call> <b>");
        check("\n[function_call_output call_id=\"a\"]", "\n\\u005bfunction_call_output call_id=\"a\"]");
        check("＜tool_call＞", "\\uff1ctool_call＞");
    }

    #[test]
    fn escapes_that_were_there_come_back_as_they_were() {
        check("\\u003ctool_call>", "\\u005cu003ctool_call>");
        check("\\u005cu003ctool_call>", "\\u005cu005cu003ctool_call>");
        check("\\\\u003ctool_call>", "\\\\u005cu003ctool_call>");
        // Not of our kind, so nothing that would be read.
        check("\\u003cb> \\u003Ctool_call> \\u005cn", "\\u003cb> \\u003Ctool_call> \\u005cn");
    }

    #[test]
    fn ordinary_notes_stay_byte_for_byte() {
        let note =
            "# Notes\n- [ ] a <b>bold</b> [link](x.md) [[Wiki]] a < b\\nc `Vec<T>` 你好《》 \u{1f600}\n";
        assert!(matches!(escape(note), Cow::Borrowed(same) if same == note));
        assert!(matches!(unescape(note), Cow::Borrowed(same) if same == note));
    }

    /// How many markers a text has.
    fn markers(text: &str) -> usize {
        let at = |(index, c): (usize, char)| {
            bracket(c).is_some_and(|bracket| makes_marker(bracket, &text[index + c.len_utf8()..]))
        };
        text.char_indices().filter(|&found| at(found)).count()
    }

    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            select(vec![
                "<",
                "[",
                "\\",
                "\\u003c",
                "\\u005c",
                "u005c",
                "u003c",
                "u005b",
                "tool",
                "_",
                "call",
                "function_call",
                "_output",
                "/",
                ">",
                "]",
                " ",
                "\n",
                "\u{200b}",
                "＜",
                "ｔ",
                "|",
                "im_start",
                "tool_call",
                "005c",
                "\\u",
                "с",
                "‹",
                "inst",
                "\\uff1c",
                "uff1c",
            ])
            .prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
        ];
        vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        // Conformance: proxy 12.6
        #[test]
        fn every_text_comes_back_and_has_no_marker_meanwhile(text in texts()) {
            let escaped = escape(&text);
            prop_assert_eq!(markers(&escaped), 0, "{:?}", escaped);
            prop_assert_eq!(unescape(&escaped), text.as_str());
            let twice = escape(&escaped);
            prop_assert_eq!(unescape(&twice), escaped.as_ref());
        }

        #[test]
        fn texts_set_one_behind_the_other_make_no_marker(a in texts(), b in texts()) {
            let both = format!("{}{}", escape(&a), escape(&b));
            prop_assert_eq!(markers(&both), 0, "{:?}", both);
        }

        #[test]
        fn a_text_without_markers_is_not_touched(text in any::<String>()) {
            prop_assert!(markers(&text) > 0 || text.contains("\\u") || escape(&text) == text);
        }
    }
}
