//! Which fields of a `result` may be cut, which may go, and which stay to the end.
//!
//! Known by their names, which all families share, and by their shape, for results that were not made here.
//! This is the one place that knows.

use serde_json::Value;

/// A text up to this many bytes is a word or two, not a preview.
const SHORT: usize = 120;
/// An id or a handle that is longer than this is none.
const COMPACT: usize = 400;

/// What a field is to compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Needed to go on: an id, a path, a cursor. Stays at every level.
    Handle,
    /// The list of artifacts, or which of them a field is about. Stays at every level.
    Artifact,
    /// A number, a word, a count. Goes with the last level.
    Fact,
    /// Says something about a preview, and goes with it.
    Remark,
    /// Cut first, then dropped.
    Preview,
    /// Has fields of its own.
    Inner,
}

/// The list of artifact references.
pub(super) const ARTIFACTS: &str = "artifacts";
/// Behind the name of a role: the index of its artifact.
pub(super) const ARTIFACT_INDEX: &str = "_artifact";
/// Behind the name of a preview: the text itself.
pub(super) const PREVIEW: &str = "_preview";
/// Behind the name of a preview: whether it is not all.
pub(super) const TRUNCATED: &str = "_truncated";
/// Whether any preview is not all.
pub(super) const ANY_TRUNCATED: &str = "truncated";

/// How many entries of the list beside it are not shown.
pub(super) const LEFT_OUT: &str = "left_out";

/// Whole names of ids and handles. `already_done` is what a failure left behind, which nobody may forget.
const HANDLES: [&str; 8] =
    ["id", "path", "etag", "cursor", "handle", "uri", "artifact", crate::families::failed::ALREADY_DONE];
/// Ends of such names, in both spellings.
const HANDLE_ENDS: [&str; 14] = [
    "_id", "Id", "_ids", "Ids", "_handle", "Handle", "_path", "Path", "_etag", "Etag", "_cursor", "Cursor",
    "_uri", "Uri",
];
/// The beginning of the names of what goes on where this ended, such as `next_offset`.
pub(super) const HANDLE_START: &str = "next_";
/// Texts that are previews however short.
const PREVIEWS: [&str; 3] = ["content", "text", "excerpt"];
/// Ends of the names of what is said about a preview.
const REMARK_ENDS: [&str; 3] = [TRUNCATED, "_digest", "_hash"];

/// What a field is, by its name and its value.
pub(super) fn kind(name: &str, value: &Value) -> Kind {
    if name == ARTIFACTS || (name.ends_with(ARTIFACT_INDEX) && value.is_u64()) {
        return Kind::Artifact;
    }
    if is_handle(name) && is_compact(value) {
        return Kind::Handle;
    }
    if name == ANY_TRUNCATED || REMARK_ENDS.iter().any(|end| name.ends_with(end)) {
        return Kind::Remark;
    }
    if name.ends_with(PREVIEW) || PREVIEWS.contains(&name) {
        return Kind::Preview;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Kind::Fact,
        Value::String(text) if text.len() <= SHORT && !text.contains('\n') => Kind::Fact,
        Value::String(_) | Value::Array(_) => Kind::Preview,
        Value::Object(_) => Kind::Inner,
    }
}

/// Whether a field is the id of an entry, by which it can be asked for.
pub(super) fn is_id(name: &str, value: &Value) -> bool {
    let named = name == "id" || name.ends_with("_id") || name.ends_with("Id");
    named && (value.is_string() || value.is_number()) && is_compact(value)
}

fn is_handle(name: &str) -> bool {
    HANDLES.contains(&name)
        || name.starts_with(HANDLE_START)
        || HANDLE_ENDS.iter().any(|end| name.ends_with(end))
}

fn is_compact(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= COMPACT,
        Value::Array(_) | Value::Object(_) => value.to_string().len() <= COMPACT,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Kind, kind};

    #[track_caller]
    fn check(name: &str, value: &Value, expected: Kind) {
        assert_eq!(kind(name, value), expected, "{name}: {value}");
    }

    #[test]
    fn fields_are_known_by_their_names() {
        check("task_handle", &json!({ "task_id": "task_1", "kind": "command_task" }), Kind::Handle);
        check("task_id", &json!("task_1"), Kind::Handle);
        check("next_range", &json!({ "start": 5, "end": 9 }), Kind::Handle);
        check("nextCursor", &json!("abc"), Kind::Handle);
        check("artifacts", &json!([{ "path": "artifacts/a.log" }]), Kind::Artifact);
        check("stdout_artifact", &json!(0), Kind::Artifact);
        check("stdout_preview", &json!("hi"), Kind::Preview);
        check("stdout_preview", &json!(null), Kind::Preview);
        check("stdout_truncated", &json!(true), Kind::Remark);
        check("content", &json!("hi"), Kind::Preview);
        check("stdout_lines", &json!(12), Kind::Fact);
        check("disposition", &json!("completed"), Kind::Fact);
    }

    #[test]
    fn fields_of_strangers_are_known_by_their_shape() {
        check("answer", &json!("forty-two"), Kind::Fact);
        check("answer", &json!("x".repeat(121)), Kind::Preview);
        check("answer", &json!("two\nlines"), Kind::Preview);
        check("rows", &json!([1, 2, 3]), Kind::Preview);
        check("page", &json!({ "size": 3 }), Kind::Inner);
        check("id", &json!("x".repeat(401)), Kind::Preview);
    }
}
