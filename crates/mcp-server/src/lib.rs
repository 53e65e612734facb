//! Server for the Model Context Protocol, over standard input and output or over HTTP.
//!
//! ```text
//! tools/call      -> tool_calls: resolves the tool, runs the call in a run (client_runs) -> call_result: receipt and data
//!                      | the engine asks for approval: approver -> the client's user, at once (`initialize`) or in a
//!                      |   second round (pending_requests), or the fallback approver
//! resources/read  -> record_resources: recorded runs, calls and artifacts, bounded
//! settings change -> reload_notifier: clients are notified, the next call opens a new run
//! ```
//!
//! Two generations of the protocol are supported: clients that open a session with `initialize`, and stateless clients
//! that send everything with every request. rmcp implements the protocol; this crate maps it to calls, approvals and
//! records of the engine.

mod call_result;
mod approver;
mod tool_calls;
mod reload_notifier;
mod duplicate_keys;
mod server;
mod http;
mod instructions;
mod listing;
mod pending_requests;
mod standard_io;
mod plan_tools;
mod http_sessions;
mod question;
mod record_resources;
mod client_runs;
mod client_schemas;
mod stdio;
mod duplicate_key_filter;
mod surface;
mod shutdown_body;
mod question_layout;

pub use call_session::{PLAN_BUDGET, PlanRunOptions, PlanRunner, PlanSource, PlanToolResult, UndoRequest};
pub use http::{mount, mount_within};
pub use server::ClientLifetime;
pub use server::{McpHandler, McpParts, McpServer, McpSettings, OutputSchemas, RunStorage};
pub use standard_io::open_standard_io;
pub use stdio::serve_stdio;
