//! The application that has the vault open (the *host*), and the tools on it: `editor.*`, `workspace.*`,
//! `commands.*`.
//!
//! Tools talk to a [`HostSlot`]. Without an application it uses a [`HeadlessHost`]: notes open in memory, saved
//! through the vault. Applications attach to a [`HostRegistry`] and detach while the program runs, through a
//! [`HostConnection`] and the messages of [`protocol`]; [`serve_stream`] attaches one at the other end of a
//! stream.
//!
//! Every change to a file goes through the vault or is verified by it, so that it is recorded and can be
//! undone. Nothing here knows the engine, reads a clock, or touches a file except through the vault.

mod connection;
mod cursor_mapping;
mod date_format;
mod document;
mod headless;
mod host_path;
mod note;
mod paths;
mod position;
mod prepared;
pub mod protocol;
mod registry;
mod remote;
mod settings;
mod slot;
mod stream;
mod template;
mod tools;
mod view;
mod workspace_state;

use toolkit::{RegistrationError, Registry};

pub use connection::{HostConnection, ReplyFuture};
pub use headless::HeadlessHost;
pub use position::{EditorPosition, EditorRange};
pub use registry::{HostAttachment, HostRegistry};
pub use remote::{OUTGOING_MESSAGES, RemoteHost};
pub use settings::{HostSettings, LocalClock, NewNotePlace};
pub use slot::HostSlot;
pub use stream::serve_stream;

use tools::{
    EditAction, GetContext, GetSelection, HostActionTool, HostHandle, InsertAtCursor, ListCommands, OpenFile,
    ReplaceEditorRange, ReplaceSelection, RunHostCommand, SetSelection,
};

/// Registers every tool of this crate. Without a host the tools are declared and refuse to work.
pub fn register(registry: &mut Registry, host: Option<HostSlot>) -> Result<(), RegistrationError> {
    let host = HostHandle(host);
    registry.register(GetSelection { host: host.clone() })?;
    registry.register(SetSelection { host: host.clone() })?;
    registry.register(HostActionTool::<EditAction<ReplaceSelection>>::new(&host))?;
    registry.register(HostActionTool::<EditAction<InsertAtCursor>>::new(&host))?;
    registry.register(HostActionTool::<EditAction<ReplaceEditorRange>>::new(&host))?;
    registry.register(GetContext { host: host.clone() })?;
    registry.register(OpenFile { host: host.clone() })?;
    registry.register(ListCommands { host: host.clone() })?;
    registry.register(HostActionTool::<RunHostCommand>::new(&host))
}
