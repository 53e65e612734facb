//! A host without a screen: notes are open in memory, and what is reported is on disk.
//!
//! It keeps what an application would show: tabs, notes, selections. Unless it is told otherwise it saves an
//! edit within the call that makes it, so that nothing that was reported is only in memory. All file work
//! goes through the vault.

mod commands;
mod editing;
mod known;
mod looking;
mod notes;
mod toggle;

use std::sync::Arc;

use envelope::Fault;
use toolkit::{BoxFuture, ToolCx};
use vault::{Vault, blocking};

use self::notes::Notes;
use crate::host::{
    Command, Context, Edit, ForeseenCommand, ForeseenEdit, Host, OpenRequest, Opened, Ran, Selected,
};
use crate::position::EditorRange;
use crate::settings::{HostSettings, LocalClock};

/// Cheap to clone; all clones are the same host.
#[derive(Clone)]
pub struct HeadlessHost {
    vault: Arc<Vault>,
    notes: Arc<Notes>,
    settings: Arc<HostSettings>,
    clock: LocalClock,
    autosave: bool,
}

impl HeadlessHost {
    /// A host for a vault, with nothing open. From now on the vault reads and edits open notes through it.
    pub fn new(vault: Arc<Vault>, settings: HostSettings, clock: LocalClock) -> HeadlessHost {
        let notes = Arc::new(Notes::default());
        vault.attach(notes.clone());
        HeadlessHost { vault, notes, settings: Arc::new(settings), clock, autosave: true }
    }

    /// Whether an edit is saved with the call that makes it; else it stays in memory until a command saves it.
    #[must_use]
    pub fn autosave(mut self, autosave: bool) -> HeadlessHost {
        self.autosave = autosave;
        self
    }

    /// The same host over another vault, for a preview over an imagined one: it begins as this one is now,
    /// and what is done to it changes nothing here.
    pub fn imagined(&self, vault: Arc<Vault>) -> HeadlessHost {
        let notes = Arc::new(self.notes.imagined());
        vault.attach(notes.clone());
        HeadlessHost { vault, notes, ..self.clone() }
    }
}

impl Host for HeadlessHost {
    fn vault(&self) -> Arc<Vault> {
        self.vault.clone()
    }

    fn context<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Context, Fault>> {
        let host = self.clone();
        Box::pin(blocking(cx, move |witness| host.look_around(witness)))
    }

    fn selection<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Selected, Fault>> {
        let host = self.clone();
        Box::pin(blocking(cx, move |witness| host.look_at_selection(witness)))
    }

    fn select<'a>(&'a self, cx: &'a ToolCx, range: EditorRange) -> BoxFuture<'a, Result<Selected, Fault>> {
        let host = self.clone();
        Box::pin(blocking(cx, move |witness| host.select_range(range, witness)))
    }

    fn open<'a>(&'a self, cx: &'a ToolCx, request: OpenRequest) -> BoxFuture<'a, Result<Opened, Fault>> {
        let host = self.clone();
        Box::pin(blocking(cx, move |witness| host.show(&request, witness)))
    }

    fn foresee_edit<'a>(
        &'a self,
        cx: &'a ToolCx,
        edit: &'a Edit,
    ) -> BoxFuture<'a, Result<ForeseenEdit, Fault>> {
        let (host, edit) = (self.clone(), edit.clone());
        Box::pin(blocking(cx, move |witness| host.plan_edit(&edit, witness)))
    }

    fn edit<'a>(&'a self, cx: &'a ToolCx, foreseen: &'a ForeseenEdit) -> BoxFuture<'a, Result<bool, Fault>> {
        let (host, foreseen) = (self.clone(), foreseen.clone());
        Box::pin(blocking(cx, move |witness| host.make_edit(&foreseen, editing::Cursor::AfterText, witness)))
    }

    fn commands<'a>(&'a self, _cx: &'a ToolCx) -> BoxFuture<'a, Result<Vec<Command>, Fault>> {
        Box::pin(std::future::ready(Ok(known::catalogue())))
    }

    fn foresee_command<'a>(
        &'a self,
        cx: &'a ToolCx,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ForeseenCommand, Fault>> {
        let (host, id, call) = (self.clone(), id.to_owned(), cx.call_id().clone());
        Box::pin(blocking(cx, move |witness| host.plan_command(&id, &call, witness)))
    }

    fn run_command<'a>(
        &'a self,
        cx: &'a ToolCx,
        foreseen: &'a ForeseenCommand,
    ) -> BoxFuture<'a, Result<Ran, Fault>> {
        let (host, foreseen) = (self.clone(), foreseen.clone());
        Box::pin(blocking(cx, move |witness| host.make_command(&foreseen, witness)))
    }
}
