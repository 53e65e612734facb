//! An engine with scripted tools, a scripted approver, and a clock that moves only when it is advanced.
#![allow(unreachable_pub, reason = "a support module is not a library")]

mod files;
mod approver;
mod script;
mod shell;

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{
    BadRule, Engine, EngineParts, ForecastCall, Forecaster, Hook, ManualClock, Observer, Policy, Purpose,
    RunCancel, RunPlace, RunReport, RunRequest, RunScope, SeededIds,
};
use envelope::{CallId, ExecutionEvent, Requirement, Risk, RunId, StepId, ToolCall, ToolName, ToolResult};
use journal::{Journal, RunHeader, RunKind};
use plan::{CheckedPlan, RunLimits, SiblingPolicy};
use serde_json::{Value, json};
use toolkit::{CancelToken, Registry, Surface, SurfaceRules};

pub use approver::{Hooked, ScriptedApprover};
pub use files::Files;
pub use script::Worklog;

/// Everything a test needs to send calls and plans through a real engine.
pub struct TestEngine {
    pub engine: Engine,
    pub approver: Arc<ScriptedApprover>,
    pub work: Arc<Worklog>,
    pub clock: Arc<ManualClock>,
    pub seen: Arc<Seen>,
}

/// Records everything that the observer receives.
#[derive(Default)]
pub struct Seen {
    pub events: std::sync::Mutex<Vec<ExecutionEvent>>,
    pub results: std::sync::Mutex<Vec<ToolResult>>,
}

impl Observer for Seen {
    fn event(&self, event: &ExecutionEvent) {
        self.events.lock().unwrap().push(event.clone());
    }

    fn result(&self, result: &ToolResult) {
        self.results.lock().unwrap().push(result.clone());
    }
}

/// Parts of the engine under test; each has a plain default.
pub struct Build {
    pub policy: Policy,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub rules: SurfaceRules,
    pub approver: ScriptedApprover,
    pub seed: u64,
    pub purpose: Purpose,
    pub forecaster: Option<Arc<dyn Forecaster>>,
    pub files: Files,
    pub with_shell: bool,
}

impl Default for Build {
    fn default() -> Build {
        let policy = Policy { mode: engine::Mode::Trusted, ..Policy::cautious() };
        Build {
            policy,
            hooks: Vec::new(),
            rules: SurfaceRules::default(),
            approver: ScriptedApprover::nobody(),
            seed: 7,
            purpose: Purpose::Act,
            forecaster: None,
            files: Files::default(),
            with_shell: true,
        }
    }
}

impl Build {
    pub fn test_engine(self) -> TestEngine {
        self.built().unwrap()
    }

    /// Returns the error of an engine that cannot be built.
    pub fn refused(self) -> String {
        self.built().err().unwrap().to_string()
    }

    fn built(self) -> Result<TestEngine, BadRule> {
        let work = Arc::new(Worklog::default());
        let mut registry = Registry::new();
        script::register(&mut registry, &work);
        if self.with_shell {
            shell::register(&mut registry, &work);
        }
        files::register(&mut registry, &self.files);
        let satisfied = BTreeSet::from([Requirement::Vault]);
        let approver = Arc::new(self.approver);
        let clock = Arc::new(ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap()));
        let seen = Arc::new(Seen::default());
        let engine = Engine::new(EngineParts {
            surface: Arc::new(Surface::new(&registry, &satisfied, &self.rules)),
            policy: self.policy,
            hooks: self.hooks,
            clock: clock.clone(),
            ids: Arc::new(SeededIds::new(self.seed)),
            approver: approver.clone(),
            observer: Some(seen.clone()),
            executor_version: "0.0.0-test".into(),
            purpose: self.purpose,
            forecaster: self.forecaster,
            cleanup: None,
        })?;
        Ok(TestEngine { engine, approver, work, clock, seen })
    }
}

pub fn test_engine() -> TestEngine {
    Build::default().test_engine()
}

impl TestEngine {
    /// A journal in memory for calls that belong to no plan.
    pub fn scope(&self) -> Arc<RunScope> {
        RunScope::new(Journal::in_memory(&TestEngine::header()))
    }

    /// The same on disk.
    pub fn scope_in(&self, run_dir: &std::path::Path) -> Arc<RunScope> {
        RunScope::new(Journal::create(run_dir, &TestEngine::header()).unwrap())
    }

    fn header() -> RunHeader {
        RunHeader {
            format: RunHeader::FORMAT,
            run_id: RunId::parse("run").unwrap(),
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
            registry_version: "test".to_owned(),
            executor_version: "test".to_owned(),
            planner_version: None,
            limits: RunLimits {
                max_parallel: 8,
                max_attempts: 3,
                max_foreach_items: 1000,
                max_backoff_ms: 1000,
            },
            sibling: SiblingPolicy::Ignore,
            confirm: false,
        }
    }

    pub async fn call(&self, tool: &str, args: Value) -> ToolResult {
        self.call_in(&self.scope(), tool, args, CancelToken::new()).await
    }

    pub async fn call_in(
        &self,
        scope: &Arc<RunScope>,
        tool: &str,
        args: Value,
        cancel: CancelToken,
    ) -> ToolResult {
        self.engine.run_call(scope, tool_call(tool, args), cancel).await
    }

    /// Checks a plan against the engine's own tools; a test's plan must be right.
    pub fn check(&self, plan: &Value) -> CheckedPlan {
        let report =
            plan::check(&plan.to_string(), self.engine.surface(), &self.engine.policy().check_limits());
        match report.plan {
            Some(plan) => plan,
            None => panic!("the plan is wrong: {:#?}", report.findings),
        }
    }

    pub async fn run(&self, plan: &Value, place: RunPlace) -> RunReport {
        self.run_until(plan, place, RunCancel::new()).await
    }

    pub async fn run_until(&self, plan: &Value, place: RunPlace, cancel: RunCancel) -> RunReport {
        self.run_forecast(plan, place, cancel, (None, None)).await
    }

    pub async fn run_forecast(
        &self,
        plan: &Value,
        place: RunPlace,
        cancel: RunCancel,
        (forecaster, approved): (Option<Arc<dyn Forecaster>>, Option<Vec<ForecastCall>>),
    ) -> RunReport {
        let request = RunRequest {
            plan: self.check(plan),
            place,
            kind: RunKind::Plan,
            undoes: Vec::new(),
            session: None,
            asks_always: false,
            continues: None,
            planner_version: None,
            cancel,
            forecaster,
            approved,
            budget: None,
        };
        self.engine.run_plan(request).await.unwrap()
    }

    pub fn results(&self) -> Vec<ToolResult> {
        self.seen.results.lock().unwrap().clone()
    }

    pub fn events(&self) -> Vec<ExecutionEvent> {
        self.seen.events.lock().unwrap().clone()
    }
}

/// A call as a driver would make it.
pub fn tool_call(tool: &str, args: Value) -> ToolCall {
    let (run, step) = (RunId::parse("run").unwrap(), StepId::parse("step").unwrap());
    ToolCall {
        call_id: CallId::derive(&run, &step, None, 1),
        run_id: run,
        step_id: step,
        tool: ToolName::parse(tool).unwrap(),
        attempt: 1,
        args_hash: Some(envelope::canonical_hash(&args)),
        args: args.as_object().unwrap().clone(),
        filled_in: Vec::new(),
        timeout_ms: None,
        deadline_at: None,
        cancellable: true,
        iteration: None,
        loop_id: None,
        created_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        planner_version: None,
        executor_version: "test".into(),
        tool_registry_version: "test".into(),
        preview: None,
        note: None,
        request_id: None,
        risk_level: Risk::ReadOnly,
        category: None,
        policy: Arc::new(
            serde_json::from_value(json!({
                "confirmationsRequired": true,
                "sandbox": { "enabled": true, "allowedRoots": ["/"], "denyPatterns": [] },
                "limits": { "maxConcurrency": 8 }
            }))
            .unwrap(),
        ),
        confirmation_id: None,
        called_with: None,
        intent: Vec::new(),
    }
}

/// A plan of writing steps around the given ones.
pub fn plan(steps: Value) -> Value {
    json!({ "version": "1.0", "goal": "test the gate", "riskLevel": "writes", "steps": steps })
}
