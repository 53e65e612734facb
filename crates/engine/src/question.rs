//! The text of questions about plans and calls. The text that is shown is hashed into the approval.

use std::fmt::Write as _;

use envelope::{OnError, PlanStep, Risk, StepId, VaultChange};
use journal::Continuation;
use plan::{CheckedPlan, CheckedStep, RunQuestion, Template, TemplateBindings, ValueSource};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::call_inputs::visible_text;
use crate::forecast::Forecast;

/// Characters shown of one value: enough for any path and most contents. The rest is counted, never hidden.
const SHOWN_CHARS: usize = 400;
/// Longer runs of blanks are replaced by their count: they would push the rest of the line out of sight.
const BLANKS: usize = 3;
/// The tool of undo and redo. No plan of a model can name it.
const RESTORE_TOOL: &str = "vault.restore";
/// Changes of an undo that are named in its step.
const SHOWN_RESTORED: usize = 5;
/// Calls with an unknown outcome that are named; more are counted.
const SHOWN_UNCERTAIN: usize = 50;

/// The parts of a question about one call.
pub(crate) struct CallQuestion<'a> {
    pub(crate) tool: &'a str,
    /// The tool's preview; for a command the whole line.
    pub(crate) preview: &'a str,
    /// The caller's remark for people.
    pub(crate) note: Option<&'a str>,
    pub(crate) why: &'a str,
    /// Made safe to show.
    pub(crate) input: &'a Value,
    pub(crate) forecast: Option<&'a Forecast>,
    /// Differences to the call that was approved before.
    pub(crate) differences: &'a [String],
}

/// Returns the question about one call: the headline first, then the differences, then the details.
pub(crate) fn call_question(asked: &CallQuestion<'_>) -> String {
    let mut text = String::new();
    let preview = one_line(asked.preview);
    match asked.forecast {
        Some(forecast) => line(&mut text, &forecast.headline),
        None => line(&mut text, &preview),
    }
    show_differences(&mut text, asked.differences);
    if let Some(forecast) = asked.forecast {
        if !forecast.text.is_empty() {
            line(&mut text, forecast.text.trim_end());
        }
        line(&mut text, &format!("Call: {preview}"));
        // Two forecasts can look the same if their differences are cut.
        line(&mut text, &format!("Preview hash: {}", forecast.fingerprint));
    }
    if let Some(note) = asked.note {
        // In quotes: these are the caller's words, and no line of ours.
        line(&mut text, &format!("Note of the caller: {}", whole(&Value::from(note))));
    }
    line(&mut text, &format!("Why you are asked: {}", one_line(asked.why)));
    line(&mut text, &format!("Tool: {}", asked.tool));
    text.push_str(&format!("Input: {}", whole(asked.input)));
    text
}

fn show_differences(text: &mut String, differences: &[String]) {
    if !differences.is_empty() {
        line(text, "This is not what you approved:");
    }
    for difference in differences {
        line(text, &format!("  {difference}"));
    }
}

/// Returns the question about a plan with its forecast: the headline first, then failures and differences, then the
/// plan.
pub(crate) fn forecast_question(details: &str, forecast: &Forecast) -> String {
    let mut text = String::new();
    line(&mut text, &forecast.headline);
    if !forecast.differs.is_empty() {
        line(&mut text, "This is not what was forecast before:");
    }
    for difference in &forecast.differs {
        line(&mut text, &format!("  {difference}"));
    }
    if !forecast.text.is_empty() {
        line(&mut text, forecast.text.trim_end());
    }
    format!("{text}\n{details}Preview hash: {}\n", forecast.fingerprint)
}

/// Returns the description of the plan.
fn plan_question(plan: &CheckedPlan) -> String {
    let mut text = String::new();
    let whole = &plan.plan;
    if let Some(title) = whole.ui_hints.get("title").and_then(Value::as_str) {
        line(&mut text, &one_line(title));
    }
    line(&mut text, &format!("Goal: {}", one_line(&whole.goal)));
    line(&mut text, &format!("Risk: {}   Plan: {}", whole.risk_level, plan.hash));
    for assumption in &whole.assumptions {
        line(&mut text, &format!("Assumes: {}", one_line(assumption)));
    }
    for request in &whole.context_requests {
        let options = request.options.as_ref().map(|options| short(&Value::Object(options.clone())));
        let options = options.map(|options| format!(" {options}")).unwrap_or_default();
        line(&mut text, &format!("Would have liked to know: {}{options}", one_line(&request.kind)));
    }
    if !plan.vars.is_empty() {
        line(&mut text, &format!("Variables: {}", plan.vars.len()));
    }
    for (name, value) in &plan.vars {
        line(&mut text, &format!("       {}: {}", one_line(name), short(value)));
    }
    line(&mut text, &format!("Steps: {}", plan.steps.len()));
    for (number, (step, written)) in plan.steps.iter().zip(&whole.steps).enumerate() {
        show_step(&mut text, number + 1, step, written, &plan.vars);
    }
    text
}

fn show_step(
    text: &mut String,
    number: usize,
    step: &CheckedStep,
    written: &PlanStep,
    vars: &Map<String, Value>,
) {
    let each = match (&step.foreach, &written.foreach) {
        (Some(checked), Some(foreach)) => {
            format!(" for each {} of {}", checked.item_name, short(&foreach.from))
        }
        _ => String::new(),
    };
    let filled = step.preview.as_ref().and_then(|preview| preview_with_vars(preview, vars));
    let head = filled.as_deref().or(written.preview.as_deref()).unwrap_or(&step.decl.summary);
    line(
        text,
        &format!(
            "  {number}. {} [{} {}]{each}: {}",
            step.id,
            step.decl.name,
            step.decl.risk_level,
            one_line(head)
        ),
    );
    for (name, value) in &written.args {
        if step.decl.name.as_str() == RESTORE_TOOL
            && let Ok(changes) = Vec::<VaultChange>::deserialize(value)
        {
            show_restored(text, &changes);
            continue;
        }
        // The dangerous part of a command can be at its very end, and the approval covers it.
        let shown = if step.decl.risk_level == Risk::Commands { whole(value) } else { short(value) };
        line(text, &format!("       {}: {shown}", one_line(name)));
    }
    for setting in settings(step, written) {
        line(text, &format!("       ({setting})"));
    }
}

/// Shows the changes of an undo in words. Its forecast, above, shows them whole.
fn show_restored(text: &mut String, changes: &[VaultChange]) {
    for change in changes.iter().take(SHOWN_RESTORED) {
        let path = |path: &str| one_line(path);
        let words = match change {
            VaultChange::FolderCreated { path: made, .. } => format!("make the folder {}/", path(made)),
            VaultChange::FolderRemoved { path: removed, .. } => {
                format!("remove the folder {}/", path(removed))
            }
            VaultChange::FileCreated { path: made, .. } => format!("bring {} back", path(made)),
            VaultChange::FileRemoved { path: removed, .. } => format!("remove {}", path(removed)),
            VaultChange::FileReplaced { path: replaced, .. } => format!("change {} back", path(replaced)),
            VaultChange::Moved { from, to, .. } => format!("move {} to {}", path(from), path(to)),
        };
        line(text, &format!("       {words}"));
    }
    if changes.len() > SHOWN_RESTORED {
        line(text, &format!("       and {} more", changes.len() - SHOWN_RESTORED));
    }
}

/// Returns a preview that refers to nothing but variables of the plan. Other references have no value before the run.
fn preview_with_vars(preview: &Template, vars: &Map<String, Value>) -> Option<String> {
    let values = PlanVars(vars);
    let bindings = TemplateBindings { values: &values, item: None, index: None };
    preview.resolve(&bindings).ok()?.as_str().map(str::to_owned)
}

/// The values that are known before a run.
struct PlanVars<'a>(&'a Map<String, Value>);

impl ValueSource for PlanVars<'_> {
    fn step(&self, _id: &str) -> Option<&Value> {
        None
    }

    fn var(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

/// Returns the settings of a step that differ from the defaults.
fn settings(step: &CheckedStep, written: &PlanStep) -> Vec<String> {
    let mut settings = Vec::new();
    if !written.depends_on.is_empty() {
        let ids: Vec<&str> = written.depends_on.iter().map(StepId::as_str).collect();
        settings.push(format!("after {}", ids.join(", ")));
    }
    match step.on_error {
        OnError::Stop => {}
        OnError::Skip => settings.push("if it fails, the rest goes on".to_owned()),
        OnError::Retry => settings.push(format!(
            "if it fails, up to {} attempts, the second after {} ms",
            step.retry.max_attempts, step.retry.backoff_ms
        )),
    }
    if step.timeout_ms != step.decl.timeout_ms {
        settings.push(format!("may take {} ms", step.timeout_ms));
    }
    if step.fail_on_exit {
        settings.push("fails unless its command exits with 0".to_owned());
    }
    if !step.tags.is_empty() {
        let tags: Vec<String> = step.tags.iter().map(|tag| one_line(tag)).collect();
        settings.push(format!("tags: {}", tags.join(", ")));
    }
    settings
}

/// Returns the question of a run: about the whole plan, or about a foreach that is larger than its limit.
pub(crate) fn question_text(
    plan: &CheckedPlan,
    question: &RunQuestion,
    continues: Option<&Continuation>,
) -> String {
    match question {
        RunQuestion::Plan => continued_run(continues) + &plan_question(plan),
        RunQuestion::Expansion { step, items, limit } => format!(
            "Step {step} would run for {items} items; more than {limit} need another approval.\nPlan: {}\n",
            plan.hash
        ),
    }
}

/// Returns what is known of the run that is continued: what is not made again, and what may have happened already.
fn continued_run(continues: Option<&Continuation>) -> String {
    let mut text = String::new();
    let Some(run) = continues else { return text };
    let made = run.carried.len();
    let calls = if made == 1 {
        "1 call that succeeded is".to_owned()
    } else {
        format!("{made} calls that succeeded are")
    };
    line(&mut text, &format!("Continues run {}: {calls} not made again", run.run_id));
    for call in run.uncertain.iter().take(SHOWN_UNCERTAIN) {
        let item = call.index.map(|index| format!(", item {index}")).unwrap_or_default();
        line(
            &mut text,
            &format!(
                "May have happened already, and would be made again: {}{item} [{}]",
                call.step_id, call.tool
            ),
        );
    }
    if let Some(more) = run.uncertain.len().checked_sub(SHOWN_UNCERTAIN).filter(|more| *more > 0) {
        line(&mut text, &format!("May have happened already, and would be made again: {more} more calls"));
    }
    text
}

/// Renders a value on one line.
fn whole(value: &Value) -> String {
    match value {
        Value::String(text) => serde_json::to_string(&visible_text(text)).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            visible_text(&value.to_string())
        }
    }
}

/// Renders a value on one line and cuts a long one, with the count of characters that were cut.
fn short(value: &Value) -> String {
    let whole = whole(value);
    match whole.char_indices().nth(SHOWN_CHARS) {
        Some((cut, _)) => format!("{}… ({} more characters)", &whole[..cut], whole[cut..].chars().count()),
        None => whole,
    }
}

/// Flattens untrusted text to one line: it can neither start a line of ours nor push anything out of one.
pub(crate) fn one_line(text: &str) -> String {
    let text = visible_text(text);
    let mut line = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        let blanks = rest.len() - rest.trim_start_matches(is_blank).len();
        let count = rest[..blanks].chars().count();
        if count > BLANKS {
            line += &format!(" ({count} blanks) ");
            rest = &rest[blanks..];
            continue;
        }
        match c {
            '\n' => line += "\\n",
            '\r' => line += "\\r",
            '\t' => line += "\\t",
            c => line.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    line
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\n' | '\r' | '\t')
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _infallible = writeln!(text, "{line}");
}
