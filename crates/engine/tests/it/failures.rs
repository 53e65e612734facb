//! Every way to fail, reached through the real pipeline, each ending as one recorded result.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{Build, Hooked, ScriptedApprover, TestEngine, test_engine};
use engine::{AfterReply, BeforeReply, HookDecision, HookError, Mode, Policy, Rule, RuleEffect};
use envelope::{Failure, Phase, PhaseOutcome, ToolResult};
use journal::{JournalRecord, LogKind};
use serde_json::{Value, json};
use toolkit::{CancelCause, CancelToken, SurfaceRules};

/// The failure, the phase that found it, and what the tool was seen to do.
#[track_caller]
fn check(result: &ToolResult, failure: Failure, phase: Phase) {
    let error = result.error.as_ref().unwrap_or_else(|| panic!("it worked: {result:#?}"));
    assert_eq!(error.kind, Some(failure), "{error:#?}");
    assert_eq!(error.code, failure.code());
    assert_eq!(result.status, failure.status());
    assert_eq!(result.broken_invariant(), None);
    assert!(error.recovery_hint.as_ref().is_some_and(|hint| !hint.is_empty()));
    let ended: Vec<_> =
        result.phases.iter().filter(|fact| fact.outcome == PhaseOutcome::Failed(failure)).collect();
    assert_eq!(ended.len(), 1, "{:#?}", result.phases);
    assert_eq!(ended[0].phase, phase);
    assert_eq!(result.phases.last().map(|fact| fact.phase), Some(Phase::EmitTerminal));
}

async fn fails(
    test_engine: &TestEngine,
    tool: &str,
    args: Value,
    failure: Failure,
    phase: Phase,
) -> ToolResult {
    let result = test_engine.call(tool, args).await;
    check(&result, failure, phase);
    result
}

fn with_hook(hook: Hooked) -> TestEngine {
    Build { hooks: vec![Arc::new(hook)], ..Build::default() }.test_engine()
}

// Conformance: envelope 3.9
//     The tool exists in the registry.
//     In: engine/phases/resolve_tool.rs
// Conformance: pipeline 2.2
//     `resolve_tool`: `unknown_tool`
//     In: engine/phases/resolve_tool.rs
// Conformance: pipeline 3.4
//     So is a tool that does not exist.
//     In: engine/phases/emit_terminal.rs
#[tokio::test]
async fn a_name_nobody_has_is_unknown_tool() {
    let result = fails(&test_engine(), "test.lok", json!({}), Failure::UnknownTool, Phase::ResolveTool).await;
    assert!(result.error.unwrap().recovery_hint.unwrap().contains("test.look"));
}

// Conformance: pipeline 2.3
//     `resolve_tool`: `blocked_tool`
//     In: engine/phases/resolve_tool.rs
#[tokio::test]
async fn a_tool_hidden_from_the_run_is_blocked_tool() {
    let rules = SurfaceRules {
        blocked: vec![("test.look".to_owned(), "switched off".to_owned())],
        ..Default::default()
    };
    let test_engine = Build { rules, ..Build::default() }.test_engine();
    let result = fails(&test_engine, "test.look", json!({}), Failure::BlockedTool, Phase::ResolveTool).await;
    assert!(result.error.unwrap().message.contains("switched off"));
}

// Conformance: pipeline 2.4
//     `resolve_tool`: `schema_not_loaded`
//     In: engine/phases/resolve_tool.rs
#[tokio::test]
async fn a_deferred_tool_is_schema_not_loaded() {
    let rules = SurfaceRules { deferred: ["test.look".to_owned()].into(), ..Default::default() };
    let test_engine = Build { rules, ..Build::default() }.test_engine();
    fails(&test_engine, "test.look", json!({}), Failure::SchemaNotLoaded, Phase::ResolveTool).await;
    test_engine.engine.surface().load("test.look").unwrap();
    assert!(test_engine.call("test.look", json!({})).await.ok);
}

// Conformance: envelope 3.8
// Conformance: pipeline 2.6
//     `parse_schema`: `schema_validation_failed`
//     In: engine/phases/parse_schema.rs
// Conformance: pipeline 3.3
//     So are arguments of the wrong shape.
//     In: engine/phases/emit_terminal.rs
#[tokio::test]
async fn arguments_of_the_wrong_shape_are_schema_validation_failed() {
    let test_engine = test_engine();
    let args = json!({"text": 3, "txet": "x"});
    let result =
        fails(&test_engine, "test.look", args, Failure::SchemaValidationFailed, Phase::ParseSchema).await;
    let message = result.error.unwrap().message;
    assert!(message.contains("/text") && message.contains("txet"), "{message}");
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

// Conformance: pipeline 2.7
//     `validate_values` runs the tool's own checks of values and of the world, before anyone is asked.
//     In: engine/phases/validate_values.rs
// Conformance: pipeline 2.8
//     `validate_values`: `invalid_arguments`
//     In: engine/phases/validate_values.rs
#[tokio::test]
async fn a_value_the_tool_refuses_is_invalid_arguments() {
    fails(
        &test_engine(),
        "test.look",
        json!({"act": "refuseValues"}),
        Failure::InvalidArguments,
        Phase::ValidateValues,
    )
    .await;
}

// Conformance: pipeline 2.9
//     `validate_values`: `setup_required`
//     In: engine/phases/validate_values.rs
#[tokio::test]
async fn a_tool_without_its_setup_is_setup_required() {
    fails(
        &test_engine(),
        "test.look",
        json!({"act": "needSetup"}),
        Failure::SetupRequired,
        Phase::ValidateValues,
    )
    .await;
}

// Conformance: pipeline 2.10
//     `validate_values`: `sandbox_violation`
//     In: engine/phases/validate_values.rs
#[tokio::test]
async fn a_path_out_of_the_vault_is_sandbox_violation() {
    let test_engine = test_engine();
    fails(
        &test_engine,
        "test.look",
        json!({"act": "leaveSandbox"}),
        Failure::SandboxViolation,
        Phase::ValidateValues,
    )
    .await;
    for protected in [".obsidian/app.json", ".GIT/config", "a/.tollgate/x"] {
        let args = json!({"path": protected});
        fails(&test_engine, "test.write", args, Failure::SandboxViolation, Phase::ValidateValues).await;
    }
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

// Conformance: pipeline 2.12
//     `prepare_observable_input`: `input_mutation_failed`
//     In: engine/phases/prepare_observable_input.rs
#[tokio::test]
async fn an_input_that_cannot_be_shown_is_input_mutation_failed() {
    let args = json!({"act": "cannotBeShown"});
    fails(&test_engine(), "test.look", args, Failure::InputMutationFailed, Phase::PrepareObservableInput)
        .await;
}

// Conformance: pipeline 2.17
//     `pre_hooks`: `hook_blocked`, when a hook asks to stop
//     In: engine/phases/pre_hooks.rs
#[tokio::test]
async fn a_hook_that_stops_the_call_is_hook_blocked() {
    let test_engine = with_hook(Hooked::before("guard", |_| {
        Ok(BeforeReply {
            decision: HookDecision::Stop,
            reason: Some("after hours".to_owned()),
            ..Default::default()
        })
    }));
    let result = fails(&test_engine, "test.look", json!({}), Failure::HookBlocked, Phase::PreHooks).await;
    assert!(result.error.unwrap().message.contains("after hours"));
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

// Conformance: pipeline 2.18
//     `pre_hooks`: `hook_failed`
//     In: engine/phases/pre_hooks.rs
#[tokio::test(start_paused = true)]
async fn a_hook_that_crashes_or_is_late_is_hook_failed() {
    for hook in [
        Hooked::before("crashes", |_| panic!("oh")),
        Hooked::before("gives up", |_| Err(HookError("no idea".to_owned()))),
        Hooked::late("sleeps"),
    ] {
        let test_engine = with_hook(hook);
        fails(&test_engine, "test.look", json!({}), Failure::HookFailed, Phase::PreHooks).await;
        assert_eq!(test_engine.work.begun(), Vec::<String>::new());
    }
}

fn rule(effect: RuleEffect, tools: &[&str], paths: &[&str]) -> Rule {
    let own = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    Rule {
        effect,
        tools: own(tools),
        paths: own(paths),
        risk: None,
        command: None,
        matching: Vec::new(),
        not_matching: Vec::new(),
        workdir: Vec::new(),
        stdin: false,
        tty: false,
        env: Vec::new(),
        reason: None,
    }
}

// Conformance: envelope 3.10
// Conformance: pipeline 2.20
//     `permission`: `permission_denied`
//     In: engine/phases/permission.rs
// Conformance: pipeline 3.1
//     A denial is a terminal result that says it is an error.
//     In: engine/phases/emit_terminal.rs
#[tokio::test]
async fn a_deny_rule_is_permission_denied() {
    let policy = Policy {
        rules: vec![rule(RuleEffect::Deny, &["test.*"], &["Private/**"])],
        ..Build::default().policy
    };
    let test_engine = Build { policy, approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    for path in ["Private/x.md", "private/deep/y.md", "Private"] {
        let args = json!({"path": path});
        fails(&test_engine, "test.write", args, Failure::PermissionDenied, Phase::Permission).await;
    }
    assert!(test_engine.call("test.write", json!({"path": "Public/x.md"})).await.ok);
}

// Conformance: pipeline 2.21
//     `permission`: `approval_rejected`
//     In: engine/phases/permission.rs
// Conformance: pipeline 3.2
//     So is a person's no.
//     In: engine/phases/emit_terminal.rs
#[tokio::test]
async fn a_no_from_the_person_is_approval_rejected() {
    let policy = Policy { mode: Mode::Ask, ..Policy::cautious() };
    let test_engine = Build { policy, approver: ScriptedApprover::no(), ..Build::default() }.test_engine();
    let result = fails(
        &test_engine,
        "test.write",
        json!({"text": "a note"}),
        Failure::ApprovalRejected,
        Phase::Permission,
    )
    .await;
    assert!(result.error.unwrap().message.contains("not today"));
    assert_eq!(test_engine.approver.asked(), ["test.write: Do a note because mode ask"]);
}

// Conformance: pipeline 2.22
//     `permission`: `policy_blocked`
//     In: engine/phases/permission.rs
#[tokio::test]
async fn a_question_nobody_can_answer_is_policy_blocked() {
    let test_engine = Build { policy: Policy::cautious(), ..Build::default() }.test_engine();
    fails(&test_engine, "test.write", json!({}), Failure::PolicyBlocked, Phase::Permission).await;
    let policy = Policy { mode: Mode::ReadOnly, ..Policy::cautious() };
    let test_engine = Build { policy, approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    fails(&test_engine, "test.write", json!({}), Failure::PolicyBlocked, Phase::Permission).await;
    assert!(test_engine.call("test.look", json!({})).await.ok);
}

// Conformance: pipeline 2.24
//     `schedule`: `canceled`
//     In: engine/phases/schedule.rs
#[tokio::test]
async fn a_call_cancelled_in_the_queue_is_canceled() {
    let test_engine = test_engine();
    let cancel = CancelToken::new();
    cancel.cancel(CancelCause::Run);
    let result = test_engine.call_in(&test_engine.scope(), "test.look", json!({}), cancel).await;
    check(&result, Failure::Canceled, Phase::Schedule);
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

// Conformance: pipeline 2.25
//     `schedule`: `sibling_canceled`
//     In: engine/phases/schedule.rs
// Conformance: pipeline 3.5
//     So is a call that was cancelled because its sibling failed.
//     In: engine/phases/emit_terminal.rs
#[tokio::test]
async fn a_call_whose_sibling_failed_is_sibling_canceled() {
    let test_engine = test_engine();
    let cancel = CancelToken::new();
    cancel.cancel(CancelCause::Sibling);
    let result = test_engine.call_in(&test_engine.scope(), "test.look", json!({}), cancel).await;
    check(&result, Failure::SiblingCanceled, Phase::Schedule);
}

// Conformance: pipeline 2.27
//     `execute`: `execution_failed`
//     In: engine/phases/execute.rs
// Conformance: pipeline 3.6
//     None of them is lost as an exception: a tool that panics ends as a result too.
//     In: engine/panic_guard.rs
#[tokio::test]
async fn a_tool_that_fails_is_execution_failed() {
    let test_engine = test_engine();
    fails(&test_engine, "test.look", json!({"act": "fail"}), Failure::ExecutionFailed, Phase::Execute).await;
    let result =
        fails(&test_engine, "test.look", json!({"act": "crash"}), Failure::ExecutionFailed, Phase::Execute)
            .await;
    assert!(result.error.unwrap().message.contains("the tool fell over"));
}

// Conformance: envelope 1.4
// Conformance: pipeline 2.26
// Conformance: pipeline 2.28
//     `execute`: `timeout`
//     In: engine/phases/execute.rs
#[tokio::test(start_paused = true)]
async fn a_tool_past_its_deadline_is_timeout() {
    let test_engine = test_engine();
    let result =
        fails(&test_engine, "test.look", json!({"act": "wait"}), Failure::Timeout, Phase::Execute).await;
    assert_eq!(result.error.unwrap().retryable, Some(true));
    assert!(result.cancellation.unwrap().done);
    // Nobody knows what a command that never came back has done, so it is not tried again.
    let result =
        fails(&test_engine, "test.command", json!({"act": "ignore"}), Failure::Timeout, Phase::Execute).await;
    let error = result.error.unwrap();
    assert_eq!(error.retryable, Some(false));
    assert_eq!(error.details.unwrap()["outcome"], "unknown");
    assert!(!result.cancellation.unwrap().done);
}

// Conformance: pipeline 2.29
//     `execute`: `dependency_unavailable`
//     In: engine/phases/execute.rs
#[tokio::test]
async fn a_dependency_that_does_not_answer_is_dependency_unavailable() {
    let test_engine = test_engine();
    *test_engine.work.outages.lock().unwrap() = 1;
    let args = json!({"act": "unavailable"});
    let result = fails(&test_engine, "test.look", args, Failure::DependencyUnavailable, Phase::Execute).await;
    assert_eq!(result.error.unwrap().retryable, Some(true));
}

// Conformance: envelope 4.3
// Conformance: envelope 4.8
// Conformance: pipeline 2.31
//     `map_result`: `result_mapping_failed`
//     In: engine/phases/map_result.rs
#[tokio::test]
async fn an_output_off_its_schema_is_result_mapping_failed_and_keeps_its_effects() {
    let args = json!({"act": "breakSchema", "path": "a.md"});
    let result =
        fails(&test_engine(), "test.write", args, Failure::ResultMappingFailed, Phase::MapResult).await;
    assert_eq!(result.effects.unwrap().created[0].path, "a.md");
    assert!(result.receipt.unwrap().contains("created a.md"));
}

// Conformance: pipeline 2.33
//     `post_hooks`: `post_hook_failed`
//     In: engine/phases/post_hooks.rs
#[tokio::test]
async fn a_post_hook_that_crashes_is_post_hook_failed() {
    let test_engine = with_hook(Hooked::after("auditor", |_| panic!("oh")));
    let result =
        fails(&test_engine, "test.write", json!({"path": "a.md"}), Failure::PostHookFailed, Phase::PostHooks)
            .await;
    assert_eq!(result.effects.unwrap().created[0].path, "a.md");
    // A change that the tool could not have returned is a failure of the hook, too.
    let test_engine = with_hook(Hooked::after("editor", |_| {
        Ok(AfterReply { updated_output: Some(json!({"text": 1})), ..Default::default() })
    }));
    fails(&test_engine, "test.look", json!({}), Failure::PostHookFailed, Phase::PostHooks).await;
}

// Conformance: pipeline 2.34
//     `post_hooks`: `hook_blocked`
//     In: engine/phases/post_hooks.rs
#[tokio::test]
async fn a_post_hook_that_objects_is_hook_blocked() {
    let test_engine =
        with_hook(Hooked::after("censor", |_| Ok(AfterReply { stop: true, ..Default::default() })));
    let result =
        fails(&test_engine, "test.write", json!({"path": "a.md"}), Failure::HookBlocked, Phase::PostHooks)
            .await;
    assert_eq!(result.effects.unwrap().created[0].path, "a.md");
}

// Conformance: pipeline 2.36
//     `persist_result`: `result_too_large`
//     In: engine/phases/persist_result.rs
#[tokio::test]
async fn a_result_past_the_limit_is_result_too_large() {
    let mut policy = Build::default().policy;
    policy.limits.max_result_bytes = 70_000;
    let test_engine = Build { policy, ..Build::default() }.test_engine();
    fails(&test_engine, "test.look", json!({"act": "big"}), Failure::ResultTooLarge, Phase::PersistResult)
        .await;
}

// Conformance: pipeline 2.37
//     `persist_result`: `result_redacted`
//     In: engine/phases/persist_result.rs
#[tokio::test]
async fn a_redacted_result_is_a_success_with_a_note() {
    let test_engine = with_hook(Hooked::after("censor", |_| {
        Ok(AfterReply {
            redact: vec!["/text".to_owned()],
            reason: Some("a secret".to_owned()),
            ..Default::default()
        })
    }));
    let scope = test_engine.scope();
    let result =
        test_engine.call_in(&scope, "test.look", json!({"text": "sk-secret"}), CancelToken::new()).await;
    assert!(result.ok);
    assert_eq!(result.data.as_ref().unwrap()["text"], "[redacted]");
    let fact = result.phases.iter().find(|fact| fact.phase == Phase::PersistResult).unwrap();
    assert_eq!(fact.detail.as_deref(), Some("result_redacted"));
    let kept = scope.journal().lines(LogKind::Result).join("\n");
    assert!(!kept.contains("sk-secret"), "{kept}");
}

/// Reaches every failure once more and looks at the journal: one call line and one result line each.
// Conformance: envelope 4.5
// Conformance: envelope 4.9
// Conformance: pipeline 2.38
//     `emit_terminal` reports and cannot fail: whatever went wrong before is a result.
//     In: engine/phases/emit_terminal.rs
// Conformance: pipeline 3.6
#[tokio::test(start_paused = true)]
async fn every_failure_ends_as_one_recorded_result() {
    let mut reached = BTreeMap::new();
    for (test_engine, tool, args, cancel) in provocations() {
        let scope = test_engine.scope();
        let token = CancelToken::new();
        if let Some(cause) = cancel {
            token.cancel(cause);
        }
        *test_engine.work.outages.lock().unwrap() = 1;
        let result = test_engine.call_in(&scope, tool, args, token).await;
        let kind = result.error.as_ref().and_then(|error| error.kind).unwrap();
        let lines =
            (scope.journal().lines(LogKind::Call).len(), scope.journal().lines(LogKind::Result).len());
        assert_eq!(lines, (1, 1), "{kind}");
        let JournalRecord::Result(recorded) = scope.journal().records(LogKind::Result).remove(0) else {
            panic!()
        };
        assert_eq!(*recorded, result, "{kind}");
        reached.insert(kind, ());
    }
    // Causes that only a tool can name travel the road of `execution_failed`; the vault's tests reach them.
    let by_tools = [Failure::NotFound, Failure::Conflict, Failure::PreconditionFailed];
    let missed: Vec<Failure> = Failure::ALL
        .into_iter()
        .filter(|kind| !reached.contains_key(kind) && !by_tools.contains(kind))
        .collect();
    assert_eq!(missed, []);
}

type Provocation = (TestEngine, &'static str, Value, Option<CancelCause>);

fn provocations() -> Vec<Provocation> {
    let act = |act: &str| json!({ "act": act });
    let plain = |tool: &'static str, args: Value| (test_engine(), tool, args, None);
    let hooked = |hook: Hooked| (with_hook(hook), "test.look", json!({}), None);
    let surface = |rules: SurfaceRules| {
        (Build { rules, ..Build::default() }.test_engine(), "test.look", json!({}), None)
    };
    let policy = |policy: Policy, approver: ScriptedApprover| {
        (Build { policy, approver, ..Build::default() }.test_engine(), "test.write", json!({}), None)
    };
    let trusted = Build::default().policy;
    let mut small = trusted.clone();
    small.limits.max_result_bytes = 70_000;
    let denies = Policy { rules: vec![rule(RuleEffect::Deny, &["test.write"], &[])], ..trusted };
    vec![
        plain("test.nobody", json!({})),
        surface(SurfaceRules {
            blocked: vec![("test.look".to_owned(), "off".to_owned())],
            ..Default::default()
        }),
        surface(SurfaceRules { deferred: ["test.look".to_owned()].into(), ..Default::default() }),
        plain("test.look", json!({"text": 1})),
        plain("test.look", act("refuseValues")),
        plain("test.look", act("needSetup")),
        plain("test.look", act("leaveSandbox")),
        plain("test.look", act("cannotBeShown")),
        hooked(Hooked::before("h", |_| {
            Ok(BeforeReply { decision: HookDecision::Stop, ..Default::default() })
        })),
        hooked(Hooked::late("h")),
        policy(denies, ScriptedApprover::nobody()),
        policy(Policy::cautious(), ScriptedApprover::no()),
        policy(Policy::cautious(), ScriptedApprover::nobody()),
        (test_engine(), "test.look", json!({}), Some(CancelCause::Run)),
        (test_engine(), "test.look", json!({}), Some(CancelCause::Sibling)),
        plain("test.look", act("fail")),
        plain("test.look", act("wait")),
        plain("test.look", act("unavailable")),
        plain("test.look", act("breakSchema")),
        hooked(Hooked::after("h", |_| Err(HookError("no".to_owned())))),
        (Build { policy: small, ..Build::default() }.test_engine(), "test.look", act("big"), None),
    ]
}
