//! Who is asked about a call that came from a client.
//!
//! The client's own person, where the client can ask and the policy takes its word. Otherwise, and whenever the client
//! did not get to ask, somebody whom no client can speak for. Silence is never a yes.
//!
//! Clients that run without a person (`codex exec`, `claude -p`) decline every question at once. A no that comes faster
//! than anybody can read counts as "not shown": it is not a person's no, and the question goes on to whoever answers
//! `tollgate approve`, within the same call. A yes that comes as fast is taken: the policy says that this client's word
//! counts, and one that agrees to everything is what `approval = "person"` is there to refuse.

use std::sync::Arc;
use std::time::Duration;

use engine::{
    Answer, ApprovalRequest, Approvals, Approver, ConfirmRequest, Remembering, UncertainCall,
    UncertainVerdict, Verdict, Voice,
};
use envelope::{Channel, Risk};
use tokio::sync::{mpsc, oneshot};
use toolkit::BoxFuture;

use super::question::{ClientAnswer, Question};
use super::wording;

/// A longer question is one that no dialog shows in full, so no client is given it.
const LONGEST: usize = 32 * 1024;
const MOST_LINES: usize = 1_000;
const CROWDED: &str = "too many calls wait for an answer already; answer those first, or have several changes approved \
     at once with plan_run";
const WAY_OUT: &str =
    "tell the person what you want to do and why; when they agree, make the same call again";
/// To see that a question has come up, take in its first line and press a key takes a person longer than this: a choice
/// between two keys alone takes some 400 ms.
const LEAST_READING: Duration = Duration::from_millis(500);
/// What each further character adds: ten times as fast as people read.
const READING_OF_ONE: Duration = Duration::from_micros(4_000);
/// A person may say no before the end of a long question.
const MOST_READING: Duration = Duration::from_millis(1_500);
const NOT_SHOWN: &str =
    "the client answered faster than a person can read, so the question was not shown there";

/// Answers for one call.
pub(super) struct ClientAsker {
    /// To whoever holds the client's request; absent where the client cannot ask.
    pub(super) client: Option<mpsc::Sender<Question>>,
    /// Asked where the client's word does not count or the client cannot ask.
    pub(super) desk: Arc<dyn Approver>,
    pub(super) approvals: Approvals,
    /// Whether a yes may be kept for later calls: not where anybody may claim to be the same client.
    pub(super) can_last: bool,
    /// How long an answer may take.
    pub(super) limit: Duration,
}

/// What asking the client came to.
enum Asked {
    Yes {
        lasting: bool,
    },
    No {
        reason: String,
    },
    /// There was no answer, which is not a person's no, and as little a yes.
    Unanswered {
        why: &'static str,
    },
    /// It was declined before anybody can have read it.
    NotShown,
    Not,
}

impl ClientAsker {
    async fn ask_client(&self, risk: Risk, text: String, can_last: bool) -> Asked {
        let Some(client) = &self.client else { return Asked::Not };
        let is_long = text.len() > LONGEST || text.lines().count() > MOST_LINES;
        if self.approvals.least(risk) != Voice::Client || is_long {
            return Asked::Not;
        }
        let reading = time_to_read(&text);
        let (reply, answer) = oneshot::channel();
        let asked_at = tokio::time::Instant::now();
        if client.send(Question { text, can_last, reply }).await.is_err() {
            return Asked::Not;
        }
        let answer = tokio::time::timeout(self.limit, answer).await;
        let took = asked_at.elapsed();
        match answer {
            Ok(Ok(ClientAnswer::Once)) => Asked::Yes { lasting: false },
            Ok(Ok(ClientAnswer::Session)) => Asked::Yes { lasting: true },
            Ok(Ok(ClientAnswer::No | ClientAnswer::Dismissed)) if took < reading => {
                let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                tracing::info!(millis, "a client declined a question that it cannot have shown");
                Asked::NotShown
            }
            Ok(Ok(ClientAnswer::No)) => Asked::No { reason: "declined in the client".to_owned() },
            // Clients that show nobody anything answer like this, too.
            Ok(Ok(ClientAnswer::Dismissed)) => {
                Asked::Unanswered { why: "the client put the question away without an answer" }
            }
            Ok(Ok(ClientAnswer::Unasked)) => Asked::Not,
            Ok(Ok(ClientAnswer::Crowded)) => Asked::Unanswered { why: CROWDED },
            Ok(Err(_gone)) => Asked::Unanswered { why: "the client went away before it answered" },
            Ok(Ok(ClientAnswer::Silent)) | Err(_) => Asked::Unanswered { why: "no answer came in time" },
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> Verdict {
        let can_last = self.can_last && request.remembering != Remembering::Nothing;
        let text = wording::framed(&request.text);
        match self.ask_client(request.risk, text, can_last).await {
            Asked::Yes { lasting: true } => Verdict::Remember { channel: Channel::Client },
            Asked::Yes { lasting: false } => Verdict::Once { channel: Channel::Client },
            Asked::No { reason } => Verdict::Reject { reason },
            Asked::Unanswered { why } => Verdict::Nobody { why: why.to_owned(), way_out: Some(WAY_OUT) },
            Asked::NotShown => match self.desk.approve(request).await {
                Verdict::Nobody { why, way_out } => {
                    Verdict::Nobody { why: format!("{NOT_SHOWN}; {why}"), way_out }
                }
                answered @ (Verdict::Once { .. } | Verdict::Remember { .. } | Verdict::Reject { .. }) => {
                    answered
                }
            },
            Asked::Not => self.desk.approve(request).await,
        }
    }

    async fn confirm_plan(&self, request: &ConfirmRequest) -> Answer {
        let text = wording::framed(&request.text);
        match self.ask_client(request.risk, text, false).await {
            Asked::Yes { .. } => Answer::Yes { channel: Channel::Client },
            Asked::No { reason } => Answer::No { reason },
            Asked::Unanswered { why } => Answer::Nobody { why: why.to_owned() },
            Asked::NotShown => match self.desk.confirm(request).await {
                Answer::Nobody { why } => Answer::Nobody { why: format!("{NOT_SHOWN}; {why}") },
                answered @ (Answer::Yes { .. } | Answer::No { .. }) => answered,
            },
            Asked::Not => self.desk.confirm(request).await,
        }
    }
}

/// The least time in which a person can have read a question and answered it.
fn time_to_read(text: &str) -> Duration {
    let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    (LEAST_READING + READING_OF_ONE.saturating_mul(length)).min(MOST_READING)
}

impl Approver for ClientAsker {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        self.desk.settle(uncertain)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::time_to_read;

    #[test]
    fn a_longer_question_takes_longer_to_read_within_bounds() {
        let millis = |text: &str| time_to_read(text).as_millis();
        assert_eq!(millis(""), 500);
        assert_eq!(millis("Delete a.md? [y/N]"), 572);
        assert_eq!(time_to_read(&"x".repeat(1_000_000)), Duration::from_millis(1_500));
    }
}
