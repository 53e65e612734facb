//! Runs a plan over an imagined vault and looks at what became of it.

use std::num::NonZeroU32;
use std::sync::Arc;

use engine::{Policy, RunCancel, RunPlace, RunReport, RunRequest};
use envelope::{Change, Fault, Hash, OnError, Requirement, Risk, StepId, VaultPath};
use journal::RunKind;
use plan::{CheckedPlan, RunStatus};
use vault::{Fate, Foreseen, Seen, Vault, Witness};

use super::headline::headline;
use super::paths::PathOutlook;
use super::recording::RecordingObserver;
use super::steps::{outlooks, verdict};
use super::totals::Totals;
use super::{FORMAT, Preview, SavedPreview, Verdict, hints};
use crate::diff::{Changes, FileDiff, Limits};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::visible::one_line;
use crate::wiring::{self, Toolset};

/// A larger file is counted, not compared.
const LARGEST_COMPARED: u64 = 16 << 20;

/// A plan and all that is needed to run it in imagination, as often as wanted.
pub(crate) struct Rehearsal {
    tools: Arc<Toolset>,
    plan: CheckedPlan,
    rules: ForecastRules,
}

/// What a forecast takes from the settings of a vault.
#[derive(Clone)]
pub(crate) struct ForecastRules {
    pub(super) policy: Policy,
    /// Names of the hooks, which are not run.
    hooks: Vec<String>,
}

impl ForecastRules {
    pub(crate) fn of(settings: &Settings) -> ForecastRules {
        let hooks = settings.hooks.iter().map(|hook| one_line(&hook.name)).collect();
        ForecastRules { policy: settings.policy.clone(), hooks }
    }
}

impl Rehearsal {
    pub(crate) fn new(rules: &ForecastRules, tools: Arc<Toolset>, plan: &CheckedPlan) -> Rehearsal {
        Rehearsal { tools, plan: plan.clone(), rules: rules.clone() }
    }

    /// Finds out what the plan would do now. Writes nothing, anywhere.
    pub(crate) async fn perform(&self, limits: Limits, cancel: RunCancel) -> Result<Preview, Stop> {
        let limits_are_full = limits.is_full();
        let tools = self.tools.imagined()?;
        let seen = Arc::new(RecordingObserver::default());
        let engine = wiring::forecasting(self.calm_policy(), &tools.surface, seen.clone())?;
        let request = RunRequest {
            plan: rehearsed(&self.plan),
            place: RunPlace::Memory,
            kind: RunKind::Plan,
            planner_version: None,
            cancel,
            forecaster: None,
            approved: None,
            budget: None,
        };
        let report = engine.run_plan(request).await.map_err(|error| match error {
            engine::RunError::Journal(error) => Stop::from(error),
        })?;
        let vault = tools.vault().cloned();
        let compared = tokio::task::spawn_blocking(move || compare(vault.as_deref(), limits)).await;
        let compared = compared
            .map_err(|error| Stop::io("compare the files", error))?
            .map_err(|fault| Stop::new(Exit::Failures, "preview", fault.message))?;
        Ok(self.preview(&report, &seen, compared, (tools.surface.version(), limits_are_full)))
    }

    /// In what a preview differs from an earlier one, one line each.
    pub(crate) fn differences(&self, earlier: &SavedPreview, now: &Preview) -> Vec<String> {
        let look = |path: &str| {
            let path = VaultPath::parse(path).ok()?;
            match self.tools.vault()?.look(&path, &Onlooker).ok()? {
                Seen::File { state, .. } => Some(state.hash),
                Seen::Folder | Seen::Other => Some(Hash::of(b"")),
                Seen::Nothing => None,
            }
        };
        earlier.differences(now, &look)
    }

    fn preview(
        &self,
        report: &RunReport,
        seen: &RecordingObserver,
        compared: Compared,
        (registry, full): (&str, bool),
    ) -> Preview {
        let order: Vec<StepId> = self.plan.steps.iter().map(|step| step.id.clone()).collect();
        let steps = outlooks(&self.plan, report, seen);
        let mut preview = Preview {
            format: FORMAT,
            plan_hash: self.plan.hash,
            policy_hash: self.rules.policy.hash(),
            registry_version: registry.to_owned(),
            full,
            headline: String::new(),
            calls: seen.calls(&order),
            commands: seen.commands(),
            runs_unasked: seen.runs_unasked() && report.status != RunStatus::Cancelled,
            fingerprint: Hash::of(b""),
            verdict: if report.status == RunStatus::Cancelled { Verdict::Cancelled } else { verdict(&steps) },
            steps,
            totals: Totals::of(&compared.paths, seen.links()),
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

    /// The policy as it is, but one call at a time and none twice. Which calls are made does not depend on how many run at
    /// the same time, and a failure that would be tried again is still one to know of.
    fn calm_policy(&self) -> Policy {
        let mut policy = self.rules.policy.clone();
        policy.limits.max_concurrency = NonZeroU32::MIN;
        policy.limits.max_attempts = NonZeroU32::MIN;
        policy
    }
}

/// The plan as it is rehearsed. Steps that run commands are passed over, so that what does not depend on them
/// is foreseen all the same. What a step does is told by its tool: the words of the plan prove nothing.
fn rehearsed(plan: &CheckedPlan) -> CheckedPlan {
    let mut plan = plan.clone();
    for step in &mut plan.steps {
        step.preview = None;
        if step.decl.risk_level == Risk::Commands || step.decl.availability.contains(&Requirement::Server) {
            step.on_error = OnError::Skip;
        }
    }
    plan
}

struct Compared {
    paths: Vec<PathOutlook>,
    changes: Changes,
    warnings: Vec<String>,
}

fn compare(vault: Option<&Vault>, limits: Limits) -> Result<Compared, Fault> {
    let mut changes = Changes::new(limits);
    let Some(vault) = vault else {
        return Ok(Compared { paths: Vec::new(), changes, warnings: Vec::new() });
    };
    let foreseen = vault.foreseen(&Onlooker)?;
    for file in foreseen.iter().filter(|one| is_compared(one)) {
        let bytes = [file.before, file.after].into_iter().flatten().map(|state| state.bytes).sum::<u64>();
        if !changes.has_room() || bytes > LARGEST_COMPARED {
            changes.leave_out();
            continue;
        }
        let moved_from = file.from.as_ref().filter(|_| file.fate == Fate::Moved).map(|from| from.as_str());
        let (before, after) = match file.before.map(|state| state.hash) == file.after.map(|state| state.hash)
        {
            // Moved and nothing else: what is in it is of no interest.
            true => (Some(Vec::new()), Some(Vec::new())),
            false => (vault.before(file, &Onlooker)?, vault.after(file, &Onlooker)?),
        };
        changes.add(&FileDiff {
            path: file.path.as_str(),
            moved_from,
            before: before.as_deref(),
            after: after.as_deref(),
        });
    }
    let warnings = hints::warnings(vault, &foreseen, &Onlooker);
    Ok(Compared { paths: foreseen.iter().map(PathOutlook::of).collect(), changes, warnings })
}

/// Files whose content is worth a look. What goes into the trash can be looked at there.
fn is_compared(one: &Foreseen) -> bool {
    match one.fate {
        Fate::Created | Fate::Changed | Fate::Moved | Fate::Removed => {
            one.before.is_some() || one.after.is_some()
        }
        Fate::Trashed => false,
    }
}

/// Looks, and has no part in anything.
struct Onlooker;

impl Witness for Onlooker {
    fn saw(&self, _change: Change) {}

    fn may_go_on(&self) -> Result<(), Fault> {
        Ok(())
    }
}
