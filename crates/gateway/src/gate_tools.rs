//! Tollgate's own tools for models that are answered here: every call passes the gate and is recorded.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use backend::BoxFuture;
use engine::{Approver, Engine, RunPlace, SessionRequest};
use envelope::{ClientId, Status, ToolName, ToolResult};
use toolkit::{CancelToken, CompiledSchema, Visibility};

use crate::api_error::ApiError;
use crate::client::{ApproverOf, FrontEnd, printable};
use crate::gate_run::{Ends, GateCall, GateRun, Runs};
use crate::responses::answer::{ServerCall, ServerResult, Toolbox, ToolboxRun};
use crate::responses::known_schema::KnownSchema;
use crate::responses::tools::{OfferedTool, ToolKind};

/// Makes the gate for one run. What a run leaves behind, such as background tasks, belongs to its own gate and ends
/// with it; two answers at the same time know nothing of each other.
pub type MakeEngine = Arc<dyn Fn() -> Result<Engine, String> + Send + Sync>;

/// The tools behind a gate.
pub struct GateTools {
    make: MakeEngine,
    approvers: ApproverOf,
    /// Where runs are recorded.
    runs: PathBuf,
    offered: Vec<OfferedTool>,
    /// The tools that are offered, in the same order, as the gate knows them.
    own: Vec<ToolName>,
    /// Where a tool stands in both, by the name that a model calls it and by its own.
    places: Arc<HashMap<String, usize>>,
    open: Runs,
}

impl GateTools {
    /// Every tool that can be called as things are; or why there is no gate.
    pub fn new(make: MakeEngine, approvers: ApproverOf, runs: PathBuf) -> Result<GateTools, String> {
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
            let name = entry.alias().to_owned();
            places.insert(decl.name.to_string(), own.len());
            places.insert(name.clone(), own.len());
            own.push(decl.name.clone());
            offered.push(OfferedTool {
                own_name: name.clone(),
                name,
                namespace: None,
                description: decl.summary.clone(),
                parameters: decl.input_schema.clone(),
                schema: Arc::new(KnownSchema::new(schema)),
                // The gate says what is wrong with a call, in words for the model.
                strict: false,
                kind: ToolKind::Function,
            });
        }
        let places = Arc::new(places);
        Ok(GateTools { make, approvers, runs, offered, own, places, open: Runs::default() })
    }

    /// The runs of these tools: to be stopped and waited for when the server ends.
    pub fn runs(&self) -> &Runs {
        &self.open
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

    fn open(
        &self,
        goal: &str,
        model: &str,
        client: Option<&ClientId>,
    ) -> Result<Arc<dyn ToolboxRun>, ApiError> {
        let client = client.cloned().unwrap_or_else(ClientId::local);
        let request = SessionRequest {
            place: RunPlace::Disk(self.runs.clone()),
            goal: goal.to_owned(),
            planner_version: Some(format!("{client} (model {})", printable(model))),
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
        let run = self.open.keep(session, Ends::Cut);
        let approver = (self.approvers)(&client, FrontEnd::Responses);
        Ok(Arc::new(ToolsRun { run, approver, own: self.own.clone(), places: self.places.clone() }))
    }
}

fn unknown(name: &str, offered: &[OfferedTool]) -> ApiError {
    let near = envelope::nearest(name, offered.iter().map(|tool| tool.name.as_str()));
    let hint =
        near.map_or("`tollgate tools` lists them all".to_owned(), |near| format!("did you mean `{near}`?"));
    ApiError::invalid("tools", "unknown_tool", format!("this server has no tool `{name}`; {hint}"))
}

/// One run of calls, by the names that a model uses.
struct ToolsRun {
    run: GateRun,
    /// Asks on behalf of the client that the answer is for.
    approver: Arc<dyn Approver>,
    own: Vec<ToolName>,
    places: Arc<HashMap<String, usize>>,
}

impl ToolboxRun for ToolsRun {
    fn run_id(&self) -> String {
        self.run.run_id().to_string()
    }

    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult> {
        let Some(tool) = self.places.get(&call.name).and_then(|place| self.own.get(*place)).cloned() else {
            let receipt = format!("there is no tool `{}`", call.name);
            return Box::pin(async move { ServerResult { ok: false, receipt, status: "error" } });
        };
        let cancel = CancelToken::new();
        let made = GateCall {
            tool,
            args: call.arguments,
            approver: Some(self.approver.clone()),
            progress: None,
            cancel,
        };
        let running = self.run.call(made);
        Box::pin(async move {
            match running.await {
                Ok(result) => told(&result),
                Err(fault) => ServerResult { ok: false, receipt: fault.message, status: "error" },
            }
        })
    }

    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        self.run.close(reason)
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
