//! The desk: questions that a person answers out of reach of whoever sent the call.
//!
//! A client that asks on our behalf may show nobody the question, or have its agent answer it. Here a question is laid
//! down as a file outside of every vault, and `tollgate approve` at a terminal answers it. The protocol of the client
//! has no way to that file. A program of the same person outside of the sandbox has, and nothing here can stop it.
//!
//! A call waits as long as its client would; afterwards the question stays until it expires. The yes that comes then
//! is kept for the next call that asks exactly the same, and is used up by it. A no is kept for all of them.

mod folder;
mod open;
mod question;
#[cfg(test)]
mod tests;
mod words;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{
    Answer, ApprovalRequest, Approver, Clock, ConfirmRequest, UncertainCall, UncertainVerdict, Verdict,
};
use envelope::{Channel, Hash};
use toolkit::BoxFuture;

pub(crate) use self::folder::Folder;
use self::open::{Kept, Open};
pub(crate) use self::question::{About, Question, Reply, Subject, Word};
pub(crate) use self::words::{as_json, asked, choices_of, time};
use crate::ask::Reason;
use crate::stop::Stop;
use crate::trust;

/// How long a call waits for its answer, unless told otherwise. Clients give up after a minute.
const WAIT: Duration = Duration::from_secs(45);

/// How long a call waits for its answer, in seconds on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait(Duration);

impl Default for Wait {
    fn default() -> Wait {
        Wait(WAIT)
    }
}

impl From<Wait> for Duration {
    fn from(wait: Wait) -> Duration {
        wait.0
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.as_secs())
    }
}

impl FromStr for Wait {
    type Err = String;

    fn from_str(given: &str) -> Result<Wait, String> {
        match given.parse() {
            Ok(seconds) if seconds <= LIFE.as_secs() => Ok(Wait(Duration::from_secs(seconds))),
            Ok(_) => Err(format!("a question lives for {} seconds at most", LIFE.as_secs())),
            Err(_) => Err("give a number of seconds, such as 45".to_owned()),
        }
    }
}

/// How long a question can be answered.
const LIFE: Duration = Duration::from_mins(10);

/// How often an open question looks for its answer.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Where questions lie: `$XDG_STATE_HOME/tollgate/approvals`, which must not be inside the vault.
pub(crate) fn folder(vault: Option<&Path>) -> Result<PathBuf, Stop> {
    Ok(trust::state_folder(vault)?.join("approvals"))
}

/// Asks through files. Questions that are open when it goes are withdrawn.
pub(crate) struct Desk {
    folder: Folder,
    vault: String,
    /// Who asks where a call does not say.
    label: String,
    wait: Duration,
    clock: Arc<dyn Clock>,
    open: Mutex<Open>,
}

/// How a question ended.
enum End {
    Said(Word),
    /// Somebody said no to the same question before.
    StillNo,
    Nobody(String),
}

impl Desk {
    /// Asks in `folder`, which [`folder`] names, about calls on `vault` that come from `label`, unless they say from
    /// whom. A call waits at most `wait`.
    pub(crate) fn new(
        folder: PathBuf,
        vault: &Path,
        label: String,
        wait: Duration,
        clock: Arc<dyn Clock>,
    ) -> Desk {
        let vault = vault.to_string_lossy().into_owned();
        let folder = Folder::new(folder);
        Desk { folder, vault, label, wait: wait.min(LIFE), clock, open: Mutex::default() }
    }

    async fn ask(&self, about: About, client: Option<&str>, reason: Option<&Reason>) -> End {
        let client = client.unwrap_or(&self.label).to_owned();
        let subject = Subject { vault: self.vault.clone(), client, about };
        let hash = subject.hash();
        if self.open().is_refused(hash, self.clock.now()) {
            return End::StillNo;
        }
        let question = match self.lay_down(subject, hash) {
            Ok(question) => question,
            Err(why) => return End::Nobody(format!("the question cannot be laid down: {why}")),
        };
        match tokio::time::timeout(self.wait, self.said(&question, reason)).await {
            Ok(word) => End::Said(word),
            Err(_late) => End::Nobody(question.stays()),
        }
    }

    /// Waits for what a person says.
    async fn said(&self, question: &Laid<'_>, reason: Option<&Reason>) -> Word {
        loop {
            if let Some(word) = self.look(&question.id) {
                return word;
            }
            // Another question for the same reason was answered for always.
            if reason.is_some_and(|reason| self.open().is_always(reason)) {
                return Word::Yes;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Takes the answer if there is one that counts. With it the question ends, so it counts once.
    fn look(&self, id: &str) -> Option<Word> {
        let reply = match self.folder.take_reply(id)? {
            Ok(reply) => reply,
            Err(error) => {
                tracing::warn!(id, %error, "an answer does not count");
                return None;
            }
        };
        let mut open = self.open();
        let kept = open.find(id)?;
        if kept.nonce != reply.nonce || kept.subject != reply.shown {
            tracing::warn!(id, "an answer does not count: it is to something else");
            return None;
        }
        if kept.expires_at <= self.clock.now() {
            return None;
        }
        let kept = open.remove(id)?;
        if reply.word == Word::No {
            open.refuse(kept.subject, kept.expires_at);
        }
        drop(open);
        self.folder.clear(id);
        Some(reply.word)
    }

    /// The question that was left with the same subject, or a fresh one.
    fn lay_down(&self, subject: Subject, hash: Hash) -> io::Result<Laid<'_>> {
        let now = self.clock.now();
        let latest = now.saturating_add(self.wait).unwrap_or(now);
        for id in self.open().forget(now) {
            self.folder.clear(&id);
        }
        if let Some(id) = self.open().take_up(hash, latest, |id| self.folder.is_answered(id)) {
            return Ok(Laid { desk: self, id, left: false });
        }
        self.open().refuse_flood()?;
        // Also what other processes left behind.
        let _swept = self.folder.waiting(now)?;
        let question = Question {
            id: folder::new_id()?,
            nonce: folder::new_nonce()?,
            asked_at: now,
            expires_at: now.saturating_add(LIFE).unwrap_or(now),
            subject,
        };
        let held = self.folder.put(&question)?;
        let Question { id, nonce, expires_at, .. } = question;
        self.open().keep(Kept { id: id.clone(), nonce, subject: hash, expires_at, waited_for: true, held });
        Ok(Laid { desk: self, id, left: false })
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn confirm_plan(&self, request: &ConfirmRequest) -> Answer {
        match self.ask(About::plan(request), request.client.as_deref(), None).await {
            End::Said(Word::Yes | Word::Always) => Answer::Yes { channel: Channel::Approve },
            End::Said(Word::No) => Answer::No { reason: "the person said no".to_owned() },
            End::StillNo => Answer::No { reason: STILL_NO.to_owned() },
            End::Nobody(why) => Answer::Nobody { why },
        }
    }

    async fn approve_call(&self, request: &ApprovalRequest) -> Verdict {
        let reason = Reason::of(request);
        if self.open().is_always(&reason) {
            return Verdict::Once { channel: Channel::Approve };
        }
        match self.ask(About::call(request), request.client.as_deref(), Some(&reason)).await {
            End::Said(Word::Always) if self.open().always(reason) => {
                Verdict::Remember { channel: Channel::Approve }
            }
            End::Said(Word::Yes | Word::Always) => Verdict::Once { channel: Channel::Approve },
            End::Said(Word::No) => Verdict::Reject { reason: "asked through `tollgate approve`".to_owned() },
            End::StillNo => Verdict::Reject { reason: STILL_NO.to_owned() },
            End::Nobody(why) => Verdict::Nobody { why, way_out: Some(AGAIN) },
        }
    }

    async fn settle_uncertain(&self, call: &UncertainCall) -> UncertainVerdict {
        match self.ask(About::uncertain(call), None, None).await {
            End::Said(Word::Yes | Word::Always) => UncertainVerdict::Run,
            End::Said(Word::No) | End::StillNo | End::Nobody(_) => UncertainVerdict::Leave,
        }
    }
}

const AGAIN: &str = "let the person answer with `tollgate approve`, then make the same call again";
const STILL_NO: &str = "the answer to the same question was no, a few minutes ago";

impl Drop for Desk {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        for id in open.forget_all() {
            self.folder.clear(&id);
        }
    }
}

/// A question that a call waits for. A call that is cancelled takes it along.
struct Laid<'a> {
    desk: &'a Desk,
    id: String,
    /// Whether it stays for the next call that asks the same.
    left: bool,
}

impl Laid<'_> {
    /// Leaves the question where it is, and says how it can still be answered.
    fn stays(mut self) -> String {
        self.left = true;
        self.desk.open().leave(&self.id);
        let id = &self.id;
        format!(
            "no answer came within {} seconds; a person can answer with `tollgate approve {id}` at a terminal \
             within {} minutes, and then the same call can be made again",
            self.desk.wait.as_secs(),
            LIFE.as_secs() / 60,
        )
    }
}

impl Drop for Laid<'_> {
    fn drop(&mut self) {
        if !self.left && self.desk.open().remove(&self.id).is_some() {
            self.desk.folder.clear(&self.id);
        }
    }
}

impl Approver for Desk {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        Box::pin(self.confirm_plan(request))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        Box::pin(self.approve_call(request))
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(self.settle_uncertain(uncertain))
    }
}
