//! A preview in lines: what happens, what fails, the differences, what to beware of, each step.

use engine::ForecastOutcome;
use envelope::EntryKind;

use super::Preview;
use super::paths::{PathFate, PathOutlook};
use super::steps::{StepFate, StepOutlook};
use super::totals::Totals;
use crate::screen::Paint;
use crate::visible::{count, one_line};

/// Folders and trashed files that are named; the rest is counted.
const NAMED: usize = 20;
/// Steps that are shown. Nobody reads more before a yes.
const STEPS: usize = 100;

impl Preview {
    /// The lines that you see: what happens in the first one, then failures, differences and commands, then each step.
    pub(crate) fn render(&self, paint: Paint) -> Vec<String> {
        let mut lines = vec![paint.bold(&self.headline)];
        lines.extend(self.render_rest(paint));
        lines
    }

    /// Everything but the first line, for a single call: its one step says no more than the call does.
    pub(crate) fn render_call(&self, paint: Paint) -> Vec<String> {
        self.render_body(paint)
    }

    /// Everything but the first line.
    pub(crate) fn render_rest(&self, paint: Paint) -> Vec<String> {
        let mut lines = self.render_body(paint);
        let is_known = self.steps.iter().all(|step| step.fate != StepFate::Unforeseen);
        lines.push(match is_known || self.totals != Totals::default() {
            true => format!("Steps (this {}):", self.totals.sentence()),
            false => "Steps:".to_owned(),
        });
        for step in self.steps.iter().take(STEPS) {
            lines.extend(step.render(paint));
        }
        if self.steps.len() > STEPS {
            lines.push(format!("  and {}", count((self.steps.len() - STEPS) as u64, "more step")));
        }
        lines
    }

    fn render_body(&self, paint: Paint) -> Vec<String> {
        let mut lines: Vec<String> = self.failures(paint);
        lines.extend(named(self.paths.iter().filter(|path| path.is_named()), paint));
        lines.extend(self.changes.render(paint));
        lines.extend(self.commands.iter().map(|line| format!("{} {line}", paint.odd("command"))));
        let told = |title: &str, said: &[String]| {
            let title = said.first().map(|_| paint.odd(title));
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

    /// Every call that will fail, by name.
    fn failures(&self, paint: Paint) -> Vec<String> {
        let failing = self.calls.iter().filter_map(|call| match &call.outcome {
            ForecastOutcome::Fails { message } => Some((call, message)),
            ForecastOutcome::Works | ForecastOutcome::Unknown => None,
        });
        let mut lines: Vec<String> = failing
            .clone()
            .take(NAMED)
            .map(|(call, message)| {
                let item = call.index.map(|index| format!(" item {}", index + 1)).unwrap_or_default();
                format!("{} step {}{item}: {}", paint.bad("will fail"), call.step, one_line(message))
            })
            .collect();
        let left = failing.count().saturating_sub(NAMED);
        if left > 0 {
            lines.push(paint.dim(format_args!("and {left} more that will fail")));
        }
        lines
    }

    /// The same without colours, as one text.
    pub(crate) fn plain(&self) -> String {
        self.render(Paint::plain()).join("\n")
    }
}

impl StepOutlook {
    fn render(&self, paint: Paint) -> Vec<String> {
        let word = format!("{:<10}", self.fate.word());
        let word = match self.fate {
            StepFate::Works => paint.good(word),
            StepFate::WorksInPart | StepFate::Unforeseen | StepFate::NotReached => paint.odd(word),
            StepFate::Fails | StepFate::Denied => paint.bad(word),
        };
        let calls = match (self.calls, self.failed) {
            (0 | 1, _) => String::new(),
            (calls, 0) => format!(" ({})", count(calls, "call")),
            (calls, failed) => format!(" ({}, {failed} would fail)", count(calls, "call")),
        };
        let mut would = self.would.iter();
        let first = would.next().map_or_else(|| self.tool.to_string(), Clone::clone);
        let mut lines = vec![format!("  {word} {:<12} {first}{calls}", self.id.as_str())];
        let indent = " ".repeat(26);
        lines.extend(would.map(|line| format!("{indent}{line}")));
        let left = self.calls.saturating_sub(self.would.len() as u64);
        if left > 0 && !self.would.is_empty() {
            lines.push(format!("{indent}{}", paint.dim(format_args!("and {left} more"))));
        }
        lines.extend(self.why.iter().map(|why| format!("{indent}{why}")));
        lines.extend(self.hint.iter().map(|hint| format!("{indent}{} {hint}", paint.dim("hint:"))));
        lines
    }
}

impl PathOutlook {
    /// Whether it is told by its name alone, since there is no content to show.
    fn is_named(&self) -> bool {
        self.kind == EntryKind::Folder || self.fate == PathFate::Trashed
    }
}

fn named<'a>(paths: impl Iterator<Item = &'a PathOutlook>, paint: Paint) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = 0;
    for path in paths {
        if lines.len() == NAMED {
            left += 1;
            continue;
        }
        let what = match path.kind {
            EntryKind::File => "",
            EntryKind::Folder => "folder ",
        };
        let word = match path.fate {
            PathFate::Created => paint.good(path.fate.word()),
            PathFate::Changed | PathFate::Moved => paint.odd(path.fate.word()),
            PathFate::Trashed | PathFate::Removed => paint.bad(path.fate.word()),
        };
        lines.push(match &path.from {
            Some(from) => format!("{word} {what}{} to {}", one_line(from), one_line(&path.path)),
            None => format!("{word} {what}{}", one_line(&path.path)),
        });
    }
    if left > 0 {
        lines.push(paint.dim(format_args!("and {left} more folders and trashed files")));
    }
    lines
}
