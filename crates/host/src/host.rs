//! The application that has the vault open, as the tools see it.
//!
//! A trait, so that a live application can take the place of the headless host. Everything that goes in or
//! comes out is plain data that can cross a socket. What an action would do to files is foreseen first: it
//! is written down and kept before anything happens, and only then done. Every change to a file goes through
//! the vault, which tells it to the call.

use std::sync::Arc;

use envelope::{Fault, SideEffect, VaultPath};
use serde::{Deserialize, Serialize};
use toolkit::{BoxFuture, ToolCx};
use vault::{FreeName, Prepared, Vault};

use crate::position::{EditorRange, Position};

/// What is open and what has the focus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub active: Option<ActiveView>,
    /// Every leaf, in the order of the tabs.
    pub leaves: Vec<LeafInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveView {
    pub path: Option<VaultPath>,
    pub view_type: String,
    pub is_markdown: bool,
    /// How long the selection is, in UTF-16 units; absent when the view is no editor.
    pub selection_length: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafInfo {
    pub id: String,
    pub view_type: String,
    pub title: Option<String>,
}

/// How the active note is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Mode {
    Source,
    Preview,
    Unknown,
}

impl Mode {
    /// As it stands in results.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Source => "source",
            Mode::Preview => "preview",
            Mode::Unknown => "unknown",
        }
    }
}

/// What is selected in the active note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    pub path: VaultPath,
    pub range: EditorRange,
    pub text: String,
    pub mode: Mode,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRequest {
    pub path: VaultPath,
    pub new_leaf: bool,
    pub focus: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// As it is spelled on disk.
    pub path: VaultPath,
    /// False when the leaf showed it already.
    pub opened: bool,
    pub leaf_id: Option<String>,
}

/// Where an edit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Selection,
    Cursor,
    Range(EditorRange),
}

/// A change to the active note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub target: Target,
    pub text: String,
    /// Lines after the first are indented as the line is that the text goes into.
    pub preserve_indent: bool,
    /// The note must have this etag.
    pub expected_etag: Option<String>,
}

/// What an edit does, in the coordinates of the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub path: VaultPath,
    /// What is replaced, in the text before the edit.
    pub range: EditorRange,
    /// Where the cursor is afterwards.
    pub cursor_after: Position,
    /// How much text is put in, in UTF-16 units.
    pub inserted_chars: u32,
    /// Of the note as it says after the edit.
    pub etag: String,
}

/// The changes to files that an action would make, and what they overwrite.
#[derive(Debug, Clone, Default)]
pub struct FileWork {
    pub prepared: Prepared,
    /// The contents that are overwritten: whoever performs the action keeps them first.
    pub overwritten: Vec<Arc<[u8]>>,
}

/// An edit before it is made.
#[derive(Debug, Clone)]
pub struct ForeseenEdit {
    /// Empty when the edit is not saved with the call.
    pub files: FileWork,
    pub edited: Edited,
    /// The text of the file before and after, so that what is made is what was foreseen.
    pub before: Arc<str>,
    pub after: Arc<str>,
}

/// A command before it is run.
#[derive(Debug, Clone, Default)]
pub struct ForeseenCommand {
    pub id: String,
    /// As far as it can be foreseen.
    pub files: FileWork,
    /// An edit of the active note that it makes.
    pub edit: Option<Box<ForeseenEdit>>,
    /// A file that it opens.
    pub opens: Option<VaultPath>,
    /// Why it cannot be run now.
    pub unavailable: Option<String>,
    /// False when it may change more than is foreseen here.
    pub is_complete: bool,
    /// A name that is held for the file it creates.
    pub held: Option<Arc<FreeName>>,
}

/// What a command did beyond its changes to files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    pub executed: bool,
    pub error_message: Option<String>,
    pub effects: Vec<SideEffect>,
}

/// Where a command comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OwnerType {
    Core,
    Community,
    Unknown,
}

impl OwnerType {
    /// As it stands in results.
    pub const fn name(self) -> &'static str {
        match self {
            OwnerType::Core => "core",
            OwnerType::Community => "community",
            OwnerType::Unknown => "unknown",
        }
    }
}

/// How sure the host is about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Confidence {
    High,
    Low,
}

/// A command that the host offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub id: String,
    pub name: String,
    pub owner: OwnerType,
    pub confidence: Confidence,
}

/// An application that has the vault open.
///
/// A method that is cancelled through its `ToolCx` leaves everything as it was, or tells the call what it did.
pub trait Host: Send + Sync {
    /// The vault whose notes it shows.
    fn vault(&self) -> Arc<Vault>;

    fn context<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Context, Fault>>;

    /// The selection of the active note; a precondition that does not hold when no note is active.
    fn selection<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Selected, Fault>>;

    /// Selects a range of the active note; the cursor is at its end.
    fn select<'a>(&'a self, cx: &'a ToolCx, range: EditorRange) -> BoxFuture<'a, Result<Selected, Fault>>;

    fn open<'a>(&'a self, cx: &'a ToolCx, request: OpenRequest) -> BoxFuture<'a, Result<Opened, Fault>>;

    /// What an edit of the active note would do. Changes nothing.
    fn foresee_edit<'a>(
        &'a self,
        cx: &'a ToolCx,
        edit: &'a Edit,
    ) -> BoxFuture<'a, Result<ForeseenEdit, Fault>>;

    /// Makes an edit that was foreseen. Returns whether the note is left unsaved.
    fn edit<'a>(&'a self, cx: &'a ToolCx, foreseen: &'a ForeseenEdit) -> BoxFuture<'a, Result<bool, Fault>>;

    fn commands<'a>(&'a self, cx: &'a ToolCx) -> BoxFuture<'a, Result<Vec<Command>, Fault>>;

    /// What a command would do, as far as that can be known. Changes nothing. An unknown id is not found.
    fn foresee_command<'a>(
        &'a self,
        cx: &'a ToolCx,
        id: &'a str,
    ) -> BoxFuture<'a, Result<ForeseenCommand, Fault>>;

    /// Runs a command that was foreseen.
    fn run_command<'a>(
        &'a self,
        cx: &'a ToolCx,
        foreseen: &'a ForeseenCommand,
    ) -> BoxFuture<'a, Result<Ran, Fault>>;
}
