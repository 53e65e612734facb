//! Turns a title into the stem of a file name that works on every system.

use envelope::VaultPath;
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Leaves room for an extension and for a number that makes the name unique.
pub const MAX_BYTES: usize = 200;

/// Returns the title as lower-case letters and digits of any script, with single hyphens between words. The
/// result is never empty, is not the name of a device, and has at most `max_chars` characters (at least one)
/// and [`MAX_BYTES`] bytes.
pub fn slug(title: &str, max_chars: usize) -> String {
    let mut words = String::new();
    let mut gap = false;
    for c in title.nfc().flat_map(char::to_lowercase).nfc() {
        // Apostrophes and joiners are inside a word and leave no gap.
        if matches!(c, '\'' | '’' | '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}') {
            continue;
        }
        let in_word = is_combining_mark(c) && !gap && !words.is_empty();
        if c.is_alphanumeric() || in_word {
            if gap && !words.is_empty() {
                words.push('-');
            }
            gap = false;
            words.push(c);
        } else {
            gap = true;
        }
    }
    let cut = truncate(&words, max_chars);
    if is_usable(cut) {
        return cut.to_owned();
    }
    // The title has no usable characters, or it is a word that some system reserves.
    let marked = format!("{cut}-note");
    let fallback = if cut.is_empty() || marked.chars().count() > max_chars { "untitled" } else { &marked };
    self::truncate(fallback, max_chars).to_owned()
}

/// Truncates to this many characters and bytes, without a hyphen at the end.
fn truncate(words: &str, max_chars: usize) -> &str {
    let chars = words.char_indices().nth(max_chars.max(1)).map_or(words.len(), |(at, _)| at);
    words[..words.floor_char_boundary(chars.min(MAX_BYTES))].trim_end_matches('-')
}

fn is_usable(slug: &str) -> bool {
    !slug.is_empty() && VaultPath::parse(slug).is_ok() && VaultPath::parse(&format!("{slug}.md")).is_ok()
}

#[cfg(test)]
mod tests {
    use envelope::VaultPath;
    use proptest::prelude::{any, proptest};

    use super::{MAX_BYTES, slug};

    #[test]
    fn titles_become_names_that_people_recognise() {
        for (title, expected) in [
            ("Hello, World!", "hello-world"),
            ("  Café Münster — 2026 ", "café-münster-2026"),
            ("日本語のノート", "日本語のノート"),
            ("हिन्दी नोट", "हिन्दी-नोट"),
            ("Don't panic", "dont-panic"),
            ("a/b\\c:d", "a-b-c-d"),
            ("../../etc/passwd", "etc-passwd"),
            ("CON", "con-note"),
            ("com¹", "com¹-note"),
            ("🎉", "untitled"),
            ("", "untitled"),
            ("cafe\u{301}", "café"),
        ] {
            assert_eq!(slug(title, 80), expected, "{title:?}");
        }
        assert_eq!(slug("one two three", 8), "one-two");
        assert_eq!(slug("one two three", 7), "one-two");
        assert_eq!(slug("con", 3), "unt");
        assert_eq!(slug("nul", 8), "nul-note");
    }

    proptest! {
        #[test]
        fn every_slug_is_a_file_name(title in any::<String>(), max in 1usize..300) {
            let slug = slug(&title, max);
            assert!(!slug.is_empty() && slug.len() <= MAX_BYTES);
            assert!(slug.chars().count() <= max.max(1));
            assert!(!slug.starts_with('-') && !slug.ends_with('-') && !slug.contains("--"));
            assert!(VaultPath::parse(&format!("{slug}.md")).is_ok(), "{slug:?}");
            assert_eq!(VaultPath::parse(&format!("{slug}.md")).unwrap().protected_by(), None);
        }

        #[test]
        fn device_names_never_come_out(word in "(con|prn|aux|nul|com|lpt)[0-9¹²³]?", max in 1usize..10) {
            assert!(VaultPath::parse(&format!("{}.md", slug(&word, max))).is_ok());
        }

        #[test]
        fn a_slug_is_its_own_slug(title in "[a-zA-Zäß ,.-]{0,40}") {
            let once = slug(&title, 80);
            assert_eq!(slug(&once, 80), once);
        }
    }
}
