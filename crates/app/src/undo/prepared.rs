//! A prepared undo, from its target to the run that reverts it.

use std::sync::Arc;

use engine::{Approver, Forecaster, Observer, RunCancel, RunPlace, RunReport, RunRequest, restore_plan};
use envelope::SessionId;
use journal::{RunFolder, RunKind};
use serde_json::{Value, json};
use vault::{RestoreConflict, RestorePlan};

use super::change_text;
use super::conflicts::{ConflictPolicy, decide_conflicts};
use super::target::UndoTarget;
use super::undo_preview::UndoPreview;
use crate::diff::DiffLimits;
use crate::error::AppError;
use crate::findings;
use crate::leftovers::{TempLeftover, temp_leftovers};
use crate::plan_service::{PlanCheck, check_plan};
use crate::text_style::TextStyle;
use crate::toolset::{self, Toolset};
use crate::vault_context::VaultContext;

/// Outlook of an undo or redo.
pub enum UndoOutlook {
    Nothing(Box<NothingToUndo>),
    Ready(Box<PreparedUndo>),
}

/// A target without changes to revert, and the reason.
pub struct NothingToUndo {
    pub target: UndoTarget,
    /// Reason, such as `changed nothing in the vault`.
    pub why: &'static str,
    found: Option<RestorePlan>,
}

impl NothingToUndo {
    /// Returns lines about entries that stay as they are.
    pub fn remarks(&self) -> Vec<String> {
        match &self.found {
            Some(found) => change_text::remarks(found, &self.target.irreversible),
            None => change_text::not_undone(&self.target.irreversible),
        }
    }

    /// Returns the answer for programs.
    pub fn to_json(&self) -> Value {
        let (target, found) = (&self.target, self.found.as_ref());
        json!({
            "run": target.run_id,
            "session": target.session,
            "undoes": target.undoes,
            "goal": target.goal,
            "changes": [],
            "linkUpdates": [],
            "deadLinks": [],
            "alreadySo": found.map_or(0, |found| found.already_so),
            "kept": found.map_or(&[][..], |found| &found.kept),
            "missing": found.map_or(&[][..], |found| &found.missing),
            "left": found.map_or(&[][..], |found| &found.left),
            "conflicts": [],
            "notUndone": target.irreversible,
        })
    }
}

/// An undo or redo with all decisions made, ready to run.
pub struct PreparedUndo {
    pub target: UndoTarget,
    /// Shows what would be restored, in the question and outside of it.
    pub preview: Arc<UndoPreview>,
    tools: Toolset,
    found: RestorePlan,
    /// The session of the client that asks for the undo.
    by_session: Option<SessionId>,
    /// Whether the user is asked whatever the mode and the rules are.
    asks_always: bool,
}

/// Removes the hidden files that an interrupted run has left in the vault, except those that can be the only copy of their
/// content. They would keep folders of the run from being removed, and no one else will complete its calls. Returns the
/// files that were removed; none if the run has ended by itself.
pub fn remove_leftovers(context: &VaultContext, target: &UndoTarget) -> Result<Vec<TempLeftover>, AppError> {
    if !target.interrupted {
        return Ok(Vec::new());
    }
    let mut found = temp_leftovers(context, true)?;
    found.retain(|file| file.removed);
    Ok(found)
}

/// Plans the undo of a target. `policy` decides about notes that were edited since; `text_style` has the colours of the
/// question about the run.
pub fn prepare_undo(
    context: &VaultContext,
    target: UndoTarget,
    policy: ConflictPolicy<'_>,
    limits: DiffLimits,
    style: TextStyle,
) -> Result<UndoOutlook, AppError> {
    let nothing =
        |target, found, why| Ok(UndoOutlook::Nothing(Box::new(NothingToUndo { target, why, found })));
    if target.made.is_empty() {
        return nothing(target, None, "changed nothing in the vault");
    }
    let tools = Toolset::open_with_restore(context)?;
    let Some(vault) = tools.vault().cloned() else {
        return Err(AppError::bad_input("no_vault", "no vault is open"));
    };
    let found = decide_conflicts(context, &vault, &target, policy)?;
    if found.conflicts.is_empty() && found.changes().is_empty() {
        let is_all_so = found.kept.is_empty() && found.missing.is_empty() && found.left.is_empty();
        let why = if is_all_so { "is already as it was before" } else { "has nothing else to undo" };
        return nothing(target, Some(found), why);
    }
    let folder = Arc::new(RunFolder::open(target.folder.path())?);
    let preview = UndoPreview::new((&vault, &folder), &found, &target, limits, style);
    Ok(UndoOutlook::Ready(Box::new(PreparedUndo {
        target,
        preview: Arc::new(preview),
        tools,
        found,
        by_session: None,
        asks_always: false,
    })))
}

impl PreparedUndo {
    /// Sets the session of the client that asks for the undo, and whether the user is asked whatever the mode and the rules
    /// are.
    #[must_use]
    pub fn for_client(self, session: Option<SessionId>, asks_always: bool) -> PreparedUndo {
        PreparedUndo { by_session: session, asks_always, ..self }
    }

    /// Returns the remaining conflicts, if the policy was to report them.
    pub fn conflicts(&self) -> &[RestoreConflict] {
        &self.found.conflicts
    }

    /// Returns lines about entries that stay as they are, and effects that cannot be undone.
    pub fn remarks(&self) -> Vec<String> {
        change_text::remarks(&self.found, &self.target.irreversible)
    }

    /// Returns the undo for programs. Call it before the run: afterwards no difference is left to show.
    pub fn to_json(&self) -> Result<Value, AppError> {
        let (target, found) = (&self.target, &self.found);
        Ok(json!({
            "run": target.run_id,
            "session": target.session,
            "undoes": target.undoes,
            "goal": target.goal,
            "changes": self.preview.changes(),
            "linkUpdates": found.links.iter().map(|links| &links.path).collect::<Vec<_>>(),
            "deadLinks": change_text::dead_links_json(found),
            "alreadySo": found.already_so,
            "kept": found.kept,
            "missing": found.missing,
            "left": found.left,
            "conflicts": found.conflicts,
            "notUndone": target.irreversible,
            "files": self.preview.view()?.0.differences,
        }))
    }

    /// Runs the undo through the engine, like any other plan. `forecasts` is false if the approval was given in advance:
    /// no question shows what would be restored then.
    pub async fn run(
        &self,
        context: &VaultContext,
        approver: Arc<dyn Approver>,
        observer: Arc<dyn Observer>,
        forecasts: bool,
        cancel: RunCancel,
    ) -> Result<RunReport, AppError> {
        let (preview, goal) = (&self.preview, &self.target.goal);
        // The text only: the plan of a large undo takes many times the memory.
        let plan = restore_plan(goal, preview.wanted(), preview.links(), &self.found.uncompared).to_string();
        let PlanCheck { findings: found, plan } = check_plan(&plan, &self.tools.surface, &context.settings);
        let Some(plan) = plan else {
            let message = "the plan of the undo does not pass its check";
            return Err(
                AppError::bad_input("plan_rejected", message).details(findings::findings_json(&found, None))
            );
        };
        let engine = toolset::build_engine(context, &self.tools, approver, observer, None)?;
        let request = RunRequest {
            plan,
            place: RunPlace::Disk(context.prepare_runs()?),
            kind: if self.target.scope.is_everything() { RunKind::Undo } else { RunKind::PartialUndo },
            undoes: self.target.undoes.clone(),
            session: self.by_session.clone(),
            asks_always: self.asks_always,
            continues: None,
            planner_version: None,
            cancel,
            forecaster: forecasts.then(|| self.preview.clone() as Arc<dyn Forecaster>),
            // A restore names the expected state of every file, and leaves a file alone that differs.
            approved: None,
            budget: None,
        };
        Ok(engine.run_plan(request).await?)
    }
}
