//! What the twelve phases promise to each other.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::sync::Arc;

use engine::{AfterReply, BeforeReply, HookDecision, Mode, Policy, Rule, RuleEffect};
use envelope::{Actor, EventType, Failure, Mutation, Phase, PhaseOutcome, ToolCall, ToolResult};
use journal::Kind;
use serde_json::{Value, json};
use support::{Build, Gate, Hooked, People, gate};
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

fn with_hooks(hooks: Vec<Hooked>) -> Gate {
    let hooks = hooks.into_iter().map(|hook| Arc::new(hook) as Arc<dyn engine::Hook>).collect();
    Build { hooks, ..Build::default() }.gate()
}

fn logged_call(gate_scope: &Arc<engine::RunScope>) -> ToolCall {
    serde_json::from_str(&gate_scope.journal().lines(Kind::Call)[0]).unwrap()
}

#[tokio::test]
async fn the_twelve_phases_leave_one_fact_each_in_order() {
    let result = gate().call("test.look", json!({"text": "hello"})).await;
    assert_eq!(phases(&result), Phase::ALL);
    assert!(result.phases.iter().all(|fact| fact.outcome == PhaseOutcome::Ok));
}

#[tokio::test]
async fn a_failure_goes_straight_to_the_terminal_phase() {
    let result = gate().call("test.look", json!({"act": "refuseValues"})).await;
    assert_eq!(
        phases(&result),
        [Phase::ResolveTool, Phase::ParseSchema, Phase::ValidateValues, Phase::EmitTerminal]
    );
    assert_eq!(result.phases[2].outcome, PhaseOutcome::Failed(Failure::InvalidArguments));
}

#[tokio::test]
async fn an_alias_resolves_to_the_declared_tool() {
    let result = gate().call("test_look", json!({"text": "hello"})).await;
    assert!(result.ok);
    assert_eq!(result.tool.as_str(), "test.look");
}

#[tokio::test]
async fn the_four_inputs_are_kept_apart_and_each_change_is_recorded() {
    let gate = with_hooks(vec![Hooked::before("fixer", |input| {
        assert_eq!(input["text"], "esc \\u{1b}[2J", "a hook sees the observable copy");
        Ok(BeforeReply {
            updated_input: Some(json!({"text": "fixed"})),
            reason: Some("no escapes".to_owned()),
            ..Default::default()
        })
    })]);
    let scope = gate.scope();
    let result =
        gate.call_in(&scope, "test.look", json!({"text": "esc \u{1b}[2J"}), CancelToken::new()).await;
    assert_eq!(gate.work.begun(), ["fixed"]);
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
    // What the model asked for stays denied, even if a hook rewrites it.
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
    let gate = Build { policy, hooks: vec![Arc::new(hook)], ..Build::default() }.gate();
    let result = gate.call("test.write", json!({"path": "Private/x"})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::PermissionDenied));
}

#[tokio::test]
async fn a_hook_adds_context_that_later_phases_see() {
    let gate = with_hooks(vec![
        Hooked::before("clerk", |_| {
            Ok(BeforeReply { context: Some("ticket 12".to_owned()), ..Default::default() })
        }),
        Hooked::after("clerk", |_| {
            Ok(AfterReply { context: Some("filed".to_owned()), ..Default::default() })
        }),
    ]);
    let result = gate.call("test.look", json!({})).await;
    assert_eq!(detail(&result, Phase::PreHooks), "hook `clerk`: ticket 12");
    assert_eq!(detail(&result, Phase::PostHooks), "hook `clerk`: filed");
}

#[tokio::test]
async fn a_hook_reports_progress() {
    let gate = with_hooks(vec![Hooked::before("scanner", |_| {
        Ok(BeforeReply { progress: Some("looking at the text".to_owned()), ..Default::default() })
    })]);
    gate.call("test.look", json!({})).await;
    let events = gate.events().into_iter();
    let told: Vec<_> = events
        .filter(|event| event.event_type == EventType::StepProgress)
        .map(|event| event.message)
        .collect();
    assert_eq!(told, ["hook `scanner`: looking at the text"]);
}

#[tokio::test]
async fn a_hook_may_tighten_a_permission_and_never_loosen_it() {
    let hook = |decision: HookDecision| -> Vec<Arc<dyn engine::Hook>> {
        vec![Arc::new(Hooked::before("guard", move |_| Ok(BeforeReply { decision, ..Default::default() })))]
    };
    // Trusted mode would let it run; the hook wants a person, who says no.
    let gate = Build { hooks: hook(HookDecision::Ask), people: People::no(), ..Build::default() }.gate();
    let result = gate.call("test.look", json!({})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::ApprovalRejected));
    let gate = Build { hooks: hook(HookDecision::Deny), people: People::yes(), ..Build::default() }.gate();
    let result = gate.call("test.look", json!({})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::PermissionDenied));
    // Passing is not allowing: the mode still decides.
    let policy = Policy { mode: Mode::ReadOnly, ..Policy::cautious() };
    let gate =
        Build { policy, hooks: hook(HookDecision::Pass), people: People::yes(), ..Build::default() }.gate();
    let result = gate.call("test.write", json!({})).await;
    assert_eq!(result.error.unwrap().kind, Some(Failure::PolicyBlocked));
}

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
    // mode, rules, tool, may it run when the person says no to everything
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
        let gate = Build { policy, people: People::no(), ..Build::default() }.gate();
        assert_eq!(gate.call(tool, json!({})).await.ok, runs, "{mode:?} {rules:?} {tool}");
    }
}

#[tokio::test]
async fn a_remembered_approval_is_not_asked_again() {
    let people = People::new(
        || engine::Answer::Nobody { why: String::new() },
        || engine::Verdict::Remember { channel: envelope::Channel::Embedder },
    );
    let gate = Build { policy: Policy::cautious(), people, ..Build::default() }.gate();
    let first = gate.call("test.write", json!({"text": "a"})).await;
    let second = gate.call("test.write", json!({"text": "b"})).await;
    let other = gate.call("test.command", json!({"text": "c"})).await;
    assert!(first.ok && second.ok && other.ok);
    assert_eq!(detail(&first, Phase::Permission), "mode ask: approved and remembered (embedder)");
    assert_eq!(detail(&second, Phase::Permission), "mode ask: a remembered yes");
    assert_eq!(
        gate.people.asked(),
        ["test.write: Do a because mode ask", "test.command: Do c because mode ask"]
    );
}

#[tokio::test]
async fn a_denied_call_never_reaches_its_tool() {
    let policy = Policy { mode: Mode::ReadOnly, ..Policy::cautious() };
    let gate = Build { policy, ..Build::default() }.gate();
    let result = gate.call("test.write", json!({"text": "x"})).await;
    assert_eq!(result.error.unwrap().code, "POLICY_DENIED");
    assert_eq!(gate.work.begun(), Vec::<String>::new());
}

#[tokio::test]
async fn arguments_off_the_schema_never_reach_the_tool() {
    let gate = gate();
    for args in
        [json!({"text": 1}), json!({"act": "nothing"}), json!({"extra": true}), json!({"path": "../x"})]
    {
        assert!(!gate.call("test.look", args).await.ok);
    }
    assert_eq!(gate.work.begun(), Vec::<String>::new());
}

#[tokio::test]
async fn overlapping_writes_keep_their_order_and_reads_run_side_by_side() {
    let gate = Arc::new(gate());
    let scope = gate.scope();
    let spawn = |tool: &'static str, args: Value| {
        let (gate, scope) = (gate.clone(), scope.clone());
        tokio::spawn(async move { gate.call_in(&scope, tool, args, CancelToken::new()).await.ok })
    };
    let first = spawn("test.write", json!({"act": "door", "text": "first", "path": "a"}));
    gate.work.waiting.notified().await;
    let second = spawn("test.write", json!({"text": "second", "path": "a/b"}));
    let third = spawn("test.write", json!({"text": "third", "path": "A"}));
    let stranger = spawn("test.write", json!({"text": "stranger", "path": "b"}));
    let reader = spawn("test.look", json!({"text": "reader", "path": "c"}));
    assert!(stranger.await.unwrap() && reader.await.unwrap());
    assert!(!gate.work.begun().contains(&"second".to_owned()));
    gate.work.open.notify_one();
    assert!(first.await.unwrap() && second.await.unwrap() && third.await.unwrap());
    let ended = gate.work.ended();
    let place = |name: &str| ended.iter().position(|text| text == name).unwrap();
    assert!(place("first") < place("second") && place("second") < place("third"), "{ended:?}");
}

#[tokio::test]
async fn progress_becomes_step_progress_events() {
    let gate = gate();
    let scope = gate.scope();
    gate.call_in(&scope, "test.look", json!({"act": "progress"}), CancelToken::new()).await;
    let told: Vec<_> = gate
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
        scope.journal().lines(Kind::Event).iter().filter(|line| line.contains("step.progress")).count(),
        2
    );
}

#[tokio::test(start_paused = true)]
async fn cancellation_is_recorded_from_request_to_end() {
    let gate = Arc::new(gate());
    for (act, done) in [("wait", true), ("ignore", false)] {
        let (scope, cancel) = (gate.scope(), CancelToken::new());
        let call = {
            let (gate, cancel) = (gate.clone(), cancel.clone());
            tokio::spawn(
                async move { gate.call_in(&scope, "test.look", json!({ "act": act }), cancel).await },
            )
        };
        gate.work.waiting.notified().await;
        cancel.cancel(CancelCause::Run);
        let result = call.await.unwrap();
        assert_eq!(result.error.as_ref().unwrap().kind, Some(Failure::Canceled));
        let facts = result.cancellation.unwrap();
        assert_eq!((facts.acknowledged_at.is_some(), facts.done), (done, done), "{act}");
    }
}

#[tokio::test]
async fn a_result_is_mapped_once() {
    let gate = gate();
    let scope = gate.scope();
    let result = gate.call_in(&scope, "test.look", json!({"text": "once"}), CancelToken::new()).await;
    let recorded: ToolResult = serde_json::from_str(&scope.journal().lines(Kind::Result)[0]).unwrap();
    assert_eq!(recorded, result);
    assert_eq!(gate.work.mapped.load(std::sync::atomic::Ordering::SeqCst), 1);
    let canonical = result.canonical.unwrap();
    assert_eq!(canonical.result, result.data);
    assert_eq!(canonical.summary_text, "Did once");
    assert_eq!(result.receipt.as_deref(), Some("Did once\ntext: once\ncount: 1\nitems: []"));
}

#[tokio::test]
async fn an_output_changed_by_a_post_hook_is_recorded_and_mapped_again() {
    let gate = with_hooks(vec![Hooked::after("editor", |output| {
        let mut changed = output.clone();
        changed["text"] = "twice".into();
        Ok(AfterReply {
            updated_output: Some(changed),
            reason: Some("better".to_owned()),
            ..Default::default()
        })
    })]);
    let result = gate.call("test.look", json!({"text": "once"})).await;
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

#[tokio::test]
async fn a_large_result_is_stored_once_by_its_hash() {
    let gate = gate();
    let scope = gate.scope();
    let result = gate.call_in(&scope, "test.look", json!({"act": "big"}), CancelToken::new()).await;
    let kept = result.data_ref.clone().unwrap();
    assert_eq!(result.data_hash, Some(kept.hash));
    let line = &scope.journal().lines(Kind::Result)[0];
    assert!(line.len() < 5000, "the line holds a reference, not the data");
    let recorded: ToolResult = serde_json::from_str(line).unwrap();
    assert_eq!((recorded.data, recorded.data_ref), (None, Some(kept)));
    assert!(result.data.is_some(), "later steps still read the whole");
}

#[tokio::test]
async fn a_context_change_of_a_serial_call_is_honoured() {
    let gate = gate();
    let scope = gate.scope();
    let first = gate
        .call_in(&scope, "test.alone", json!({"act": "context", "text": "a mark"}), CancelToken::new())
        .await;
    let second = gate.call_in(&scope, "test.look", json!({}), CancelToken::new()).await;
    assert!(first.context_modifiers[0].applied);
    assert_eq!(second.data.unwrap()["seen"], "a mark");
}

#[tokio::test]
async fn a_context_change_of_a_concurrent_call_is_deferred_and_recorded() {
    let gate = gate();
    let scope = gate.scope();
    let first = gate
        .call_in(&scope, "test.write", json!({"act": "context", "text": "a mark"}), CancelToken::new())
        .await;
    let second = gate.call_in(&scope, "test.look", json!({}), CancelToken::new()).await;
    assert!(!first.context_modifiers[0].applied);
    assert_eq!(second.data.unwrap().get("seen"), None);
}

#[tokio::test]
async fn an_effect_waits_until_its_intent_is_on_disk_and_the_answer_until_its_result_is() {
    let folder = tempfile::tempdir().unwrap();
    let run_dir = folder.path().join("runs").join("run");
    let gate = gate();
    let scope = gate.scope_in(&run_dir);
    *gate.work.run_dir.lock().unwrap() = Some(run_dir.clone());
    let result = gate.call_in(&scope, "test.write", json!({"text": "a"}), CancelToken::new()).await;
    assert_eq!(*gate.work.on_disk.lock().unwrap(), [true], "the tool ran before its call was written down");
    let kept = journal::RunFolder::open(&run_dir).unwrap();
    let recorded = kept.records().unwrap().filter_map(|entry| match entry.unwrap().record {
        journal::Record::Result(result) => Some(*result),
        journal::Record::Call(_) | journal::Record::Event(_) => None,
    });
    assert_eq!(recorded.collect::<Vec<_>>(), [result], "the answer came before its record");
}

#[tokio::test]
async fn a_tool_hears_of_its_result_when_it_is_on_record_and_only_then() {
    let gate = gate();
    gate.call("test.write", json!({"text": "kept"})).await;
    gate.call("test.write", json!({"text": "lost", "act": "breakSchema"})).await;
    assert_eq!(*gate.work.recorded.lock().unwrap(), ["kept"]);
    let censor = Hooked::after("censor", |_| Ok(AfterReply { stop: true, ..Default::default() }));
    let gate = Build { hooks: vec![Arc::new(censor)], ..Build::default() }.gate();
    let result = gate.call("test.write", json!({"text": "withheld"})).await;
    assert_eq!((result.ok, gate.work.ended().len()), (false, 1));
    assert_eq!(*gate.work.recorded.lock().unwrap(), [] as [&str; 0]);
}

#[tokio::test]
async fn authority_is_never_taken_from_the_caller() {
    let gate = Build { policy: Policy::cautious(), people: People::no(), ..Build::default() }.gate();
    let mut call = support::tool_call("test.write", json!({"text": "x"}));
    call.confirmation_id = Some(envelope::ConfirmationId::parse("i-say-so").unwrap());
    call.category = Some("harmless".into());
    call.risk_level = envelope::Risk::ReadOnly;
    let scope = gate.scope();
    let result = gate.engine.run_call(&scope, engine::CallRequest::new(call, CancelToken::new())).await;
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
    let gate = Build { hooks: vec![Arc::new(hook)], ..Build::default() }.gate();
    let result = gate.call("test.write", json!({"text": "q"})).await;
    assert!(!result.ok);
    assert_eq!(gate.results().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn work_that_cannot_be_stopped_keeps_its_paths_closed() {
    let gate = Arc::new(gate());
    let scope = gate.scope();
    let late = gate
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
        let (gate, scope) = (gate.clone(), scope.clone());
        tokio::spawn(async move {
            gate.call_in(&scope, "test.write", json!({"text": "next", "path": "a"}), CancelToken::new())
                .await
                .ok
        })
    };
    assert!(
        gate.call_in(&scope, "test.write", json!({"text": "other", "path": "b"}), CancelToken::new())
            .await
            .ok
    );
    assert_eq!(gate.work.ended(), ["other"]);
    gate.work.open.notify_one();
    assert!(next.await.unwrap());
    assert_eq!(gate.work.ended(), ["other", "late", "next"]);
}
