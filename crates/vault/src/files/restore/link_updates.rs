//! Keeps the links to files whose names a restoration changes.
//!
//! The links that a run rewrote are restored with the contents of their notes. This module is about the links that were
//! written since: they name a file as the run left it, and would lead nowhere when its name is restored. A link that is
//! older than the run stays as it is, as it was then and will be.

use std::collections::{BTreeMap, HashMap, HashSet};

use envelope::{EntryKind, Failure, Fault, FileState, Hash, Timestamp, VaultChange, VaultPath};
use notes::links::{FileKind, FileMoves, LinkEdit, LinkResolver, LinkRewriter, StaleLink};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::history::in_trash;
use super::locations::parsed;
use super::plan::{RestoreCause, RestoreChoices, RestoreConflict, RestorePlan, RestoredEntry};
use crate::file_layer::{ChangeStep, FileContent, IoContext, PathState, Vault};

/// A larger file is not a note, and its links are not read.
const MAX_NOTE_BYTES: usize = 16 << 20;

/// A note whose links are rewritten because the files that they lead to get another name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RestoredLinks {
    /// The note, by its path after the changes.
    pub path: String,
    /// What it holds.
    pub before: FileState,
    /// What it holds afterwards.
    pub after: FileState,
    /// The edits from one to the other, in order.
    pub edits: Vec<RestoredLinkEdit>,
}

/// The replacement of some bytes of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RestoredLinkEdit {
    /// First byte that is replaced.
    pub start: u64,
    /// First byte after those.
    pub end: u64,
    /// What they become.
    pub text: String,
}

/// A link that leads to no file after the restoration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct DeadLink {
    /// The line of the link, counted from 1.
    pub line: u32,
    /// What the link names.
    pub target: String,
}

impl RestoredLinks {
    /// Returns the change that the rewriting makes.
    pub fn change(&self) -> VaultChange {
        VaultChange::FileReplaced { path: self.path.clone(), before: self.before, after: self.after }
    }

    /// Returns the text with its links rewritten; `None` if this is not the text that the edits were made for.
    pub fn apply_to(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut written = Vec::with_capacity(text.len());
        let mut at = 0;
        for edit in &self.edits {
            let (start, end) = (usize::try_from(edit.start).ok()?, usize::try_from(edit.end).ok()?);
            written.extend_from_slice(text.get(at..start)?);
            written.extend_from_slice(edit.text.as_bytes());
            at = end;
        }
        written.extend_from_slice(text.get(at..)?);
        (Hash::of(&written) == self.after.hash).then_some(written)
    }
}

/// Adds to a plan the notes whose links are rewritten because the steps move files: those that were written at `since` or
/// later. Notes whose content the steps decide, and notes that `choices` keep, stay as they are; the dead links of kept
/// notes are listed. A link that cannot be rewritten is a conflict.
pub fn plan_link_updates(
    vault: &Vault,
    found: &mut RestorePlan,
    choices: RestoreChoices<'_>,
    since: Timestamp,
    io: &dyn IoContext,
) -> Result<(), Fault> {
    let stems: Vec<&str> = found.steps.iter().filter_map(moved_stem).collect();
    if stems.is_empty() {
        return Ok(());
    }
    let files = vault.files_written_since(since.as_millisecond(), io)?;
    let followed = FollowedFiles::follow(files.iter().map(|(path, _)| path), &found.steps)?;
    let FollowedFiles { moves, decided } = &followed;
    if moves.is_empty() {
        return Ok(());
    }
    let index = LinkResolver::new(files.iter().map(|(path, _)| path.clone()));
    let rewriter = LinkRewriter::new(&index, moves);
    let kept = KeptPaths::new(choices);
    let mut updates = LinkPlan::default();
    for (path, _) in files.iter().filter(|(path, recent)| *recent && !decided.contains(path)) {
        io.check_cancelled()?;
        let Some(after) = moves.after(path) else { continue };
        if is_base(path) {
            let text = vault.load(path, io).ok();
            let text = text.as_ref().and_then(|loaded| loaded.text().ok());
            if text.is_some_and(|text| stems.iter().any(|stem| text.contains(stem))) {
                updates.mentioned_in.push(path.to_string());
            }
            continue;
        }
        if FileKind::of(path) == FileKind::Other {
            continue;
        }
        let loaded = vault.load(path, io).ok().filter(|loaded| loaded.bytes.len() <= MAX_NOTE_BYTES);
        let Some((text, state)) = loaded.as_ref().and_then(|file| Some((file.text().ok()?, file.state)))
        else {
            updates.not_looked_into.push(path.to_string());
            continue;
        };
        let rewritten = rewriter.may_affect(path, text).then(|| rewriter.rewrite(path, text)).flatten();
        let Some(rewritten) = rewritten else { continue };
        if kept.contain(path) || kept.contain(after) {
            let lines = dead_if_kept(&index, moves, path, text);
            updates.dead_links.extend(lines.into_iter().map(|link| (path.to_string(), link)));
        } else if !rewritten.stale_links.is_empty() {
            let links = rewritten.stale_links.iter().map(dead_link).collect();
            updates.conflicts.push(RestoreConflict::dead_links(path.as_str(), &state, links));
        } else {
            let content = FileContent::of(rewritten.text.into_bytes());
            let edits = rewritten.edits.into_iter().map(RestoredLinkEdit::from).collect();
            let (path, after) = (path.clone(), after.to_string());
            let links = RestoredLinks { path: after, before: state, after: content.state(state.mode), edits };
            updates.notes.push((path, links));
        }
    }
    updates.add_to(found);
    Ok(())
}

impl From<LinkEdit> for RestoredLinkEdit {
    fn from(edit: LinkEdit) -> RestoredLinkEdit {
        RestoredLinkEdit { start: edit.span.start as u64, end: edit.span.end as u64, text: edit.text }
    }
}

/// Links that a restoration concerns.
#[derive(Default)]
struct LinkPlan {
    /// Each with the current path of the note.
    notes: Vec<(VaultPath, RestoredLinks)>,
    dead_links: Vec<(String, DeadLink)>,
    conflicts: Vec<RestoreConflict>,
    mentioned_in: Vec<String>,
    not_looked_into: Vec<String>,
}

impl LinkPlan {
    fn add_to(self, found: &mut RestorePlan) {
        let files = found.restored.iter().enumerate().filter(|(_, entry)| entry.kind == EntryKind::File);
        let positions: HashMap<String, usize> =
            files.map(|(position, entry)| (entry.path.clone(), position)).collect();
        for (now, links) in self.notes {
            let restored = positions.get(&links.path).and_then(|position| found.restored.get_mut(*position));
            match restored {
                Some(entry) => entry.after = Some(links.after),
                None => found.restored.push(RestoredEntry {
                    path: links.path.clone(),
                    kind: EntryKind::File,
                    from: (now.as_str() != links.path).then(|| now.to_string()),
                    before: Some(links.before),
                    after: Some(links.after),
                }),
            }
            found.links.push(links);
        }
        found.dead_links.extend(self.dead_links);
        found.conflicts.extend(self.conflicts);
        found.mentioned_in.extend(self.mentioned_in);
        found.not_looked_into.extend(self.not_looked_into);
    }
}

/// Paths that the user keeps, folded.
struct KeptPaths(HashSet<String>);

impl KeptPaths {
    fn new(choices: RestoreChoices<'_>) -> KeptPaths {
        let RestoreChoices { only: _, leave, keep, overwrite: _ } = choices;
        KeptPaths(leave.iter().chain(keep).map(|path| VaultPath::fold_name(path)).collect())
    }

    /// Whether a path or a folder above it is kept.
    fn contain(&self, path: &VaultPath) -> bool {
        let folded = path.folded();
        let above = folded.match_indices('/').map(|(slash, _)| &folded[..slash]);
        !self.0.is_empty() && above.chain([folded.as_str()]).any(|path| self.0.contains(path))
    }
}

/// The files of the vault after the steps.
struct FollowedFiles {
    moves: FileMoves,
    /// Files whose content the steps decide, by their current path.
    decided: HashSet<VaultPath>,
}

impl FollowedFiles {
    fn follow<'a>(
        files: impl Iterator<Item = &'a VaultPath>,
        steps: &[ChangeStep],
    ) -> Result<FollowedFiles, Fault> {
        // By the path after the steps so far; `None` for a file that a step creates.
        let mut now: BTreeMap<String, Option<&VaultPath>> =
            files.map(|path| (path.to_string(), Some(path))).collect();
        let (mut decided, mut removed) = (HashSet::new(), Vec::new());
        for step in steps {
            match step {
                ChangeStep::MakeFolder { .. } | ChangeStep::RemoveFolder { .. } => {}
                ChangeStep::CreateFile { path, .. } => drop(now.insert(path.to_string(), None)),
                ChangeStep::ReplaceFile { path, .. } => {
                    decided.extend(now.get(path.as_str()).copied().flatten().cloned());
                }
                ChangeStep::RemoveFile { path, .. } => {
                    removed.extend(now.remove(path.as_str()).flatten().cloned());
                }
                ChangeStep::Move { from, to, kind, details } => {
                    let moved = take_at_or_below(&mut now, from.as_str());
                    if in_trash(to.as_str()) {
                        removed.extend(moved.into_iter().filter_map(|(_, file)| file.cloned()));
                    } else if in_trash(from.as_str()) {
                        let files = details.backup.iter().filter(|entry| entry.state.is_some());
                        let below = files.filter(|entry| !entry.path.is_empty());
                        now.extend(below.map(|entry| (format!("{to}/{}", entry.path), None)));
                        now.extend((*kind == EntryKind::File).then(|| (to.to_string(), None)));
                    } else {
                        now.extend(moved.into_iter().map(|(rest, file)| (format!("{to}{rest}"), file)));
                    }
                }
            }
        }
        let (mut moves, mut added) = (Vec::new(), Vec::new());
        for (path, file) in now {
            match file {
                Some(file) if file.as_str() == path => {}
                Some(file) => moves.push((file.clone(), parsed(&path)?)),
                None => added.push(parsed(&path)?),
            }
        }
        Ok(FollowedFiles { moves: FileMoves::new(moves).with_others(added, removed), decided })
    }
}

/// Removes an entry and everything below it, each with the rest of its path.
fn take_at_or_below<T>(entries: &mut BTreeMap<String, T>, path: &str) -> Vec<(String, T)> {
    let first = format!("{path}/");
    let below = entries.range(first.clone()..).take_while(|(path, _)| path.starts_with(&first));
    let paths: Vec<String> = below.map(|(path, _)| path.clone()).collect();
    let at_path = entries.remove(path).map(|entry| (String::new(), entry));
    let take = |below: String| entries.remove(&below).map(|entry| (below[path.len()..].to_owned(), entry));
    at_path.into_iter().chain(paths.into_iter().filter_map(take)).collect()
}

/// Returns the name without its extension of what a step moves outside of the trash.
fn moved_stem(step: &ChangeStep) -> Option<&str> {
    match step {
        ChangeStep::Move { from, to, .. } if !in_trash(from.as_str()) && !in_trash(to.as_str()) => {
            Some(from.name().rsplit_once('.').map_or(from.name(), |(stem, _)| stem))
        }
        ChangeStep::Move { .. }
        | ChangeStep::MakeFolder { .. }
        | ChangeStep::CreateFile { .. }
        | ChangeStep::ReplaceFile { .. }
        | ChangeStep::RemoveFile { .. }
        | ChangeStep::RemoveFolder { .. } => None,
    }
}

fn is_base(path: &VaultPath) -> bool {
    path.name().rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("base"))
}

fn dead_link(link: &StaleLink) -> DeadLink {
    DeadLink { line: link.line, target: link.target.clone() }
}

/// Returns the links of a text that lead to another file, or to none, if the text stays as it is.
fn dead_if_kept(index: &LinkResolver, moves: &FileMoves, path: &VaultPath, text: &str) -> Vec<DeadLink> {
    let Some(after) = moves.after(path) else { return Vec::new() };
    let moved = index.after(moves);
    let leads_elsewhere = |link: &notes::links::NoteLink| {
        let file = index.resolve(path, link)?;
        (moves.after(file) != moved.resolve(after, link))
            .then(|| DeadLink { line: link.line, target: link.target.clone() })
    };
    notes::links::scan(FileKind::of(path), text).iter().filter_map(leads_elsewhere).collect()
}

/// Adds the steps that rewrite links, after all others. A note that has its content already is skipped; one that was
/// edited since is a conflict unless it is kept.
pub(super) fn add_link_steps(
    vault: &Vault,
    found: &mut RestorePlan,
    wanted: &[RestoredLinks],
    keep: &[String],
    io: &dyn IoContext,
) -> Result<(), Fault> {
    let kept = KeptPaths::new(RestoreChoices { keep, ..RestoreChoices::default() });
    let mut steps = Vec::new();
    for links in wanted {
        io.check_cancelled()?;
        let path = parsed(&links.path)?;
        let now = path_before(&path, &found.steps)?;
        let state = match vault.entry_at(&now, io)? {
            PathState::File { state, .. } => Some(state),
            PathState::Missing | PathState::Folder | PathState::Other => None,
        };
        match state {
            Some(state) if state.hash == links.after.hash => found.already_so += 1,
            Some(state) if state.hash == links.before.hash => {
                let text = links.apply_to(&vault.load(&now, io)?.bytes).ok_or_else(|| {
                    let message = format!("the edits of `{path}` do not give the content that they name");
                    Fault::new(Failure::InvalidArguments, message)
                })?;
                let content = FileContent::of(text);
                steps.push(ChangeStep::ReplaceFile { path, before: state, content, mode: None });
            }
            Some(_) | None if kept.contain(&path) || kept.contain(&now) => found.kept.push(now.to_string()),
            Some(state) => {
                found.conflicts.push(RestoreConflict::edited_links(links, now.as_str(), Some(&state)));
            }
            None => found.conflicts.push(RestoreConflict::edited_links(links, now.as_str(), None)),
        }
    }
    found.steps.append(&mut steps);
    Ok(())
}

/// Returns the path of an entry before the steps move it.
fn path_before(path: &VaultPath, steps: &[ChangeStep]) -> Result<VaultPath, Fault> {
    let mut before = path.to_string();
    for step in steps.iter().rev() {
        let ChangeStep::Move { from, to, .. } = step else { continue };
        let rest = before.strip_prefix(to.as_str());
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            before = format!("{from}{rest}");
        }
    }
    parsed(&before)
}

impl RestoreConflict {
    /// Returns the conflict for a note with links that cannot be rewritten.
    fn dead_links(path: &str, state: &FileState, links: Vec<DeadLink>) -> RestoreConflict {
        RestoreConflict {
            path: path.to_owned(),
            why: RestoreCause::Links,
            can_overwrite: false,
            links,
            expected_etag: None,
            current_etag: Some(state.etag()),
            target: None,
            current: Some(*state),
        }
    }

    /// Returns the conflict for a note that was edited after its links were read.
    fn edited_links(links: &RestoredLinks, path: &str, now: Option<&FileState>) -> RestoreConflict {
        RestoreConflict {
            path: path.to_owned(),
            why: if now.is_some() { RestoreCause::Edited } else { RestoreCause::Gone },
            can_overwrite: false,
            links: Vec::new(),
            expected_etag: Some(links.before.etag()),
            current_etag: now.map(FileState::etag),
            target: None,
            current: now.copied(),
        }
    }
}
