//! Wraps lines at blanks to the width of a terminal. Pure.

/// Narrower terminals are not wrapped for: almost every word would stand alone.
const MIN_WIDTH: usize = 20;

/// Returns the text with every line that is longer than `width` broken at blanks. Each break replaces one blank. What
/// follows is indented deeper than the start of its line, up to half the width, so that no text can stand where a line of
/// Tollgate begins. A word that is longer than a line is not broken.
pub(crate) fn wrap_lines(text: &str, width: usize) -> String {
    if width < MIN_WIDTH {
        return text.to_owned();
    }
    let mut wrapped = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            wrapped.push('\n');
        }
        wrap_line(line, width, &mut wrapped);
    }
    wrapped
}

fn wrap_line(line: &str, width: usize, wrapped: &mut String) {
    if line.len() <= width || visible_length(line) <= width {
        wrapped.push_str(line);
        return;
    }
    let blanks = line.chars().take_while(|c| *c == ' ').count();
    let indent = (blanks + 2).min(width / 2);
    let mut column = 0;
    for (number, word) in line.split(' ').enumerate() {
        let length = visible_length(word);
        // The blanks at the start of a line are its indentation.
        if number > blanks && column > indent && length > 0 && column + 1 + length > width {
            wrapped.push('\n');
            wrapped.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if number > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
}

/// Returns the number of characters without the codes of colours.
fn visible_length(text: &str) -> usize {
    let mut count = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A colour ends with its letter.
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::{visible_length, wrap_lines};

    #[track_caller]
    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&wrap_lines(text, 30));
    }

    #[test]
    fn a_long_line_is_broken_at_blanks_and_indented() {
        check("short line", expect!["short line"]);
        check(
            "ok         notes            6 calls, of which every one was made",
            expect![[r"
                ok         notes            6
                  calls, of which every one
                  was made"]],
        );
        assert_eq!(
            wrap_lines("  created Notes/Write down grandmother's plum cake recipe.md", 30),
            "  created Notes/Write down\n    grandmother's plum cake\n    recipe.md"
        );
    }

    #[test]
    fn a_word_that_is_too_long_stays_whole() {
        check(
            "Chain head: b3:0e9de94e4f0cd1074b7ce17333fab14b (9 records)",
            expect![[r"
                Chain head:
                  b3:0e9de94e4f0cd1074b7ce17333fab14b
                  (9 records)"]],
        );
    }

    #[test]
    fn colours_take_no_room() {
        let painted = "\u{1b}[31mone two three four five six\u{1b}[0m";
        assert_eq!(visible_length(painted), 27);
        assert_eq!(wrap_lines(painted, 30), painted);
    }

    proptest! {
        #[test]
        fn only_blanks_are_replaced_and_no_continuation_starts_a_line(
            text in "[ab \\n]{0,200}", width in 20_usize..60
        ) {
            let wrapped = wrap_lines(&text, width);
            let bare = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(bare(&wrapped), bare(&text));
            let short_words = text.split([' ', '\n']).all(|word| word.len() < width / 2);
            if short_words {
                for line in wrapped.split('\n') {
                    prop_assert!(line.trim_end().len() <= width, "{:?}", line);
                }
            }
            let starts = |text: &str| text.split('\n').filter(|line| line.starts_with(['a', 'b'])).count();
            prop_assert_eq!(starts(&wrapped), starts(&text));
        }
    }
}
