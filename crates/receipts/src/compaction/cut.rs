//! Shortens a preview that was already cut: keeps its first and last lines, with a marker between them.
//!
//! The marker counts the shown lines and not the missing ones, so that it stays true however often a text is cut:
//! the length of the original is not known here.

use std::borrow::Cow;

use crate::preview::tokenizer::{estimate, prefix_within};

/// Largest cost of the marker between head and tail.
const MARK: usize = 20;

/// Returns the text within `tokens`; unchanged if it fits.
pub(super) fn head_and_tail(text: &str, tokens: usize) -> String {
    if estimate(text) <= tokens {
        return text.to_owned();
    }
    let mut room = tokens.saturating_sub(MARK);
    let lines: Vec<&str> = text.lines().collect();
    // No single line may take the room of all others.
    let longest = if lines.len() == 1 { room } else { room / 3 };
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    // The end first, because a log ends with the outcome. Then alternately, until a line does not fit.
    while head.len() + tail.len() < lines.len() {
        let from_end = tail.len() <= head.len();
        let line = if from_end { lines[lines.len() - 1 - tail.len()] } else { lines[head.len()] };
        let line = shorten_line(line, longest);
        let Some(left) = room.checked_sub(estimate(&line) + 1) else { break };
        room = left;
        if from_end { tail.push(line) } else { head.push(line) }
    }
    let mark = format!("[cut: first {} and last {} lines]", head.len(), tail.len());
    tail.reverse();
    head.into_iter().chain([Cow::Owned(mark)]).chain(tail).collect::<Vec<_>>().join("\n")
}

/// Returns a line with its end cut off if it is too long.
fn shorten_line(line: &str, tokens: usize) -> Cow<'_, str> {
    if estimate(line) < tokens {
        return Cow::Borrowed(line);
    }
    // One for the marker, one for the line end, one because a cut can make a piece more expensive.
    let end = prefix_within(line, tokens.saturating_sub(3));
    Cow::Owned(format!("{}…", &line[..end]))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::head_and_tail;
    use crate::preview::tokenizer::estimate;

    #[track_caller]
    fn check(text: &str, tokens: usize, expect: Expect) {
        expect.assert_eq(&head_and_tail(text, tokens));
    }

    #[test]
    fn the_first_and_the_last_lines_stay() {
        let log: String = (1..=100).map(|n| format!("step {n}\n")).collect();
        check(
            &log,
            45,
            expect![[r#"
                step 1
                step 2
                step 3
                [cut: first 3 and last 3 lines]
                step 98
                step 99
                step 100"#]],
        );
    }

    #[test]
    fn a_text_that_fits_is_left_alone() {
        check(
            "one\ntwo\n",
            40,
            expect![[r#"
            one
            two
        "#]],
        );
    }

    #[test]
    fn one_long_line_keeps_its_beginning() {
        check(
            &"word ".repeat(200),
            30,
            expect![[r#"
                [cut: first 0 and last 1 lines]
                word word word word word word word…"#]],
        );
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_and_is_cut_only_once(text in "([a-z]{0,12}[ \n]){0,200}", tokens in 20..120_usize) {
            let cut = head_and_tail(&text, tokens);
            prop_assert!(estimate(&cut) <= tokens, "{} > {tokens}: {cut:?}", estimate(&cut));
            prop_assert_eq!(head_and_tail(&cut, tokens), cut);
        }

        #[test]
        fn any_text_can_be_cut(text in any::<String>(), tokens in 20..60_usize) {
            let cut = head_and_tail(&text, tokens);
            prop_assert_eq!(head_and_tail(&cut, tokens), cut);
        }
    }
}
