//! The interface to the user who approves plans and calls. Front ends implement [`Approver`].

use envelope::{ApprovalChannel, CallId, Hash, Risk, RunId, StepId, ToolName};
use serde_json::Value;
use toolkit::BoxFuture;

/// A question about a whole plan, or about a foreach that is larger than its limit.
pub struct ConfirmRequest {
    pub run_id: RunId,
    /// Text to show, exactly as it is. Its hash is recorded with the answer.
    pub text: String,
    /// Hash that an approval will be bound to.
    pub binding: Hash,
    /// True for the question before anything runs; false when a foreach asks about its size later.
    pub whole_plan: bool,
    /// The highest risk that the plan declares.
    pub risk: Risk,
    /// Author of the plan, in its own words, if known.
    pub client: Option<String>,
}

/// Answer to a [`ConfirmRequest`].
pub enum ConfirmAnswer {
    Approved {
        channel: ApprovalChannel,
    },
    Declined {
        reason: String,
    },
    /// No approver is available. Never treated as an approval.
    Unavailable {
        why: String,
    },
}

/// A question about one call that needs its own approval.
pub struct ApprovalRequest {
    pub run_id: RunId,
    pub step_id: StepId,
    pub call_id: CallId,
    pub tool: ToolName,
    pub risk: Risk,
    /// Text to show, exactly as it is and safe to show: the forecast with its headline first, the full command line,
    /// the reason for the question, and the input.
    pub text: String,
    /// The tool's preview, and the plan's preview if it differs. For a command, the whole line however long.
    pub preview: String,
    /// Arguments of the tool, made safe to show.
    pub input: Value,
    /// Hash of the exact arguments: two inputs can look the same once they are made safe to show.
    pub exact: Hash,
    /// Every reason that is still open; an approval answers all of them.
    pub why: String,
    pub remembering: RememberScope,
    /// Whether the call is asked about again because it would no longer do what was approved. An approval that was
    /// given in advance does not answer this.
    pub differs: bool,
    /// Whether an approval of the plan of this call would answer every reason.
    pub covered_by_plan: bool,
    /// Client that made the call, in its own words, if known.
    pub client: Option<String>,
    /// Hash of the policy in force. A reason names a rule by its number, which may be another rule after the settings
    /// have changed.
    pub policy: Hash,
}

/// Later calls that a remembered approval answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RememberScope {
    /// Calls of the same tool for any of these reasons.
    Reasons,
    /// Exactly the same call: hash of the command, its variables and its folder.
    Exactly(Hash),
    /// No call: an approval of a wrapper, or of a line that was not understood, would approve anything.
    Nothing,
}

/// Answer to an [`ApprovalRequest`].
pub enum ApprovalDecision {
    ApproveOnce {
        channel: ApprovalChannel,
    },
    /// Approves later calls too, as far as [`ApprovalRequest::remembering`] goes and as long as the engine lives.
    ApproveAndRemember {
        channel: ApprovalChannel,
    },
    Reject {
        reason: String,
    },
    Unavailable {
        why: String,
        /// Hint for the client, if the default hint does not help.
        hint: Option<&'static str>,
    },
}

/// A call that was interrupted and whose outcome its tool cannot determine.
pub struct UncertainCall {
    pub call_id: CallId,
    pub step_id: StepId,
    pub tool: ToolName,
    pub input: Value,
    pub why: String,
}

/// Answer about an [`UncertainCall`].
pub enum UncertainDecision {
    /// Run it (again): the user knows that it did not happen, or that running twice does no harm.
    Run,
    /// Do not run it: record it as failed with an unknown outcome.
    Leave,
}

/// Asks the user. Silence is never an approval.
pub trait Approver: Send + Sync {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer>;
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision>;
    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision>;
}
