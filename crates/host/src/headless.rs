//! A host without a screen: notes are open in memory, and edits are saved through the vault.
//!
//! It keeps the state that an application would show: tabs, notes, selections. Unless set otherwise an edit is
//! saved with the call that makes it, so that nothing that was reported is only in memory. It reads files
//! through the vault and writes none itself: its answers say what to write.

mod catalogue;
mod commands;
mod edits;
mod open_notes;
mod toggle;
mod views;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use envelope::{CallId, Failure, Fault, VaultPath};
use toolkit::{CancelCause, CancelToken, ToolCx};
use vault::{IoContext, Vault, run_blocking};

pub(crate) use self::open_notes::HeadlessNotes;
use crate::connection::{HostConnection, ReplyFuture};
use crate::protocol::{
    HostError, HostNotice, HostReply, HostRequest, HostRequestMessage, RequestId, WorkspaceSnapshot,
};
use crate::settings::{HostSettings, LocalClock};

/// The host that is always there. Cheap to clone; all clones are the same host.
#[derive(Clone)]
pub struct HeadlessHost {
    vault: Arc<Vault>,
    notes: Arc<HeadlessNotes>,
    settings: Arc<HostSettings>,
    clock: LocalClock,
    autosave: bool,
    /// Requests that arrived as messages and are not answered yet.
    running: Arc<Mutex<HashMap<RequestId, CancelToken>>>,
}

impl HeadlessHost {
    /// Creates a host for a vault, with nothing open.
    pub fn new(vault: Arc<Vault>, settings: HostSettings, clock: LocalClock) -> HeadlessHost {
        HeadlessHost {
            vault,
            notes: Arc::default(),
            settings: Arc::new(settings),
            clock,
            autosave: true,
            running: Arc::default(),
        }
    }

    /// Sets whether an edit is saved with the call that makes it. If not, it stays in memory until a command
    /// saves it.
    #[must_use]
    pub fn autosave(mut self, autosave: bool) -> HeadlessHost {
        self.autosave = autosave;
        self
    }

    /// Returns a copy over another vault, for a preview over an overlay: it begins with the present state, and
    /// changes to it do not come back.
    pub(crate) fn with_overlay(&self, vault: Arc<Vault>) -> HeadlessHost {
        let notes = Arc::new(self.notes.copy_for_preview());
        HeadlessHost { vault, notes, running: Arc::default(), ..self.clone() }
    }

    /// Replaces the state by a copy of what another host has open.
    pub(crate) fn load_snapshot(&self, snapshot: &WorkspaceSnapshot) {
        *self.notes.workspace() = crate::workspace_state::WorkspaceState::from_snapshot(snapshot);
    }

    pub(crate) fn vault(&self) -> &Arc<Vault> {
        &self.vault
    }

    pub(crate) fn notes(&self) -> &Arc<HeadlessNotes> {
        &self.notes
    }

    /// Answers a request on a thread that may block.
    pub(crate) fn answer(&self, request: &HostRequest, io: &dyn IoContext) -> Result<HostReply, Fault> {
        Ok(match request {
            HostRequest::GetContext => HostReply::Context(self.workspace_context(io)?),
            HostRequest::GetSelection => HostReply::Selection(self.selected_text(io)?),
            HostRequest::SetSelection { range } => HostReply::Selection(self.select_range(*range, io)?),
            HostRequest::OpenFile(request) => HostReply::Opened(self.open_file(request, io)?),
            HostRequest::PrepareEdit(edit) => HostReply::EditPlan(Box::new(self.plan_edit(edit, io)?)),
            HostRequest::ApplyEdit { path, before, after, cursor, .. } => {
                self.apply_edit(path, before, after, *cursor, io)?
            }
            HostRequest::ListCommands => HostReply::Commands(catalogue::list_commands()),
            HostRequest::PrepareCommand { id } => {
                HostReply::CommandPlan(Box::new(self.plan_command(id, io)?))
            }
            HostRequest::RunCommand { id, opens } => {
                HostReply::CommandRun(self.run_command(id, opens.as_ref(), io)?)
            }
            HostRequest::ReadNote { path } => HostReply::NoteText { unsaved: self.notes.unsaved_text(path) },
            HostRequest::WriteNote { path, before, text, .. } => {
                HostReply::NoteWritten(self.notes.write_text(path, before, text)?)
            }
            HostRequest::TakeSnapshot => HostReply::Snapshot(self.notes.workspace().to_snapshot()),
        })
    }

    fn finish(&self, id: RequestId) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

impl HostConnection for HeadlessHost {
    fn request(&self, message: HostRequestMessage) -> Result<ReplyFuture, HostError> {
        let (host, cancel) = (self.clone(), CancelToken::new());
        self.running.lock().unwrap_or_else(PoisonError::into_inner).insert(message.id, cancel.clone());
        Ok(Box::pin(async move {
            let call = CallId::parse("host-request");
            let call = call.map_err(|bad| HostError::new(Failure::ExecutionFailed, bad.to_string()))?;
            let cx = ToolCx::new(call, cancel, None);
            let worker = host.clone();
            let reply = run_blocking(&cx, move |io| worker.answer(&message.request, io)).await;
            host.finish(message.id);
            reply.map_err(HostError::from)
        }))
    }

    fn cancel(&self, id: RequestId) -> Result<(), HostError> {
        if let Some(cancel) = self.running.lock().unwrap_or_else(PoisonError::into_inner).get(&id) {
            cancel.cancel(CancelCause::Run);
        }
        Ok(())
    }

    fn notify(&self, notice: HostNotice) -> Result<(), HostError> {
        self.notes.notify(&notice);
        Ok(())
    }

    fn detach(&self, _reason: &str) {}
}

/// Joins a folder and a name from the settings of the application.
fn settings_path(folder: &str, name: &str) -> Result<VaultPath, Fault> {
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    VaultPath::parse(&path).map_err(|bad| {
        Fault::new(
            Failure::PreconditionFailed,
            format!("the settings lead to a path that cannot be used: {bad}"),
        )
        .hint("change the folder, the format or the template in the settings of the application")
    })
}
