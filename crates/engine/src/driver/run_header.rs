//! The spec of a run for the state machine, and its header for the journal.

use std::sync::Arc;

use command_line::CommandLine;
use envelope::{Confirmation, Hash, RunId, SessionId, ToolDecl};
use journal::{CallPolicy, Continuation, RecordedTool, RunHeader, RunKind};
use plan::{CheckedPlan, CheckedStep, RunSpec, Template};

use crate::panic_guard::catch_call;
use crate::{Engine, Purpose};

/// The runs that a run refers to.
pub(super) struct RunLinks {
    pub(super) undoes: Vec<RunId>,
    pub(super) session: Option<SessionId>,
    pub(super) continues: Option<Continuation>,
}

impl Engine {
    /// Whether the plan needs an approval before it runs.
    pub fn needs_confirmation(&self, plan: &CheckedPlan) -> bool {
        let steps = plan.steps.iter().map(|step| (&*step.decl, self.literal_command(step)));
        self.inner.policy.needs_confirmation(steps)
    }

    /// Returns the command of a step whose arguments are literals.
    fn literal_command(&self, step: &CheckedStep) -> Option<CommandLine> {
        let Template::Literal(args) = &step.args else {
            return None;
        };
        let entry = self.inner.surface.resolve(step.decl.name.as_str()).ok()?;
        catch_call(|| entry.tool.decode(args).ok().and_then(|args| entry.tool.command(&args))).ok().flatten()
    }

    pub(super) fn run_spec(
        &self,
        run_id: RunId,
        plan: Arc<CheckedPlan>,
        planner_version: Option<String>,
    ) -> RunSpec {
        // A forecast finds out which calls would be asked about, so it is not asked about as a whole.
        let confirm = self.inner.purpose == Purpose::Act && self.needs_confirmation(&plan);
        RunSpec {
            run_id,
            plan,
            policy: self.policy().snapshot(),
            limits: self.policy().run_limits(),
            executor_version: self.inner.executor_version.clone(),
            registry_version: self.inner.surface.version().into(),
            planner_version,
            confirm,
            sibling: self.policy().sibling_failure,
            carried: Arc::default(),
        }
    }

    pub(super) fn run_header(&self, spec: &RunSpec, kind: RunKind, links: RunLinks) -> RunHeader {
        let policy = serde_json::to_value(self.policy()).unwrap_or_default();
        RunHeader {
            format: RunHeader::FORMAT,
            run_id: spec.run_id.clone(),
            created_at: self.inner.clock.now(),
            kind,
            undoes: links.undoes,
            session: links.session,
            continues: links.continues,
            // Filled in by the folder that keeps the run.
            vault: None,
            plan: serde_json::to_value(&*spec.plan.plan).unwrap_or_default(),
            plan_hash: spec.plan.hash,
            policy_hash: envelope::canonical_hash(&policy),
            policy: Some(policy),
            call_policy: Some(CallPolicy::from(&*spec.policy)),
            tools: declarations(&spec.plan).into_iter().map(RecordedTool::from).collect(),
            registry_version: spec.registry_version.to_string(),
            executor_version: self.inner.executor_version.to_string(),
            planner_version: spec.planner_version.clone(),
            limits: spec.limits,
            sibling: spec.sibling,
            confirm: spec.confirm,
        }
    }

    /// Hash of everything that an approval of this run covers.
    pub(super) fn binding(&self, plan: &CheckedPlan, forecast: Option<&Hash>) -> Hash {
        Confirmation::binding(&plan.hash, &self.policy().hash(), self.inner.surface.version(), forecast)
    }
}

/// Returns the tools that a plan uses, each once.
fn declarations(plan: &CheckedPlan) -> Vec<ToolDecl> {
    let mut tools: Vec<ToolDecl> = Vec::new();
    for step in &plan.steps {
        if !tools.iter().any(|known| known.name == step.decl.name) {
            tools.push((*step.decl).clone());
        }
    }
    tools
}
