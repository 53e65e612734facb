//! Answers that come while a call waits, and later ones.

use std::time::Duration;

use engine::{ApprovalRequest, RememberScope};
use envelope::{Hash, ToolName};
use expect_test::expect;
use serde_json::json;

use super::{BrokerFixture, note, request};
use crate::approval_queue::ApprovalAnswer;

#[tokio::test(start_paused = true)]
async fn an_answer_during_the_wait_ends_it() {
    let fixture = BrokerFixture::new();
    assert_eq!(fixture.answered(&note(), ApprovalAnswer::Yes).await, "once (approve)");
    assert_eq!(fixture.files(), [""; 0]);
    assert_eq!(
        fixture.answered(&note(), ApprovalAnswer::No).await,
        "no: declined through `tollgate approve`"
    );
    assert_eq!(fixture.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_yes_that_comes_late_is_for_the_same_call_made_again_and_for_one_only() {
    let fixture = BrokerFixture::new();
    let said = fixture.unanswered(&note()).await;
    let question = fixture.only();
    expect![[r#"unavailable: no answer came within 45 seconds; you can answer with `tollgate approve ID` at a terminal within 10 minutes, and then the same call can be made again"#]]
        .assert_eq(&said.replace(&question.id, "ID"));
    fixture.say(&question, ApprovalAnswer::Yes);
    let before = tokio::time::Instant::now();
    assert_eq!(fixture.unanswered(&note()).await, "once (approve)");
    assert_eq!(before.elapsed(), Duration::ZERO, "it was there already");
    assert_eq!(fixture.files(), [""; 0]);
    assert!(fixture.unanswered(&note()).await.starts_with("unavailable"), "it is used up");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_made_again_takes_its_question_up_again() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    let first = fixture.only();
    fixture.unanswered(&note()).await;
    assert_eq!(fixture.only(), first);
    // A question that would expire during the wait of a call is replaced.
    fixture.clock.advance_ms(9 * 60_000 + 30_000);
    fixture.unanswered(&note()).await;
    let ids: Vec<String> = fixture.waiting().into_iter().map(|question| question.id).collect();
    assert_eq!((ids.len(), &ids[0]), (2, &first.id));
}

#[tokio::test(start_paused = true)]
async fn a_late_yes_answers_nothing_else() {
    let change: [fn(&mut ApprovalRequest); 10] = [
        |request| request.client = Some("another".to_owned()),
        |request| request.policy = Hash::of(b"another rule 1"),
        |request| request.exact = Hash::of(b"looks the same"),
        |request| request.input["content"] = json!("y"),
        |request| request.input["path"] = json!("b.md"),
        |request| request.input["more"] = json!(null),
        |request| request.text.push('.'),
        |request| request.why.push('.'),
        |request| request.tool = ToolName::parse("vault.writeFile").unwrap(),
        |request| request.remembering = RememberScope::Nothing,
    ];
    for (number, change) in change.into_iter().enumerate() {
        let fixture = BrokerFixture::new();
        fixture.unanswered(&note()).await;
        fixture.say(&fixture.only(), ApprovalAnswer::Yes);
        let mut other = note();
        change(&mut other);
        assert!(fixture.unanswered(&other).await.starts_with("unavailable"), "{number}");
        assert_eq!(fixture.unanswered(&note()).await, "once (approve)", "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_order_of_keys_is_no_difference() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&request(json!({ "path": "a.md", "content": "x" }))).await;
    fixture.say(&fixture.only(), ApprovalAnswer::Yes);
    let again = request(json!({ "content": "x", "path": "a.md" }));
    assert_eq!(fixture.unanswered(&again).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_ends_with_its_question() {
    for word in [ApprovalAnswer::Yes, ApprovalAnswer::No] {
        let fixture = BrokerFixture::new();
        fixture.unanswered(&note()).await;
        fixture.say(&fixture.only(), word);
        fixture.clock.advance_ms(600_000);
        assert!(fixture.unanswered(&note()).await.starts_with("unavailable"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_holds_until_it_expires() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    fixture.say(&fixture.only(), ApprovalAnswer::No);
    assert_eq!(fixture.unanswered(&note()).await, "no: declined through `tollgate approve`");
    for _ in 0..2 {
        let again = "no: the answer to the same question was no, a few minutes ago";
        assert_eq!(fixture.unanswered(&note()).await, again);
    }
    assert!(
        fixture.unanswered(&request(json!({}))).await.starts_with("unavailable"),
        "that is another question"
    );
    fixture.clock.advance_ms(600_000);
    assert_eq!(fixture.answered(&note(), ApprovalAnswer::Yes).await, "once (approve)");
}
