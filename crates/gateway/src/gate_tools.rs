//! Tollgate's own tools for models that are answered here: every call passes the gate and is recorded.

mod open_runs;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backend::BoxFuture;
use engine::{Engine, RunPlace, SessionCall, SessionRequest, SessionRun};
use envelope::{Status, ToolName, ToolResult};
use tokio::runtime::Handle;
use tokio::sync::RwLock;
use toolkit::{CancelCause, CancelToken, CompiledSchema, Visibility};

use self::open_runs::{OpenRun, OpenRuns};
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
    /// The tools that are offered, in the same order, as the gate knows them.
    own: Vec<ToolName>,
    /// Where a tool stands in both, by the name that a model calls it and by its own.
    places: Arc<HashMap<String, usize>>,
    open: OpenRuns,
    /// Ends every call, because the server stops.
    stop: CancelToken,
}

impl GateTools {
    /// Every tool that can be called as things are; or why there is no gate.
    pub fn new(make: MakeEngine, runs: PathBuf) -> Result<GateTools, String> {
        let engine = make()?;
        let mut offered = Vec::new();
        let mut own = Vec::new();
        let mut places = HashMap::new();
        for (entry, visibility) in engine.surface().iter() {
            let decl = &entry.decl;
            // A tool without a usable schema would not have been registered.
            let (Visibility::Loaded, Ok(schema)) = (visibility, CompiledSchema::compile(&decl.input_schema))
            else {
                continue;
            };
            let name = decl.alias();
            places.insert(decl.name.to_string(), own.len());
            places.insert(name.clone(), own.len());
            own.push(decl.name.clone());
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
        let places = Arc::new(places);
        Ok(GateTools {
            make,
            runs,
            offered,
            own,
            places,
            open: OpenRuns::default(),
            stop: CancelToken::new(),
        })
    }

    /// Ends the calls that are under way, and those that still come. Each is recorded as cancelled.
    pub fn stop(&self) {
        self.stop.cancel(CancelCause::Run);
    }

    /// Stops, and waits until every record is closed. A run that takes longer than the limit is left open, as after
    /// a crash: resuming finds out what became of it.
    pub async fn finish(&self, limit: Duration) {
        self.stop();
        if tokio::time::timeout(limit, self.open.all_ended()).await.is_err() {
            tracing::error!(
                runs = self.open.count(),
                "runs of tools did not end in time; `tollgate resume` ends them"
            );
        }
    }
}

impl Toolbox for GateTools {
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError> {
        let Some(names) = names else { return Ok(self.offered.clone()) };
        let mut chosen = HashSet::new();
        let mut tools = Vec::new();
        for name in names {
            let place = *self.places.get(name).ok_or_else(|| unknown(name, &self.offered))?;
            if chosen.insert(place) {
                tools.extend(self.offered.get(place).cloned());
            }
        }
        Ok(tools)
    }

    fn open(&self, goal: &str, model: &str) -> Result<Arc<dyn ToolboxRun>, ApiError> {
        let request = SessionRequest {
            place: RunPlace::Disk(self.runs.clone()),
            goal: goal.to_owned(),
            planner_version: Some(model.to_owned()),
            tools: self.own.clone(),
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
        let kept = Kept {
            session,
            busy: RwLock::new(()),
            closing: AtomicBool::new(false),
            stop: self.stop.clone(),
            _open: self.open.one_more(),
        };
        Ok(Arc::new(GateRun { kept: Arc::new(kept), own: self.own.clone(), places: self.places.clone() }))
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
    own: Vec<ToolName>,
    places: Arc<HashMap<String, usize>>,
}

/// What lives until the last call has ended and the record is closed.
struct Kept {
    session: SessionRun,
    /// Read by each call, so that the record is closed only when none is under way.
    busy: RwLock<()>,
    /// Set by whoever closes the record first; the others leave it alone.
    closing: AtomicBool,
    stop: CancelToken,
    /// The server waits for this. Dropped last, when the session has let go of everything.
    _open: OpenRun,
}

impl ToolboxRun for GateRun {
    fn run_id(&self) -> String {
        self.kept.session.run_id().to_string()
    }

    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult> {
        let Some(tool) = self.places.get(&call.name).and_then(|place| self.own.get(*place)).cloned() else {
            let receipt = format!("there is no tool `{}`", call.name);
            return Box::pin(async move { ServerResult { ok: false, receipt, status: "error" } });
        };
        let kept = self.kept.clone();
        let cancel = CancelToken::new();
        let guard = CancelOnDrop(cancel.clone());
        // A task of its own: whoever waits may go away, and what was begun must still end as a recorded result.
        let running = tokio::spawn(async move { kept.call(tool, call, cancel).await });
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

    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        if self.kept.closing.swap(true, Ordering::AcqRel) {
            return Box::pin(async {});
        }
        let kept = self.kept.clone();
        // A task of its own, too: half a close would leave the record open for good.
        let closing = tokio::spawn(async move { kept.close(reason).await });
        Box::pin(async move {
            if closing.await.is_err() {
                tracing::error!("the record of a run could not be closed");
            }
        })
    }
}

impl Kept {
    async fn call(&self, tool: ToolName, call: ServerCall, cancel: CancelToken) -> ToolResult {
        let _busy = self.busy.read().await;
        let made = SessionCall {
            tool,
            args: call.arguments,
            cancel: cancel.clone(),
            budget: None,
            approver: None,
            progress: None,
        };
        let mut calling = pin!(self.session.call(made));
        tokio::select! {
            biased;
            result = &mut calling => return result,
            cause = self.stop.cancelled() => cancel.cancel(cause),
        }
        calling.await
    }

    async fn close(&self, reason: Option<String>) {
        let _alone = self.busy.write().await;
        let report = self.session.close(reason).await;
        match &report.journal_error {
            Some(error) => tracing::error!(run = %report.run_id, error, "the record of a run is incomplete"),
            None => {
                tracing::info!(run = %report.run_id, calls = report.steps.len(), "a run of tools has ended");
            }
        }
    }
}

impl Drop for GateRun {
    /// Whoever used it went away without a word.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        if self.kept.closing.swap(true, Ordering::AcqRel) {
            return;
        }
        let reason =
            if self.kept.stop.is_cancelled() { "the server stopped" } else { "the client went away" };
        let kept = self.kept.clone();
        runtime.spawn(async move { kept.close(Some(reason.to_owned())).await });
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
