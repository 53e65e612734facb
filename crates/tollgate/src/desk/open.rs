//! What a desk knows about its own questions. The files are only how they are shown and answered: what a yes is
//! bound to is remembered here, where no other process writes.

use std::collections::HashSet;
use std::fs::File;
use std::io;

use envelope::{Hash, Timestamp};

use crate::ask::Reason;

/// More at once than any person would answer one by one.
const MOST_OPEN: usize = 32;

#[derive(Default)]
pub(super) struct Open {
    questions: Vec<Kept>,
    /// What was said no to, and until when that holds.
    refused: Vec<(Hash, Timestamp)>,
    always: HashSet<Reason>,
}

/// One question.
pub(super) struct Kept {
    pub(super) id: String,
    pub(super) nonce: String,
    pub(super) subject: Hash,
    pub(super) expires_at: Timestamp,
    /// Whether a call waits for it right now. The answer belongs to that call and to no other.
    pub(super) waited_for: bool,
    /// The lock on its file, held as long as this lives.
    #[allow(dead_code, reason = "it is held, not read")]
    pub(super) held: File,
}

impl Open {
    pub(super) fn keep(&mut self, question: Kept) {
        self.questions.push(question);
    }

    pub(super) fn find(&self, id: &str) -> Option<&Kept> {
        self.questions.iter().find(|kept| kept.id == id)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Kept> {
        let place = self.questions.iter().position(|kept| kept.id == id)?;
        Some(self.questions.remove(place))
    }

    /// The call that waited is gone; the question stays.
    pub(super) fn leave(&mut self, id: &str) {
        if let Some(kept) = self.questions.iter_mut().find(|kept| kept.id == id) {
            kept.waited_for = false;
        }
    }

    /// A question of this subject that no call waits for: one that is answered, or that still can be after `latest`.
    pub(super) fn take_up(
        &mut self,
        subject: Hash,
        latest: Timestamp,
        is_answered: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let fits = |kept: &Kept| {
            !kept.waited_for && kept.subject == subject && (kept.expires_at > latest || is_answered(&kept.id))
        };
        let kept = self.questions.iter_mut().find(|kept| fits(kept))?;
        kept.waited_for = true;
        Some(kept.id.clone())
    }

    /// Drops what has expired. Returns the ids of those questions.
    pub(super) fn forget(&mut self, now: Timestamp) -> Vec<String> {
        self.refused.retain(|(_, until)| *until > now);
        let expired = self.questions.extract_if(.., |kept| kept.expires_at <= now && !kept.waited_for);
        expired.map(|kept| kept.id).collect()
    }

    pub(super) fn forget_all(&mut self) -> Vec<String> {
        self.questions.drain(..).map(|kept| kept.id).collect()
    }

    /// A client that asks without end must not bury what a person wants to see.
    pub(super) fn refuse_flood(&self) -> io::Result<()> {
        if self.questions.len() < MOST_OPEN {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{MOST_OPEN} questions wait already; answer them with `tollgate approve` first"
        )))
    }

    pub(super) fn refuse(&mut self, subject: Hash, until: Timestamp) {
        self.refused.push((subject, until));
    }

    pub(super) fn is_refused(&self, subject: Hash, now: Timestamp) -> bool {
        self.refused.iter().any(|(refused, until)| *refused == subject && *until > now)
    }

    /// Keeps a yes for always. Says no if there is nothing to keep it by.
    pub(super) fn always(&mut self, reason: Reason) -> bool {
        if !reason.can_be_kept() {
            return false;
        }
        self.always.insert(reason);
        true
    }

    pub(super) fn is_always(&self, reason: &Reason) -> bool {
        self.always.contains(reason)
    }
}
