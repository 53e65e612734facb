//! The key of a permanent approval.

use call_session::FrontEnd;
use engine::{ApprovalRequest, RememberScope};
use envelope::{ClientId, Hash};

/// The key of a permanent approval: tool, reason of the question, and client. The policy is part of it because a reason
/// names a rule by its number, which can be another rule after the settings have changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApprovalReason {
    tool: String,
    why: String,
    remembering: RememberScope,
    client: ClientId,
    front_end: FrontEnd,
    policy: Hash,
}

impl ApprovalReason {
    /// Returns the key for a call of this client.
    pub fn of(request: &ApprovalRequest, client: &ClientId, front_end: FrontEnd) -> ApprovalReason {
        ApprovalReason {
            tool: request.tool.to_string(),
            why: request.why.clone(),
            remembering: request.remembering,
            client: client.clone(),
            front_end,
            policy: request.policy,
        }
    }

    /// Returns true if an approval for this reason can be remembered.
    pub fn can_be_kept(&self) -> bool {
        self.remembering != RememberScope::Nothing
    }
}
