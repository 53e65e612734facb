//! A question in the queue: everything that the user is shown, and the values that an approval is bound to.
//!
//! Nothing in it is cut. The hash covers exactly the fields that are shown. The broker computes it when it asks, and
//! `tollgate approve` from what it shows, so a file that was changed in between gets no valid answer.

use engine::{ApprovalRequest, ConfirmRequest, RememberScope, UncertainCall};
use envelope::{ClientId, Hash, Timestamp, canonical_hash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A question in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalQuestion {
    /// Id, short enough to be typed.
    pub id: String,
    /// Returned with the answer; only a reader of this file knows it.
    pub nonce: String,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
    pub subject: QuestionSubject,
}

/// The subject that an approval is bound to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuestionSubject {
    pub vault: String,
    /// Identity of the client that the question belongs to.
    pub owner: ClientId,
    /// Client that sent the call, as it is shown.
    pub client: String,
    pub about: QuestionTopic,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum QuestionTopic {
    /// One call.
    Call {
        /// The complete question, as every front end shows it.
        text: String,
        tool: String,
        input: Value,
        /// Hash of the input before it was made safe to show.
        exact: Hash,
        why: String,
        /// Hash of the policy that asks: a reason names a rule by its number.
        policy: Hash,
        keeping: RememberedScope,
    },
    /// A plan, or a foreach of it that grew.
    Plan { text: String, binding: Hash },
    /// A call that was running when its run was interrupted.
    Uncertain { tool: String, step: String, input: Value, why: String },
}

/// Scope of a permanent approval: [`RememberScope`] in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RememberedScope {
    Reasons,
    Exactly(Hash),
    Nothing,
}

impl QuestionSubject {
    pub fn hash(&self) -> Hash {
        canonical_hash(&json!({ "tollgate": "question", "subject": self }))
    }
}

impl QuestionTopic {
    pub fn call(request: &ApprovalRequest) -> QuestionTopic {
        QuestionTopic::Call {
            text: request.text.clone(),
            tool: request.tool.to_string(),
            input: request.input.clone(),
            exact: request.exact,
            why: request.why.clone(),
            policy: request.policy,
            keeping: match request.remembering {
                RememberScope::Reasons => RememberedScope::Reasons,
                RememberScope::Exactly(hash) => RememberedScope::Exactly(hash),
                RememberScope::Nothing => RememberedScope::Nothing,
            },
        }
    }

    pub fn plan(request: &ConfirmRequest) -> QuestionTopic {
        QuestionTopic::Plan { text: request.text.clone(), binding: request.binding }
    }

    pub fn uncertain(call: &UncertainCall) -> QuestionTopic {
        QuestionTopic::Uncertain {
            tool: call.tool.to_string(),
            step: call.step_id.to_string(),
            input: call.input.clone(),
            why: call.why.clone(),
        }
    }
}

impl RememberedScope {
    pub fn remembering(self) -> RememberScope {
        match self {
            RememberedScope::Reasons => RememberScope::Reasons,
            RememberedScope::Exactly(hash) => RememberScope::Exactly(hash),
            RememberedScope::Nothing => RememberScope::Nothing,
        }
    }
}

/// The answer of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalAnswer {
    Yes,
    Always,
    No,
}

/// The answer file beside a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuestionReply {
    pub nonce: String,
    /// Hash of what the user was shown.
    pub shown: Hash,
    pub word: ApprovalAnswer,
}

impl QuestionReply {
    pub fn to(question: &ApprovalQuestion, word: ApprovalAnswer) -> QuestionReply {
        QuestionReply { nonce: question.nonce.clone(), shown: question.subject.hash(), word }
    }
}
