//! The four inputs of a call, kept apart.
//!
//! The model's arguments never change. Hooks and users see the observable copy. Permission decides on the working
//! input, and a tool can be called only with [`PermittedArgs`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use command_line::CommandLine;
use envelope::{Failure, Fault, escape_invisible, escape_value};
use serde_json::{Map, Value};
use toolkit::{DecodedArgs, PathKeys, RegisteredTool};

use crate::forecast::ApprovedCalls;
use crate::panic_guard::catch_call;

/// The input of a call during the phases before permission.
pub(crate) struct CallInputs {
    /// Arguments as changed by a hook; `None` if no hook has changed them.
    pub(crate) changed: Option<Value>,
    /// The current arguments in the tool's own type.
    pub(crate) decoded: DecodedArgs,
    /// Paths of the model's own arguments; deny rules hold for them even if a hook has changed the arguments.
    pub(crate) first_paths: PathKeys,
    pub(crate) paths: PathKeys,
    /// Command of the model's own arguments.
    pub(crate) first_command: Option<CommandLine>,
    pub(crate) command: Option<CommandLine>,
    pub(crate) preview: String,
    /// Whether the arguments ask for a dry run, which changes nothing.
    pub(crate) dry_run: bool,
}

/// The tool's description of its arguments.
pub(crate) struct ArgsDescription {
    pub(crate) paths: PathKeys,
    pub(crate) command: Option<CommandLine>,
    pub(crate) preview: String,
    pub(crate) dry_run: bool,
}

impl ArgsDescription {
    /// Returns an error if the tool panics while it describes them.
    pub(crate) fn of(entry: &RegisteredTool, decoded: &DecodedArgs) -> Result<ArgsDescription, Fault> {
        let tool = &entry.tool;
        let described = catch_call(|| ArgsDescription {
            paths: tool.paths(decoded),
            command: tool.command(decoded),
            preview: tool.preview(decoded),
            dry_run: tool.is_dry_run(decoded),
        });
        described.map_err(|panic| {
            let what = format!("{} cannot describe this call: {panic}", entry.decl.name);
            Fault::new(Failure::InputMutationFailed, what)
        })
    }
}

impl CallInputs {
    /// Returns the current arguments: the hooks' if they have changed them, else the model's.
    pub(crate) fn current<'a>(&'a self, model: &'a Value) -> &'a Value {
        self.changed.as_ref().unwrap_or(model)
    }
}

/// Arguments that the permission phase has approved. Only that phase creates them.
pub(crate) struct PermittedArgs {
    pub(crate) decoded: DecodedArgs,
    pub(crate) paths: PathKeys,
    pub(crate) called_with: Option<Map<String, Value>>,
    pub(crate) preview: String,
    /// Whether the arguments ask for a dry run, which changes nothing.
    pub(crate) dry_run: bool,
    /// The calls that the approval of this call covers, if it was asked about.
    pub(crate) approved: Option<Arc<ApprovedCalls>>,
}

/// Returns the copy for hooks, prompts and logs: the same JSON with every invisible character escaped. Borrowed if
/// there is nothing to escape, which is nearly always so.
pub(crate) fn observable(input: &Value) -> Cow<'_, Value> {
    escape_value(input)
}

/// Returns the text with every invisible character escaped, except for line feeds and tabs.
pub(crate) fn visible_text(text: &str) -> String {
    escape_invisible(text).into_owned()
}

/// Returns a hook's input with the original restored wherever the hook only repeats the observable copy.
///
/// A hook that moves a note sees its text with control characters escaped, and returns all of it. Taken literally, the
/// escapes would be written into the note.
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
    // The copy has the same fields in the same order, under their escaped names.
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
    // Items were added or removed, so they are matched by content instead of position.
    let originals: HashMap<String, &Value> = raw
        .iter()
        .zip(shown)
        .filter(|(raw, shown)| raw != shown)
        .map(|(raw, shown)| (shown.to_string(), raw))
        .collect();
    updated.into_iter().map(|now| originals.get(&now.to_string()).map_or(now, |&raw| raw.clone())).collect()
}

/// Returns JSON pointers of the top-level fields that differ, for the mutation record.
pub(crate) fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        // Values that are not objects count as one field.
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

    // Conformance: pipeline 2.11
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

    // Conformance: pipeline 2.15
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

    /// Objects and lists of texts, some of which need escapes.
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
