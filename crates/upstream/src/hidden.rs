//! Characters that a person does not see and a model reads: the way to say one thing to each of them.

use std::fmt::Write as _;

/// Whether a character shows nothing, reorders what others see, or acts on a terminal.
pub fn is_hidden(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            // Tags, and the variation selectors that no font has: whole sentences have been smuggled in them.
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text with every hidden character spelled out. Lines stay lines.
pub fn spelled_out(text: &str) -> String {
    spelled(text, is_hidden)
}

/// The same on one line, with at most `limit` characters of the text; what is cut is counted.
pub fn one_line(text: &str, limit: usize) -> String {
    let end = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let mut line = spelled(&text[..end], |c| is_hidden(c) || matches!(c, '\n' | '\t'));
    if end < text.len() {
        let _infallible = write!(line, "… ({} more bytes)", text.len() - end);
    }
    line
}

fn spelled(text: &str, hidden: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' | '\r' if hidden(c) => out.extend(c.escape_default()),
            _ if hidden(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{is_hidden, one_line, spelled_out};

    #[test]
    fn what_nobody_sees_is_spelled_out() {
        assert_eq!(spelled_out("Read\u{e0041}\u{202e} a\nfile"), "Read\\u{e0041}\\u{202e} a\nfile");
        assert_eq!(one_line("a\nb\u{200b}", 9), "a\\nb\\u{200b}");
        assert_eq!(one_line("Übersicht", 4), "Über… (5 more bytes)");
        assert!(!"Tägliche 日記 👨‍👩‍👧".replace('\u{200d}', "").contains(is_hidden));
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            assert!(!spelled_out(&text).contains(is_hidden));
            assert!(!one_line(&text, 50).contains(|c| is_hidden(c) || c == '\n'));
        }
    }
}
