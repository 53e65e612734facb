//! Many questions at once, and the end of those who asked.

use std::fs;
use std::time::Duration;

use engine::{ApprovalRequest, Remembering};
use envelope::{Hash, Timestamp};
use serde_json::json;
use tokio::join;

use super::{Office, in_words, note, request};
use crate::desk::{About, Word};

#[tokio::test(start_paused = true)]
async fn calls_that_ask_the_same_at_once_need_a_yes_each() {
    let office = Office::new();
    let same = note();
    let (one, two, ()) = join!(biased; office.desk.approve(&same), office.desk.approve(&same), async {
        let waiting = office.waiting();
        assert_eq!(waiting.len(), 2);
        office.say(&waiting[0], Word::Yes);
    });
    let mut ends = [in_words(one), in_words(two)];
    ends.sort();
    assert!(ends[0].starts_with("nobody") && ends[1] == "once (approve)", "{ends:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_that_ask_different_things_get_each_its_own_answer() {
    let office = Office::new();
    let (a, b) = (note(), request(json!({ "path": "b.md", "content": "x" })));
    let (one, two, ()) = join!(biased; office.desk.approve(&a), office.desk.approve(&b), async {
        for question in office.waiting() {
            let About::Call { input, .. } = &question.subject.about else { panic!("{question:?}") };
            office.say(&question, if input["path"] == "a.md" { Word::No } else { Word::Yes });
        }
    });
    assert_eq!([in_words(one), in_words(two)], ["no: asked through `tollgate approve`", "once (approve)"]);
}

#[tokio::test(start_paused = true)]
async fn always_also_answers_those_who_wait_for_the_same_reason() {
    let office = Office::new();
    let (a, b) = (note(), request(json!({ "path": "b.md", "content": "x" })));
    let (one, two, ()) = join!(biased; office.desk.approve(&a), office.desk.approve(&b), async {
        office.say(&office.waiting()[0], Word::Always);
    });
    let mut ends = [in_words(one), in_words(two)];
    ends.sort();
    assert_eq!(ends, ["once (approve)", "remember (approve)"]);
    assert_eq!(office.files(), [""; 0]);
    let mut other = note();
    other.why.push('!');
    assert!(office.unheard(&other).await.starts_with("nobody"));
}

#[tokio::test(start_paused = true)]
async fn always_ends_with_the_policy() {
    let office = Office::new();
    assert_eq!(office.heard(&note(), Word::Always).await, "remember (approve)");
    assert_eq!(office.unheard(&request(json!({ "path": "b.md" }))).await, "once (approve)");
    let changed = ApprovalRequest { policy: Hash::of(b"another rule 1"), ..note() };
    assert!(office.unheard(&changed).await.starts_with("nobody"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_remembered_is_allowed_once() {
    let office = Office::new();
    let wrapper = || ApprovalRequest { remembering: Remembering::Nothing, ..note() };
    assert_eq!(office.heard(&wrapper(), Word::Always).await, "once (approve)");
    assert!(office.unheard(&wrapper()).await.starts_with("nobody"));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_questions_is_not_laid_down() {
    let office = Office::new();
    for number in 0..32 {
        let client = office.client(&format!("client-{}", number / 8));
        client.approve(&request(json!({ "number": number }))).await;
    }
    assert_eq!(
        office.unheard(&request(json!({ "number": 32 }))).await,
        "nobody: the question cannot be laid down: 32 questions wait already; answer them with `tollgate approve` first"
    );
    assert_eq!(office.waiting().len(), 32);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_takes_its_question_along() {
    let office = Office::new();
    let request = note();
    let (ended, ()) = join!(
        biased;
        tokio::time::timeout(Duration::from_secs(1), office.desk.approve(&request)),
        async { assert_eq!(office.waiting().len(), 1) }
    );
    assert!(ended.is_err());
    assert_eq!(office.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn questions_end_with_the_process_that_asked_them() {
    let office = Office::new();
    office.unheard(&note()).await;
    let mut left = office.only();
    left.id = "00000000".to_owned();
    // As a crash leaves it: nobody holds its lock.
    drop(office.folder.put(&left).unwrap());
    office.say(&left, Word::Yes);
    let ids: Vec<String> = office.waiting().into_iter().map(|question| question.id).collect();
    assert!(ids.len() == 1 && !ids.contains(&left.id), "{ids:?}");
    let Office { home, folder, desk, broker, .. } = office;
    drop((desk, broker));
    assert_eq!(fs::read_dir(home.path().join("state/approvals")).unwrap().count(), 0);
    assert_eq!(folder.waiting(Timestamp::UNIX_EPOCH).unwrap(), []);
}
