//! The approval broker: every question about a client's call, whoever answers it.
//!
//! A client that asks on our behalf may show nobody the question, or have its agent answer it. Here a question lies in a
//! file outside of every vault. `tollgate approve` answers it at a terminal; the server's own terminal is one more
//! reader. The first answer counts, and the others are told that the question is withdrawn. The protocol of the client
//! has no way to that file. A program of the same person outside of the sandbox has, and nothing here can stop it.
//!
//! Every question has an owner (the identity of a client) and a deadline, and ends when its call is cancelled or its
//! client's token is revoked. What is remembered and limited goes by the owner, never by a name that a client sends.
//!
//! A call waits as long as its client would; afterwards the question stays until its deadline. The yes that comes then
//! is kept for the next call that asks exactly the same, and is used up by it. A no is kept for all of them.

mod client_approver;
mod open;
#[cfg(test)]
mod tests;
mod turns;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Approver, Clock};
use envelope::{Channel, ClientId, Hash};
use gateway::ApproverOf;
use tokio::sync::watch;

use self::client_approver::ClientApprover;
use self::open::{Open, OpenQuestion};
pub(crate) use self::turns::Turns;
use crate::ask::Reason;
use crate::desk::{self, About, Folder, LIFE, Question, Subject, Word};

/// How often an open question looks for its answer.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whether a client still has the right to ask.
pub(crate) type IsClient = Arc<dyn Fn(&ClientId) -> bool + Send + Sync>;

/// Asks through files, and through whoever reads [`Broker::next_to_show`]. Open questions are withdrawn when it goes.
pub(crate) struct Broker {
    folder: Folder,
    vault: String,
    /// Who asks where a call does not say.
    label: String,
    wait: Duration,
    clock: Arc<dyn Clock>,
    is_client: IsClient,
    open: Mutex<Open>,
    /// Counts what happens to questions.
    changed: watch::Sender<u64>,
}

/// How a question ended.
enum End {
    Said(Word, Channel),
    /// Somebody said no to the same question before.
    StillNo,
    Nobody(String),
}

impl Broker {
    /// Asks in `folder`, which [`desk::folder`] names, about calls on `vault` that come from `label`, unless they say
    /// from whom. A call waits at most `wait`.
    pub(crate) fn new(
        folder: PathBuf,
        vault: &Path,
        label: String,
        wait: Duration,
        clock: Arc<dyn Clock>,
    ) -> Broker {
        Broker {
            folder: Folder::new(folder),
            vault: vault.to_string_lossy().into_owned(),
            label,
            wait: wait.min(LIFE),
            clock,
            is_client: Arc::new(|_| true),
            open: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    /// The same for clients that can lose the right to ask: their questions end with it.
    pub(crate) fn for_clients(mut self, is_client: IsClient) -> Broker {
        self.is_client = is_client;
        self
    }

    /// Makes the approver of each client.
    pub(crate) fn approvers(self: &Arc<Broker>) -> ApproverOf {
        let broker = self.clone();
        Arc::new(move |client, front_end| -> Arc<dyn Approver> {
            Arc::new(ClientApprover { broker: broker.clone(), client: client.clone(), front_end })
        })
    }

    /// The next question to show, clients in turn. Comes back when there is one.
    pub(crate) async fn next_to_show(&self) -> Question {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(question) = self.open().next_in_turn() {
                return question;
            }
            // The sender lives as long as this.
            let _never_closed = changed.changed().await;
        }
    }

    /// Comes back when nobody waits for the answer to this question any more.
    pub(crate) async fn ended(&self, id: &str) {
        let mut changed = self.changed.subscribe();
        while self.open().is_waited_for(id) {
            let _never_closed = changed.changed().await;
        }
    }

    /// Answers a question. Returns whether the answer counts: not if it was answered or withdrawn before.
    pub(crate) fn answer(&self, id: &str, word: Word) -> bool {
        let counts = !self.folder.is_answered(id) && self.open().answer(id, word, self.clock.now());
        self.note_change();
        counts
    }

    async fn ask(&self, owner: &ClientId, about: About, says: Option<&str>, reason: Option<&Reason>) -> End {
        let client = says.unwrap_or(&self.label).to_owned();
        let subject = Subject { vault: self.vault.clone(), owner: owner.clone(), client, about };
        let hash = subject.hash();
        if self.open().is_refused(hash, self.clock.now()) {
            return End::StillNo;
        }
        let question = match self.lay_down(subject, hash) {
            Ok(question) => question,
            Err(why) => return End::Nobody(format!("the question cannot be laid down: {why}")),
        };
        let id = &question.id;
        tracing::warn!(client = %owner, "a question waits for your answer: run `tollgate approve {id}` at a terminal");
        match tokio::time::timeout(self.wait, self.answer_to(id, owner, reason)).await {
            Ok(end) => end,
            Err(_late) if self.wait < LIFE => End::Nobody(question.stays()),
            Err(_late) => End::Nobody(format!("no answer came within {} minutes", LIFE.as_secs() / 60)),
        }
    }

    /// Waits for what a person says.
    async fn answer_to(&self, id: &str, owner: &ClientId, reason: Option<&Reason>) -> End {
        let mut changed = self.changed.subscribe();
        loop {
            if !(self.is_client)(owner) {
                return End::Nobody(format!("the token of the client `{}` has been revoked", owner.name()));
            }
            if let Some((word, channel)) = self.take_answer(id) {
                return End::Said(word, channel);
            }
            // Another question for the same reason was answered for always.
            if let Some(channel) = reason.and_then(|reason| self.open().always_by(reason)) {
                return End::Said(Word::Yes, channel);
            }
            tokio::select! {
                _never_closed = changed.changed() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
        }
    }

    /// Takes the answer if there is one that counts. With it the question ends, so it counts once.
    fn take_answer(&self, id: &str) -> Option<(Word, Channel)> {
        let shown_here = self.open().said(id).map(|word| (word, Channel::Terminal));
        let (word, channel) =
            shown_here.or_else(|| self.read_reply(id).map(|word| (word, Channel::Approve)))?;
        let mut open = self.open();
        let ended = open.remove(id)?;
        if word == Word::No {
            open.refuse(ended.subject, ended.question.expires_at);
        }
        drop(open);
        self.folder.clear(id);
        self.note_change();
        Some((word, channel))
    }

    /// What `tollgate approve` answered, if it is the answer to this question and came in time.
    fn read_reply(&self, id: &str) -> Option<Word> {
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

    /// The question that was left with the same subject, or a fresh one.
    fn lay_down(&self, subject: Subject, hash: Hash) -> io::Result<WaitingCall<'_>> {
        let now = self.clock.now();
        let latest = now.saturating_add(self.wait).unwrap_or(now);
        let over = self.open().forget(now, &*self.is_client);
        for id in over {
            self.folder.clear(&id);
        }
        if let Some(id) = self.open().take_up(hash, latest, |id| self.folder.is_answered(id)) {
            self.note_change();
            return Ok(WaitingCall { broker: self, id, left: false });
        }
        self.open().refuse_flood(&subject.owner)?;
        // Also what other processes left behind.
        let _swept = self.folder.waiting(now)?;
        let question = Question {
            id: desk::new_id()?,
            nonce: desk::new_nonce()?,
            asked_at: now,
            expires_at: now.saturating_add(LIFE).unwrap_or(now),
            subject,
        };
        let held = self.folder.put(&question)?;
        let id = question.id.clone();
        self.open().add(OpenQuestion { question, subject: hash, waited_for: true, said: None, held });
        self.note_change();
        Ok(WaitingCall { broker: self, id, left: false })
    }

    fn note_change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        for id in open.forget_all() {
            self.folder.clear(&id);
        }
    }
}

/// A call that waits for the answer to a question. Dropping it withdraws the question.
struct WaitingCall<'a> {
    broker: &'a Broker,
    id: String,
    /// Whether the question stays for the next call that asks the same.
    left: bool,
}

impl WaitingCall<'_> {
    /// Leaves the question where it is, and says how it can still be answered.
    fn stays(mut self) -> String {
        self.left = true;
        self.broker.open().leave(&self.id);
        self.broker.note_change();
        let id = &self.id;
        format!(
            "no answer came within {} seconds; a person can answer with `tollgate approve {id}` at a terminal \
             within {} minutes, and then the same call can be made again",
            self.broker.wait.as_secs(),
            LIFE.as_secs() / 60,
        )
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        if !self.left && self.broker.open().remove(&self.id).is_some() {
            self.broker.folder.clear(&self.id);
            self.broker.note_change();
        }
    }
}
