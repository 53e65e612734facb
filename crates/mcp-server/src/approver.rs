//! Approvals for calls of a client.
//!
//! The client's user is asked if the client supports elicitation and the policy accepts its answers. Otherwise, or
//! if the client could not ask, the fallback approver is asked, which no client can answer for. A missing answer is
//! never an approval.
//!
//! Clients that run unattended (`codex exec`, `claude -p`) decline every question at once. A refusal that comes
//! faster than a person can read counts as "not shown": it is not the user's decision, and the fallback approver
//! (`tollgate approve`) is asked within the same call. An approval that comes as fast is accepted: the policy says
//! that this client's answers count, and `writes = "person"` under `[approval]` refuses a client that approves everything.

use std::sync::Arc;
use std::time::Duration;

use engine::{
    ApprovalDecision, ApprovalPolicy, ApprovalRequest, ApprovalSource, Approver, ConfirmAnswer,
    ConfirmRequest, RememberScope, UncertainCall, UncertainDecision,
};
use envelope::{ApprovalChannel, Risk};
use tokio::sync::{mpsc, oneshot};
use toolkit::BoxFuture;

use super::question::{ClientAnswer, ClientQuestion};
use super::question_layout;

/// Longest question for a client. No dialog shows a longer one in full.
const MAX_QUESTION_BYTES: usize = 32 * 1024;
const MAX_QUESTION_LINES: usize = 1_000;
const TOO_MANY_QUESTIONS: &str = "too many calls are waiting for an answer; answer those first, or have several changes approved \
     at once with plan_run";
const RETRY_ADVICE: &str =
    "explain to the user what you want to do and why; when they agree, make the same call again";
/// Minimum time to notice a question, read its first line and press a key. A choice between two keys alone takes
/// some 400 ms.
const MIN_READING_TIME: Duration = Duration::from_millis(500);
/// Additional time per character: ten times as fast as people read.
const READING_TIME_PER_CHAR: Duration = Duration::from_micros(4_000);
/// Upper limit, because a user may decline before the end of a long question.
const MAX_READING_TIME: Duration = Duration::from_millis(1_500);
const NOT_SHOWN: &str =
    "the client answered faster than a person can read, so the question was not shown there";

/// Approver for one call of a client.
pub(super) struct McpApprover {
    /// Sends questions to the client's request. `None` if the client does not support elicitation.
    pub(super) questions: Option<mpsc::Sender<ClientQuestion>>,
    /// Asked if the client's answers are not accepted or the client cannot ask.
    pub(super) fallback: Arc<dyn Approver>,
    pub(super) approvals: ApprovalPolicy,
    /// Whether an approval can be remembered. Not where any process can claim to be the same client.
    pub(super) can_remember: bool,
    /// Timeout for an answer.
    pub(super) answer_timeout: Duration,
}

/// Outcome of asking the client.
enum ApprovalOutcome {
    Approved {
        remember: bool,
    },
    Declined {
        reason: String,
    },
    /// There was no answer: neither a refusal by the user nor an approval.
    Unanswered {
        why: &'static str,
    },
    /// Declined faster than a person can read.
    NotShown,
    /// The client cannot be asked, or its answer would not count.
    NotAsked,
}

impl McpApprover {
    async fn ask_client(&self, risk: Risk, text: String, can_remember: bool) -> ApprovalOutcome {
        let Some(client) = &self.questions else { return ApprovalOutcome::NotAsked };
        let is_long = text.len() > MAX_QUESTION_BYTES || text.lines().count() > MAX_QUESTION_LINES;
        if self.approvals.required_source(risk) != ApprovalSource::Client || is_long {
            return ApprovalOutcome::NotAsked;
        }
        let reading = min_reading_time(&text);
        let (reply, answer) = oneshot::channel();
        let asked_at = tokio::time::Instant::now();
        if client.send(ClientQuestion { text, can_remember, reply }).await.is_err() {
            return ApprovalOutcome::NotAsked;
        }
        let answer = tokio::time::timeout(self.answer_timeout, answer).await;
        let took = asked_at.elapsed();
        match answer {
            Ok(Ok(ClientAnswer::Once)) => ApprovalOutcome::Approved { remember: false },
            Ok(Ok(ClientAnswer::Session)) => ApprovalOutcome::Approved { remember: true },
            Ok(Ok(ClientAnswer::Declined | ClientAnswer::Dismissed)) if took < reading => {
                let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
                tracing::info!(millis, "a client declined a question faster than it can be read");
                ApprovalOutcome::NotShown
            }
            Ok(Ok(ClientAnswer::Declined)) => {
                ApprovalOutcome::Declined { reason: "declined in the client".to_owned() }
            }
            // Clients that show no dialog answer like this, too.
            Ok(Ok(ClientAnswer::Dismissed)) => {
                ApprovalOutcome::Unanswered { why: "the client closed the question without an answer" }
            }
            Ok(Ok(ClientAnswer::NotAsked)) => ApprovalOutcome::NotAsked,
            Ok(Ok(ClientAnswer::TooManyQuestions)) => ApprovalOutcome::Unanswered { why: TOO_MANY_QUESTIONS },
            Ok(Err(_gone)) => {
                ApprovalOutcome::Unanswered { why: "the client disconnected before it answered" }
            }
            Ok(Ok(ClientAnswer::TimedOut)) | Err(_) => {
                ApprovalOutcome::Unanswered { why: "no answer came in time" }
            }
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> ApprovalDecision {
        let can_remember = self.can_remember && request.remembering != RememberScope::Nothing;
        let text = question_layout::layout_question(&request.text);
        match self.ask_client(request.risk, text, can_remember).await {
            ApprovalOutcome::Approved { remember: true } => {
                ApprovalDecision::ApproveAndRemember { channel: ApprovalChannel::Client }
            }
            ApprovalOutcome::Approved { remember: false } => {
                ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Client }
            }
            ApprovalOutcome::Declined { reason } => ApprovalDecision::Reject { reason },
            ApprovalOutcome::Unanswered { why } => {
                ApprovalDecision::Unavailable { why: why.to_owned(), hint: Some(RETRY_ADVICE) }
            }
            ApprovalOutcome::NotShown => match self.fallback.approve(request).await {
                ApprovalDecision::Unavailable { why, hint } => {
                    ApprovalDecision::Unavailable { why: format!("{NOT_SHOWN}; {why}"), hint }
                }
                answered @ (ApprovalDecision::ApproveOnce { .. }
                | ApprovalDecision::ApproveAndRemember { .. }
                | ApprovalDecision::Reject { .. }) => answered,
            },
            ApprovalOutcome::NotAsked => self.fallback.approve(request).await,
        }
    }

    async fn confirm_plan(&self, request: &ConfirmRequest) -> ConfirmAnswer {
        let text = question_layout::layout_question(&request.text);
        match self.ask_client(request.risk, text, false).await {
            ApprovalOutcome::Approved { .. } => ConfirmAnswer::Approved { channel: ApprovalChannel::Client },
            ApprovalOutcome::Declined { reason } => ConfirmAnswer::Declined { reason },
            ApprovalOutcome::Unanswered { why } => ConfirmAnswer::Unavailable { why: why.to_owned() },
            ApprovalOutcome::NotShown => match self.fallback.confirm(request).await {
                ConfirmAnswer::Unavailable { why } => {
                    ConfirmAnswer::Unavailable { why: format!("{NOT_SHOWN}; {why}") }
                }
                answered @ (ConfirmAnswer::Approved { .. } | ConfirmAnswer::Declined { .. }) => answered,
            },
            ApprovalOutcome::NotAsked => self.fallback.confirm(request).await,
        }
    }
}

/// Returns the minimum time in which a person can read and answer a question.
fn min_reading_time(text: &str) -> Duration {
    let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    (MIN_READING_TIME + READING_TIME_PER_CHAR.saturating_mul(length)).min(MAX_READING_TIME)
}

impl Approver for McpApprover {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        self.fallback.settle(uncertain)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::min_reading_time;

    #[test]
    fn a_longer_question_takes_longer_to_read_within_bounds() {
        let millis = |text: &str| min_reading_time(text).as_millis();
        assert_eq!(millis(""), 500);
        assert_eq!(millis("Delete a.md? [y/N]"), 572);
        assert_eq!(min_reading_time(&"x".repeat(1_000_000)), Duration::from_millis(1_500));
    }
}
