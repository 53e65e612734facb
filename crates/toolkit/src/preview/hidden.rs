//! Characters that are not seen themselves but change what is seen: controls, marks of direction, joiners
//! and spaces without width, separators that some readers take for a line end, and tags.

/// Whether `c` must be spelled out. Tabs and line feeds are not hidden.
pub(super) fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' => true,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// Whether a character beyond ASCII that begins with this byte can be one of them.
pub(super) fn may_begin_hidden(first: u8) -> bool {
    matches!(first, 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf3)
}

/// Writes `c` as `\u{202e}`. By hand, because a file of zeros has millions of them.
pub(super) fn spell_out(c: char, text: &mut String) {
    let code = u32::from(c);
    let digits = (u32::BITS - code.leading_zeros()).div_ceil(4).max(1);
    text.push_str("\\u{");
    for digit in (0..digits).rev() {
        let value = (code >> (4 * digit)) & 0xf;
        text.push(char::from_digit(value, 16).unwrap_or('?'));
    }
    text.push('}');
}

#[cfg(test)]
mod tests {
    use super::{is_hidden, may_begin_hidden, spell_out};

    #[test]
    fn a_character_is_spelled_out_as_rust_does_it() {
        for c in ['\0', '\u{f}', '\u{10}', '\u{7f}', '\u{202e}', '\u{e0001}', char::MAX] {
            let mut text = String::new();
            spell_out(c, &mut text);
            assert_eq!(text, c.escape_unicode().to_string());
        }
    }

    #[test]
    fn no_hidden_character_beyond_ascii_begins_with_a_byte_that_is_thought_plain() {
        for c in ('\u{80}'..=char::MAX).filter(|&c| is_hidden(c)) {
            let mut bytes = [0; 4];
            let first = c.encode_utf8(&mut bytes).as_bytes()[0];
            assert!(may_begin_hidden(first), "{}", c.escape_unicode());
        }
    }
}
