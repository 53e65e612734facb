//! Whole plans of a client: the interface between a front end with plan tools and the library that runs plans.

use std::sync::Arc;

use engine::Approver;
use envelope::SessionId;
use serde_json::Value;
use toolkit::{BoxFuture, CancelToken, ProgressSink};

/// Checks, previews and runs plans for clients. The texts of its results fit the token budget of the front end.
pub trait PlanRunner: Send + Sync {
    fn check(&self, plan: String) -> BoxFuture<'static, PlanToolResult>;
    fn preview(&self, plan: String, cancel: CancelToken) -> BoxFuture<'static, PlanToolResult>;
    fn run(&self, plan: String, with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult>;
}

/// Options for running a plan.
pub struct PlanRunOptions {
    /// Approver for this plan; `None` uses that of the runner.
    pub approver: Option<Arc<dyn Approver>>,
    pub progress: ProgressSink,
    pub cancel: CancelToken,
    /// The client that wrote the plan, for the journal.
    pub client: String,
    /// The session of the client, which its runs belong to.
    pub session: Option<SessionId>,
}

/// Result of a plan tool.
#[derive(Debug)]
pub struct PlanToolResult {
    pub ok: bool,
    /// One line.
    pub summary: String,
    /// Everything that a model has to know, within the token budget.
    pub text: String,
    /// The same as data.
    pub data: Value,
    /// The run, if there was one.
    pub run: Option<String>,
}
