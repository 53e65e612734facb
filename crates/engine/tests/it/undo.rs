//! The changes of a run by its record: of calls that succeeded, failed, were interrupted, or never returned.

use crate::support::{test_engine, tool_call};
use engine::{RunChanges, inverse_changes};
use envelope::{
    CallId, Effects, FileState, Hash, Risk, RunId, SideEffect, Status, StepId, ToolCall, ToolError,
    ToolResult, VaultChange,
};
use expect_test::expect;
use journal::{Journal, RunFolder};
use serde_json::{Map, Value, json};

fn state(text: &str) -> FileState {
    FileState { hash: Hash::of(text.as_bytes()), bytes: text.len() as u64, mode: 0o644 }
}

fn created(path: &str) -> VaultChange {
    VaultChange::FileCreated { path: path.to_owned(), after: state(path) }
}

fn folder(path: &str) -> VaultChange {
    VaultChange::folder_created(path)
}

/// A call of one step, about to make these changes.
fn call(step: &str, intent: &[VaultChange]) -> ToolCall {
    let id = StepId::parse(step).unwrap();
    ToolCall {
        call_id: CallId::derive(&RunId::parse("run").unwrap(), &id, None, 1),
        step_id: id,
        intent: intent.to_vec(),
        note: None,
        request_id: None,
        risk_level: Risk::Writes,
        ..tool_call("test.write", json!({}))
    }
}

fn ended(call: &ToolCall, changes: &[VaultChange]) -> ToolResult {
    ToolResult {
        call_id: call.call_id.clone(),
        run_id: call.run_id.clone(),
        step_id: call.step_id.clone(),
        tool: call.tool.clone(),
        attempt: 1,
        status: Status::Ok,
        ok: true,
        data: Some(json!({})),
        data_hash: None,
        data_ref: None,
        error: None,
        started_at: call.created_at,
        ended_at: call.created_at,
        duration_ms: 0,
        effects: None,
        changes: changes.to_vec(),
        artifacts: Vec::new(),
        user_message: None,
        debug_message: None,
        canonical: None,
        receipt: None,
        phases: Vec::new(),
        mutations: Vec::new(),
        cancellation: None,
        context_modifiers: Vec::new(),
        reconciled: false,
        incomplete: None,
    }
}

fn failed(call: &ToolCall, changes: &[VaultChange], details: Value) -> ToolResult {
    let details: Map<String, Value> = details.as_object().unwrap().clone();
    let error = ToolError {
        code: "CANCELLED".to_owned(),
        message: "cut off".to_owned(),
        details: Some(details),
        retryable: None,
        kind: None,
        recovery_hint: None,
    };
    let cut = ended(call, changes);
    ToolResult { status: Status::Cancelled, ok: false, data: None, error: Some(error), ..cut }
}

enum Line {
    Call(Box<ToolCall>),
    Result(Box<ToolResult>),
}

fn made(call: &ToolCall) -> Line {
    Line::Call(Box::new(call.clone()))
}

fn result(result: ToolResult) -> Line {
    Line::Result(Box::new(result))
}

/// Renders the changes of a record with these lines, one word a change.
fn told(lines: Vec<Line>) -> (String, RunChanges) {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("runs").join("run");
    let scope = test_engine().scope_in(&dir);
    let journal: &Journal = scope.journal();
    for line in lines {
        match line {
            Line::Call(call) => journal.call(&call).unwrap(),
            Line::Result(result) => journal.result(&result).unwrap(),
        };
    }
    drop(scope);
    let read = RunChanges::read(&RunFolder::open(&dir).unwrap()).unwrap();
    let words: Vec<&str> = read.changes.iter().flat_map(VaultChange::paths).collect();
    (words.join(" "), read)
}

#[test]
fn changes_come_in_the_order_of_results_and_are_taken_back_in_the_other() {
    let (a, b) = (call("a", &[created("a")]), call("b", &[created("b")]));
    let (words, read) = told(vec![
        made(&a),
        made(&b),
        result(ended(&b, &[created("b")])),
        result(ended(&a, &[folder("N"), created("N/a")])),
    ]);
    expect!["N b N/a"].assert_eq(&words);
    let back: Vec<String> = inverse_changes(&read.changes)
        .iter()
        .flat_map(|change| change.paths().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    expect!["N/a b N"].assert_eq(&back.join(" "));
}

#[test]
fn a_call_that_failed_midway_counts_with_what_it_made() {
    let call = call("a", &[created("1"), created("2")]);
    let cut = failed(&call, &[created("1")], json!({ "outcome": "partly done" }));
    expect!["1"].assert_eq(&told(vec![made(&call), result(cut)]).0);
}

#[test]
fn a_call_that_nobody_can_vouch_for_counts_with_what_it_intended() {
    let call = call("a", &[created("1"), created("2")]);
    let cut = failed(&call, &[created("1")], json!({ "outcome": "unknown" }));
    expect!["1 2"].assert_eq(&told(vec![made(&call), result(cut)]).0);
}

#[test]
fn a_call_without_a_result_counts_with_what_its_newest_line_says() {
    let ok = call("a", &[created("a")]);
    let first = call("b", &[created("1"), created("2")]);
    // Interrupted, begun again and interrupted again: the second line includes the changes of the first one.
    let second = call("b", &[created("1"), created("2"), created("3")]);
    let (words, _) = told(vec![made(&first), made(&ok), result(ended(&ok, &[created("a")])), made(&second)]);
    expect!["a 1 2 3"].assert_eq(&words);
}

#[test]
fn what_happened_outside_the_files_is_named() {
    let (a, b) = (call("a", &[]), ToolCall { risk_level: Risk::Commands, ..call("b", &[]) });
    let effects = Effects {
        side_effects_observed: vec![
            SideEffect::ModifyFile,
            SideEffect::RunCommand,
            SideEffect::ChangeWorkspace,
        ],
        ..Effects::default()
    };
    let ran =
        ToolResult { effects: Some(effects), user_message: Some("Ran it".to_owned()), ..ended(&a, &[]) };
    let (_, read) = told(vec![made(&a), result(ran), made(&b)]);
    let shown: Vec<String> = read
        .irreversible
        .iter()
        .map(|call| format!("{} {} {:?} {:?}", call.tool, call.step_id, call.effects, call.message))
        .collect();
    expect![[r#"
        test.write a [RunCommand] Some("Ran it")
        test.write b [RunCommand] None"#]]
    .assert_eq(&shown.join("\n"));
}
