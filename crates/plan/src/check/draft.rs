//! The plan as far as it can be read.
//!
//! A draft keeps every readable part of a plan that may be wrong elsewhere, so that one pass finds the
//! misspelt field of the first step and the dangling reference of the fifth.

use envelope::{OnError, PLAN_VERSION, Retry, Risk, VarName};
use serde_json::{Map, Value};

use super::fields::{At, Fields, Known, Notes, describe, wrong_type};
use super::{draft_step, pointer};
use crate::{Finding, FindingCode};

/// What could be read of a plan.
#[derive(Default)]
pub(super) struct Draft<'a> {
    pub(super) risk: Option<At<Risk>>,
    pub(super) steps: Vec<DraftStep<'a>>,
    pub(super) vars: Vec<(&'a str, At<&'a Value>)>,
    pub(super) outputs: Vec<(&'a str, At<&'a Value>)>,
    pub(super) defaults: DraftDefaults,
}

/// What a step says about failures and time, or what `defaults` says for all steps.
#[derive(Default)]
pub(super) struct DraftDefaults {
    pub(super) on_error: Option<At<OnError>>,
    pub(super) retry: Option<At<Retry>>,
    pub(super) timeout_ms: Option<At<u64>>,
}

/// What could be read of a step.
#[derive(Default)]
pub(super) struct DraftStep<'a> {
    pub(super) pointer: String,
    /// The id as it is spelled, even if it is not a good one.
    pub(super) label: Option<&'a str>,
    pub(super) tool: Option<At<&'a str>>,
    pub(super) args: Option<At<&'a Value>>,
    pub(super) preview: Option<At<&'a Value>>,
    pub(super) depends_on: Vec<At<&'a str>>,
    pub(super) foreach: Option<DraftForeach<'a>>,
    pub(super) capture_as: Option<At<VarName>>,
    pub(super) on_failure: DraftDefaults,
}

/// What could be read of a loop.
pub(super) struct DraftForeach<'a> {
    pub(super) pointer: String,
    pub(super) from: Option<At<&'a Value>>,
    pub(super) item_name: Option<At<VarName>>,
    pub(super) index_name: Option<At<VarName>>,
}

const PLAN_FIELDS: &[Known] = &[
    Known { name: "version", synonyms: &["schemaVersion", "planVersion"] },
    Known { name: "goal", synonyms: &["objective", "title", "description", "task", "name"] },
    Known { name: "riskLevel", synonyms: &["risk", "risk_level"] },
    Known { name: "steps", synonyms: &["actions", "tasks", "plan", "calls"] },
    Known { name: "assumptions", synonyms: &[] },
    Known { name: "contextRequests", synonyms: &["context", "context_requests"] },
    Known { name: "vars", synonyms: &["variables", "params", "parameters", "inputs"] },
    Known { name: "defaults", synonyms: &["default"] },
    Known { name: "outputs", synonyms: &["output", "results", "result", "returns"] },
    Known { name: "uiHints", synonyms: &["ui", "ui_hints", "hints"] },
];

const CONTEXT_FIELDS: &[Known] =
    &[Known { name: "kind", synonyms: &["type"] }, Known { name: "options", synonyms: &[] }];

/// Reads the plan, noting whatever is not as it should be.
pub(super) fn read<'a>(root: &'a Value, findings: &mut Vec<Finding>) -> Draft<'a> {
    let mut notes = Notes { findings, step: None };
    let Some((map, base)) = plan_object(root, &mut notes) else {
        return Draft::default();
    };
    let fields = Fields::read(map, &base, PLAN_FIELDS, &mut notes);
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
                Finding::error(
                    FindingCode::BadValue,
                    at.pointer.clone(),
                    format!("`{name}` cannot be referred to"),
                )
                .hint(draft_step::name_hint(name, bad.rule)),
            );
        }
    }
    let outputs = entries(&fields, "outputs", &mut notes);
    entries(&fields, "uiHints", &mut notes);
    let defaults = fields
        .optional_object("defaults", "write an object with `onError`, `retry` or `timeoutMs`", &mut notes)
        .map(|at| draft_step::read_defaults(&at, &mut notes))
        .unwrap_or_default();
    let steps = read_steps(&fields, notes.findings);
    Draft { risk, steps, vars, outputs, defaults }
}

/// The object that is the plan, even if it was put inside another one.
fn plan_object<'a>(root: &'a Value, notes: &mut Notes<'_>) -> Option<(&'a Map<String, Value>, String)> {
    let Some(map) = root.as_object() else {
        let hint = match root {
            Value::Array(_) => "write one object, with this list as its `steps`",
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                "write one object with `version`, `goal`, `riskLevel` and `steps`"
            }
        };
        let message = format!("a plan must be an object, but this is {}", describe(root));
        notes.push(Finding::error(FindingCode::WrongType, "", message).hint(hint));
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
            let pointer = pointer::join("", key);
            notes.push(
                Finding::error(
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

/// The fields that are only looked at here: the rest of the checker has no use for them.
fn read_head(fields: &Fields<'_>, notes: &mut Notes<'_>) {
    fields.require_value("version", &format!("add `\"version\": \"{PLAN_VERSION}\"`"), notes);
    match fields.get("version") {
        Some(at) if at.value.is_number() => {
            notes.push(wrong_type(at, "version", "a string", &format!("write `\"{PLAN_VERSION}\"`")));
        }
        Some(_) | None => {
            fields.choice("version", &[(PLAN_VERSION, ())], notes);
        }
    }
    fields.require("goal", "add `\"goal\"`: what the person wants, in a sentence", notes);
    if let Some(at) = fields.text("goal", notes).filter(|at| at.value.trim().is_empty()) {
        notes.push(
            Finding::error(FindingCode::BadValue, at.pointer, "`goal` is empty")
                .hint("say in a sentence what the person wants"),
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

fn read_context_requests(fields: &Fields<'_>, notes: &mut Notes<'_>) {
    let hint = "write a list of objects such as `{\"kind\": \"activeNote\"}`, or leave it out";
    let requests = fields.list("contextRequests", hint, notes).unwrap_or_default();
    for at in &requests {
        let Some(map) = at.value.as_object() else {
            notes.push(wrong_type(at, "contextRequests", "an object", "write `{\"kind\": \"…\"}`"));
            continue;
        };
        let request = Fields::read(map, &at.pointer, CONTEXT_FIELDS, notes);
        request.require("kind", "add `\"kind\"`: what you would like to know", notes);
        request.text("kind", notes);
        request.optional_object("options", "write an object, or leave it out", notes);
    }
    if let (Some(at), false) = (fields.get("contextRequests"), requests.is_empty()) {
        notes.push(
            Finding::warning(
                FindingCode::IgnoredContextRequest,
                at.pointer.clone(),
                "a run does not answer context requests; they are only shown",
            )
            .hint("read what you need with a step, and refer to its output"),
        );
    }
}

/// The entries of an object whose keys are free.
fn entries<'a>(
    fields: &Fields<'a>,
    name: &'static str,
    notes: &mut Notes<'_>,
) -> Vec<(&'a str, At<&'a Value>)> {
    let hint = format!("write `\"{name}\": {{\"name\": …}}`, or leave it out");
    let Some(at) = fields.object(name, &hint, notes) else {
        return Vec::new();
    };
    let place = |key: &str| pointer::join(&at.pointer, key);
    at.value.iter().map(|(key, value)| (key.as_str(), At { pointer: place(key), value })).collect()
}

fn read_steps<'a>(fields: &Fields<'a>, findings: &mut Vec<Finding>) -> Vec<DraftStep<'a>> {
    let mut notes = Notes { findings, step: None };
    let example = "{\"id\": \"read\", \"tool\": \"vault.readFile\", \"args\": {\"path\": \"Inbox.md\"}}";
    fields.require("steps", &format!("add `\"steps\": [{example}]`"), &mut notes);
    let hint = "write a list of steps, each with its own `id`";
    let Some(steps) = fields.list("steps", hint, &mut notes) else {
        return Vec::new();
    };
    if let (Some(at), true) = (fields.get("steps"), steps.is_empty()) {
        notes.push(
            Finding::error(FindingCode::BadValue, at.pointer.clone(), "the plan has no steps")
                .hint(format!("write at least one step, such as {example}")),
        );
    }
    steps.into_iter().map(|at| draft_step::read(&at, findings)).collect()
}
