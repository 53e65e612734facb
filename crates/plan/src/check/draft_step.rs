//! One step of the plan as far as it can be read.

use envelope::{OnError, Retry, StepId, VarName};
use serde_json::{Map, Value};

use super::draft::{DraftDefaults, DraftForeach, DraftStep};
use super::fields::{At, Fields, Known, Notes, wrong_type};
use crate::{Finding, FindingCode};

const STEP_FIELDS: &[Known] = &[
    Known { name: "id", synonyms: &["stepId", "step_id", "name", "key"] },
    Known { name: "tool", synonyms: &["toolName", "tool_name", "action", "function", "type", "uses"] },
    Known {
        name: "args",
        synonyms: &["arguments", "parameters", "params", "input", "inputs", "with", "payload", "toolArgs"],
    },
    Known { name: "preview", synonyms: &["description", "summary", "title", "label", "comment"] },
    Known { name: "dependsOn", synonyms: &["depends_on", "dependencies", "needs", "after", "requires"] },
    Known { name: "foreach", synonyms: &["forEach", "for_each", "loop", "each"] },
    Known {
        name: "captureAs",
        synonyms: &["capture_as", "capture", "saveAs", "save_as", "outputAs", "storeAs", "output", "as"],
    },
    Known { name: "onError", synonyms: &["on_error", "onFailure", "on_failure"] },
    Known { name: "retry", synonyms: &["retries", "retryPolicy"] },
    Known { name: "timeoutMs", synonyms: &["timeout", "timeout_ms"] },
    Known { name: "tags", synonyms: &["labels"] },
];

const FOREACH_FIELDS: &[Known] = &[
    Known { name: "from", synonyms: &["in", "items", "list", "source", "over", "each", "of"] },
    Known { name: "itemName", synonyms: &["item", "as", "name", "var", "variable"] },
    Known { name: "indexName", synonyms: &["index"] },
    Known { name: "concurrency", synonyms: &["parallel", "parallelism", "maxConcurrency", "max_parallel"] },
    Known { name: "stopOnError", synonyms: &["stop_on_error", "failFast", "fail_fast", "stopOnFailure"] },
];

const RETRY_FIELDS: &[Known] = &[
    Known {
        name: "maxAttempts",
        synonyms: &["max_attempts", "attempts", "max", "count", "times", "maxRetries"],
    },
    Known { name: "backoffMs", synonyms: &["backoff_ms", "backoff", "delay", "delayMs", "waitMs"] },
];

const DEFAULTS_FIELDS: &[Known] = &[
    Known { name: "onError", synonyms: &["on_error", "onFailure"] },
    Known { name: "retry", synonyms: &["retries", "retryPolicy"] },
    Known { name: "timeoutMs", synonyms: &["timeout", "timeout_ms"] },
];

const DAY_MS: u64 = 86_400_000;

pub(super) fn read<'a>(at: &At<&'a Value>, findings: &mut Vec<Finding>) -> DraftStep<'a> {
    let Some(map) = at.value.as_object() else {
        let hint = "write each step as `{\"id\": …, \"tool\": …, \"args\": {…}}`";
        findings.push(wrong_type(at, "steps", "a list of objects", hint));
        return DraftStep { pointer: at.pointer.clone(), ..DraftStep::default() };
    };
    // The id is read before everything else, so that each finding can name its step.
    let label = map.get("id").and_then(Value::as_str).filter(|label| !label.is_empty());
    let mut notes = Notes { findings, step: label };
    let fields = Fields::read(map, &at.pointer, STEP_FIELDS, &mut notes);
    fields.require("id", "add `\"id\"`: a short name of your own, such as `read`", &mut notes);
    fields.require("tool", "add `\"tool\"`: the name of the tool to call", &mut notes);
    fields.require("args", "add `\"args\"`; write `{}` if the tool needs none", &mut notes);
    let id = fields.text("id", &mut notes);
    if let Some(id) = &id {
        name(id, StepId::parse, &mut notes);
    }
    fields.texts("tags", &mut notes);
    let args_hint = "write the tool's arguments as an object, `{\"name\": value}`";
    DraftStep {
        pointer: at.pointer.clone(),
        label: label.or_else(|| id.as_ref().map(|id| id.value)),
        tool: fields.text("tool", &mut notes).filter(|tool| not_empty(tool, &mut notes)),
        args: fields.object("args", args_hint, &mut notes).and_then(|_| fields.get("args").cloned()),
        preview: fields.optional_text("preview", &mut notes).and_then(|_| fields.get("preview").cloned()),
        depends_on: fields.texts("dependsOn", &mut notes),
        foreach: read_foreach(&fields, &mut notes),
        capture_as: read_name(&fields, "captureAs", &mut notes),
        on_failure: read_failure_fields(&fields, &mut notes),
    }
}

pub(super) fn read_defaults(at: &At<&Map<String, Value>>, notes: &mut Notes<'_>) -> DraftDefaults {
    let fields = Fields::read(at.value, &at.pointer, DEFAULTS_FIELDS, notes);
    read_failure_fields(&fields, notes)
}

fn read_failure_fields(fields: &Fields<'_>, notes: &mut Notes<'_>) -> DraftDefaults {
    let words = [("stop", OnError::Stop), ("skip", OnError::Skip), ("retry", OnError::Retry)];
    DraftDefaults {
        on_error: fields.choice("onError", &words, notes),
        retry: read_retry(fields, notes),
        timeout_ms: fields.whole("timeoutMs", (1, DAY_MS), notes),
    }
}

fn read_retry(fields: &Fields<'_>, notes: &mut Notes<'_>) -> Option<At<Retry>> {
    let hint = "write `{\"maxAttempts\": 3, \"backoffMs\": 500}`";
    let at = fields.optional_object("retry", hint, notes)?;
    let retry = Fields::read(at.value, &at.pointer, RETRY_FIELDS, notes);
    retry.require_value("maxAttempts", "add `\"maxAttempts\"`: attempts in all, from 1 to 10", notes);
    retry.require_value(
        "backoffMs",
        "add `\"backoffMs\"`: the wait before the second attempt, such as 500",
        notes,
    );
    let max_attempts = retry.whole("maxAttempts", (1, 10), notes);
    let backoff = retry.whole("backoffMs", (0, 600_000), notes);
    let max_attempts = u32::try_from(max_attempts?.value).ok()?;
    Some(At { pointer: at.pointer, value: Retry { max_attempts, backoff_ms: backoff?.value } })
}

fn read_foreach<'a>(fields: &Fields<'a>, notes: &mut Notes<'_>) -> Option<DraftForeach<'a>> {
    const EXAMPLE: &str = "write `{\"from\": \"$steps.<id>.items\", \"itemName\": \"item\"}`";
    let at = fields.get("foreach").filter(|at| !at.value.is_null())?;
    let Some(map) = at.value.as_object() else {
        notes.push(wrong_type(at, "foreach", "an object", EXAMPLE));
        // The usual slip is to write the list itself: reading on finds what is wrong with that list.
        let from = Some(at.clone());
        return Some(DraftForeach { pointer: at.pointer.clone(), from, item_name: None, index_name: None });
    };
    let loop_fields = Fields::read(map, &at.pointer, FOREACH_FIELDS, notes);
    loop_fields.require(
        "from",
        "add `\"from\"`: a list, or a reference to one such as `$steps.<id>.items`",
        notes,
    );
    loop_fields.require("itemName", "add `\"itemName\": \"item\"`, then use `{item}` in `args`", notes);
    let concurrency = loop_fields.whole("concurrency", (1, 64), notes);
    let stops = loop_fields.flag("stopOnError", notes);
    if let (Some(many), Some(true)) = (concurrency.filter(|many| many.value > 1), stops) {
        let message = "`stopOnError` runs the items one after another, so `concurrency` has no effect";
        notes.push(
            Finding::warning(FindingCode::NoEffect, many.pointer, message)
                .hint("leave `concurrency` out, or `stopOnError`"),
        );
    }
    Some(DraftForeach {
        pointer: at.pointer.clone(),
        from: loop_fields.get("from").cloned(),
        item_name: read_name(&loop_fields, "itemName", notes),
        index_name: read_name(&loop_fields, "indexName", notes),
    })
}

fn read_name(fields: &Fields<'_>, field: &'static str, notes: &mut Notes<'_>) -> Option<At<VarName>> {
    // `itemName` has no default: `null` must not pass for a name.
    let at =
        if field == "itemName" { fields.text(field, notes) } else { fields.optional_text(field, notes) }?;
    let value = name(&at, VarName::parse, notes)?;
    Some(At { pointer: at.pointer, value })
}

fn name<T>(at: &At<&str>, parse: fn(&str) -> Result<T, envelope::BadId>, notes: &mut Notes<'_>) -> Option<T> {
    match parse(at.value) {
        Ok(name) => Some(name),
        Err(bad) => {
            let message = format!("`{}` is not a {}", bad.raw, bad.what);
            let finding = Finding::error(FindingCode::BadValue, at.pointer.clone(), message);
            notes.push(finding.hint(name_hint(at.value, bad.rule)));
            None
        }
    }
}

/// What to call it instead.
pub(super) fn name_hint(raw: &str, rule: &str) -> String {
    match suggestion(raw) {
        Some(name) => format!("write `{name}`, for instance: {rule}"),
        None => rule.to_owned(),
    }
}

/// A good name that keeps what is usable of a bad one.
fn suggestion(raw: &str) -> Option<String> {
    let stem = raw.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    if stem.is_empty() {
        // A bare number is what models write most.
        let digits: String = raw.chars().filter(char::is_ascii_digit).take(8).collect();
        return (!digits.is_empty()).then(|| format!("s{digits}"));
    }
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    Some(stem.chars().map(keep).take(64).collect::<String>().trim_end_matches('-').to_owned())
}

fn not_empty(tool: &At<&str>, notes: &mut Notes<'_>) -> bool {
    if tool.value.trim().is_empty() {
        notes.push(
            Finding::error(FindingCode::BadValue, tool.pointer.clone(), "`tool` is empty")
                .hint("name the tool to call, such as `vault.readFile`"),
        );
        return false;
    }
    true
}
