//! What the receipts about notes are made of: lines that no name can forge, and a budget that no text can
//! overrun.
//!
//! Names and notes are shown as they are, because a model copies them into its next call. So nothing is left
//! out of them, as it is done with what a terminal was sent: a character that hides or reorders what stands
//! beside it is spelled out.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use envelope::{Failure, Family, Fault, escape_invisible, escape_json, escape_line};
use serde::Serialize;

use super::Projected;
use crate::preview::tokens;

/// Tokens of a budget that a result leaves to the outcome and to how to go on.
const FRAME: usize = 96;
/// What a summary may have. Two long paths fit.
const SUMMARY_CHARS: usize = 2_200;
/// Stands below the outcome of a call that was only asked what it would do.
pub(super) const DRY_RUN: &str = "Dry run: nothing was written.";

/// A family's typed result as it will stand in the canonical result.
pub(super) fn projected(family: Family, result: &impl Serialize) -> Result<Projected, Fault> {
    Projected::new(family, result).map_err(|error| {
        Fault::new(Failure::ResultMappingFailed, format!("the result cannot be written down: {error}"))
    })
}

/// For fields that say something only when they are not zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "this is how it is called")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the entries of a result may cost, so that its receipt need not leave out more of them.
pub(super) fn room(budget: usize) -> usize {
    budget.saturating_sub(FRAME)
}

/// What a line costs, with the line break before it.
pub(super) fn cost(line: &str) -> usize {
    tokens::estimate(line) + 1
}

/// A receipt while it is written.
#[derive(Clone)]
pub(super) struct Receipt {
    text: String,
}

impl Receipt {
    /// Begins with the outcome.
    pub(super) fn new(summary: &str) -> Receipt {
        Receipt { text: short(summary, SUMMARY_CHARS) }
    }

    /// More about the outcome, on the same line.
    pub(super) fn add(&mut self, words: &str) {
        self.text.push_str(words);
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
    }

    /// A name below the line that it belongs to. One blank before a word is a part of it; two would cost a token.
    pub(super) fn line_below(&mut self, name: &str) {
        self.text.push_str("\n ");
        self.text.push_str(name);
    }

    pub(super) fn done(self) -> String {
        self.text
    }

    /// The longest receipt within the budget that goes on from here with so many entries, as [`longest`] finds it.
    pub(super) fn with_most(
        &self,
        entries: RangeInclusive<usize>,
        budget: usize,
        mut write: impl FnMut(usize, &mut Receipt),
    ) -> String {
        longest(entries, budget, |most| {
            let mut receipt = self.clone();
            write(most, &mut receipt);
            receipt.text
        })
    }

    /// The same for a text that is cut to so many tokens.
    pub(super) fn with_text(&self, budget: usize, write: impl FnMut(usize, &mut Receipt)) -> String {
        // What fits as a whole has room in twice the budget: the cost of a line is rounded by its half at worst.
        self.with_most(0..=budget.saturating_mul(2), budget, write)
    }
}

/// The longest receipt within the budget: `write` is told how much it may show, from the first of `shown` to the last.
/// The whole receipt is measured, with every heading and with what it says about the rest: a sum of parts would forget
/// one of them. Longer than the budget is only one that shows the least.
pub(super) fn longest(
    shown: RangeInclusive<usize>,
    budget: usize,
    mut write: impl FnMut(usize) -> String,
) -> String {
    let fits = |text: &str| tokens::estimate(text) <= budget;
    let (mut least, mut too_much) = shown.into_inner();
    let whole = write(too_much);
    if too_much <= least || fits(&whole) {
        return whole;
    }
    let mut longest = None;
    while least + 1 < too_much {
        let middle = least.midpoint(too_much);
        let text = write(middle);
        if fits(&text) {
            (least, longest) = (middle, Some(text));
        } else {
            too_much = middle;
        }
    }
    longest.unwrap_or_else(|| write(least))
}

/// A text on one line, with nothing in it that acts on what stands beside it.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escape_line(text)
}

/// One line of at most so many characters; how many are missing is said.
pub(super) fn short(text: &str, limit: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}...[{} more characters]", &line[..cut], line[cut..].chars().count()),
        None => line.into_owned(),
    }
}

/// A text on as many lines as it has. Tabs stay, because they are the indentation of many notes.
pub(super) fn many_lines(text: &str) -> Cow<'_, str> {
    escape_invisible(text)
}

/// A text as it is written in the arguments of a call: JSON, in which nothing acts on what stands beside it.
pub(super) fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    match escape_json(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(escaped) => escaped,
    }
}

/// `1 match`, `2 matches`: a count with its noun, which is given in both forms.
pub(super) fn counted(count: u64, one: &str, more: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {more}") }
}

/// As many of the first items as fit, and how many do not. At least one, so that there is always a way on.
pub(super) fn fitting<T>(
    items: impl Iterator<Item = T>,
    room: usize,
    mut cost: impl FnMut(&T) -> usize,
) -> Vec<T> {
    let (mut kept, mut left) = (Vec::new(), room);
    for item in items {
        let cost = cost(&item);
        if cost > left && !kept.is_empty() {
            break;
        }
        left = left.saturating_sub(cost);
        kept.push(item);
    }
    kept
}

/// As many of the first items as there is room for, which they take. Once one does not fit there is none left: a
/// short one further on would only hide the gap.
pub(super) fn taken<T>(
    items: impl IntoIterator<Item = T>,
    room: &mut usize,
    words: impl Fn(&T) -> String,
) -> Vec<T> {
    let fits = |item: &T| {
        let cost = cost(&words(item));
        let fits = cost <= *room;
        *room = if fits { *room - cost } else { 0 };
        fits
    };
    items.into_iter().take_while(fits).collect()
}

/// Up to which byte a text fits as it will be shown: up to the end of a line, if it has lines of usual length.
pub(super) fn fitting_text(text: &str, room: usize) -> usize {
    let (mut end, mut left) = (0, room);
    for line in text.split_inclusive('\n') {
        let cost = tokens::estimate(&many_lines(line));
        if cost > left {
            // A line that is long itself is cut where it must be, rather than left out with all of the rest.
            let long = end == 0 || cost > room / 2;
            return if long { end + fitting_part(line, left) } else { end };
        }
        left -= cost;
        end += line.len();
    }
    end
}

/// Up to which byte a line fits. At least one character, so that there is always a way on.
fn fitting_part(line: &str, room: usize) -> usize {
    let mut end = tokens::prefix_within(line, room);
    // Spelled out it may cost more.
    while end > 0 && tokens::estimate(&many_lines(&line[..end])) > room {
        end = line.floor_char_boundary(end / 2);
    }
    end.max(line.chars().next().map_or(0, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use envelope::invisible_chars;
    use proptest::prelude::{any, proptest};

    use super::{fitting_text, many_lines, one_line, quoted, short};
    use crate::families::checks::cases;
    use crate::preview::tokens;

    #[test]
    fn a_name_stays_on_its_line_and_a_note_on_its_lines() {
        assert_eq!(one_line("a\u{1b}[2J\nok\tfake\u{202e}"), "a\\u{1b}[2J\\nok\\tfake\\u{202e}");
        assert_eq!(many_lines("two\n\tlines\r"), "two\n\tlines\\r");
        assert_eq!(one_line("👨\u{200d}👩.md"), "👨\u{200d}👩.md", "an emoji needs its joiner");
        assert_eq!(short("Übersicht", 4), "Über...[5 more characters]");
        assert_eq!(quoted("a \"b\"\u{200b}\n"), "\"a \\\"b\\\"\\u200b\\n\"");
    }

    #[test]
    fn a_text_is_cut_between_lines_and_a_long_line_inside() {
        let text = "one two three\nfour five six\nseven eight nine\n";
        assert_eq!(&text[..fitting_text(text, 11)], "one two three\nfour five six\n");
        let long = "word ".repeat(100);
        let cut = fitting_text(&long, 20);
        assert!((60..=100).contains(&cut), "{cut}");
        assert_eq!(fitting_text("é", 0), 2, "there is always a way on");
    }

    proptest! {
        #![proptest_config(cases(64))]

        #[test]
        fn nothing_invisible_is_left(text in any::<String>()) {
            let left = |text: &str| invisible_chars(text).map(|(_, c)| c).collect::<String>();
            assert_eq!(left(&one_line(&text)), "");
            assert_eq!(left(&many_lines(&text)).trim_matches(['\n', '\t']), "");
            assert_eq!(left(&quoted(&text)), "");
            assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
        }

        #[test]
        fn a_part_of_a_text_fits_and_is_one(text in any::<String>(), room in 8_usize..60) {
            let end = fitting_text(&text, room);
            assert!(text.is_char_boundary(end));
            assert!(end > 0 || text.is_empty());
            assert!(tokens::estimate(&many_lines(&text[..end])) <= room + 8);
        }
    }
}
