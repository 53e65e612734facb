//! Renders the report of a run as lines of text.

use std::fmt::Display;

use envelope::{Actor, ApprovalChannel, Phase, PhaseFact, PhaseOutcome, Status, Timestamp};
use journal::RunKind;

use crate::screen::TextStyle;
use crate::summary::step_word;
use app::display_text::{count, display_path, escape_line, escape_text, truncate_line};
use app::effects;
use app::report::{CallDetails, RunDetails, RunPhase, StepReport, format_time};
use app::undo::change_words;

/// Number of changes of a call that are shown without `--all`.
const CHANGES_A_CALL: usize = 5;
/// Length of a receipt that is shown without `--all`.
const RECEIPT_CHARS: usize = 120;

/// Renders the report. With `all`, every phase of every call and every receipt in full.
pub(crate) fn render_report(report: &RunDetails, paint: TextStyle, all: bool) -> String {
    let mut page = ReportRenderer {
        text: String::new(),
        paint,
        all,
        running: report.state == RunPhase::Running,
        start: report.created_at,
    };
    page.header(report);
    for step in &report.steps {
        page.step(step);
    }
    page.ending(report);
    page.text
}

struct ReportRenderer {
    text: String,
    paint: TextStyle,
    all: bool,
    running: bool,
    start: Timestamp,
}

impl ReportRenderer {
    fn line(&mut self, line: impl Display) {
        self.text.push_str(&line.to_string());
        self.text.push('\n');
    }

    fn header(&mut self, report: &RunDetails) {
        let paint = self.paint;
        self.line(paint.bold(escape_line(&report.goal)));
        self.line(format_args!("Run:        {}", report.run_id));
        for undone in &report.undoes {
            self.line(format_args!("Takes back: {undone}"));
        }
        if let Some(session) = &report.session {
            self.line(format_args!("Session:    {}", escape_line(session.as_str())));
        }
        if let Some(older) = &report.continues {
            self.line(format_args!("Continues:  {older}"));
        }
        if let Some(newer) = &report.continued_by {
            self.line(format_args!("Continued by: {newer}"));
        }
        if let Some(undo) = &report.undone_by {
            let undone = self.paint.odd(format_args!("run {undo}; `tollgate redo` does it again"));
            self.line(format_args!("Undone by:  {undone}"));
        }
        self.line(format_args!("Started:    {}", format_time(report.created_at)));
        self.line(format_args!("Mode:       {}", escape_line(&report.mode)));
        self.line(format_args!("Plan:       {}", report.plan_hash));
        let allowed = match &report.confirmation {
            Some(given) => {
                format!(
                    "{}, {} ({})",
                    channel(given.channel),
                    format_time(given.confirmed_at),
                    given.confirmation_id
                )
            }
            None if report.confirmation_required => "not approved".to_owned(),
            None if report.kind == RunKind::Session => "each call by itself, as its line says".to_owned(),
            None => "no question was needed".to_owned(),
        };
        self.line(format_args!("Allowed by: {allowed}"));
        for note in &report.notes {
            let after = self.after(note.at);
            self.line(format_args!("{after}  {}", escape_line(&note.text)));
        }
        self.line("");
    }

    fn step(&mut self, step: &StepReport) {
        let word = match step.status {
            Some(status) => step_word(status, self.paint),
            None if step.counts.open > 0 || step.counts.ok > 0 => {
                self.paint.odd(format!("{:<10}", if self.running { "running" } else { "open" }))
            }
            None => self.paint.dim(format!("{:<10}", if self.running { "waiting" } else { "not run" })),
        };
        let name = self.paint.bold(&step.id);
        let tool = self.paint.dim(&step.tool);
        self.line(format_args!("{word} {name} {tool}{}", counts(step)));
        for call in &step.calls {
            self.call(call);
        }
        if step.left_out > 0 {
            let more = format!("and {} more like these; --all lists them", step.left_out);
            let more = self.paint.dim(more);
            self.line(format_args!("             {more}"));
        }
    }

    fn call(&mut self, call: &CallDetails) {
        let after = self.after(call.started_at);
        let index = call.index.map(|index| format!("[{index}] ")).unwrap_or_default();
        let attempt = if call.attempt > 1 { format!("attempt {}: ", call.attempt) } else { String::new() };
        let message = call.user_message.as_deref().or(call.preview.as_deref()).unwrap_or_default();
        let status = match call.status {
            Some(Status::Ok) => String::new(),
            Some(status) => format!("{status}: "),
            None if self.running => "under way: ".to_owned(),
            None => "started, and no result is recorded: ".to_owned(),
        };
        let took = self.paint.dim(format!("({} ms)", call.duration_ms));
        let message = truncate_line(message, if self.all { usize::MAX } else { RECEIPT_CHARS * 2 });
        self.line(format_args!("{after}  {index}{attempt}{status}{message} {took}"));
        if let Some(note) = &call.note {
            self.detail(format!("note: {}", escape_line(note)));
        }
        if let Some(id) = &call.request_id {
            self.detail(format!("request id: {}", escape_line(id)));
        }
        self.failure(call);
        if let Some(incomplete) = &call.incomplete {
            self.detail(self.paint.odd(format_args!("warning: {}", escape_line(incomplete))));
        }
        self.changes(call);
        for mutation in &call.mutations {
            let by = match &mutation.by {
                Actor::Gate => "Tollgate".to_owned(),
                Actor::Hook(name) => format!("hook {}", escape_line(name)),
            };
            let fields =
                mutation.fields.iter().map(|field| escape_line(field)).collect::<Vec<_>>().join(", ");
            self.detail(format!(
                "changed by {by} in {}: {fields} ({})",
                mutation.phase,
                escape_line(&mutation.why)
            ));
        }
        if let Some(cancellation) = &call.cancellation {
            let answer = match (cancellation.acknowledged_at, cancellation.done) {
                (Some(at), _) => format!("it stopped after {} ms", millis(cancellation.requested_at, at)),
                (None, true) => "it never started".to_owned(),
                (None, false) => "it did not stop in its time".to_owned(),
            };
            self.detail(format!("cancel was asked for; {answer}"));
        }
        if call.reconciled {
            self.detail("found out after an interruption, not reported by the tool".to_owned());
        }
        if self.all {
            self.phases(&call.phases);
            if let Some(receipt) = &call.receipt {
                self.detail(format!("receipt: {}", escape_text(receipt).replace('\n', "\n               ")));
            }
        } else if let Some(why) = permission(&call.phases) {
            self.detail(escape_line(why));
        }
    }

    /// The changes of the call, if its message does not name them all.
    fn changes(&mut self, call: &CallDetails) {
        let said_already = call.status == Some(Status::Ok) && call.changes.len() < 2;
        if said_already && !self.all {
            return;
        }
        let shown = if self.all { usize::MAX } else { CHANGES_A_CALL };
        let about = if call.status.is_none() { "intended: " } else { "" };
        for change in call.changes.iter().take(shown) {
            self.detail(format!("{about}{}", change_words(change)));
        }
        if call.changes.len() > shown {
            let more = count((call.changes.len() - shown) as u64, "more change");
            self.detail(format!("and {more}; --all lists them"));
        }
    }

    /// The phase that ended the call, the failure and the hint.
    fn failure(&mut self, call: &CallDetails) {
        let Some(error) = &call.error else { return };
        let kind = match error.kind {
            Some(failure) => failure.name(),
            None => error.code.as_str(),
        };
        match call.ended_in {
            Some(phase) => self.detail(format!("ended in {phase} ({kind})")),
            None => self.detail(format!("never started ({kind})")),
        }
        if let Some(hint) = &error.recovery_hint {
            self.detail(format!("hint: {}", escape_line(hint)));
        }
    }

    fn phases(&mut self, phases: &[PhaseFact]) {
        for fact in phases {
            let outcome = match fact.outcome {
                PhaseOutcome::Ok => "ok".to_owned(),
                PhaseOutcome::Failed(failure) => failure.to_string(),
            };
            let detail =
                fact.detail.as_deref().map(|detail| format!(": {}", escape_line(detail))).unwrap_or_default();
            self.detail(format!("{:<25} {:>7} µs  {outcome}{detail}", fact.phase.name(), fact.micros));
        }
    }

    fn detail(&mut self, text: String) {
        let text = self.paint.dim(text);
        self.line(format_args!("               {text}"));
    }

    fn ending(&mut self, report: &RunDetails) {
        self.line("");
        let changes = effects::render_effects(&report.effects, self.all);
        if changes.is_empty() {
            self.line(effects::none_listed(&report.effects));
        } else {
            let title = self.paint.bold(count(effects::count_effects(&report.effects) as u64, "change"));
            self.line(title);
            for change in changes {
                self.line(format_args!("  {change}"));
            }
        }
        match &report.ending {
            Some(ending) => self.line(format_args!("Ended:      {}", escape_line(ending))),
            None => {
                let what = if self.running {
                    "not yet; the run is still running"
                } else {
                    "not finished; `tollgate resume` continues it"
                };
                let open = self.paint.odd(what);
                self.line(format_args!("Ended:      {open}"));
            }
        }
        let record = if report.damaged {
            self.paint.bad(
                "damaged; `tollgate verify` names the place, and only what comes before it is shown here",
            )
        } else {
            self.paint.good("intact")
        };
        self.line(format_args!("Record:     {} records, {record}", report.records));
        self.line(format_args!("Chain head: {}", report.chain_head.hash));
        self.line(format_args!("Run folder: {}", display_path(&report.run_dir)));
    }

    /// Time since the start of the run, as a column.
    fn after(&self, at: Timestamp) -> String {
        self.paint.dim(format!("{:>9}", format!("+{} ms", millis(self.start, at))))
    }
}

fn millis(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millisecond() - from.as_millisecond()
}

/// The detail of the permission phase: the rule, mode or answer that allowed the call.
fn permission(phases: &[PhaseFact]) -> Option<&str> {
    let fact =
        phases.iter().find(|fact| fact.phase == Phase::Permission && fact.outcome == PhaseOutcome::Ok)?;
    // The approval of the plan is in the header and is not repeated for every call.
    fact.detail
        .as_deref()
        .filter(|detail| !detail.contains(": confirmed (") && !detail.starts_with("allowed: mode"))
}

fn counts(step: &StepReport) -> String {
    let counts = &step.counts;
    let mut parts = Vec::new();
    for (number, word) in [
        (counts.ok, "ok"),
        (counts.carried, "made before"),
        (counts.incomplete, "of them not complete"),
        (counts.failed, "failed"),
        (counts.cancelled, "cancelled"),
        (counts.skipped, "skipped"),
        (counts.open, "open"),
        (counts.retried, "retried"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {word}"));
        }
    }
    match step.total {
        Some(total) if total != 1 && parts.is_empty() => format!(": none of {total}"),
        Some(total) if total != 1 => format!(": {} of {total}", parts.join(", ")),
        Some(_) | None if parts.len() > 1 => format!(": {}", parts.join(", ")),
        Some(_) | None => String::new(),
    }
}

fn channel(channel: ApprovalChannel) -> &'static str {
    match channel {
        ApprovalChannel::Terminal => "the user at the terminal",
        ApprovalChannel::YesFlag => "--yes on the command line",
        ApprovalChannel::Embedder => "the program that embeds Tollgate",
        ApprovalChannel::Client => "the client, which says that it asked",
        ApprovalChannel::Approve => "the user, with `tollgate approve`",
    }
}
