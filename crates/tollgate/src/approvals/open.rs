//! What a broker knows about its own questions. The files are only how they are shown and answered: what a yes is
//! bound to is remembered here, where no other process writes.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use envelope::{Channel, ClientId, Hash, Timestamp};

use super::turns::Turns;
use crate::ask::Reason;
use crate::desk::{Question, Word};

/// More at once than any person would answer one by one.
const MOST_OPEN: usize = 32;
/// The share of one client, so that none can bury what the others ask.
const MOST_OF_ONE: usize = 8;

#[derive(Default)]
pub(super) struct Open {
    questions: Vec<OpenQuestion>,
    /// What was said no to, and until when that holds.
    refused: Vec<(Hash, Timestamp)>,
    /// What was said yes to for always, and how.
    always: HashMap<Reason, Channel>,
    turns: Turns,
}

/// One question.
pub(super) struct OpenQuestion {
    pub(super) question: Question,
    /// The hash of its subject.
    pub(super) subject: Hash,
    /// Whether a call waits for it right now. The answer belongs to that call and to no other.
    pub(super) waited_for: bool,
    /// The answer that was given in this process.
    pub(super) said: Option<Word>,
    /// The lock on its file, held as long as this lives.
    #[allow(dead_code, reason = "it is held, not read")]
    pub(super) held: File,
}

impl OpenQuestion {
    fn id(&self) -> &str {
        &self.question.id
    }

    fn owner(&self) -> &ClientId {
        &self.question.subject.owner
    }
}

impl Open {
    pub(super) fn add(&mut self, question: OpenQuestion) {
        self.questions.push(question);
    }

    pub(super) fn find(&self, id: &str) -> Option<&OpenQuestion> {
        self.questions.iter().find(|open| open.id() == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut OpenQuestion> {
        self.questions.iter_mut().find(|open| open.id() == id)
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<OpenQuestion> {
        let place = self.questions.iter().position(|open| open.id() == id)?;
        Some(self.questions.remove(place))
    }

    /// The question to show next: the oldest of the client whose turn it is.
    pub(super) fn next_in_turn(&mut self) -> Option<Question> {
        let waiting = self.questions.iter().filter(|open| open.waited_for && open.said.is_none());
        self.turns.next(waiting.map(|open| (open.owner(), &open.question))).cloned()
    }

    /// Whether a call waits for the answer, and nobody has given it.
    pub(super) fn is_waited_for(&self, id: &str) -> bool {
        self.find(id).is_some_and(|open| open.waited_for && open.said.is_none())
    }

    /// Notes an answer that was given in this process. Returns whether it counts.
    pub(super) fn answer(&mut self, id: &str, word: Word, now: Timestamp) -> bool {
        let may = |open: &&mut OpenQuestion| {
            open.waited_for && open.said.is_none() && open.question.expires_at > now
        };
        match self.find_mut(id).filter(may) {
            Some(open) => {
                open.said = Some(word);
                true
            }
            None => false,
        }
    }

    pub(super) fn said(&self, id: &str) -> Option<Word> {
        self.find(id)?.said
    }

    /// The call that waited is gone; the question stays.
    pub(super) fn leave(&mut self, id: &str) {
        if let Some(open) = self.find_mut(id) {
            open.waited_for = false;
        }
    }

    /// A question of this subject that no call waits for: one that is answered, or that still can be after `latest`.
    pub(super) fn take_up(
        &mut self,
        subject: Hash,
        latest: Timestamp,
        is_answered: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let fits = |open: &OpenQuestion| {
            !open.waited_for
                && open.subject == subject
                && (open.question.expires_at > latest || is_answered(open.id()))
        };
        let open = self.questions.iter_mut().find(|open| fits(open))?;
        open.waited_for = true;
        Some(open.question.id.clone())
    }

    /// Drops what has expired or whose client is gone. Returns the ids of those questions.
    pub(super) fn forget(&mut self, now: Timestamp, is_client: &dyn Fn(&ClientId) -> bool) -> Vec<String> {
        self.refused.retain(|(_, until)| *until > now);
        let is_over = |open: &OpenQuestion| open.question.expires_at <= now || !is_client(open.owner());
        let over = self.questions.extract_if(.., |open| !open.waited_for && is_over(open));
        over.map(|open| open.question.id).collect()
    }

    pub(super) fn forget_all(&mut self) -> Vec<String> {
        self.questions.drain(..).map(|open| open.question.id).collect()
    }

    /// Fails if too many questions are open, of this client or of all.
    pub(super) fn refuse_flood(&self, owner: &ClientId) -> io::Result<()> {
        let of_one = self.questions.iter().filter(|open| open.owner() == owner).count();
        let (count, whose) = match (of_one >= MOST_OF_ONE, self.questions.len() >= MOST_OPEN) {
            (true, _) => (MOST_OF_ONE, " of this client"),
            (false, true) => (MOST_OPEN, ""),
            (false, false) => return Ok(()),
        };
        Err(io::Error::other(format!(
            "{count} questions{whose} wait already; answer them with `tollgate approve` first"
        )))
    }

    pub(super) fn refuse(&mut self, subject: Hash, until: Timestamp) {
        self.refused.push((subject, until));
    }

    pub(super) fn is_refused(&self, subject: Hash, now: Timestamp) -> bool {
        self.refused.iter().any(|(refused, until)| *refused == subject && *until > now)
    }

    /// Keeps a yes for always. Says no if there is nothing to keep it by.
    pub(super) fn always(&mut self, reason: Reason, channel: Channel) -> bool {
        if !reason.can_be_kept() {
            return false;
        }
        self.always.insert(reason, channel);
        true
    }

    /// How a yes for always was given, if one was given for this.
    pub(super) fn always_by(&self, reason: &Reason) -> Option<Channel> {
        self.always.get(reason).copied()
    }
}
