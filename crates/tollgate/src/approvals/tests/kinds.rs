//! Plans and uncertain calls, and how a question is shown.

use engine::{Answer, ApprovalRequest, ConfirmRequest, UncertainCall, UncertainVerdict};
use envelope::{CallId, Hash, Risk, RunId, StepId, ToolName};
use expect_test::expect;
use serde_json::json;

use super::{Office, note};
use crate::desk::{self, Question, Word};
use crate::screen::Paint;

#[tokio::test(start_paused = true)]
async fn a_yes_to_a_plan_is_bound_to_the_plan_and_to_what_was_shown() {
    let office = Office::new();
    let plan = |text: &str, binding: &str| ConfirmRequest {
        run_id: RunId::parse("01890000-0000-7000-8000-000000000001").unwrap(),
        text: text.to_owned(),
        binding: Hash::of(binding.as_bytes()),
        whole_plan: true,
        risk: Risk::Writes,
        client: None,
    };
    let ended = |answer: Answer| match answer {
        Answer::Yes { channel } => format!("yes {channel:?}"),
        Answer::No { .. } => "no".to_owned(),
        Answer::Nobody { .. } => "nobody".to_owned(),
    };
    assert_eq!(ended(office.desk.confirm(&plan("two notes", "p")).await), "nobody");
    office.say(&office.only(), Word::Yes);
    assert_eq!(ended(office.desk.confirm(&plan("two notes", "q")).await), "nobody");
    assert_eq!(ended(office.desk.confirm(&plan("two files", "p")).await), "nobody");
    let from = |client: &str| ConfirmRequest { client: Some(client.to_owned()), ..plan("two notes", "p") };
    assert_eq!(ended(office.desk.confirm(&from("another")).await), "nobody");
    assert_eq!(ended(office.desk.confirm(&plan("two notes", "p")).await), "yes Approve");
}

#[tokio::test(start_paused = true)]
async fn a_question_says_who_asks() {
    let office = Office::new();
    office.unheard(&note()).await;
    assert_eq!(office.only().subject.client, "a client");
    let office = Office::new();
    let request = ApprovalRequest { client: Some("claude-code 2.1".to_owned()), ..note() };
    office.unheard(&request).await;
    let question = office.only();
    assert_eq!(question.subject.client, "claude-code 2.1");
    let shown = desk::asked(&question, Paint::plain());
    assert!(shown.contains(" from claude-code 2.1, about /notes"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_call_is_left_unless_a_person_says_otherwise() {
    let office = Office::new();
    let call = UncertainCall {
        call_id: CallId::parse("01890000-0000-7000-8000-000000000002").unwrap(),
        step_id: StepId::parse("send").unwrap(),
        tool: ToolName::parse("ExecCommand").unwrap(),
        input: json!({}),
        why: "no trace".to_owned(),
    };
    assert!(matches!(office.desk.settle(&call).await, UncertainVerdict::Leave));
    office.say(&office.only(), Word::Yes);
    assert!(matches!(office.desk.settle(&call).await, UncertainVerdict::Run));
}

#[test]
fn a_question_is_shown_whole_and_forges_no_line() {
    let long = "x".repeat(5000);
    let about = json!({
        "kind": "call", "tool": "ExecCommand", "text": "Runs `a\u{1b}[2J`\nInput: {}", "why": "it \u{1b}[2Jasks",
        "input": { "cmd": format!("echo \u{202e}{long}") }, "exact": Hash::of(b""), "policy": Hash::of(b""), "keeping": "nothing",
    });
    let question: Question = serde_json::from_value(json!({
        "id": "7k2m9x4p", "nonce": "secret", "askedAt": "2026-01-02T03:04:05Z", "expiresAt": "2026-01-02T03:14:05Z",
        "subject": { "vault": "/my\nnotes", "owner": "default", "client": "a\u{200b}b", "about": about },
    }))
    .unwrap();
    let shown = desk::asked(&question, Paint::plain());
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    expect![[r#"
        Runs `a\u{1b}[2J`
        Input: {}"#]]
    .assert_eq(&lines.join("\n").replace(&long, "LONG"));
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("7k2m9x4p from a\\u{200b}b, about /my\\nnotes, asked at "), "{first}");
    assert_eq!(desk::choices_of(&question.subject.about), "May this call run? [y]es once, [N]o");
    assert!(!desk::as_json(&question).to_string().contains("secret"));
}
