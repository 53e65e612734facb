//! Tollgate's own tools for models that are answered here: every call passes the gate and is recorded.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use backend::BoxFuture;
use engine::{Engine, RunPlace, SessionCall, SessionRequest, SessionRun};
use envelope::{Status, ToolName, ToolResult};
use tokio::sync::RwLock;
use toolkit::{CancelCause, CancelToken, CompiledSchema, Visibility};

use crate::api_error::ApiError;
use crate::responses::answer::{ServerCall, ServerResult, Toolbox, ToolboxRun};
use crate::responses::tools::{OfferedTool, ToolKind};

/// Makes the gate for one run. What a run leaves behind, such as background tasks, belongs to its own gate and ends
/// with it; two answers at the same time know nothing of each other.
pub type MakeEngine = Arc<dyn Fn() -> Result<Engine, String> + Send + Sync>;

/// The tools behind a gate.
pub struct GateTools {
    make: MakeEngine,
    /// Where runs are recorded.
    runs: PathBuf,
    offered: Vec<OfferedTool>,
    /// By the name that a model calls it.
    names: HashMap<String, ToolName>,
}

impl GateTools {
    /// Every tool that can be called as things are; or why there is no gate.
    pub fn new(make: MakeEngine, runs: PathBuf) -> Result<GateTools, String> {
        let engine = make()?;
        let mut offered = Vec::new();
        let mut names = HashMap::new();
        for (entry, visibility) in engine.surface().iter() {
            let decl = &entry.decl;
            // A tool without a usable schema would not have been registered.
            let (Visibility::Loaded, Ok(schema)) = (visibility, CompiledSchema::compile(&decl.input_schema))
            else {
                continue;
            };
            let name = decl.alias();
            names.insert(name.clone(), decl.name.clone());
            offered.push(OfferedTool {
                own_name: name.clone(),
                name,
                namespace: None,
                description: decl.summary.clone(),
                parameters: decl.input_schema.clone(),
                schema: Arc::new(schema),
                // The gate says what is wrong with a call, in words for the model.
                strict: false,
                kind: ToolKind::Function,
            });
        }
        Ok(GateTools { make, runs, offered, names })
    }
}

impl Toolbox for GateTools {
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError> {
        let Some(names) = names else { return Ok(self.offered.clone()) };
        names
            .iter()
            .map(|name| {
                let same = |tool: &&OfferedTool| {
                    tool.name == *name || self.names.get(&tool.name).is_some_and(|own| own.as_str() == name)
                };
                self.offered.iter().find(same).cloned().ok_or_else(|| unknown(name, &self.offered))
            })
            .collect()
    }

    fn open(&self, goal: &str, model: &str) -> Result<Arc<dyn ToolboxRun>, ApiError> {
        let request = SessionRequest {
            place: RunPlace::Disk(self.runs.clone()),
            goal: goal.to_owned(),
            planner_version: Some(model.to_owned()),
            tools: self.names.values().cloned().collect(),
        };
        let opened =
            (self.make)().and_then(|engine| engine.open_session(request).map_err(|error| error.to_string()));
        let session = opened.map_err(|error| {
            tracing::error!(error, "a run could not be opened");
            ApiError::server(
                500,
                "journal_failed",
                "the record of the run cannot be started; no tool was run",
            )
        })?;
        Ok(Arc::new(GateRun {
            kept: Arc::new(Kept { session, busy: RwLock::new(()) }),
            names: self.names.clone(),
        }))
    }
}

fn unknown(name: &str, offered: &[OfferedTool]) -> ApiError {
    let near = envelope::nearest(name, offered.iter().map(|tool| tool.name.as_str()));
    let hint =
        near.map_or("`tollgate tools` lists them all".to_owned(), |near| format!("did you mean `{near}`?"));
    ApiError::invalid("tools", "unknown_tool", format!("this server has no tool `{name}`; {hint}"))
}

/// One run of calls.
struct GateRun {
    kept: Arc<Kept>,
    names: HashMap<String, ToolName>,
}

/// What lives as long as a call of the run does.
struct Kept {
    session: SessionRun,
    /// Read by each call, so that the record is closed only when none is under way.
    busy: RwLock<()>,
}

impl ToolboxRun for GateRun {
    fn run_id(&self) -> String {
        self.kept.session.run_id().to_string()
    }

    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult> {
        let Some(tool) = self.names.get(&call.name).cloned() else {
            let receipt = format!("there is no tool `{}`", call.name);
            return Box::pin(async move { ServerResult { ok: false, receipt, status: "error" } });
        };
        let kept = self.kept.clone();
        let cancel = CancelToken::new();
        let guard = CancelOnDrop(cancel.clone());
        // A task of its own: whoever waits may go away, and what was begun must still end as a recorded result.
        let running = tokio::spawn(async move {
            let _busy = kept.busy.read().await;
            kept.session.call(SessionCall { tool, args: call.arguments, cancel, budget: None }).await
        });
        Box::pin(async move {
            let result = running.await;
            drop(guard);
            match result {
                Ok(result) => told(&result),
                Err(_panic) => {
                    let receipt = "the call crashed; nobody can tell whether it happened".to_owned();
                    ServerResult { ok: false, receipt, status: "error" }
                }
            }
        })
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        let kept = self.kept.clone();
        Box::pin(async move { kept.close(None).await })
    }
}

impl Kept {
    async fn close(&self, reason: Option<String>) {
        let _alone = self.busy.write().await;
        let report = self.session.close(reason).await;
        match &report.journal_error {
            Some(error) => tracing::error!(run = %report.run_id, error, "the record of a run is incomplete"),
            None => {
                tracing::info!(run = %report.run_id, calls = report.steps.len(), "a run of tools has ended")
            }
        }
    }
}

impl Drop for GateRun {
    /// Whoever used it went away without a word.
    fn drop(&mut self) {
        if self.kept.session.is_closed() {
            return;
        }
        let kept = self.kept.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { kept.close(Some("the client went away".to_owned())).await });
        }
    }
}

/// Cancels a call that nobody waits for any more. One that has ended does not notice.
struct CancelOnDrop(CancelToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelCause::Run);
    }
}

fn told(result: &ToolResult) -> ServerResult {
    let receipt = result.receipt.clone().or_else(|| result.user_message.clone()).unwrap_or_default();
    let status = match result.status {
        Status::Ok => "ok",
        Status::Error | Status::Skipped => "error",
        Status::Timeout => "timeout",
        Status::Cancelled => "cancelled",
    };
    ServerResult { ok: result.ok, receipt, status }
}
