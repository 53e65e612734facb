//! Who is asked about a call that came from a client.
//!
//! The client's own person, where the client can ask and the policy takes its word. Otherwise, and whenever the client
//! did not get to ask, somebody whom no client can speak for. Silence is never a yes.

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
/// Nobody reads a question in less.
const READING: Duration = Duration::from_millis(150);

/// Answers for one call.
pub(super) struct ClientAsker {
    /// To whoever holds the client's request; absent where the client cannot ask.
    pub(super) client: Option<mpsc::Sender<Question>>,
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
    Not,
}

impl ClientAsker {
    async fn ask_client(&self, risk: Risk, text: String, can_last: bool) -> Asked {
        let Some(client) = &self.client else { return Asked::Not };
        let is_long = text.len() > LONGEST || text.lines().count() > MOST_LINES;
        if self.approvals.least(risk) != Voice::Client || is_long {
            return Asked::Not;
        }
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
            Ok(Ok(ClientAnswer::No)) => Asked::No { reason: declined(took) },
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
            Asked::Not => self.desk.approve(request).await,
        }
    }

    async fn confirm_plan(&self, request: &ConfirmRequest) -> Answer {
        let text = wording::framed(&request.text);
        match self.ask_client(request.risk, text, false).await {
            Asked::Yes { .. } => Answer::Yes { channel: Channel::Client },
            Asked::No { reason } => Answer::No { reason },
            Asked::Unanswered { why } => Answer::Nobody { why: why.to_owned() },
            Asked::Not => self.desk.confirm(request).await,
        }
    }
}

/// A no from a client that had no time to show anything is said to be one.
fn declined(took: Duration) -> String {
    if took < READING {
        return "declined at once: the client may not have shown the question to anyone".to_owned();
    }
    "declined in the client".to_owned()
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

    use super::declined;

    #[test]
    fn a_no_that_nobody_can_have_read_is_said_to_be_one() {
        assert_eq!(declined(Duration::from_millis(900)), "declined in the client");
        let at_once = "declined at once: the client may not have shown the question to anyone";
        assert_eq!(declined(Duration::from_millis(2)), at_once);
    }
}
