//! Formats a command for display: completely, with invisible and control characters escaped.

use envelope::is_invisible;

/// Whether a character must be escaped. Joiners are escaped, too, and so is every white space except a space: it looks
/// like one, and a shell does not treat it as one.
pub(super) fn needs_escape(c: char) -> bool {
    is_invisible(c) || (c.is_whitespace() && c != ' ')
}

/// Escapes shell text and keeps its line breaks.
pub(super) fn escape_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if needs_escape(c) && c != '\n' { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// Formats the words of a command on one line, quoted so that their boundaries are visible.
pub(super) fn quote_argv(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quote_word(word)).collect();
    words.join(" ")
}

fn quote_word(word: &str) -> String {
    let plain = |c: char| (c.is_alphanumeric() && !needs_escape(c)) || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(needs_escape) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut shown = String::from("$'");
    for c in word.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            '\'' | '\\' => shown.extend(['\\', c]),
            c if needs_escape(c) => shown.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown.push('\'');
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{escape_text, needs_escape, quote_argv};

    #[test]
    fn it_can_be_seen_where_a_word_ends() {
        let argv = ["git", "commit", "-m", "it's a\nnew \u{1b}[2J line", "", "a b", "x'y"].map(str::to_owned);
        assert_eq!(quote_argv(&argv), r"git commit -m $'it\'s a\nnew \U0000001b[2J line' '' 'a b' 'x'\''y'");
        assert_eq!(quote_argv(&["ls ".to_owned()]), "'ls '");
        assert_eq!(escape_text("ls\r\u{a0}x\ny"), "ls\\u{d}\\u{a0}x\ny");
    }

    proptest! {
        #[test]
        fn nothing_that_acts_on_a_screen_is_left(text in any::<String>()) {
            assert!(!quote_argv(std::slice::from_ref(&text)).contains(needs_escape));
            assert!(!escape_text(&text).replace('\n', "").contains(needs_escape));
        }

        #[test]
        fn different_words_are_shown_differently(a in any::<Vec<String>>(), b in any::<Vec<String>>()) {
            assert_eq!(a == b, quote_argv(&a) == quote_argv(&b));
        }
    }
}
