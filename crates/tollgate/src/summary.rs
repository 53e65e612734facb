//! The end of a run as a person reads it: each step, what changed, what to keep, what to do next.

use engine::RunReport;
use plan::{RunStatus, StepStatus, StepSummary};

use crate::effects;
use crate::place::Place;
use crate::screen::{self, Paint};
use crate::visible::{count, one_line, path_words};
use crate::watch::Watcher;

/// Prints the summary of a run to standard output.
pub(crate) fn show(report: &RunReport, watcher: &Watcher, place: &Place) {
    let paint = Paint::stdout();
    for step in &report.steps {
        show_step(step, &watcher.receipts(&step.id), paint);
    }
    let changes = effects::lines(&report.effects, false);
    if changes.is_empty() {
        screen::say(effects::none_listed(&report.effects));
    } else {
        screen::say(paint.bold(count(effects::number(&report.effects) as u64, "change")));
        for line in changes {
            screen::say(format_args!("  {line}"));
        }
    }
    let verdict = run_word(report.status, paint);
    match report.reason.as_deref() {
        Some(reason) => screen::say(format_args!("{verdict}: {}", one_line(reason))),
        None => screen::say(verdict),
    }
    if let Some(error) = &report.journal_error {
        screen::say(format_args!("{} {}", paint.bad("The record is incomplete:"), one_line(error)));
    }
    if let Some(head) = &report.chain_head {
        let records = format!("({} records)", head.seq);
        screen::say(format_args!("Chain head: {} {}", head.hash, paint.dim(records)));
    }
    if let Some(dir) = &report.run_dir {
        screen::say(format_args!("Run folder: {}", path_words(dir)));
    }
    let vault = place.vault_words();
    screen::say(format_args!("Next: tollgate show last {vault}"));
    match &report.chain_head {
        Some(head) => screen::say(format_args!("      tollgate verify last --head {} {vault}", head.hash)),
        None => screen::say(format_args!("      tollgate verify last {vault}")),
    }
    if let Some(way_out) = way_out(report, &vault) {
        screen::say(format_args!("{} {way_out}", paint.dim("hint:")));
    }
}

/// What to do about a record that is incomplete. A run whose record stopped is still open; one that could tell
/// how it ended is over.
pub(crate) fn way_out(report: &RunReport, vault: &str) -> Option<String> {
    report.journal_error.as_ref()?;
    let go_on = match &report.chain_head {
        None => format!("`tollgate resume last {vault}`"),
        Some(_) => "run the plan again".to_owned(),
    };
    Some(format!("make room where the runs are kept, or mend that disk, then {go_on}"))
}

fn show_step(step: &StepSummary, receipts: &[String], paint: Paint) {
    let failed = if step.failed > 0 { format!(", {} failed", step.failed) } else { String::new() };
    let calls = count(step.calls, "call");
    screen::say(format_args!("{} {:<16} {calls}{failed}", step_word(step.status, paint), step.id.as_str()));
    for receipt in receipts {
        screen::say(format_args!("            {}", paint.dim(receipt)));
    }
    let shown = receipts.len() as u64;
    if step.calls > shown && shown > 0 {
        screen::say(format_args!(
            "            {}",
            paint.dim(format_args!("and {} more", step.calls - shown))
        ));
    }
    if let Some(hint) = step.error.as_ref().and_then(|error| error.recovery_hint.as_ref()) {
        screen::say(format_args!("            {} {}", paint.dim("hint:"), one_line(hint)));
    }
}

/// A status in its colour, padded so that columns stand under each other.
pub(crate) fn step_word(status: StepStatus, paint: Paint) -> String {
    let word = format!("{:<10}", status.name());
    match status {
        StepStatus::Ok => paint.good(word),
        StepStatus::Partial | StepStatus::Skipped | StepStatus::Cancelled => paint.odd(word),
        StepStatus::Failed => paint.bad(word),
    }
}

fn run_word(status: RunStatus, paint: Paint) -> String {
    match status {
        RunStatus::Ok => paint.good("Done"),
        RunStatus::Failed => paint.bad("Finished with failures"),
        RunStatus::Cancelled => paint.odd("Cancelled"),
        RunStatus::Declined => paint.odd("Not run"),
    }
}
