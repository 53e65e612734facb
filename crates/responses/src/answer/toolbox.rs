//! Tollgate's own tools, as an answer uses them: offered to the model, run on the server.

use std::sync::Arc;

use backend::BoxFuture;
use envelope::{ClientId, SessionId};
use serde_json::{Map, Value};

use super::call_history::CallOutcome;
use crate::error::ApiError;
use crate::tools::OfferedTool;

/// The server-side tools.
pub trait Toolbox: Send + Sync {
    /// Returns the tools with these names, or all. Fails on an unknown name and suggests known ones.
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError>;

    /// Opens a run that records the calls of one answer, made by `model` for `client`. It belongs to the session of the
    /// conversation.
    fn open(
        &self,
        goal: &str,
        model: &str,
        client: Option<&ClientId>,
        session: Option<&SessionId>,
    ) -> Result<Arc<dyn ToolboxRun>, ApiError>;
}

/// The calls of one answer. Dropping it stops running calls and closes the record.
pub trait ToolboxRun: Send + Sync {
    /// Returns the id of the run.
    fn run_id(&self) -> String;

    /// Runs a call. A call whose future is dropped is cancelled and recorded as such.
    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult>;

    /// Closes the record, with the reason if the answer ended early. Completes even if the future is dropped.
    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()>;
}

pub struct ServerCall {
    /// The name that the model called.
    pub name: String,
    pub arguments: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServerResult {
    pub ok: bool,
    /// The result for the model.
    pub receipt: String,
    /// `ok`, `error`, `timeout` or `cancelled`.
    pub status: &'static str,
    /// Whether a rule, the mode, a hook or the user denied the call.
    pub is_denied: bool,
    /// Whether it changed files.
    pub has_changes: bool,
    /// The recorded result, from which the output is shortened in later turns. `None` if nothing was recorded.
    pub outcome: Option<Box<CallOutcome>>,
}
