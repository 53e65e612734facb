//! A value in words that are easy to read, within a budget.

use serde_json::Value;

use crate::families::bound::{parsed, unfolded, within};
use crate::preview::tokens::prefix_within;
use crate::preview::{clean, json};

/// A result with more than this in it is not repeated by any summary.
const FEW: usize = 8;

/// Text without anything that could act on a screen.
pub(super) fn cleaned(text: &str) -> String {
    clean::clean(text.as_bytes()).text
}

/// Writes the value below what is there already.
pub(super) fn append(text: &mut String, value: &Value, tokens: usize) {
    let shown = shown(value, tokens);
    if !shown.is_empty() {
        text.push('\n');
        text.push_str(shown.trim_end_matches('\n'));
    }
}

fn shown(value: &Value, tokens: usize) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(said) => match parsed(said) {
            Some(inner) => structure(&inner, tokens),
            None => {
                let said = cleaned(said);
                let end = prefix_within(&said, tokens);
                if end == said.len() {
                    said
                } else {
                    format!("{}...[{} more bytes]", &said[..end], said.len() - end)
                }
            }
        },
        Value::Object(map) if map.is_empty() => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => structure(value, tokens),
    }
}

fn structure(value: &Value, tokens: usize) -> String {
    let value = unfolded(value);
    match json::readable(&value.to_string(), tokens) {
        Some(readable) => readable.text,
        // A number or a word, or no room for more than an outline.
        None => within(&value, tokens).to_string(),
    }
}

/// Whether the summary already says all that there is.
pub(super) fn is_said(value: &Value, summary: &str) -> bool {
    let mut left = FEW;
    says(value, summary, &mut left)
}

fn says(value: &Value, summary: &str, left: &mut usize) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| says(item, summary, left)),
        Value::Object(map) => map.values().all(|value| says(value, summary, left)),
        Value::String(text) => counted(left) && has_word(summary, text),
        Value::Number(number) => counted(left) && has_word(summary, &number.to_string()),
        // That something is so, or is absent, is not said by the word for it.
        Value::Bool(_) => false,
        Value::Null => counted(left),
    }
}

fn counted(left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
}

/// Whether the word stands in the text, not merely inside of a longer one.
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

    use super::{has_word, is_said};

    #[test]
    fn a_summary_that_says_it_all_is_enough() {
        assert!(is_said(&json!({"slug": "my-note"}), "Slug: my-note"));
        assert!(is_said(&json!({"path": "a.md", "lines": [3, 14]}), "Found a.md at 3 and 14"));
        assert!(!is_said(&json!({"lines": 3}), "Found 34 lines"));
        assert!(!is_said(&json!({"changed": true}), "changed: true"));
        assert!(!is_said(
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
