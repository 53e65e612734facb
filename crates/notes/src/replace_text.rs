//! The edit behind `vault.replaceText`: replaces one text with another.
//!
//! Plain text only: regular expressions belong to search, where a wrong match does no harm. A model quotes
//! notes with LF endings whatever the note has, so both texts are converted to the line endings of the note.

use std::collections::HashSet;

use envelope::{Failure, Fault};

use super::lines::{LineEnding, line_number};
use super::splice::{TextSplice, apply_splices};

/// How many matches must be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedMatches {
    /// Exactly this many. Zero is refused: it would change nothing.
    Exactly(usize),
    /// All matches, at least one.
    All,
}

/// The text after the replacement.
#[derive(Debug, PartialEq, Eq)]
pub struct ReplacementResult {
    pub text: String,
    pub count: usize,
}

/// Maximum number of lines named in a message.
const SHOWN_LINES: usize = 5;
/// Maximum number of characters of a line shown in a hint.
const SHOWN_CHARS: usize = 120;

/// Replaces `find` with `replace`. Matches do not overlap; the search continues after the last one.
///
/// Fails if `find` is empty, if it does not match, or if the number of matches differs from `matches`.
pub fn replace_text(
    text: &str,
    find: &str,
    replace: &str,
    matches: ExpectedMatches,
) -> Result<ReplacementResult, Fault> {
    if find.is_empty() {
        return Err(Fault::new(
            Failure::InvalidArguments,
            "`find` is empty, and the empty text is everywhere",
        )
        .hint("give the text to replace exactly as it is in the file"));
    }
    if matches == ExpectedMatches::Exactly(0) {
        return Err(Fault::new(Failure::InvalidArguments, "zero expected matches would change nothing")
            .hint("expect one match or more"));
    }
    let ending = LineEnding::of(text);
    let needle = ending.normalize(find);
    let replacement = ending.normalize(replace);
    let found: Vec<usize> = text.match_indices(&*needle).map(|(at, _)| at).collect();
    let fits = match matches {
        ExpectedMatches::Exactly(count) => found.len() == count,
        ExpectedMatches::All => true,
    };
    if found.is_empty() {
        return Err(no_match(text, &needle));
    }
    if !fits {
        return Err(wrong_count(text, &found, matches));
    }
    let splices: Vec<TextSplice> = found
        .iter()
        .map(|at| TextSplice { range: *at..at + needle.len(), text: replacement.clone().into_owned() })
        .collect();
    Ok(ReplacementResult { text: apply_splices(text, &splices), count: found.len() })
}

fn wrong_count(text: &str, found: &[usize], matches: ExpectedMatches) -> Fault {
    let lines: Vec<usize> = found.iter().take(SHOWN_LINES).map(|at| line_number(text, *at)).collect();
    let shown = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if found.len() > lines.len() { ", …" } else { "" };
    let expected = match matches {
        ExpectedMatches::Exactly(count) => count.to_string(),
        ExpectedMatches::All => "any number".to_owned(),
    };
    let places = if found.len() == 1 { "place" } else { "places" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    Fault::new(
        Failure::Conflict,
        format!(
            "`find` occurs in {} {places} ({word} {shown}{more}), and {expected} was expected",
            found.len()
        ),
    )
    .hint("quote more of the surrounding text, or give the number of matches that you expect")
    .detail("matches", found.len())
    .detail("lines", lines)
}

fn no_match(text: &str, needle: &str) -> Fault {
    let fault = Fault::new(Failure::NotFound, "the file does not have the text of `find`");
    match likely_line(text, needle) {
        Some((number, line)) => fault
            .hint(format!("line {number} is similar: `{line}`; quote it exactly"))
            .detail("nearestLine", number),
        None => fault.hint("read the file again and quote the text exactly"),
    }
}

/// Returns the line that shares the most words with the first line of `needle`, and at least half of them.
///
/// One pass over the text, whatever the length of `needle`.
fn likely_line<'a>(text: &'a str, needle: &str) -> Option<(usize, &'a str)> {
    let first = needle.lines().find(|line| !line.trim().is_empty())?;
    let wanted: HashSet<String> = words(first).take(SHOWN_CHARS).collect();
    let mut best: Option<(usize, usize, &str)> = None;
    for (n, line) in text.lines().enumerate() {
        let shared = words(line).filter(|word| wanted.contains(word)).collect::<HashSet<_>>().len();
        if shared * 2 >= wanted.len() && shared > best.map_or(0, |(most, ..)| most) {
            best = Some((shared, n + 1, line));
        }
    }
    best.map(|(_, number, line)| {
        let cut = line.char_indices().nth(SHOWN_CHARS).map_or(line.len(), |(at, _)| at);
        (number, &line[..cut])
    })
}

fn words(line: &str) -> impl Iterator<Item = String> {
    line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::{ExpectedMatches, ReplacementResult, replace_text};

    #[track_caller]
    fn check(text: &str, find: &str, replace: &str, matches: ExpectedMatches, expected: Expect) {
        let shown = match replace_text(text, find, replace, matches) {
            Ok(ReplacementResult { text, count }) => format!("{count}: {text:?}"),
            Err(fault) => format!("{}: {fault}; {}", fault.failure, fault.recovery_hint()),
        };
        expected.assert_eq(&shown);
    }

    const ONCE: ExpectedMatches = ExpectedMatches::Exactly(1);

    #[test]
    fn the_one_place_is_replaced() {
        check(
            "- [ ] milk\n- [ ] bread",
            "[ ] milk",
            "[x] milk",
            ONCE,
            expect![[r#"1: "- [x] milk\n- [ ] bread""#]],
        );
    }

    #[test]
    fn several_places_are_named_and_left_alone() {
        check(
            "a\nb a\nc",
            "a",
            "x",
            ONCE,
            expect![
                "conflict: `find` occurs in 2 places (lines 1, 2), and 1 was expected; quote more of the surrounding text, or give the number of matches that you expect"
            ],
        );
        check(
            "a",
            "a",
            "x",
            ExpectedMatches::Exactly(2),
            expect![
                "conflict: `find` occurs in 1 place (line 1), and 2 was expected; quote more of the surrounding text, or give the number of matches that you expect"
            ],
        );
        check("a a a", "a", "b", ExpectedMatches::Exactly(3), expect![[r#"3: "b b b""#]]);
        check("aaaa\naa", "aa", "b", ExpectedMatches::All, expect![[r#"3: "bb\nb""#]]);
    }

    #[test]
    fn the_first_lines_stand_for_many() {
        check(
            "a\na\na\na\na\na\na\n",
            "a",
            "x",
            ONCE,
            expect![
                "conflict: `find` occurs in 7 places (lines 1, 2, 3, 4, 5, …), and 1 was expected; quote more of the surrounding text, or give the number of matches that you expect"
            ],
        );
    }

    #[test]
    fn a_near_line_is_named_when_nothing_matches() {
        check(
            "# Plan\n\nBuy the red bicycle today\nother words",
            "buy a red bicycle today\nand more",
            "",
            ONCE,
            expect![
                "not_found: the file does not have the text of `find`; line 3 is similar: `Buy the red bicycle today`; quote it exactly"
            ],
        );
        check(
            "nothing alike",
            "xyz",
            "",
            ExpectedMatches::All,
            expect![
                "not_found: the file does not have the text of `find`; read the file again and quote the text exactly"
            ],
        );
    }

    #[test]
    fn both_texts_take_the_line_endings_of_the_note() {
        check("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", ONCE, expect![[r#"1: "x\r\ny\r\nz\r\nc\r\n""#]]);
        check("a\nb\n", "a\r\nb", "x\r\ny", ONCE, expect![[r#"1: "x\ny\n""#]]);
    }

    #[test]
    fn empty_and_zero_are_refused() {
        check(
            "a",
            "",
            "x",
            ExpectedMatches::All,
            expect![
                "invalid_arguments: `find` is empty, and the empty text is everywhere; give the text to replace exactly as it is in the file"
            ],
        );
        check(
            "a",
            "a",
            "x",
            ExpectedMatches::Exactly(0),
            expect![
                "invalid_arguments: zero expected matches would change nothing; expect one match or more"
            ],
        );
    }

    proptest! {
        #[test]
        fn what_stands_around_the_place_stays(
            before in "[a-z\r\n é😀]{0,12}", after in "[a-z\r\n é😀]{0,12}", new in any::<String>(),
        ) {
            let text = format!("{before}<FIND>{after}");
            let edited = replace_text(&text, "<FIND>", &new, ONCE).unwrap();
            prop_assert!(edited.text.starts_with(&before) && edited.text.ends_with(&after));
        }

        #[test]
        fn any_text_is_answered(text in any::<String>(), find in any::<String>(), new in any::<String>()) {
            if let Ok(edited) = replace_text(&text, &find, &new, ExpectedMatches::All) {
                prop_assert_eq!(edited.count > 0, true);
            }
        }
    }
}
