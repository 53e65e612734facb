//! The rule about braces by which the plan of a recorded run is read.

use plan::{BraceRule, RunSpec};

use crate::error::JournalError;
use crate::run_folder::RunFolder;
use crate::run_replay::RunReplay;

/// Returns the rule about braces that applied when the run was made. `spec` compiles its plan with a rule; `None` if it
/// does not pass its check then.
///
/// Builds that wrote format 1 changed the rule, so the record of such a run decides: its calls follow from the plan with
/// one of the two. If both fit, the older rule is taken.
pub fn brace_rule(
    folder: &RunFolder,
    spec: &dyn Fn(BraceRule) -> Option<RunSpec>,
) -> Result<BraceRule, JournalError> {
    if !folder.may_have_other_braces() {
        return Ok(BraceRule::AroundScope);
    }
    let fits = |rule| match spec(rule) {
        Some(spec) => Ok(RunReplay::rebuild(folder, spec)?.divergences.is_empty()),
        None => Ok::<bool, JournalError>(false),
    };
    let is_newer = !fits(BraceRule::Everywhere)? && fits(BraceRule::AroundScope)?;
    Ok(if is_newer { BraceRule::AroundScope } else { BraceRule::Everywhere })
}
