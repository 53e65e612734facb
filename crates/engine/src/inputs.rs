//! The four inputs of a call, kept apart.
//!
//! What the model sent never changes. Hooks and people see the observable copy. Permission decides on the
//! working input, and [`PermittedArgs`] is the only thing the tool can be called with.

use std::borrow::Cow;

use serde_json::{Map, Value};
use toolkit::{DecodedArgs, PathKeys};

/// The input on its way through the phases before permission.
pub(crate) struct Inputs {
    /// What a hook made of what the model sent; `None` while nobody has changed anything.
    pub(crate) changed: Option<Value>,
    /// The current input in the tool's own type.
    pub(crate) decoded: DecodedArgs,
    /// What the model's own input reaches; deny rules hold for it even if a hook changed the input.
    pub(crate) first_paths: PathKeys,
    pub(crate) paths: PathKeys,
    pub(crate) preview: String,
}

impl Inputs {
    /// What the tool would be called with as things stand.
    pub(crate) fn current<'a>(&'a self, model: &'a Value) -> &'a Value {
        self.changed.as_ref().unwrap_or(model)
    }
}

/// Arguments that permission has let through. Only the permission phase makes one.
pub(crate) struct PermittedArgs {
    pub(crate) decoded: DecodedArgs,
    pub(crate) paths: PathKeys,
    pub(crate) called_with: Option<Map<String, Value>>,
    pub(crate) preview: String,
}

/// The copy that hooks, prompts and logs see: the same JSON with every character made visible that a
/// terminal or a page would act on. Borrowed when there is nothing to change, which is nearly always.
pub(crate) fn observable(input: &Value) -> Cow<'_, Value> {
    if is_plain(input) { Cow::Borrowed(input) } else { Cow::Owned(visible(input)) }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => is_plain_text(text),
        Value::Array(items) => items.iter().all(is_plain),
        Value::Object(map) => map.iter().all(|(key, value)| is_plain_text(key) && is_plain(value)),
    }
}

fn is_plain_text(text: &str) -> bool {
    // Printable ASCII and line breaks need no look at characters.
    if text.bytes().all(|b| (0x20..0x7f).contains(&b) || matches!(b, b'\n' | b'\t' | b'\r')) {
        return true;
    }
    !text.chars().any(acts_on_a_screen)
}

fn acts_on_a_screen(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}')
}

fn visible(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(visible_text(text)),
        Value::Array(items) => Value::Array(items.iter().map(visible).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (visible_text(key), visible(value))).collect())
        }
    }
}

/// Spells out what would act on a screen; everything else stays.
pub(crate) fn visible_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if acts_on_a_screen(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// JSON pointers of the top-level fields that differ, for the mutation record.
pub(crate) fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let empty = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&empty), after.as_object().unwrap_or(&empty));
    let mut fields: Vec<String> = before
        .iter()
        .filter(|(key, value)| after.get(*key) != Some(value))
        .map(|(key, _)| pointer(key))
        .chain(after.keys().filter(|key| !before.contains_key(*key)).map(|key| pointer(key)))
        .collect();
    fields.sort_unstable();
    fields
}

fn pointer(key: &str) -> String {
    format!("/{}", key.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{changed_fields, observable};

    #[test]
    fn what_a_terminal_would_act_on_is_spelled_out() {
        let input = json!({"path": "a\u{202e}dm.exe", "content": "line\nnext\u{1b}[2J"});
        assert_eq!(
            observable(&input).into_owned(),
            json!({"path": "a\\u{202e}dm.exe", "content": "line\nnext\\u{1b}[2J"})
        );
    }

    #[test]
    fn plain_input_is_not_copied() {
        let input = json!({"path": "Übersicht/猫.md", "list": [1, true, null]});
        assert!(matches!(observable(&input), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn changed_fields_are_named_by_pointer() {
        assert_eq!(
            changed_fields(&json!({"a": 1, "b/c": 2, "d": 3}), &json!({"a": 1, "b/c": 4, "e": 5})),
            ["/b~1c", "/d", "/e"]
        );
    }
}
