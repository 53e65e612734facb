//! Questions about plans and uncertain calls, and their text.

use engine::{ApprovalRequest, ConfirmAnswer, ConfirmRequest, UncertainCall, UncertainDecision};
use envelope::{CallId, Hash, Risk, RunId, StepId, ToolName};
use expect_test::expect;
use serde_json::json;

use super::{BrokerFixture, note};
use crate::approval_queue::{self, ApprovalAnswer, ApprovalQuestion};
use crate::text_style::TextStyle;

#[tokio::test(start_paused = true)]
async fn a_yes_to_a_plan_is_bound_to_the_plan_and_to_what_was_shown() {
    let fixture = BrokerFixture::new();
    let plan = |text: &str, binding: &str| ConfirmRequest {
        run_id: RunId::parse("01890000-0000-7000-8000-000000000001").unwrap(),
        text: text.to_owned(),
        binding: Hash::of(binding.as_bytes()),
        whole_plan: true,
        risk: Risk::Writes,
        client: None,
    };
    let ended = |answer: ConfirmAnswer| match answer {
        ConfirmAnswer::Approved { channel } => format!("yes {channel:?}"),
        ConfirmAnswer::Declined { .. } => "no".to_owned(),
        ConfirmAnswer::Unavailable { .. } => "unavailable".to_owned(),
    };
    assert_eq!(ended(fixture.approver.confirm(&plan("two notes", "p")).await), "unavailable");
    fixture.say(&fixture.only(), ApprovalAnswer::Yes);
    assert_eq!(ended(fixture.approver.confirm(&plan("two notes", "q")).await), "unavailable");
    assert_eq!(ended(fixture.approver.confirm(&plan("two files", "p")).await), "unavailable");
    let from = |client: &str| ConfirmRequest { client: Some(client.to_owned()), ..plan("two notes", "p") };
    assert_eq!(ended(fixture.approver.confirm(&from("another")).await), "unavailable");
    assert_eq!(ended(fixture.approver.confirm(&plan("two notes", "p")).await), "yes Approve");
}

#[tokio::test(start_paused = true)]
async fn a_question_says_who_asks() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    assert_eq!(fixture.only().subject.client, "a client");
    let fixture = BrokerFixture::new();
    let request = ApprovalRequest { client: Some("claude-code 2.1".to_owned()), ..note() };
    fixture.unanswered(&request).await;
    let question = fixture.only();
    assert_eq!(question.subject.client, "claude-code 2.1");
    let shown = approval_queue::render_question(&question, TextStyle::plain());
    assert!(shown.contains(" from claude-code 2.1, about /notes"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn an_uncertain_call_is_left_unless_a_person_says_otherwise() {
    let fixture = BrokerFixture::new();
    let call = UncertainCall {
        call_id: CallId::parse("01890000-0000-7000-8000-000000000002").unwrap(),
        step_id: StepId::parse("send").unwrap(),
        tool: ToolName::parse("ExecCommand").unwrap(),
        input: json!({}),
        why: "no trace".to_owned(),
    };
    assert!(matches!(fixture.approver.settle(&call).await, UncertainDecision::Leave));
    fixture.say(&fixture.only(), ApprovalAnswer::Yes);
    assert!(matches!(fixture.approver.settle(&call).await, UncertainDecision::Run));
}

#[test]
fn a_question_is_shown_whole_and_forges_no_line() {
    let long = "x".repeat(5000);
    let about = json!({
        "kind": "call", "tool": "ExecCommand", "text": "Runs `a\u{1b}[2J`\nInput: {}", "why": "it \u{1b}[2Jasks",
        "input": { "cmd": format!("echo \u{202e}{long}") }, "exact": Hash::of(b""), "policy": Hash::of(b""), "keeping": "nothing",
    });
    let question: ApprovalQuestion = serde_json::from_value(json!({
        "id": "7k2m9x4p", "nonce": "secret", "askedAt": "2026-01-02T03:04:05Z", "expiresAt": "2026-01-02T03:14:05Z",
        "subject": { "vault": "/my\nnotes", "owner": "default", "client": "a\u{200b}b", "about": about },
    }))
    .unwrap();
    let shown = approval_queue::render_question(&question, TextStyle::plain());
    let lines: Vec<&str> = shown.lines().skip(1).collect();
    expect![[r#"
        Runs `a\u{1b}[2J`
        Input: {}"#]]
    .assert_eq(&lines.join("\n").replace(&long, "LONG"));
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("7k2m9x4p from a\\u{200b}b, about /my\\nnotes, asked at "), "{first}");
    assert_eq!(approval_queue::choices_of(&question.subject.about), "May this call run? [y]es once, [N]o");
    assert!(!approval_queue::question_json(&question).to_string().contains("secret"));
}
