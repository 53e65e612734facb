//! Resuming an interrupted run: its tools, and when it is refused.

use std::path::Path;

use engine::{ResumeError, UndoHistory};
use journal::{RunFolder, RunKind};
use shell::ProcessLifetime;

use crate::display_text::escape_line;
use crate::error::{AppError, ErrorKind};
use crate::findings;
use crate::toolset::Toolset;
use crate::vault_context::VaultContext;

/// Opens the tools of an interrupted run. An undo needs `vault.restore`.
///
/// Fails if the run has been undone since: it would be half done again.
pub fn resume_tools(context: &VaultContext, run_dir: &Path) -> Result<Toolset, AppError> {
    refuse_undone(context, run_dir)?;
    match RunFolder::open(run_dir)?.header().kind {
        RunKind::Undo | RunKind::PartialUndo => Toolset::open_with_restore(context),
        RunKind::Plan | RunKind::Call | RunKind::Session => Toolset::open(context, ProcessLifetime::Run),
    }
}

fn refuse_undone(context: &VaultContext, run_dir: &Path) -> Result<(), AppError> {
    let runs = context.runs()?.list()?;
    let run = runs.iter().find(|run| run.dir == run_dir);
    match run.and_then(|run| UndoHistory::of(&runs).undone_by(&run.run_id)) {
        Some(undo) => {
            Err(AppError::bad_input("undone", format!("the run is undone, by run {}", undo.run_id))
                .hint("run its plan again; it is in run.json under `plan`"))
        }
        None => Ok(()),
    }
}

impl From<ResumeError> for AppError {
    fn from(error: ResumeError) -> AppError {
        let message = error.to_string();
        match error {
            ResumeError::Journal(error) => AppError::from(error),
            ResumeError::Finished => AppError::bad_input("finished", message)
                .hint("`tollgate show` shows how it ended; if calls failed, `resume RUN --retry-failed` makes them again"),
            ResumeError::Changed { .. } => AppError::new(ErrorKind::Denied, "changed", message)
                .hint("the plan is in run.json under `plan`; a new run asks for a new approval"),
            ResumeError::PlanRejected(found) => {
                let listed: Vec<String> = found
                    .iter()
                    .map(|finding| format!("\n  {}", escape_line(&finding.to_string())))
                    .collect();
                AppError::bad_input("plan_rejected", format!("{message}:{}", listed.concat()))
                    .details(findings::findings_json(&found, None))
            }
            ResumeError::Diverged { .. } => AppError::new(ErrorKind::Damaged, "diverged", message)
                .hint("`tollgate verify` and `tollgate replay` say where"),
        }
    }
}
