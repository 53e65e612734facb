//! Tollgate's own tools for models that are answered here: every call passes the gate and is recorded.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backend::BoxFuture;
use engine::{Approver, Engine, RunPlace, SessionRequest};
use envelope::{ClientId, Status, ToolName, ToolResult};
use journal::RunsFolder;
use toolkit::{CancelToken, CompiledSchema, Visibility};

use crate::api_error::ApiError;
use crate::client::{ApproverOf, FrontEnd, printable};
use crate::gate_run::{Ends, GateCall, GateRun, Runs};
use crate::mcp::{Look, Looked};
use crate::responses::answer::{ServerCall, ServerResult, Toolbox, ToolboxRun};
use crate::responses::known_schema::KnownSchema;
use crate::responses::tools::{OfferedTool, ToolKind};

/// Makes the gate for one run. What a run leaves behind, such as background tasks, belongs to its own gate and ends
/// with it; two answers at the same time know nothing of each other.
pub type MakeEngine = Arc<dyn Fn() -> Result<Engine, String> + Send + Sync>;

/// The tools behind a gate.
pub struct GateTools {
    offered: Vec<OfferedTool>,
    gates: Arc<Gates>,
}

/// What runs are opened with.
struct Gates {
    make: MakeEngine,
    approvers: ApproverOf,
    /// Where runs are recorded.
    runs: RunsFolder,
    /// The tools that are offered, in the same order, as the gate knows them.
    own: Vec<ToolName>,
    /// Where a tool stands in both, by the name that a model calls it and by its own.
    places: HashMap<String, usize>,
    open: Runs,
    look: Option<Look>,
    /// Counts the changes of what gates are made from. Held until a look has ended, so that no call goes on under what
    /// is about to be replaced.
    changes: Mutex<u64>,
}

impl Gates {
    /// Takes over what has changed of what gates are made from. Returns how often it has.
    fn look(&self) -> u64 {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        match self.look.as_ref().map_or(Looked::Same, |look| look()) {
            Looked::Same => {}
            Looked::Changed | Looked::Unusable => *changes += 1,
        }
        *changes
    }

    fn open(&self, goal: &str, model: &str) -> Result<GateRun, String> {
        let request = SessionRequest {
            place: RunPlace::Disk(self.runs.clone()),
            goal: goal.to_owned(),
            planner_version: Some(model.to_owned()),
            tools: self.own.clone(),
        };
        let session = (self.make)()?.open_session(request).map_err(|error| error.to_string())?;
        Ok(self.open.keep(session, Ends::Cut))
    }
}

impl GateTools {
    /// Every tool that can be called as things are; or why there is no gate. `look` is called before every call: one
    /// after a change of what gates are made from is made in another run.
    pub fn new(
        make: MakeEngine,
        approvers: ApproverOf,
        runs: RunsFolder,
        look: Option<Look>,
    ) -> Result<GateTools, String> {
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
        let (open, changes) = (Runs::default(), Mutex::default());
        let gates = Gates { make, approvers, runs, own, places, open, look, changes };
        Ok(GateTools { offered, gates: Arc::new(gates) })
    }

    /// The runs of these tools: to be stopped and waited for when the server ends.
    pub fn runs(&self) -> &Runs {
        &self.gates.open
    }
}

impl Toolbox for GateTools {
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError> {
        let Some(names) = names else { return Ok(self.offered.clone()) };
        let mut chosen = HashSet::new();
        let mut tools = Vec::new();
        for name in names {
            let place = *self.gates.places.get(name).ok_or_else(|| unknown(name, &self.offered))?;
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
        let model = format!("{client} (model {})", printable(model));
        let changes = self.gates.look();
        let run = self.gates.open(goal, &model).map_err(|error| {
            tracing::error!(error, "a run could not be opened");
            ApiError::server(
                500,
                "journal_failed",
                "the record of the run cannot be started; no tool was run",
            )
        })?;
        let current = Mutex::new(CurrentRun { run: Arc::new(run), changes });
        let approver = (self.gates.approvers)(&client, FrontEnd::Responses);
        let (gates, goal) = (self.gates.clone(), goal.to_owned());
        Ok(Arc::new(ToolsRun { gates, goal, model, approver, current }))
    }
}

fn unknown(name: &str, offered: &[OfferedTool]) -> ApiError {
    let near = envelope::nearest(name, offered.iter().map(|tool| tool.name.as_str()));
    let hint =
        near.map_or("`tollgate tools` lists them all".to_owned(), |near| format!("did you mean `{near}`?"));
    ApiError::invalid("tools", "unknown_tool", format!("this server has no tool `{name}`; {hint}"))
}

/// The calls of one answer, by the names that a model uses: one run, or one more after each change of what gates are
/// made from.
struct ToolsRun {
    gates: Arc<Gates>,
    goal: String,
    /// Who decides about the calls, for the record: the client, and the model that it names.
    model: String,
    /// Asks on behalf of the client that the answer is for.
    approver: Arc<dyn Approver>,
    current: Mutex<CurrentRun>,
}

struct CurrentRun {
    run: Arc<GateRun>,
    /// How often what gates are made from had changed when it was opened.
    changes: u64,
}

impl ToolsRun {
    fn current(&self) -> MutexGuard<'_, CurrentRun> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run for one more call. One that was opened under other settings takes no further call.
    fn run_for_call(&self) -> Result<Arc<GateRun>, String> {
        let changes = self.gates.look();
        let mut current = self.current();
        if current.changes != changes {
            let run = Arc::new(self.gates.open(&self.goal, &self.model)?);
            let before = std::mem::replace(&mut *current, CurrentRun { run, changes });
            // Goes on by itself: nobody has to wait for the end of a run that takes no further call.
            drop(before.run.close(None));
        }
        Ok(current.run.clone())
    }
}

impl ToolboxRun for ToolsRun {
    fn run_id(&self) -> String {
        self.current().run.run_id().to_string()
    }

    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult> {
        let gates = &self.gates;
        let refused = |receipt: String| -> BoxFuture<'static, ServerResult> {
            Box::pin(async move { ServerResult { ok: false, receipt, status: "error" } })
        };
        let Some(tool) = gates.places.get(&call.name).and_then(|place| gates.own.get(*place)).cloned() else {
            return refused(format!("there is no tool `{}`", call.name));
        };
        let run = match self.run_for_call() {
            Ok(run) => run,
            Err(why) => {
                tracing::error!(error = why, "a run could not be opened");
                return refused(format!("not run: {why}"));
            }
        };
        let cancel = CancelToken::new();
        let made = GateCall {
            tool,
            args: call.arguments,
            approver: Some(self.approver.clone()),
            progress: None,
            cancel,
        };
        let running = run.call(made);
        Box::pin(async move {
            let ended = running.await;
            drop(run);
            match ended {
                Ok(result) => told(&result),
                Err(fault) => ServerResult { ok: false, receipt: fault.message, status: "error" },
            }
        })
    }

    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        self.current().run.close(reason)
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
