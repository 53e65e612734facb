//! Text from a server, on one line and with every invisible character escaped.

use std::fmt::Write as _;

use envelope::escape_line;

/// Returns at most `limit` characters of the text on one line, with a count of the rest.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let end = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let mut line = escape_line(&text[..end]).into_owned();
    if end < text.len() {
        let _infallible = write!(line, "… ({} more bytes)", text.len() - end);
    }
    line
}

#[cfg(test)]
mod tests {
    use envelope::invisible_chars;
    use proptest::prelude::{any, proptest};

    use super::one_line;

    #[test]
    fn a_line_is_short_and_hides_nothing() {
        assert_eq!(one_line("a\nb\u{200b}\u{e0041}", 9), "a\\nb\\u{200b}\\u{e0041}");
        assert_eq!(one_line("Übersicht", 4), "Über… (5 more bytes)");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            assert_eq!(invisible_chars(&one_line(&text, 50)).count(), 0);
        }
    }
}
