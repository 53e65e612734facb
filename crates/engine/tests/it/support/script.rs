//! Tools whose behaviour is chosen by their arguments.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use envelope::{
    CallId, Concurrency, EntryKind, Failure, Fault, Idempotency, Risk, SideEffect, VaultChange, VaultPath,
};
use journal::{JournalRecord, RunFolder};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use toolkit::{PathKeys, ProjectedResult, Projection, ReconcileOutcome, Registry, Tool, ToolCx};

/// The actions of the tools, in order.
#[derive(Default)]
pub struct Worklog {
    pub begun: Mutex<Vec<String>>,
    pub ended: Mutex<Vec<String>>,
    /// Told whenever a tool begins to wait.
    pub waiting: Notify,
    /// Lets tools that wait go on.
    pub open: Notify,
    /// How often `dependency_unavailable` is still to be answered.
    pub outages: Mutex<u32>,
    /// Where to look, when a tool begins, whether its own call is on the disk.
    pub run_dir: Mutex<Option<PathBuf>>,
    pub on_disk: Mutex<Vec<bool>>,
    /// The answer of `reconcile`; unknown if not set.
    pub happened: Mutex<Option<bool>>,
    /// How often results were put into words.
    pub mapped: AtomicU32,
    /// Whose result is on record.
    pub recorded: Mutex<Vec<String>>,
}

impl Worklog {
    pub fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }

    pub fn ended(&self) -> Vec<String> {
        self.ended.lock().unwrap().clone()
    }
}

/// What a scripted tool is to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub enum Act {
    #[default]
    Work,
    RefuseValues,
    NeedSetup,
    LeaveSandbox,
    CannotBeShown,
    Fail,
    Crash,
    /// Waits until cancelled and then stops at once.
    Wait,
    /// Waits until cancelled and goes on waiting.
    Ignore,
    /// Waits until the test opens the door.
    Door,
    Unavailable,
    BreakSchema,
    /// Has its effect, then fails.
    HalfDone,
    /// Has its effect, then loses what it depends on.
    CutOff,
    /// Answers with what nobody told it.
    Leak,
    Big,
    Progress,
    Context,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Args {
    /// What to do.
    #[serde(default)]
    pub act: Act,
    /// What to say.
    #[serde(default)]
    pub text: String,
    /// Where to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<VaultPath>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Output {
    pub text: String,
    #[schemars(range(max = 10))]
    pub count: u32,
    pub items: Vec<String>,
    /// What an earlier call left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
}

pub trait Flavour: Send + Sync + 'static {
    const NAME: &'static str;
    const RISK: Risk;
    const EFFECTS: &'static [SideEffect];
    const IDEMPOTENCY: Idempotency;
    const CONCURRENCY: Concurrency;
}

macro_rules! flavour {
    ($name:ident, $tool:literal, $risk:ident, $effects:expr, $idempotency:ident, $concurrency:ident) => {
        pub struct $name;
        impl Flavour for $name {
            const NAME: &'static str = $tool;
            const RISK: Risk = Risk::$risk;
            const EFFECTS: &'static [SideEffect] = $effects;
            const IDEMPOTENCY: Idempotency = Idempotency::$idempotency;
            const CONCURRENCY: Concurrency = Concurrency::$concurrency;
        }
    };
}

flavour!(Look, "test.look", ReadOnly, &[], Idempotent, Parallel);
flavour!(Write, "test.write", Writes, &[SideEffect::EditBuffer], Idempotent, Parallel);
flavour!(Alone, "test.alone", Writes, &[SideEffect::EditBuffer], Idempotent, Serial);
flavour!(Command, "test.command", Commands, &[SideEffect::RunCommand], NotIdempotent, Parallel);

struct Script<F> {
    work: Arc<Worklog>,
    flavour: PhantomData<F>,
}

pub fn register(registry: &mut Registry, work: &Arc<Worklog>) {
    fn script<F: Flavour>(work: &Arc<Worklog>) -> Script<F> {
        Script { work: work.clone(), flavour: PhantomData }
    }
    registry.register(script::<Look>(work)).unwrap();
    registry.register(script::<Write>(work)).unwrap();
    registry.register(script::<Alone>(work)).unwrap();
    registry.register(script::<Command>(work)).unwrap();
}

impl<F: Flavour> Script<F> {
    fn effect(&self, cx: &ToolCx, args: &Args) {
        if F::RISK.has_effects() {
            match &args.path {
                Some(path) => cx.created(path.as_str(), EntryKind::File),
                None => cx.observed(SideEffect::EditBuffer),
            }
        }
    }
}

impl<F: Flavour> Tool for Script<F> {
    const NAME: &'static str = F::NAME;
    const SUMMARY: &'static str = "Do as told";
    const CATEGORY: &'static str = "test";
    const RISK: Risk = F::RISK;
    const SIDE_EFFECTS: &'static [SideEffect] = F::EFFECTS;
    const IDEMPOTENCY: Idempotency = F::IDEMPOTENCY;
    const CONCURRENCY: Concurrency = F::CONCURRENCY;

    type Args = Args;
    type Output = Output;

    async fn validate(&self, _cx: &ToolCx, args: &Args) -> Result<(), Fault> {
        match args.act {
            Act::RefuseValues => Err(Fault::new(Failure::InvalidArguments, "`text` cannot be used")),
            Act::NeedSetup => Err(Fault::new(Failure::SetupRequired, "there is no key")),
            Act::LeaveSandbox => Err(Fault::new(Failure::SandboxViolation, "that leaves the vault")),
            Act::Work
            | Act::CannotBeShown
            | Act::Fail
            | Act::Crash
            | Act::Wait
            | Act::Ignore
            | Act::Door
            | Act::Unavailable
            | Act::BreakSchema
            | Act::HalfDone
            | Act::CutOff
            | Act::Leak
            | Act::Big
            | Act::Progress
            | Act::Context => Ok(()),
        }
    }

    fn paths(&self, args: &Args) -> PathKeys {
        match &args.path {
            Some(path) if F::RISK.has_effects() => PathKeys::write(path),
            Some(path) => PathKeys::read(path),
            None => PathKeys::default(),
        }
    }

    fn preview(&self, args: &Args) -> String {
        assert_ne!(args.act, Act::CannotBeShown, "no words for this");
        format!("Do {}", args.text)
    }

    async fn run(&self, cx: &ToolCx, args: Args) -> Result<Output, Fault> {
        self.work.begun.lock().unwrap().push(args.text.clone());
        if let Some(run_dir) = &*self.work.run_dir.lock().unwrap() {
            self.work.on_disk.lock().unwrap().push(is_on_disk(run_dir, cx.call_id()));
        }
        let mut output = Output {
            text: args.text.clone(),
            count: 1,
            items: Vec::new(),
            seen: cx.context("left").and_then(|value| value.as_str()).map(str::to_owned),
        };
        match args.act {
            Act::Fail => return Err(Fault::new(Failure::ExecutionFailed, "it did not work")),
            Act::Crash => panic!("the tool fell over"),
            Act::Wait => {
                self.work.waiting.notify_one();
                cx.cancel().cancelled().await;
                return Err(Fault::new(Failure::Canceled, "stopped as asked"));
            }
            Act::Ignore => {
                self.work.waiting.notify_one();
                std::future::pending::<()>().await;
            }
            Act::Door => {
                self.work.waiting.notify_one();
                self.work.open.notified().await;
            }
            Act::Unavailable => {
                let mut outages = self.work.outages.lock().unwrap();
                if *outages > 0 {
                    *outages -= 1;
                    return Err(Fault::new(Failure::DependencyUnavailable, "nobody answers"));
                }
            }
            Act::BreakSchema => output.count = 99,
            Act::HalfDone => {
                self.effect(cx, &args);
                return Err(Fault::new(Failure::ExecutionFailed, "it stopped half-way"));
            }
            Act::CutOff => {
                self.effect(cx, &args);
                return Err(Fault::new(Failure::DependencyUnavailable, "the line went dead"));
            }
            Act::Leak => output.text = "sk-secret".to_owned(),
            Act::Big => output.items = vec!["x".repeat(1000); 100],
            Act::Progress => {
                cx.progress(1, Some(2), "half of it");
                cx.progress(2, Some(2), "all of it");
            }
            Act::Context => cx.modify_context("left", args.text.clone().into()),
            Act::Work | Act::RefuseValues | Act::NeedSetup | Act::LeaveSandbox | Act::CannotBeShown => {}
        }
        self.effect(cx, &args);
        let (work, text) = (self.work.clone(), args.text.clone());
        cx.once_recorded(move || work.recorded.lock().unwrap().push(text));
        self.work.ended.lock().unwrap().push(args.text);
        Ok(output)
    }

    async fn reconcile(&self, cx: &ToolCx, args: &Args, _intent: &[VaultChange]) -> ReconcileOutcome<Output> {
        match *self.work.happened.lock().unwrap() {
            Some(true) => {
                self.effect(cx, args);
                ReconcileOutcome::Happened(Output {
                    text: args.text.clone(),
                    count: 1,
                    items: Vec::new(),
                    seen: None,
                })
            }
            Some(false) => {
                // A part of it is there: a folder on the way.
                cx.created("on the way", EntryKind::Folder);
                ReconcileOutcome::DidNot { taken_back: 0 }
            }
            None => ReconcileOutcome::Unknown {
                why: "the tool cannot check afterwards whether it happened".to_owned(),
            },
        }
    }

    fn summary(&self, output: &Output) -> String {
        self.work.mapped.fetch_add(1, Ordering::SeqCst);
        format!("Did {}", output.text)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

/// Whether the record of a call can be read from the run folder, by anybody, right now.
fn is_on_disk(run_dir: &Path, call: &CallId) -> bool {
    let folder = RunFolder::open(run_dir).unwrap();
    folder.records().unwrap().map_while(Result::ok).any(|entry| match entry.record {
        JournalRecord::Call(recorded) => recorded.call_id == *call,
        JournalRecord::Result(_) | JournalRecord::Event(_) => false,
    })
}
