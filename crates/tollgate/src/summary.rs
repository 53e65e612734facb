//! The summary of a run: each step, the changes, the chain head, the next commands.

use engine::RunReport;
use plan::{RunStatus, StepStatus, StepSummary};

use crate::screen::{self, TextStyle};
use crate::terminal_observer::TerminalObserver;
use app::display_text::{count, display_path, escape_line, truncate_line};
use app::effects;
use app::vault_context::VaultContext;

/// Lines about the steps of a run.
const STEP_LINES: usize = 10;
/// Lines about a step that did not end well, in a run with many steps.
const BAD_STEP_LINES: usize = 5;
/// Lines about the changes of a run. With those about the steps and the ending they fit a screen of 24 lines.
const CHANGE_LINES: usize = 5;

/// Prints the summary of a run of a plan, with the command that continues it if it failed.
pub(crate) fn show_plan_run(report: &RunReport, watcher: &TerminalObserver, context: &VaultContext) {
    show_results(report, watcher);
    show_ending(report);
    let run = run_word_for_commands(report, context);
    let mut next = Vec::new();
    if effects::count_effects(&report.effects) > 0 {
        next.push(format!("undo {run}"));
    }
    if can_be_retried(report) {
        next.push(format!("resume {run} --retry-failed"));
    }
    next.push(format!("show {run}"));
    show_next(&next, context);
    show_record_hint(report, context);
}

/// Prints the summary of a run that is not of a plan.
pub(crate) fn show_run(report: &RunReport, watcher: &TerminalObserver, context: &VaultContext) {
    show_results(report, watcher);
    show_ending(report);
    show_next(&[format!("show {}", run_word_for_commands(report, context))], context);
    show_record_hint(report, context);
}

/// Prints the hint for an incomplete record, if it is one.
pub(crate) fn show_record_hint(report: &RunReport, context: &VaultContext) {
    if let Some(hint) = incomplete_record_hint(report, context) {
        screen::print(format_args!("{} {hint}", screen::stdout_paint().dim("hint:")));
    }
}

/// Returns the shortest word that names the run in a command: `last` if it is the newest one. Then it is also the newest
/// one with changes, if it made any.
fn run_word_for_commands(report: &RunReport, context: &VaultContext) -> String {
    let is_newest =
        report.run_dir.as_ref().is_some_and(|run| context.run_dir("last").ok().as_ref() == Some(run));
    if is_newest { "last".to_owned() } else { report.run_id.to_string() }
}

/// Prints commands that may follow, one a line, so that each can be copied.
pub(crate) fn show_next(commands: &[String], context: &VaultContext) {
    for (number, words) in commands.iter().enumerate() {
        let label = if number == 0 { "Next: " } else { "      " };
        screen::print_unwrapped(format_args!("{label}{}", context.command(words)));
    }
}

/// Prints the steps, outputs and changes of a run, in few lines.
pub(crate) fn show_results(report: &RunReport, watcher: &TerminalObserver) {
    let paint = screen::stdout_paint();
    step_lines(&report.steps, &|step| watcher.receipts(&step.id), paint).iter().for_each(screen::print);
    for (name, value) in &report.outputs {
        let name = paint.bold(format_args!("Output {}", truncate_line(name, 60)));
        screen::print(format_args!("{name}: {}", app::plan_service::output_text(value)));
    }
    let changes = effects::render_effects_within(&report.effects, CHANGE_LINES);
    if changes.is_empty() {
        screen::print(effects::none_listed(&report.effects));
    } else {
        screen::print(paint.bold(count(effects::count_effects(&report.effects) as u64, "change")));
        for line in changes {
            screen::print(format_args!("  {line}"));
        }
    }
}

/// Prints how a run ended, and where its record is.
pub(crate) fn show_ending(report: &RunReport) {
    let paint = screen::stdout_paint();
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
}

/// Returns the lines about the steps: with all receipts if these fit, otherwise with fewer. A run of many steps names
/// only those that did not end well.
fn step_lines(
    steps: &[StepSummary],
    receipts: &dyn Fn(&StepSummary) -> Vec<String>,
    paint: TextStyle,
) -> Vec<String> {
    let block = |step: &StepSummary, shown: usize| step_block(step, &receipts(step), shown, paint);
    for shown_of_good in [usize::MAX, 1, 0] {
        let is_roomy = shown_of_good == usize::MAX;
        let shown = |step: &StepSummary| match step.status {
            StepStatus::Ok => block(step, shown_of_good),
            StepStatus::Partial | StepStatus::Skipped | StepStatus::Cancelled | StepStatus::Failed => {
                block(step, if is_roomy { usize::MAX } else { BAD_STEP_LINES })
            }
        };
        // A step has at least one line.
        if steps.len() > STEP_LINES {
            break;
        }
        let lines: Vec<String> = steps.iter().flat_map(shown).collect();
        if lines.len() <= STEP_LINES || shown_of_good == 0 {
            return lines;
        }
    }
    let (good, bad): (Vec<&StepSummary>, Vec<&StepSummary>) =
        steps.iter().partition(|step| step.status == StepStatus::Ok);
    let mut lines = Vec::new();
    let mut named = 0;
    for step in &bad {
        let more = block(step, BAD_STEP_LINES);
        if named > 0 && lines.len() + more.len() > STEP_LINES - 2 {
            break;
        }
        lines.extend(more);
        named += 1;
    }
    if bad.len() > named {
        lines.push(format!("and {} that did not end well", count((bad.len() - named) as u64, "more step")));
    }
    if !good.is_empty() {
        let calls = count(good.iter().map(|step| step.calls).sum(), "call");
        let word = step_word(StepStatus::Ok, paint);
        lines.push(format!("{word} {}, {calls}", count(good.len() as u64, "step")));
    }
    lines
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
pub(crate) fn incomplete_record_hint(report: &RunReport, context: &VaultContext) -> Option<String> {
    report.journal_error.as_ref()?;
    let next_step = match &report.chain_head {
        None => format!("`{}`", context.command("resume last")),
        Some(_) => "run the plan again".to_owned(),
    };
    Some(format!("make room where the runs are kept, or fix that disk, then {next_step}"))
}

/// Returns the lines about one step, with at most `shown` receipts.
fn step_block(step: &StepSummary, receipts: &[String], shown: usize, paint: TextStyle) -> Vec<String> {
    let failed = if step.failed > 0 { format!(", {} failed", step.failed) } else { String::new() };
    let calls = count(step.calls, "call");
    let carried = if step.carried > 0 { format!(", {} made before", step.carried) } else { String::new() };
    let word = step_word(step.status, paint);
    let mut lines = vec![format!("{word} {:<16} {calls}{failed}{carried}", step.id.as_str())];
    let shown = receipts.len().min(shown);
    lines.extend(receipts.iter().take(shown).map(|receipt| format!("            {}", paint.dim(receipt))));
    if step.calls > shown as u64 && shown > 1 {
        let more = format_args!("and {} more", step.calls - shown as u64);
        lines.push(format!("            {}", paint.dim(more)));
    }
    if let Some(incomplete) = &step.incomplete {
        lines.push(format!("            {} {}", paint.odd("warning:"), escape_line(incomplete)));
    }
    if let Some(hint) = step.error.as_ref().and_then(|error| error.recovery_hint.as_ref()) {
        lines.push(format!("            {} {}", paint.dim("hint:"), escape_line(hint)));
    }
    lines
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

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use plan::{StepStatus, StepSummary};

    use super::step_lines;
    use crate::screen::TextStyle;

    fn steps(number: usize, bad: &[usize]) -> Vec<StepSummary> {
        let step = |at: usize| {
            let status = if bad.contains(&at) { StepStatus::Failed } else { StepStatus::Ok };
            let failed = u64::from(status == StepStatus::Failed);
            let summary =
                serde_json::json!({ "id": format!("s{at}"), "status": status, "calls": 1, "failed": failed });
            serde_json::from_value(summary).unwrap()
        };
        (0..number).map(step).collect()
    }

    fn shown(steps: &[StepSummary], receipts: usize) -> Vec<String> {
        let receipts = |step: &StepSummary| -> Vec<String> {
            (0..receipts).map(|number| format!("receipt {number} of {}", step.id)).collect()
        };
        step_lines(steps, &receipts, TextStyle::plain())
    }

    #[test]
    fn a_run_of_few_steps_shows_every_receipt() {
        assert_eq!(shown(&steps(2, &[]), 3).len(), 8);
        assert_eq!(shown(&steps(5, &[]), 3).len(), 10, "one receipt for each step");
        assert_eq!(shown(&steps(10, &[]), 3).len(), 10, "no receipt");
    }

    #[test]
    fn a_run_of_many_steps_names_those_that_did_not_end_well() {
        expect![[r"
            failed     s7               1 call, 1 failed
                        receipt 0 of s7
            ok         499 steps, 499 calls"]]
        .assert_eq(&shown(&steps(500, &[7]), 1).join("\n"));
        let bad: Vec<usize> = (0..300).collect();
        expect![[r"
            failed     s0               1 call, 1 failed
                        receipt 0 of s0
            failed     s1               1 call, 1 failed
                        receipt 0 of s1
            failed     s2               1 call, 1 failed
                        receipt 0 of s2
            failed     s3               1 call, 1 failed
                        receipt 0 of s3
            and 296 more steps that did not end well
            ok         200 steps, 200 calls"]]
        .assert_eq(&shown(&steps(500, &bad), 1).join("\n"));
    }
}
