//! The story of a run as lines for a person.

use std::fmt::Display;

use envelope::{Actor, Channel, Phase, PhaseFact, PhaseOutcome, Status, Timestamp};
use journal::RunKind;

use super::call::CallStory;
use super::step::StepStory;
use super::story::{State, Story};
use super::time;
use crate::effects;
use crate::screen::Paint;
use crate::summary::step_word;
use crate::takeback::change_words;
use crate::visible::{count, one_line, path_words, short, visible};

/// How many changes of one call are shown unless all is wanted.
const CHANGES_A_CALL: usize = 5;
/// How much of a receipt is shown unless all is wanted.
const RECEIPT_CHARS: usize = 120;

/// Tells the story. With `all`, every phase of every call and every receipt in full.
pub(crate) fn tell(story: &Story, paint: Paint, all: bool) -> String {
    let mut page = Page {
        text: String::new(),
        paint,
        all,
        running: story.state == State::Running,
        start: story.created_at,
    };
    page.header(story);
    for step in &story.steps {
        page.step(step);
    }
    page.ending(story);
    page.text
}

struct Page {
    text: String,
    paint: Paint,
    all: bool,
    running: bool,
    start: Timestamp,
}

impl Page {
    fn line(&mut self, line: impl Display) {
        self.text.push_str(&line.to_string());
        self.text.push('\n');
    }

    fn header(&mut self, story: &Story) {
        let paint = self.paint;
        self.line(paint.bold(one_line(&story.goal)));
        self.line(format_args!("Run:        {}", story.run_id));
        for undone in &story.undoes {
            self.line(format_args!("Takes back: {undone}"));
        }
        if let Some(undo) = &story.undone_by {
            let undone = self.paint.odd(format_args!("run {undo}; `tollgate redo` does it again"));
            self.line(format_args!("Undone by:  {undone}"));
        }
        self.line(format_args!("Started:    {}", time(story.created_at)));
        self.line(format_args!("Mode:       {}", one_line(&story.mode)));
        self.line(format_args!("Plan:       {}", story.plan_hash));
        let allowed = match &story.confirmation {
            Some(given) => {
                format!(
                    "{}, {} ({})",
                    channel(given.channel),
                    time(given.confirmed_at),
                    given.confirmation_id
                )
            }
            None if story.confirmation_required => "nobody said yes".to_owned(),
            None if story.kind == RunKind::Session => "each call by itself, as its line says".to_owned(),
            None => "no question was needed".to_owned(),
        };
        self.line(format_args!("Allowed by: {allowed}"));
        for note in &story.notes {
            let after = self.after(note.at);
            self.line(format_args!("{after}  {}", one_line(&note.text)));
        }
        self.line("");
    }

    fn step(&mut self, step: &StepStory) {
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

    fn call(&mut self, call: &CallStory) {
        let after = self.after(call.started_at);
        let index = call.index.map(|index| format!("[{index}] ")).unwrap_or_default();
        let attempt = if call.attempt > 1 { format!("attempt {}: ", call.attempt) } else { String::new() };
        let said = call.said.as_deref().or(call.preview.as_deref()).unwrap_or_default();
        let status = match call.status {
            Some(Status::Ok) => String::new(),
            Some(status) => format!("{status}: "),
            None if self.running => "under way: ".to_owned(),
            None => "started, and no result is recorded: ".to_owned(),
        };
        let took = self.paint.dim(format!("({} ms)", call.duration_ms));
        let said = short(said, if self.all { usize::MAX } else { RECEIPT_CHARS * 2 });
        self.line(format_args!("{after}  {index}{attempt}{status}{said} {took}"));
        self.failure(call);
        self.changes(call);
        for mutation in &call.mutations {
            let by = match &mutation.by {
                Actor::Gate => "the gate".to_owned(),
                Actor::Hook(name) => format!("hook {}", one_line(name)),
            };
            let fields = mutation.fields.iter().map(|field| one_line(field)).collect::<Vec<_>>().join(", ");
            self.detail(format!(
                "changed by {by} in {}: {fields} ({})",
                mutation.phase,
                one_line(&mutation.why)
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
                self.detail(format!("receipt: {}", visible(receipt).replace('\n', "\n               ")));
            }
        } else if let Some(why) = permission(&call.phases) {
            self.detail(one_line(why));
        }
    }

    /// What the call changed, where its own words do not say it all.
    fn changes(&mut self, call: &CallStory) {
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

    /// Which phase ended the call, why, and the way out.
    fn failure(&mut self, call: &CallStory) {
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
            self.detail(format!("hint: {}", one_line(hint)));
        }
    }

    fn phases(&mut self, phases: &[PhaseFact]) {
        for fact in phases {
            let outcome = match fact.outcome {
                PhaseOutcome::Ok => "ok".to_owned(),
                PhaseOutcome::Failed(failure) => failure.to_string(),
            };
            let detail =
                fact.detail.as_deref().map(|detail| format!(": {}", one_line(detail))).unwrap_or_default();
            self.detail(format!("{:<25} {:>7} µs  {outcome}{detail}", fact.phase.name(), fact.micros));
        }
    }

    fn detail(&mut self, text: String) {
        let text = self.paint.dim(text);
        self.line(format_args!("               {text}"));
    }

    fn ending(&mut self, story: &Story) {
        self.line("");
        let changes = effects::lines(&story.effects, self.all);
        if changes.is_empty() {
            self.line(effects::none_listed(&story.effects));
        } else {
            let title = self.paint.bold(count(effects::number(&story.effects) as u64, "change"));
            self.line(title);
            for change in changes {
                self.line(format_args!("  {change}"));
            }
        }
        match &story.ending {
            Some(ending) => self.line(format_args!("Ended:      {}", one_line(ending))),
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
        let record = if story.damaged {
            self.paint.bad(
                "damaged; `tollgate verify` names the place, and only what stands before it is told here",
            )
        } else {
            self.paint.good("intact")
        };
        self.line(format_args!("Record:     {} records, {record}", story.records));
        self.line(format_args!("Chain head: {}", story.chain_head.hash));
        self.line(format_args!("Run folder: {}", path_words(&story.run_dir)));
    }

    /// Time since the start of the run, in a column.
    fn after(&self, at: Timestamp) -> String {
        self.paint.dim(format!("{:>9}", format!("+{} ms", millis(self.start, at))))
    }
}

fn millis(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millisecond() - from.as_millisecond()
}

/// What the permission phase noted: the rule, mode or answer that let the call through.
fn permission(phases: &[PhaseFact]) -> Option<&str> {
    let fact =
        phases.iter().find(|fact| fact.phase == Phase::Permission && fact.outcome == PhaseOutcome::Ok)?;
    // The yes to the plan stands in the header; it need not be said again for every call.
    fact.detail
        .as_deref()
        .filter(|detail| !detail.contains(": confirmed (") && !detail.starts_with("allowed: mode"))
}

fn counts(step: &StepStory) -> String {
    let counts = &step.counts;
    let mut parts = Vec::new();
    for (number, word) in [
        (counts.ok, "ok"),
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

fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Terminal => "a person at the terminal",
        Channel::YesFlag => "--yes on the command line",
        Channel::Embedder => "the program that embeds the gate",
        Channel::Client => "the client, which says that it asked",
        Channel::Approve => "a person with `tollgate approve`",
    }
}
