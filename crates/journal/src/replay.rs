//! Derives a run again from its plan and its recorded results, without running a tool.
//!
//! The same state machine that drove the run is fed with what was recorded, in the recorded order, and each
//! call it asks for is compared with the call that was made. Nothing but the run folder is needed.

use std::path::Path;
use std::sync::Arc;

use envelope::{LimitsSnapshot, PolicySnapshot, SandboxSnapshot};
use plan::{CheckLimits, CheckedPlan, Finding, RunSpec, Severity, check};

use crate::catalog::RecordedTools;
use crate::divergence::Replay;
use crate::error::JournalError;
use crate::folder::RunFolder;
use crate::header::{RunHeader, RunKind};
use crate::rehearsal::Rehearsal;
use crate::session;

/// Derives every call of a run again and compares it with the record.
pub fn replay(run_dir: &Path) -> Result<Replay, JournalError> {
    let folder = RunFolder::open(run_dir)?;
    if folder.header().kind == RunKind::Session {
        return session::replay(&folder);
    }
    let spec = spec(folder.header())?;
    Ok(Rehearsal::of(&folder, spec)?.into_replay())
}

pub(crate) fn spec(header: &RunHeader) -> Result<RunSpec, JournalError> {
    Ok(RunSpec {
        run_id: header.run_id.clone(),
        plan: Arc::new(accepted_plan(header)?),
        policy: Arc::new(no_policy()),
        limits: header.limits,
        executor_version: header.executor_version.as_str().into(),
        registry_version: header.registry_version.as_str().into(),
        planner_version: header.planner_version.clone(),
        confirm: header.confirm,
        sibling: header.sibling,
    })
}

/// Compiles the recorded plan again, against the recorded tools.
fn accepted_plan(header: &RunHeader) -> Result<CheckedPlan, JournalError> {
    // Today's limits say nothing about a plan that was accepted under those of its time.
    let limits = CheckLimits { max_attempts: u32::MAX, max_call_timeout_ms: u64::MAX };
    let report = check(&header.plan.to_string(), &RecordedTools(&header.tools), &limits);
    let first_error = |findings: &[Finding]| {
        let error = findings.iter().find(|finding| finding.severity == Severity::Error);
        error.map_or_else(|| "it has no plan".to_owned(), ToString::to_string)
    };
    report.plan.ok_or_else(|| JournalError::PlanRejected { why: first_error(&report.findings) })
}

/// What a derived call carries as policy is not compared: each recorded call bears its own.
fn no_policy() -> PolicySnapshot {
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
