//! The four inputs of a call, kept apart.
//!
//! What the model sent never changes. Hooks and people see the observable copy. Permission decides on the
//! working input, and [`PermittedArgs`] is the only thing the tool can be called with.

use std::borrow::Cow;
use std::collections::HashMap;

use envelope::{Failure, Fault, escape_invisible, escape_value};
use serde_json::{Map, Value};
use toolkit::command_line::CommandLine;
use toolkit::{DecodedArgs, Entry, PathKeys};

use crate::catch::catch_call;

/// The input on its way through the phases before permission.
pub(crate) struct Inputs {
    /// What a hook made of what the model sent; `None` while nobody has changed anything.
    pub(crate) changed: Option<Value>,
    /// The current input in the tool's own type.
    pub(crate) decoded: DecodedArgs,
    /// What the model's own input reaches; deny rules hold for it even if a hook changed the input.
    pub(crate) first_paths: PathKeys,
    pub(crate) paths: PathKeys,
    /// What the model's own input would run.
    pub(crate) first_command: Option<CommandLine>,
    pub(crate) command: Option<CommandLine>,
    pub(crate) preview: String,
}

/// What the tool says about its arguments.
pub(crate) struct Described {
    pub(crate) paths: PathKeys,
    pub(crate) command: Option<CommandLine>,
    pub(crate) preview: String,
}

impl Described {
    /// Says why if the tool has no words for them.
    pub(crate) fn of(entry: &Entry, decoded: &DecodedArgs) -> Result<Described, Fault> {
        let tool = &entry.tool;
        let described = catch_call(|| (tool.paths(decoded), tool.command(decoded), tool.preview(decoded)));
        described.map(|(paths, command, preview)| Described { paths, command, preview }).map_err(|panic| {
            let what = format!("{} cannot describe this call: {panic}", entry.decl.name);
            Fault::new(Failure::InputMutationFailed, what)
        })
    }
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

/// The copy that hooks, prompts and logs see: the same JSON with every invisible character spelled out. Borrowed when
/// there is nothing to change, which is nearly always.
pub(crate) fn observable(input: &Value) -> Cow<'_, Value> {
    escape_value(input)
}

/// The text with every invisible character spelled out. Line feeds and tabs stay.
pub(crate) fn visible_text(text: &str) -> String {
    escape_invisible(text).into_owned()
}

/// What a hook made of the observable copy, with the original put back wherever it only repeats the copy.
///
/// A hook that moves a note gets to see its text with control characters spelled out, and hands all of it
/// back. Taken literally, that would write the spelling into the note.
pub(crate) fn unescaped(raw: &Value, shown: &Value, updated: Value) -> Value {
    if std::ptr::eq(raw, shown) {
        return updated;
    }
    if updated == *shown {
        return raw.clone();
    }
    match (raw, shown, updated) {
        (Value::Object(raw), Value::Object(shown), Value::Object(updated)) => {
            Value::Object(unescaped_fields(raw, shown, updated))
        }
        (Value::Array(raw), Value::Array(shown), Value::Array(updated)) => {
            Value::Array(unescaped_items(raw, shown, updated))
        }
        (_, _, updated) => updated,
    }
}

fn unescaped_fields(
    raw: &Map<String, Value>,
    shown: &Map<String, Value>,
    mut updated: Map<String, Value>,
) -> Map<String, Value> {
    let mut out = Map::new();
    // The copy has the same fields in the same order, under their names as they are shown.
    for ((key, original), (shown_key, was)) in raw.iter().zip(shown) {
        if let Some(now) = updated.get(shown_key) {
            out.insert(key.clone(), unescaped(original, was, now.clone()));
        }
    }
    updated.retain(|key, _| !shown.contains_key(key));
    out.extend(updated);
    out
}

fn unescaped_items(raw: &[Value], shown: &[Value], updated: Vec<Value>) -> Vec<Value> {
    if updated.len() == shown.len() {
        return raw
            .iter()
            .zip(shown)
            .zip(updated)
            .map(|((raw, shown), now)| unescaped(raw, shown, now))
            .collect();
    }
    // Items came or went, so places no longer tell which is which; what an item says does.
    let originals: HashMap<String, &Value> = raw
        .iter()
        .zip(shown)
        .filter(|(raw, shown)| raw != shown)
        .map(|(raw, shown)| (shown.to_string(), raw))
        .collect();
    updated.into_iter().map(|now| originals.get(&now.to_string()).map_or(now, |&raw| raw.clone())).collect()
}

/// JSON pointers of the top-level fields that differ, for the mutation record.
pub(crate) fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        // The whole value is the one field that there is.
        return if before == after { Vec::new() } else { vec![String::new()] };
    };
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
    use envelope::is_invisible;
    use proptest::collection;
    use proptest::prelude::{Strategy, prop_assert_eq, prop_oneof, proptest};
    use serde_json::json;

    use super::{changed_fields, observable, unescaped, visible_text};

    #[test]
    fn what_a_terminal_would_act_on_is_spelled_out() {
        let input = json!({"path": "a\u{202e}dm.exe", "content": "line\nnext\u{1b}[2J"});
        assert_eq!(
            observable(&input).into_owned(),
            json!({"path": "a\\u{202e}dm.exe", "content": "line\nnext\\u{1b}[2J"})
        );
    }

    #[test]
    fn no_invisible_character_is_left_in_what_hooks_and_people_see() {
        for c in ('\0'..=char::MAX).filter(|&c| is_invisible(c) && !matches!(c, '\n' | '\t' | '\r')) {
            let raw = json!({ "text": format!("a{c}b"), format!("k{c}"): [format!("{c}")] });
            let shown = observable(&raw).into_owned();
            let all = [&shown["text"], &shown[format!("k\\u{{{:x}}}", u32::from(c))][0]];
            for text in all {
                assert!(!text.as_str().unwrap().contains(is_invisible), "{shown}");
            }
            assert_eq!(unescaped(&raw, &shown, shown.clone()), raw);
            assert!(!visible_text(&format!("a{c}b")).contains(is_invisible), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn no_field_hides_behind_another() {
        let raw = json!({ "a\u{200b}": "one", "a\\u{200b}": "two" });
        let shown = observable(&raw).into_owned();
        assert_eq!(shown, json!({ "a\\u{200b}": "one", "a\\u{200b} (2)": "two" }));
        let changed = json!({ "a\\u{200b}": "one", "a\\u{200b} (2)": "three" });
        assert_eq!(unescaped(&raw, &shown, changed), json!({ "a\u{200b}": "one", "a\\u{200b}": "three" }));
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

    #[test]
    fn a_change_of_what_is_no_object_is_a_change_too() {
        assert_eq!(changed_fields(&json!(["a"]), &json!(["b"])), [""]);
        assert_eq!(changed_fields(&json!({"a": 1}), &json!(null)), [""]);
        assert_eq!(changed_fields(&json!("a"), &json!("a")), Vec::<String>::new());
    }

    #[test]
    fn what_a_hook_only_repeats_stays_as_it_was() {
        let mark = "a\u{200f}b";
        for (raw, change, expected) in [
            (
                json!({"text": mark, "path": "a.md"}),
                json!({"text": "a\\u{200f}b", "path": "b.md"}),
                json!({"text": mark, "path": "b.md"}),
            ),
            (
                json!({"deep": {"text": mark, "n": 1}, "list": [mark, 2]}),
                json!({"deep": {"text": "a\\u{200f}b", "n": 2}, "list": ["a\\u{200f}b", 3]}),
                json!({"deep": {"text": mark, "n": 2}, "list": [mark, 3]}),
            ),
            (
                json!({"list": ["x", mark, "y", {"t": mark}]}),
                json!({"list": [{"t": "a\\u{200f}b"}, "a\\u{200f}b"]}),
                json!({"list": [{"t": mark}, mark]}),
            ),
            (json!({mark: 1, "b": 2}), json!({"a\\u{200f}b": 1, "c": 3}), json!({mark: 1, "c": 3})),
            (json!({"text": mark}), json!({"text": "other"}), json!({"text": "other"})),
            (json!({"text": mark}), json!([1]), json!([1])),
        ] {
            assert_eq!(unescaped(&raw, &observable(&raw), change), expected);
        }
    }

    /// Objects and lists of texts, some of which have to be spelled out.
    fn inputs() -> impl Strategy<Value = serde_json::Value> {
        let text = "[ab\u{1b}\u{202e}\u{e0041}\u{200d}👩❤\u{fe0f}\r]{0,4}|a\\\\u\\{1b\\}|a\u{1b}";
        let leaf = text.prop_map(serde_json::Value::from);
        leaf.prop_recursive(3, 24, 4, move |inner| {
            prop_oneof![
                collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                collection::btree_map(text, inner, 0..4)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_echo_changes_nothing(raw in inputs()) {
            let shown = observable(&raw).into_owned();
            prop_assert_eq!(unescaped(&raw, &shown, shown.clone()), raw);
        }

        #[test]
        fn an_added_field_is_the_only_change(raw in collection::btree_map("[a-c]{1,2}", inputs(), 0..4)) {
            let raw = serde_json::Value::Object(raw.into_iter().collect());
            let shown = observable(&raw).into_owned();
            let add = |mut value: serde_json::Value| {
                value["new"] = json!("x");
                value
            };
            prop_assert_eq!(unescaped(&raw, &shown, add(shown.clone())), add(raw));
        }
    }
}
