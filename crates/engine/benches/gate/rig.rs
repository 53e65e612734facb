//! The tools, the engine and the timer that the measurements share.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, Engine, EngineParts, Mode,
    Policy, RunScope, SystemClock, SystemIds, UncertainCall, UncertainDecision,
};
use envelope::{
    CallId, Fault, Idempotency, PolicySnapshot, Risk, RunId, SideEffect, StepId, ToolCall, ToolName,
};
use journal::{Journal, RunHeader, RunKind};
use plan::{RunLimits, SiblingPolicy};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{BoxFuture, ProjectedResult, Projection, Registry, Surface, SurfaceRules, Tool, ToolCx};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// What to look for.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) query: String,
    /// Where to look.
    pub(crate) prefix: String,
    /// How many to return.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) limit: u32,
    /// Whether case matters.
    pub(crate) case_sensitive: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    pub(crate) query: String,
    pub(crate) count: u32,
}

/// The work itself: as little as a tool can do.
pub(crate) fn work(args: Args) -> Output {
    Output { count: args.limit, query: args.query }
}

macro_rules! tool {
    ($name:ident, $tool:literal, $risk:ident, $effects:expr) => {
        struct $name;
        impl Tool for $name {
            const NAME: &'static str = $tool;
            const SUMMARY: &'static str = "Do next to nothing";
            const CATEGORY: &'static str = "bench";
            const RISK: Risk = Risk::$risk;
            const SIDE_EFFECTS: &'static [SideEffect] = $effects;
            const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
            type Args = Args;
            type Output = Output;
            async fn run(&self, _cx: &ToolCx, args: Args) -> Result<Output, Fault> {
                Ok(work(args))
            }
            fn preview(&self, args: &Args) -> String {
                format!("Look for {}", args.query)
            }
            fn summary(&self, output: &Output) -> String {
                format!("Found {}", output.count)
            }

            fn project(
                &self,
                output: &Self::Output,
                with: &mut Projection<'_>,
            ) -> Result<ProjectedResult, Fault> {
                external::project(output, with)
            }
        }
    };
}

tool!(Look, "bench.look", ReadOnly, &[]);
tool!(Write, "bench.write", Writes, &[SideEffect::EditBuffer]);

struct Yes;

impl Approver for Yes {
    fn confirm<'a>(&'a self, _: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(std::future::ready(ConfirmAnswer::Approved { channel: envelope::ApprovalChannel::Embedder }))
    }
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::ApproveOnce {
            channel: envelope::ApprovalChannel::Embedder,
        }))
    }
    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

pub(crate) fn gate(concurrency: u32) -> Engine {
    let mut registry = Registry::new();
    registry.register(Look).unwrap();
    registry.register(Write).unwrap();
    let mut policy = Policy { mode: Mode::Trusted, ..Policy::cautious() };
    policy.limits.max_concurrency = concurrency.try_into().unwrap();
    policy.limits.max_foreach_items = u64::MAX;
    Engine::new(EngineParts {
        surface: Arc::new(Surface::new(&registry, &BTreeSet::new(), &SurfaceRules::default())),
        policy,
        hooks: Vec::new(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver: Arc::new(Yes),
        observer: None,
        executor_version: "bench".into(),
        purpose: engine::Purpose::Act,
        forecaster: None,
        cleanup: None,
    })
    .unwrap()
}

pub(crate) fn args() -> Value {
    json!({ "query": "meeting notes from last week", "prefix": "Projects/2026", "limit": 50, "caseSensitive": false })
}

/// Shared by all calls of a run, as the machine shares it.
static POLICY: OnceLock<Arc<PolicySnapshot>> = OnceLock::new();

fn policy() -> Arc<PolicySnapshot> {
    Arc::new(
        serde_json::from_value(json!({
            "confirmationsRequired": true,
            "sandbox": { "enabled": true, "allowedRoots": ["/"], "denyPatterns": ["..", "://"] },
            "limits": { "maxConcurrency": 8 }
        }))
        .unwrap(),
    )
}

pub(crate) fn call(tool: &str, n: u64) -> ToolCall {
    let (run, step) =
        (RunId::parse("0199c0de-0000-7000-8000-000000000001").unwrap(), StepId::parse("step").unwrap());
    let args = args();
    ToolCall {
        call_id: CallId::derive(&run, &step, Some(n), 1),
        run_id: run,
        step_id: step,
        tool: ToolName::parse(tool).unwrap(),
        attempt: 1,
        args_hash: Some(envelope::canonical_hash(&args)),
        args: args.as_object().unwrap().clone(),
        filled_in: Vec::new(),
        timeout_ms: Some(30_000),
        deadline_at: None,
        cancellable: true,
        iteration: None,
        loop_id: None,
        created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        planner_version: None,
        executor_version: "0.1.0".into(),
        tool_registry_version: "1.0+b3:0123456789abcdef".into(),
        preview: None,
        note: None,
        request_id: None,
        risk_level: Risk::ReadOnly,
        category: Some("bench".into()),
        policy: POLICY.get_or_init(policy).clone(),
        confirmation_id: None,
        called_with: None,
        intent: Vec::new(),
    }
}

fn header() -> RunHeader {
    RunHeader {
        format: RunHeader::FORMAT,
        run_id: RunId::parse("0199c0de-0000-7000-8000-000000000001").unwrap(),
        created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        kind: RunKind::Call,
        undoes: Vec::new(),
        session: None,
        continues: None,
        vault: None,
        plan: json!({}),
        plan_hash: envelope::canonical_hash(&json!({})),
        policy: Some(json!({})),
        call_policy: None,
        policy_hash: envelope::canonical_hash(&json!({})),
        tools: Vec::new(),
        registry_version: "bench".to_owned(),
        executor_version: "bench".to_owned(),
        planner_version: None,
        limits: RunLimits { max_parallel: 8, max_attempts: 3, max_foreach_items: 1000, max_backoff_ms: 1000 },
        sibling: SiblingPolicy::Ignore,
        confirm: false,
    }
}

pub(crate) fn in_memory() -> Arc<RunScope> {
    RunScope::new(Journal::in_memory(&header()))
}

pub(crate) fn on_disk(folder: &Path) -> Arc<RunScope> {
    RunScope::new(Journal::create(&folder.join("runs").join("bench"), &header()).unwrap())
}

/// The smallest time of one turn over many batches, in nanoseconds.
pub(crate) fn best_of(batches: usize, turns: usize, mut batch: impl FnMut(usize)) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..batches {
        let began = Instant::now();
        batch(turns);
        best = best.min(began.elapsed().as_nanos() as f64 / turns as f64);
    }
    best
}

/// A folder on the disk that the benchmark runs on, not on a memory file system.
pub(crate) fn scratch() -> tempfile::TempDir {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    std::fs::create_dir_all(&target).unwrap();
    tempfile::tempdir_in(target).unwrap()
}
