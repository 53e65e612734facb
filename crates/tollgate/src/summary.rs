//! The summary of a run: each step, the changes, the chain head, the next commands.

use engine::RunReport;
use plan::{RunStatus, StepStatus, StepSummary};

use crate::screen::{self, TextStyle};
use crate::terminal_observer::TerminalObserver;
use app::display_text::{count, display_path, escape_line, truncate_line};
use app::effects;
use app::vault_context::VaultContext;

/// Prints the summary of a run of a plan, with the command that continues it if it failed.
pub(crate) fn show_plan_run(report: &RunReport, watcher: &TerminalObserver, context: &VaultContext) {
    show(report, watcher, context);
    if can_be_retried(report) {
        let vault = context.vault_arguments();
        screen::print(format_args!("      tollgate resume {} --retry-failed {vault}", report.run_id));
    }
}

/// Prints the summary of a run to standard output.
pub(crate) fn show(report: &RunReport, watcher: &TerminalObserver, context: &VaultContext) {
    let paint = screen::stdout_paint();
    for step in &report.steps {
        show_step(step, &watcher.receipts(&step.id), paint);
    }
    for (name, value) in &report.outputs {
        let name = paint.bold(format_args!("Output {}", truncate_line(name, 60)));
        screen::print(format_args!("{name}: {}", app::plan_service::output_text(value)));
    }
    let changes = effects::render_effects(&report.effects, false);
    if changes.is_empty() {
        screen::print(effects::none_listed(&report.effects));
    } else {
        screen::print(paint.bold(count(effects::count_effects(&report.effects) as u64, "change")));
        for line in changes {
            screen::print(format_args!("  {line}"));
        }
    }
    let verdict = run_word(report.status, paint);
    match report.reason.as_deref() {
        Some(reason) => screen::print(format_args!("{verdict}: {}", escape_line(reason))),
        None => screen::print(verdict),
    }
    if let Some(error) = &report.journal_error {
        screen::print(format_args!("{} {}", paint.bad("The record is incomplete:"), escape_line(error)));
    }
    if let Some(head) = &report.chain_head {
        let records = format!("({} records)", head.seq);
        screen::print(format_args!("Chain head: {} {}", head.hash, paint.dim(records)));
    }
    if let Some(dir) = &report.run_dir {
        screen::print(format_args!("Run folder: {}", display_path(dir)));
    }
    let vault = context.vault_arguments();
    screen::print(format_args!("Next: tollgate show last {vault}"));
    match &report.chain_head {
        Some(head) => screen::print(format_args!("      tollgate verify last --head {} {vault}", head.hash)),
        None => screen::print(format_args!("      tollgate verify last {vault}")),
    }
    if let Some(hint) = incomplete_record_hint(report, &vault) {
        screen::print(format_args!("{} {hint}", paint.dim("hint:")));
    }
}

/// Whether a new run could make the calls of this one that failed or were never made.
fn can_be_retried(report: &RunReport) -> bool {
    let is_left = |step: &StepSummary| {
        step.failed > 0
            || matches!(step.status, StepStatus::Failed | StepStatus::Skipped | StepStatus::Cancelled)
    };
    // A call that succeeded in part is not made again.
    let has_calls_left = report.steps.iter().any(is_left);
    let ended = has_calls_left && report.chain_head.is_some() && report.journal_error.is_none();
    match report.status {
        RunStatus::Failed | RunStatus::Cancelled => ended,
        RunStatus::Ok | RunStatus::Declined => false,
    }
}

/// Returns the hint for an incomplete record. Without a chain head the run is still open; with one it is finished.
pub(crate) fn incomplete_record_hint(report: &RunReport, vault: &str) -> Option<String> {
    report.journal_error.as_ref()?;
    let next_step = match &report.chain_head {
        None => format!("`tollgate resume last {vault}`"),
        Some(_) => "run the plan again".to_owned(),
    };
    Some(format!("make room where the runs are kept, or fix that disk, then {next_step}"))
}

fn show_step(step: &StepSummary, receipts: &[String], paint: TextStyle) {
    let failed = if step.failed > 0 { format!(", {} failed", step.failed) } else { String::new() };
    let calls = count(step.calls, "call");
    let carried = if step.carried > 0 { format!(", {} made before", step.carried) } else { String::new() };
    let word = step_word(step.status, paint);
    screen::print(format_args!("{word} {:<16} {calls}{failed}{carried}", step.id.as_str()));
    for receipt in receipts {
        screen::print(format_args!("            {}", paint.dim(receipt)));
    }
    let shown = receipts.len() as u64;
    if step.calls > shown && shown > 0 {
        screen::print(format_args!(
            "            {}",
            paint.dim(format_args!("and {} more", step.calls - shown))
        ));
    }
    if let Some(incomplete) = &step.incomplete {
        screen::print(format_args!("            {} {}", paint.odd("warning:"), escape_line(incomplete)));
    }
    if let Some(hint) = step.error.as_ref().and_then(|error| error.recovery_hint.as_ref()) {
        screen::print(format_args!("            {} {}", paint.dim("hint:"), escape_line(hint)));
    }
}

/// A status in its colour, padded to a column.
pub(crate) fn step_word(status: StepStatus, paint: TextStyle) -> String {
    let word = format!("{:<10}", status.name());
    match status {
        StepStatus::Ok => paint.good(word),
        StepStatus::Partial | StepStatus::Skipped | StepStatus::Cancelled => paint.odd(word),
        StepStatus::Failed => paint.bad(word),
    }
}

fn run_word(status: RunStatus, paint: TextStyle) -> String {
    match status {
        RunStatus::Ok => paint.good("Done"),
        RunStatus::Failed => paint.bad("Finished with failures"),
        RunStatus::Cancelled => paint.odd("Cancelled"),
        RunStatus::Declined => paint.odd("Not run"),
    }
}
