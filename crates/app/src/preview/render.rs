//! Renderer of a preview: effects, failures, differences, warnings, steps.

use engine::ForecastOutcome;
use envelope::EntryKind;

use super::PlanPreview;
use super::paths::{PathFate, PathOutlook};
use super::steps::{StepFate, StepOutlook};
use super::totals::ForecastTotals;
use crate::display_text::{count, escape_line};
use crate::text_style::TextStyle;

/// Folders and trashed files listed by name; the rest is counted.
const LISTED_NAMES: usize = 20;
/// Steps shown; the rest is counted.
const LISTED_STEPS: usize = 100;

impl PlanPreview {
    /// Returns the lines for the user: the effects first, then failures, differences, commands and each step.
    pub fn render(&self, style: TextStyle) -> Vec<String> {
        let mut lines = vec![style.bold(&self.headline)];
        lines.extend(self.render_rest(style));
        lines
    }

    /// Returns everything but the first line, for a single call, without its one step.
    pub fn render_call(&self, style: TextStyle) -> Vec<String> {
        self.render_body(style)
    }

    /// Returns everything but the first line.
    pub fn render_rest(&self, style: TextStyle) -> Vec<String> {
        let mut lines = self.render_body(style);
        let is_known = self.steps.iter().all(|step| step.fate != StepFate::Unforeseen);
        lines.push(match is_known || self.totals != ForecastTotals::default() {
            true => format!("Steps (this {}):", self.totals.sentence()),
            false => "Steps:".to_owned(),
        });
        for step in self.steps.iter().take(LISTED_STEPS) {
            lines.extend(step.render(style));
        }
        if self.steps.len() > LISTED_STEPS {
            lines.push(format!("  and {}", count((self.steps.len() - LISTED_STEPS) as u64, "more step")));
        }
        lines
    }

    fn render_body(&self, style: TextStyle) -> Vec<String> {
        let mut lines: Vec<String> = self.failures(style);
        lines.extend(render_names(self.paths.iter().filter(|path| path.is_named()), style));
        lines.extend(self.changes.render(style));
        lines.extend(self.commands.iter().map(|line| format!("{} {line}", style.odd("command"))));
        let told = |title: &str, said: &[String]| {
            let title = said.first().map(|_| style.odd(title));
            title.into_iter().chain(said.iter().map(|line| format!("  {line}"))).collect::<Vec<_>>()
        };
        lines.extend(told("Beware:", &self.warnings));
        lines.extend(told("You would also be asked:", &self.questions));
        if !self.hooks_not_run.is_empty() {
            let hooks = self.hooks_not_run.join(", ");
            lines.push(format!("Hooks were not run for this; they may change or refuse calls: {hooks}"));
        }
        lines
    }

    /// Returns every call that will fail, by name.
    fn failures(&self, style: TextStyle) -> Vec<String> {
        let failing = self.calls.iter().filter_map(|call| match &call.outcome {
            ForecastOutcome::Fails { message } => Some((call, message)),
            ForecastOutcome::Works | ForecastOutcome::Unknown => None,
        });
        let mut lines: Vec<String> = failing
            .clone()
            .take(LISTED_NAMES)
            .map(|(call, message)| {
                let item = call.index.map(|index| format!(" item {}", index + 1)).unwrap_or_default();
                format!("{} step {}{item}: {}", style.bad("will fail"), call.step, escape_line(message))
            })
            .collect();
        let left = failing.count().saturating_sub(LISTED_NAMES);
        if left > 0 {
            lines.push(style.dim(format_args!("and {left} more that will fail")));
        }
        lines
    }

    /// Returns the same without colours, as one text.
    pub fn plain(&self) -> String {
        self.render(TextStyle::plain()).join("\n")
    }
}

impl StepOutlook {
    fn render(&self, style: TextStyle) -> Vec<String> {
        let word = format!("{:<10}", self.fate.word());
        let word = match self.fate {
            StepFate::Works => style.good(word),
            StepFate::WorksInPart | StepFate::Unforeseen | StepFate::NotReached => style.odd(word),
            StepFate::Fails | StepFate::Denied => style.bad(word),
        };
        let calls = match (self.calls, self.failed) {
            (0 | 1, _) => String::new(),
            (calls, 0) => format!(" ({})", count(calls, "call")),
            (calls, failed) => format!(" ({}, {failed} would fail)", count(calls, "call")),
        };
        let carried = match (self.carried, self.calls) {
            (0, _) => String::new(),
            (carried, 0) => format!(" ({carried} made before, none left)"),
            (carried, _) => format!(" ({carried} made before)"),
        };
        let mut would = self.would.iter();
        let first = would.next().map_or_else(|| self.tool.to_string(), Clone::clone);
        let mut lines = vec![format!("  {word} {:<12} {first}{calls}{carried}", self.id.as_str())];
        let indent = " ".repeat(26);
        lines.extend(would.map(|line| format!("{indent}{line}")));
        let left = self.calls.saturating_sub(self.would.len() as u64);
        if left > 0 && !self.would.is_empty() {
            lines.push(format!("{indent}{}", style.dim(format_args!("and {left} more"))));
        }
        lines.extend(self.why.iter().map(|why| format!("{indent}{why}")));
        lines.extend(self.hint.iter().map(|hint| format!("{indent}{} {hint}", style.dim("hint:"))));
        lines
    }
}

impl PathOutlook {
    /// Returns true if only its name is shown, because it has no content.
    fn is_named(&self) -> bool {
        self.kind == EntryKind::Folder || self.fate == PathFate::Trashed
    }
}

fn render_names<'a>(paths: impl Iterator<Item = &'a PathOutlook>, style: TextStyle) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = 0;
    for path in paths {
        if lines.len() == LISTED_NAMES {
            left += 1;
            continue;
        }
        let what = match path.kind {
            EntryKind::File => "",
            EntryKind::Folder => "folder ",
        };
        let word = match path.fate {
            PathFate::Created => style.good(path.fate.word()),
            PathFate::Changed | PathFate::Moved => style.odd(path.fate.word()),
            PathFate::Trashed | PathFate::Removed => style.bad(path.fate.word()),
        };
        lines.push(match &path.from {
            Some(from) => format!("{word} {what}{} to {}", escape_line(from), escape_line(&path.path)),
            None => format!("{word} {what}{}", escape_line(&path.path)),
        });
    }
    if left > 0 {
        lines.push(style.dim(format_args!("and {left} more folders and trashed files")));
    }
    lines
}
