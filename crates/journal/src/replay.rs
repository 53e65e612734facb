//! Replays a run from its plan and its recorded results, without running a tool.
//!
//! The state machine that controlled the run is fed with the recorded inputs in the recorded order, and each
//! call that it derives is compared with the recorded call. The run folder contains everything that is
//! needed.

use std::path::Path;
use std::sync::Arc;

use envelope::{LimitsSnapshot, PolicySnapshot, SandboxSnapshot, ToolDecl};
use plan::{BraceRule, CheckLimits, CheckedPlan, PlanFinding, RunSpec, Severity, check_recorded};

use crate::brace_rule::brace_rule;
use crate::catalog::RecordedTools;
use crate::divergence::ReplayReport;
use crate::error::JournalError;
use crate::run_folder::RunFolder;
use crate::run_header::{RunHeader, RunKind};
use crate::run_replay::RunReplay;
use crate::session_replay;

/// Derives every call of a run again and compares it with the record.
///
/// Fails if the record is unreadable or damaged, or if the checker now rejects its plan.
pub fn replay(run_dir: &Path) -> Result<ReplayReport, JournalError> {
    let folder = RunFolder::open(run_dir)?;
    if folder.header().kind == RunKind::Session {
        return session_replay::replay(&folder);
    }
    let tools = folder.tools()?;
    let braces = brace_rule(&folder, &|braces| run_spec(folder.header(), &tools, braces).ok())?;
    let spec = run_spec(folder.header(), &tools, braces)?;
    Ok(RunReplay::rebuild(&folder, spec)?.into_replay())
}

pub(crate) fn run_spec(
    header: &RunHeader,
    tools: &[ToolDecl],
    braces: BraceRule,
) -> Result<RunSpec, JournalError> {
    Ok(RunSpec {
        run_id: header.run_id.clone(),
        plan: Arc::new(compile_plan(header, tools, braces)?),
        policy: Arc::new(empty_policy()),
        limits: header.limits,
        executor_version: header.executor_version.as_str().into(),
        registry_version: header.registry_version.as_str().into(),
        planner_version: header.planner_version.clone(),
        confirm: header.confirm,
        sibling: header.sibling,
        carried: Arc::new(header.carried_calls()),
    })
}

/// Compiles the recorded plan again, against the recorded tools.
fn compile_plan(
    header: &RunHeader,
    tools: &[ToolDecl],
    braces: BraceRule,
) -> Result<CheckedPlan, JournalError> {
    // The current limits do not apply to a plan that was accepted earlier.
    let limits = CheckLimits { max_attempts: u32::MAX, max_call_timeout_ms: u64::MAX };
    let report = check_recorded(&header.plan.to_string(), &RecordedTools(tools), &limits, braces);
    let first_error = |findings: &[PlanFinding]| {
        let error = findings.iter().find(|finding| finding.severity == Severity::Error);
        error.map_or_else(|| "it has no plan".to_owned(), ToString::to_string)
    };
    report.plan.ok_or_else(|| JournalError::PlanRejected { why: first_error(&report.findings) })
}

/// An empty policy. The policy of a derived call is not compared, because each recorded call carries its own.
fn empty_policy() -> PolicySnapshot {
    PolicySnapshot {
        confirmations_required: false,
        sandbox: SandboxSnapshot { enabled: true, allowed_roots: Vec::new(), deny_patterns: Vec::new() },
        limits: LimitsSnapshot {
            max_concurrency: 1,
            max_attempts: None,
            call_timeout_ms: None,
            max_foreach_items: None,
        },
    }
}
