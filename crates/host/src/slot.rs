//! The slot through which the tools of one vault reach their host: the attached one, or else the headless host.
//!
//! A request goes to the host that is attached when it is made. It fails with a clear error if that host leaves or
//! misses its deadline, and the next request goes to the headless host.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use envelope::{Failure, Fault, FileState, Hash, SideEffect, VaultPath};
use toolkit::{CancelCause, ToolCx};
use vault::{
    ChangeStep, FileContent, IoContext, NoteFuture, NoteStatus, NoteUpdate, NoteWrite, OpenNotes, Vault,
    run_blocking, wait_for, with_unknown_outcome,
};

use crate::connection::{AttachedHost, HostConnection as _};
use crate::headless::{HeadlessHost, HeadlessNotes};
use crate::position::EditorRange;
use crate::prepared::{PreparedEdit, PreparedFiles, PreparedHostCommand};
use crate::protocol::{
    CommandInfo, CursorPlacement, EditRequest, HostCommandResult, HostNotice, HostReply, HostRequest,
    NoteWriteResult, OpenRequest, OpenedLeaf, SelectedText, WorkspaceContext,
};
use crate::registry::HostRegistry;

/// Time that the vault grants beyond the deadline of a request, so that the request ends first.
const DEADLINE_GRACE: Duration = Duration::from_secs(1);

/// The host of one vault as its tools use it. Cheap to clone; all clones are the same slot.
#[derive(Clone)]
pub struct HostSlot {
    headless: HeadlessHost,
    connected: Arc<ConnectedHosts>,
    /// In a preview: the host whose workspace is copied before the first request.
    preview_of: Option<Arc<PreviewSource>>,
}

/// The attached host beside a headless one. Holds no vault: the vault holds this.
struct ConnectedHosts {
    headless: Arc<HeadlessNotes>,
    registry: HostRegistry,
}

struct PreviewSource {
    host: Arc<AttachedHost>,
    loaded: OnceLock<Result<(), Fault>>,
}

/// The host that a request goes to.
enum CurrentHost {
    Headless,
    Attached(Arc<AttachedHost>),
}

impl HostSlot {
    /// Creates the slot of a vault with a registry of its own. From now on the vault reads and writes open notes
    /// through the slot.
    pub fn new(headless: HeadlessHost) -> HostSlot {
        HostSlot::with_registry(headless, &HostRegistry::default())
    }

    /// Creates the slot of a vault that shares the attached host with other slots of the registry.
    pub fn with_registry(headless: HeadlessHost, registry: &HostRegistry) -> HostSlot {
        registry.add(headless.notes());
        let connected =
            Arc::new(ConnectedHosts { headless: headless.notes().clone(), registry: registry.clone() });
        headless.vault().attach(connected.clone());
        HostSlot { headless, connected, preview_of: None }
    }

    /// Returns the registry at which hosts attach.
    pub fn registry(&self) -> &HostRegistry {
        &self.connected.registry
    }

    /// Returns a slot over an overlay of the vault, for a preview. It begins with what is open now; nothing that
    /// is done to it changes a host.
    #[must_use]
    pub fn with_overlay(&self, overlay: Arc<Vault>) -> HostSlot {
        let slot = HostSlot::new(self.headless.with_overlay(overlay));
        let source = self.connected.attached().map(|host| PreviewSource { host, loaded: OnceLock::new() });
        HostSlot { preview_of: source.map(Arc::new), ..slot }
    }

    /// Returns the vault whose notes the host shows.
    pub(crate) fn vault(&self) -> &Arc<Vault> {
        self.headless.vault()
    }

    pub(crate) async fn context(&self, cx: &ToolCx) -> Result<WorkspaceContext, Fault> {
        let HostReply::Context(context) = self.request(cx, HostRequest::GetContext).await? else {
            return Err(unexpected());
        };
        Ok(context)
    }

    /// Returns the selection of the active note. Fails with `precondition_failed` if no note is active.
    pub(crate) async fn selection(&self, cx: &ToolCx) -> Result<SelectedText, Fault> {
        let HostReply::Selection(selected) = self.request(cx, HostRequest::GetSelection).await? else {
            return Err(unexpected());
        };
        Ok(selected)
    }

    pub(crate) async fn select(&self, cx: &ToolCx, range: EditorRange) -> Result<SelectedText, Fault> {
        let HostReply::Selection(selected) = self.request(cx, HostRequest::SetSelection { range }).await?
        else {
            return Err(unexpected());
        };
        Ok(selected)
    }

    pub(crate) async fn open_file(&self, cx: &ToolCx, request: OpenRequest) -> Result<OpenedLeaf, Fault> {
        let HostReply::Opened(opened) = self.request(cx, HostRequest::OpenFile(request)).await? else {
            return Err(unexpected());
        };
        Ok(opened)
    }

    pub(crate) async fn list_commands(&self, cx: &ToolCx) -> Result<Vec<CommandInfo>, Fault> {
        let request = HostRequest::ListCommands;
        let reply = match &self.preview_of {
            Some(source) => source.host.request(request).await?,
            None => self.request(cx, request).await?,
        };
        let HostReply::Commands(commands) = reply else { return Err(unexpected()) };
        Ok(commands)
    }

    /// Works out an edit of the active note and what it changes on disk. Changes nothing.
    pub(crate) async fn prepare_edit(&self, cx: &ToolCx, edit: &EditRequest) -> Result<PreparedEdit, Fault> {
        let (host, request) = (self.current(), HostRequest::PrepareEdit(edit.clone()));
        let number = host.number();
        let HostReply::EditPlan(plan) = self.request_to(host, cx, request).await? else {
            return Err(unexpected());
        };
        let vault = self.vault().clone();
        run_blocking(cx, move |io| PreparedEdit::new(number, &vault, *plan, io)).await
    }

    /// Applies a prepared edit and saves it. Returns whether the note is left unsaved. An edit that cannot be
    /// saved is taken back.
    pub(crate) async fn apply_edit(&self, cx: &ToolCx, prepared: &PreparedEdit) -> Result<bool, Fault> {
        let (slot, prepared) = (self.clone(), prepared.clone());
        let cursor = CursorPlacement::At(prepared.outcome.cursor_after);
        run_blocking(cx, move |io| slot.apply_edit_on_thread(&prepared, cursor, io)).await
    }

    /// Works out what a command would do. Changes nothing. Fails with `not_found` for an unknown id.
    pub(crate) async fn prepare_command(&self, cx: &ToolCx, id: &str) -> Result<PreparedHostCommand, Fault> {
        let host = match &self.preview_of {
            Some(source) => CurrentHost::Attached(source.host.clone()),
            None => self.current(),
        };
        let number = host.number();
        let HostReply::CommandPlan(plan) =
            self.request_to(host, cx, HostRequest::PrepareCommand { id: id.to_owned() }).await?
        else {
            return Err(unexpected());
        };
        let (vault, call) = (self.vault().clone(), cx.call_id().clone());
        run_blocking(cx, move |io| PreparedHostCommand::new(number, &vault, *plan, &call, io)).await
    }

    /// Runs a prepared command.
    pub(crate) async fn run_command(
        &self,
        cx: &ToolCx,
        prepared: &PreparedHostCommand,
    ) -> Result<HostCommandResult, Fault> {
        let (slot, prepared, report) = (self.clone(), prepared.clone(), cx.clone());
        run_blocking(cx, move |io| slot.run_command_on_thread(&prepared, &report, io)).await
    }

    fn apply_edit_on_thread(
        &self,
        prepared: &PreparedEdit,
        cursor: CursorPlacement,
        io: &dyn IoContext,
    ) -> Result<bool, Fault> {
        let host = self.host_of(prepared.host)?;
        let path = &prepared.outcome.path;
        let request = HostRequest::ApplyEdit {
            path: path.clone(),
            before: prepared.before,
            range: prepared.outcome.range,
            after: prepared.after.to_string(),
            cursor,
        };
        let HostReply::EditApplied { was_unsaved, unsaved } = self.request_on_thread(&host, request, io)?
        else {
            return Err(unexpected());
        };
        if let Err(fault) = self.save(&host, &prepared.files, io) {
            let after = Hash::of(prepared.after.as_bytes());
            self.notify(&host, HostNotice::RevertEdit { path: path.clone(), after });
            // A host that has left may keep the edit.
            let fault = if host.is_detached() { with_unknown_outcome(fault) } else { fault };
            return Err(if was_unsaved { both_kept(fault) } else { fault });
        }
        Ok(unsaved && prepared.files.steps.steps.is_empty())
    }

    fn run_command_on_thread(
        &self,
        prepared: &PreparedHostCommand,
        report: &ToolCx,
        io: &dyn IoContext,
    ) -> Result<HostCommandResult, Fault> {
        if let Some(why) = &prepared.unavailable {
            return Ok(HostCommandResult {
                error_message: Some(why.clone()),
                ..HostCommandResult::default()
            });
        }
        let host = self.host_of(prepared.host)?;
        let mut effects = vec![SideEffect::RunCommand];
        match &prepared.edit {
            Some(edit) => {
                if self.apply_edit_on_thread(edit, CursorPlacement::Keep, io)? {
                    effects.push(SideEffect::EditBuffer);
                }
            }
            None => self.save(&host, &prepared.files, io).map_err(|fault| match prepared.saves_notes {
                true => both_kept(fault),
                false => fault,
            })?,
        }
        if self.preview_of.is_some() {
            return Ok(HostCommandResult { executed: true, error_message: None, effects });
        }
        if matches!(host, CurrentHost::Attached(_)) {
            // Before it is sent: the reply can be lost.
            effects.iter().for_each(|effect| report.observed(*effect));
        }
        let request = HostRequest::RunCommand { id: prepared.id.clone(), opens: prepared.opens.clone() };
        let HostReply::CommandRun(ran) = self.request_on_thread(&host, request, io)? else {
            return Err(unexpected());
        };
        effects.extend(ran.effects);
        let effects = if ran.executed { effects } else { Vec::new() };
        Ok(HostCommandResult { effects, ..ran })
    }

    /// Writes prepared files, and reports to the host what was written.
    fn save(&self, host: &CurrentHost, files: &PreparedFiles, io: &dyn IoContext) -> Result<(), Fault> {
        self.vault().apply(&files.steps, io)?;
        for step in &files.steps.steps {
            if let ChangeStep::ReplaceFile { path, content, .. }
            | ChangeStep::CreateFile { path, content, .. } = step
                && let FileContent::Bytes(bytes) = content
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                self.notify(host, HostNotice::NoteSaved { path: path.clone(), text: text.to_owned() });
            }
        }
        Ok(())
    }

    /// Makes a request to the current host. Stops waiting when the call is cancelled.
    async fn request(&self, cx: &ToolCx, request: HostRequest) -> Result<HostReply, Fault> {
        self.request_to(self.current(), cx, request).await
    }

    async fn request_to(
        &self,
        host: CurrentHost,
        cx: &ToolCx,
        request: HostRequest,
    ) -> Result<HostReply, Fault> {
        match host {
            CurrentHost::Headless => {
                let slot = self.clone();
                run_blocking(cx, move |io| slot.request_on_thread(&CurrentHost::Headless, request, io)).await
            }
            CurrentHost::Attached(host) => tokio::select! {
                biased;
                cause = cx.cancel().cancelled() => Err(cancelled(cause)),
                reply = host.request(request) => reply,
            },
        }
    }

    /// Makes a request from a thread that may block.
    fn request_on_thread(
        &self,
        host: &CurrentHost,
        request: HostRequest,
        io: &dyn IoContext,
    ) -> Result<HostReply, Fault> {
        io.check_cancelled()?;
        match host {
            CurrentHost::Headless => {
                self.load_preview()?;
                self.headless.answer(&request, io)
            }
            CurrentHost::Attached(host) => {
                let has_effects = request.has_effects();
                let reply = wait_for(host.request(request), host.deadline() + DEADLINE_GRACE);
                reply.map_err(|fault| match has_effects && fault.failure == Failure::Timeout {
                    // The wait itself may have ended, which does not know what the host does.
                    true => with_unknown_outcome(fault),
                    false => fault,
                })
            }
        }
    }

    /// In a preview, copies the workspace of the attached host before the first request.
    fn load_preview(&self) -> Result<(), Fault> {
        let Some(source) = &self.preview_of else { return Ok(()) };
        let load = || {
            let request = source.host.request(HostRequest::TakeSnapshot);
            let reply = wait_for(request, source.host.deadline() + DEADLINE_GRACE)?;
            let HostReply::Snapshot(snapshot) = reply else { return Err(unexpected()) };
            self.headless.load_snapshot(&snapshot);
            Ok(())
        };
        source.loaded.get_or_init(load).clone()
    }

    fn notify(&self, host: &CurrentHost, notice: HostNotice) {
        match host {
            // The headless host is in this process: it takes every notice.
            CurrentHost::Headless => drop(self.headless.notify(notice)),
            CurrentHost::Attached(host) => host.notify(notice),
        }
    }

    fn current(&self) -> CurrentHost {
        self.connected.attached().map_or(CurrentHost::Headless, CurrentHost::Attached)
    }

    /// Returns the host that prepared something. Fails with a conflict if another one has taken its place. A
    /// preview applies everything to its own copy.
    fn host_of(&self, number: u64) -> Result<CurrentHost, Fault> {
        if self.preview_of.is_some() {
            return Ok(CurrentHost::Headless);
        }
        let host = self.current();
        if host.number() != number {
            return Err(Fault::new(Failure::Conflict, "another application shows the vault now")
                .hint("call again: what is open will be looked up anew")
                .retryable(true));
        }
        Ok(host)
    }
}

impl CurrentHost {
    fn number(&self) -> u64 {
        match self {
            CurrentHost::Headless => HostRegistry::HEADLESS,
            CurrentHost::Attached(host) => host.number(),
        }
    }

    /// Returns true if nothing more can be sent to the host.
    fn is_detached(&self) -> bool {
        match self {
            CurrentHost::Headless => false,
            CurrentHost::Attached(host) => host.is_detached(),
        }
    }
}

impl ConnectedHosts {
    fn attached(&self) -> Option<Arc<AttachedHost>> {
        self.registry.current()
    }

    fn notify(&self, notice: HostNotice) {
        match self.attached() {
            Some(host) => host.notify(notice),
            None => self.headless.notify(&notice),
        }
    }
}

impl OpenNotes for ConnectedHosts {
    fn deadline(&self) -> Duration {
        self.registry.deadline() + DEADLINE_GRACE
    }

    fn status(&self, path: &VaultPath) -> NoteStatus {
        match self.attached() {
            Some(host) if host.is_open(path) => NoteStatus::HostSaves,
            None if self.headless.is_open(path) => NoteStatus::VaultSaves,
            Some(_) | None => NoteStatus::NotOpen,
        }
    }

    fn unsaved_text<'a>(&'a self, path: &'a VaultPath) -> NoteFuture<'a, Option<String>> {
        let Some(host) = self.attached() else {
            return Box::pin(std::future::ready(Ok(self.headless.unsaved_text(path))));
        };
        if !host.is_open(path) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        let reply = host.request(HostRequest::ReadNote { path: path.clone() });
        Box::pin(async move {
            let HostReply::NoteText { unsaved } = reply.await? else { return Err(unexpected()) };
            Ok(unsaved)
        })
    }

    fn write_text<'a>(&'a self, update: NoteUpdate<'a>) -> NoteFuture<'a, NoteWrite> {
        let NoteUpdate { path, before, on_disk, text } = update;
        let written = |written: NoteWriteResult| match written {
            NoteWriteResult::NotOpen => NoteWrite::NotOpen,
            NoteWriteResult::Saved => NoteWrite::HostSaved,
            NoteWriteResult::WriteFile { on_disk } => NoteWrite::VaultWrites { on_disk },
        };
        let Some(host) = self.attached() else {
            let result = self.headless.write_text(path, before, text).map(written);
            return Box::pin(std::future::ready(result));
        };
        let before: FileState = *before;
        let request = HostRequest::WriteNote { path: path.clone(), before, on_disk, text: text.to_owned() };
        let reply = host.request(request);
        Box::pin(async move {
            let HostReply::NoteWritten(result) = reply.await? else { return Err(unexpected()) };
            Ok(match result {
                // Only a host in this process leaves the writing to the vault.
                NoteWriteResult::WriteFile { .. } => NoteWrite::HostSaved,
                NoteWriteResult::Saved | NoteWriteResult::NotOpen => written(result),
            })
        })
    }

    fn saved(&self, path: &VaultPath, text: &str) {
        self.notify(HostNotice::NoteSaved { path: path.clone(), text: text.to_owned() });
    }

    fn not_saved(&self, path: &VaultPath, text: &str) {
        self.notify(HostNotice::NoteNotSaved { path: path.clone(), text: Hash::of(text.as_bytes()) });
    }

    fn moved(&self, from: &VaultPath, to: &VaultPath) {
        self.notify(HostNotice::PathMoved { from: from.clone(), to: to.clone() });
    }

    fn removed(&self, path: &VaultPath) {
        self.notify(HostNotice::PathRemoved { path: path.clone() });
    }
}

fn cancelled(cause: CancelCause) -> Fault {
    let stopped = |failure, why: &str| Fault::new(failure, format!("stopped: {why}"));
    match cause {
        CancelCause::Run => stopped(Failure::Canceled, "the run was cancelled"),
        CancelCause::Sibling => stopped(Failure::SiblingCanceled, "a sibling failed"),
        CancelCause::Deadline => stopped(Failure::Timeout, "the time of the call is up"),
    }
}

fn unexpected() -> Fault {
    Fault::new(
        Failure::ExecutionFailed,
        "the host broke the protocol: its reply does not belong to the request",
    )
}

/// Explains a conflict over a note with unsaved text: both versions exist.
fn both_kept(fault: Fault) -> Fault {
    if fault.failure != Failure::Conflict {
        return fault;
    }
    let message = format!("{}; its unsaved text is kept here, and the file as it is on disk", fault.message);
    Fault { message, ..fault }.hint(
        "read the note and keep its text in another file with vault.createFile; then run the command \
         `app:reload`, which takes what is on disk",
    )
}
