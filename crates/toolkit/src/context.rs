//! The context of one call: everything that a tool may use while it runs.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use envelope::{
    Artifact, CallId, CreatedPath, DataRef, DeletedPath, Effects, EntryKind, Failure, Fault, ModifiedFile,
    RenamedPath, RunId, SideEffect, VaultChange,
};
use serde_json::{Map, Value};

use crate::{ArtifactSink, CancelToken, ObjectStore};

/// Progress of a long call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallProgress {
    pub done: u64,
    pub total: Option<u64>,
    pub message: String,
}

/// Who permitted a call to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermittedBy {
    /// The user approved this call or the plan that contains it, or permits every call.
    User,
    /// A rule of the settings, or the absence of a rule against it. No user has seen this call.
    Rule,
}

/// Receiver of progress reports.
pub type ProgressSink = Arc<dyn Fn(CallProgress) + Send + Sync>;

/// Context of one call. Cheap to clone into a blocking task.
#[derive(Clone)]
pub struct ToolCx(Arc<ToolCallState>);

struct ToolCallState {
    call_id: CallId,
    cancel: CancelToken,
    progress: Option<ProgressSink>,
    store: Option<Arc<dyn ObjectStore>>,
    artifacts: Option<Arc<dyn ArtifactSink>>,
    /// Set when it is the call's turn.
    context: OnceLock<Arc<Map<String, Value>>>,
    report: Mutex<CallReport>,
    /// Set once a user has approved exactly the changes in the call's intent.
    held_to_intent: OnceLock<()>,
    run: OnceLock<RunId>,
    permitted_by: OnceLock<PermittedBy>,
    /// Actions deferred until the result is recorded.
    waiting: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

/// Report of a call while it runs. Stored outside the tool's future, so that a timeout loses nothing.
#[derive(Debug, Default)]
pub struct CallReport {
    pub effects: Effects,
    /// The vault changes among the effects, in order, each with the data that undoes it.
    pub changes: Vec<VaultChange>,
    /// Artifacts that the call left beside its record.
    pub artifacts: Vec<Artifact>,
    /// Requested changes to the context of later calls.
    pub context: Vec<(String, Value)>,
}

impl ToolCx {
    pub fn new(call_id: CallId, cancel: CancelToken, progress: Option<ProgressSink>) -> ToolCx {
        ToolCx::with_store(call_id, cancel, progress, None)
    }

    /// Creates the context of a call whose run stores overwritten content.
    pub fn with_store(
        call_id: CallId,
        cancel: CancelToken,
        progress: Option<ProgressSink>,
        store: Option<Arc<dyn ObjectStore>>,
    ) -> ToolCx {
        ToolCx::with_storage(call_id, cancel, progress, store, None)
    }

    /// Creates the context of a call whose run stores overwritten content and artifacts.
    pub fn with_storage(
        call_id: CallId,
        cancel: CancelToken,
        progress: Option<ProgressSink>,
        store: Option<Arc<dyn ObjectStore>>,
        artifacts: Option<Arc<dyn ArtifactSink>>,
    ) -> ToolCx {
        ToolCx(Arc::new(ToolCallState {
            call_id,
            cancel,
            progress,
            store,
            artifacts,
            context: OnceLock::new(),
            report: Mutex::default(),
            held_to_intent: OnceLock::new(),
            run: OnceLock::new(),
            permitted_by: OnceLock::new(),
            waiting: Mutex::default(),
        }))
    }

    /// Sets the run that the call belongs to.
    #[must_use]
    pub fn of_run(self, run: RunId) -> ToolCx {
        let _named_before = self.0.run.set(run);
        self
    }

    /// Records who permitted the call. Called by the engine; only the first call has an effect.
    pub fn permit(&self, by: PermittedBy) {
        let _decided_before = self.0.permitted_by.set(by);
    }

    /// Returns who permitted the call: a rule, unless the engine has recorded something else.
    pub fn permitted_by(&self) -> PermittedBy {
        self.0.permitted_by.get().copied().unwrap_or(PermittedBy::Rule)
    }

    /// Returns the run of the call. Things that the call leaves running belong to this run.
    pub fn run_id(&self) -> Option<&RunId> {
        self.0.run.get()
    }

    /// Restricts the call to exactly the changes in its intent. Called by the engine.
    pub fn hold_to_intent(&self) {
        let _held_before = self.0.held_to_intent.set(());
    }

    /// Returns true if the call is restricted to the changes in its intent: a file that is moved must still have
    /// the content that it had when the intent was written.
    pub fn is_held_to_intent(&self) -> bool {
        self.0.held_to_intent.get().is_some()
    }

    /// Defers an action until the call has succeeded and its result is recorded. The action is dropped if that
    /// never happens.
    pub fn once_recorded(&self, then: impl FnOnce() + Send + 'static) {
        self.waiting().push(Box::new(then));
    }

    /// Runs the deferred actions, because the result is recorded. Called by the engine.
    pub fn run_recorded_actions(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        waiting.into_iter().for_each(|then| then());
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Box<dyn FnOnce() + Send>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sink for data that is too large for a result, or `None` if the run stores no artifacts.
    pub fn artifacts(&self) -> Option<&Arc<dyn ArtifactSink>> {
        self.0.artifacts.as_ref()
    }

    /// Reports a complete artifact.
    pub fn report_artifact(&self, artifact: Artifact) {
        self.report().artifacts.push(artifact);
    }

    /// Withdraws an artifact reported with [`ToolCx::report_artifact`]; the result will not name it.
    pub fn withdraw_artifacts(&self) -> Vec<Artifact> {
        std::mem::take(&mut self.report().artifacts)
    }

    /// Sets the context left by earlier calls of the run, when it is this call's turn. Only the first call has an
    /// effect.
    pub fn set_context(&self, context: Arc<Map<String, Value>>) {
        let _entered_before = self.0.context.set(context);
    }

    /// Returns the id of the call. It stays the same when the call is dispatched again after a crash, so it can
    /// serve as an idempotency key.
    pub fn call_id(&self) -> &CallId {
        &self.0.call_id
    }

    pub fn cancel(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// Reports the progress of the call.
    pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<String>) {
        if let Some(sink) = &self.0.progress {
            sink(CallProgress { done, total, message: message.into() });
        }
    }

    /// Returns a value that an earlier call of the run left for later ones.
    pub fn context(&self, key: &str) -> Option<&Value> {
        self.0.context.get().and_then(|context| context.get(key))
    }

    /// Requests that later calls see `value` under `key`. Honoured only for a call that ran alone.
    pub fn modify_context(&self, key: impl Into<String>, value: Value) {
        self.report().context.push((key.into(), value));
    }

    /// Stores content that is about to be overwritten or removed. Durable when this returns. Without a store
    /// nothing is stored, and the change cannot be undone.
    pub fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.0.store.as_ref().map(|store| store.keep(content)).transpose()
    }

    /// Writes content that an earlier call stored to `into`.
    pub fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        match &self.0.store {
            Some(store) => store.fetch(wanted, into),
            None => Err(Fault::new(Failure::SetupRequired, "this call has no store of kept content")),
        }
    }

    /// Reports a change to the vault as soon as it is observed: its effect and the data that undoes it.
    pub fn changed(&self, change: VaultChange) {
        match &change {
            VaultChange::FolderCreated { path, .. } => self.created(path, EntryKind::Folder),
            VaultChange::FolderRemoved { path, .. } => self.deleted(path, EntryKind::Folder, false),
            VaultChange::FileCreated { path, .. } => self.created(path, EntryKind::File),
            VaultChange::FileRemoved { path, .. } => self.deleted(path, EntryKind::File, false),
            VaultChange::FileReplaced { path, before, after } => {
                self.modified(path, Some(before.etag()), Some(after.etag()));
            }
            VaultChange::Moved { from, to, kind, .. } => match (in_trash(from), in_trash(to)) {
                (false, true) => self.deleted(from, *kind, true),
                // A file restored from the trash exists again.
                (true, false) => self.created(to, *kind),
                (true, true) | (false, false) => self.renamed(from, to, *kind),
            },
        }
        self.report().changes.push(change);
    }

    pub fn created(&self, path: impl Into<String>, kind: EntryKind) {
        let mut report = self.report();
        report.effects.add_side_effect(match kind {
            EntryKind::File => SideEffect::CreateFile,
            EntryKind::Folder => SideEffect::CreateFolder,
        });
        report.effects.created.push(CreatedPath { path: path.into(), kind });
    }

    pub fn modified(&self, path: impl Into<String>, before_etag: Option<String>, after_etag: Option<String>) {
        let mut report = self.report();
        report.effects.add_side_effect(SideEffect::ModifyFile);
        report.effects.modified.push(ModifiedFile {
            path: path.into(),
            kind: EntryKind::File,
            before_etag,
            after_etag,
        });
    }

    pub fn deleted(&self, path: impl Into<String>, kind: EntryKind, trashed: bool) {
        let mut report = self.report();
        report.effects.add_side_effect(match kind {
            EntryKind::File => SideEffect::DeleteFile,
            EntryKind::Folder => SideEffect::DeleteFolder,
        });
        report.effects.deleted.push(DeletedPath { path: path.into(), kind, trashed: Some(trashed) });
    }

    pub fn renamed(&self, from: impl Into<String>, to: impl Into<String>, kind: EntryKind) {
        let mut report = self.report();
        report.effects.add_side_effect(match kind {
            EntryKind::File => SideEffect::RenameFile,
            EntryKind::Folder => SideEffect::RenameFolder,
        });
        report.effects.renamed.push(RenamedPath { from: from.into(), to: to.into() });
    }

    /// Reports an effect that has no path.
    pub fn observed(&self, effect: SideEffect) {
        self.report().effects.add_side_effect(effect);
    }

    /// Adopts the effects that an earlier dispatch of the same call was found to have had.
    pub fn merge_report(&self, found: &CallReport) {
        let mut report = self.report();
        report.effects.merge(&found.effects);
        report.changes.extend_from_slice(&found.changes);
        report.artifacts.extend_from_slice(&found.artifacts);
    }

    /// Calls `look` with the report so far.
    pub fn with_report<T>(&self, look: impl FnOnce(&CallReport) -> T) -> T {
        look(&self.report())
    }

    /// Takes the report so far, leaving an empty one.
    pub fn take_report(&self) -> CallReport {
        std::mem::take(&mut *self.report())
    }

    fn report(&self) -> MutexGuard<'_, CallReport> {
        // A tool that panicked while reporting leaves a report that is still valid.
        self.0.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if a path is in the folder that deleted files are moved to.
fn in_trash(path: &str) -> bool {
    path.split('/').next() == Some(".trash")
}
