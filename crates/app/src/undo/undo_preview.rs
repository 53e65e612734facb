//! Preview of an undo, with the differences: shown in the question, and computed again after the approval.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Forecast, Forecaster, IrreversibleCall};
use envelope::{DataRef, EntryKind, FileState, ToolDecl, VaultChange, VaultPath, canonical_hash};
use journal::RunFolder;
use plan::CheckedPlan;
use serde_json::Value;
use toolkit::BoxFuture;
use vault::{RestoreChoices, RestorePlan, RestoredEntry, Vault, plan_restore};

use super::change_text;
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
        irreversible: &[IrreversibleCall],
        limits: DiffLimits,
        style: TextStyle,
    ) -> UndoPreview {
        UndoPreview {
            vault: vault.clone(),
            folder: folder.clone(),
            wanted: found.changes(),
            remarks: change_text::remarks(found, irreversible),
            limits,
            style,
            shown: Mutex::default(),
        }
    }

    /// Returns the changes to make.
    pub(super) fn wanted(&self) -> &[VaultChange] {
        &self.wanted
    }

    /// Returns the preview for the current state of the vault.
    pub(super) fn view(&self) -> Result<(UndoView, RestorePlan), AppError> {
        let found = plan_restore(&self.vault, &self.wanted, RestoreChoices::default(), &NullContext)
            .map_err(|fault| AppError::io("read the vault", fault.message))?;
        let mut differences = DiffSet::new(self.limits.clone());
        // In the order of their names, for the reader.
        let mut files: Vec<&RestoredEntry> =
            found.restored.iter().filter(|file| file.kind == EntryKind::File).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        for file in files {
            self.compare(file, &mut differences)?;
        }
        let sentence = change_text::summarize_changes(&found.changes());
        Ok((UndoView { sentence, folders: moved_folders(&found.restored), differences }, found))
    }

    fn compare(&self, file: &RestoredEntry, differences: &mut DiffSet) -> Result<(), AppError> {
        let size = [file.before, file.after].into_iter().flatten().map(|state| state.bytes).max();
        if !differences.has_room() || size.is_some_and(|bytes| bytes > MAX_COMPARED_BYTES) {
            differences.leave_out();
            return Ok(());
        }
        let same = file.before.map(|state| state.hash) == file.after.map(|state| state.hash);
        let (before, after) = match same {
            // Only the name changes.
            true => (None, None),
            false => (self.current_content(file)?, self.stored_content(file.after.as_ref())?),
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
        let differs = found.conflicts.iter().map(|conflict| escape_line(&conflict.words())).collect();
        let fingerprint = canonical_hash(&serde_json::json!({
            "changes": found.changes(),
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
    let path = VaultPath::parse(path).map_err(|bad| failed(bad.to_string()))?;
    vault.content_at(&path, MAX_COMPARED_BYTES, &NullContext).map_err(|fault| failed(fault.message))
}

/// Returns the stored content of a file.
pub(super) fn stored(folder: &RunFolder, state: &FileState) -> Result<Vec<u8>, AppError> {
    Ok(folder.object(&DataRef { hash: state.hash, bytes: state.bytes })?)
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
