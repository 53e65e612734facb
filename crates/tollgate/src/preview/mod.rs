//! The forecast of a plan or of one call, found out by running it over an overlay of the vault.
//!
//! The plan goes through the real phases and the real machine, with the rules and limits as they are, over an overlay
//! that takes what the tools write. So later steps see what earlier ones would have written, and the disk stays as it
//! is. Commands are not run, nor are hooks, which are programs of their own. A preview is data first; the lines for a
//! terminal, the text of a question, what a yes is bound to and the JSON are made from the same data.

mod forecaster;
mod headline;
mod hints;
mod paths;
mod recording;
mod rehearsal;
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

use crate::diff::Changes;
use crate::exit::Exit;
use paths::PathOutlook;
use steps::StepOutlook;
use totals::Totals;

pub(crate) use forecaster::OverlayForecaster;
pub(crate) use rehearsal::{ForecastRules, Rehearsal};
pub(crate) use saved::SavedPreview;

/// The form of a saved preview.
const FORMAT: u32 = 2;

/// What a plan would do at one moment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Preview {
    #[serde(rename = "preview")]
    format: u32,
    plan_hash: Hash,
    policy_hash: Hash,
    registry_version: String,
    /// Whether differences are shown in full.
    full: bool,
    /// The effects in counts and names, then what will fail.
    pub(crate) headline: String,
    /// Every call that would be made, with what it would change. A yes covers exactly these changes.
    pub(crate) calls: Vec<ForecastCall>,
    /// The full lines of the commands that would be run.
    commands: Vec<String>,
    /// Whether the rules let every call run without a question.
    #[serde(skip)]
    pub(crate) runs_unasked: bool,
    /// Of everything that would be done; not of how much of it is shown.
    pub(crate) fingerprint: Hash,
    verdict: Verdict,
    steps: Vec<StepOutlook>,
    totals: Totals,
    /// Every file and folder that would not stay as it is, with the state on both sides.
    pub(crate) paths: Vec<PathOutlook>,
    changes: Changes,
    /// What a person should know before saying yes.
    warnings: Vec<String>,
    /// What would be asked besides the plan itself.
    questions: Vec<String>,
    hooks_not_run: Vec<String>,
}

/// How the run would end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Verdict {
    Works,
    Fails,
    /// A rule or the mode would say no.
    Denied,
    /// Nobody waited for the end.
    Cancelled,
}

impl Verdict {
    pub(crate) fn exit(self) -> Exit {
        match self {
            Verdict::Works => Exit::Done,
            Verdict::Fails => Exit::Failures,
            Verdict::Denied => Exit::Denied,
            Verdict::Cancelled => Exit::Cancelled,
        }
    }
}

impl Preview {
    pub(crate) fn exit(&self) -> Exit {
        self.verdict.exit()
    }

    /// The same plan in the same vault under the same settings has the same one.
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
