//! Owners of questions: questions that end with their client, limits of each client, and remembered answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::approvals::FrontEnd;
use engine::{ApprovalRequest, Approver};
use envelope::ClientId;
use serde_json::json;
use tokio::join;

use super::{BrokerFixture, in_words, note, request};
use crate::approval_queue::{ANSWER_TIMEOUT, ApprovalAnswer, QUESTION_DEADLINE};

fn numbered(number: u32) -> ApprovalRequest {
    request(json!({ "number": number }))
}

/// Creates an fixture whose calls wait as long as with a server terminal.
fn with_terminal() -> BrokerFixture {
    BrokerFixture::with(QUESTION_DEADLINE, |broker| broker)
}

#[tokio::test(start_paused = true)]
async fn always_is_kept_by_identity_and_never_by_a_name_that_a_client_sends() {
    let fixture = BrokerFixture::new();
    let named = || ApprovalRequest { client: Some("claude-code 1".to_owned()), ..note() };
    assert_eq!(fixture.answered(&named(), ApprovalAnswer::Always).await, "remember (approve)");
    let other = fixture.client("laptop/3f2a91bc");
    assert!(
        in_words(other.approve(&named()).await).starts_with("unavailable"),
        "another client of the same name"
    );
    let renamed = ApprovalRequest { client: Some("codex 2".to_owned()), ..note() };
    assert_eq!(fixture.unanswered(&renamed).await, "once (approve)", "the same client under another name");
    let model = (fixture.broker.approvers())(&ClientId::default_token(), FrontEnd::Responses);
    assert!(
        in_words(model.approve(&named()).await).starts_with("unavailable"),
        "a model that is asked with the same token"
    );
    let successor = fixture.client("default/11111111");
    assert!(
        in_words(successor.approve(&named()).await).starts_with("unavailable"),
        "a later client of the same name"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_yes_and_a_no_are_for_the_client_that_asked() {
    let fixture = BrokerFixture::new();
    let other = fixture.client("laptop");
    fixture.unanswered(&note()).await;
    fixture.say(&fixture.only(), ApprovalAnswer::Yes);
    assert!(in_words(other.approve(&note()).await).starts_with("unavailable"));
    assert_eq!(fixture.unanswered(&note()).await, "once (approve)");
    assert_eq!(
        fixture.heard_for("default", &numbered(1), ApprovalAnswer::No).await,
        "no: declined through `tollgate approve`"
    );
    assert!(in_words(other.approve(&numbered(1)).await).starts_with("unavailable"), "it was not said no to");
}

#[tokio::test(start_paused = true)]
async fn one_client_cannot_fill_the_queue_for_the_others() {
    let fixture = BrokerFixture::new();
    let greedy = fixture.client("greedy");
    for number in 0..8 {
        greedy.approve(&numbered(number)).await;
    }
    assert_eq!(
        in_words(greedy.approve(&numbered(8)).await),
        "unavailable: the question cannot be queued: 8 questions of this client wait already; answer them with \
         `tollgate approve` first"
    );
    assert_eq!(fixture.heard_for("modest", &numbered(9), ApprovalAnswer::Yes).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn questions_are_shown_in_turn_and_one_that_stands_holds_up_no_other() {
    let fixture = with_terminal();
    let (greedy, modest) = (fixture.client("greedy"), fixture.client("modest"));
    let requests: Vec<ApprovalRequest> = (0..4).map(numbered).collect();
    let (one, two, three, four, ()) = join!(
        biased;
        greedy.approve(&requests[0]),
        greedy.approve(&requests[1]),
        greedy.approve(&requests[2]),
        modest.approve(&requests[3]),
        async {
            let first = fixture.broker.next_to_show().await;
            assert_eq!(first.subject.owner.as_str(), "greedy");
            // While it is shown at the terminal, another is answered through `tollgate approve`.
            let waiting = fixture.waiting();
            fixture.say(waiting.iter().find(|other| other.subject.owner.as_str() == "modest").unwrap(), ApprovalAnswer::Yes);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(fixture.waiting().len(), 3);
            assert!(fixture.broker.answer(&first.id, ApprovalAnswer::No));
            for _ in 0..2 {
                let next = fixture.broker.next_to_show().await;
                assert!(fixture.broker.answer(&next.id, ApprovalAnswer::Yes));
            }
        }
    );
    assert_eq!(
        [one, two, three, four].map(in_words),
        ["no: declined at the terminal", "once (terminal)", "once (terminal)", "once (approve)"]
    );
    let (one, two, three, ()) = join!(
        biased;
        greedy.approve(&requests[1]),
        greedy.approve(&requests[2]),
        modest.approve(&requests[3]),
        async {
            let mut shown = Vec::new();
            for _ in 0..3 {
                let next = fixture.broker.next_to_show().await;
                shown.push(next.subject.owner.to_string());
                assert!(fixture.broker.answer(&next.id, ApprovalAnswer::Yes));
            }
            assert_eq!(shown, ["modest", "greedy", "greedy"], "whoever had no turn yet comes first");
        }
    );
    assert_eq!([one, two, three].map(in_words), ["once (terminal)"; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_client_that_asked_it_and_a_later_yes_answers_nothing() {
    let fixture = with_terminal();
    let request = note();
    let mut shown = None;
    {
        let asking = fixture.approver.approve(&request);
        let (ended, question) = join!(
            biased;
            // As when the connection closes: the call is dropped.
            tokio::time::timeout(Duration::from_secs(30), asking),
            fixture.broker.next_to_show()
        );
        assert!(ended.is_err());
        shown.replace(question);
    }
    let question = shown.unwrap();
    fixture.broker.wait_until_ended(&question.id).await;
    assert!(!fixture.broker.answer(&question.id, ApprovalAnswer::Yes));
    assert_eq!(fixture.files(), [""; 0]);
    assert!(
        tokio::time::timeout(ANSWER_TIMEOUT, fixture.broker.next_to_show()).await.is_err(),
        "nothing is left to show"
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_at_the_terminal_ends_after_ten_minutes() {
    let fixture = with_terminal();
    let request = note();
    let before = tokio::time::Instant::now();
    let (verdict, question) = join!(biased; fixture.approver.approve(&request), async {
        let question = fixture.broker.next_to_show().await;
        fixture.broker.wait_until_ended(&question.id).await;
        question
    });
    assert_eq!(in_words(verdict), "unavailable: no answer came within 10 minutes");
    assert_eq!(before.elapsed(), QUESTION_DEADLINE);
    assert!(
        !fixture.broker.answer(&question.id, ApprovalAnswer::Yes),
        "eleven minutes later, a yes answers nothing"
    );
    assert_eq!(fixture.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_deadline_does_not_count_whatever_waits() {
    let fixture = with_terminal();
    let request = note();
    let (verdict, ()) = join!(biased; fixture.approver.approve(&request), async {
        let question = fixture.broker.next_to_show().await;
        // The machine slept: its clock is ahead of its timers.
        fixture.clock.advance_ms(601_000);
        assert!(!fixture.broker.answer(&question.id, ApprovalAnswer::Yes));
    });
    assert!(in_words(verdict).starts_with("unavailable"));
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts_and_the_question_is_withdrawn_from_the_others() {
    let fixture = with_terminal();
    let request = note();
    let (verdict, ()) = join!(biased; fixture.approver.approve(&request), async {
        let question = fixture.broker.next_to_show().await;
        fixture.say(&question, ApprovalAnswer::No);
        assert!(!fixture.broker.answer(&question.id, ApprovalAnswer::Yes), "somebody else was faster");
        fixture.broker.wait_until_ended(&question.id).await;
    });
    assert_eq!(in_words(verdict), "no: declined through `tollgate approve`");
    let another = numbered(7);
    let (verdict, ()) = join!(biased; fixture.approver.approve(&another), async {
        let question = fixture.broker.next_to_show().await;
        assert!(fixture.broker.answer(&question.id, ApprovalAnswer::Yes));
        assert!(!fixture.broker.answer(&question.id, ApprovalAnswer::No));
    });
    assert_eq!(in_words(verdict), "once (terminal)");
    assert_eq!(fixture.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_questions_of_a_client_whose_token_is_revoked_end_and_a_yes_comes_too_late() {
    let has_token = Arc::new(AtomicBool::new(true));
    let asked = has_token.clone();
    let is_client = move |client: &ClientId| client.as_str() != "laptop" || asked.load(Ordering::Relaxed);
    let fixture = BrokerFixture::with(QUESTION_DEADLINE, |broker| broker.for_clients(Arc::new(is_client)));
    let laptop = fixture.client("laptop");
    let (mine, other) = (note(), numbered(2));
    let (revoked, stays, ()) = join!(biased; laptop.approve(&mine), fixture.approver.approve(&other), async {
        let question = fixture.broker.next_to_show().await;
        assert_eq!(question.subject.owner.as_str(), "laptop");
        has_token.store(false, Ordering::Relaxed);
        // An approval at this very moment is too late: the token is checked first.
        fixture.say(&question, ApprovalAnswer::Yes);
        fixture.broker.wait_until_ended(&question.id).await;
        let next = fixture.broker.next_to_show().await;
        assert_eq!(next.subject.owner.as_str(), "default");
        assert!(fixture.broker.answer(&next.id, ApprovalAnswer::Yes));
    });
    assert_eq!(in_words(revoked), "unavailable: the token of the client `laptop` has been revoked");
    assert_eq!(in_words(stays), "once (terminal)");
    assert_eq!(fixture.files(), [""; 0]);
}

impl BrokerFixture {
    /// Returns how a call of another client ends with this answer while it waits.
    async fn heard_for(&self, client: &str, request: &ApprovalRequest, word: ApprovalAnswer) -> String {
        let approver: Arc<dyn Approver> = self.client(client);
        let (verdict, ()) = join!(biased; approver.approve(request), async {
            let waiting = self.waiting();
            let own = waiting.iter().find(|question| question.subject.owner.as_str() == client);
            self.say(own.unwrap(), word);
        });
        in_words(verdict)
    }
}
