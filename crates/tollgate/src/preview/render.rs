//! A preview as a person reads it: each step, the whole in one sentence, the differences, what to beware of.

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
    /// The lines that a person sees.
    pub(crate) fn render(&self, paint: Paint) -> Vec<String> {
        let mut lines = vec![paint.bold("What would happen:")];
        for step in self.steps.iter().take(STEPS) {
            lines.extend(step.render(paint));
        }
        if self.steps.len() > STEPS {
            lines.push(format!("  and {}", count((self.steps.len() - STEPS) as u64, "more step")));
        }
        let commands = self.steps.iter().any(|step| step.fate == StepFate::Unforeseen);
        lines.push(match (commands, self.totals == Totals::default()) {
            (false, _) => format!("This {}.", paint.bold(self.totals.sentence())),
            (true, true) => format!("{}.", paint.bold("What this changes cannot be foreseen")),
            (true, false) => {
                let known = paint.bold(self.totals.sentence());
                format!("This {known}, {}.", paint.bold("and what its commands change cannot be foreseen"))
            }
        });
        lines.extend(named(self.paths.iter().filter(|path| path.is_named()), paint));
        lines.extend(self.changes.render(paint));
        let told = |title: &str, said: &[String]| {
            let title = said.first().map(|_| paint.odd(title));
            title.into_iter().chain(said.iter().map(|line| format!("  {line}"))).collect::<Vec<_>>()
        };
        lines.extend(told("Beware:", &self.warnings));
        lines.extend(told("Would be asked on the way:", &self.questions));
        if !self.hooks_not_run.is_empty() {
            let hooks = self.hooks_not_run.join(", ");
            lines.push(format!("Hooks were not run for this; they may change or refuse calls: {hooks}"));
        }
        lines
    }

    /// The same without colours, as one text: what a yes is bound to.
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
