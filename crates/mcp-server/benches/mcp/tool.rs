//! A minimal tool, with the gate and without.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::{
    ApprovalDecision, ApprovalRequest, Approver, ConfirmAnswer, ConfirmRequest, Engine, EngineParts, Mode,
    Policy, Purpose, SystemClock, SystemIds, UncertainCall, UncertainDecision,
};
use envelope::{ApprovalChannel, Fault, Idempotency, Risk, SideEffect};
use receipts::families::external;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolkit::{BoxFuture, ProjectedResult, Projection, Registry, Surface, SurfaceRules, Tool, ToolCx};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// What to look for.
    #[schemars(length(min = 1, max = 200))]
    pub(crate) query: String,
    /// How many to return.
    #[schemars(range(min = 1, max = 1000))]
    pub(crate) limit: u32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Output {
    pub(crate) query: String,
    pub(crate) count: u32,
}

pub(crate) const SUMMARY: &str = "Do next to nothing";

pub(crate) fn work(args: Args) -> Output {
    Output { count: args.limit, query: args.query }
}

pub(crate) fn said(output: &Output) -> String {
    format!("Found {} of {}", output.count, output.query)
}

struct Look;

impl Tool for Look {
    const NAME: &'static str = "bench.look";
    const SUMMARY: &'static str = SUMMARY;
    const CATEGORY: &'static str = "bench";
    const RISK: Risk = Risk::ReadOnly;
    const SIDE_EFFECTS: &'static [SideEffect] = &[];
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
        said(output)
    }

    fn project(&self, output: &Self::Output, with: &mut Projection<'_>) -> Result<ProjectedResult, Fault> {
        external::project(output, with)
    }
}

/// Approver for a read-only tool, which is never asked.
pub(crate) struct Never;

impl Approver for Never {
    fn confirm<'a>(&'a self, _: &'a ConfirmRequest) -> BoxFuture<'a, ConfirmAnswer> {
        Box::pin(std::future::ready(ConfirmAnswer::Approved { channel: ApprovalChannel::Embedder }))
    }

    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalDecision> {
        Box::pin(std::future::ready(ApprovalDecision::Unavailable {
            why: "this is a benchmark".to_owned(),
            hint: None,
        }))
    }

    fn settle<'a>(&'a self, _: &'a UncertainCall) -> BoxFuture<'a, UncertainDecision> {
        Box::pin(std::future::ready(UncertainDecision::Leave))
    }
}

/// The engine as in the product with all its phases, without a disk.
pub(crate) fn gate() -> Result<Engine, String> {
    let mut registry = Registry::new();
    registry.register(Look).map_err(|refused| refused.to_string())?;
    let parts = EngineParts {
        surface: Arc::new(Surface::new(&registry, &BTreeSet::new(), &SurfaceRules::default())),
        policy: Policy { mode: Mode::Ask, ..Policy::cautious() },
        hooks: Vec::new(),
        clock: Arc::new(SystemClock::new()),
        ids: Arc::new(SystemIds),
        approver: Arc::new(Never),
        observer: None,
        executor_version: "bench".into(),
        purpose: Purpose::Act,
        forecaster: None,
        cleanup: None,
    };
    Engine::new(parts).map_err(|bad| bad.to_string())
}
