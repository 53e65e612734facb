//! What an answer is for: the call that waits, or the same one made again.

use std::time::Duration;

use engine::{ApprovalRequest, Remembering};
use envelope::{Hash, ToolName};
use expect_test::expect;
use serde_json::json;

use super::{Office, note, request};
use crate::desk::Word;

#[tokio::test(start_paused = true)]
async fn an_answer_during_the_wait_ends_it() {
    let office = Office::new();
    assert_eq!(office.heard(&note(), Word::Yes).await, "once (approve)");
    assert_eq!(office.files(), [""; 0]);
    assert_eq!(office.heard(&note(), Word::No).await, "no: asked through `tollgate approve`");
    assert_eq!(office.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_yes_that_comes_late_is_for_the_same_call_made_again_and_for_one_only() {
    let office = Office::new();
    let said = office.unheard(&note()).await;
    let question = office.only();
    expect![[r#"nobody: no answer came within 45 seconds; a person can answer with `tollgate approve ID` at a terminal within 10 minutes, and then the same call can be made again"#]]
        .assert_eq(&said.replace(&question.id, "ID"));
    office.say(&question, Word::Yes);
    let before = tokio::time::Instant::now();
    assert_eq!(office.unheard(&note()).await, "once (approve)");
    assert_eq!(before.elapsed(), Duration::ZERO, "it was there already");
    assert_eq!(office.files(), [""; 0]);
    assert!(office.unheard(&note()).await.starts_with("nobody"), "it is used up");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_made_again_takes_its_question_up_again() {
    let office = Office::new();
    office.unheard(&note()).await;
    let first = office.only();
    office.unheard(&note()).await;
    assert_eq!(office.only(), first);
    // Whoever could not be answered to the end of its wait gets a fresh one.
    office.clock.advance_ms(9 * 60_000 + 30_000);
    office.unheard(&note()).await;
    let ids: Vec<String> = office.waiting().into_iter().map(|question| question.id).collect();
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
        |request| request.remembering = Remembering::Nothing,
    ];
    for (number, change) in change.into_iter().enumerate() {
        let office = Office::new();
        office.unheard(&note()).await;
        office.say(&office.only(), Word::Yes);
        let mut other = note();
        change(&mut other);
        assert!(office.unheard(&other).await.starts_with("nobody"), "{number}");
        assert_eq!(office.unheard(&note()).await, "once (approve)", "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_order_of_keys_is_no_difference() {
    let office = Office::new();
    office.unheard(&request(json!({ "path": "a.md", "content": "x" }))).await;
    office.say(&office.only(), Word::Yes);
    let again = request(json!({ "content": "x", "path": "a.md" }));
    assert_eq!(office.unheard(&again).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_ends_with_its_question() {
    for word in [Word::Yes, Word::No] {
        let office = Office::new();
        office.unheard(&note()).await;
        office.say(&office.only(), word);
        office.clock.advance_ms(600_000);
        assert!(office.unheard(&note()).await.starts_with("nobody"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_holds_until_it_expires() {
    let office = Office::new();
    office.unheard(&note()).await;
    office.say(&office.only(), Word::No);
    assert_eq!(office.unheard(&note()).await, "no: asked through `tollgate approve`");
    for _ in 0..2 {
        let again = "no: the answer to the same question was no, a few minutes ago";
        assert_eq!(office.unheard(&note()).await, again);
    }
    assert!(office.unheard(&request(json!({}))).await.starts_with("nobody"), "that is another question");
    office.clock.advance_ms(600_000);
    assert_eq!(office.heard(&note(), Word::Yes).await, "once (approve)");
}
