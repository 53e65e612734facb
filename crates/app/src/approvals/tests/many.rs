//! Many questions at once, and questions of clients that leave.

use std::fs;
use std::time::Duration;

use engine::{ApprovalRequest, RememberScope};
use envelope::{Hash, Timestamp};
use serde_json::json;
use tokio::join;

use super::{BrokerFixture, in_words, note, request};
use crate::approval_queue::{ApprovalAnswer, QuestionTopic};

#[tokio::test(start_paused = true)]
async fn calls_that_ask_the_same_at_once_need_a_yes_each() {
    let fixture = BrokerFixture::new();
    let same = note();
    let (one, two, ()) = join!(biased; fixture.approver.approve(&same), fixture.approver.approve(&same), async {
        let waiting = fixture.waiting();
        assert_eq!(waiting.len(), 2);
        fixture.say(&waiting[0], ApprovalAnswer::Yes);
    });
    let mut ends = [in_words(one), in_words(two)];
    ends.sort();
    assert!(ends[0] == "once (approve)" && ends[1].starts_with("unavailable"), "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_ask_different_things_get_each_its_own_answer() {
    let fixture = BrokerFixture::new();
    let (a, b) = (note(), request(json!({ "path": "b.md", "content": "x" })));
    let (one, two, ()) = join!(biased; fixture.approver.approve(&a), fixture.approver.approve(&b), async {
        for question in fixture.waiting() {
            let QuestionTopic::Call { input, .. } = &question.subject.about else { panic!("{question:?}") };
            fixture.say(&question, if input["path"] == "a.md" { ApprovalAnswer::No } else { ApprovalAnswer::Yes });
        }
    });
    assert_eq!([in_words(one), in_words(two)], ["no: declined through `tollgate approve`", "once (approve)"]);
}

#[tokio::test(start_paused = true)]
async fn always_also_answers_those_who_wait_for_the_same_reason() {
    let fixture = BrokerFixture::new();
    let (a, b) = (note(), request(json!({ "path": "b.md", "content": "x" })));
    let (one, two, ()) = join!(biased; fixture.approver.approve(&a), fixture.approver.approve(&b), async {
        fixture.say(&fixture.waiting()[0], ApprovalAnswer::Always);
    });
    let mut ends = [in_words(one), in_words(two)];
    ends.sort();
    assert_eq!(ends, ["once (approve)", "remember (approve)"]);
    assert_eq!(fixture.files(), [""; 0]);
    let mut other = note();
    other.why.push('!');
    assert!(fixture.unanswered(&other).await.starts_with("unavailable"));
}

#[tokio::test(start_paused = true)]
async fn always_ends_with_the_policy() {
    let fixture = BrokerFixture::new();
    assert_eq!(fixture.answered(&note(), ApprovalAnswer::Always).await, "remember (approve)");
    assert_eq!(fixture.unanswered(&request(json!({ "path": "b.md" }))).await, "once (approve)");
    let changed = ApprovalRequest { policy: Hash::of(b"another rule 1"), ..note() };
    assert!(fixture.unanswered(&changed).await.starts_with("unavailable"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_remembered_is_allowed_once() {
    let fixture = BrokerFixture::new();
    let wrapper = || ApprovalRequest { remembering: RememberScope::Nothing, ..note() };
    assert_eq!(fixture.answered(&wrapper(), ApprovalAnswer::Always).await, "once (approve)");
    assert!(fixture.unanswered(&wrapper()).await.starts_with("unavailable"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_is_not_laid_down() {
    let fixture = BrokerFixture::new();
    for number in 0..32 {
        let client = fixture.client(&format!("client-{}", number / 8));
        client.approve(&request(json!({ "number": number }))).await;
    }
    assert_eq!(
        fixture.unanswered(&request(json!({ "number": 32 }))).await,
        "unavailable: the question cannot be queued: 32 questions wait already; answer them with `tollgate approve` first"
    );
    assert_eq!(fixture.waiting().len(), 32);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_takes_its_question_along() {
    let fixture = BrokerFixture::new();
    let request = note();
    let (ended, ()) = join!(
        biased;
        tokio::time::timeout(Duration::from_secs(1), fixture.approver.approve(&request)),
        async { assert_eq!(fixture.waiting().len(), 1) }
    );
    assert!(ended.is_err());
    assert_eq!(fixture.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn questions_end_with_the_process_that_asked_them() {
    let fixture = BrokerFixture::new();
    fixture.unanswered(&note()).await;
    let mut left = fixture.only();
    left.id = "00000000".to_owned();
    // As a crash leaves it: without a lock.
    drop(fixture.folder.add_question(&left).unwrap());
    fixture.say(&left, ApprovalAnswer::Yes);
    let ids: Vec<String> = fixture.waiting().into_iter().map(|question| question.id).collect();
    assert!(ids.len() == 1 && !ids.contains(&left.id), "{ids:?}");
    let BrokerFixture { home, folder, approver, broker, .. } = fixture;
    drop((approver, broker));
    assert_eq!(fs::read_dir(home.path().join("state/approvals")).unwrap().count(), 0);
    assert_eq!(folder.waiting(Timestamp::UNIX_EPOCH).unwrap(), []);
}
