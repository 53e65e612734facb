//! Lenient reading of a plan.
//!
//! A draft keeps every readable part of a plan that may be wrong elsewhere, so that one pass finds the
//! misspelt field of the first step and the unresolved reference of the fifth.

use envelope::{OnError, PLAN_VERSION, Retry, Risk, VarName};
use serde_json::{Map, Value};

use super::draft_step;
use super::object_fields::{FindingCollector, KnownField, LocatedValue, ObjectFields, describe, wrong_type};
use crate::{FindingCode, PlanFinding, json_pointer};

/// The readable parts of a plan.
#[derive(Default)]
pub(super) struct PlanDraft<'a> {
    pub(super) risk: Option<LocatedValue<Risk>>,
    pub(super) steps: Vec<DraftStep<'a>>,
    pub(super) vars: Vec<(&'a str, LocatedValue<&'a Value>)>,
    pub(super) outputs: Vec<(&'a str, LocatedValue<&'a Value>)>,
    pub(super) defaults: DraftDefaults,
}

/// The settings for failures and time: of one step, or of `defaults` for all steps.
#[derive(Default)]
pub(super) struct DraftDefaults {
    pub(super) on_error: Option<LocatedValue<OnError>>,
    pub(super) retry: Option<LocatedValue<Retry>>,
    pub(super) timeout_ms: Option<LocatedValue<u64>>,
}

/// The readable parts of a step.
#[derive(Default)]
pub(super) struct DraftStep<'a> {
    pub(super) pointer: String,
    /// The id as written, even if it is invalid.
    pub(super) label: Option<&'a str>,
    pub(super) tool: Option<LocatedValue<&'a str>>,
    pub(super) args: Option<LocatedValue<&'a Value>>,
    pub(super) preview: Option<LocatedValue<&'a Value>>,
    pub(super) depends_on: Vec<LocatedValue<&'a str>>,
    pub(super) foreach: Option<DraftForeach<'a>>,
    pub(super) capture_as: Option<LocatedValue<VarName>>,
    pub(super) fail_on_exit: Option<LocatedValue<bool>>,
    pub(super) on_failure: DraftDefaults,
}

/// The readable parts of a foreach.
pub(super) struct DraftForeach<'a> {
    pub(super) pointer: String,
    pub(super) from: Option<LocatedValue<&'a Value>>,
    pub(super) item_name: Option<LocatedValue<VarName>>,
    pub(super) index_name: Option<LocatedValue<VarName>>,
}

const PLAN_FIELDS: &[KnownField] = &[
    KnownField { name: "version", synonyms: &["schemaVersion", "planVersion"] },
    KnownField { name: "goal", synonyms: &["objective", "title", "description", "task", "name"] },
    KnownField { name: "riskLevel", synonyms: &["risk", "risk_level"] },
    KnownField { name: "steps", synonyms: &["actions", "tasks", "plan", "calls"] },
    KnownField { name: "assumptions", synonyms: &[] },
    KnownField { name: "contextRequests", synonyms: &["context", "context_requests"] },
    KnownField { name: "vars", synonyms: &["variables", "params", "parameters", "inputs"] },
    KnownField { name: "defaults", synonyms: &["default"] },
    KnownField { name: "outputs", synonyms: &["output", "results", "result", "returns"] },
    KnownField { name: "uiHints", synonyms: &["ui", "ui_hints", "hints"] },
];

const CONTEXT_FIELDS: &[KnownField] =
    &[KnownField { name: "kind", synonyms: &["type"] }, KnownField { name: "options", synonyms: &[] }];

/// Reads the plan and reports every problem.
pub(super) fn read<'a>(root: &'a Value, findings: &mut Vec<PlanFinding>) -> PlanDraft<'a> {
    let mut notes = FindingCollector { findings, step: None };
    let Some((map, base)) = plan_object(root, &mut notes) else {
        return PlanDraft::default();
    };
    let fields = ObjectFields::read(map, &base, PLAN_FIELDS, &mut notes);
    read_head(&fields, &mut notes);
    let risk = fields.choice(
        "riskLevel",
        &[("read-only", Risk::ReadOnly), ("writes", Risk::Writes), ("commands", Risk::Commands)],
        &mut notes,
    );
    let vars = entries(&fields, "vars", &mut notes);
    for (name, at) in &vars {
        if let Err(bad) = VarName::parse(name) {
            notes.push(
                PlanFinding::error(
                    FindingCode::BadValue,
                    at.pointer.clone(),
                    format!("`{name}` cannot be referred to"),
                )
                .hint(draft_step::name_hint(name, bad.rule)),
            );
        }
    }
    let outputs = entries(&fields, "outputs", &mut notes);
    for (name, at) in entries(&fields, "uiHints", &mut notes) {
        if name != "title" {
            let message = format!("the hint `{name}` has no effect: only `title` is shown");
            let finding = PlanFinding::warning(FindingCode::NoEffect, at.pointer, message);
            notes.push(finding.hint("leave it out; nothing has to be done if another program reads it"));
        }
    }
    let defaults = fields
        .optional_object("defaults", "write an object with `onError`, `retry` or `timeoutMs`", &mut notes)
        .map(|at| draft_step::read_defaults(&at, &mut notes))
        .unwrap_or_default();
    let steps = read_steps(&fields, notes.findings);
    PlanDraft { risk, steps, vars, outputs, defaults }
}

/// Returns the object that is the plan, even if it is wrapped in another object.
fn plan_object<'a>(
    root: &'a Value,
    notes: &mut FindingCollector<'_>,
) -> Option<(&'a Map<String, Value>, String)> {
    let Some(map) = root.as_object() else {
        let hint = match root {
            Value::Array(_) => "write one object, with this list as its `steps`",
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                "write one object with `version`, `goal`, `riskLevel` and `steps`"
            }
        };
        let message = format!("a plan must be an object, but this is {}", describe(root));
        notes.push(PlanFinding::error(FindingCode::WrongType, "", message).hint(hint));
        return None;
    };
    if map.contains_key("steps") {
        return Some((map, String::new()));
    }
    let inner = map.iter().find_map(|(key, value)| {
        let inner = value.as_object().filter(|inner| inner.contains_key("steps"))?;
        Some((key, inner))
    });
    match inner {
        Some((key, inner)) => {
            let pointer = json_pointer::join("", key);
            notes.push(
                PlanFinding::error(
                    FindingCode::WrappedPlan,
                    pointer.clone(),
                    format!("the plan sits inside the field `{key}`"),
                )
                .hint(format!("send the object under `{key}` itself, without the outer braces")),
            );
            Some((inner, pointer))
        }
        None => Some((map, String::new())),
    }
}

/// Checks the fields that the rest of the checker does not use.
fn read_head(fields: &ObjectFields<'_>, notes: &mut FindingCollector<'_>) {
    fields.require_value("version", &format!("add `\"version\": \"{PLAN_VERSION}\"`"), notes);
    match fields.get("version") {
        Some(at) if at.value.is_number() => {
            notes.push(wrong_type(at, "version", "a string", &format!("write `\"{PLAN_VERSION}\"`")));
        }
        Some(_) | None => {
            fields.choice("version", &[(PLAN_VERSION, ())], notes);
        }
    }
    fields.require("goal", "add `\"goal\"`: what the user wants, in a sentence", notes);
    if let Some(at) = fields.text("goal", notes).filter(|at| at.value.trim().is_empty()) {
        notes.push(
            PlanFinding::error(FindingCode::BadValue, at.pointer, "`goal` is empty")
                .hint("describe in a sentence what the user wants"),
        );
    }
    fields.require_value(
        "riskLevel",
        "add `\"riskLevel\"`: `read-only`, `writes` or `commands`, the highest of the steps' tools",
        notes,
    );
    fields.texts("assumptions", notes);
    read_context_requests(fields, notes);
}

fn read_context_requests(fields: &ObjectFields<'_>, notes: &mut FindingCollector<'_>) {
    let hint = "write a list of objects such as `{\"kind\": \"activeNote\"}`, or leave it out";
    let requests = fields.list("contextRequests", hint, notes).unwrap_or_default();
    for at in &requests {
        let Some(map) = at.value.as_object() else {
            notes.push(wrong_type(at, "contextRequests", "an object", "write `{\"kind\": \"…\"}`"));
            continue;
        };
        let request = ObjectFields::read(map, &at.pointer, CONTEXT_FIELDS, notes);
        request.require("kind", "add `\"kind\"`: what you would like to know", notes);
        request.text("kind", notes);
        request.optional_object("options", "write an object, or leave it out", notes);
    }
    if let (Some(at), false) = (fields.get("contextRequests"), requests.is_empty()) {
        notes.push(
            PlanFinding::warning(
                FindingCode::IgnoredContextRequest,
                at.pointer.clone(),
                "a run does not answer context requests; they are only shown",
            )
            .hint("read what you need with a step, and refer to its output"),
        );
    }
}

/// Returns the entries of an object with arbitrary keys.
fn entries<'a>(
    fields: &ObjectFields<'a>,
    name: &'static str,
    notes: &mut FindingCollector<'_>,
) -> Vec<(&'a str, LocatedValue<&'a Value>)> {
    let hint = format!("write `\"{name}\": {{\"name\": …}}`, or leave it out");
    let Some(at) = fields.object(name, &hint, notes) else {
        return Vec::new();
    };
    let place = |key: &str| json_pointer::join(&at.pointer, key);
    at.value.iter().map(|(key, value)| (key.as_str(), LocatedValue { pointer: place(key), value })).collect()
}

fn read_steps<'a>(fields: &ObjectFields<'a>, findings: &mut Vec<PlanFinding>) -> Vec<DraftStep<'a>> {
    let mut notes = FindingCollector { findings, step: None };
    let example = "{\"id\": \"read\", \"tool\": \"vault.readFile\", \"args\": {\"path\": \"Inbox.md\"}}";
    fields.require("steps", &format!("add `\"steps\": [{example}]`"), &mut notes);
    let hint = "write a list of steps, each with its own `id`";
    let Some(steps) = fields.list("steps", hint, &mut notes) else {
        return Vec::new();
    };
    if let (Some(at), true) = (fields.get("steps"), steps.is_empty()) {
        notes.push(
            PlanFinding::error(FindingCode::BadValue, at.pointer.clone(), "the plan has no steps")
                .hint(format!("write at least one step, such as {example}")),
        );
    }
    steps.into_iter().map(|at| draft_step::read(&at, findings)).collect()
}
