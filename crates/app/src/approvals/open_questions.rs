//! State of the broker's own questions. The files only show and answer them: the subject of an approval is kept here,
//! where no other process writes.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use envelope::{ApprovalChannel, ClientId, Hash, Timestamp};

use super::turns::ClientTurns;
use crate::approval_queue::{ApprovalAnswer, ApprovalQuestion};
use crate::approvals::ApprovalReason;

/// Limit of open questions: more than a user would answer one by one.
const MAX_OPEN_QUESTIONS: usize = 32;
/// Limit of one client, so that none can bury the questions of others.
const MAX_QUESTIONS_OF_CLIENT: usize = 8;

#[derive(Default)]
pub(super) struct OpenQuestions {
    questions: Vec<OpenQuestion>,
    /// Refused subjects, each with the end of the refusal.
    refused: Vec<(Hash, Timestamp)>,
    /// Reasons with a permanent approval, and its channel.
    always: HashMap<ApprovalReason, ApprovalChannel>,
    turns: ClientTurns,
}

/// One question.
pub(super) struct OpenQuestion {
    pub(super) question: ApprovalQuestion,
    /// Hash of the subject.
    pub(super) subject: Hash,
    /// True while a call waits for it. The answer belongs to that call and to no other.
    pub(super) has_waiting_call: bool,
    /// Answer given in this process.
    pub(super) answer: Option<ApprovalAnswer>,
    /// Lock on its file.
    #[allow(dead_code, reason = "it is held, not read")]
    pub(super) lock: File,
}

impl OpenQuestion {
    fn id(&self) -> &str {
        &self.question.id
    }

    fn owner(&self) -> &ClientId {
        &self.question.subject.owner
    }
}

impl OpenQuestions {
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

    /// Returns the question to show next: the oldest of the client whose turn it is.
    pub(super) fn next_in_turn(&mut self) -> Option<ApprovalQuestion> {
        let waiting = self.questions.iter().filter(|open| open.has_waiting_call && open.answer.is_none());
        self.turns.next(waiting.map(|open| (open.owner(), &open.question))).cloned()
    }

    /// Returns true if a call waits for an answer that has not come yet.
    pub(super) fn awaits_answer(&self, id: &str) -> bool {
        self.find(id).is_some_and(|open| open.has_waiting_call && open.answer.is_none())
    }

    /// Records an answer given in this process. Returns true if it counts.
    pub(super) fn answer(&mut self, id: &str, word: ApprovalAnswer, now: Timestamp) -> bool {
        let may = |open: &&mut OpenQuestion| {
            open.has_waiting_call && open.answer.is_none() && open.question.expires_at > now
        };
        match self.find_mut(id).filter(may) {
            Some(open) => {
                open.answer = Some(word);
                true
            }
            None => false,
        }
    }

    pub(super) fn answer_of(&self, id: &str) -> Option<ApprovalAnswer> {
        self.find(id)?.answer
    }

    /// Records that the waiting call is gone. The question stays.
    pub(super) fn abandon(&mut self, id: &str) {
        if let Some(open) = self.find_mut(id) {
            open.has_waiting_call = false;
        }
    }

    /// Takes a question with this subject that no call waits for: one that is answered, or can still be after `latest`.
    pub(super) fn adopt(
        &mut self,
        subject: Hash,
        latest: Timestamp,
        is_answered: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let fits = |open: &OpenQuestion| {
            !open.has_waiting_call
                && open.subject == subject
                && (open.question.expires_at > latest || is_answered(open.id()))
        };
        let open = self.questions.iter_mut().find(|open| fits(open))?;
        open.has_waiting_call = true;
        Some(open.question.id.clone())
    }

    /// Drops questions that have expired or whose client is gone. Returns their ids.
    pub(super) fn forget(&mut self, now: Timestamp, is_client: &dyn Fn(&ClientId) -> bool) -> Vec<String> {
        self.refused.retain(|(_, until)| *until > now);
        let is_over = |open: &OpenQuestion| open.question.expires_at <= now || !is_client(open.owner());
        let over = self.questions.extract_if(.., |open| !open.has_waiting_call && is_over(open));
        over.map(|open| open.question.id).collect()
    }

    pub(super) fn forget_all(&mut self) -> Vec<String> {
        self.questions.drain(..).map(|open| open.question.id).collect()
    }

    /// Fails if too many questions of this client, or of all clients, are open.
    pub(super) fn check_limits(&self, owner: &ClientId) -> io::Result<()> {
        let of_one = self.questions.iter().filter(|open| open.owner() == owner).count();
        let (count, whose) =
            match (of_one >= MAX_QUESTIONS_OF_CLIENT, self.questions.len() >= MAX_OPEN_QUESTIONS) {
                (true, _) => (MAX_QUESTIONS_OF_CLIENT, " of this client"),
                (false, true) => (MAX_OPEN_QUESTIONS, ""),
                (false, false) => return Ok(()),
            };
        Err(io::Error::other(format!(
            "{count} questions{whose} wait already; answer them with `tollgate approve` first"
        )))
    }

    pub(super) fn remember_refusal(&mut self, subject: Hash, until: Timestamp) {
        self.refused.push((subject, until));
    }

    pub(super) fn is_refused(&self, subject: Hash, now: Timestamp) -> bool {
        self.refused.iter().any(|(refused, until)| *refused == subject && *until > now)
    }

    /// Records a permanent approval. Returns false if the reason cannot be remembered.
    pub(super) fn approve_always(&mut self, reason: ApprovalReason, channel: ApprovalChannel) -> bool {
        if !reason.can_be_kept() {
            return false;
        }
        self.always.insert(reason, channel);
        true
    }

    /// Returns the channel of the permanent approval for this reason, if there is one.
    pub(super) fn always_channel(&self, reason: &ApprovalReason) -> Option<ApprovalChannel> {
        self.always.get(reason).copied()
    }
}
