//! What would be put back, in words.

use engine::Irreversible;
use envelope::{Change, EntryKind};
use vault::{Restoration, TRASH};

use crate::visible::{count, one_line};

/// Names that are listed; the rest is counted.
const NAMED: usize = 20;

/// The changes by kind, in one sentence.
pub(super) fn sentence(changes: &[Change]) -> String {
    let number = |is: &dyn Fn(&Change) -> bool| changes.iter().filter(|change| is(change)).count() as u64;
    let in_trash = |path: &str| path.split('/').next() == Some(TRASH);
    let kinds: [(&str, &str, &str, u64); 8] = [
        ("change", "file", " back", number(&|change| matches!(change, Change::FileReplaced { .. }))),
        ("bring", "file", " back", number(&|change| matches!(change, Change::FileCreated { .. }))),
        ("remove", "file", "", number(&|change| matches!(change, Change::FileRemoved { .. }))),
        (
            "take",
            "entry",
            " out of the trash",
            number(&|change| matches!(change, Change::Moved { from, .. } if in_trash(from))),
        ),
        (
            "put",
            "entry",
            " into the trash",
            number(&|change| matches!(change, Change::Moved { to, .. } if in_trash(to))),
        ),
        (
            "move",
            "entry",
            "",
            number(
                &|change| matches!(change, Change::Moved { from, to, .. } if !in_trash(from) && !in_trash(to)),
            ),
        ),
        ("make", "folder", "", number(&|change| matches!(change, Change::FolderCreated { .. }))),
        ("remove", "folder", "", number(&|change| matches!(change, Change::FolderRemoved { .. }))),
    ];
    let said: Vec<String> = kinds
        .into_iter()
        .filter(|(.., number)| *number > 0)
        .map(|(verb, noun, ending, number)| format!("{verb} {}{ending}", counted(number, noun)))
        .collect();
    format!("This would {}.", said.join(", "))
}

fn counted(number: u64, noun: &str) -> String {
    match (number, noun) {
        (2.., "entry") => format!("{number} entries"),
        (number, noun) => count(number, noun),
    }
}

/// One change in words.
pub(crate) fn change_words(change: &Change) -> String {
    let slash = |kind: &EntryKind| match kind {
        EntryKind::File => "",
        EntryKind::Folder => "/",
    };
    match change {
        Change::FolderCreated { path, .. } => format!("made the folder {}/", one_line(path)),
        Change::FolderRemoved { path, .. } => format!("removed the empty folder {}/", one_line(path)),
        Change::FileCreated { path, after } => {
            format!("created {} ({})", one_line(path), count(after.bytes, "byte"))
        }
        Change::FileRemoved { path, before } => {
            format!("removed {} ({})", one_line(path), count(before.bytes, "byte"))
        }
        Change::FileReplaced { path, before, after } => {
            let path = one_line(path);
            format!("changed {path} ({} to {})", before.bytes, count(after.bytes, "byte"))
        }
        Change::Moved { from, to, kind, .. } => {
            let slash = slash(kind);
            format!("moved {}{slash} to {}{slash}", one_line(from), one_line(to))
        }
    }
}

/// What stays as it is, and what no undo reaches.
pub(super) fn remarks(found: &Restoration, irreversible: &[Irreversible]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(listed("kept as it is", &found.kept, ""));
    lines.extend(dead_links(found));
    lines.extend(listed("is not there any more and stays away", &found.missing, ""));
    lines.extend(listed("stays, since something else is in it", &found.left, "/"));
    if found.already_so > 0 {
        lines.push(format!("{} already as before", counted(found.already_so as u64, "entry")));
    }
    lines.extend(not_undone(irreversible));
    lines
}

/// Notes that are put back name others as they were called before; what keeps its new name is not found by that.
fn dead_links(found: &Restoration) -> Vec<String> {
    let puts_back =
        |change: &Change| matches!(change, Change::FileReplaced { .. } | Change::FileCreated { .. });
    if !found.changes().iter().any(puts_back) {
        return Vec::new();
    }
    let kept: Vec<String> = found
        .names_kept
        .iter()
        .map(|(now, before)| {
            let before = one_line(before);
            format!(
                "{} keeps this name: links that are put back to {before} do not lead to it",
                one_line(now)
            )
        })
        .collect();
    let more = kept.len().saturating_sub(NAMED);
    let mut lines: Vec<String> = kept.into_iter().take(NAMED).collect();
    lines.extend((more > 0).then(|| format!("{more} more keep a name that links do not lead to")));
    lines
}

pub(super) fn not_undone(irreversible: &[Irreversible]) -> Vec<String> {
    let mut lines: Vec<String> = irreversible
        .iter()
        .take(NAMED)
        .map(|call| {
            let said = call.said.as_deref().map(|said| format!(": {}", one_line(said))).unwrap_or_default();
            format!("not undone: {} of step {}{said}", call.tool, call.step_id)
        })
        .collect();
    if irreversible.len() > NAMED {
        lines.push(format!("not undone: {} more", irreversible.len() - NAMED));
    }
    lines
}

fn listed(what: &str, paths: &[String], ending: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        paths.iter().take(NAMED).map(|path| format!("{}{ending} {what}", one_line(path))).collect();
    if paths.len() > NAMED {
        lines.push(format!("{} more: {what}", paths.len() - NAMED));
    }
    lines
}
