//! What a yes for always is kept by.

use engine::{ApprovalRequest, Remembering};
use envelope::{ClientId, Hash};
use gateway::FrontEnd;

/// What a yes for always answers: a tool, why it is asked about, and by whom. The policy is part of it since a reason
/// names a rule by its number, which may be another rule's once the settings have changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reason {
    tool: String,
    why: String,
    remembering: Remembering,
    client: ClientId,
    front_end: FrontEnd,
    policy: Hash,
}

impl Reason {
    /// What a yes for always to a call of this client is kept by.
    pub(crate) fn of(request: &ApprovalRequest, client: &ClientId, front_end: FrontEnd) -> Reason {
        Reason {
            tool: request.tool.to_string(),
            why: request.why.clone(),
            remembering: request.remembering,
            client: client.clone(),
            front_end,
            policy: request.policy,
        }
    }

    /// Whether a yes to it can be kept at all.
    pub(crate) fn can_be_kept(&self) -> bool {
        self.remembering != Remembering::Nothing
    }
}
