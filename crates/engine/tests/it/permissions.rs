//! Permission: rules, modes, hooks and plans, each of which needs its own approval.

use std::sync::Arc;

use crate::support::{Build, Hooked, ScriptedApprover, TestEngine, plan, tool_call};
use engine::{
    ApprovalDecision, BeforeReply, ConfirmAnswer, Hook, HookDecision, Mode, Policy, Rule, RuleEffect,
    RunPlace,
};
use envelope::{ApprovalChannel, Failure, Phase, ToolResult};
use expect_test::{Expect, expect};
use journal::{JournalRecord, LogKind};
use plan::RunStatus;
use serde_json::json;
use toolkit::{CancelCause, CancelToken};

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

fn asks(tools: &[&str], paths: &[&str]) -> Rule {
    rule(RuleEffect::Ask, tools, paths)
}

fn asker(name: &'static str, reason: &'static str) -> Arc<dyn Hook> {
    Arc::new(Hooked::before(name, move |_| {
        let (decision, reason) = (HookDecision::Ask, Some(reason.to_owned()));
        Ok(BeforeReply { decision, reason, ..Default::default() })
    }))
}

fn remembering() -> ScriptedApprover {
    ScriptedApprover::new(
        || ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder },
        || ApprovalDecision::ApproveAndRemember { channel: ApprovalChannel::Embedder },
    )
}

fn with_rules(mode: Mode, rules: Vec<Rule>, approver: ScriptedApprover) -> TestEngine {
    Build { policy: Policy { mode, rules, ..Policy::cautious() }, approver, ..Build::default() }.test_engine()
}

fn said(result: &ToolResult) -> String {
    let fact = result.phases.iter().find(|fact| fact.phase == Phase::Permission).unwrap();
    fact.detail.clone().unwrap_or_default()
}

fn kind(result: &ToolResult) -> Option<Failure> {
    result.error.as_ref().and_then(|error| error.kind)
}

#[tokio::test]
async fn a_remembered_yes_to_a_hook_does_not_answer_a_rule() {
    let policy = Policy { rules: vec![asks(&[], &["Private/**"])], ..Build::default().policy };
    let test_engine =
        Build { policy, hooks: vec![asker("audit", "routine")], approver: remembering(), ..Build::default() }
            .test_engine();
    let public = test_engine.call("test.write", json!({"path": "Public/x"})).await;
    let private = test_engine.call("test.write", json!({"path": "Private/x"})).await;
    let again = test_engine.call("test.write", json!({"path": "Private/y"})).await;
    assert_eq!(
        test_engine.approver.asked(),
        ["test.write: Do  because hook `audit` (routine)", "test.write: Do  because rule 1"]
    );
    assert_eq!(
        [said(&public), said(&private), said(&again)],
        [
            "allowed: mode trusted; hook `audit` (routine): approved and remembered (embedder)",
            "hook `audit` (routine): a remembered approval; rule 1: approved and remembered (embedder)",
            "rule 1: a remembered approval; hook `audit` (routine): a remembered approval",
        ]
    );
}

#[tokio::test]
async fn every_open_reason_stands_in_one_question_and_is_remembered() {
    let policy =
        Policy { rules: vec![asks(&["test.*"], &[]), asks(&[], &["Private/**"])], ..Policy::cautious() };
    let hooks = vec![asker("first", "a"), asker("second", "b")];
    let test_engine = Build { policy, hooks, approver: remembering(), ..Build::default() }.test_engine();
    assert!(test_engine.call("test.write", json!({"path": "Private/x"})).await.ok);
    assert_eq!(
        test_engine.approver.asked(),
        ["test.write: Do  because rule 1; rule 2; mode ask; hook `first` (a); hook `second` (b)"]
    );
    assert!(test_engine.call("test.write", json!({"path": "Private/y"})).await.ok);
    assert_eq!(test_engine.approver.asked().len(), 1);
}

#[tokio::test]
async fn a_remembered_yes_to_a_rule_does_not_answer_for_the_mode() {
    let test_engine = with_rules(Mode::Ask, vec![asks(&[], &["Private/**"])], remembering());
    test_engine.call("test.write", json!({"path": "Private/x"})).await;
    assert_eq!(test_engine.approver.asked(), ["test.write: Do  because rule 1; mode ask"]);
    // A rule that allows takes the mode's place; one that asks does not.
    let rules = vec![asks(&[], &["Private/**"]), rule(RuleEffect::Allow, &["test.*"], &[])];
    let test_engine = with_rules(Mode::Ask, rules, remembering());
    test_engine.call("test.write", json!({"path": "Private/x"})).await;
    assert_eq!(test_engine.approver.asked(), ["test.write: Do  because rule 1"]);
}

#[tokio::test]
async fn the_yes_to_a_plan_does_not_cover_a_rule_about_paths() {
    let private = asks(&[], &["Private/**"]);
    for (mode, rules, reasons) in [
        (Mode::Ask, vec![private.clone()], "rule 1"),
        // A general rule that asks must not hide the one about paths.
        (Mode::Ask, vec![asks(&["test.*"], &[]), private.clone()], "rule 2"),
        (Mode::Ask, vec![private.clone(), asks(&["test.*"], &[])], "rule 1"),
        (Mode::Trusted, vec![asks(&["test.*"], &[]), private.clone()], "rule 2"),
    ] {
        let step = plan(json!([{ "id": "a", "tool": "test.write", "args": { "path": "Private/x" } }]));
        let test_engine = with_rules(mode, rules.clone(), ScriptedApprover::yes());
        assert_eq!(test_engine.run(&step, RunPlace::Memory).await.status, RunStatus::Ok);
        let asked = test_engine.approver.asked();
        assert_eq!(asked.len(), 2, "{rules:?} {asked:?}");
        assert_eq!(asked[1], format!("test.write: Do  because {reasons}"));
        // An approval of the plan does not override a refusal of the path.
        let approver = ScriptedApprover::new(
            || ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder },
            || ApprovalDecision::Reject { reason: "not there".to_owned() },
        );
        let test_engine = with_rules(mode, rules, approver);
        assert_eq!(test_engine.run(&step, RunPlace::Memory).await.status, RunStatus::Failed);
        assert_eq!(kind(&test_engine.results()[0]), Some(Failure::ApprovalRejected));
        assert_eq!(test_engine.work.begun(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn the_yes_to_a_plan_covers_the_mode_and_rules_about_tools() {
    let test_engine = with_rules(Mode::Ask, vec![asks(&["test.*"], &[])], ScriptedApprover::yes());
    let steps = plan(json!([{ "id": "a", "tool": "test.write", "args": { "path": "Public/x" } }]));
    let report = test_engine.run(&steps, RunPlace::Memory).await;
    assert_eq!(test_engine.approver.asked().len(), 1);
    let id = report.confirmation_id.unwrap();
    assert_eq!(
        said(&test_engine.results()[0]),
        format!("rule 1: confirmed ({id}); mode ask: confirmed ({id})")
    );
}

#[tokio::test]
async fn the_yes_to_a_plan_does_not_cover_a_hook_that_asks() {
    let policy = Policy::cautious();
    let hooks = vec![asker("audit", "routine")];
    let test_engine =
        Build { policy, hooks, approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    test_engine.run(&plan(json!([{ "id": "a", "tool": "test.write", "args": {} }])), RunPlace::Memory).await;
    assert_eq!(test_engine.approver.asked()[1..], ["test.write: Do  because hook `audit` (routine)"]);
}

#[tokio::test]
async fn one_hook_that_passes_does_not_take_back_what_another_asks() {
    let passes = || Arc::new(Hooked::before("calm", |_| Ok(BeforeReply::default()))) as Arc<dyn Hook>;
    let denies: Arc<dyn Hook> = Arc::new(Hooked::before("guard", |_| {
        Ok(BeforeReply { decision: HookDecision::Deny, ..Default::default() })
    }));
    let call = async |hooks: Vec<Arc<dyn Hook>>| {
        let test_engine = Build { hooks, approver: ScriptedApprover::no(), ..Build::default() }.test_engine();
        kind(&test_engine.call("test.look", json!({})).await)
    };
    assert_eq!(call(vec![asker("audit", "a"), passes()]).await, Some(Failure::ApprovalRejected));
    assert_eq!(call(vec![denies, asker("audit", "a"), passes()]).await, Some(Failure::PermissionDenied));
}

/// Whether a rule on `pattern` stops a write on `path`, for rules that deny and for rules that ask.
async fn stops(pattern: &str, path: &str) -> bool {
    let write = async |effect: RuleEffect| {
        let test_engine =
            with_rules(Mode::Trusted, vec![rule(effect, &[], &[pattern])], ScriptedApprover::no());
        let result = test_engine.call("test.write", json!({ "path": path })).await;
        assert_eq!(test_engine.work.begun().is_empty(), !result.ok);
        !result.ok
    };
    let (denied, asked) = (write(RuleEffect::Deny).await, write(RuleEffect::Ask).await);
    assert_eq!(denied, asked, "{pattern} {path}");
    denied
}

#[tokio::test]
async fn a_rule_on_something_in_a_folder_stops_a_call_on_the_folder() {
    assert!(stops("Private/Keys/**", "Private").await);
    assert!(stops("Private/Keys/id.key", "private").await);
    assert!(stops("**/*.key", "Private").await);
    assert!(!stops("Private/Keys/**", "Public").await);
    assert!(!stops("Private/Keys/**", "Private/Notes/a.md").await);
    assert!(!stops("**/*.key", "Private/a.md").await);
}

#[tokio::test]
async fn a_rule_holds_for_every_spelling_of_a_name() {
    assert!(stops("Prive\u{301}/**", "Priv\u{e9}/x.md").await);
    assert!(stops("Priv\u{e9}/**", "Prive\u{301}/x.md").await);
    assert!(stops("Größe/**", "GRÖSSE/x.md").await);
    assert!(stops("PRIVATE/**", "private/x.md").await);
    assert!(!stops("Größe/**", "Grosse/x.md").await);
}

#[tokio::test]
async fn a_rule_that_allows_does_not_reach_above_its_folder() {
    let test_engine = with_rules(
        Mode::Ask,
        vec![rule(RuleEffect::Allow, &[], &["Private/Keys/**"])],
        ScriptedApprover::no(),
    );
    assert!(test_engine.call("test.write", json!({"path": "Private/keys/x"})).await.ok);
    for args in [json!({"path": "Private"}), json!({"path": "Private/x"}), json!({})] {
        assert_eq!(kind(&test_engine.call("test.write", args).await), Some(Failure::ApprovalRejected));
    }
}

#[tokio::test]
async fn the_question_about_one_call_shows_what_the_tool_will_do_before_what_the_plan_says() {
    let test_engine = with_rules(Mode::Trusted, vec![asks(&[], &["Private/**"])], ScriptedApprover::yes());
    let steps = plan(json!([
        { "id": "a", "tool": "test.write", "args": { "text": "erase all", "path": "Private/x" },
          "preview": "Tidy up\u{202e} a little" }
    ]));
    test_engine.run(&steps, RunPlace::Memory).await;
    assert_eq!(
        test_engine.approver.asked(),
        ["test.write: Do erase all (the plan says: Tidy up\\u{202e} a little) because rule 1"]
    );
}

async fn question(plan: serde_json::Value, expected: Expect) {
    let test_engine = with_rules(Mode::Ask, Vec::new(), ScriptedApprover::no());
    let hash = test_engine.check(&plan).hash.to_string();
    test_engine.run(&plan, RunPlace::Memory).await;
    expected.assert_eq(&test_engine.approver.asked()[0].replace(&hash, "<hash>"));
}

#[tokio::test]
async fn the_question_about_a_plan_shows_everything_that_decides_its_effects() {
    let mut whole = plan(json!([
        { "id": "look", "tool": "test.look", "args": { "text": "{vars.where}" }, "timeoutMs": 50 },
        { "id": "write", "tool": "test.write", "args": { "text": "$vars.body", "path": "a.md" },
          "dependsOn": ["look"], "onError": "skip" },
        { "id": "again", "tool": "test.write", "args": { "text": "{n}" }, "preview": "Write it",
          "foreach": { "from": ["x", "y"], "itemName": "n" },
          "onError": "retry", "retry": { "maxAttempts": 3, "backoffMs": 200 } }
    ]));
    whole["vars"] = json!({ "where": "Inbox", "body": "b".repeat(420), "plain": [1, 2] });
    question(whole, expect![[r#"
        Goal: test the gate
        Risk: writes   Plan: <hash>
        Variables: 3
               where: "Inbox"
               body: "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (22 more characters)
               plain: [1,2]
        Steps: 3
          1. look [test.look read-only]: Do as told
               text: "{vars.where}"
               (may take 50 ms)
          2. write [test.write writes]: Do as told
               text: "$vars.body"
               path: "a.md"
               (after look)
               (if it fails, the rest goes on)
          3. again [test.write writes] for each n of ["x","y"]: Write it
               text: "{n}"
               (if it fails, up to 3 attempts, the second after 200 ms)
    "#]]).await;
}

#[tokio::test]
async fn no_text_of_a_plan_can_pass_for_a_line_of_the_question() {
    let mut whole = plan(json!([
        { "id": "a", "tool": "test.write", "args": { "text": "x\n  2. b" }, "preview": "Look\n  2. b [test.look read-only]: Look" }
    ]));
    whole["goal"] = "Read\nSteps: 0".into();
    whole["assumptions"] = json!(["none\r\nRisk: read-only"]);
    question(
        whole,
        expect![[r#"
        Goal: Read\nSteps: 0
        Risk: writes   Plan: <hash>
        Assumes: none\r\nRisk: read-only
        Steps: 1
          1. a [test.write writes]: Look\n  2. b [test.look read-only]: Look
               text: "x\n  2. b"
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_sibling_that_fails_while_the_person_is_asked_is_sibling_canceled() {
    for (cause, failure) in
        [(CancelCause::Sibling, Failure::SiblingCanceled), (CancelCause::Run, Failure::Canceled)]
    {
        let test_engine =
            Build { policy: Policy::cautious(), approver: ScriptedApprover::silent(), ..Build::default() }
                .test_engine();
        let cancel = CancelToken::new();
        cancel.cancel(cause);
        let result = test_engine.call_in(&test_engine.scope(), "test.write", json!({}), cancel).await;
        assert_eq!(kind(&result), Some(failure));
        assert_eq!(result.phases[5].phase, Phase::Permission);
        assert_eq!(test_engine.approver.asked().len(), 1);
    }
}

#[tokio::test]
async fn what_a_tool_is_comes_from_its_declaration_and_not_from_the_caller() {
    let test_engine = with_rules(Mode::Trusted, Vec::new(), ScriptedApprover::nobody());
    let mut call = tool_call("test_command", json!({"text": "x"}));
    (call.category, call.cancellable, call.args_hash) = (Some("harmless".into()), false, None);
    let scope = test_engine.scope();
    test_engine.engine.run_call(&scope, call, CancelToken::new()).await;
    let JournalRecord::Call(logged) = scope.journal().records(LogKind::Call).remove(0) else { panic!() };
    assert_eq!(
        (logged.tool.as_str(), logged.risk_level, logged.category.as_deref(), logged.cancellable),
        ("test.command", envelope::Risk::Commands, Some("test"), true)
    );
    assert_eq!(logged.args_hash, Some(envelope::canonical_hash(&json!({"text": "x"}))));
}
