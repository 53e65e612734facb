//! Codex's list of models, rewritten so that each is a plain model.
//!
//! As it stands, most models in it get codex's own tools whatever is switched off, as an item of the
//! conversation, and reach other tools only through a script in a tool of codex's own. Whether the service
//! behind codex minds a plain request for such a model is not known; the list can be left as it is.

use serde_json::{Value, json};

/// What makes a model a plain one.
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
