//! The shared vocabulary of Tollgate: plans, calls, results, effects, events, failures, policy, ids and
//! paths.
//!
//! Every other crate uses these types. This crate has no I/O, no clock, no tokio, no serializer and no
//! process exit codes: an envelope is data, and the same data must mean the same in a live run, in a journal
//! read years later, and in a replay.

mod alias;
mod artifact;
mod call;
mod canonical;
mod vault_change;
mod confirmation;
mod effects;
mod escape;
mod escaped_name;
mod event;
mod failure;
mod family;
mod fault;
mod hash;
mod id;
mod invisible;
mod nearest;
mod outcome;
mod phase;
mod plan;
mod policy;
mod result;
mod risk;
mod strict_json;
mod tool;
mod vault_path;

pub use alias::{MAX_ALIAS_BYTES, distinct_alias};
pub use artifact::Artifact;
pub use call::{Iteration, ToolCall};
pub use canonical::{canonical_bytes, canonical_hash, canonical_object_hash};
pub use confirmation::{ApprovalChannel, Confirmation};
pub use effects::{CreatedPath, DeletedPath, Effects, EntryKind, ModifiedFile, RenamedPath, SideEffect};
pub use escape::{escape_invisible, escape_json, escape_line, escape_value, has_invisible};
pub use event::{EventLevel, EventType, ExecutionEvent};
pub use failure::Failure;
pub use family::ReceiptFamily;
pub use fault::Fault;
pub use hash::{BadHash, Hash};
pub use id::{BadId, CallId, ClientId, ConfirmationId, RunId, SessionId, StepId, ToolName, VarName};
pub use invisible::{InvisibleChars, invisible_chars, is_invisible, may_begin_invisible};
pub use nearest::{nearest, nearest_tool};
pub use outcome::{CanonicalError, CanonicalResult, CanonicalStatus};
pub use phase::{Actor, Mutation, Phase, PhaseFact, PhaseOutcome};
pub use plan::{
    ActionPlan, ContextRequest, Foreach, OnError, PLAN_VERSION, PlanDefaults, PlanStep, Retry,
    action_plan_schema,
};
pub use policy::{LimitsSnapshot, PolicySnapshot, SandboxSnapshot};
pub use result::{Cancellation, ContextModifier, DataRef, Status, ToolError, ToolResult};
pub use risk::Risk;
pub use strict_json::{StrictJsonHandler, parse_strict};
pub use tool::{Concurrency, Idempotency, Requirement, SchemaProblem, SchemasOnly, ToolCatalog, ToolDecl};
pub use vault_change::{FileState, KeptEntry, VaultChange};
pub use vault_path::{BadPath, VaultPath};

/// A point in time. Printed as ISO-8601 in UTC; this crate never reads the clock.
pub type Timestamp = jiff::Timestamp;
