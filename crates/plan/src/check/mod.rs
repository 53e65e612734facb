//! The checker: from the text of a plan to everything that is wrong with it, or to a plan that can run.

use envelope::Catalog;

use crate::{CheckedPlan, Finding};

/// How far a plan may go under the settings in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckLimits {
    /// Attempts of one call, the first included.
    pub max_attempts: u32,
    /// How long one attempt may take.
    pub max_call_timeout_ms: u64,
}

/// All findings, and the plan if none of them is an error.
#[derive(Debug, Clone)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub plan: Option<CheckedPlan>,
}

/// Reads and checks a plan. Pure, and never panics: any text gives a report.
pub fn check(_text: &str, _catalog: &dyn Catalog, _limits: &CheckLimits) -> Report {
    Report { findings: Vec::new(), plan: None }
}
