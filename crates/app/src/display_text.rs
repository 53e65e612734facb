//! Escapes text from notes, models and hooks, so that it cannot act on a terminal.

use std::path::Path;

use envelope::escape_invisible;

/// Escapes every invisible character except line feeds and tabs.
pub fn escape_text(text: &str) -> String {
    escape_invisible(text).into_owned()
}

/// Escapes a text to one line: a line feed becomes `\n`, so that it cannot forge a line of output.
pub fn escape_line(text: &str) -> String {
    envelope::escape_line(text).into_owned()
}

/// Returns one line of at most `limit` characters, with a mark where it was cut.
pub fn truncate_line(text: &str, limit: usize) -> String {
    let line = escape_line(text);
    match line.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

/// Returns a path on one line.
pub fn display_path(path: &Path) -> String {
    escape_line(&path.to_string_lossy())
}

/// Returns a count with its noun: `1 call`, `2 calls`.
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Returns a number of bytes with its unit: `340 bytes`, `12 KB`, `3.4 MB`.
pub fn display_size(bytes: u64) -> String {
    let tenths = |unit: u64| (bytes.saturating_mul(10) / unit, unit);
    let (tenths, unit) = match bytes {
        0..1_000 => return count(bytes, "byte"),
        1_000..1_000_000 => (tenths(1_000).0, "KB"),
        1_000_000..1_000_000_000 => (tenths(1_000_000).0, "MB"),
        1_000_000_000.. => (tenths(1_000_000_000).0, "GB"),
    };
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use envelope::is_invisible;

    use super::{display_path, escape_line, escape_text, truncate_line};

    #[test]
    fn a_note_cannot_clear_the_screen_or_forge_a_line() {
        assert_eq!(escape_line("a\u{1b}[2J\nok  fake\u{202e}"), "a\\u{1b}[2J\\nok  fake\\u{202e}");
        assert_eq!(escape_text("two\nlines\r"), "two\nlines\\r");
        assert_eq!(escape_line("new\u{200b}2.md \u{feff}"), "new\\u{200b}2.md \\u{feff}");
        assert_eq!(escape_line("👨\u{200d}👩"), "👨\u{200d}👩", "an emoji needs its joiner");
        assert_eq!(truncate_line("Übersicht", 4), "Über…");
    }

    #[test]
    fn no_invisible_character_is_left_on_the_screen() {
        for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c)) {
            let text = format!("a{c}b");
            for shown in [escape_line(&text), truncate_line(&text, 20), display_path(text.as_ref())] {
                assert!(!shown.contains(is_invisible), "{}", c.escape_unicode());
            }
            let lines = escape_text(&text).replace(['\n', '\t'], "");
            assert!(!lines.contains(is_invisible), "{}", c.escape_unicode());
        }
    }
}
