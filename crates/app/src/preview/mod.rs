//! The forecast of a plan or of one call, made by running it over an overlay of the vault.
//!
//! The plan passes the real phases and the real machine, under the same rules and limits. The overlay takes the writes,
//! so later steps see what earlier ones would have written, and the disk does not change. Commands and hooks are not
//! run. A preview is data first; the lines for a terminal, the text of a question, the fingerprint that an approval is
//! bound to and the JSON are made from the same data.

mod forecaster;
mod headline;
mod hints;
mod known_failures;
mod paths;
mod recording;
mod forecast_run;
mod render;
mod saved;
mod steps;
#[cfg(test)]
mod tests;
mod totals;

use engine::ForecastCall;
use envelope::{Hash, canonical_hash};
use serde::Serialize;
use serde_json::json;

use crate::diff::DiffSet;
use paths::PathOutlook;
use steps::StepOutlook;
use totals::ForecastTotals;

pub use forecast_run::{ForecastRules, ForecastRun};
pub use forecaster::OverlayForecaster;
pub use known_failures::KnownFailure;
pub use saved::SavedPreview;

/// Format version of a saved preview.
const PREVIEW_FORMAT: u32 = 2;

/// The forecast of a plan at one moment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanPreview {
    #[serde(rename = "preview")]
    format: u32,
    plan_hash: Hash,
    policy_hash: Hash,
    registry_version: String,
    /// Whether differences are shown in full.
    full: bool,
    /// The effects in counts and names, then the expected failures.
    pub headline: String,
    /// Every call that would be made, with its changes. An approval covers exactly these.
    pub calls: Vec<ForecastCall>,
    /// Full lines of the commands that would be run.
    commands: Vec<String>,
    /// True if the rules let every call run without a question.
    #[serde(skip)]
    pub runs_unasked: bool,
    /// Steps that are certain to fail and would end the run.
    #[serde(skip)]
    pub known_failures: Vec<KnownFailure>,
    /// Fingerprint of everything that would be done, independent of how much is shown.
    pub fingerprint: Hash,
    verdict: PreviewVerdict,
    steps: Vec<StepOutlook>,
    totals: ForecastTotals,
    /// Every file and folder that would change, with the state on both sides.
    pub paths: Vec<PathOutlook>,
    changes: DiffSet,
    /// Warnings for the user.
    warnings: Vec<String>,
    /// Questions besides the one about the plan.
    questions: Vec<String>,
    hooks_not_run: Vec<String>,
}

/// Expected outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PreviewVerdict {
    Works,
    Fails,
    /// A rule or the mode would deny it.
    Denied,
    /// The forecast was cancelled.
    Cancelled,
}

impl PlanPreview {
    /// Expected outcome of a run.
    pub fn verdict(&self) -> PreviewVerdict {
        self.verdict
    }

    /// Sets the fingerprint. The same plan in the same vault under the same settings has the same one.
    fn take_fingerprint(&mut self) {
        let steps: Vec<_> =
            self.steps.iter().map(|step| json!([step.id, step.fate, step.calls, step.failed])).collect();
        self.fingerprint = canonical_hash(&json!({
            "plan": self.plan_hash,
            "policy": self.policy_hash,
            "registry": self.registry_version,
            "steps": steps,
            "calls": self.calls,
            "paths": self.paths,
            "questions": self.questions,
        }));
    }
}
