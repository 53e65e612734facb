//! Tests of the table of invisible characters, and of the ones that a text keeps.

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use regex_syntax::hir::{Class, HirKind};

use super::{BLANKS, EMOJI, INVISIBLE, invisible_chars, is_emoji, is_in, is_invisible, may_begin_invisible};

/// Returns the first and last character of each range of a Unicode class.
fn ranges(class: &str) -> Vec<(u32, u32)> {
    let parsed = regex_syntax::parse(class).unwrap().into_kind();
    let HirKind::Class(Class::Unicode(class)) = parsed else { panic!("{class} is no class") };
    class.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect()
}

// Conformance: result 5.8
//     Control characters and terminal escapes are neutralised in everything that is shown.
//     In: receipts/preview/clean.rs, envelope/invisible.rs
#[test]
fn the_table_is_what_its_rules_say() {
    let drawn = ranges(r"\p{Prepended_Concatenation_Mark}");
    let hidden =
        ranges(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]");
    for c in '\0'..=char::MAX {
        let code = u32::from(c);
        let expected = BLANKS.contains(&c) || (is_in(&hidden, code) && !is_in(&drawn, code));
        assert_eq!(is_invisible(c), expected, "{}", c.escape_unicode());
    }
}

#[test]
fn the_ranges_are_in_order_and_apart() {
    for table in [&INVISIBLE[..], &EMOJI[..]] {
        assert!(table.iter().all(|(first, last)| first <= last));
        assert!(table.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}

#[test]
fn every_known_offender_is_invisible() {
    for (c, name) in [
        ('\0', "NULL"),
        ('\u{8}', "BACKSPACE"),
        ('\u{1b}', "ESCAPE"),
        ('\u{7f}', "DELETE"),
        ('\u{85}', "NEXT LINE"),
        ('\u{9b}', "CONTROL SEQUENCE INTRODUCER"),
        ('\u{ad}', "SOFT HYPHEN"),
        ('\u{34f}', "COMBINING GRAPHEME JOINER"),
        ('\u{61c}', "ARABIC LETTER MARK"),
        ('\u{115f}', "HANGUL CHOSEONG FILLER"),
        ('\u{1160}', "HANGUL JUNGSEONG FILLER"),
        ('\u{17b4}', "KHMER VOWEL INHERENT AQ"),
        ('\u{180e}', "MONGOLIAN VOWEL SEPARATOR"),
        ('\u{200b}', "ZERO WIDTH SPACE"),
        ('\u{200c}', "ZERO WIDTH NON-JOINER"),
        ('\u{200d}', "ZERO WIDTH JOINER"),
        ('\u{200f}', "RIGHT-TO-LEFT MARK"),
        ('\u{2028}', "LINE SEPARATOR"),
        ('\u{2029}', "PARAGRAPH SEPARATOR"),
        ('\u{202e}', "RIGHT-TO-LEFT OVERRIDE"),
        ('\u{2060}', "WORD JOINER"),
        ('\u{2063}', "INVISIBLE SEPARATOR"),
        ('\u{2065}', "unassigned, ignored by fonts"),
        ('\u{2069}', "POP DIRECTIONAL ISOLATE"),
        ('\u{2800}', "BRAILLE PATTERN BLANK"),
        ('\u{3164}', "HANGUL FILLER"),
        ('\u{fe00}', "VARIATION SELECTOR-1"),
        ('\u{fe0f}', "VARIATION SELECTOR-16"),
        ('\u{feff}', "ZERO WIDTH NO-BREAK SPACE"),
        ('\u{ffa0}', "HALFWIDTH HANGUL FILLER"),
        ('\u{fff9}', "INTERLINEAR ANNOTATION ANCHOR"),
        ('\u{ffff}', "noncharacter"),
        ('\u{13430}', "EGYPTIAN HIEROGLYPH VERTICAL JOINER"),
        ('\u{1bca0}', "SHORTHAND FORMAT LETTER OVERLAP"),
        ('\u{1d173}', "MUSICAL SYMBOL BEGIN BEAM"),
        ('\u{e0001}', "LANGUAGE TAG"),
        ('\u{e0041}', "TAG LATIN CAPITAL LETTER A"),
        ('\u{e007f}', "CANCEL TAG"),
        ('\u{e0100}', "VARIATION SELECTOR-17"),
        ('\u{e01ef}', "VARIATION SELECTOR-256"),
    ] {
        assert!(is_invisible(c), "{name}");
    }
}

#[test]
fn text_that_is_seen_is_not_in_the_table() {
    for text in
        ["Übersicht 日記 (1)", "ไทย", "\u{a0}\u{3000}", "\u{6dd}", "e\u{301}", "⠋", "\u{e000}", "\u{fffd}"]
    {
        assert!(!text.contains(is_invisible), "{text}");
    }
}

#[test]
fn a_byte_that_no_invisible_character_begins_with_is_no_suspect() {
    for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c)) {
        let mut bytes = [0; 4];
        let first = c.encode_utf8(&mut bytes).as_bytes()[0];
        assert!(may_begin_invisible(first), "{}", c.escape_unicode());
    }
    // Letters of most scripts, and continuation bytes, are skipped.
    for byte in [b'a', b' ', 0x80, 0xbf, 0xc3, 0xd0, 0xd9, 0xe0, 0xe4, 0xe9] {
        assert!(!may_begin_invisible(byte), "{byte:x}");
    }
}

#[test]
fn every_emoji_is_known_and_seen() {
    let emoji = ranges(r"\p{Emoji}");
    for c in ('\u{80}'..=char::MAX).filter(|&c| is_in(&emoji, u32::from(c))) {
        assert!(is_emoji(c), "{}", c.escape_unicode());
    }
    assert!(!('\0'..=char::MAX).any(|c| is_emoji(c) && is_invisible(c)));
}

#[test]
fn words_keep_the_joiners_that_they_need_and_no_others() {
    let found = |text: &str| invisible_chars(text).map(|(_, c)| c).collect::<String>();
    for needed in
        ["👨‍👩‍👧‍👦", "👁️‍🗨️", "🏳️‍🌈", "👩🏽‍⚕️", "❤️‍🔥", "🙂‍↔️", "⚠️ careful", "↩︎", "1️⃣ #️⃣", "©️", "می‌خواهم", "क्‍ष", "ന്‍ "]
    {
        assert_eq!(found(needed), "", "{needed}");
    }
    for (text, hidden) in [
        ("a\u{200d}b", "\u{200d}"),
        ("👨\u{200d}", "\u{200d}"),
        ("\u{200d}👨", "\u{200d}"),
        ("👨\u{200d}\u{200d}👩", "\u{200d}\u{200d}"),
        ("👨\u{200c}👩", "\u{200c}"),
        ("❤\u{fe0f}\u{fe0f}", "\u{fe0f}"),
        ("a\u{fe0f}", "\u{fe0f}"),
        ("\u{fe0f}", "\u{fe0f}"),
        ("1\u{fe0f}2", "\u{fe0f}"),
        ("❤\u{fe01}", "\u{fe01}"),
        ("م\u{200c}\u{200c}خ", "\u{200c}\u{200c}"),
        ("م\u{200c}.md", "\u{200c}"),
        ("م\u{200b}خ", "\u{200b}"),
        ("۱\u{200c}۲", "\u{200c}"),
        ("🏴\u{e0067}\u{e007f}", "\u{e0067}\u{e007f}"),
        ("葛\u{e0100}", "\u{e0100}"),
    ] {
        assert_eq!(found(text), hidden, "{}", text.escape_unicode());
    }
}

proptest! {
    #[test]
    fn all_that_is_invisible_is_found_where_it_stands(text in any::<String>()) {
        let found: Vec<(usize, char)> = invisible_chars(&text).collect();
        let joiner = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
        for (at, c) in text.char_indices() {
            prop_assert_eq!(text[at..].chars().next(), Some(c));
            prop_assert!(!found.contains(&(at, c)) || is_invisible(c));
            prop_assert!(found.contains(&(at, c)) || !is_invisible(c) || joiner(c), "{:?}", c);
        }
    }
}
