//! Tollgate's own tools for models: every call passes the engine's phases and is recorded.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backend::BoxFuture;
use engine::{Approver, CallRequest, RunPlace, SessionRequest};
use envelope::{ClientId, Failure, ReceiptFamily, SessionId, Status, ToolName, ToolResult};
use journal::RunsFolder;
use serde_json::{Map, Value};
use toolkit::{CancelToken, CompiledSchema, ToolVisibility};

use crate::answer::{CallOutcome, ServerCall, ServerResult, Toolbox, ToolboxRun};
use crate::tools::{OfferedTool, ToolKind};
use call_session::{ApproverFactory, FrontEnd, ToolChoice, printable};
use call_session::{EngineFactory, ReloadCheck, ReloadOutcome};
use call_session::{PlanRunOptions, PlanRunner, PlanTool, PlanToolResult};
use call_session::{RunEnding, SessionHandle, SessionRuns};
use http_edge::api_error::ApiError;

/// The server-side tools of an engine.
pub struct EngineToolbox {
    offered: Vec<OfferedTool>,
    /// Whether a request that names no tools gets the tool, in the same order.
    listed: Vec<bool>,
    gates: Arc<SessionSettings>,
}

/// The settings that runs are opened with.
struct SessionSettings {
    make: EngineFactory,
    approvers: ApproverFactory,
    /// The folder of run records.
    runs: RunsFolder,
    /// The offered tools in the same order, by the engine's names, with the families of their results.
    own: Vec<(ToolName, ReceiptFamily)>,
    /// The index of a tool in both lists, by the model's name and by the engine's.
    places: HashMap<String, usize>,
    open: SessionRuns,
    look: Option<ReloadCheck>,
    plans: Option<ServerPlans>,
    /// Counts the changes of the engine's settings. Locked during a check, so that no call starts under settings that
    /// are being replaced.
    changes: Mutex<u64>,
}

/// The plan tools of a server.
pub struct ServerPlans {
    pub runner: Arc<dyn PlanRunner>,
    /// Whether plans are asked about. False if all calls were approved in advance.
    pub asks: bool,
}

impl SessionSettings {
    /// Reloads changed settings. Returns how many changes there were so far.
    fn check_reload(&self) -> u64 {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        match self.look.as_ref().map_or(ReloadOutcome::Same, |look| look()) {
            ReloadOutcome::Same => {}
            ReloadOutcome::Changed | ReloadOutcome::Unusable => *changes += 1,
        }
        *changes
    }

    fn open(&self, goal: &str, model: &str, session: Option<&SessionId>) -> Result<SessionHandle, OpenError> {
        let request = SessionRequest {
            place: RunPlace::Disk(self.runs.clone()),
            session: session.cloned(),
            goal: goal.to_owned(),
            planner_version: Some(model.to_owned()),
            tools: self.own.iter().map(|(tool, _)| tool.clone()).collect(),
        };
        let engine = (self.make)().map_err(OpenError::Settings)?;
        let session = engine.open_session(request).map_err(|error| OpenError::Record(error.to_string()))?;
        Ok(self.open.add_run(session, RunEnding::Cut))
    }
}

/// Why no run can be opened. No tool was run then.
#[derive(Debug, thiserror::Error)]
enum OpenError {
    /// The settings cannot be used, for example because they are not trusted. Says what to do.
    #[error("{0}")]
    Settings(String),
    #[error("the record of the run cannot be started: {0}")]
    Record(String),
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> ApiError {
        tracing::error!(%error, "a run could not be opened");
        match error {
            OpenError::Settings(why) => ApiError::server(
                503,
                "settings_unusable",
                format!("the settings of the vault cannot be used, so no tool was run: {why}"),
            ),
            // The cause may name folders of the server.
            OpenError::Record(_) => ApiError::server(
                500,
                "journal_failed",
                "the record of the run cannot be started; no tool was run",
            ),
        }
    }
}

impl EngineToolbox {
    /// Collects every tool that can be called. Fails without an engine. `look` is called before every call: a
    /// call after a change of the settings is recorded in another run.
    pub fn new(
        make: EngineFactory,
        approvers: ApproverFactory,
        runs: RunsFolder,
        look: Option<ReloadCheck>,
        choice: &ToolChoice,
        plans: Option<ServerPlans>,
    ) -> Result<EngineToolbox, String> {
        let engine = make()?;
        let mut offered = Vec::new();
        let mut listed = Vec::new();
        let mut own = Vec::new();
        let mut places = HashMap::new();
        for (entry, visibility) in engine.surface().iter() {
            let decl = &entry.decl;
            if !choice.allows(decl) {
                continue;
            }
            if visibility != ToolVisibility::Loaded {
                continue;
            }
            let name = entry.alias().to_owned();
            places.insert(decl.name.to_string(), own.len());
            places.insert(name.clone(), own.len());
            listed.push(choice.lists(decl) && engine.may_permit(decl));
            own.push((decl.name.clone(), decl.family));
            offered.push(OfferedTool {
                own_name: name.clone(),
                name,
                namespace: None,
                description: decl.summary.clone(),
                parameters: decl.input_schema.clone(),
                schema: entry.input.clone(),
                // The engine reports invalid arguments to the model.
                strict: false,
                kind: ToolKind::Function,
            });
        }
        for which in PlanTool::ALL.into_iter().filter(|_| plans.is_some() && choice.has_plans()) {
            let parameters = which.input_schema();
            let (Ok(tool), Ok(schema)) =
                (ToolName::parse(which.own_name()), CompiledSchema::compile(&parameters))
            else {
                continue;
            };
            let name = which.own_name().replace('.', "_");
            places.insert(tool.to_string(), own.len());
            places.insert(name.clone(), own.len());
            listed.push(true);
            own.push((tool, ReceiptFamily::Mutation));
            offered.push(OfferedTool {
                own_name: name.clone(),
                name,
                namespace: None,
                description: which.description().to_owned(),
                parameters,
                schema: Arc::new(schema),
                strict: false,
                kind: ToolKind::Function,
            });
        }
        let (open, changes) = (SessionRuns::default(), Mutex::default());
        let gates = SessionSettings { make, approvers, runs, own, places, open, look, plans, changes };
        Ok(EngineToolbox { offered, listed, gates: Arc::new(gates) })
    }

    /// Returns the runs of these tools, to be stopped and awaited at shutdown.
    pub fn runs(&self) -> &SessionRuns {
        &self.gates.open
    }
}

impl Toolbox for EngineToolbox {
    fn tools(&self, names: Option<&[String]>) -> Result<Vec<OfferedTool>, ApiError> {
        let Some(names) = names else {
            let listed = self.offered.iter().zip(&self.listed).filter(|(_, listed)| **listed);
            return Ok(listed.map(|(tool, _)| tool.clone()).collect());
        };
        let mut chosen = HashSet::new();
        let mut tools = Vec::new();
        for name in names {
            let place = *self.gates.places.get(name).ok_or_else(|| unknown_tool(name, &self.offered))?;
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
        session: Option<&SessionId>,
    ) -> Result<Arc<dyn ToolboxRun>, ApiError> {
        let client = client.cloned().unwrap_or_else(ClientId::local);
        let model = format!("{client} (model {})", printable(model));
        let changes = self.gates.check_reload();
        let run = self.gates.open(goal, &model, session)?;
        let current = Mutex::new(CurrentRun { run: Arc::new(run), changes, is_closed: false });
        let approver = (self.gates.approvers)(&client, FrontEnd::Responses);
        let (gates, goal) = (self.gates.clone(), goal.to_owned());
        Ok(Arc::new(ToolsRun { gates, goal, model, session: session.cloned(), approver, current }))
    }
}

fn unknown_tool(name: &str, offered: &[OfferedTool]) -> ApiError {
    let near = envelope::nearest_tool(name, offered.iter().map(|tool| tool.name.as_str()));
    let hint =
        near.map_or("`tollgate tools` lists them all".to_owned(), |near| format!("did you mean `{near}`?"));
    ApiError::invalid("tools", "unknown_tool", format!("this server has no tool `{name}`; {hint}"))
}

/// The calls of one answer: one run, and another one after each change of the settings.
struct ToolsRun {
    gates: Arc<SessionSettings>,
    goal: String,
    /// The caller for the record: the client, and the model that it names.
    model: String,
    session: Option<SessionId>,
    /// Asks the client of the answer for approvals.
    approver: Arc<dyn Approver>,
    current: Mutex<CurrentRun>,
}

struct CurrentRun {
    run: Arc<SessionHandle>,
    /// The number of settings changes when it was opened.
    changes: u64,
    /// Whether it was closed before an undo.
    is_closed: bool,
}

impl ToolsRun {
    fn current(&self) -> MutexGuard<'_, CurrentRun> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the run for the next call. A run that was opened under other settings takes no more calls.
    fn run_for_call(&self) -> Result<Arc<SessionHandle>, OpenError> {
        let changes = self.gates.check_reload();
        let mut current = self.current();
        if current.changes != changes || current.is_closed {
            let run = Arc::new(self.gates.open(&self.goal, &self.model, self.session.as_ref())?);
            let before = std::mem::replace(&mut *current, CurrentRun { run, changes, is_closed: false });
            // The close completes in the background; a second one has no effect.
            drop(before.run.close(None));
        }
        Ok(current.run.clone())
    }
}

impl ToolsRun {
    /// Runs a plan tool. The run of a plan is recorded on its own, in the session of this answer.
    fn plan_call(
        &self,
        which: PlanTool,
        plans: &ServerPlans,
        args: Map<String, Value>,
    ) -> BoxFuture<'static, ServerResult> {
        // Plans read the settings as calls do.
        self.gates.check_reload();
        let cancel = CancelToken::new();
        let with = PlanRunOptions {
            approver: plans.asks.then(|| self.approver.clone()),
            progress: Arc::new(|_unread| {}),
            cancel: cancel.clone(),
            client: self.model.clone(),
            session: self.session.clone(),
        };
        let work = match which.begin(&*plans.runner, args, with) {
            Ok(work) => work,
            Err(fault) => {
                let receipt = format!("{} ({})", fault.message, fault.recovery_hint());
                return Box::pin(async move { failed_result(receipt) });
            }
        };
        // An undo needs the changes of the calls so far, so their run ends before it. The next call begins another one.
        let closing = (which == PlanTool::Undo).then(|| {
            let mut current = self.current();
            current.is_closed = true;
            current.run.close(None)
        });
        let running = self.gates.open.run_to_end(cancel, async move {
            if let Some(closing) = closing {
                closing.await;
            }
            work.await
        });
        Box::pin(async move {
            match running.await {
                Some(result) => plan_result(result),
                None => {
                    failed_result("this crashed; `tollgate runs` shows whether anything was begun".to_owned())
                }
            }
        })
    }
}

impl ToolboxRun for ToolsRun {
    fn run_id(&self) -> String {
        self.current().run.run_id().to_string()
    }

    fn call(&self, call: ServerCall) -> BoxFuture<'static, ServerResult> {
        let gates = &self.gates;
        let refused = |receipt: String| -> BoxFuture<'static, ServerResult> {
            Box::pin(async move { failed_result(receipt) })
        };
        let own = gates.places.get(&call.name).and_then(|place| gates.own.get(*place)).cloned();
        let Some((tool, family)) = own else {
            return refused(format!("there is no tool `{}`", call.name));
        };
        if let (Some(which), Some(plans)) = (PlanTool::of(&tool), &gates.plans) {
            return self.plan_call(which, plans, call.arguments);
        }
        let run = match self.run_for_call() {
            Ok(run) => run,
            Err(why) => {
                tracing::error!(error = %why, "a run could not be opened");
                return refused(format!("not run: {why}"));
            }
        };
        let cancel = CancelToken::new();
        let made = CallRequest {
            approver: Some(self.approver.clone()),
            ..CallRequest::new(tool, call.arguments, cancel)
        };
        let running = run.call(made);
        Box::pin(async move {
            let ended = running.await;
            drop(run);
            match ended {
                Ok(result) => server_result(&result, family),
                Err(fault) => failed_result(fault.message),
            }
        })
    }

    fn close(&self, reason: Option<String>) -> BoxFuture<'static, ()> {
        self.current().run.close(reason)
    }
}

fn server_result(result: &ToolResult, family: ReceiptFamily) -> ServerResult {
    let receipt = result.receipt.clone().or_else(|| result.user_message.clone()).unwrap_or_default();
    let status = match result.status {
        Status::Ok => "ok",
        Status::Error | Status::Skipped => "error",
        Status::Timeout => "timeout",
        Status::Cancelled => "cancelled",
    };
    let outcome = result.canonical.clone().map(|canonical| Box::new(CallOutcome { family, canonical }));
    let has_side_effects =
        result.effects.as_ref().is_some_and(|effects| !effects.side_effects_observed.is_empty());
    // A rule, the mode, a hook or the user.
    let is_denied = result.error.as_ref().is_some_and(|error| error.code == Failure::PermissionDenied.code());
    ServerResult {
        ok: result.ok,
        receipt,
        status,
        is_denied,
        has_changes: !result.changes.is_empty() || has_side_effects,
        outcome,
    }
}

fn plan_result(result: PlanToolResult) -> ServerResult {
    let PlanToolResult { ok, text, is_denied, has_changes, .. } = result;
    let status = if ok { "ok" } else { "error" };
    ServerResult { ok, receipt: text, status, is_denied, has_changes, outcome: None }
}

fn failed_result(receipt: String) -> ServerResult {
    ServerResult { ok: false, receipt, status: "error", is_denied: false, has_changes: false, outcome: None }
}
