//! Codex's list of models, rewritten so that each is a plain model.
//!
//! Unchanged, most models in it get codex's own tools whatever is switched off, as an item of the conversation, and
//! reach other tools only through a script in a tool of codex's own. It is not known whether the service behind codex
//! accepts a plain request for such a model; the list can be left as it is.

use serde_json::{Value, json};

use super::launch_arguments::quoted;

/// Fields that make a model a plain one.
fn plain() -> [(&'static str, Value); 6] {
    [
        ("tool_mode", json!("direct")),
        ("use_responses_lite", json!(false)),
        ("multi_agent_version", json!("disabled")),
        ("apply_patch_tool_type", Value::Null),
        ("supports_search_tool", json!(false)),
        ("experimental_supported_tools", json!([])),
    ]
}

/// The list with every model made plain; `None` if it is not such a list.
pub(super) fn made_plain(list: &[u8]) -> Option<Vec<u8>> {
    let mut list: Value = serde_json::from_slice(list).ok()?;
    for model in list.get_mut("models")?.as_array_mut()? {
        let model = model.as_object_mut()?;
        for (key, value) in plain() {
            model.insert(key.to_owned(), value);
        }
    }
    serde_json::to_vec(&list).ok()
}

/// Returns the setting that makes codex use the list in this file.
pub(super) fn setting(path: &str) -> String {
    format!("model_catalog_json={}", quoted(path))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::made_plain;

    #[test]
    fn models_keep_everything_else_and_what_is_no_list_is_left_alone() {
        let list =
            br#"{"models": [{"slug": "m", "tool_mode": "code_mode_only", "context_window": 9}], "more": 1}"#;
        let plain = String::from_utf8(made_plain(list).unwrap()).unwrap();
        expect![[r#"{"models":[{"slug":"m","tool_mode":"direct","context_window":9,"use_responses_lite":false,"multi_agent_version":"disabled","apply_patch_tool_type":null,"supports_search_tool":false,"experimental_supported_tools":[]}],"more":1}"#]].assert_eq(&plain);
        for other in ["", "null", "{}", r#"{"models": {}}"#, r#"{"models": [1]}"#] {
            assert_eq!(made_plain(other.as_bytes()), None, "{other}");
        }
    }
}
