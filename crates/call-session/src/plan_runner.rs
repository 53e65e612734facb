//! Whole plans of a client: the interface between a front end with plan tools and the library that runs plans.

use std::sync::Arc;

use engine::Approver;
use envelope::SessionId;
use serde_json::Value;
use toolkit::{BoxFuture, CancelToken, ProgressSink};

/// Checks, previews, runs and undoes plans for clients. The texts of its results fit the token budget of the front end.
pub trait PlanRunner: Send + Sync {
    /// Checks a plan. One without errors is kept for its session, under the id that the answer names.
    fn check(&self, plan: String, session: Option<SessionId>) -> BoxFuture<'static, PlanToolResult>;

    /// Forecasts a plan, and keeps it with its forecast for its session, under the id that the answer names.
    fn preview(
        &self,
        plan: PlanSource,
        session: Option<SessionId>,
        cancel: CancelToken,
    ) -> BoxFuture<'static, PlanToolResult>;

    fn run(&self, plan: PlanSource, with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult>;

    /// Undoes a session or a run of it. The user is asked, whatever the mode is.
    fn undo(&self, request: UndoRequest, with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult>;

    /// Forgets the plans that were kept for a session.
    fn end_session(&self, session: &SessionId);
}

/// Where a plan comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanSource {
    Text(String),
    /// The id of a plan that the same session has checked or previewed.
    Previewed(String),
}

/// What to undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoRequest {
    /// Everything that the session did so far.
    Session,
    /// One run of the session.
    Run(String),
}

/// Options for running a plan or an undo.
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
#[derive(Debug, Default)]
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
    /// Whether the user or a rule denied it.
    pub is_denied: bool,
    /// Whether files were changed.
    pub has_changes: bool,
}
