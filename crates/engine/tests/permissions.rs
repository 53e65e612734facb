//! Who has to say yes: rules, modes, hooks and plans, none of which answers for another.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::sync::Arc;

use engine::{
    Answer, BeforeReply, CallRequest, Hook, HookDecision, Mode, Policy, Rule, RuleEffect, RunPlace, Verdict,
};
use envelope::{Channel, Failure, Phase, ToolCall, ToolResult};
use expect_test::{Expect, expect};
use journal::Kind;
use plan::RunStatus;
use serde_json::json;
use support::{Build, Gate, Hooked, People, plan, tool_call};
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

fn remembering() -> People {
    People::new(
        || Answer::Yes { channel: Channel::Embedder },
        || Verdict::Remember { channel: Channel::Embedder },
    )
}

fn with_rules(mode: Mode, rules: Vec<Rule>, people: People) -> Gate {
    Build { policy: Policy { mode, rules, ..Policy::cautious() }, people, ..Build::default() }.gate()
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
    let gate =
        Build { policy, hooks: vec![asker("audit", "routine")], people: remembering(), ..Build::default() }
            .gate();
    let public = gate.call("test.write", json!({"path": "Public/x"})).await;
    let private = gate.call("test.write", json!({"path": "Private/x"})).await;
    let again = gate.call("test.write", json!({"path": "Private/y"})).await;
    assert_eq!(
        gate.people.asked(),
        ["test.write: Do  because hook `audit` (routine)", "test.write: Do  because rule 1"]
    );
    assert_eq!(
        [said(&public), said(&private), said(&again)],
        [
            "allowed: mode trusted; hook `audit` (routine): approved and remembered (embedder)",
            "hook `audit` (routine): a remembered yes; rule 1: approved and remembered (embedder)",
            "rule 1: a remembered yes; hook `audit` (routine): a remembered yes",
        ]
    );
}

#[tokio::test]
async fn every_open_reason_stands_in_one_question_and_is_remembered() {
    let policy =
        Policy { rules: vec![asks(&["test.*"], &[]), asks(&[], &["Private/**"])], ..Policy::cautious() };
    let hooks = vec![asker("first", "a"), asker("second", "b")];
    let gate = Build { policy, hooks, people: remembering(), ..Build::default() }.gate();
    assert!(gate.call("test.write", json!({"path": "Private/x"})).await.ok);
    assert_eq!(
        gate.people.asked(),
        ["test.write: Do  because rule 1; rule 2; mode ask; hook `first` (a); hook `second` (b)"]
    );
    assert!(gate.call("test.write", json!({"path": "Private/y"})).await.ok);
    assert_eq!(gate.people.asked().len(), 1);
}

#[tokio::test]
async fn a_remembered_yes_to_a_rule_does_not_answer_for_the_mode() {
    let gate = with_rules(Mode::Ask, vec![asks(&[], &["Private/**"])], remembering());
    gate.call("test.write", json!({"path": "Private/x"})).await;
    assert_eq!(gate.people.asked(), ["test.write: Do  because rule 1; mode ask"]);
    // A rule that allows takes the mode's place; one that asks does not.
    let rules = vec![asks(&[], &["Private/**"]), rule(RuleEffect::Allow, &["test.*"], &[])];
    let gate = with_rules(Mode::Ask, rules, remembering());
    gate.call("test.write", json!({"path": "Private/x"})).await;
    assert_eq!(gate.people.asked(), ["test.write: Do  because rule 1"]);
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
        let gate = with_rules(mode, rules.clone(), People::yes());
        assert_eq!(gate.run(&step, RunPlace::Memory).await.status, RunStatus::Ok);
        let asked = gate.people.asked();
        assert_eq!(asked.len(), 2, "{rules:?} {asked:?}");
        assert_eq!(asked[1], format!("test.write: Do  because {reasons}"));
        // Who says yes to the plan and no to the path has said no.
        let people = People::new(
            || Answer::Yes { channel: Channel::Embedder },
            || Verdict::Reject { reason: "not there".to_owned() },
        );
        let gate = with_rules(mode, rules, people);
        assert_eq!(gate.run(&step, RunPlace::Memory).await.status, RunStatus::Failed);
        assert_eq!(kind(&gate.results()[0]), Some(Failure::ApprovalRejected));
        assert_eq!(gate.work.begun(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn the_yes_to_a_plan_covers_the_mode_and_rules_about_tools() {
    let gate = with_rules(Mode::Ask, vec![asks(&["test.*"], &[])], People::yes());
    let steps = plan(json!([{ "id": "a", "tool": "test.write", "args": { "path": "Public/x" } }]));
    let report = gate.run(&steps, RunPlace::Memory).await;
    assert_eq!(gate.people.asked().len(), 1);
    let id = report.confirmation_id.unwrap();
    assert_eq!(said(&gate.results()[0]), format!("rule 1: confirmed ({id}); mode ask: confirmed ({id})"));
}

#[tokio::test]
async fn the_yes_to_a_plan_does_not_cover_a_hook_that_asks() {
    let policy = Policy::cautious();
    let hooks = vec![asker("audit", "routine")];
    let gate = Build { policy, hooks, people: People::yes(), ..Build::default() }.gate();
    gate.run(&plan(json!([{ "id": "a", "tool": "test.write", "args": {} }])), RunPlace::Memory).await;
    assert_eq!(gate.people.asked()[1..], ["test.write: Do  because hook `audit` (routine)"]);
}

#[tokio::test]
async fn one_hook_that_passes_does_not_take_back_what_another_asks() {
    let passes = || Arc::new(Hooked::before("calm", |_| Ok(BeforeReply::default()))) as Arc<dyn Hook>;
    let denies: Arc<dyn Hook> = Arc::new(Hooked::before("guard", |_| {
        Ok(BeforeReply { decision: HookDecision::Deny, ..Default::default() })
    }));
    let call = async |hooks: Vec<Arc<dyn Hook>>| {
        let gate = Build { hooks, people: People::no(), ..Build::default() }.gate();
        kind(&gate.call("test.look", json!({})).await)
    };
    assert_eq!(call(vec![asker("audit", "a"), passes()]).await, Some(Failure::ApprovalRejected));
    assert_eq!(call(vec![denies, asker("audit", "a"), passes()]).await, Some(Failure::PermissionDenied));
}

/// Whether a rule on `pattern` stops a write on `path`, for rules that deny and for rules that ask.
async fn stops(pattern: &str, path: &str) -> bool {
    let write = async |effect: RuleEffect| {
        let gate = with_rules(Mode::Trusted, vec![rule(effect, &[], &[pattern])], People::no());
        let result = gate.call("test.write", json!({ "path": path })).await;
        assert_eq!(gate.work.begun().is_empty(), !result.ok);
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
    let gate = with_rules(Mode::Ask, vec![rule(RuleEffect::Allow, &[], &["Private/Keys/**"])], People::no());
    assert!(gate.call("test.write", json!({"path": "Private/keys/x"})).await.ok);
    for args in [json!({"path": "Private"}), json!({"path": "Private/x"}), json!({})] {
        assert_eq!(kind(&gate.call("test.write", args).await), Some(Failure::ApprovalRejected));
    }
}

#[tokio::test]
async fn the_question_about_one_call_shows_what_the_tool_will_do_before_what_the_plan_says() {
    let gate = with_rules(Mode::Trusted, vec![asks(&[], &["Private/**"])], People::yes());
    let steps = plan(json!([
        { "id": "a", "tool": "test.write", "args": { "text": "erase all", "path": "Private/x" },
          "preview": "Tidy up\u{202e} a little" }
    ]));
    gate.run(&steps, RunPlace::Memory).await;
    assert_eq!(
        gate.people.asked(),
        ["test.write: Do erase all (the plan says: Tidy up\\u{202e} a little) because rule 1"]
    );
}

async fn question(plan: serde_json::Value, expected: Expect) {
    let gate = with_rules(Mode::Ask, Vec::new(), People::no());
    let hash = gate.check(&plan).hash.to_string();
    gate.run(&plan, RunPlace::Memory).await;
    expected.assert_eq(&gate.people.asked()[0].replace(&hash, "<hash>"));
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
        let gate = Build { policy: Policy::cautious(), people: People::silent(), ..Build::default() }.gate();
        let cancel = CancelToken::new();
        cancel.cancel(cause);
        let result = gate.call_in(&gate.scope(), "test.write", json!({}), cancel).await;
        assert_eq!(kind(&result), Some(failure));
        assert_eq!(result.phases[5].phase, Phase::Permission);
        assert_eq!(gate.people.asked().len(), 1);
    }
}

#[tokio::test]
async fn what_a_tool_is_comes_from_its_declaration_and_not_from_the_caller() {
    let gate = with_rules(Mode::Trusted, Vec::new(), People::nobody());
    let mut call = tool_call("test_command", json!({"text": "x"}));
    (call.category, call.cancellable, call.args_hash) = (Some("harmless".into()), false, None);
    let scope = gate.scope();
    gate.engine.run_call(&scope, CallRequest::new(call, CancelToken::new())).await;
    let logged: ToolCall = serde_json::from_str(&scope.journal().lines(Kind::Call)[0]).unwrap();
    assert_eq!(
        (logged.tool.as_str(), logged.risk_level, logged.category.as_deref(), logged.cancellable),
        ("test.command", envelope::Risk::Commands, Some("test"), true)
    );
    assert_eq!(logged.args_hash, Some(envelope::canonical_hash(&json!({"text": "x"}))));
}
