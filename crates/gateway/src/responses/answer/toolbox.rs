//! Tollgate's own tools, as an answer uses them: offered to the model, run here, told to the model in few words.

use std::sync::Arc;

use backend::BoxFuture;
use envelope::ClientId;
use serde_json::{Map, Value};

use crate::responses::error::ApiError;
use crate::responses::tools::OfferedTool;

/// The tools behind the gate.
pub trait Toolbox: Send + Sync {
    /// Those with these names, or all. An unknown name is an error that says which are known.
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError>;

    /// Opens a run that the calls of one answer are recorded in, made by `model` for `client`.
    fn open(
        &self,
        goal: &str,
        model: &str,
        client: Option<&ClientId>,
    ) -> Result<Arc<dyn ToolboxRun>, ApiError>;
}

/// The calls of one answer. Dropping it ends what it left running and closes the record.
pub trait ToolboxRun: Send + Sync {
    /// Its name in the history of runs.
    fn run_id(&self) -> String;

    /// Runs to its end even when the future is dropped; then it is cancelled and recorded as such.
    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult>;

    /// Closes the record, with the reason if the answer ended early. To its end even when the future is dropped.
    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()>;
}

pub struct ServerCall {
    /// By which the model calls it.
    pub name: String,
    pub arguments: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerResult {
    pub ok: bool,
    /// What the model is told.
    pub receipt: String,
    /// `ok`, `error`, `timeout` or `cancelled`.
    pub status: &'static str,
}
