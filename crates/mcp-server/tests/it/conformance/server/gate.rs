//! The engine of the server: one read-only tool, sometimes another, and no approver.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, Engine, EngineParts, Mode,
    Policy, Purpose, SystemClock, SystemIds, UncertainCall, UncertainDecision,
};
use envelope::{Fault, Idempotency, Risk, SessionId, SideEffect};
use mcp_server::{
    McpParts, McpServer, McpSettings, PlanRunOptions, PlanRunner, PlanSource, PlanToolResult, RunStorage,
    UndoRequest,
};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolkit::{
    BoxFuture, CancelToken, ProjectedResult, Projection, Registry, Surface, SurfaceRules, Tool, ToolCx,
};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Words {
    /// The output.
    words: String,
}

struct Echo<const MORE: bool>;

impl<const MORE: bool> Tool for Echo<MORE> {
    const NAME: &'static str = if MORE { "sample.echoAgain" } else { "sample.echo" };
    const SUMMARY: &'static str = "Give back what was given";
    const CATEGORY: &'static str = "sample";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
    const IDEMPOTENCY: Idempotency = Idempotency::Idempotent;
    type Args = Words;
    type Output = Words;

    async fn run(&self, _cx: &ToolCx, args: Words) -> Result<Words, Fault> {
        Ok(args)
    }

    fn preview(&self, args: &Words) -> String {
        format!("Give back {}", args.words)
    }

    fn summary(&self, output: &Words) -> String {
        output.words.clone()
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

struct Nobody;

const WHY: &str = "nobody sits before this server";

impl Approver for Nobody {
    fn confirm<'a>(&'a self, _: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(std::future::ready(ConfirmAnswer::Declined { reason: WHY.to_owned() }))
    }

    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::Unavailable { why: WHY.to_owned(), hint: None }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

impl PlanRunner for Nobody {
    fn check(&self, _plan: String, _session: Option<SessionId>) -> BoxFuture<'static, PlanToolResult> {
        no_plans()
    }

    fn preview(
        &self,
        _plan: PlanSource,
        _session: Option<SessionId>,
        _cancel: CancelToken,
    ) -> BoxFuture<'static, PlanToolResult> {
        no_plans()
    }

    fn run(&self, _plan: PlanSource, _with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        no_plans()
    }

    fn undo(&self, _request: UndoRequest, _with: PlanRunOptions) -> BoxFuture<'static, PlanToolResult> {
        no_plans()
    }

    fn end_session(&self, _session: &SessionId) {}
}

fn no_plans() -> BoxFuture<'static, PlanToolResult> {
    let why = "this server runs no plans".to_owned();
    let answer = PlanToolResult {
        ok: false,
        summary: why.clone(),
        text: why,
        data: Value::Null,
        ..PlanToolResult::default()
    };
    Box::pin(std::future::ready(answer))
}

fn gate(more: bool) -> Result<Engine, String> {
    let mut registry = Registry::new();
    registry.register(Echo::<false>).map_err(|refused| refused.to_string())?;
    if more {
        registry.register(Echo::<true>).map_err(|refused| refused.to_string())?;
    }
    let parts = EngineParts {
        surface: Arc::new(Surface::new(&registry, &BTreeSet::new(), &SurfaceRules::default())),
        policy: Policy { mode: Mode::Ask, ..Policy::cautious() },
        hooks: Vec::new(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver: Arc::new(Nobody),
        observer: None,
        executor_version: "conformance".into(),
        purpose: Purpose::Act,
        forecaster: None,
        cleanup: None,
    };
    Engine::new(parts).map_err(|bad| bad.to_string())
}

/// A server with a changeable tool list.
#[derive(Clone)]
pub(super) struct Changing {
    pub(super) mcp_server: Arc<McpServer>,
    more: Arc<AtomicBool>,
}

impl Changing {
    pub(super) fn new(runs: PathBuf) -> Result<Changing, String> {
        let more = Arc::new(AtomicBool::new(false));
        let now = more.clone();
        let parts = McpParts {
            make: Arc::new(move || gate(now.load(Ordering::SeqCst))),
            recorded: RunStorage::Disk(runs.into()),
            approvers: Arc::new(|_, _| Arc::new(Nobody)),
            plans: Arc::new(Nobody),
            unique: Arc::new(|| uuid::Uuid::now_v7().simple().to_string()),
            key: [7; 32],
            version: env!("CARGO_PKG_VERSION"),
            settings: McpSettings::default(),
        };
        Ok(Changing { mcp_server: Arc::new(McpServer::new(parts)?), more })
    }

    /// Adds or removes a tool.
    pub(super) fn change(&self) -> Result<(), String> {
        self.more.fetch_xor(true, Ordering::SeqCst);
        self.mcp_server.refresh()
    }
}
