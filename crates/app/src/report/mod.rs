//! Reports of a run, read from its records: all details, or the transcript for a model.
//!
//! Data only. A front end renders it; [`RunDetails`] serialises to the JSON of `tollgate show --json`.

mod bounded;
mod call;
mod differences;
mod step;
mod run_details;
mod transcript;

pub use call::CallDetails;
pub use differences::RunDifferences;
pub use run_details::{RunDetails, RunNote, RunPhase};
pub use step::{CallCounts, StepReport};
pub use transcript::Transcript;

use std::path::Path;

use engine::UndoHistory;
use envelope::Timestamp;
use jiff::tz::TimeZone;
use journal::{RunFolder, RunSummary};

use crate::error::AppError;
use crate::vault_context::VaultContext;

/// Reads the details of a run. A damaged one is read as far as its records can be trusted. With `all`, no call is left
/// out.
pub fn read_run_details(context: &VaultContext, run_dir: &Path, all: bool) -> Result<RunDetails, AppError> {
    // Checked first: a run that ends meanwhile is then reported as finished, not as interrupted.
    let running = context.is_running(run_dir)?;
    let verification = journal::verify(run_dir, None)?;
    let mut report = RunDetails::read(&RunFolder::open(run_dir)?, &verification, running, all)?;
    let runs = runs_back_to(context, run_dir)?;
    let run = runs.iter().find(|run| run.dir == run_dir);
    let history = UndoHistory::of(&runs);
    let undo = run.and_then(|run| history.undone_by(&run.run_id));
    report.undone_by = undo.map(|undo| undo.run_id.clone());
    let newer = run.and_then(|run| history.continued_by(&run.run_id));
    report.continued_by = newer.map(|newer| newer.run_id.clone());
    Ok(report)
}

/// Newer runs that are read one at a time; with more, the list with its summaries is quicker.
const FEW_RUNS: usize = 64;

/// Returns a run and all newer ones, which are those that can undo or continue it. Can return older ones too.
fn runs_back_to(context: &VaultContext, run_dir: &Path) -> Result<Vec<RunSummary>, AppError> {
    let folder = context.runs()?;
    let mut runs = Vec::new();
    for run in folder.newest_first()?.take(FEW_RUNS) {
        let is_it = run.dir == run_dir;
        runs.push(run);
        if is_it {
            return Ok(runs);
        }
    }
    Ok(folder.list()?)
}

/// Returns a time for display, in the time zone of this machine.
pub fn format_time(at: Timestamp) -> String {
    format_time_in(at, TimeZone::system())
}

fn format_time_in(at: Timestamp, zone: TimeZone) -> String {
    at.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
}

#[cfg(test)]
mod tests {
    use jiff::tz::{TimeZone, offset};

    use super::format_time_in;

    #[test]
    fn a_time_is_shown_in_the_zone_of_the_reader() {
        let at = "2026-01-02T23:30:05Z".parse().unwrap();
        assert_eq!(format_time_in(at, TimeZone::fixed(offset(2))), "2026-01-03 01:30:05 +02");
        assert_eq!(format_time_in(at, TimeZone::UTC), "2026-01-02 23:30:05 UTC");
    }
}
