//! The contract between the twelve phases.

use std::sync::Arc;

use crate::support::{Build, Hooked, ScriptedApprover, TestEngine, test_engine};
use engine::{AfterReply, BeforeReply, HookDecision, Mode, Policy, Rule, RuleEffect};
use envelope::{Actor, EventType, Failure, Mutation, Phase, PhaseOutcome, ToolCall, ToolResult};
use journal::{JournalRecord, LogKind};
use serde_json::{Value, json};
use toolkit::{CancelCause, CancelToken};

fn phases(result: &ToolResult) -> Vec<Phase> {
    result.phases.iter().map(|fact| fact.phase).collect()
}

fn detail(result: &ToolResult, phase: Phase) -> String {
    result
        .phases
        .iter()
        .find(|fact| fact.phase == phase)
        .and_then(|fact| fact.detail.clone())
        .unwrap_or_default()
}

fn with_hooks(hooks: Vec<Hooked>) -> TestEngine {
    let hooks = hooks.into_iter().map(|hook| Arc::new(hook) as Arc<dyn engine::Hook>).collect();
    Build { hooks, ..Build::default() }.test_engine()
}

fn logged_call(gate_scope: &Arc<engine::RunScope>) -> ToolCall {
    let JournalRecord::Call(call) = gate_scope.journal().records(LogKind::Call).remove(0) else { panic!() };
    *call
}

// Conformance: pipeline 1.1
//     A call is a sequence of twelve phases in a fixed order, each of which leaves a fact.
//     In: engine/call.rs, engine/phase_trace.rs
#[tokio::test]
async fn the_twelve_phases_leave_one_fact_each_in_order() {
    let result = test_engine().call("test.look", json!({"text": "hello"})).await;
    assert_eq!(phases(&result), Phase::ALL);
    assert!(result.phases.iter().all(|fact| fact.outcome == PhaseOutcome::Ok));
}

// Conformance: pipeline 1.2
//     A call can be explained even when it fails before anything is executed.
//     In: engine/phase_trace.rs
#[tokio::test]
async fn a_failure_goes_straight_to_the_terminal_phase() {
    let result = test_engine().call("test.look", json!({"act": "refuseValues"})).await;
    assert_eq!(
        phases(&result),
        [Phase::ResolveTool, Phase::ParseSchema, Phase::ValidateValues, Phase::EmitTerminal]
    );
    assert_eq!(result.phases[2].outcome, PhaseOutcome::Failed(Failure::InvalidArguments));
}

// Conformance: pipeline 2.1
//     `resolve_tool` finds a declaration by name or alias among the tools that this run can see.
//     In: engine/phases/resolve_tool.rs
#[tokio::test]
async fn an_alias_resolves_to_the_declared_tool() {
    let result = test_engine().call("test_look", json!({"text": "hello"})).await;
    assert!(result.ok);
    assert_eq!(result.tool.as_str(), "test.look");
}

// Conformance: pipeline 2.11
//     `prepare_observable_input` makes the copy that hooks, users and logs see, apart from what the tool is called
//     with.
//     In: engine/phases/prepare_observable_input.rs
#[tokio::test]
async fn the_four_inputs_are_kept_apart_and_each_change_is_recorded() {
    let test_engine = with_hooks(vec![Hooked::before("fixer", |input| {
        assert_eq!(input["text"], "esc \\u{1b}[2J", "a hook sees the observable copy");
        Ok(BeforeReply {
            updated_input: Some(json!({"text": "fixed"})),
            reason: Some("no escapes".to_owned()),
            ..Default::default()
        })
    })]);
    let scope = test_engine.scope();
    let result =
        test_engine.call_in(&scope, "test.look", json!({"text": "esc \u{1b}[2J"}), CancelToken::new()).await;
    assert_eq!(test_engine.work.begun(), ["fixed"]);
    let call = logged_call(&scope);
    assert_eq!(Value::Object(call.args), json!({"text": "esc \u{1b}[2J"}));
    assert_eq!(call.called_with.map(Value::Object), Some(json!({"text": "fixed"})));
    assert_eq!(
        result.mutations,
        [Mutation {
            phase: Phase::PreHooks,
            by: Actor::Hook("fixer".to_owned()),
            fields: vec!["/text".to_owned()],
            why: "no escapes".to_owned(),
        }]
    );
}

// Conformance: pipeline 2.15
//     `pre_hooks`: a hook may change the input, which is recorded and checked again.
//     In: engine/phases/pre_hooks.rs
#[tokio::test]
async fn an_input_changed_by_a_hook_is_checked_again() {
    let change = |to: Value| {
        with_hooks(vec![Hooked::before("fixer", move |_| {
            Ok(BeforeReply { updated_input: Some(to.clone()), ..Default::default() })
        })])
    };
    for (to, failure) in [
        (json!({"text": 7}), Failure::SchemaValidationFailed),
        (json!({"act": "refuseValues"}), Failure::InvalidArguments),
        (json!({"path": ".git/config"}), Failure::SandboxViolation),
    ] {
        let result = change(to).call("test.write", json!({})).await;
        let error = result.error.unwrap();
        assert_eq!(error.kind, Some(failure));
        assert!(error.message.starts_with("hook `fixer` changed the input"), "{}", error.message);
    }
    // The model's own arguments stay denied, even if a hook rewrites them.
    let rules = vec![Rule {
        effect: RuleEffect::Deny,
        tools: Vec::new(),
        paths: vec!["Private/**".to_owned()],
        risk: None,
        command: None,
        matching: Vec::new(),
        not_matching: Vec::new(),
        workdir: Vec::new(),
        stdin: false,
        tty: false,
        env: Vec::new(),
        reason: None,
    }];
    let hook = Hooked::before("fixer", |_| {
        Ok(BeforeReply { updated_input: Some(json!({"path": "Public/x"})), ..Default::default() })
    });
    let policy = Policy { rules, ..Build::default().policy };
    let test_engine = Build { policy, hooks: vec![Arc::new(hook)], ..Build::default() }.test_engine();
    let result = test_engine.call("test.write", json!({"path": "Private/x"})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::PermissionDenied));
}

// Conformance: pipeline 2.13
//     `pre_hooks`: a hook may add context.
//     In: engine/phases/pre_hooks.rs
// Conformance: pipeline 2.32
//     `post_hooks` may enrich and audit, or change an output that they own.
//     In: engine/phases/post_hooks.rs
#[tokio::test]
async fn a_hook_adds_context_that_later_phases_see() {
    let test_engine = with_hooks(vec![
        Hooked::before("clerk", |_| {
            Ok(BeforeReply { context: Some("ticket 12".to_owned()), ..Default::default() })
        }),
        Hooked::after("clerk", |_| {
            Ok(AfterReply { context: Some("filed".to_owned()), ..Default::default() })
        }),
    ]);
    let result = test_engine.call("test.look", json!({})).await;
    assert_eq!(detail(&result, Phase::PreHooks), "hook `clerk`: ticket 12");
    assert_eq!(detail(&result, Phase::PostHooks), "hook `clerk`: filed");
}

// Conformance: pipeline 2.14
//     `pre_hooks`: a hook may report progress.
//     In: engine/phases/pre_hooks.rs
#[tokio::test]
async fn a_hook_reports_progress() {
    let test_engine = with_hooks(vec![Hooked::before("scanner", |_| {
        Ok(BeforeReply { progress: Some("looking at the text".to_owned()), ..Default::default() })
    })]);
    test_engine.call("test.look", json!({})).await;
    let events = test_engine.events().into_iter();
    let told: Vec<_> = events
        .filter(|event| event.event_type == EventType::StepProgress)
        .map(|event| event.message)
        .collect();
    assert_eq!(told, ["hook `scanner`: looking at the text"]);
}

// Conformance: pipeline 2.16
//     `pre_hooks`: a hook may give a permission result; ours may only tighten.
//     In: engine/phases/pre_hooks.rs
#[tokio::test]
async fn a_hook_may_tighten_a_permission_and_never_loosen_it() {
    let hook = |decision: HookDecision| -> Vec<Arc<dyn engine::Hook>> {
        vec![Arc::new(Hooked::before("guard", move |_| Ok(BeforeReply { decision, ..Default::default() })))]
    };
    // Trusted mode would let it run; the hook wants a person, who says no.
    let test_engine =
        Build { hooks: hook(HookDecision::Ask), approver: ScriptedApprover::no(), ..Build::default() }
            .test_engine();
    let result = test_engine.call("test.look", json!({})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::ApprovalRejected));
    let test_engine =
        Build { hooks: hook(HookDecision::Deny), approver: ScriptedApprover::yes(), ..Build::default() }
            .test_engine();
    let result = test_engine.call("test.look", json!({})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::PermissionDenied));
    // Passing is not allowing: the mode still decides.
    let policy = Policy { mode: Mode::ReadOnly, ..Policy::cautious() };
    let test_engine = Build {
        policy,
        hooks: hook(HookDecision::Pass),
        approver: ScriptedApprover::yes(),
        ..Build::default()
    }
    .test_engine();
    let result = test_engine.call("test.write", json!({})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::PolicyBlocked));
}

// Conformance: pipeline 2.19
//     `permission` comes to allow, ask, deny or pass through, from policy, rules and users, in one order.
//     In: engine/phases/permission.rs
#[tokio::test]
async fn permission_asks_its_sources_in_one_order() {
    let rule = |effect: RuleEffect| Rule {
        effect,
        tools: vec!["test.*".to_owned()],
        paths: Vec::new(),
        risk: None,
        command: None,
        matching: Vec::new(),
        not_matching: Vec::new(),
        workdir: Vec::new(),
        stdin: false,
        tty: false,
        env: Vec::new(),
        reason: None,
    };
    let (allow, ask, deny) = (rule(RuleEffect::Allow), rule(RuleEffect::Ask), rule(RuleEffect::Deny));
    // mode, rules, tool, whether it runs if the user declines everything
    for (mode, rules, tool, runs) in [
        (Mode::Ask, vec![], "test.look", true),
        (Mode::Ask, vec![], "test.write", false),
        (Mode::Ask, vec![allow.clone()], "test.write", true),
        (Mode::Ask, vec![allow.clone(), ask.clone()], "test.write", false),
        (Mode::Ask, vec![allow.clone(), deny.clone()], "test.look", false),
        (Mode::Trusted, vec![], "test.write", true),
        (Mode::Trusted, vec![ask.clone()], "test.look", false),
        (Mode::Trusted, vec![deny.clone()], "test.look", false),
        (Mode::ReadOnly, vec![allow], "test.write", false),
        (Mode::ReadOnly, vec![], "test.look", true),
    ] {
        let policy = Policy { mode, rules: rules.clone(), ..Policy::cautious() };
        let test_engine =
            Build { policy, approver: ScriptedApprover::no(), ..Build::default() }.test_engine();
        assert_eq!(test_engine.call(tool, json!({})).await.ok, runs, "{mode:?} {rules:?} {tool}");
    }
}

// Conformance: pipeline 2.19
#[tokio::test]
async fn a_remembered_approval_is_not_asked_again() {
    let approver = ScriptedApprover::new(
        || engine::ConfirmAnswer::Unavailable { why: String::new() },
        || engine::ApprovalDecision::ApproveAndRemember { channel: envelope::ApprovalChannel::Embedder },
    );
    let test_engine = Build { policy: Policy::cautious(), approver, ..Build::default() }.test_engine();
    let first = test_engine.call("test.write", json!({"text": "a"})).await;
    let second = test_engine.call("test.write", json!({"text": "b"})).await;
    let other = test_engine.call("test.command", json!({"text": "c"})).await;
    assert!(first.ok && second.ok && other.ok);
    assert_eq!(detail(&first, Phase::Permission), "mode ask: approved and remembered (embedder)");
    assert_eq!(detail(&second, Phase::Permission), "mode ask: a remembered approval");
    assert_eq!(
        test_engine.approver.asked(),
        ["test.write: Do a because mode ask", "test.command: Do c because mode ask"]
    );
}

// Conformance: envelope 3.10
//     A call that policy forbids is not dispatched; it gets an immediate result with the code `POLICY_DENIED`.
//     In: engine/phases/permission.rs
#[tokio::test]
async fn a_denied_call_never_reaches_its_tool() {
    let policy = Policy { mode: Mode::ReadOnly, ..Policy::cautious() };
    let test_engine = Build { policy, ..Build::default() }.test_engine();
    let result = test_engine.call("test.write", json!({"text": "x"})).await;
    assert_eq!(result.error.unwrap().code, "POLICY_DENIED");
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

// Conformance: envelope 3.8
//     Arguments are valid against the tool's input schema before the tool is called.
//     In: engine/phases/parse_schema.rs
// Conformance: pipeline 2.5
#[tokio::test]
async fn arguments_off_the_schema_never_reach_the_tool() {
    let test_engine = test_engine();
    for args in
        [json!({"text": 1}), json!({"act": "nothing"}), json!({"extra": true}), json!({"path": "../x"})]
    {
        assert!(!test_engine.call("test.look", args).await.ok);
    }
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

// Conformance: pipeline 2.23
//     `schedule` queues or runs by concurrency and order.
//     In: engine/phases/schedule.rs
#[tokio::test]
async fn overlapping_writes_keep_their_order_and_reads_run_side_by_side() {
    let test_engine = Arc::new(test_engine());
    let scope = test_engine.scope();
    let spawn = |tool: &'static str, args: Value| {
        let (test_engine, scope) = (test_engine.clone(), scope.clone());
        tokio::spawn(async move { test_engine.call_in(&scope, tool, args, CancelToken::new()).await.ok })
    };
    let first = spawn("test.write", json!({"act": "door", "text": "first", "path": "a"}));
    test_engine.work.waiting.notified().await;
    let second = spawn("test.write", json!({"text": "second", "path": "a/b"}));
    let third = spawn("test.write", json!({"text": "third", "path": "A"}));
    let stranger = spawn("test.write", json!({"text": "stranger", "path": "b"}));
    let reader = spawn("test.look", json!({"text": "reader", "path": "c"}));
    assert!(stranger.await.unwrap() && reader.await.unwrap());
    assert!(!test_engine.work.begun().contains(&"second".to_owned()));
    test_engine.work.open.notify_one();
    assert!(first.await.unwrap() && second.await.unwrap() && third.await.unwrap());
    let ended = test_engine.work.ended();
    let place = |name: &str| ended.iter().position(|text| text == name).unwrap();
    assert!(place("first") < place("second") && place("second") < place("third"), "{ended:?}");
}

// Conformance: envelope 5.3
//     Long work may report progress in between.
//     In: engine/phases/execute.rs
// Conformance: pipeline 2.26
//     `execute` calls the tool with a time limit, a signal to stop, a sandbox and a way to report progress.
//     In: engine/phases/execute.rs
#[tokio::test]
async fn progress_becomes_step_progress_events() {
    let test_engine = test_engine();
    let scope = test_engine.scope();
    test_engine.call_in(&scope, "test.look", json!({"act": "progress"}), CancelToken::new()).await;
    let told: Vec<_> = test_engine
        .events()
        .into_iter()
        .filter(|event| event.event_type == EventType::StepProgress)
        .map(|event| (event.message, event.payload.unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("half of it".to_owned(), json!({"done": 1, "total": 2})),
            ("all of it".to_owned(), json!({"done": 2, "total": 2})),
        ]
    );
    assert_eq!(
        scope.journal().lines(LogKind::Event).iter().filter(|line| line.contains("step.progress")).count(),
        2
    );
}

// Conformance: pipeline 2.26
#[tokio::test(start_paused = true)]
async fn cancellation_is_recorded_from_request_to_end() {
    let test_engine = Arc::new(test_engine());
    for (act, done) in [("wait", true), ("ignore", false)] {
        let (scope, cancel) = (test_engine.scope(), CancelToken::new());
        let call = {
            let (test_engine, cancel) = (test_engine.clone(), cancel.clone());
            tokio::spawn(async move {
                test_engine.call_in(&scope, "test.look", json!({ "act": act }), cancel).await
            })
        };
        test_engine.work.waiting.notified().await;
        cancel.cancel(CancelCause::Run);
        let result = call.await.unwrap();
        assert_eq!(result.error.as_ref().unwrap().kind, Some(Failure::Canceled));
        let facts = result.cancellation.unwrap();
        assert_eq!((facts.acknowledged_at.is_some(), facts.done), (done, done), "{act}");
    }
}

// Conformance: pipeline 2.30
//     `map_result` turns the tool's output into the result that a model is shown.
//     In: engine/phases/map_result.rs
// Conformance: pipeline 4.1
//     An output is mapped exactly once, before it is persisted.
//     In: engine/phases/map_result.rs
// Conformance: result 3.5
//     A result is mapped once; a hook that changes the output is recorded, and the output mapped again.
//     In: engine/phases/map_result.rs, engine/phases/post_hooks.rs
#[tokio::test]
async fn a_result_is_mapped_once() {
    let test_engine = test_engine();
    let scope = test_engine.scope();
    let result = test_engine.call_in(&scope, "test.look", json!({"text": "once"}), CancelToken::new()).await;
    let JournalRecord::Result(recorded) = scope.journal().records(LogKind::Result).remove(0) else {
        panic!()
    };
    assert_eq!(*recorded, result);
    assert_eq!(test_engine.work.mapped.load(std::sync::atomic::Ordering::SeqCst), 1);
    let canonical = result.canonical.unwrap();
    assert_eq!(canonical.result, result.data);
    assert_eq!(canonical.summary_text, "Did once");
    assert_eq!(result.receipt.as_deref(), Some("Did once\ntext: once\ncount: 1\nitems: []"));
}

// Conformance: pipeline 2.32
// Conformance: pipeline 4.2
//     A post hook that changes the output is recorded, and the output is mapped again after it.
//     In: engine/phases/post_hooks.rs
#[tokio::test]
async fn an_output_changed_by_a_post_hook_is_recorded_and_mapped_again() {
    let test_engine = with_hooks(vec![Hooked::after("editor", |output| {
        let mut changed = output.clone();
        changed["text"] = "twice".into();
        Ok(AfterReply {
            updated_output: Some(changed),
            reason: Some("better".to_owned()),
            ..Default::default()
        })
    })]);
    let result = test_engine.call("test.look", json!({"text": "once"})).await;
    assert_eq!(result.receipt.as_deref(), Some("Did twice\ntext: twice\ncount: 1\nitems: []"));
    assert_eq!(result.canonical.unwrap().result, result.data);
    assert_eq!(
        result.mutations,
        [Mutation {
            phase: Phase::PostHooks,
            by: Actor::Hook("editor".to_owned()),
            fields: vec!["/text".to_owned()],
            why: "better".to_owned(),
        }]
    );
}

// Conformance: envelope 4.4
//     Data may carry its hash; large data is stored once under it.
//     In: engine/phases/persist_result.rs
// Conformance: pipeline 2.35
//     `persist_result` keeps the result inline, or stores it, links it and shows its beginning.
//     In: engine/phases/persist_result.rs
#[tokio::test]
async fn a_large_result_is_stored_once_by_its_hash() {
    let test_engine = test_engine();
    let scope = test_engine.scope();
    let result = test_engine.call_in(&scope, "test.look", json!({"act": "big"}), CancelToken::new()).await;
    let kept = result.data_ref.clone().unwrap();
    assert_eq!(result.data_hash, Some(kept.hash));
    let line = &scope.journal().lines(LogKind::Result)[0];
    assert!(line.len() < 5000, "the line holds a reference, not the data");
    let JournalRecord::Result(recorded) = scope.journal().records(LogKind::Result).remove(0) else {
        panic!()
    };
    assert_eq!((recorded.data, recorded.data_ref), (None, Some(kept)));
    assert!(result.data.is_some(), "later steps still read the whole");
}

// Conformance: pipeline 5.1
//     A tool may ask for a change of context; that of a call that runs alone is honoured.
//     In: engine/run_context.rs
#[tokio::test]
async fn a_context_change_of_a_serial_call_is_honoured() {
    let test_engine = test_engine();
    let scope = test_engine.scope();
    let first = test_engine
        .call_in(&scope, "test.alone", json!({"act": "context", "text": "a mark"}), CancelToken::new())
        .await;
    let second = test_engine.call_in(&scope, "test.look", json!({}), CancelToken::new()).await;
    assert!(first.context_modifiers[0].applied);
    assert_eq!(second.data.unwrap()["seen"], "a mark");
}

// Conformance: pipeline 5.2
//     That of a call that may run beside others is deferred and recorded, never applied by chance.
//     In: engine/run_context.rs
#[tokio::test]
async fn a_context_change_of_a_concurrent_call_is_deferred_and_recorded() {
    let test_engine = test_engine();
    let scope = test_engine.scope();
    let first = test_engine
        .call_in(&scope, "test.write", json!({"act": "context", "text": "a mark"}), CancelToken::new())
        .await;
    let second = test_engine.call_in(&scope, "test.look", json!({}), CancelToken::new()).await;
    assert!(!first.context_modifiers[0].applied);
    assert_eq!(second.data.unwrap().get("seen"), None);
}

#[tokio::test]
async fn an_effect_waits_until_its_intent_is_on_disk_and_the_answer_until_its_result_is() {
    let folder = tempfile::tempdir().unwrap();
    let run_dir = folder.path().join("runs").join("run");
    let test_engine = test_engine();
    let scope = test_engine.scope_in(&run_dir);
    *test_engine.work.run_dir.lock().unwrap() = Some(run_dir.clone());
    let result = test_engine.call_in(&scope, "test.write", json!({"text": "a"}), CancelToken::new()).await;
    assert_eq!(
        *test_engine.work.on_disk.lock().unwrap(),
        [true],
        "the tool ran before its call was written down"
    );
    let kept = journal::RunFolder::open(&run_dir).unwrap();
    let recorded = kept.records().unwrap().filter_map(|entry| match entry.unwrap().record {
        journal::JournalRecord::Result(result) => Some(*result),
        journal::JournalRecord::Call(_) | journal::JournalRecord::Event(_) => None,
    });
    assert_eq!(recorded.collect::<Vec<_>>(), [result], "the answer came before its record");
}

#[tokio::test]
async fn a_tool_hears_of_its_result_when_it_is_on_record_and_only_then() {
    let test_engine = test_engine();
    test_engine.call("test.write", json!({"text": "kept"})).await;
    test_engine.call("test.write", json!({"text": "lost", "act": "breakSchema"})).await;
    assert_eq!(*test_engine.work.recorded.lock().unwrap(), ["kept"]);
    let censor = Hooked::after("censor", |_| Ok(AfterReply { stop: true, ..Default::default() }));
    let test_engine = Build { hooks: vec![Arc::new(censor)], ..Build::default() }.test_engine();
    let result = test_engine.call("test.write", json!({"text": "withheld"})).await;
    assert_eq!((result.ok, test_engine.work.ended().len()), (false, 1));
    assert_eq!(*test_engine.work.recorded.lock().unwrap(), [] as [&str; 0]);
}

#[tokio::test]
async fn authority_is_never_taken_from_the_caller() {
    let test_engine =
        Build { policy: Policy::cautious(), approver: ScriptedApprover::no(), ..Build::default() }
            .test_engine();
    let mut call = crate::support::tool_call("test.write", json!({"text": "x"}));
    call.confirmation_id = Some(envelope::ConfirmationId::parse("i-say-so").unwrap());
    call.category = Some("harmless".into());
    call.risk_level = envelope::Risk::ReadOnly;
    let scope = test_engine.scope();
    let result = test_engine.engine.run_call(&scope, call, CancelToken::new()).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::ApprovalRejected));
    let logged = logged_call(&scope);
    assert_eq!(logged.confirmation_id, None);
    assert_eq!(logged.risk_level, envelope::Risk::Writes);
    assert_eq!(*logged.executor_version, *"0.0.0-test");
    assert_eq!(logged.policy.limits.max_attempts, Some(5));
}

#[tokio::test]
async fn a_crash_of_any_part_ends_as_the_result_of_its_call() {
    let hook = Hooked::before("fixer", |_| {
        Ok(BeforeReply { updated_input: Some(json!({"act": "cannotBeShown"})), ..Default::default() })
    });
    let test_engine = Build { hooks: vec![Arc::new(hook)], ..Build::default() }.test_engine();
    let result = test_engine.call("test.write", json!({"text": "q"})).await;
    assert!(!result.ok);
    assert_eq!(test_engine.results().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn work_that_cannot_be_stopped_keeps_its_paths_closed() {
    let test_engine = Arc::new(test_engine());
    let scope = test_engine.scope();
    let late = test_engine
        .call_in(
            &scope,
            "test.write",
            json!({"act": "door", "text": "late", "path": "a"}),
            CancelToken::new(),
        )
        .await;
    let error = late.error.unwrap();
    assert_eq!((error.kind, error.retryable), (Some(Failure::Timeout), Some(false)));
    assert_eq!(error.details.unwrap()["stillRunning"], true);
    let next = {
        let (test_engine, scope) = (test_engine.clone(), scope.clone());
        tokio::spawn(async move {
            test_engine
                .call_in(&scope, "test.write", json!({"text": "next", "path": "a"}), CancelToken::new())
                .await
                .ok
        })
    };
    assert!(
        test_engine
            .call_in(&scope, "test.write", json!({"text": "other", "path": "b"}), CancelToken::new())
            .await
            .ok
    );
    assert_eq!(test_engine.work.ended(), ["other"]);
    test_engine.work.open.notify_one();
    assert!(next.await.unwrap());
    assert_eq!(test_engine.work.ended(), ["other", "late", "next"]);
}
