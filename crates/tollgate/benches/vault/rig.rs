//! An engine with the tools of the vault, and calls through it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, Engine, EngineParts, Mode,
    Policy, RunScope, SystemClock, SystemIds, UncertainCall, UncertainDecision,
};
use envelope::{CallId, PolicySnapshot, Risk, RunId, StepId, ToolCall, ToolName, ToolResult};
use journal::{Journal, RunHeader, RunKind};
use plan::{RunLimits, SiblingPolicy};
use serde_json::{Value, json};
use toolkit::{BoxFuture, CancelToken, Registry, Surface, SurfaceRules};
use vault::Vault;

struct ApproveAll;

impl Approver for ApproveAll {
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

/// An engine on one vault, with a journal on disk.
pub(crate) struct BenchEngine {
    engine: Engine,
    scope: Arc<RunScope>,
    runtime: tokio::runtime::Runtime,
    calls: AtomicU64,
    _journal: tempfile::TempDir,
}

impl BenchEngine {
    pub(crate) fn over(vault: &Path) -> BenchEngine {
        let mut registry = Registry::new();
        vault::register(&mut registry, Some(Arc::new(Vault::open(vault).unwrap()))).unwrap();
        let journal = scratch();
        let engine = Engine::new(EngineParts {
            surface: Arc::new(Surface::new(
                &registry,
                &BTreeSet::from([envelope::Requirement::Vault]),
                &SurfaceRules::default(),
            )),
            policy: Policy { mode: Mode::Trusted, ..Policy::cautious() },
            hooks: Vec::new(),
            clock: Arc::new(SystemClock::new()),
            ids: Arc::new(SystemIds),
            approver: Arc::new(ApproveAll),
            observer: None,
            executor_version: "bench".into(),
            purpose: engine::Purpose::Act,
            forecaster: None,
            cleanup: None,
        })
        .unwrap();
        let scope =
            RunScope::new(Journal::create(&journal.path().join("runs").join("bench"), &header()).unwrap());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        BenchEngine { engine, scope, runtime, calls: AtomicU64::new(0), _journal: journal }
    }

    /// Makes one call through all phases.
    pub(crate) fn call(&self, tool: &str, args: &Value) -> ToolResult {
        let result = self.runtime.block_on(self.engine.run_call(
            &self.scope,
            self.next_call(tool, args),
            CancelToken::new(),
        ));
        assert!(result.ok, "{:?}", result.error);
        result
    }

    /// Makes several calls at a time.
    pub(crate) fn call_all(&self, tool: &str, at_a_time: usize, args: impl Iterator<Item = Value> + Send) {
        let args = std::sync::Mutex::new(args);
        self.runtime.block_on(async {
            let lane = async || loop {
                let Some(args) = args.lock().unwrap().next() else { break };
                assert!(
                    self.engine
                        .run_call(&self.scope, self.next_call(tool, &args), CancelToken::new())
                        .await
                        .ok
                );
            };
            let mut lanes: Vec<_> = (0..at_a_time).map(|_| Box::pin(lane())).collect();
            std::future::poll_fn(|cx| {
                lanes.retain_mut(|lane| lane.as_mut().poll(cx).is_pending());
                if lanes.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            })
            .await;
        });
    }

    fn next_call(&self, tool: &str, args: &Value) -> ToolCall {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        call(tool, args, number)
    }
}

fn call(tool: &str, args: &Value, number: u64) -> ToolCall {
    let (run, step) = (run_id(), StepId::parse("step").unwrap());
    ToolCall {
        call_id: CallId::derive(&run, &step, Some(number), 1),
        run_id: run,
        step_id: step,
        tool: ToolName::parse(tool).unwrap(),
        attempt: 1,
        args_hash: Some(envelope::canonical_hash(args)),
        args: args.as_object().unwrap().clone(),
        filled_in: Vec::new(),
        timeout_ms: Some(600_000),
        deadline_at: None,
        cancellable: true,
        iteration: None,
        loop_id: None,
        created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        planner_version: None,
        executor_version: "0.1.0".into(),
        tool_registry_version: "bench".into(),
        preview: None,
        risk_level: Risk::Writes,
        category: Some("vault".into()),
        policy: policy(),
        confirmation_id: None,
        called_with: None,
        intent: Vec::new(),
    }
}

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

fn run_id() -> RunId {
    RunId::parse("0199c0de-0000-7000-8000-000000000001").unwrap()
}

fn header() -> RunHeader {
    RunHeader {
        format: RunHeader::FORMAT,
        run_id: run_id(),
        created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        kind: RunKind::Call,
        undoes: Vec::new(),
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

pub(crate) fn target() -> PathBuf {
    // The build writes `<target>/<profile>/deps/<this>`.
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

/// A folder on the disk that the benchmark runs on, not on a memory file system.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in(target()).unwrap()
}
