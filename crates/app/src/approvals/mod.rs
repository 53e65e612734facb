//! The approval broker: every question about a client's call, and its answer.
//!
//! A client could hide a question or let its agent answer it. So a question is a file outside of every vault.
//! `tollgate approve` answers it at a terminal; the server's own terminal is one more reader. The first answer counts,
//! and the other readers see the question withdrawn. The protocol of the client cannot reach that file. A program of
//! the same user outside of the sandbox can, and nothing here stops it.
//!
//! Every question has an owner (the identity of a client) and a deadline, and ends when its call is cancelled or its
//! client's token is revoked. Remembered answers and limits belong to the owner, never to a name that a client sends.
//!
//! A call waits 45 seconds, or as long as `--wait` says; afterwards the question stays until its deadline. An approval that comes
//! then is kept for the next call that asks exactly the same, and used up by it. A refusal is kept for all of them.

mod client_approver;
mod open_questions;
mod reason;
#[cfg(test)]
mod tests;
mod turns;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Approver, Clock};
use envelope::{ApprovalChannel, ClientId, Hash};
use tokio::sync::watch;

use self::client_approver::ClientApprover;
use self::open_questions::{OpenQuestion, OpenQuestions};
pub use self::reason::ApprovalReason;
pub use self::turns::ClientTurns;
use crate::approval_queue::{
    self, ApprovalAnswer, ApprovalQuestion, QUESTION_DEADLINE, QuestionFolder, QuestionSubject, QuestionTopic,
};
pub use call_session::{ApproverFactory, FrontEnd};

/// How often the broker checks for an answer.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Returns true while a client has the right to ask.
pub type IsClient = Arc<dyn Fn(&ClientId) -> bool + Send + Sync>;

/// Asks through files and through the reader of [`ApprovalBroker::next_to_show`]. Dropping it withdraws open questions.
pub struct ApprovalBroker {
    folder: QuestionFolder,
    vault: String,
    /// Name of the asker for a call that has no client.
    label: String,
    wait: Duration,
    clock: Arc<dyn Clock>,
    is_client: IsClient,
    open: Mutex<OpenQuestions>,
    /// Counts changes of questions.
    changed: watch::Sender<u64>,
}

/// How a question ended.
enum QuestionEnd {
    Answered(ApprovalAnswer, ApprovalChannel),
    /// The same question was refused before.
    StillRefused,
    /// No answer came, for this reason.
    Unanswered(String),
}

impl ApprovalBroker {
    /// Creates a broker with its questions in `folder` (see [`approval_queue::folder`]), about calls on `vault`. Calls without
    /// a client come from `label`. A call waits at most `wait`.
    pub fn new(
        folder: PathBuf,
        vault: &Path,
        label: String,
        wait: Duration,
        clock: Arc<dyn Clock>,
    ) -> ApprovalBroker {
        ApprovalBroker {
            folder: QuestionFolder::new(folder),
            vault: vault.to_string_lossy().into_owned(),
            label,
            wait: wait.min(QUESTION_DEADLINE),
            clock,
            is_client: Arc::new(|_| true),
            open: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// Sets the check for clients that can lose the right to ask; their questions end with it.
    pub fn for_clients(mut self, is_client: IsClient) -> ApprovalBroker {
        self.is_client = is_client;
        self
    }

    /// Makes the approver of each client.
    pub fn approvers(self: &Arc<ApprovalBroker>) -> ApproverFactory {
        let broker = self.clone();
        Arc::new(move |client, front_end| -> Arc<dyn Approver> {
            Arc::new(ClientApprover { broker: broker.clone(), client: client.clone(), front_end })
        })
    }

    /// Waits for the next question to show, clients in turn.
    pub async fn next_to_show(&self) -> ApprovalQuestion {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(question) = self.open().next_in_turn() {
                return question;
            }
            // The sender lives as long as `self`.
            let _never_closed = changed.changed().await;
        }
    }

    /// Completes when no call waits for the answer to this question.
    pub async fn wait_until_ended(&self, id: &str) {
        let mut changed = self.changed.subscribe();
        while self.open().awaits_answer(id) {
            let _never_closed = changed.changed().await;
        }
    }

    /// Answers a question. Returns false if it was answered or withdrawn before.
    pub fn answer(&self, id: &str, word: ApprovalAnswer) -> bool {
        let counts = !self.folder.is_answered(id) && self.open().answer(id, word, self.clock.now());
        self.notify_change();
        counts
    }

    async fn ask(
        &self,
        owner: &ClientId,
        about: QuestionTopic,
        says: Option<&str>,
        reason: Option<&ApprovalReason>,
    ) -> QuestionEnd {
        let client = says.unwrap_or(&self.label).to_owned();
        let subject = QuestionSubject { vault: self.vault.clone(), owner: owner.clone(), client, about };
        let hash = subject.hash();
        if self.open().is_refused(hash, self.clock.now()) {
            return QuestionEnd::StillRefused;
        }
        let question = match self.enqueue(subject, hash) {
            Ok(question) => question,
            Err(why) => return QuestionEnd::Unanswered(format!("the question cannot be queued: {why}")),
        };
        let id = &question.id;
        tracing::warn!(client = %owner, "a question waits for your answer: run `tollgate approve {id}` at a terminal");
        match tokio::time::timeout(self.wait, self.wait_for_answer(id, owner, reason)).await {
            Ok(end) => end,
            Err(_late) if self.wait < QUESTION_DEADLINE => QuestionEnd::Unanswered(question.leave_in_queue()),
            Err(_late) => QuestionEnd::Unanswered(format!(
                "no answer came within {} minutes",
                QUESTION_DEADLINE.as_secs() / 60
            )),
        }
    }

    /// Waits for the answer of the user.
    async fn wait_for_answer(
        &self,
        id: &str,
        owner: &ClientId,
        reason: Option<&ApprovalReason>,
    ) -> QuestionEnd {
        let mut changed = self.changed.subscribe();
        loop {
            if !(self.is_client)(owner) {
                return QuestionEnd::Unanswered(format!(
                    "the token of the client `{}` has been revoked",
                    owner.name()
                ));
            }
            if let Some((word, channel)) = self.take_answer(id) {
                return QuestionEnd::Answered(word, channel);
            }
            // Another question for the same reason was approved permanently.
            if let Some(channel) = reason.and_then(|reason| self.open().always_channel(reason)) {
                return QuestionEnd::Answered(ApprovalAnswer::Yes, channel);
            }
            tokio::select! {
                _never_closed = changed.changed() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Takes a valid answer, if there is one. The question ends with it, so it counts once.
    fn take_answer(&self, id: &str) -> Option<(ApprovalAnswer, ApprovalChannel)> {
        let shown_here = self.open().answer_of(id).map(|word| (word, ApprovalChannel::Terminal));
        let (word, channel) =
            shown_here.or_else(|| self.read_reply(id).map(|word| (word, ApprovalChannel::Approve)))?;
        let mut open = self.open();
        let ended = open.remove(id)?;
        if word == ApprovalAnswer::No {
            open.remember_refusal(ended.subject, ended.question.expires_at);
        }
        drop(open);
        self.folder.remove_question(id);
        self.notify_change();
        Some((word, channel))
    }

    /// Reads the answer of `tollgate approve`. Returns `None` unless it answers this question and came in time.
    fn read_reply(&self, id: &str) -> Option<ApprovalAnswer> {
        let reply = match self.folder.take_reply(id)? {
            Ok(reply) => reply,
            Err(error) => {
                tracing::warn!(id, %error, "an answer does not count");
                return None;
            }
        };
        let open = self.open();
        let asked = open.find(id)?;
        if asked.question.nonce != reply.nonce || asked.subject != reply.shown {
            tracing::warn!(id, "an answer does not count: it is to something else");
            return None;
        }
        (asked.question.expires_at > self.clock.now()).then_some(reply.word)
    }

    /// Reuses a question that was left with the same subject, or adds a new one.
    fn enqueue(&self, subject: QuestionSubject, hash: Hash) -> io::Result<WaitingCall<'_>> {
        let now = self.clock.now();
        let latest = now.saturating_add(self.wait).unwrap_or(now);
        let over = self.open().forget(now, &*self.is_client);
        for id in over {
            self.folder.remove_question(&id);
        }
        if let Some(id) = self.open().adopt(hash, latest, |id| self.folder.is_answered(id)) {
            self.notify_change();
            return Ok(WaitingCall { broker: self, id, left: false });
        }
        self.open().check_limits(&subject.owner)?;
        // Also removes files that other processes left behind.
        let _swept = self.folder.waiting(now)?;
        let question = ApprovalQuestion {
            id: approval_queue::new_id()?,
            nonce: approval_queue::new_nonce()?,
            asked_at: now,
            expires_at: now.saturating_add(QUESTION_DEADLINE).unwrap_or(now),
            subject,
        };
        let held = self.folder.add_question(&question)?;
        let id = question.id.clone();
        self.open().add(OpenQuestion {
            question,
            subject: hash,
            has_waiting_call: true,
            answer: None,
            lock: held,
        });
        self.notify_change();
        Ok(WaitingCall { broker: self, id, left: false })
    }

    fn notify_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn open(&self) -> MutexGuard<'_, OpenQuestions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ApprovalBroker {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        for id in open.forget_all() {
            self.folder.remove_question(&id);
        }
    }
}

/// A call that waits for the answer to a question. Dropping it withdraws the question.
struct WaitingCall<'a> {
    broker: &'a ApprovalBroker,
    id: String,
    /// True if the question stays for the next call that asks the same.
    left: bool,
}

impl WaitingCall<'_> {
    /// Leaves the question in the queue. Returns how it can still be answered.
    fn leave_in_queue(mut self) -> String {
        self.left = true;
        self.broker.open().abandon(&self.id);
        self.broker.notify_change();
        let id = &self.id;
        format!(
            "no answer came within {} seconds; you can answer with `tollgate approve {id}` at a terminal \
             within {} minutes, and then the same call can be made again",
            self.broker.wait.as_secs(),
            QUESTION_DEADLINE.as_secs() / 60,
        )
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        if !self.left && self.broker.open().remove(&self.id).is_some() {
            self.broker.folder.remove_question(&self.id);
            self.broker.notify_change();
        }
    }
}
