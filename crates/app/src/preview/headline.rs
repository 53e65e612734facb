//! The first line of a question: the effects in counts and names, then the expected failures.

use envelope::{EntryKind, Risk};

use super::PlanPreview;
use super::paths::{PathFate, PathOutlook};
use super::steps::{StepFate, StepOutlook};
use crate::display_text::{count, escape_line, truncate_line};

/// Names listed for one kind of effect; the rest is counted.
const LISTED_NAMES: usize = 3;
/// Characters of one reason.
const REASON_CHARS: usize = 120;

/// Returns a line such as `Deletes 1 note: precious.md. 1 of 2 items will fail: `missing.md` does not exist.`
pub(super) fn headline(preview: &PlanPreview) -> String {
    let mut sentences: Vec<String> = [
        ("Creates", "", PathFate::Created),
        ("Changes", "", PathFate::Changed),
        ("Moves", "", PathFate::Moved),
        ("Deletes", "", PathFate::Trashed),
        ("Deletes", " for good", PathFate::Removed),
    ]
    .into_iter()
    .filter_map(|(verb, how, fate)| {
        let paths: Vec<&PathOutlook> = preview.paths.iter().filter(|path| path.fate == fate).collect();
        effect_sentence(verb, how, &paths)
    })
    .collect();
    sentences.extend(unknown_sentence(&preview.steps));
    if sentences.is_empty() {
        sentences.push("Changes nothing.".to_owned());
    }
    sentences.extend(preview.steps.iter().filter_map(failure_sentence));
    sentences.join(" ")
}

fn effect_sentence(verb: &str, how: &str, paths: &[&PathOutlook]) -> Option<String> {
    if paths.is_empty() {
        return None;
    }
    // A folder created for a note is not named if a note is.
    let files: Vec<&&PathOutlook> = paths.iter().filter(|path| path.kind == EntryKind::File).collect();
    let named: Vec<&&PathOutlook> = if files.is_empty() { paths.iter().collect() } else { files };
    let names: Vec<String> = named.iter().take(LISTED_NAMES).map(|path| path_name(path)).collect();
    let more = match named.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{verb} {}{how}: {}{more}.", count_paths(paths), names.join(", ")))
}

fn count_paths(paths: &[&PathOutlook]) -> String {
    let number =
        |wanted: &dyn Fn(&PathOutlook) -> bool| paths.iter().filter(|path| wanted(path)).count() as u64;
    let parts: Vec<String> = [
        (number(&|path| path.kind == EntryKind::File && path.is_note()), "note"),
        (number(&|path| path.kind == EntryKind::File && !path.is_note()), "file"),
        (number(&|path| path.kind == EntryKind::Folder), "folder"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, noun)| count(number, noun))
    .collect();
    parts.join(" and ")
}

fn path_name(path: &PathOutlook) -> String {
    match (&path.from, path.fate) {
        (Some(from), PathFate::Moved) => format!("{} to {}", escape_line(from), escape_line(&path.path)),
        _ => escape_line(&path.path),
    }
}

/// Returns the sentence about calls that cannot be forecast.
fn unknown_sentence(steps: &[StepOutlook]) -> Option<String> {
    let unknown: Vec<&StepOutlook> = steps.iter().filter(|step| step.fate == StepFate::Unforeseen).collect();
    let first = unknown.first()?;
    let what = match (first.risk, first.would.first()) {
        (Risk::Commands, Some(line)) => format!(": {}", truncate_line(line, REASON_CHARS)),
        _ => format!(": step {}", first.id),
    };
    let more = match unknown.len() {
        1 => String::new(),
        more => format!(" and {} more", count(more as u64 - 1, "step")),
    };
    Some(format!("What this does cannot be forecast{what}{more}."))
}

fn failure_sentence(step: &StepOutlook) -> Option<String> {
    let why =
        step.why.as_deref().map(|why| format!(": {}", truncate_line(why, REASON_CHARS))).unwrap_or_default();
    match step.fate {
        StepFate::Works | StepFate::Unforeseen | StepFate::NotReached => None,
        StepFate::WorksInPart | StepFate::Fails if step.calls > 1 => {
            Some(format!("{} of {} items will fail{why}.", step.failed, step.calls))
        }
        StepFate::WorksInPart | StepFate::Fails => Some(format!("Step {} will fail{why}.", step.id)),
        StepFate::Denied => Some(format!("Step {} will be denied{why}.", step.id)),
    }
}
