//! Lenient reading of one step of a plan.

use envelope::{OnError, Retry, StepId, VarName};
use serde_json::{Map, Value};

use super::draft::{DraftDefaults, DraftForeach, DraftStep};
use super::object_fields::{FindingCollector, KnownField, LocatedValue, ObjectFields, wrong_type};
use crate::{FindingCode, PlanFinding};

const STEP_FIELDS: &[KnownField] = &[
    KnownField { name: "id", synonyms: &["stepId", "step_id", "name", "key"] },
    KnownField { name: "tool", synonyms: &["toolName", "tool_name", "action", "function", "type", "uses"] },
    KnownField {
        name: "args",
        synonyms: &["arguments", "parameters", "params", "input", "inputs", "with", "payload", "toolArgs"],
    },
    KnownField { name: "preview", synonyms: &["description", "summary", "title", "label", "comment"] },
    KnownField { name: "dependsOn", synonyms: &["depends_on", "dependencies", "needs", "after", "requires"] },
    KnownField { name: "foreach", synonyms: &["forEach", "for_each", "loop", "each"] },
    KnownField {
        name: "captureAs",
        synonyms: &["capture_as", "capture", "saveAs", "save_as", "outputAs", "storeAs", "output", "as"],
    },
    KnownField { name: "onError", synonyms: &["on_error", "onFailure", "on_failure"] },
    KnownField { name: "retry", synonyms: &["retries", "retryPolicy"] },
    KnownField { name: "timeoutMs", synonyms: &["timeout", "timeout_ms"] },
    KnownField {
        name: "failOnExit",
        synonyms: &["fail_on_exit", "failOnExitCode", "check", "failOnNonZero", "exitOnError"],
    },
    KnownField { name: "tags", synonyms: &["labels"] },
];

const FOREACH_FIELDS: &[KnownField] = &[
    KnownField { name: "from", synonyms: &["in", "items", "list", "source", "over", "each", "of"] },
    KnownField { name: "itemName", synonyms: &["item", "as", "name", "var", "variable"] },
    KnownField { name: "indexName", synonyms: &["index"] },
    KnownField {
        name: "concurrency",
        synonyms: &["parallel", "parallelism", "maxConcurrency", "max_parallel"],
    },
    KnownField {
        name: "stopOnError",
        synonyms: &["stop_on_error", "failFast", "fail_fast", "stopOnFailure"],
    },
];

const RETRY_FIELDS: &[KnownField] = &[
    KnownField {
        name: "maxAttempts",
        synonyms: &["max_attempts", "attempts", "max", "count", "times", "maxRetries"],
    },
    KnownField { name: "backoffMs", synonyms: &["backoff_ms", "backoff", "delay", "delayMs", "waitMs"] },
];

const DEFAULTS_FIELDS: &[KnownField] = &[
    KnownField { name: "onError", synonyms: &["on_error", "onFailure"] },
    KnownField { name: "retry", synonyms: &["retries", "retryPolicy"] },
    KnownField { name: "timeoutMs", synonyms: &["timeout", "timeout_ms"] },
];

const DAY_MS: u64 = 86_400_000;

pub(super) fn read<'a>(at: &LocatedValue<&'a Value>, findings: &mut Vec<PlanFinding>) -> DraftStep<'a> {
    let Some(map) = at.value.as_object() else {
        let hint = "write each step as `{\"id\": …, \"tool\": …, \"args\": {…}}`";
        findings.push(wrong_type(at, "steps", "a list of objects", hint));
        return DraftStep { pointer: at.pointer.clone(), ..DraftStep::default() };
    };
    // The id is read first, so that each finding can name its step.
    let label = map.get("id").and_then(Value::as_str).filter(|label| !label.is_empty());
    let mut notes = FindingCollector { findings, step: label };
    let fields = ObjectFields::read(map, &at.pointer, STEP_FIELDS, &mut notes);
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
        fail_on_exit: read_flag(&fields, "failOnExit", &mut notes),
        on_failure: read_failure_fields(&fields, &mut notes),
    }
}

pub(super) fn read_defaults(
    at: &LocatedValue<&Map<String, Value>>,
    notes: &mut FindingCollector<'_>,
) -> DraftDefaults {
    let fields = ObjectFields::read(at.value, &at.pointer, DEFAULTS_FIELDS, notes);
    read_failure_fields(&fields, notes)
}

fn read_failure_fields(fields: &ObjectFields<'_>, notes: &mut FindingCollector<'_>) -> DraftDefaults {
    let words = [("stop", OnError::Stop), ("skip", OnError::Skip), ("retry", OnError::Retry)];
    DraftDefaults {
        on_error: fields.choice("onError", &words, notes),
        retry: read_retry(fields, notes),
        timeout_ms: fields.whole("timeoutMs", (1, DAY_MS), notes),
    }
}

fn read_flag(
    fields: &ObjectFields<'_>,
    name: &'static str,
    notes: &mut FindingCollector<'_>,
) -> Option<LocatedValue<bool>> {
    let value = fields.flag(name, notes)?;
    fields.get(name).map(|at| LocatedValue { pointer: at.pointer.clone(), value })
}

fn read_retry(fields: &ObjectFields<'_>, notes: &mut FindingCollector<'_>) -> Option<LocatedValue<Retry>> {
    let hint = "write `{\"maxAttempts\": 3, \"backoffMs\": 500}`";
    let at = fields.optional_object("retry", hint, notes)?;
    let retry = ObjectFields::read(at.value, &at.pointer, RETRY_FIELDS, notes);
    retry.require_value("maxAttempts", "add `\"maxAttempts\"`: attempts in all, from 1 to 10", notes);
    retry.require_value(
        "backoffMs",
        "add `\"backoffMs\"`: the wait before the second attempt, such as 500",
        notes,
    );
    let max_attempts = retry.whole("maxAttempts", (1, 10), notes);
    let backoff = retry.whole("backoffMs", (0, 600_000), notes);
    let max_attempts = u32::try_from(max_attempts?.value).ok()?;
    Some(LocatedValue { pointer: at.pointer, value: Retry { max_attempts, backoff_ms: backoff?.value } })
}

fn read_foreach<'a>(fields: &ObjectFields<'a>, notes: &mut FindingCollector<'_>) -> Option<DraftForeach<'a>> {
    const EXAMPLE: &str = "write `{\"from\": \"$steps.<id>.items\", \"itemName\": \"item\"}`";
    let at = fields.get("foreach").filter(|at| !at.value.is_null())?;
    let Some(map) = at.value.as_object() else {
        notes.push(wrong_type(at, "foreach", "an object", EXAMPLE));
        // The usual mistake is to write the list itself; checking it as `from` finds the problems of that
        // list.
        let from = Some(at.clone());
        return Some(DraftForeach { pointer: at.pointer.clone(), from, item_name: None, index_name: None });
    };
    let loop_fields = ObjectFields::read(map, &at.pointer, FOREACH_FIELDS, notes);
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
            PlanFinding::warning(FindingCode::NoEffect, many.pointer, message)
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

fn read_name(
    fields: &ObjectFields<'_>,
    field: &'static str,
    notes: &mut FindingCollector<'_>,
) -> Option<LocatedValue<VarName>> {
    // `itemName` has no default, so `null` does not count as a name.
    let at =
        if field == "itemName" { fields.text(field, notes) } else { fields.optional_text(field, notes) }?;
    let value = name(&at, VarName::parse, notes)?;
    Some(LocatedValue { pointer: at.pointer, value })
}

fn name<T>(
    at: &LocatedValue<&str>,
    parse: fn(&str) -> Result<T, envelope::BadId>,
    notes: &mut FindingCollector<'_>,
) -> Option<T> {
    match parse(at.value) {
        Ok(name) => Some(name),
        Err(bad) => {
            let message = format!("`{}` is not a {}", bad.raw, bad.what);
            let finding = PlanFinding::error(FindingCode::BadValue, at.pointer.clone(), message);
            notes.push(finding.hint(name_hint(at.value, bad.rule)));
            None
        }
    }
}

/// Returns a hint with a valid name.
pub(super) fn name_hint(raw: &str, rule: &str) -> String {
    match suggestion(raw) {
        Some(name) => format!("write `{name}`, for instance: {rule}"),
        None => rule.to_owned(),
    }
}

/// Returns a valid name that keeps the usable characters of an invalid one.
fn suggestion(raw: &str) -> Option<String> {
    let stem = raw.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
    if stem.is_empty() {
        // Models most often write a bare number.
        let digits: String = raw.chars().filter(char::is_ascii_digit).take(8).collect();
        return (!digits.is_empty()).then(|| format!("s{digits}"));
    }
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    Some(stem.chars().map(keep).take(64).collect::<String>().trim_end_matches('-').to_owned())
}

fn not_empty(tool: &LocatedValue<&str>, notes: &mut FindingCollector<'_>) -> bool {
    if tool.value.trim().is_empty() {
        notes.push(
            PlanFinding::error(FindingCode::BadValue, tool.pointer.clone(), "`tool` is empty")
                .hint("name the tool to call, such as `vault.readFile`"),
        );
        return false;
    }
    true
}
