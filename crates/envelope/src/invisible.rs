//! The table of invisible and control characters, for every text that leaves the program: questions,
//! receipts, structured content, diffs and logs.
//!
//! A character is invisible if a reader does not see it, or if it affects its surroundings: it moves a
//! cursor, reorders text or ends a line. A model still reads such characters, so a text with them says
//! different things to you and to the model. The table is the union of
//!
//! - the categories Cc, Cf, Zl and Zp, without the Cf characters that have a shape
//!   (Prepended_Concatenation_Mark, such as U+06DD),
//! - Default_Ignorable_Code_Point: soft hyphen, joiners, bidi controls, fillers, variation selectors, TAG
//!   characters,
//! - [`BLANKS`]: letters and symbols in Unicode that have no shape,
//! - the noncharacters, for which fonts have no glyph.
//!
//! Spaces (Zs) are excluded, because a gap is visible. Unassigned and private characters are excluded,
//! because they appear as a box.

/// Letters and symbols without a shape that no Unicode property covers: BRAILLE PATTERN BLANK, OBJECT
/// REPLACEMENT CHARACTER, two Egyptian blanks and MUSICAL SYMBOL NULL NOTEHEAD.
#[cfg(test)]
const BLANKS: [char; 5] = ['\u{2800}', '\u{fffc}', '\u{13441}', '\u{13442}', '\u{1d159}'];

/// First and last character of each range, in order. The last two characters of each plane are checked
/// separately.
const INVISIBLE: [(u32, u32); 25] = [
    (0x00, 0x1f),       // controls
    (0x7f, 0x7f),       // delete
    (0x80, 0x9f),       // controls
    (0xad, 0xad),       // soft hyphen
    (0x34f, 0x34f),     // combining grapheme joiner
    (0x61c, 0x61c),     // Arabic letter mark
    (0x115f, 0x1160),   // Hangul fillers
    (0x17b4, 0x17b5),   // Khmer inherent vowels
    (0x180b, 0x180f),   // Mongolian variation selectors and vowel separator
    (0x200b, 0x200f),   // zero width space, joiners, direction marks
    (0x2028, 0x202e),   // line and paragraph separator, bidi embeddings and overrides
    (0x2060, 0x206f),   // word joiner, invisible operators, bidi isolates
    (0x2800, 0x2800),   // Braille pattern blank
    (0x3164, 0x3164),   // Hangul filler
    (0xfdd0, 0xfdef),   // noncharacters
    (0xfe00, 0xfe0f),   // variation selectors
    (0xfeff, 0xfeff),   // byte order mark
    (0xffa0, 0xffa0),   // halfwidth Hangul filler
    (0xfff0, 0xfffc),   // interlinear annotation, object replacement
    (0x13430, 0x1343f), // Egyptian format controls
    (0x13441, 0x13442), // Egyptian blanks
    (0x1bca0, 0x1bca3), // shorthand format controls
    (0x1d159, 0x1d159), // musical null notehead
    (0x1d173, 0x1d17a), // musical format controls
    (0xe0000, 0xe0fff), // TAG characters and more variation selectors
];

/// Characters of emoji sequences, without the digits of keycaps: pictographs, their skin tones, and the
/// symbols that have both a text and an emoji form.
const EMOJI: [(u32, u32); 22] = [
    (0xa9, 0xa9),
    (0xae, 0xae),
    (0x203c, 0x203c),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2194, 0x2199),
    (0x21a9, 0x21aa),
    (0x231a, 0x231b),
    (0x2328, 0x2328),
    (0x23cf, 0x23cf),
    (0x23e9, 0x23fa),
    (0x24c2, 0x24c2),
    (0x25aa, 0x25c0),
    (0x25fb, 0x25fe),
    (0x2600, 0x27bf),
    (0x2934, 0x2935),
    (0x2b05, 0x2b55),
    (0x3030, 0x303d),
    (0x3297, 0x3297),
    (0x3299, 0x3299),
    (0x1f000, 0x1faff),
];

/// Vowel killers in the scripts of India and its neighbours. A joiner after one decides the form of the
/// consonants.
const VIRAMAS: [char; 14] = [
    '\u{94d}', '\u{9cd}', '\u{a4d}', '\u{acd}', '\u{b4d}', '\u{bcd}', '\u{c4d}', '\u{ccd}', '\u{d4d}',
    '\u{dca}', '\u{1039}', '\u{103a}', '\u{17d2}', '\u{1b44}',
];

/// Bytes that can start an invisible character. Most text in most scripts contains none of them.
const SUSPECTS: [bool; 256] = suspect_bytes();

/// Whether `c` is invisible or affects its surroundings. Line feeds and tabs are in the table; callers that
/// keep them filter them.
pub fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let code = u32::from(c);
    is_in(&INVISIBLE, code) || code & 0xfffe == 0xfffe
}

/// Whether an invisible character can start with this byte of UTF-8. Always false for continuation bytes.
pub fn may_begin_invisible(byte: u8) -> bool {
    SUSPECTS[usize::from(byte)]
}

/// Returns the invisible characters of a text with their byte positions, except those that its words need:
///
/// - a variation selector for emoji or text (U+FE0F, U+FE0E) right after an emoji character, or in a keycap
///   (`1️⃣`),
/// - U+200D between two emoji characters (`👩‍👧`),
/// - U+200C and U+200D between two Arabic letters, as Persian needs them, and after a virama, as Indic
///   scripts need them.
///
/// One such character between two visible ones can hide at most one bit, and changes how they are drawn. All
/// other characters that a text could need (flags made of TAG characters, ideographic variants, soft hyphens)
/// are returned.
pub fn invisible_chars(text: &str) -> InvisibleChars<'_> {
    InvisibleChars { text, at: 0 }
}

/// Iterator over the invisible characters of a text; see [`invisible_chars`].
#[derive(Debug, Clone)]
pub struct InvisibleChars<'t> {
    text: &'t str,
    at: usize,
}

impl Iterator for InvisibleChars<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let Some(plain) = rest.iter().position(|&byte| may_begin_invisible(byte)) else {
                self.at = self.text.len();
                return None;
            };
            let at = self.at + plain;
            let c = self.text[at..].chars().next()?;
            self.at = at + c.len_utf8();
            if is_invisible(c) && !is_needed(&self.text[..at], c, &self.text[self.at..]) {
                return Some((at, c));
            }
        }
    }
}

/// Whether the characters around an invisible one need it.
fn is_needed(before: &str, c: char, after: &str) -> bool {
    if !matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}') {
        return false;
    }
    let mut before = before.chars().rev();
    let Some(last) = before.next() else { return false };
    let next = after.chars().next();
    if is_selector(c) {
        let keycap = (last.is_ascii_digit() || matches!(last, '#' | '*')) && next == Some('\u{20e3}');
        return keycap || is_emoji(last);
    }
    let follows_emoji = is_emoji(last) || (is_selector(last) && before.next().is_some_and(is_emoji));
    if c == '\u{200d}' && follows_emoji {
        return next.is_some_and(is_emoji);
    }
    VIRAMAS.contains(&last) || (is_arabic_letter(last) && next.is_some_and(is_arabic_letter))
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

fn is_emoji(c: char) -> bool {
    is_in(&EMOJI, u32::from(c))
}

/// Whether `c` is an Arabic letter or a vowel sign on one.
fn is_arabic_letter(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}') && c.is_alphabetic()
}

fn is_in(ranges: &[(u32, u32)], code: u32) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= code);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|&(_, last)| code <= last)
}

const fn suspect_bytes() -> [bool; 256] {
    let mut found = [false; 256];
    let mut range = 0;
    while range < INVISIBLE.len() {
        let (first, last) = INVISIBLE[range];
        let mut byte = first_byte(first);
        while byte <= first_byte(last) {
            found[byte] = true;
            byte += 1;
        }
        range += 1;
    }
    // The last two characters of each plane.
    let mut byte = first_byte(0xffff);
    while byte <= first_byte(0x0010_ffff) {
        found[byte] = true;
        byte += 1;
    }
    found
}

/// The first byte of a character in UTF-8.
const fn first_byte(code: u32) -> usize {
    (match code {
        0..0x80 => code,
        0x80..0x800 => 0xc0 | code >> 6,
        0x800..0x1_0000 => 0xe0 | code >> 12,
        _ => 0xf0 | code >> 18,
    }) as usize
}

#[cfg(test)]
#[path = "invisible_tests.rs"]
mod tests;
