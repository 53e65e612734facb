//! Formats a value as readable text within a budget.

use serde_json::Value;

use crate::families::json_bound::{fit_value, parse_container, unfold_json};
use crate::preview::tokenizer::prefix_within;
use crate::preview::{clean, json};

/// A result with more values than this is not repeated by any summary.
const FEW: usize = 8;

/// Returns the text without terminal control sequences.
pub(super) fn cleaned(text: &str) -> String {
    clean::clean(text.as_bytes()).text
}

/// Appends the value on new lines.
pub(super) fn append_value(text: &mut String, value: &Value, tokens: usize) {
    let shown = shown(value, tokens);
    if !shown.is_empty() {
        text.push('\n');
        text.push_str(shown.trim_end_matches('\n'));
    }
}

fn shown(value: &Value, tokens: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => match parse_container(text) {
            Some(inner) => structure(&inner, tokens),
            None => {
                let text = cleaned(text);
                let end = prefix_within(&text, tokens);
                if end == text.len() {
                    text
                } else {
                    format!("{}...[{} more bytes]", &text[..end], text.len() - end)
                }
            }
        },
        Value::Object(map) if map.is_empty() => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => structure(value, tokens),
    }
}

fn structure(value: &Value, tokens: usize) -> String {
    let value = unfold_json(value);
    match json::readable(&value.to_string(), tokens) {
        Some(readable) => readable.text,
        // A number or a word, or a budget too small for more than an outline.
        None => fit_value(&value, tokens).to_string(),
    }
}

/// Returns true if the summary contains all values of the result.
pub(super) fn repeats_summary(value: &Value, summary: &str) -> bool {
    let mut left = FEW;
    mentions_all(value, summary, &mut left)
}

fn mentions_all(value: &Value, summary: &str, left: &mut usize) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| mentions_all(item, summary, left)),
        Value::Object(map) => map.values().all(|value| mentions_all(value, summary, left)),
        Value::String(text) => count_down(left) && has_word(summary, text),
        Value::Number(number) => count_down(left) && has_word(summary, &number.to_string()),
        // A boolean is not expressed by the word for it.
        Value::Bool(_) => false,
        Value::Null => count_down(left),
    }
}

fn count_down(left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
}

/// Returns true if the text contains the word on its own, not as part of a longer word.
pub(in crate::families) fn has_word(text: &str, word: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    word.is_empty()
        || text.match_indices(word).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            let goes_on_left = part_of_word(before.chars().next_back()) && part_of_word(word.chars().next());
            let goes_on_right = part_of_word(after.chars().next()) && part_of_word(word.chars().next_back());
            !goes_on_left && !goes_on_right
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{has_word, repeats_summary};

    #[test]
    fn a_summary_that_says_it_all_is_enough() {
        assert!(repeats_summary(&json!({"slug": "my-note"}), "Slug: my-note"));
        assert!(repeats_summary(&json!({"path": "a.md", "lines": [3, 14]}), "Found a.md at 3 and 14"));
        assert!(!repeats_summary(&json!({"lines": 3}), "Found 34 lines"));
        assert!(!repeats_summary(&json!({"changed": true}), "changed: true"));
        assert!(!repeats_summary(
            &json!((0..20).collect::<Vec<_>>()),
            "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"
        ));
    }

    #[test]
    fn a_word_is_found_as_a_word() {
        assert!(has_word("in a.md (12)", "a.md") && has_word("in a.md (12)", "12"));
        assert!(!has_word("in aa.md", "a.md") && !has_word("112", "12") && !has_word("", "x"));
        assert!(has_word("ü-x", "x"));
    }
}
