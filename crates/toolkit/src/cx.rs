//! What a tool may touch while it runs, and nothing more.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use envelope::{
    Artifact, CallId, Change, Created, DataRef, Deleted, Effects, EntryKind, Failure, Fault, Modified,
    Renamed, RunId, SideEffect,
};
use serde_json::{Map, Value};

use crate::{ArtifactSink, CancelToken, ObjectStore};

/// How far a long call has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub done: u64,
    pub total: Option<u64>,
    pub message: String,
}

/// Whose decision lets a call run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermittedBy {
    /// The user approved this call or the plan that shows it, or lets every call run.
    User,
    /// A rule of the settings, or nothing that stands against it. Nobody has seen this call.
    Rule,
}

/// Where progress goes.
pub type ProgressSink = Arc<dyn Fn(Progress) + Send + Sync>;

/// Handed to a tool for one call. Cheap to clone into a blocking task.
#[derive(Clone)]
pub struct ToolCx(Arc<Inner>);

struct Inner {
    call_id: CallId,
    cancel: CancelToken,
    progress: Option<ProgressSink>,
    store: Option<Arc<dyn ObjectStore>>,
    artifacts: Option<Arc<dyn ArtifactSink>>,
    /// Given when it is the call's turn.
    context: OnceLock<Arc<Map<String, Value>>>,
    seen: Mutex<Seen>,
    /// Set once somebody has approved exactly the changes that the call wrote down.
    held_to_intent: OnceLock<()>,
    run: OnceLock<RunId>,
    permitted_by: OnceLock<PermittedBy>,
    /// What waits until the result is on record.
    waiting: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

/// What the call reported while it ran; kept outside the tool's future, so that a timeout loses nothing.
#[derive(Debug, Default)]
pub struct Seen {
    pub effects: Effects,
    /// The changes to the vault among the effects, in order, each with what undoes it.
    pub changes: Vec<Change>,
    /// The files that the call left beside its record.
    pub artifacts: Vec<Artifact>,
    /// Changes asked for in what later calls see.
    pub context: Vec<(String, Value)>,
}

impl ToolCx {
    pub fn new(call_id: CallId, cancel: CancelToken, progress: Option<ProgressSink>) -> ToolCx {
        ToolCx::with_store(call_id, cancel, progress, None)
    }

    /// For a call whose run keeps what it overwrites.
    pub fn with_store(
        call_id: CallId,
        cancel: CancelToken,
        progress: Option<ProgressSink>,
        store: Option<Arc<dyn ObjectStore>>,
    ) -> ToolCx {
        ToolCx::with_places(call_id, cancel, progress, store, None)
    }

    /// For a call whose run keeps what it overwrites and has a place for what it leaves.
    pub fn with_places(
        call_id: CallId,
        cancel: CancelToken,
        progress: Option<ProgressSink>,
        store: Option<Arc<dyn ObjectStore>>,
        artifacts: Option<Arc<dyn ArtifactSink>>,
    ) -> ToolCx {
        ToolCx(Arc::new(Inner {
            call_id,
            cancel,
            progress,
            store,
            artifacts,
            context: OnceLock::new(),
            seen: Mutex::default(),
            held_to_intent: OnceLock::new(),
            run: OnceLock::new(),
            permitted_by: OnceLock::new(),
            waiting: Mutex::default(),
        }))
    }

    /// For a call of this run.
    #[must_use]
    pub fn of_run(self, run: RunId) -> ToolCx {
        let _named_before = self.0.run.set(run);
        self
    }

    /// Records whose decision lets the call run. Called by the gate, once; the first time counts.
    pub fn permit(&self, by: PermittedBy) {
        let _decided_before = self.0.permitted_by.set(by);
    }

    /// Whose decision lets the call run. A rule's, unless the gate has said otherwise.
    pub fn permitted_by(&self) -> PermittedBy {
        self.0.permitted_by.get().copied().unwrap_or(PermittedBy::Rule)
    }

    /// The run that the call belongs to: what it leaves running is this run's and no other's.
    pub fn run_id(&self) -> Option<&RunId> {
        self.0.run.get()
    }

    /// Lets the call make exactly the changes that it wrote down, and no other. Called by the gate.
    pub fn hold_to_intent(&self) {
        let _held_before = self.0.held_to_intent.set(());
    }

    /// Whether the call may make exactly the changes that it wrote down: a file that is moved must still hold what it
    /// held then.
    pub fn is_held_to_intent(&self) -> bool {
        self.0.held_to_intent.get().is_some()
    }

    /// Has something done once the call has succeeded and its result is on record; not at all if it never is.
    pub fn once_recorded(&self, then: impl FnOnce() + Send + 'static) {
        self.waiting().push(Box::new(then));
    }

    /// The result is on record. Called by the gate.
    pub fn recorded(&self) {
        let waiting = std::mem::take(&mut *self.waiting());
        waiting.into_iter().for_each(|then| then());
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Box<dyn FnOnce() + Send>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where to put what is too large for a result; none where the run keeps no artifacts.
    pub fn artifacts(&self) -> Option<&Arc<dyn ArtifactSink>> {
        self.0.artifacts.as_ref()
    }

    /// Reports an artifact that is complete.
    pub fn left(&self, artifact: Artifact) {
        self.seen().artifacts.push(artifact);
    }

    /// Takes back what [`ToolCx::left`] reported: it is not to be named any more.
    pub fn withdraw(&self) -> Vec<Artifact> {
        std::mem::take(&mut self.seen().artifacts)
    }

    /// Hands over what earlier calls of the run left, when it is this call's turn. The first time counts.
    pub fn enter(&self, context: Arc<Map<String, Value>>) {
        let _entered_before = self.0.context.set(context);
    }

    /// Stays the same when the call is dispatched again after a crash: usable as an idempotency key.
    pub fn call_id(&self) -> &CallId {
        &self.0.call_id
    }

    pub fn cancel(&self) -> &CancelToken {
        &self.0.cancel
    }

    /// Tells people how far the call has come.
    pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<String>) {
        if let Some(sink) = &self.0.progress {
            sink(Progress { done, total, message: message.into() });
        }
    }

    /// What an earlier call of the run left for later ones.
    pub fn context(&self, key: &str) -> Option<&Value> {
        self.0.context.get().and_then(|context| context.get(key))
    }

    /// Asks that later calls see `value` under `key`. Honoured only for a call that ran alone.
    pub fn modify_context(&self, key: impl Into<String>, value: Value) {
        self.seen().context.push((key.into(), value));
    }

    /// Keeps content that is about to be overwritten or removed. Durable when this returns. Without a store
    /// nothing is kept, and nothing can be taken back.
    pub fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.0.store.as_ref().map(|store| store.keep(content)).transpose()
    }

    /// Writes content that an earlier call kept to `into`.
    pub fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        match &self.0.store {
            Some(store) => store.fetch(wanted, into),
            None => Err(Fault::new(Failure::SetupRequired, "this call has no store of kept content")),
        }
    }

    /// Reports a change to the vault the moment it is seen, in the effects and with what undoes it.
    pub fn changed(&self, change: Change) {
        match &change {
            Change::FolderCreated { path, .. } => self.created(path, EntryKind::Folder),
            Change::FolderRemoved { path, .. } => self.deleted(path, EntryKind::Folder, false),
            Change::FileCreated { path, .. } => self.created(path, EntryKind::File),
            Change::FileRemoved { path, .. } => self.deleted(path, EntryKind::File, false),
            Change::FileReplaced { path, before, after } => {
                self.modified(path, Some(before.etag()), Some(after.etag()));
            }
            Change::Moved { from, to, kind, .. } => match (in_trash(from), in_trash(to)) {
                (false, true) => self.deleted(from, *kind, true),
                // Taken out of the trash again, it is there again.
                (true, false) => self.created(to, *kind),
                (true, true) | (false, false) => self.renamed(from, to, *kind),
            },
        }
        self.seen().changes.push(change);
    }

    pub fn created(&self, path: impl Into<String>, kind: EntryKind) {
        let mut seen = self.seen();
        seen.effects.observe(match kind {
            EntryKind::File => SideEffect::CreateFile,
            EntryKind::Folder => SideEffect::CreateFolder,
        });
        seen.effects.created.push(Created { path: path.into(), kind });
    }

    pub fn modified(&self, path: impl Into<String>, before_etag: Option<String>, after_etag: Option<String>) {
        let mut seen = self.seen();
        seen.effects.observe(SideEffect::ModifyFile);
        seen.effects.modified.push(Modified {
            path: path.into(),
            kind: EntryKind::File,
            before_etag,
            after_etag,
        });
    }

    pub fn deleted(&self, path: impl Into<String>, kind: EntryKind, trashed: bool) {
        let mut seen = self.seen();
        seen.effects.observe(match kind {
            EntryKind::File => SideEffect::DeleteFile,
            EntryKind::Folder => SideEffect::DeleteFolder,
        });
        seen.effects.deleted.push(Deleted { path: path.into(), kind, trashed: Some(trashed) });
    }

    pub fn renamed(&self, from: impl Into<String>, to: impl Into<String>, kind: EntryKind) {
        let mut seen = self.seen();
        seen.effects.observe(match kind {
            EntryKind::File => SideEffect::RenameFile,
            EntryKind::Folder => SideEffect::RenameFolder,
        });
        seen.effects.renamed.push(Renamed { from: from.into(), to: to.into() });
    }

    /// An effect that has no path.
    pub fn observed(&self, effect: SideEffect) {
        self.seen().effects.observe(effect);
    }

    /// Takes over what an earlier dispatch of the same call was found to have done.
    pub fn carry(&self, found: &Seen) {
        let mut seen = self.seen();
        seen.effects.absorb(&found.effects);
        seen.changes.extend_from_slice(&found.changes);
        seen.artifacts.extend_from_slice(&found.artifacts);
    }

    /// Looks at what was reported so far.
    pub fn with_seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen())
    }

    /// Takes what was reported so far.
    pub fn take_seen(&self) -> Seen {
        std::mem::take(&mut *self.seen())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // A tool that panicked while reporting leaves a list that is still true.
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a path lies in the folder that deleted files are moved to.
fn in_trash(path: &str) -> bool {
    path.split('/').next() == Some(".trash")
}
