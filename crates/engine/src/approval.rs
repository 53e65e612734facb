//! How a person is asked. The command line implements it now, a server and a page later.

use envelope::{CallId, Channel, Hash, Risk, RunId, StepId, ToolName};
use serde_json::Value;
use toolkit::BoxFuture;

/// The one question of a run, or a foreach that grew past its limit.
pub struct ConfirmRequest {
    pub run_id: RunId,
    /// Exactly what has to be shown. Its hash goes into the record with the answer.
    pub text: String,
    /// What a yes will be bound to.
    pub binding: Hash,
    /// True for the one question before anything runs; false when a foreach asks about its size later.
    pub whole_plan: bool,
    /// The worst that the plan says it does.
    pub risk: Risk,
    /// Who wrote the plan, in its own words, where that is known.
    pub client: Option<String>,
}

pub enum Answer {
    Yes {
        channel: Channel,
    },
    No {
        reason: String,
    },
    /// Nobody is there to be asked. Never taken as a yes.
    Nobody {
        why: String,
    },
}

/// One call that needs a yes of its own.
pub struct ApprovalRequest {
    pub run_id: RunId,
    pub step_id: StepId,
    pub call_id: CallId,
    pub tool: ToolName,
    pub risk: Risk,
    /// Exactly what has to be shown: what would happen in the first line, then the rest of the forecast, the full
    /// command line, why there is a question, and the input. Safe to show.
    pub text: String,
    /// What the tool says it will do, and what the plan says about it where that differs. For a command the
    /// whole line, however long.
    pub preview: String,
    /// What the tool will be called with, made safe to show.
    pub input: Value,
    /// The hash of exactly what the tool will be called with: two inputs can look the same once they are safe to show.
    pub exact: Hash,
    /// Every reason that is still open; a yes answers all of them.
    pub why: String,
    pub remembering: Remembering,
    /// Whether the call is asked about a second time because it would no longer do what was approved. A yes that was
    /// given in advance does not answer this.
    pub differs: bool,
    /// Whether a yes to the plan that the call belongs to would answer every reason.
    pub covered_by_plan: bool,
    /// Who made the call, in its own words, where that is known.
    pub client: Option<String>,
    /// The hash of the policy that the call is judged by. A reason names a rule by its number, which is another rule's
    /// once the settings have changed.
    pub policy: Hash,
}

/// What a yes that is to be remembered would answer later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Remembering {
    /// Calls of the same tool for any of these reasons.
    Reasons,
    /// The same command with the same variables in the same folder, which this is the hash of.
    Exactly(Hash),
    /// Nothing: a yes to a wrapper, or to a line that is not understood, would be a yes to anything.
    Nothing,
}

pub enum Verdict {
    Once {
        channel: Channel,
    },
    /// Also for later calls, as far as [`ApprovalRequest::remembering`] says and as long as the engine lives.
    Remember {
        channel: Channel,
    },
    Reject {
        reason: String,
    },
    Nobody {
        why: String,
        /// What whoever made the call can do about it, where that is not what goes without saying.
        way_out: Option<&'static str>,
    },
}

/// A call that was started before a crash; whether it had its effect cannot be shown.
pub struct UncertainCall {
    pub call_id: CallId,
    pub step_id: StepId,
    pub tool: ToolName,
    pub input: Value,
    pub why: String,
}

pub enum UncertainVerdict {
    /// Run it (again): the person knows that it did not happen, or that twice does no harm.
    Run,
    /// Leave it: record it as failed with outcome unknown.
    Leave,
}

/// Whoever can answer. Silence is never a yes.
pub trait Approver: Send + Sync {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer>;
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict>;
    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict>;
}
