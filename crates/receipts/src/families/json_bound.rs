//! Bounds JSON and keeps its shape: long texts, long lists, wide objects and deep values are cut, with a count of
//! what was left out.

use serde_json::{Map, Value};

use crate::preview::tokenizer::estimate;

/// Limits of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueLimits {
    /// Bytes of one text or one name.
    pub(super) text: usize,
    /// Items of one list, fields of one object.
    pub(super) items: usize,
    /// Nesting depth.
    pub(super) depth: usize,
}

/// Width first: a cut list is more informative than cut texts.
const STEPS: [ValueLimits; 8] = [
    ValueLimits { text: 4_000, items: 100, depth: 12 },
    ValueLimits { text: 1_000, items: 40, depth: 8 },
    ValueLimits { text: 400, items: 20, depth: 6 },
    ValueLimits { text: 200, items: 10, depth: 5 },
    ValueLimits { text: 100, items: 6, depth: 4 },
    ValueLimits { text: 60, items: 4, depth: 3 },
    ValueLimits { text: 40, items: 3, depth: 2 },
    ValueLimits { text: 20, items: 2, depth: 1 },
];

/// Returns as much of the value as costs at most `tokens`.
pub(super) fn fit_value(value: &Value, tokens: usize) -> Value {
    let fits = |cut: &Value| estimate(&cut.to_string()) <= tokens;
    STEPS.iter().map(|limits| clip(value, *limits)).find(fits).unwrap_or_else(|| outline(value))
}

/// Returns the value without the parts beyond the limits, which are counted.
pub(super) fn clip(value: &Value, limits: ValueLimits) -> Value {
    match value {
        Value::String(text) => clip_text(text, limits.text).into(),
        Value::Array(items) if !items.is_empty() && limits.depth == 0 => outline(value),
        Value::Array(items) => {
            let below = ValueLimits { depth: limits.depth.saturating_sub(1), ..limits };
            let mut kept: Vec<Value> =
                items.iter().take(limits.items).map(|item| clip(item, below)).collect();
            if let Some(more) = beyond(items.len(), limits.items) {
                kept.push(format!("...[{more} more]").into());
            }
            kept.into()
        }
        Value::Object(map) if !map.is_empty() && limits.depth == 0 => outline(value),
        Value::Object(map) => {
            let below = ValueLimits { depth: limits.depth.saturating_sub(1), ..limits };
            let fields = map.iter().take(limits.items);
            let mut kept: Map<String, Value> =
                fields.map(|(name, value)| (clip_text(name, limits.text), clip(value, below))).collect();
            if let Some(more) = beyond(map.len(), limits.items) {
                kept.insert("...".to_owned(), format!("[{more} more]").into());
            }
            kept.into()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn beyond(all: usize, kept: usize) -> Option<usize> {
    all.checked_sub(kept).filter(|more| *more > 0)
}

pub(super) fn clip_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}...[{} more bytes]", &text[..end], text.len() - end)
}

/// Returns the type and size of a value, for when its content does not fit.
fn outline(value: &Value) -> Value {
    match value {
        Value::Array(items) => format!("[{} items]", items.len()).into(),
        Value::Object(map) => format!("{{{} fields}}", map.len()).into(),
        Value::String(text) => format!("[{} bytes of text]", text.len()).into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Replaces texts that contain JSON by the parsed value, so that nothing is escaped twice.
pub(super) fn unfold_json(value: &Value) -> Value {
    unfold(value, MAX_UNFOLDED)
}

/// Levels of JSON in JSON that are parsed.
const MAX_UNFOLDED: usize = 3;

fn unfold(value: &Value, levels: usize) -> Value {
    match value {
        Value::String(text) => match parse_container(text) {
            Some(inner) if levels > 0 => unfold(&inner, levels - 1),
            Some(_) | None => value.clone(),
        },
        Value::Array(items) => items.iter().map(|item| unfold(item, levels)).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), unfold(value, levels)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Parses a text that contains a JSON object or array. Returns `None` for any other text.
pub(super) fn parse_container(text: &str) -> Option<Value> {
    let looks_like_it = text.trim_start().starts_with(['{', '[']);
    looks_like_it.then(|| serde_json::from_str(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::{ValueLimits, clip, fit_value, unfold_json};
    use crate::families::test_support::cases;
    use crate::preview::tokenizer::estimate;

    #[test]
    fn what_is_left_out_is_counted() {
        let value = json!({
            "name": "a text that is too long", "list": [1, 2, 3, 4], "deep": {"er": {"est": [1]}},
            "empty": [], "more": 1, "and more": 2,
        });
        expect![[
            r#"{"name":"a text tha...[13 more bytes]","list":[1,2,3,"...[1 more]"],"deep":{"er":"{1 fields}"},"...":"[3 more]"}"#
        ]]
        .assert_eq(&clip(&value, ValueLimits { text: 10, items: 3, depth: 2 }).to_string());
    }

    #[test]
    fn json_in_json_is_shown_as_json() {
        let inner = json!({"b": [1, 2]}).to_string();
        let value = json!({"a": json!({"inner": inner}).to_string(), "n": "12", "brace": "{not json"});
        expect![[r#"{"a":{"inner":{"b":[1,2]}},"n":"12","brace":"{not json"}"#]]
            .assert_eq(&unfold_json(&value).to_string());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[a-z ]{0,400}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 20, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..20)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(cases(64))]

        #[test]
        fn whatever_it_is_it_fits(value in values(), tokens in 20_usize..2_000) {
            let cut = fit_value(&value, tokens);
            prop_assert!(estimate(&cut.to_string()) <= tokens, "{cut}");
            prop_assert_eq!(fit_value(&value, tokens), cut);
        }

        #[test]
        fn what_fits_stays_as_it_is(value in values()) {
            let limits = ValueLimits { text: usize::MAX, items: usize::MAX, depth: usize::MAX };
            prop_assert_eq!(clip(&value, limits), value);
        }
    }
}
