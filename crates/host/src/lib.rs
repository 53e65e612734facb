//! The application that has the vault open, and the tools on it: `editor.*`, `workspace.*`, `commands.*`.
//!
//! Tools speak to a `Host`. The one that is always there is headless: notes open in memory, saved through
//! the vault, so that every change to a file is recorded and can be taken back. Nothing here knows the
//! engine, reads a clock or touches a file except through the vault.

mod carry;
mod desk;
mod document;
mod headless;
mod host;
mod moment;
mod note;
mod position;
mod settings;
mod template;
mod tools;
mod view;

use std::sync::Arc;

use toolkit::{Refused, Registry};

pub use headless::HeadlessHost;
pub use host::{
    ActiveView, Command, Confidence, Context, Edit, Edited, FileWork, ForeseenCommand, ForeseenEdit, Host,
    LeafInfo, Mode, OpenRequest, Opened, OwnerType, Ran, Selected, Target,
};
pub use position::{EditorRange, Position};
pub use settings::{HostSettings, LocalClock, NewNotePlace};

use tools::{
    Acting, Editing, GetContext, GetSelection, InsertAtCursor, ListCommands, MaybeHost, OpenFile,
    ReplaceRange, ReplaceSelection, RunCommand, SetSelection,
};

/// Registers every tool of this crate. Without a host they are declared but refuse to work.
pub fn register(registry: &mut Registry, host: Option<Arc<dyn Host>>) -> Result<(), Refused> {
    let host = MaybeHost(host);
    registry.register(GetSelection { host: host.clone() })?;
    registry.register(SetSelection { host: host.clone() })?;
    registry.register(Acting::<Editing<ReplaceSelection>>::new(&host))?;
    registry.register(Acting::<Editing<InsertAtCursor>>::new(&host))?;
    registry.register(Acting::<Editing<ReplaceRange>>::new(&host))?;
    registry.register(GetContext { host: host.clone() })?;
    registry.register(OpenFile { host: host.clone() })?;
    registry.register(ListCommands { host: host.clone() })?;
    registry.register(Acting::<RunCommand>::new(&host))
}
