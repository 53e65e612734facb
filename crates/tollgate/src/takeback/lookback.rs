//! What would be put back, with the differences: shown in the question, and looked at again when the yes comes.

use std::sync::{Arc, Mutex, PoisonError};

use engine::{Answer, ApprovalRequest, Approver, ConfirmRequest, Forecast, Forecaster, Irreversible};
use engine::{UncertainCall, UncertainVerdict, Verdict};
use envelope::{Change, DataRef, EntryKind, FileState, ToolDecl, VaultPath, canonical_hash};
use journal::RunFolder;
use plan::CheckedPlan;
use serde_json::Value;
use toolkit::BoxFuture;
use vault::{Restoration, RestoreChoices, Restored, Vault, Witness, foresee_restore};

use super::words;
use crate::ask::Asker;
use crate::diff::{Changes, FileDiff, Limits};
use crate::screen::Paint;
use crate::stop::Stop;
use crate::visible::{one_line, visible};

/// Files over this size are not compared.
const MAX_BYTES: u64 = 16 << 20;
/// Moved folders that are named; the rest is counted.
const NAMED: usize = 20;

/// Looks without changing anything.
pub(super) struct Onlooker;

impl Witness for Onlooker {
    fn saw(&self, _change: Change) {}

    fn may_go_on(&self) -> Result<(), envelope::Fault> {
        Ok(())
    }
}

/// The vault with the changes that are to be made to it, and the store that has the contents.
pub(crate) struct Lookback {
    vault: Arc<Vault>,
    folder: Arc<RunFolder>,
    /// The changes that are to be made, as they were decided.
    wanted: Vec<Change>,
    remarks: Vec<String>,
    limits: Limits,
    shown: Mutex<Option<(String, String)>>,
}

/// What was found out at one moment.
pub(super) struct View {
    pub(super) sentence: String,
    pub(super) folders: Vec<String>,
    pub(super) differences: Changes,
}

impl Lookback {
    pub(super) fn new(
        (vault, folder): (&Arc<Vault>, &Arc<RunFolder>),
        found: &Restoration,
        irreversible: &[Irreversible],
        limits: Limits,
    ) -> Lookback {
        Lookback {
            vault: vault.clone(),
            folder: folder.clone(),
            wanted: found.changes(),
            remarks: words::remarks(found, irreversible),
            limits,
            shown: Mutex::default(),
        }
    }

    /// The changes to make.
    pub(super) fn wanted(&self) -> &[Change] {
        &self.wanted
    }

    /// What there is to see right now.
    pub(super) fn view(&self) -> Result<(View, Restoration), Stop> {
        let found = foresee_restore(&self.vault, &self.wanted, RestoreChoices::default(), &Onlooker)
            .map_err(|fault| Stop::io("look at the vault", fault.message))?;
        let mut differences = Changes::new(self.limits.clone());
        // In the order of their names: that is how a reader looks for them.
        let mut files: Vec<&Restored> =
            found.restored.iter().filter(|file| file.kind == EntryKind::File).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        for file in files {
            self.compare(file, &mut differences)?;
        }
        let sentence = words::sentence(&found.changes());
        Ok((View { sentence, folders: moved_folders(&found.restored), differences }, found))
    }

    fn compare(&self, file: &Restored, differences: &mut Changes) -> Result<(), Stop> {
        let size = [file.before, file.after].into_iter().flatten().map(|state| state.bytes).max();
        if !differences.has_room() || size.is_some_and(|bytes| bytes > MAX_BYTES) {
            differences.leave_out();
            return Ok(());
        }
        let same = file.before.map(|state| state.hash) == file.after.map(|state| state.hash);
        let (before, after) = match same {
            // Only its name changes.
            true => (None, None),
            false => (self.now(file)?, self.kept(file.after.as_ref())?),
        };
        differences.add(&FileDiff {
            path: &file.path,
            moved_from: file.from.as_deref(),
            before: before.as_deref(),
            after: after.as_deref(),
        });
        Ok(())
    }

    fn now(&self, file: &Restored) -> Result<Option<Vec<u8>>, Stop> {
        if file.before.is_none() {
            return Ok(None);
        }
        content(&self.vault, file.from.as_deref().unwrap_or(&file.path))
    }

    fn kept(&self, state: Option<&FileState>) -> Result<Option<Vec<u8>>, Stop> {
        state.map(|state| stored(&self.folder, state)).transpose()
    }

    /// The lines that a person sees.
    pub(super) fn lines(&self, view: &View, paint: Paint) -> Vec<String> {
        let mut lines = vec![paint.bold(&view.sentence)];
        lines.extend(view.folders.iter().map(|line| format!("{} {line}", paint.odd("moved"))));
        lines.extend(view.differences.render(paint));
        lines.extend(self.remarks.iter().map(|line| paint.odd(line)));
        lines
    }

    fn look(&self) -> Forecast {
        let (view, found) = match self.view() {
            Ok(seen) => seen,
            Err(stop) => return Forecast { calls: None, ..Forecast::impossible(visible(&stop.message)) },
        };
        let rest = |paint: Paint| self.lines(&view, paint).split_off(1).join("\n");
        let (text, coloured) = (rest(Paint::plain()), rest(Paint::stderr()));
        let differs = found.conflicts.iter().map(|conflict| one_line(&conflict.words())).collect();
        let fingerprint = canonical_hash(&serde_json::json!({
            "changes": found.changes(),
            "conflicts": found.conflicts,
        }));
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some((text.clone(), coloured));
        Forecast { headline: view.sentence, text, fingerprint, differs, calls: None, runs_unasked: false }
    }

    /// A text with what was shown last in it, in colours.
    fn coloured(&self, text: &str) -> String {
        match &*self.shown.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((plain, coloured)) if !plain.is_empty() => text.replacen(plain, coloured, 1),
            Some(_) | None => text.to_owned(),
        }
    }
}

/// What a file of the vault holds right now.
pub(super) fn content(vault: &Vault, path: &str) -> Result<Option<Vec<u8>>, Stop> {
    let failed = |why: String| Stop::io(format_args!("read `{}`", one_line(path)), why);
    let path = VaultPath::parse(path).map_err(|bad| failed(bad.to_string()))?;
    vault.content_standing_at(&path, MAX_BYTES, &Onlooker).map_err(|fault| failed(fault.message))
}

/// What was kept of a file.
pub(super) fn stored(folder: &RunFolder, state: &FileState) -> Result<Vec<u8>, Stop> {
    Ok(folder.object(&DataRef { hash: state.hash, bytes: state.bytes })?)
}

fn moved_folders(restored: &[Restored]) -> Vec<String> {
    let moved: Vec<String> = restored
        .iter()
        .filter(|moved| moved.kind == EntryKind::Folder)
        .filter_map(|moved| {
            let from = moved.from.as_deref()?;
            Some(format!("{}/ to {}/", one_line(from), one_line(&moved.path)))
        })
        .collect();
    let left = moved.len().saturating_sub(NAMED);
    let mut lines: Vec<String> = moved.into_iter().take(NAMED).collect();
    lines.extend((left > 0).then(|| format!("{left} more folders")));
    lines
}

impl Forecaster for Lookback {
    fn forecast_plan<'a>(&'a self, _plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        Box::pin(async { self.look() })
    }

    fn forecast_call<'a>(&'a self, _tool: &'a ToolDecl, _args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        Box::pin(std::future::ready(None))
    }
}

/// The person at the terminal, who sees the differences in colours.
pub(super) struct Painted {
    pub(super) asker: Asker,
    pub(super) lookback: Arc<Lookback>,
}

impl Approver for Painted {
    fn confirm<'a>(&'a self, request: &'a ConfirmRequest) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            let text = self.lookback.coloured(&request.text);
            let (run_id, binding, whole_plan) = (request.run_id.clone(), request.binding, request.whole_plan);
            let (risk, client) = (request.risk, request.client.clone());
            let painted = ConfirmRequest { run_id, text, binding, whole_plan, risk, client };
            self.asker.confirm(&painted).await
        })
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Verdict> {
        self.asker.approve(request)
    }

    fn settle<'a>(&'a self, uncertain: &'a UncertainCall) -> BoxFuture<'a, UncertainVerdict> {
        self.asker.settle(uncertain)
    }
}
