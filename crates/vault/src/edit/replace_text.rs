//! The edit behind `vault.replaceText`: one text for another, found by what it says.
//!
//! Plain text only: patterns belong to searching, where a wrong match costs nothing. A model quotes notes with
//! LF endings whatever the note has, so both texts are taken with the endings of the note.

use std::collections::HashSet;

use envelope::{Failure, Fault};

use super::lines::{LineEnding, line_number};
use super::splice::{Splice, spliced};

/// How many places may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matches {
    /// This many, neither more nor less. Zero is refused: it would change nothing.
    Exactly(usize),
    /// All there are, at least one.
    All,
}

/// A text with other words in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) text: String,
    pub(crate) count: usize,
}

/// Lines named in a message.
const SHOWN_LINES: usize = 5;
/// Characters of a line shown in a hint.
const SHOWN_CHARS: usize = 120;

/// Puts `replace` where `find` stands. Matches do not overlap; the search goes on behind the last one.
pub(crate) fn replace_text(
    text: &str,
    find: &str,
    replace: &str,
    matches: Matches,
) -> Result<Replaced, Fault> {
    if find.is_empty() {
        return Err(Fault::new(
            Failure::InvalidArguments,
            "`find` is empty, and nothing is found everywhere",
        )
        .hint("give the text to replace as it stands in the file"));
    }
    if matches == Matches::Exactly(0) {
        return Err(Fault::new(Failure::InvalidArguments, "zero expected matches would change nothing")
            .hint("expect one match or more"));
    }
    let ending = LineEnding::of(text);
    let needle = ending.applied(find);
    let replacement = ending.applied(replace);
    let found: Vec<usize> = text.match_indices(&*needle).map(|(at, _)| at).collect();
    let fits = match matches {
        Matches::Exactly(count) => found.len() == count,
        Matches::All => true,
    };
    if found.is_empty() {
        return Err(no_match(text, &needle));
    }
    if !fits {
        return Err(wrong_count(text, &found, matches));
    }
    let splices: Vec<Splice> = found
        .iter()
        .map(|at| Splice { range: *at..at + needle.len(), text: replacement.clone().into_owned() })
        .collect();
    Ok(Replaced { text: spliced(text, &splices), count: found.len() })
}

fn wrong_count(text: &str, found: &[usize], matches: Matches) -> Fault {
    let lines: Vec<usize> = found.iter().take(SHOWN_LINES).map(|at| line_number(text, *at)).collect();
    let shown = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if found.len() > lines.len() { ", …" } else { "" };
    let expected = match matches {
        Matches::Exactly(count) => count.to_string(),
        Matches::All => "any number".to_owned(),
    };
    let places = if found.len() == 1 { "place" } else { "places" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    Fault::new(
        Failure::Conflict,
        format!(
            "`find` stands in {} {places} ({word} {shown}{more}), and {expected} was expected",
            found.len()
        ),
    )
    .hint("quote more of the text around the place, or say how many matches are meant")
    .detail("matches", found.len())
    .detail("lines", lines)
}

fn no_match(text: &str, needle: &str) -> Fault {
    let fault = Fault::new(Failure::NotFound, "the file does not have the text of `find`");
    match likely_line(text, needle) {
        Some((number, line)) => fault
            .hint(format!("line {number} comes near: `{line}`; quote it exactly as it stands"))
            .detail("nearestLine", number),
        None => fault.hint("read the file again and quote the text exactly as it stands"),
    }
}

/// The line that shares most words with the first line looked for: at least half of them.
///
/// One pass over the text, however long `needle` is.
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

    use super::{Matches, Replaced, replace_text};

    #[track_caller]
    fn check(text: &str, find: &str, replace: &str, matches: Matches, expected: Expect) {
        let shown = match replace_text(text, find, replace, matches) {
            Ok(Replaced { text, count }) => format!("{count}: {text:?}"),
            Err(fault) => format!("{}: {fault}; {}", fault.failure, fault.recovery_hint()),
        };
        expected.assert_eq(&shown);
    }

    const ONCE: Matches = Matches::Exactly(1);

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
                "conflict: `find` stands in 2 places (lines 1, 2), and 1 was expected; quote more of the text around the place, or say how many matches are meant"
            ],
        );
        check(
            "a",
            "a",
            "x",
            Matches::Exactly(2),
            expect![
                "conflict: `find` stands in 1 place (line 1), and 2 was expected; quote more of the text around the place, or say how many matches are meant"
            ],
        );
        check("a a a", "a", "b", Matches::Exactly(3), expect![[r#"3: "b b b""#]]);
        check("aaaa\naa", "aa", "b", Matches::All, expect![[r#"3: "bb\nb""#]]);
    }

    #[test]
    fn the_first_lines_stand_for_many() {
        check(
            "a\na\na\na\na\na\na\n",
            "a",
            "x",
            ONCE,
            expect![
                "conflict: `find` stands in 7 places (lines 1, 2, 3, 4, 5, …), and 1 was expected; quote more of the text around the place, or say how many matches are meant"
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
                "not_found: the file does not have the text of `find`; line 3 comes near: `Buy the red bicycle today`; quote it exactly as it stands"
            ],
        );
        check(
            "nothing alike",
            "xyz",
            "",
            Matches::All,
            expect![
                "not_found: the file does not have the text of `find`; read the file again and quote the text exactly as it stands"
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
            Matches::All,
            expect![
                "invalid_arguments: `find` is empty, and nothing is found everywhere; give the text to replace as it stands in the file"
            ],
        );
        check(
            "a",
            "a",
            "x",
            Matches::Exactly(0),
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
            if let Ok(edited) = replace_text(&text, &find, &new, Matches::All) {
                prop_assert_eq!(edited.count > 0, true);
            }
        }
    }
}
