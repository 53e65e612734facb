//! A command as people read it: all of it, and nothing in it can act on their screen.

use envelope::is_invisible;

/// Whether the character must be spelled out. No joiner is excepted, and a white space that is not a space counts: it
/// looks like one, and a shell does not take it for one.
pub(super) fn acts_on_a_screen(c: char) -> bool {
    is_invisible(c) || (c.is_whitespace() && c != ' ')
}

/// The text of a shell, on as many lines as it has.
pub(super) fn shown_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if acts_on_a_screen(c) && c != '\n' { shown.extend(c.escape_unicode()) } else { shown.push(c) }
    }
    shown
}

/// The words of a command on one line, quoted so that it can be seen where each begins and ends.
pub(super) fn shown_argv(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| shown_word(word)).collect();
    words.join(" ")
}

fn shown_word(word: &str) -> String {
    let plain = |c: char| (c.is_alphanumeric() && !acts_on_a_screen(c)) || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(acts_on_a_screen) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut shown = String::from("$'");
    for c in word.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            '\'' | '\\' => shown.extend(['\\', c]),
            c if acts_on_a_screen(c) => shown.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown.push('\'');
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{acts_on_a_screen, shown_argv, shown_text};

    #[test]
    fn it_can_be_seen_where_a_word_ends() {
        let argv = ["git", "commit", "-m", "it's a\nnew \u{1b}[2J line", "", "a b", "x'y"].map(str::to_owned);
        assert_eq!(shown_argv(&argv), r"git commit -m $'it\'s a\nnew \U0000001b[2J line' '' 'a b' 'x'\''y'");
        assert_eq!(shown_argv(&["ls ".to_owned()]), "'ls '");
        assert_eq!(shown_text("ls\r\u{a0}x\ny"), "ls\\u{d}\\u{a0}x\ny");
    }

    proptest! {
        #[test]
        fn nothing_that_acts_on_a_screen_is_left(text in any::<String>()) {
            assert!(!shown_argv(std::slice::from_ref(&text)).contains(acts_on_a_screen));
            assert!(!shown_text(&text).replace('\n', "").contains(acts_on_a_screen));
        }

        #[test]
        fn different_words_are_shown_differently(a in any::<Vec<String>>(), b in any::<Vec<String>>()) {
            assert_eq!(a == b, shown_argv(&a) == shown_argv(&b));
        }
    }
}
