//! Whose question it is: what ends with its client, what is shared out between clients, and what is kept for one alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::{ApprovalRequest, Approver};
use envelope::ClientId;
use gateway::FrontEnd;
use serde_json::json;
use tokio::join;

use super::{Office, in_words, note, request};
use crate::desk::{LIFE, WAIT, Word};

fn numbered(number: u32) -> ApprovalRequest {
    request(json!({ "number": number }))
}

/// An office whose calls wait as long as they do where the server has a terminal.
fn with_terminal() -> Office {
    Office::with(LIFE, |broker| broker)
}

#[tokio::test(start_paused = true)]
async fn always_is_kept_by_identity_and_never_by_a_name_that_a_client_sends() {
    let office = Office::new();
    let named = || ApprovalRequest { client: Some("claude-code 1".to_owned()), ..note() };
    assert_eq!(office.heard(&named(), Word::Always).await, "remember (approve)");
    let other = office.client("laptop/3f2a91bc");
    assert!(in_words(other.approve(&named()).await).starts_with("nobody"), "another client of the same name");
    let renamed = ApprovalRequest { client: Some("codex 2".to_owned()), ..note() };
    assert_eq!(office.unheard(&renamed).await, "once (approve)", "the same client under another name");
    let model = (office.broker.approvers())(&ClientId::default_token(), FrontEnd::Responses);
    assert!(
        in_words(model.approve(&named()).await).starts_with("nobody"),
        "a model that is asked with the same token"
    );
    let successor = office.client("default/11111111");
    assert!(
        in_words(successor.approve(&named()).await).starts_with("nobody"),
        "a later client of the same name"
    );
}

#[tokio::test(start_paused = true)]
async fn a_late_yes_and_a_no_are_for_the_client_that_asked() {
    let office = Office::new();
    let other = office.client("laptop");
    office.unheard(&note()).await;
    office.say(&office.only(), Word::Yes);
    assert!(in_words(other.approve(&note()).await).starts_with("nobody"));
    assert_eq!(office.unheard(&note()).await, "once (approve)");
    assert_eq!(
        office.heard_for("default", &numbered(1), Word::No).await,
        "no: asked through `tollgate approve`"
    );
    assert!(in_words(other.approve(&numbered(1)).await).starts_with("nobody"), "it was not said no to");
}

#[tokio::test(start_paused = true)]
async fn one_client_cannot_fill_the_queue_for_the_others() {
    let office = Office::new();
    let greedy = office.client("greedy");
    for number in 0..8 {
        greedy.approve(&numbered(number)).await;
    }
    assert_eq!(
        in_words(greedy.approve(&numbered(8)).await),
        "nobody: the question cannot be laid down: 8 questions of this client wait already; answer them with \
         `tollgate approve` first"
    );
    assert_eq!(office.heard_for("modest", &numbered(9), Word::Yes).await, "once (approve)");
}

#[tokio::test(start_paused = true)]
async fn questions_are_shown_in_turn_and_one_that_stands_holds_up_no_other() {
    let office = with_terminal();
    let (greedy, modest) = (office.client("greedy"), office.client("modest"));
    let requests: Vec<ApprovalRequest> = (0..4).map(numbered).collect();
    let (one, two, three, four, ()) = join!(
        biased;
        greedy.approve(&requests[0]),
        greedy.approve(&requests[1]),
        greedy.approve(&requests[2]),
        modest.approve(&requests[3]),
        async {
            let first = office.broker.next_to_show().await;
            assert_eq!(first.subject.owner.as_str(), "greedy");
            // While it stands at the terminal, another is answered through `tollgate approve`.
            let waiting = office.waiting();
            office.say(waiting.iter().find(|other| other.subject.owner.as_str() == "modest").unwrap(), Word::Yes);
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(office.waiting().len(), 3);
            assert!(office.broker.answer(&first.id, Word::No));
            for _ in 0..2 {
                let next = office.broker.next_to_show().await;
                assert!(office.broker.answer(&next.id, Word::Yes));
            }
        }
    );
    assert_eq!(
        [one, two, three, four].map(in_words),
        ["no: asked at the terminal", "once (terminal)", "once (terminal)", "once (approve)"]
    );
    let (one, two, three, ()) = join!(
        biased;
        greedy.approve(&requests[1]),
        greedy.approve(&requests[2]),
        modest.approve(&requests[3]),
        async {
            let mut shown = Vec::new();
            for _ in 0..3 {
                let next = office.broker.next_to_show().await;
                shown.push(next.subject.owner.to_string());
                assert!(office.broker.answer(&next.id, Word::Yes));
            }
            assert_eq!(shown, ["modest", "greedy", "greedy"], "whoever had no turn yet comes first");
        }
    );
    assert_eq!([one, two, three].map(in_words), ["once (terminal)"; 3]);
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_client_that_asked_it_and_a_later_yes_answers_nothing() {
    let office = with_terminal();
    let request = note();
    let mut shown = None;
    {
        let asking = office.desk.approve(&request);
        let (ended, question) = join!(
            biased;
            // As when the connection closes: nobody waits for the call any more.
            tokio::time::timeout(Duration::from_secs(30), asking),
            office.broker.next_to_show()
        );
        assert!(ended.is_err());
        shown.replace(question);
    }
    let question = shown.unwrap();
    office.broker.ended(&question.id).await;
    assert!(!office.broker.answer(&question.id, Word::Yes));
    assert_eq!(office.files(), [""; 0]);
    assert!(
        tokio::time::timeout(WAIT, office.broker.next_to_show()).await.is_err(),
        "nothing is left to show"
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_at_the_terminal_ends_after_ten_minutes() {
    let office = with_terminal();
    let request = note();
    let before = tokio::time::Instant::now();
    let (verdict, question) = join!(biased; office.desk.approve(&request), async {
        let question = office.broker.next_to_show().await;
        office.broker.ended(&question.id).await;
        question
    });
    assert_eq!(in_words(verdict), "nobody: no answer came within 10 minutes");
    assert_eq!(before.elapsed(), LIFE);
    assert!(!office.broker.answer(&question.id, Word::Yes), "eleven minutes later, a yes answers nothing");
    assert_eq!(office.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_deadline_does_not_count_whatever_waits() {
    let office = with_terminal();
    let request = note();
    let (verdict, ()) = join!(biased; office.desk.approve(&request), async {
        let question = office.broker.next_to_show().await;
        // The machine slept: its clock is ahead of its timers.
        office.clock.advance_ms(601_000);
        assert!(!office.broker.answer(&question.id, Word::Yes));
    });
    assert!(in_words(verdict).starts_with("nobody"));
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_counts_and_the_question_is_withdrawn_from_the_others() {
    let office = with_terminal();
    let request = note();
    let (verdict, ()) = join!(biased; office.desk.approve(&request), async {
        let question = office.broker.next_to_show().await;
        office.say(&question, Word::No);
        assert!(!office.broker.answer(&question.id, Word::Yes), "somebody else was faster");
        office.broker.ended(&question.id).await;
    });
    assert_eq!(in_words(verdict), "no: asked through `tollgate approve`");
    let another = numbered(7);
    let (verdict, ()) = join!(biased; office.desk.approve(&another), async {
        let question = office.broker.next_to_show().await;
        assert!(office.broker.answer(&question.id, Word::Yes));
        assert!(!office.broker.answer(&question.id, Word::No));
    });
    assert_eq!(in_words(verdict), "once (terminal)");
    assert_eq!(office.files(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_questions_of_a_client_whose_token_is_revoked_end_and_a_yes_comes_too_late() {
    let has_token = Arc::new(AtomicBool::new(true));
    let asked = has_token.clone();
    let is_client = move |client: &ClientId| client.as_str() != "laptop" || asked.load(Ordering::Relaxed);
    let office = Office::with(LIFE, |broker| broker.for_clients(Arc::new(is_client)));
    let laptop = office.client("laptop");
    let (mine, other) = (note(), numbered(2));
    let (revoked, stays, ()) = join!(biased; laptop.approve(&mine), office.desk.approve(&other), async {
        let question = office.broker.next_to_show().await;
        assert_eq!(question.subject.owner.as_str(), "laptop");
        has_token.store(false, Ordering::Relaxed);
        // A yes at this very moment is too late, too: the token is looked at first.
        office.say(&question, Word::Yes);
        office.broker.ended(&question.id).await;
        let next = office.broker.next_to_show().await;
        assert_eq!(next.subject.owner.as_str(), "default");
        assert!(office.broker.answer(&next.id, Word::Yes));
    });
    assert_eq!(in_words(revoked), "nobody: the token of the client `laptop` has been revoked");
    assert_eq!(in_words(stays), "once (terminal)");
    assert_eq!(office.files(), [""; 0]);
}

impl Office {
    /// How a call of another client ends when the person says this while it waits.
    async fn heard_for(&self, client: &str, request: &ApprovalRequest, word: Word) -> String {
        let approver: Arc<dyn Approver> = self.client(client);
        let (verdict, ()) = join!(biased; approver.approve(request), async {
            let waiting = self.waiting();
            let own = waiting.iter().find(|question| question.subject.owner.as_str() == client);
            self.say(own.unwrap(), word);
        });
        in_words(verdict)
    }
}
