//! Classifies the fields of a `result` for compaction: cut, dropped, or kept to the end.
//!
//! Fields are recognised by their names, which all families share, and by their shape, for results of external
//! tools. Only this module knows these rules.

use serde_json::Value;

/// A text up to this many bytes is a short fact, not a preview.
const SHORT: usize = 120;
/// A value longer than this is not an id or a handle.
const COMPACT: usize = 400;

/// Class of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// Needed to continue: an id, a path, a cursor. Kept at every level.
    Handle,
    /// The list of artifacts, or an index into it. Kept at every level.
    Artifact,
    /// A number, a word, a count. Dropped at the last level.
    Fact,
    /// Describes a preview, and is dropped with it.
    Remark,
    /// Cut first, then dropped.
    Preview,
    /// Contains fields of its own.
    Inner,
}

/// The list of artifact references.
pub(super) const ARTIFACTS: &str = "artifacts";
/// Suffix of a role name: the index of its artifact.
pub(super) const ARTIFACT_INDEX: &str = "_artifact";
/// Suffix of a preview name: the text itself.
pub(super) const PREVIEW: &str = "_preview";
/// Suffix of a preview name: whether it is incomplete.
pub(super) const TRUNCATED: &str = "_truncated";
/// Whether any preview is incomplete.
pub(super) const ANY_TRUNCATED: &str = "truncated";

/// Number of entries missing in the list beside it.
pub(super) const LEFT_OUT: &str = "left_out";

/// Names of ids and handles. `already_done` lists the effects of a failed call, which must never be dropped.
const HANDLES: [&str; 8] =
    ["id", "path", "etag", "cursor", "handle", "uri", "artifact", crate::families::failed::ALREADY_DONE];
/// Suffixes of such names, in both spellings.
const HANDLE_ENDS: [&str; 14] = [
    "_id", "Id", "_ids", "Ids", "_handle", "Handle", "_path", "Path", "_etag", "Etag", "_cursor", "Cursor",
    "_uri", "Uri",
];
/// Prefix of names that continue a partial result, such as `next_offset`.
pub(super) const HANDLE_START: &str = "next_";
/// Texts that are previews whatever their length.
const PREVIEWS: [&str; 3] = ["content", "text", "excerpt"];
/// Suffixes of fields that describe a preview.
const REMARK_ENDS: [&str; 3] = [TRUNCATED, "_digest", "_hash"];

/// Returns the class of a field by its name and its value.
pub(super) fn field_kind(name: &str, value: &Value) -> FieldKind {
    if name == ARTIFACTS || (name.ends_with(ARTIFACT_INDEX) && value.is_u64()) {
        return FieldKind::Artifact;
    }
    if is_handle(name) && is_compact(value) {
        return FieldKind::Handle;
    }
    if name == ANY_TRUNCATED || REMARK_ENDS.iter().any(|end| name.ends_with(end)) {
        return FieldKind::Remark;
    }
    if name.ends_with(PREVIEW) || PREVIEWS.contains(&name) {
        return FieldKind::Preview;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => FieldKind::Fact,
        Value::String(text) if text.len() <= SHORT && !text.contains('\n') => FieldKind::Fact,
        Value::String(_) | Value::Array(_) => FieldKind::Preview,
        Value::Object(_) => FieldKind::Inner,
    }
}

/// Returns true if a field is the id of an entry, by which the entry can be requested.
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

    use super::{FieldKind, field_kind};

    #[track_caller]
    fn check(name: &str, value: &Value, expected: FieldKind) {
        assert_eq!(field_kind(name, value), expected, "{name}: {value}");
    }

    #[test]
    fn fields_are_known_by_their_names() {
        check("task_handle", &json!({ "task_id": "task_1", "kind": "command_task" }), FieldKind::Handle);
        check("task_id", &json!("task_1"), FieldKind::Handle);
        check("next_range", &json!({ "start": 5, "end": 9 }), FieldKind::Handle);
        check("nextCursor", &json!("abc"), FieldKind::Handle);
        check("artifacts", &json!([{ "path": "artifacts/a.log" }]), FieldKind::Artifact);
        check("stdout_artifact", &json!(0), FieldKind::Artifact);
        check("stdout_preview", &json!("hi"), FieldKind::Preview);
        check("stdout_preview", &json!(null), FieldKind::Preview);
        check("stdout_truncated", &json!(true), FieldKind::Remark);
        check("content", &json!("hi"), FieldKind::Preview);
        check("stdout_lines", &json!(12), FieldKind::Fact);
        check("disposition", &json!("completed"), FieldKind::Fact);
    }

    #[test]
    fn fields_of_strangers_are_known_by_their_shape() {
        check("answer", &json!("forty-two"), FieldKind::Fact);
        check("answer", &json!("x".repeat(121)), FieldKind::Preview);
        check("answer", &json!("two\nlines"), FieldKind::Preview);
        check("rows", &json!([1, 2, 3]), FieldKind::Preview);
        check("page", &json!({ "size": 3 }), FieldKind::Inner);
        check("id", &json!("x".repeat(401)), FieldKind::Preview);
    }
}
