//! Continues a run that ended with failures: a new run makes the calls that are left.
//!
//! The record of a run ends with `run.finished` and never grows after that: its chain head may be kept elsewhere, and
//! its machine has settled every step. So the calls that are left are made in a new run, with its own approval,
//! journal and ids. It names the old run and contains the outputs that it needs of it.

use std::path::Path;
use std::sync::Arc;

use engine::UndoHistory;
use envelope::SchemasOnly;
use journal::{Continuation, JournalError, RunFolder, RunKind, RunState, RunSummary};
use plan::{BraceRule, CheckedPlan, RunStatus};
use shell::ProcessLifetime;

use crate::error::{AppError, ErrorKind};
use crate::findings;
use crate::toolset::Toolset;
use crate::vault_context::VaultContext;

/// A plan with the calls that are not made again, and the tools for the others.
pub struct PreparedRetry {
    pub tools: Arc<Toolset>,
    pub plan: CheckedPlan,
    pub kind: RunKind,
    /// Author of the plan, as the old run names it.
    pub planner: Option<String>,
    pub continues: Continuation,
}

/// Prepares the run that continues a finished one.
///
/// Fails unless the run made calls of a plan and ended with failures, its record is intact, nothing of it was undone,
/// and no newer run continues it. Fails as well if the plan no longer passes its check, or if a tool whose output is
/// used again returns another type now.
pub fn prepare_retry(context: &VaultContext, run_dir: &Path) -> Result<PreparedRetry, AppError> {
    let runs = context.runs()?.list()?;
    let Some(run) = runs.iter().find(|run| run.dir == run_dir) else {
        return Err(AppError::bad_input("no_such_run", "the run is gone")
            .hint("`tollgate runs` lists the runs of this vault"));
    };
    refuse_by_state(run)?;
    refuse_by_kind(run)?;
    refuse_by_history(&UndoHistory::of(&runs), run)?;
    let verified = journal::verify(run_dir, None)?;
    if let Some(first) = verified.problems.into_iter().next() {
        return Err(JournalError::Damaged(Box::new(first)).into());
    }
    let folder = RunFolder::open(run_dir)?;
    let tools = Arc::new(Toolset::open(context, ProcessLifetime::Run)?);
    let plan = check_again(context, &tools, &folder)?;
    refuse_other_braces(context, &tools, &folder, &plan)?;
    let continues = engine::continuation(&folder, &plan)?;
    refuse_other_types(&tools, &folder, &plan, &continues)?;
    let (kind, planner) = (run.kind, folder.header().planner_version.clone());
    Ok(PreparedRetry { tools, plan, kind, planner, continues })
}

/// Returns the error for a retry that was approved in advance although some calls may have happened already.
pub fn uncertain_error(continues: &Continuation) -> Option<AppError> {
    let first = continues.uncertain.first()?;
    let more = continues.uncertain.len() - 1;
    let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
    let message = format!(
        "it is unknown whether the call of {} in step {} happened{others}; it is not made again without a question",
        first.tool, first.step_id
    );
    Some(
        AppError::new(ErrorKind::Denied, "uncertain", message)
            .hint("run it without --yes: the question shows every call that would be made"),
    )
}

fn refuse_by_state(run: &RunSummary) -> Result<(), AppError> {
    let id = &run.run_id;
    match &run.state {
        RunState::Finished(Some(status)) if status == RunStatus::Ok.name() => {
            Err(AppError::bad_input("nothing_failed", format!("every call of run {id} succeeded"))
                .hint("to do it all again, run its plan again; it is in run.json under `plan`"))
        }
        RunState::Finished(_) => Ok(()),
        RunState::Running => {
            Err(AppError::new(ErrorKind::Failed, "running", format!("run {id} is still running"))
                .hint("wait until it ends, or end it with Ctrl-C where it runs"))
        }
        RunState::Interrupted => {
            Err(AppError::bad_input("interrupted", format!("run {id} was interrupted and has no end yet"))
                .hint(format!("to continue it: `tollgate resume {id}`; then retry what failed")))
        }
        RunState::Damaged(why) => {
            let why = why.as_deref().unwrap_or("its record cannot be read");
            Err(AppError::new(ErrorKind::Damaged, "journal_damaged", format!("run {id}: {why}"))
                .hint(format!("`tollgate verify {id}` lists every problem")))
        }
    }
}

fn refuse_by_kind(run: &RunSummary) -> Result<(), AppError> {
    let refused = |code, message: String, hint: String| Err(AppError::bad_input(code, message).hint(hint));
    match run.kind {
        RunKind::Plan | RunKind::Call => Ok(()),
        RunKind::Undo | RunKind::PartialUndo => {
            let undone = run.undoes.first().map(ToString::to_string).unwrap_or_default();
            refused(
                "is_an_undo",
                format!("run {} is an undo", run.run_id),
                format!("`tollgate undo {undone}` (or `redo`) does what it left undone"),
            )
        }
        RunKind::Session => refused(
            "is_a_session",
            format!("run {} has the calls of a client and no plan", run.run_id),
            "let the client make the call again".to_owned(),
        ),
    }
}

fn refuse_by_history(history: &UndoHistory<'_>, run: &RunSummary) -> Result<(), AppError> {
    let id = &run.run_id;
    if let Some(newer) = history.continued_by(id) {
        let message = format!("run {id} was continued already, by run {}", newer.run_id);
        return Err(AppError::bad_input("continued", message).hint(format!(
            "continue that one: `tollgate resume {}`, with --retry-failed if it has ended",
            newer.run_id
        )));
    }
    match history.active_undos(id).first() {
        Some(undo) => {
            let message = format!("run {id} is undone, or a part of it, by run {}", undo.run_id);
            Err(AppError::bad_input("undone", message)
                .hint(format!("`tollgate redo {id}` first, or run its plan again")))
        }
        None => Ok(()),
    }
}

fn check_again(context: &VaultContext, tools: &Toolset, folder: &RunFolder) -> Result<CheckedPlan, AppError> {
    let text = folder.header().plan.to_string();
    let report = plan::check(&text, &SchemasOnly(&*tools.surface), &context.settings.check_limits());
    report.plan.ok_or_else(|| {
        let found = findings::sort_findings(report.findings);
        let listed: Vec<String> = found
            .iter()
            .map(|finding| format!("\n  {}", crate::display_text::escape_line(&finding.to_string())))
            .collect();
        let message = format!("the plan of this run no longer passes its check:{}", listed.concat());
        AppError::bad_input("plan_rejected", message).details(findings::findings_json(&found, None))
    })
}

/// Fails if doubled braces in the plan meant single ones when the run was made: its texts would mean something else in
/// the new run.
fn refuse_other_braces(
    context: &VaultContext,
    tools: &Toolset,
    folder: &RunFolder,
    plan: &CheckedPlan,
) -> Result<(), AppError> {
    if !folder.may_have_other_braces() {
        return Ok(());
    }
    let text = folder.header().plan.to_string();
    let (catalog, limits) = (SchemasOnly(&*tools.surface), context.settings.check_limits());
    let report = plan::check_recorded(&text, &catalog, &limits, BraceRule::Everywhere);
    if report.plan.is_some_and(|before| before.has_same_templates(plan)) {
        return Ok(());
    }
    let message = "doubled braces in the plan of this run may have meant single ones when it was made, and keep both now";
    Err(AppError::new(ErrorKind::Denied, "changed", message)
        .hint("the plan is in run.json under `plan`; check its braces and run it again for what is left"))
}

/// Fails if an output would be read as another type than it was written as.
fn refuse_other_types(
    tools: &Toolset,
    folder: &RunFolder,
    plan: &CheckedPlan,
    continues: &Continuation,
) -> Result<(), AppError> {
    let declared = folder.tools()?;
    for call in continues.carried.iter().filter(|call| call.data.is_some()) {
        let Some(step) = plan.steps.iter().find(|step| step.id == call.step_id) else { continue };
        let recorded = declared.iter().find(|tool| tool.name == step.decl.name);
        let now = tools.surface.resolve(step.decl.name.as_str());
        let is_same =
            recorded.zip(now.ok()).is_some_and(|(old, now)| old.output_schema == now.decl.output_schema);
        if !is_same {
            let message = format!("{} returns another type than when the run was made", step.decl.name);
            return Err(AppError::new(ErrorKind::Denied, "changed", message)
                .hint("the plan is in run.json under `plan`; run it again for what is left"));
        }
    }
    Ok(())
}
