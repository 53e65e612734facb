//! A face on tools for tests, with a person at a desk, and the record that is left of it all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use engine::{
    Answer, ApprovalRequest, Approver, ConfirmRequest, Engine, EngineParts, Forecast, Forecaster, Mode,
    Policy, Purpose, SystemClock, SystemIds, UncertainCall, UncertainVerdict, Verdict,
};
use envelope::{Channel, Hash, Phase, ToolDecl};
use gateway::mcp::{
    Lasting, McpFace, McpHandler, McpParts, McpSettings, PlanAnswer, PlanRun, Plans, Recorded,
};
use journal::{Record, RunFolder};
use plan::CheckedPlan;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolkit::{BoxFuture, CancelToken, Registry, Surface, SurfaceRules};

use crate::tools::{Deeds, Leave, Look, Note, Wait};

const LIMIT: Duration = Duration::from_secs(60);

/// Everything that a test may want otherwise.
#[derive(Clone)]
pub(crate) struct Ways {
    pub(crate) policy: Policy,
    pub(crate) settings: McpSettings,
    pub(crate) key: [u8; 32],
    /// What the forecaster says of every write.
    pub(crate) forecast: Option<String>,
}

/// The person at the desk: asked how often, about what, and what they say.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) says_yes: std::sync::atomic::AtomicBool,
    /// On whose behalf an approver was made, each client once.
    pub(crate) clients: Mutex<BTreeSet<String>>,
}

pub(crate) struct House {
    pub(crate) face: Arc<McpFace>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) deeds: Deeds,
    /// Changes what gates are made from at the next look.
    pub(crate) next_policy: Arc<Mutex<Option<Policy>>>,
    door: Arc<Mutex<Option<Door>>>,
    runs: tempfile::TempDir,
}

/// Stands before the next gate that is made, and lets it be made no sooner than told.
struct Door {
    reached: oneshot::Sender<()>,
    opened: mpsc::Receiver<()>,
}

impl House {
    pub(crate) fn new() -> House {
        House::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Ways)) -> House {
        let mut ways = Ways {
            policy: Policy { mode: Mode::Ask, ..Policy::cautious() },
            settings: McpSettings::default(),
            key: [7; 32],
            forecast: None,
        };
        change(&mut ways);
        let runs = tempfile::tempdir().unwrap();
        let (desk, deeds) = (Arc::new(Desk::default()), Deeds::default());
        let policy = Arc::new(Mutex::new(ways.policy));
        let next_policy: Arc<Mutex<Option<Policy>>> = Arc::default();
        let door: Arc<Mutex<Option<Door>>> = Arc::default();
        let make = {
            let (desk, deeds, policy, door) = (desk.clone(), deeds.clone(), policy.clone(), door.clone());
            let forecast = ways.forecast;
            move || {
                let door = door.lock().unwrap().take();
                if let Some(Door { reached, opened }) = door {
                    reached.send(()).unwrap();
                    opened.recv().unwrap();
                }
                gate(policy.lock().unwrap().clone(), &deeds, desk.clone(), forecast.as_deref())
            }
        };
        let look = {
            let (next, check) = (next_policy.clone(), make.clone());
            move || {
                let Some(next) = next.lock().unwrap().take() else { return gateway::mcp::Looked::Same };
                *policy.lock().unwrap() = next;
                match check() {
                    Ok(_) => gateway::mcp::Looked::Changed,
                    Err(_) => gateway::mcp::Looked::Unusable,
                }
            }
        };
        let count = AtomicU64::new(0);
        let parts = McpParts {
            make: Arc::new(make),
            recorded: Recorded::Disk(runs.path().to_owned().into()),
            approvers: {
                let desk = desk.clone();
                Arc::new(move |client: &envelope::ClientId, _: gateway::FrontEnd| -> Arc<dyn Approver> {
                    desk.clients.lock().unwrap().insert(client.to_string());
                    desk.clone()
                })
            },
            plans: Arc::new(NoPlans),
            unique: Arc::new(move || format!("nonce-{}", count.fetch_add(1, Ordering::Relaxed))),
            key: ways.key,
            version: "0",
            settings: ways.settings,
        };
        let face = Arc::new(McpFace::new(parts).unwrap().looking(Arc::new(look)));
        House { face, desk, deeds, next_policy, door, runs }
    }

    /// Has the next gate take as long as the test wants: told when somebody waits for it, and lets him go on.
    pub(crate) fn hold_next_gate(&self) -> (oneshot::Receiver<()>, mpsc::Sender<()>) {
        let ((reached, is_reached), (open, opened)) = (oneshot::channel(), mpsc::channel());
        *self.door.lock().unwrap() = Some(Door { reached, opened });
        (is_reached, open)
    }

    pub(crate) fn handler(&self) -> McpHandler {
        self.face.handler(Lasting::Connection)
    }

    /// A gate of the same house that no client stands behind.
    pub(crate) fn engine(&self) -> Engine {
        gate(Policy::cautious(), &self.deeds, self.desk.clone(), None).unwrap()
    }

    pub(crate) fn runs(&self) -> &Path {
        self.runs.path()
    }

    pub(crate) fn deeds(&self) -> Vec<String> {
        self.deeds.lock().unwrap().clone()
    }

    pub(crate) fn asked_at_desk(&self) -> usize {
        self.desk.asked.lock().unwrap().len()
    }

    /// Ends everything, holds every record to its chain, and tells each run in a line, each call in one more.
    pub(crate) async fn record(&self) -> String {
        self.face.runs().finish(LIMIT).await;
        self.told()
    }

    /// The same of runs that have ended by themselves.
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
    assert!(verified.finished && verified.intact(), "{:?}", verified.problems);
    let folder = RunFolder::open(dir).unwrap();
    let header = folder.header();
    let mut told = format!("{}\n", header.plan["goal"].as_str().unwrap());
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for entry in folder.records().unwrap() {
        match entry.unwrap().record {
            Record::Call(call) => calls.push(call.call_id.clone()),
            Record::Result(result) => {
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
            Record::Event(_) => {}
        }
    }
    // Every call that was made has its one end; one that was refused before has only that.
    let mut once = results.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), results.len(), "a call ended twice");
    assert!(calls.iter().all(|call| results.contains(call)), "a call has no end");
    (header.created_at, told)
}

fn gate(policy: Policy, deeds: &Deeds, desk: Arc<Desk>, forecast: Option<&str>) -> Result<Engine, String> {
    let mut registry = Registry::new();
    registry.register(Look).unwrap();
    registry.register(Note(deeds.clone())).unwrap();
    registry.register(Wait).unwrap();
    // What the policy reaches decides which tools there are, so that a change of it can change the list.
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
        approver: desk,
        observer: None,
        executor_version: "test".into(),
        purpose: Purpose::Act,
        forecaster: forecast.map(|text| Arc::new(Told(text.to_owned())) as Arc<dyn Forecaster>),
        closing: None,
    })
    .map_err(|error| error.to_string())
}

impl Approver for Desk {
    fn confirm<'a>(&'a self, _request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Nobody { why: "nobody is here".to_owned() }))
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        self.asked.lock().unwrap().push(request.preview.clone());
        let verdict = match self.says_yes.load(Ordering::Relaxed) {
            true => Verdict::Once { channel: Channel::Approve },
            false => Verdict::Nobody { why: "nobody is at the desk".to_owned(), way_out: None },
        };
        Box::pin(std::future::ready(verdict))
    }

    fn settle<'a>(&'a self, _uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        Box::pin(std::future::ready(UncertainVerdict::Leave))
    }
}

/// Says the same of every call.
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
        };
        Box::pin(std::future::ready(Some(forecast)))
    }
}

/// Plans are the business of whoever has tools for them; here only that they are reached.
struct NoPlans;

impl Plans for NoPlans {
    fn check(&self, plan: String) -> BoxFuture<'static, PlanAnswer> {
        let data = json!({ "bytes": plan.len() });
        let (summary, text) = ("Checked".to_owned(), "Checked\nall".to_owned());
        Box::pin(std::future::ready(PlanAnswer { ok: true, summary, text, data, run: None }))
    }

    fn preview(&self, _plan: String, _cancel: CancelToken) -> BoxFuture<'static, PlanAnswer> {
        none()
    }

    fn run(&self, _plan: String, _with: PlanRun) -> BoxFuture<'static, PlanAnswer> {
        none()
    }
}

fn none() -> BoxFuture<'static, PlanAnswer> {
    let why = "there are no plans here".to_owned();
    let answer = PlanAnswer { ok: false, summary: why.clone(), text: why, data: Value::Null, run: None };
    Box::pin(std::future::ready(answer))
}
