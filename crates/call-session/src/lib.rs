//! Single calls of a client, sent to the engine one by one and recorded as one run.
//!
//! The MCP server and the Responses server share this crate. It knows no protocol and no concrete tool: engines come
//! from [`EngineFactory`], approvers from [`ApproverFactory`].

mod client;
mod plan_runner;
mod plan_tools;
mod session_runs;
mod reload;
mod tool_sets;

pub use client::{ApproverFactory, ClientIdentity, FrontEnd, printable};
pub use plan_runner::{PlanRunOptions, PlanRunner, PlanSource, PlanToolResult, UndoRequest};
pub use plan_tools::{PLAN_BUDGET, PlanTool};
pub use reload::{EngineFactory, ReloadCheck, ReloadOutcome};
pub use session_runs::{RunEnding, SessionHandle, SessionRuns, detach_task};
pub use tool_sets::{ToolChoice, ToolSet, UnknownToolSet};
