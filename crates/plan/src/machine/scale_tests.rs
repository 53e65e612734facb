//! Tests with a foreach of 100,000 items: the machine's size must not grow with it, and no input may scan the
//! items. These tests have no clock; a scan of the items on every input would take 10^10 steps and would not
//! finish.

use std::sync::Arc;

use envelope::{
    ActionPlan, CallId, Concurrency, Hash, Idempotency, LimitsSnapshot, OnError, PolicySnapshot, Retry, Risk,
    RunId, SandboxSnapshot, Status, StepId, Timestamp, ToolDecl, ToolName, ToolResult, VarName,
};
use serde_json::{Value, json};

use super::{MachineInput, MachineOutput, RunLimits, RunMachine, RunSpec, RunStatus, SiblingPolicy};
use crate::{CheckedForeach, CheckedPlan, CheckedStep, Template, TemplateScope};

const ITEMS: usize = 100_000;
const PARALLEL: u32 = 8;

fn spec(keep_output: bool) -> RunSpec {
    let compile = |value: &Value, scope: &TemplateScope<'_>| Template::compile(value, scope, &mut Vec::new());
    let scope =
        TemplateScope { item_name: Some("item"), index_name: Some("index"), ..TemplateScope::default() };
    let step = CheckedStep {
        id: StepId::parse("each").unwrap(),
        decl: Arc::new(decl()),
        args: compile(&json!({ "text": "number {item}", "at": "$index" }), &scope),
        preview: None,
        foreach: Some(CheckedForeach {
            from: compile(&json!("$vars.list"), &TemplateScope::default()),
            item_name: VarName::parse("item").unwrap(),
            index_name: VarName::parse("index").unwrap(),
            concurrency: None,
            stop_on_error: false,
        }),
        after: vec![],
        follows: vec![],
        keep_output,
        capture_as: None,
        on_error: OnError::Skip,
        retry: Retry { max_attempts: 1, backoff_ms: 0 },
        timeout_ms: 1_000,
        fail_on_exit: false,
        tags: vec![],
    };
    let plan: ActionPlan = serde_json::from_value(
        json!({ "version": "1.0", "goal": "g", "riskLevel": "read-only", "steps": [] }),
    )
    .unwrap();
    let list: Vec<usize> = (0..ITEMS).collect();
    let vars = [("list".to_owned(), json!(list))].into_iter().collect();
    let outputs = Template::Literal(json!({}));
    let checked = CheckedPlan { plan: Arc::new(plan), hash: Hash::of(b""), steps: vec![step], outputs, vars };
    RunSpec {
        run_id: RunId::parse("run").unwrap(),
        plan: Arc::new(checked),
        policy: Arc::new(PolicySnapshot {
            confirmations_required: false,
            sandbox: SandboxSnapshot { enabled: true, allowed_roots: vec![], deny_patterns: vec![] },
            limits: LimitsSnapshot {
                max_concurrency: PARALLEL,
                max_attempts: None,
                call_timeout_ms: None,
                max_foreach_items: None,
            },
        }),
        limits: RunLimits {
            max_parallel: PARALLEL,
            max_attempts: 1,
            max_foreach_items: u64::MAX,
            max_backoff_ms: 0,
        },
        executor_version: "0".into(),
        registry_version: "0".into(),
        planner_version: None,
        confirm: false,
        sibling: SiblingPolicy::Ignore,
        carried: Arc::default(),
    }
}

fn decl() -> ToolDecl {
    ToolDecl {
        name: ToolName::parse("tool").unwrap(),
        version: "1.0.0".to_owned(),
        summary: "Does something.".to_owned(),
        category: "test".to_owned(),
        family: envelope::ReceiptFamily::External,
        risk_level: Risk::ReadOnly,
        side_effects: vec![],
        availability: vec![],
        concurrency: Concurrency::Parallel,
        idempotency: Idempotency::Idempotent,
        cancellable: true,
        timeout_ms: 1_000,
        input_schema: json!(true),
        output_schema: json!(true),
    }
}

fn worked(call_id: CallId) -> ToolResult {
    ToolResult {
        call_id,
        run_id: RunId::parse("run").unwrap(),
        step_id: StepId::parse("each").unwrap(),
        tool: ToolName::parse("tool").unwrap(),
        attempt: 1,
        status: Status::Ok,
        ok: true,
        data: Some(json!({ "done": true })),
        data_hash: None,
        data_ref: None,
        error: None,
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
        duration_ms: 0,
        effects: None,
        changes: Vec::new(),
        artifacts: Vec::new(),
        user_message: None,
        debug_message: None,
        canonical: None,
        receipt: None,
        phases: vec![],
        mutations: vec![],
        cancellation: None,
        context_modifiers: vec![],
        reconciled: false,
        incomplete: None,
    }
}

/// Runs all items. Returns the largest size of the machine, and the largest number of outputs of one input.
fn peak(keep_output: bool) -> (usize, usize) {
    let mut machine = RunMachine::new(spec(keep_output));
    let mut started = 0;
    let mut open: std::collections::VecDeque<CallId> = std::collections::VecDeque::new();
    let mut outputs = machine.begin(Timestamp::UNIX_EPOCH);
    let (mut held, mut most_outputs) = (0, 0);
    loop {
        for output in outputs.drain(..) {
            match output {
                MachineOutput::Start(call) => {
                    started += 1;
                    open.push_back(call.call_id);
                }
                MachineOutput::Finish(outcome) => assert_eq!(outcome.status, RunStatus::Ok),
                MachineOutput::AskConfirm(_)
                | MachineOutput::Settled(_)
                | MachineOutput::SetTimer { .. }
                | MachineOutput::CancelOpenCalls
                | MachineOutput::Event(_) => {}
            }
        }
        held = held.max(machine.footprint());
        let Some(id) = open.pop_front() else { break };
        outputs = machine.handle(Timestamp::UNIX_EPOCH, MachineInput::Done(worked(id)));
        most_outputs = most_outputs.max(outputs.len());
    }
    assert!(machine.is_finished());
    assert_eq!(started, ITEMS);
    (held, most_outputs)
}

#[test]
fn a_long_foreach_whose_output_nobody_reads_keeps_nothing_for_its_items() {
    let (held, most_outputs) = peak(false);
    assert!(held <= PARALLEL as usize + 2, "the machine held {held} entries");
    assert!(most_outputs <= 3, "one input made {most_outputs} outputs");
}

#[test]
fn a_long_foreach_whose_output_is_read_keeps_that_and_nothing_else() {
    let (held, _) = peak(true);
    assert!(held <= ITEMS + PARALLEL as usize + 2, "the machine held {held} entries");
}
