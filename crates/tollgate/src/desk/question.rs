//! A question as it lies on the desk: everything that a person is shown, and what a yes to it is bound to.
//!
//! Nothing in it is cut. The hash is taken over exactly the fields that are shown, by the desk when it asks and again
//! by `tollgate approve` from what it shows, so a file that was changed in between gets no valid answer.

use engine::{ApprovalRequest, ConfirmRequest, Remembering, UncertainCall};
use envelope::{ClientId, Hash, Timestamp, canonical_hash};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What lies on the desk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Question {
    /// Short enough to be typed.
    pub(crate) id: String,
    /// Goes back with the answer; whoever cannot read this file cannot know it.
    pub(crate) nonce: String,
    pub(crate) asked_at: Timestamp,
    pub(crate) expires_at: Timestamp,
    pub(crate) subject: Subject,
}

/// What a yes is bound to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Subject {
    pub(crate) vault: String,
    /// The identity of the client whose question it is.
    pub(crate) owner: ClientId,
    /// Who sent the call, as it is shown.
    pub(crate) client: String,
    pub(crate) about: About,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum About {
    /// One call.
    Call {
        /// The whole question, as every front end shows it.
        text: String,
        tool: String,
        input: Value,
        /// The hash of the input before it was made safe to show.
        exact: Hash,
        why: String,
        /// The hash of the policy that asks: a reason names a rule by its number.
        policy: Hash,
        keeping: Keeping,
    },
    /// A whole plan, or a foreach of it that grew.
    Plan { text: String, binding: Hash },
    /// A call that was under way when its run was interrupted.
    Uncertain { tool: String, step: String, input: Value, why: String },
}

/// What a yes for always would answer: [`Remembering`] in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Keeping {
    Reasons,
    Exactly(Hash),
    Nothing,
}

impl Subject {
    pub(crate) fn hash(&self) -> Hash {
        canonical_hash(&json!({ "tollgate": "question", "subject": self }))
    }
}

impl About {
    pub(crate) fn call(request: &ApprovalRequest) -> About {
        About::Call {
            text: request.text.clone(),
            tool: request.tool.to_string(),
            input: request.input.clone(),
            exact: request.exact,
            why: request.why.clone(),
            policy: request.policy,
            keeping: match request.remembering {
                Remembering::Reasons => Keeping::Reasons,
                Remembering::Exactly(hash) => Keeping::Exactly(hash),
                Remembering::Nothing => Keeping::Nothing,
            },
        }
    }

    pub(crate) fn plan(request: &ConfirmRequest) -> About {
        About::Plan { text: request.text.clone(), binding: request.binding }
    }

    pub(crate) fn uncertain(call: &UncertainCall) -> About {
        About::Uncertain {
            tool: call.tool.to_string(),
            step: call.step_id.to_string(),
            input: call.input.clone(),
            why: call.why.clone(),
        }
    }
}

impl Keeping {
    pub(crate) fn remembering(self) -> Remembering {
        match self {
            Keeping::Reasons => Remembering::Reasons,
            Keeping::Exactly(hash) => Remembering::Exactly(hash),
            Keeping::Nothing => Remembering::Nothing,
        }
    }
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    Yes,
    Always,
    No,
}

/// The answer as it lies beside its question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Reply {
    pub(crate) nonce: String,
    /// The hash of what the person was shown.
    pub(crate) shown: Hash,
    pub(crate) word: Word,
}

impl Reply {
    pub(crate) fn to(question: &Question, word: Word) -> Reply {
        Reply { nonce: question.nonce.clone(), shown: question.subject.hash(), word }
    }
}
