//! The shared words of Tollgate: plans, calls, results, effects, events, failures, policy, ids and paths.
//!
//! Every other crate speaks in these types. Nothing here does I/O, reads a clock or knows tokio: an
//! envelope is data, and the same data must mean the same thing in a live run, in a journal read years
//! later, and in a replay.

mod alias;
mod artifact;
mod call;
mod canonical;
mod change;
mod confirmation;
mod effects;
mod escape;
mod event;
mod failure;
mod family;
mod fault;
mod hash;
mod id;
mod invisible;
mod json_text;
mod json_writer;
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
pub use change::{Change, FileState, KeptEntry};
pub use confirmation::{Channel, Confirmation};
pub use effects::{Created, Deleted, Effects, EntryKind, Modified, Renamed, SideEffect};
pub use escape::{escape_invisible, escape_json, escape_line, escape_value, has_invisible, push_escape};
pub use event::{EventType, ExecutionEvent, Level};
pub use failure::Failure;
pub use family::Family;
pub use fault::Fault;
pub use hash::{BadHash, Hash};
pub use id::{BadId, CallId, ConfirmationId, RunId, StepId, ToolName, VarName};
pub use invisible::{InvisibleChars, invisible_chars, is_invisible, may_begin_invisible};
pub use json_text::{json_plain, json_text, line_break};
pub use json_writer::write_json;
pub use nearest::nearest;
pub use outcome::{CanonicalError, CanonicalResult, CanonicalStatus};
pub use phase::{Actor, Mutation, Phase, PhaseFact, PhaseOutcome};
pub use plan::{
    ActionPlan, ContextRequest, Defaults, Foreach, OnError, PLAN_VERSION, Retry, Step, action_plan_schema,
};
pub use policy::{LimitsSnapshot, PolicySnapshot, SandboxSnapshot};
pub use result::{Cancellation, ContextModifier, DataRef, Status, ToolError, ToolResult};
pub use risk::Risk;
pub use strict_json::{StrictValue, Strictness, read_strictly};
pub use tool::{Catalog, Concurrency, Idempotency, Requirement, SchemaProblem, ToolDecl};
pub use vault_path::{BadPath, VaultPath};

/// A point in time. Envelope times print as ISO-8601 in UTC; who reads the clock is decided elsewhere.
pub type Timestamp = jiff::Timestamp;
