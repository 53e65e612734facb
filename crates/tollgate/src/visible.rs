//! Text from notes, models and hooks, made safe to print: nothing in it can act on a terminal.

use std::path::Path;

use envelope::{escape_invisible, escape_line};

/// Keeps line feeds and tabs; spells out every other invisible character.
pub(crate) fn visible(text: &str) -> String {
    escape_invisible(text).into_owned()
}

/// The same on one line: a line feed becomes `\n`, so that no text can forge a line of ours.
pub(crate) fn one_line(text: &str) -> String {
    escape_line(text).into_owned()
}

/// One line of at most `limit` characters; what is cut is marked.
pub(crate) fn short(text: &str, limit: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// A path on one line.
pub(crate) fn path_words(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// A count with its noun: `1 call`, `2 calls`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use envelope::is_invisible;

    use super::{one_line, path_words, short, visible};

    #[test]
    fn a_note_cannot_clear_the_screen_or_forge_a_line() {
        assert_eq!(one_line("a\u{1b}[2J\nok  fake\u{202e}"), "a\\u{1b}[2J\\nok  fake\\u{202e}");
        assert_eq!(visible("two\nlines\r"), "two\nlines\\r");
        assert_eq!(one_line("new\u{200b}2.md \u{feff}"), "new\\u{200b}2.md \\u{feff}");
        assert_eq!(one_line("👨\u{200d}👩"), "👨\u{200d}👩", "an emoji needs its joiner");
        assert_eq!(short("Übersicht", 4), "Über…");
    }

    #[test]
    fn no_invisible_character_is_left_on_the_screen() {
        for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c)) {
            let text = format!("a{c}b");
            for shown in [one_line(&text), short(&text, 20), path_words(text.as_ref())] {
                assert!(!shown.contains(is_invisible), "{}", c.escape_unicode());
            }
            let lines = visible(&text).replace(['\n', '\t'], "");
            assert!(!lines.contains(is_invisible), "{}", c.escape_unicode());
        }
    }
}
