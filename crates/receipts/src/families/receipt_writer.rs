//! Building blocks of receipts: lines that no name can forge, and a budget that no text can exceed.
//!
//! Names and notes are shown unchanged, because a model copies them into its next call. So nothing is removed from
//! them, unlike from terminal output: a character that hides or reorders the text beside it is escaped.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::preview::tokenizer;
use envelope::{escape_invisible, escape_json, escape_line};

/// Tokens of a budget that are reserved for the outcome and for how to continue.
const OUTCOME_TOKENS: usize = 96;
/// Longest summary. Two long paths fit.
const SUMMARY_CHARS: usize = 2_200;
/// Line below the outcome of a dry run.
pub(super) const DRY_RUN: &str = "Dry run: nothing was written.";

/// For fields that are omitted when they are zero.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "this is how it is called")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Returns the budget for the entries of a result, so that its receipt need not leave out more of them.
pub(super) fn entry_budget(budget: usize) -> usize {
    budget.saturating_sub(OUTCOME_TOKENS)
}

/// Returns the cost of a line, including its line break.
pub(super) fn line_cost(line: &str) -> usize {
    tokenizer::estimate(line) + 1
}

/// A receipt in progress.
#[derive(Clone)]
pub(super) struct ReceiptWriter {
    text: String,
}

impl ReceiptWriter {
    /// Begins a receipt with the outcome.
    pub(super) fn new(summary: &str) -> ReceiptWriter {
        ReceiptWriter { text: truncate_line(summary, SUMMARY_CHARS) }
    }

    /// Appends to the outcome, on the same line.
    pub(super) fn append(&mut self, words: &str) {
        self.text.push_str(words);
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push('\n');
        self.text.push_str(line);
    }

    /// Adds a name below the line that it belongs to. One space before a word is part of its token; two would cost
    /// another.
    pub(super) fn indented_line(&mut self, name: &str) {
        self.text.push_str("\n ");
        self.text.push_str(name);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// Renders the longest receipt within the budget, see [`longest_fitting`].
    pub(super) fn render_most(
        &self,
        entries: RangeInclusive<usize>,
        budget: usize,
        mut write: impl FnMut(usize, &mut ReceiptWriter),
    ) -> String {
        longest_fitting(entries, budget, |most| {
            let mut receipt = self.clone();
            write(most, &mut receipt);
            receipt.text
        })
    }

    /// Renders the longest receipt with a text that is cut to a number of tokens.
    pub(super) fn render_text(&self, budget: usize, write: impl FnMut(usize, &mut ReceiptWriter)) -> String {
        // Twice the budget is enough for a complete text: the cost of a line is rounded by half of it at worst.
        self.render_most(0..=budget.saturating_mul(2), budget, write)
    }
}

/// Returns the longest text within the budget. `write` renders with a number of entries from `shown`. The complete
/// text is measured, with headings and notes about the rest, because a sum of parts would miss some. Exceeds the
/// budget only if the smallest number of entries does.
pub(super) fn longest_fitting(
    shown: RangeInclusive<usize>,
    budget: usize,
    mut write: impl FnMut(usize) -> String,
) -> String {
    let fits = |text: &str| tokenizer::estimate(text) <= budget;
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

/// Escapes a text for one line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escape_line(text)
}

/// Returns one line of at most `limit` characters, with a count of the rest.
pub(super) fn truncate_line(text: &str, limit: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}...[{} more characters]", &line[..cut], line[cut..].chars().count()),
        None => line.into_owned(),
    }
}

/// Escapes a text and keeps its line breaks and tabs, which are the indentation of many notes.
pub(super) fn escape_text(text: &str) -> Cow<'_, str> {
    escape_invisible(text)
}

/// Formats a text as a JSON string for the arguments of a call, with invisible characters escaped.
pub(super) fn json_quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    match escape_json(&json) {
        Cow::Borrowed(_) => json,
        Cow::Owned(escaped) => escaped,
    }
}

/// Describes the entries that a receipt does not show: `count` were found, `more` says that the call found not all.
pub(super) fn left_out_note(left_out: u64, count: u64, more: bool) -> String {
    match left_out {
        0 => "more".to_owned(),
        _ if more => format!("{left_out} of these {count} not shown, and there are more"),
        _ => format!("{left_out} of {count} not shown"),
    }
}

/// Formats a count with its noun: `1 match`, `2 matches`.
pub(super) fn count_noun(count: u64, one: &str, more: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {more}") }
}

/// Returns the first items that fit, at least one, so that the reader can always continue.
pub(super) fn take_fitting<T>(
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

/// Returns the first items that fit and subtracts their cost from `room`. After the first item that does not fit
/// nothing else is taken: a shorter one further on would hide the gap.
pub(super) fn take_within<T>(
    items: impl IntoIterator<Item = T>,
    room: &mut usize,
    words: impl Fn(&T) -> String,
) -> Vec<T> {
    let fits = |item: &T| {
        let cost = line_cost(&words(item));
        let fits = cost <= *room;
        *room = if fits { *room - cost } else { 0 };
        fits
    };
    items.into_iter().take_while(fits).collect()
}

/// Returns the length of the prefix that fits after escaping; it ends at a line end if lines have a usual length.
pub(super) fn fitting_prefix(text: &str, room: usize) -> usize {
    let (mut end, mut left) = (0, room);
    for line in text.split_inclusive('\n') {
        let cost = tokenizer::estimate(&escape_text(line));
        if cost > left {
            // A long line is cut rather than left out with everything after it.
            let long = end == 0 || cost > room / 2;
            return if long { end + fitting_line_prefix(line, left) } else { end };
        }
        left -= cost;
        end += line.len();
    }
    end
}

/// Returns the length of the line prefix that fits, at least one character, so that the reader can always continue.
fn fitting_line_prefix(line: &str, room: usize) -> usize {
    let mut end = tokenizer::prefix_within(line, room);
    // Escapes may cost more.
    while end > 0 && tokenizer::estimate(&escape_text(&line[..end])) > room {
        end = line.floor_char_boundary(end / 2);
    }
    end.max(line.chars().next().map_or(0, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use envelope::invisible_chars;
    use proptest::prelude::{any, proptest};

    use super::{escape_text, fitting_prefix, json_quoted, one_line, truncate_line};
    use crate::families::test_support::cases;
    use crate::preview::tokenizer;

    #[test]
    fn a_name_stays_on_its_line_and_a_note_on_its_lines() {
        assert_eq!(one_line("a\u{1b}[2J\nok\tfake\u{202e}"), "a\\u{1b}[2J\\nok\\tfake\\u{202e}");
        assert_eq!(escape_text("two\n\tlines\r"), "two\n\tlines\\r");
        assert_eq!(one_line("👨\u{200d}👩.md"), "👨\u{200d}👩.md", "an emoji needs its joiner");
        assert_eq!(truncate_line("Übersicht", 4), "Über...[5 more characters]");
        assert_eq!(json_quoted("a \"b\"\u{200b}\n"), "\"a \\\"b\\\"\\u200b\\n\"");
    }

    #[test]
    fn a_text_is_cut_between_lines_and_a_long_line_inside() {
        let text = "one two three\nfour five six\nseven eight nine\n";
        assert_eq!(&text[..fitting_prefix(text, 11)], "one two three\nfour five six\n");
        let long = "word ".repeat(100);
        let cut = fitting_prefix(&long, 20);
        assert!((60..=100).contains(&cut), "{cut}");
        assert_eq!(fitting_prefix("é", 0), 2, "there is always a way on");
    }

    proptest! {
        #![proptest_config(cases(64))]

        #[test]
        fn nothing_invisible_is_left(text in any::<String>()) {
            let left = |text: &str| invisible_chars(text).map(|(_, c)| c).collect::<String>();
            assert_eq!(left(&one_line(&text)), "");
            assert_eq!(left(&escape_text(&text)).trim_matches(['\n', '\t']), "");
            assert_eq!(left(&json_quoted(&text)), "");
            assert_eq!(serde_json::from_str::<String>(&json_quoted(&text)).unwrap(), text);
        }

        #[test]
        fn a_part_of_a_text_fits_and_is_one(text in any::<String>(), room in 8_usize..60) {
            let end = fitting_prefix(&text, room);
            assert!(text.is_char_boundary(end));
            assert!(end > 0 || text.is_empty());
            assert!(tokenizer::estimate(&escape_text(&text[..end])) <= room + 8);
        }
    }
}
