//! An MCP server for tests, with tools, a fallback approver, and access to the journal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, Engine, EngineParts,
    Forecast, Forecaster, Mode, Policy, Purpose, SystemClock, SystemIds, UncertainCall, UncertainDecision,
};
use envelope::{ApprovalChannel, Hash, Phase, SessionId, ToolDecl};
use journal::{JournalRecord, RunFolder};
use mcp_server::{
    ClientLifetime, McpHandler, McpParts, McpServer, McpSettings, PlanRunOptions, PlanRunner, PlanSource,
    PlanToolResult, RunStorage, UndoRequest,
};
use plan::CheckedPlan;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolkit::{BoxFuture, CancelToken, Registry, Surface, SurfaceRules};

use crate::tools::{Effects, Leave, Look, Note, Wait};

const LIMIT: Duration = Duration::from_secs(60);

/// Options of a test server.
#[derive(Clone)]
pub(crate) struct ServerOptions {
    pub(crate) policy: Policy,
    pub(crate) settings: McpSettings,
    pub(crate) key: [u8; 32],
    /// Forecast for every write.
    pub(crate) forecast: Option<String>,
}

/// The fallback approver: records its questions and returns a fixed answer.
#[derive(Default)]
pub(crate) struct FallbackApprover {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) says_yes: std::sync::atomic::AtomicBool,
    /// Clients for which an approver was made, each once.
    pub(crate) clients: Mutex<BTreeSet<String>>,
}

pub(crate) struct TestServer {
    pub(crate) mcp_server: Arc<McpServer>,
    pub(crate) fallback: Arc<FallbackApprover>,
    pub(crate) effects: Effects,
    /// Changes the settings for the next reload check.
    pub(crate) next_policy: Arc<Mutex<Option<Policy>>>,
    barrier: Arc<Mutex<Option<EngineBarrier>>>,
    runs: tempfile::TempDir,
}

/// Blocks the creation of the next engine until the test continues.
struct EngineBarrier {
    reached: oneshot::Sender<()>,
    opened: mpsc::Receiver<()>,
}

impl TestServer {
    pub(crate) fn new() -> TestServer {
        TestServer::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ServerOptions)) -> TestServer {
        let mut options = ServerOptions {
            policy: Policy { mode: Mode::Ask, ..Policy::cautious() },
            settings: McpSettings::default(),
            key: [7; 32],
            forecast: None,
        };
        change(&mut options);
        let runs = tempfile::tempdir().unwrap();
        let (fallback, effects) = (Arc::new(FallbackApprover::default()), Effects::default());
        let policy = Arc::new(Mutex::new(options.policy));
        let next_policy: Arc<Mutex<Option<Policy>>> = Arc::default();
        let barrier: Arc<Mutex<Option<EngineBarrier>>> = Arc::default();
        let make = {
            let (fallback, effects, policy, barrier) =
                (fallback.clone(), effects.clone(), policy.clone(), barrier.clone());
            let forecast = options.forecast;
            move || {
                let barrier = barrier.lock().unwrap().take();
                if let Some(EngineBarrier { reached, opened }) = barrier {
                    reached.send(()).unwrap();
                    opened.recv().unwrap();
                }
                gate(policy.lock().unwrap().clone(), &effects, fallback.clone(), forecast.as_deref())
            }
        };
        let look = {
            let (next, check) = (next_policy.clone(), make.clone());
            move || {
                let Some(next) = next.lock().unwrap().take() else {
                    return call_session::ReloadOutcome::Same;
                };
                *policy.lock().unwrap() = next;
                match check() {
                    Ok(_) => call_session::ReloadOutcome::Changed,
                    Err(_) => call_session::ReloadOutcome::Unusable,
                }
            }
        };
        let count = AtomicU64::new(0);
        let parts = McpParts {
            make: Arc::new(make),
            recorded: RunStorage::Disk(runs.path().to_owned().into()),
            approvers: {
                let fallback = fallback.clone();
                Arc::new(move |client: &envelope::ClientId, _: call_session::FrontEnd| -> Arc<dyn Approver> {
                    fallback.clients.lock().unwrap().insert(client.to_string());
                    fallback.clone()
                })
            },
            plans: Arc::new(NoPlans),
            unique: Arc::new(move || format!("nonce-{}", count.fetch_add(1, Ordering::Relaxed))),
            key: options.key,
            version: "0",
            settings: options.settings,
        };
        let mcp_server = Arc::new(McpServer::new(parts).unwrap().with_reload_check(Arc::new(look)));
        TestServer { mcp_server, fallback, effects, next_policy, barrier, runs }
    }

    /// Blocks the creation of the next engine: reports when it is requested, and continues when the test says so.
    pub(crate) fn hold_next_gate(&self) -> (oneshot::Receiver<()>, mpsc::Sender<()>) {
        let ((reached, is_reached), (open, opened)) = (oneshot::channel(), mpsc::channel());
        *self.barrier.lock().unwrap() = Some(EngineBarrier { reached, opened });
        (is_reached, open)
    }

    pub(crate) fn handler(&self) -> McpHandler {
        self.mcp_server.handler(ClientLifetime::Connection)
    }

    /// Returns an engine of the same server without a client.
    pub(crate) fn engine(&self) -> Engine {
        gate(Policy::cautious(), &self.effects, self.fallback.clone(), None).unwrap()
    }

    pub(crate) fn runs(&self) -> &Path {
        self.runs.path()
    }

    pub(crate) fn effects(&self) -> Vec<String> {
        self.effects.lock().unwrap().clone()
    }

    pub(crate) fn asked_at_fallback(&self) -> usize {
        self.fallback.asked.lock().unwrap().len()
    }

    /// Closes all runs, verifies every chain, and returns one line for each run and one for each call.
    pub(crate) async fn record(&self) -> String {
        self.mcp_server.runs().finish(LIMIT).await;
        self.told()
    }

    /// Returns the same for runs that have ended by themselves.
    pub(crate) fn told(&self) -> String {
        let mut dirs: Vec<PathBuf> =
            std::fs::read_dir(self.runs()).unwrap().map(|entry| entry.unwrap().path()).collect();
        dirs.retain(|dir| dir.file_name().is_some_and(|name| name != "objects"));
        let mut told: Vec<(envelope::Timestamp, String)> = dirs.iter().map(|dir| story(dir)).collect();
        told.sort();
        told.into_iter().map(|(_, run)| run).collect()
    }
}

fn story(dir: &Path) -> (envelope::Timestamp, String) {
    let verified = journal::verify(dir, None).unwrap();
    assert!(verified.finished && verified.is_intact(), "{:?}", verified.problems);
    let folder = RunFolder::open(dir).unwrap();
    let header = folder.header();
    let mut told = format!("{}\n", header.plan["goal"].as_str().unwrap());
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for entry in folder.records().unwrap() {
        match entry.unwrap().record {
            JournalRecord::Call(call) => calls.push(call.call_id.clone()),
            JournalRecord::Result(result) => {
                let failure = result.error.as_ref().map(|error| format!(" {}", error.kind.unwrap().name()));
                let decided = result.phases.iter().find(|fact| fact.phase == Phase::Permission);
                let how = decided.and_then(|fact| fact.detail.clone()).map(|how| format!(" ({how})"));
                told += &format!(
                    "- {}{}{}\n",
                    result.tool,
                    failure.as_deref().unwrap_or(" ok"),
                    how.unwrap_or_default()
                );
                results.push(result.call_id.clone());
            }
            JournalRecord::Event(_) => {}
        }
    }
    // Every logged call has exactly one result; a call that was rejected earlier has only that.
    let mut once = results.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), results.len(), "a call ended twice");
    assert!(calls.iter().all(|call| results.contains(call)), "a call has no end");
    (header.created_at, told)
}

fn gate(
    policy: Policy,
    effects: &Effects,
    fallback: Arc<FallbackApprover>,
    forecast: Option<&str>,
) -> Result<Engine, String> {
    let mut registry = Registry::new();
    registry.register(Look).unwrap();
    registry.register(Note(effects.clone())).unwrap();
    registry.register(Wait).unwrap();
    // The policy decides which tools exist, so a change of it can change the list.
    if policy.commands.is_empty() {
        registry.register(Leave).unwrap();
    }
    let surface = Surface::new(&registry, &Default::default(), &SurfaceRules::default());
    Engine::new(EngineParts {
        surface: Arc::new(surface),
        policy,
        hooks: Vec::new(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver: fallback,
        observer: None,
        executor_version: "test".into(),
        purpose: Purpose::Act,
        forecaster: forecast.map(|text| Arc::new(Told(text.to_owned())) as Arc<dyn Forecaster>),
        cleanup: None,
    })
    .map_err(|error| error.to_string())
}

impl Approver for FallbackApprover {
    fn confirm<'a>(&'a self, _request: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(std::future::ready(ConfirmAnswer::Unavailable { why: "nobody is here".to_owned() }))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        self.asked.lock().unwrap().push(request.preview.clone());
        let verdict = match self.says_yes.load(Ordering::Relaxed) {
            true => ApprovalDecision::ApproveOnce { channel: ApprovalChannel::Approve },
            false => {
                ApprovalDecision::Unavailable { why: "no one answers in its place".to_owned(), hint: None }
            }
        };
        Box::pin(std::future::ready(verdict))
    }

    fn settle<'a>(&'a self, _uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

/// Forecasts the same for every call.
struct Told(String);

impl Forecaster for Told {
    fn forecast_plan<'a>(&'a self, _plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        Box::pin(async { Forecast::impossible("there are no plans here") })
    }

    fn forecast_call<'a>(&'a self, _tool: &'a ToolDecl, _args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        let forecast = Forecast {
            headline: "Changes 1 note: a.md.".to_owned(),
            text: self.0.clone(),
            fingerprint: Hash::of(self.0.as_bytes()),
            differs: Vec::new(),
            calls: None,
            runs_unasked: false,
            refusal: None,
        };
        Box::pin(std::future::ready(Some(forecast)))
    }
}

/// Plan tools are tested elsewhere; these only show that they are reached.
struct NoPlans;

impl PlanRunner for NoPlans {
    fn check(&self, plan: String, _session: Option<SessionId>) -> BoxFuture<'static, PlanToolResult> {
        let data = json!({ "bytes": plan.len() });
        let (summary, text) = ("Checked".to_owned(), "Checked\nall".to_owned());
        Box::pin(std::future::ready(PlanToolResult {
            ok: true,
            summary,
            text,
            data,
            ..PlanToolResult::default()
        }))
    }

    fn preview(
        &self,
        _plan: PlanSource,
        _session: Option<SessionId>,
        _cancel: CancelToken,
    ) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn run(&self, _plan: PlanSource, _with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn undo(&self, _request: UndoRequest, _with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        none()
    }

    fn end_session(&self, _session: &SessionId) {}
}

fn none() -> BoxFuture<'static, PlanToolResult> {
    let why = "there are no plans here".to_owned();
    let answer = PlanToolResult {
        ok: false,
        summary: why.clone(),
        text: why,
        data: Value::Null,
        ..PlanToolResult::default()
    };
    Box::pin(std::future::ready(answer))
}
