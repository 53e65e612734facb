//! Runs a plan over an overlay of the vault and compares the result.

use std::num::NonZeroU32;
use std::sync::Arc;

use engine::{Policy, RunCancel, RunPlace, RunReport, RunRequest};
use envelope::{Fault, Hash, OnError, Requirement, Risk, StepId, VaultPath};
use journal::{Continuation, RunKind};
use plan::{CheckedPlan, RunStatus};
use vault::{PathState, TreeChange, TreeEffect, Vault};

use super::headline::headline;
use super::known_failures::known_failures;
use super::paths::PathOutlook;
use super::recording::RecordingObserver;
use super::steps::{outlooks, verdict};
use super::totals::ForecastTotals;
use super::{PREVIEW_FORMAT, PlanPreview, PreviewVerdict, SavedPreview, hints};
use crate::diff::{DiffLimits, DiffSet, FileDiff};
use crate::display_text::escape_line;
use crate::error::AppError;
use crate::error::ErrorKind;
use crate::null_context::NullContext;
use crate::settings::Settings;
use crate::toolset::{self, Toolset};

/// A larger file is counted, not compared.
const LARGEST_COMPARED: u64 = 16 << 20;

/// A plan with everything needed to run it over an overlay, any number of times.
pub struct ForecastRun {
    tools: Arc<Toolset>,
    plan: CheckedPlan,
    rules: ForecastRules,
    continues: Option<Continuation>,
}

/// The settings that a forecast uses.
#[derive(Clone)]
pub struct ForecastRules {
    pub(super) policy: Policy,
    /// Names of the hooks, which are not run.
    hooks: Vec<String>,
}

impl ForecastRules {
    pub fn of(settings: &Settings) -> ForecastRules {
        let hooks = settings.hooks.iter().map(|hook| escape_line(&hook.name)).collect();
        ForecastRules { policy: settings.policy.clone(), hooks }
    }
}

impl ForecastRun {
    pub fn new(rules: &ForecastRules, tools: Arc<Toolset>, plan: &CheckedPlan) -> ForecastRun {
        ForecastRun { tools, plan: plan.clone(), rules: rules.clone(), continues: None }
    }

    /// Sets the run that the plan continues: its calls are not made again.
    pub fn continuing(self, continues: Option<Continuation>) -> ForecastRun {
        ForecastRun { continues, ..self }
    }

    /// Returns what the plan would do now. Writes nothing.
    pub async fn perform(&self, limits: DiffLimits, cancel: RunCancel) -> Result<PlanPreview, AppError> {
        let limits_are_full = limits.is_full();
        let tools = self.tools.with_overlay()?;
        let seen = Arc::new(RecordingObserver::default());
        let engine = toolset::forecast_engine(self.sequential_policy(), &tools.surface, seen.clone())?;
        let request = RunRequest {
            plan: forecastable_plan(&self.plan),
            place: RunPlace::Memory,
            kind: RunKind::Plan,
            undoes: Vec::new(),
            session: None,
            asks_always: false,
            continues: self.continues.clone(),
            planner_version: None,
            cancel,
            forecaster: None,
            approved: None,
            budget: None,
        };
        let report = engine.run_plan(request).await.map_err(|error| match error {
            engine::RunError::Journal(error) => AppError::from(error),
        })?;
        let vault = tools.vault().cloned();
        let compared = tokio::task::spawn_blocking(move || compare_files(vault.as_deref(), limits)).await;
        let compared = compared
            .map_err(|error| AppError::io("compare the files", error))?
            .map_err(|fault| AppError::new(ErrorKind::Failed, "preview", fault.message))?;
        Ok(self.preview(&report, &seen, compared, (tools.surface.version(), limits_are_full)))
    }

    /// Returns the differences of a preview from an earlier one, one line each.
    pub fn differences(&self, earlier: &SavedPreview, now: &PlanPreview) -> Vec<String> {
        let look = |path: &str| {
            let path = VaultPath::parse_escaped(path).ok()?;
            match self.tools.vault()?.path_state(&path, &NullContext).ok()? {
                PathState::File { state, .. } => Some(state.hash),
                PathState::Folder | PathState::Other => Some(Hash::of(b"")),
                PathState::Missing => None,
            }
        };
        earlier.differences(now, &look)
    }

    fn preview(
        &self,
        report: &RunReport,
        seen: &RecordingObserver,
        compared: ComparedFiles,
        (registry, full): (&str, bool),
    ) -> PlanPreview {
        let order: Vec<StepId> = self.plan.steps.iter().map(|step| step.id.clone()).collect();
        let steps = outlooks(&self.plan, report, seen);
        let mut preview = PlanPreview {
            format: PREVIEW_FORMAT,
            plan_hash: self.plan.hash,
            policy_hash: self.rules.policy.hash(),
            registry_version: registry.to_owned(),
            full,
            headline: String::new(),
            calls: seen.calls(&order),
            commands: seen.commands(),
            known_failures: known_failures(&self.plan, report, &steps),
            runs_unasked: seen.runs_unasked() && report.status != RunStatus::Cancelled,
            fingerprint: Hash::of(b""),
            verdict: if report.status == RunStatus::Cancelled {
                PreviewVerdict::Cancelled
            } else {
                verdict(&steps)
            },
            steps,
            totals: ForecastTotals::of(&compared.paths, seen.links()),
            paths: compared.paths,
            changes: compared.changes,
            warnings: compared.warnings,
            questions: seen.questions(),
            hooks_not_run: self.rules.hooks.clone(),
        };
        preview.headline = headline(&preview);
        preview.take_fingerprint();
        preview
    }

    /// Returns the policy with one call at a time and without retries. Which calls are made does not depend on concurrency,
    /// and a failure that would be retried is still worth showing.
    fn sequential_policy(&self) -> Policy {
        let mut policy = self.rules.policy.clone();
        policy.limits.max_concurrency = NonZeroU32::MIN;
        policy.limits.max_attempts = NonZeroU32::MIN;
        policy
    }
}

/// Returns the plan as it is forecast. Steps that run commands are skipped, so that independent steps are still forecast.
/// The tool describes a step; descriptions in the plan prove nothing.
fn forecastable_plan(plan: &CheckedPlan) -> CheckedPlan {
    let mut plan = plan.clone();
    for step in &mut plan.steps {
        step.preview = None;
        if step.decl.risk_level == Risk::Commands || step.decl.availability.contains(&Requirement::Server) {
            step.on_error = OnError::Skip;
        }
    }
    plan
}

struct ComparedFiles {
    paths: Vec<PathOutlook>,
    changes: DiffSet,
    warnings: Vec<String>,
}

fn compare_files(vault: Option<&Vault>, limits: DiffLimits) -> Result<ComparedFiles, Fault> {
    let mut changes = DiffSet::new(limits);
    let Some(vault) = vault else {
        return Ok(ComparedFiles { paths: Vec::new(), changes, warnings: Vec::new() });
    };
    let foreseen = vault.overlay_changes(&NullContext)?;
    for file in foreseen.iter().filter(|one| is_compared(one)) {
        let bytes = [file.before, file.after].into_iter().flatten().map(|state| state.bytes).sum::<u64>();
        if !changes.has_room() || bytes > LARGEST_COMPARED {
            changes.leave_out();
            continue;
        }
        let moved_from =
            file.from.as_ref().filter(|_| file.effect == TreeEffect::Moved).map(|from| from.as_str());
        let (before, after) = match file.before.map(|state| state.hash) == file.after.map(|state| state.hash)
        {
            // Only moved: its content is not compared.
            true => (Some(Vec::new()), Some(Vec::new())),
            false => (vault.content_before(file, &NullContext)?, vault.content_after(file, &NullContext)?),
        };
        changes.add(&FileDiff {
            path: file.path.as_str(),
            moved_from,
            before: before.as_deref(),
            after: after.as_deref(),
        });
    }
    let warnings = hints::warnings(vault, &foreseen, &NullContext);
    Ok(ComparedFiles { paths: foreseen.iter().map(PathOutlook::of).collect(), changes, warnings })
}

/// Returns true for files whose content is compared. Trashed files can be read in the trash.
fn is_compared(one: &TreeChange) -> bool {
    match one.effect {
        TreeEffect::Created | TreeEffect::Changed | TreeEffect::Moved | TreeEffect::Removed => {
            one.before.is_some() || one.after.is_some()
        }
        TreeEffect::Trashed => false,
    }
}
