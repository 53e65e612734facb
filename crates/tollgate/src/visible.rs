//! Text from notes, models and hooks, made safe to print: nothing in it can act on a terminal.

use std::fmt::Write as _;
use std::path::Path;

/// Keeps line breaks and tabs; spells out every other character that a terminal would act on.
pub(crate) fn visible(text: &str) -> String {
    spelled(text, |c| matches!(c, '\n' | '\t'))
}

/// The same on one line: a line break becomes `\n`, so that no text can forge a line of ours.
pub(crate) fn one_line(text: &str) -> String {
    spelled(text, |_| false)
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

/// JSON text that means the same and is safe to print. JSON itself is silent about most of what acts on a
/// screen; none of it can stand outside of a string, where an escape means the character.
pub(crate) fn visible_json(text: String) -> String {
    let acts = |c: char| acts_on_a_screen(c) && (c == '\u{7f}' || !c.is_ascii());
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            // All of them are in the first plane: four digits are enough.
            let _infallible = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A count with its noun: `1 call`, `2 calls`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn spelled(text: &str, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if keep(c) || !acts_on_a_screen(c) {
            out.push(c);
        } else if matches!(c, '\n' | '\t' | '\r') {
            out.extend(c.escape_default());
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Control characters, and the ones that reorder or break a line or part two words without being seen.
pub(crate) fn acts_on_a_screen(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{3164}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::{acts_on_a_screen, one_line, short, visible, visible_json};

    #[test]
    fn a_note_cannot_clear_the_screen_or_forge_a_line() {
        assert_eq!(one_line("a\u{1b}[2J\nok  fake\u{202e}"), "a\\u{1b}[2J\\nok  fake\\u{202e}");
        assert_eq!(visible("two\nlines\r"), "two\nlines\\r");
        assert_eq!(one_line("new\u{200b}2.md \u{feff}"), "new\\u{200b}2.md \\u{feff}");
        assert_eq!(one_line("👨\u{200d}👩"), "👨\u{200d}👩", "an emoji needs its joiner");
        assert_eq!(short("Übersicht", 4), "Über…");
    }

    #[test]
    fn json_is_escaped_only_where_it_must_be() {
        let text = "{\"a\":\"\u{9b}2J\u{7f}\u{202e}\u{2028}é\"}\n".to_owned();
        assert_eq!(visible_json(text), "{\"a\":\"\\u009b2J\\u007f\\u202e\\u2028é\"}\n");
    }

    proptest! {
        #[test]
        fn escaped_json_means_the_same(text in any::<String>()) {
            let json = visible_json(serde_json::to_string(&text).unwrap());
            assert!(!json.contains(acts_on_a_screen), "{json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }

        #[test]
        fn nothing_that_acts_on_a_screen_is_left(text in any::<String>()) {
            assert!(!one_line(&text).chars().any(acts_on_a_screen));
            assert!(!visible(&text).chars().any(|c| acts_on_a_screen(c) && c != '\n' && c != '\t'));
        }
    }
}
