//! Conventions shared by all tools, checked at registration.
//!
//! A planner can predict, chain and repeat the calls of an unknown tool only if all tools follow the same rules:
//! strict objects, the same words for paths and times, a way to repeat a write safely, a declared risk that matches
//! the declared effects. A tool that breaks a rule is not registered, and the error lists everything that has to
//! change.

mod fields;
mod shape;

use envelope::{Idempotency, MAX_ALIAS_BYTES, Risk, SideEffect, ToolDecl};
use serde_json::Value;

pub(crate) use self::shape::explicit_required;

/// Longest timeout of a call. Longer work must be a task that is polled.
const MAX_TIMEOUT_MS: u64 = 60 * 60 * 1_000;
const MAX_COMMAND_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1_000;
const MAX_SUMMARY_CHARS: usize = 200;

/// Returns everything that has to change before the tool can be registered; empty if it can be.
pub fn check_conventions(decl: &ToolDecl) -> Vec<String> {
    let mut problems = Vec::new();
    check_name(decl, &mut problems);
    check_summary(&decl.summary, &mut problems);
    check_risk(decl, &mut problems);
    check_timeout(decl, &mut problems);
    shape::check("input", &decl.input_schema, &mut problems);
    shape::check("output", &decl.output_schema, &mut problems);
    fields::check(decl, &mut problems);
    check_repeatable(decl, &mut problems);
    problems
}

fn check_name(decl: &ToolDecl, problems: &mut Vec<String>) {
    if decl.name.as_str().len() > MAX_ALIAS_BYTES {
        problems.push(format!(
            "name: shorten `{}` to {MAX_ALIAS_BYTES} characters; providers refuse longer ones",
            decl.name
        ));
    }
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if decl.version.split('.').count() != 3 || !decl.version.split('.').all(is_number) {
        problems.push(format!("version: write `{}` as three numbers, such as `1.0.0`", decl.version));
    }
    if decl.category.is_empty() || !decl.category.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
        problems.push(format!("category: write `{}` as one lower-case word, such as `vault`", decl.category));
    }
}

fn check_summary(summary: &str, problems: &mut Vec<String>) {
    let first = summary.split_whitespace().next().unwrap_or_default();
    let is_no_verb = ["A", "An", "The", "This", "It", "Tool", "For", "To"].contains(&first);
    if !first.starts_with(|c: char| c.is_uppercase()) || is_no_verb {
        problems.push("summary: start with a capital verb, such as `Create a note`".to_owned());
    }
    if summary.contains(['\n', '\r']) || summary.chars().count() > MAX_SUMMARY_CHARS {
        problems.push(format!("summary: write one line of at most {MAX_SUMMARY_CHARS} characters"));
    }
}

fn check_risk(decl: &ToolDecl, problems: &mut Vec<String>) {
    let effects = &decl.side_effects;
    match decl.risk_level {
        Risk::ReadOnly if effects.iter().any(|effect| *effect != SideEffect::StopTask) => problems.push(
            "riskLevel: a tool with side effects is `writes` or `commands`, not `read-only`".to_owned(),
        ),
        Risk::Writes | Risk::Commands if effects.is_empty() => {
            problems.push(format!(
                "sideEffects: name what a `{}` tool changes, or make it `read-only`",
                decl.risk_level
            ));
        }
        Risk::ReadOnly | Risk::Writes | Risk::Commands => {}
    }
    if effects.contains(&SideEffect::RunCommand) && decl.risk_level != Risk::Commands {
        problems.push("riskLevel: a tool that runs commands is `commands`".to_owned());
    }
}

pub(crate) fn check_timeout(decl: &ToolDecl, problems: &mut Vec<String>) {
    let most = match decl.risk_level {
        Risk::ReadOnly | Risk::Writes => MAX_TIMEOUT_MS,
        Risk::Commands => MAX_COMMAND_TIMEOUT_MS,
    };
    if decl.timeout_ms == 0 || decl.timeout_ms > most {
        problems.push(format!("timeoutMs: {} is not between 1 and {most}", decl.timeout_ms));
    }
}

/// Checks that a write can be repeated after a crash and chained with the next write.
///
/// Applies to tools that create and change files. Deleting or moving a file twice finds nothing the second time,
/// and changes in the editor have no etag.
fn check_repeatable(decl: &ToolDecl, problems: &mut Vec<String>) {
    let writes_files = decl
        .side_effects
        .iter()
        .any(|effect| matches!(effect, SideEffect::CreateFile | SideEffect::ModifyFile));
    let has = |schema: &Value, field: &str| schema.pointer(&format!("/properties/{field}")).is_some();
    let takes = |field| has(&decl.input_schema, field);
    let gives = |field| has(&decl.output_schema, field);
    if writes_files
        && decl.risk_level == Risk::Writes
        && decl.idempotency == Idempotency::NotIdempotent
        && !takes("expectedEtag")
        && !takes("ifNotExists")
    {
        problems.push(
            "input: accept `expectedEtag` or `ifNotExists`, or declare the tool idempotent, so that a write \
             can be run again safely"
                .to_owned(),
        );
    }
    if writes_files && !gives("etag") && (takes("expectedEtag") || gives("path")) {
        problems.push("output: return `etag` with the path, so that the next write can expect it".to_owned());
    }
}
