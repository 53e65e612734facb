//! Preview of an undo, with the differences: shown in the question, and computed again after the approval.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Forecast, Forecaster};
use envelope::{
    DataRef, EntryKind, Fault, FileState, Timestamp, ToolDecl, VaultChange, VaultPath, canonical_hash,
};
use journal::RunFolder;
use plan::CheckedPlan;
use serde_json::Value;
use toolkit::BoxFuture;
use vault::{
    RestoreChoices, RestorePlan, RestoredEntry, RestoredLinks, Vault, plan_link_updates, plan_restore,
};

use super::change_text;
use super::target::UndoTarget;
use crate::diff::{DiffLimits, DiffSet, FileDiff};
use crate::display_text::{escape_line, escape_text};
use crate::error::AppError;
use crate::null_context::NullContext;
use crate::text_style::TextStyle;

/// Larger files are not compared.
const MAX_COMPARED_BYTES: u64 = 16 << 20;
/// Moved folders listed by name; the rest is counted.
const LISTED_FOLDERS: usize = 20;

/// The vault, the changes to make to it, and the store with the contents.
pub struct UndoPreview {
    vault: Arc<Vault>,
    folder: Arc<RunFolder>,
    /// Changes to make, with all decisions.
    wanted: Vec<VaultChange>,
    /// Notes whose links are rewritten afterwards.
    links: Vec<RestoredLinks>,
    /// Paths of notes with links that stay, by decision.
    kept: Vec<String>,
    /// Links in notes that were written before are older than the run.
    since: Timestamp,
    /// Folders that go to the trash without a comparison, by decision.
    uncompared: Vec<String>,
    remarks: Vec<String>,
    limits: DiffLimits,
    /// Colours of the screen.
    style: TextStyle,
    shown: Mutex<Option<(String, String)>>,
}

/// State of the preview at one moment.
pub(super) struct UndoView {
    pub(super) sentence: String,
    pub(super) folders: Vec<String>,
    pub(super) differences: DiffSet,
}

impl UndoPreview {
    pub(super) fn new(
        (vault, folder): (&Arc<Vault>, &Arc<RunFolder>),
        found: &RestorePlan,
        target: &UndoTarget,
        limits: DiffLimits,
        style: TextStyle,
    ) -> UndoPreview {
        UndoPreview {
            vault: vault.clone(),
            folder: folder.clone(),
            wanted: found.changes(),
            links: found.links.clone(),
            kept: found.dead_links.iter().map(|(path, _)| path.clone()).collect(),
            since: target.since,
            uncompared: found.uncompared.clone(),
            remarks: change_text::remarks(found, &target.irreversible),
            limits,
            style,
            shown: Mutex::default(),
        }
    }

    /// Returns the changes to make, without those of links.
    pub(super) fn wanted(&self) -> &[VaultChange] {
        &self.wanted
    }

    /// Returns the notes whose links are rewritten after the changes.
    pub(super) fn links(&self) -> &[RestoredLinks] {
        &self.links
    }

    /// Returns all changes, in order.
    pub(super) fn changes(&self) -> Vec<VaultChange> {
        self.wanted.iter().cloned().chain(self.links.iter().map(RestoredLinks::change)).collect()
    }

    /// Returns the preview for the current state of the vault.
    pub(super) fn view(&self) -> Result<(UndoView, RestorePlan), AppError> {
        let unreadable = |fault: Fault| AppError::io("read the vault", fault.message);
        let choices = RestoreChoices { overwrite: &self.uncompared, ..RestoreChoices::default() };
        let mut found = plan_restore(&self.vault, &self.wanted, choices, &NullContext).map_err(unreadable)?;
        let choices = RestoreChoices { keep: &self.kept, ..choices };
        plan_link_updates(&self.vault, &mut found, choices, self.since, &NullContext).map_err(unreadable)?;
        let mut differences = DiffSet::new(self.limits.clone());
        // In the order of their names, for the reader.
        let mut files: Vec<&RestoredEntry> =
            found.restored.iter().filter(|file| file.kind == EntryKind::File).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let links = links_by_path(&found.links);
        for file in files {
            self.compare(file, &links, &mut differences)?;
        }
        let sentence = change_text::summarize_changes(&found.changes(), found.links.len());
        Ok((UndoView { sentence, folders: moved_folders(&found.restored), differences }, found))
    }

    fn compare(
        &self,
        file: &RestoredEntry,
        links: &HashMap<&str, &RestoredLinks>,
        differences: &mut DiffSet,
    ) -> Result<(), AppError> {
        let size = [file.before, file.after].into_iter().flatten().map(|state| state.bytes).max();
        if !differences.has_room() || size.is_some_and(|bytes| bytes > MAX_COMPARED_BYTES) {
            differences.leave_out();
            return Ok(());
        }
        let same = file.before.map(|state| state.hash) == file.after.map(|state| state.hash);
        let (before, after) = match same {
            // Only the name changes.
            true => (None, None),
            false => {
                let now = self.current_content(file)?;
                // The text with other links is not stored anywhere before it is written.
                let links = links.get(file.path.as_str());
                let rewritten = links.zip(now.as_deref()).and_then(|(links, now)| links.apply_to(now));
                let after = match (links, rewritten) {
                    (Some(_), rewritten) => rewritten,
                    (None, _) => self.stored_content(file.after.as_ref())?,
                };
                (now, after)
            }
        };
        differences.add(&FileDiff {
            path: &file.path,
            moved_from: file.from.as_deref(),
            before: before.as_deref(),
            after: after.as_deref(),
        });
        Ok(())
    }

    fn current_content(&self, file: &RestoredEntry) -> Result<Option<Vec<u8>>, AppError> {
        if file.before.is_none() {
            return Ok(None);
        }
        content(&self.vault, file.from.as_deref().unwrap_or(&file.path))
    }

    fn stored_content(&self, state: Option<&FileState>) -> Result<Option<Vec<u8>>, AppError> {
        state.map(|state| stored(&self.folder, state)).transpose()
    }

    /// Returns the lines for the user.
    fn lines(&self, view: &UndoView, style: TextStyle) -> Vec<String> {
        let mut lines = vec![style.bold(&view.sentence)];
        lines.extend(view.folders.iter().map(|line| format!("{} {line}", style.odd("moved"))));
        lines.extend(view.differences.render(style));
        lines.extend(self.remarks.iter().map(|line| style.odd(line)));
        lines
    }

    /// Returns the lines that show what would be restored now.
    pub fn render(&self, style: TextStyle) -> Result<Vec<String>, AppError> {
        Ok(self.lines(&self.view()?.0, style))
    }

    fn forecast(&self) -> Forecast {
        let (view, found) = match self.view() {
            Ok(seen) => seen,
            Err(error) => {
                return Forecast { calls: None, ..Forecast::impossible(escape_text(&error.message)) };
            }
        };
        let rest = |style: TextStyle| self.lines(&view, style).split_off(1).join("\n");
        let (text, coloured) = (rest(TextStyle::plain()), rest(self.style));
        let conflicts = found.conflicts.iter().map(|conflict| escape_line(&conflict.words()));
        let differs = conflicts.chain(self.unplanned_links(&found)).collect();
        let fingerprint = canonical_hash(&serde_json::json!({
            "changes": found.changes(),
            "links": found.links,
            "conflicts": found.conflicts,
        }));
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some((text.clone(), coloured));
        Forecast {
            headline: view.sentence,
            text,
            fingerprint,
            differs,
            calls: None,
            runs_unasked: false,
            refusal: None,
        }
    }

    /// Returns lines about links that were written after this undo was planned, which it does not rewrite.
    fn unplanned_links(&self, found: &RestorePlan) -> Vec<String> {
        let (planned, now) = (links_by_path(&self.links), links_by_path(&found.links));
        let new = found.links.iter().filter(|links| planned.get(links.path.as_str()) != Some(links));
        let gone = self.links.iter().filter(|links| !now.contains_key(links.path.as_str()));
        let line = |links: &RestoredLinks| {
            let path = escape_line(&links.path);
            format!(
                "{path} was edited meanwhile: its links are not updated unless you answer no and begin again"
            )
        };
        new.chain(gone).map(line).collect()
    }

    /// Returns a text with the last preview in it replaced by its coloured form.
    pub fn coloured(&self, text: &str) -> String {
        match &*self.shown.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((plain, coloured)) if !plain.is_empty() => text.replacen(plain, coloured, 1),
            Some(_) | None => text.to_owned(),
        }
    }
}

/// Returns the current content of a file of the vault.
pub(super) fn content(vault: &Vault, path: &str) -> Result<Option<Vec<u8>>, AppError> {
    let failed = |why: String| AppError::io(format_args!("read `{}`", escape_line(path)), why);
    let path = VaultPath::parse_escaped(path).map_err(|bad| failed(bad.to_string()))?;
    vault.content_at(&path, MAX_COMPARED_BYTES, &NullContext).map_err(|fault| failed(fault.message))
}

/// Returns the stored content of a file.
pub(super) fn stored(folder: &RunFolder, state: &FileState) -> Result<Vec<u8>, AppError> {
    Ok(folder.object(&DataRef { hash: state.hash, bytes: state.bytes })?)
}

fn links_by_path(links: &[RestoredLinks]) -> HashMap<&str, &RestoredLinks> {
    links.iter().map(|links| (links.path.as_str(), links)).collect()
}

fn moved_folders(restored: &[RestoredEntry]) -> Vec<String> {
    let moved: Vec<String> = restored
        .iter()
        .filter(|moved| moved.kind == EntryKind::Folder)
        .filter_map(|moved| {
            let from = moved.from.as_deref()?;
            Some(format!("{}/ to {}/", escape_line(from), escape_line(&moved.path)))
        })
        .collect();
    let left = moved.len().saturating_sub(LISTED_FOLDERS);
    let mut lines: Vec<String> = moved.into_iter().take(LISTED_FOLDERS).collect();
    lines.extend((left > 0).then(|| format!("{left} more folders")));
    lines
}

impl Forecaster for UndoPreview {
    fn forecast_plan<'a>(&'a self, _plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        Box::pin(async { self.forecast() })
    }

    fn forecast_call<'a>(&'a self, _tool: &'a ToolDecl, _args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        Box::pin(std::future::ready(None))
    }
}
