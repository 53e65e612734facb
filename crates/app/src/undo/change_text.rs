//! Text for the changes of an undo.

use engine::IrreversibleCall;
use envelope::{EntryKind, VaultChange};
use serde_json::{Value, json};
use vault::{RestorePlan, TRASH};

use crate::display_text::{count, escape_line};

/// Names that are listed; the rest is counted.
const LISTED_NAMES: usize = 20;

/// Returns the changes by kind, in one sentence.
pub(super) fn summarize_changes(changes: &[VaultChange], linked_notes: usize) -> String {
    let number =
        |is: &dyn Fn(&VaultChange) -> bool| changes.iter().filter(|change| is(change)).count() as u64;
    let in_trash = |path: &str| path.split('/').next() == Some(TRASH);
    let kinds: [(&str, &str, &str, u64); 8] = [
        ("change", "file", " back", number(&|change| matches!(change, VaultChange::FileReplaced { .. }))),
        ("bring", "file", " back", number(&|change| matches!(change, VaultChange::FileCreated { .. }))),
        ("remove", "file", "", number(&|change| matches!(change, VaultChange::FileRemoved { .. }))),
        (
            "take",
            "entry",
            " out of the trash",
            number(&|change| matches!(change, VaultChange::Moved { from, .. } if in_trash(from))),
        ),
        (
            "put",
            "entry",
            " into the trash",
            number(&|change| matches!(change, VaultChange::Moved { to, .. } if in_trash(to))),
        ),
        (
            "move",
            "entry",
            "",
            number(
                &|change| matches!(change, VaultChange::Moved { from, to, .. } if !in_trash(from) && !in_trash(to)),
            ),
        ),
        ("make", "folder", "", number(&|change| matches!(change, VaultChange::FolderCreated { .. }))),
        ("remove", "folder", "", number(&|change| matches!(change, VaultChange::FolderRemoved { .. }))),
    ];
    let mut parts: Vec<String> = kinds
        .into_iter()
        .filter(|(.., number)| *number > 0)
        .map(|(verb, noun, ending, number)| format!("{verb} {}{ending}", count_noun(number, noun)))
        .collect();
    if linked_notes > 0 {
        parts.push(format!("update links in {}", count(linked_notes as u64, "note")));
    }
    format!("This would {}.", parts.join(", "))
}

fn count_noun(number: u64, noun: &str) -> String {
    match (number, noun) {
        (2.., "entry") => format!("{number} entries"),
        (number, noun) => count(number, noun),
    }
}

/// Returns the text for one change.
pub fn change_words(change: &VaultChange) -> String {
    let slash = |kind: &EntryKind| match kind {
        EntryKind::File => "",
        EntryKind::Folder => "/",
    };
    match change {
        VaultChange::FolderCreated { path, .. } => format!("made the folder {}/", escape_line(path)),
        VaultChange::FolderRemoved { path, .. } => format!("removed the empty folder {}/", escape_line(path)),
        VaultChange::FileCreated { path, after } => {
            format!("created {} ({})", escape_line(path), count(after.bytes, "byte"))
        }
        VaultChange::FileRemoved { path, before } => {
            format!("removed {} ({})", escape_line(path), count(before.bytes, "byte"))
        }
        VaultChange::FileReplaced { path, before, after } => {
            let path = escape_line(path);
            format!("changed {path} ({} to {})", before.bytes, count(after.bytes, "byte"))
        }
        VaultChange::Moved { from, to, kind, .. } => {
            let slash = slash(kind);
            format!("moved {}{slash} to {}{slash}", escape_line(from), escape_line(to))
        }
    }
}

/// Returns lines about entries that stay as they are, and effects that cannot be undone.
pub(super) fn remarks(found: &RestorePlan, irreversible: &[IrreversibleCall]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(list_paths("kept as it is", &found.kept, ""));
    lines.extend(dead_links(found));
    lines.extend(kept_links(found));
    lines.extend(list_paths("mentions a moved name, which is not updated", &found.mentioned_in, ""));
    lines.extend(list_paths(
        "was not searched for links: it is too large or no text",
        &found.not_looked_into,
        "",
    ));
    lines.extend(list_paths("is not there any more and stays away", &found.missing, ""));
    lines.extend(list_paths("stays, since something else is in it", &found.left, "/"));
    if found.already_so > 0 {
        lines.push(format!("{} already as before", count_noun(found.already_so as u64, "entry")));
    }
    lines.extend(not_undone(irreversible));
    lines
}

/// Returns lines about links in notes that stay as they are.
fn kept_links(found: &RestorePlan) -> Vec<String> {
    let mut lines: Vec<String> = found
        .dead_links
        .iter()
        .take(LISTED_NAMES)
        .map(|(path, link)| {
            let (path, target) = (escape_line(path), escape_line(&link.target));
            format!("{path} stays as it is: its link to {target} in line {} no longer leads there", link.line)
        })
        .collect();
    let more = found.dead_links.len().saturating_sub(LISTED_NAMES);
    lines.extend((more > 0).then(|| format!("{more} more links no longer lead to their files")));
    lines
}

/// Returns the links of kept notes that no longer lead to their files.
pub(super) fn dead_links_json(found: &RestorePlan) -> Value {
    let links = found.dead_links.iter();
    let links = links.map(|(path, link)| json!({ "path": path, "line": link.line, "target": link.target }));
    links.collect()
}

/// Returns warnings for restored notes whose links name files that keep a newer name.
fn dead_links(found: &RestorePlan) -> Vec<String> {
    let puts_back = |change: &VaultChange| {
        matches!(change, VaultChange::FileReplaced { .. } | VaultChange::FileCreated { .. })
    };
    if !found.changes().iter().any(puts_back) {
        return Vec::new();
    }
    let kept: Vec<String> = found
        .names_kept
        .iter()
        .map(|(now, before)| {
            let before = escape_line(before);
            format!(
                "{} keeps this name: links that are put back to {before} do not lead to it",
                escape_line(now)
            )
        })
        .collect();
    let more = kept.len().saturating_sub(LISTED_NAMES);
    let mut lines: Vec<String> = kept.into_iter().take(LISTED_NAMES).collect();
    lines.extend((more > 0).then(|| format!("{more} more keep a name that links do not lead to")));
    lines
}

pub(super) fn not_undone(irreversible: &[IrreversibleCall]) -> Vec<String> {
    let mut lines: Vec<String> = irreversible
        .iter()
        .take(LISTED_NAMES)
        .map(|call| {
            let message =
                call.message.as_deref().map(|text| format!(": {}", escape_line(text))).unwrap_or_default();
            format!("not undone: {} of step {}{message}", call.tool, call.step_id)
        })
        .collect();
    if irreversible.len() > LISTED_NAMES {
        lines.push(format!("not undone: {} more", irreversible.len() - LISTED_NAMES));
    }
    lines
}

fn list_paths(what: &str, paths: &[String], ending: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        paths.iter().take(LISTED_NAMES).map(|path| format!("{}{ending} {what}", escape_line(path))).collect();
    if paths.len() > LISTED_NAMES {
        lines.push(format!("{} more: {what}", paths.len() - LISTED_NAMES));
    }
    lines
}
