//! The host protocol: messages between Tollgate and an application that has the vault open.
//!
//! A *host* shows notes: an editor with a plugin, a web page, or the headless host of this crate. Messages are
//! plain serialisable values; the host chooses the transport ([`serve_stream`](crate::serve_stream) carries
//! them as lines of JSON). No message contains a type of the vault crate: paths are relative to the vault,
//! positions are lines and UTF-16 units from 0, content is text or its BLAKE3 hash. A note that is open, written,
//! moved or removed is named as on disk, such as `a:b.md`, without the escapes that the tools show.
//!
//! # Connection
//!
//! The host speaks first with [`HostMessage::Hello`]: the version of the protocol, its name, its vault and the
//! notes that are open. Tollgate answers [`ServerMessage::Welcome`] or [`ServerMessage::Refused`]. From then on
//! Tollgate sends requests, each with an id and a deadline, and the host answers each with one reply. Several
//! requests can be open at the same time. Either side ends the connection with `detach` or by closing the
//! transport; requests that are open then fail with `dependency_unavailable`.
//!
//! ```text
//! host      {"type":"hello","version":1,"name":"editor 2.1","vault":"5f0c...","openNotes":["Inbox.md"]}
//! tollgate  {"type":"welcome","version":1,"deadlineMs":5000}
//! tollgate  {"type":"request","id":1,"deadlineMs":5000,"request":{"method":"getSelection"}}
//! host      {"type":"reply","id":1,"result":{"kind":"selection","value":{"path":"Inbox.md",
//!            "range":{"from":{"line":0,"ch":2},"to":{"line":0,"ch":5}},"text":"one","mode":"source"}}}
//! tollgate  {"type":"request","id":2,"deadlineMs":5000,"request":{"method":"writeNote","params":
//!            {"path":"Inbox.md","before":{"hash":"b3:...","bytes":4,"mode":420},"onDisk":"b3:...",
//!            "text":"# Inbox\n"}}}
//! host      {"type":"reply","id":2,"result":{"kind":"noteWritten","value":"saved"}}
//! host      {"type":"event","event":{"event":"noteClosed","path":"Inbox.md"}}
//! tollgate  {"type":"request","id":3,"deadlineMs":5000,"request":{"method":"getContext"}}
//! tollgate  {"type":"cancel","id":3}
//! host      {"type":"reply","id":3,"error":{"code":"canceled","message":"cancelled"}}
//! host      {"type":"detach","reason":"the window was closed"}
//! ```
//!
//! # Deadlines and cancellation
//!
//! A request that is not answered within `deadlineMs` is cancelled, fails with `timeout`, and the host is
//! detached, so that later calls do not wait for it; it may attach again. A cancelled request must change
//! nothing that it has not changed yet, and is answered like any other. A late reply is ignored.
//!
//! If the reply to `applyEdit`, `writeNote` or `runCommand` is lost, or is `timeout`, `canceled` or
//! `dependency_unavailable`, the outcome is unknown and the call is not repeated. After `writeNote` the file
//! shows whether the note was saved. Any other error means that nothing was changed.
//!
//! # Limits
//!
//! A name has at most [`MAX_NAME_BYTES`], and a host has at most [`MAX_OPEN_NOTES`] open; beyond that it is
//! refused or detached. Messages and hints of errors are shortened to [`MAX_MESSAGE_CHARS`]. A host that does
//! not read its messages is detached. Whether a call may be repeated is not decided by the host: `retryable`
//! and the details `outcome`, `unforeseen` and `stillRunning` of its errors are ignored.
//!
//! # Notes that are open
//!
//! The host announces a note with `noteOpened` before it can be edited, and withdraws the announcement with
//! `noteClosed`. While a note is open, Tollgate reads its unsaved text with `readNote` and writes it with
//! `writeNote`: the host checks that its text is `before`, or is `text` already, as after `applyEdit`, and that
//! the file that it last saved is `onDisk`; then it applies the text, saves the file and only then replies. Tollgate reads the file back and compares the hash. A
//! difference on either side is a conflict; what the host has saved then stays as it is.
//!
//! An edit of the active note is prepared by the host (`prepareEdit` changes nothing), shown to rules and to
//! the user as a change of that file, then applied (`applyEdit`) and saved with `writeNote`.

use std::collections::BTreeSet;

use envelope::{Failure, Fault, FileState, Hash, SideEffect, VaultPath};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::host_path;
use crate::position::{EditorPosition, EditorRange};

/// Version of the protocol. A host of another version is refused.
pub const PROTOCOL_VERSION: u32 = 1;

/// Longest name of a host, in bytes.
pub const MAX_NAME_BYTES: usize = 200;

/// Notes that a host can have open at the same time.
pub const MAX_OPEN_NOTES: usize = 4_096;

/// Longest message or hint of an error, in characters.
pub const MAX_MESSAGE_CHARS: usize = 1_000;

/// Number of a request, unique within a connection.
pub type RequestId = u64;

/// Message to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerMessage {
    /// The host is attached. `deadline_ms` is the usual deadline of a request.
    Welcome {
        version: u32,
        deadline_ms: u64,
    },
    /// The host is not attached; the connection ends.
    Refused {
        error: HostError,
    },
    Request(HostRequestMessage),
    /// The reply to a request is not wanted any more.
    Cancel {
        id: RequestId,
    },
    /// A message without a reply.
    Notice {
        notice: HostNotice,
    },
    /// Tollgate ends the connection.
    Detach {
        reason: String,
    },
}

/// Message from a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HostMessage {
    Hello(HostHello),
    Reply(HostReplyMessage),
    Event {
        event: HostEvent,
    },
    /// The host ends the connection.
    Detach {
        reason: String,
    },
}

/// First message of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostHello {
    pub version: u32,
    /// Name and version of the application, for messages to the user.
    pub name: String,
    /// Id of the vault that the host shows. A host of another vault is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<String>,
    /// The notes that are open.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty", with = "host_path::set")]
    pub open_notes: BTreeSet<VaultPath>,
}

/// A request with its id and deadline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRequestMessage {
    pub id: RequestId,
    /// Time for the reply, from when the request is sent.
    pub deadline_ms: u64,
    pub request: HostRequest,
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostReplyMessage {
    pub id: RequestId,
    #[serde(flatten)]
    pub outcome: ReplyOutcome,
}

/// Result or error of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyOutcome {
    Result(HostReply),
    Error(HostError),
}

/// A request to a host. Each variant names its reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HostRequest {
    /// Reply: [`HostReply::Context`].
    GetContext,
    /// Reply: [`HostReply::Selection`]; `precondition_failed` if no note is active.
    GetSelection,
    /// Selects a range of the active note; the cursor is at its end. Reply: [`HostReply::Selection`].
    SetSelection { range: EditorRange },
    /// Reply: [`HostReply::Opened`].
    OpenFile(OpenRequest),
    /// Computes an edit of the active note and changes nothing. Reply: [`HostReply::EditPlan`].
    PrepareEdit(EditRequest),
    /// Applies a prepared edit to the open note, without saving it. Reply: [`HostReply::EditApplied`];
    /// `conflict` if the note is not active or its text is not `before`.
    ApplyEdit { path: VaultPath, before: Hash, range: EditorRange, after: String, cursor: CursorPlacement },
    /// Reply: [`HostReply::Commands`].
    ListCommands,
    /// Computes what a command would do and changes nothing. Reply: [`HostReply::CommandPlan`]; `not_found`
    /// for an unknown id.
    PrepareCommand { id: String },
    /// Runs a command after its files are written. Reply: [`HostReply::CommandRun`].
    RunCommand { id: String, opens: Option<VaultPath> },
    /// Reply: [`HostReply::NoteText`].
    ReadNote {
        #[serde(with = "host_path")]
        path: VaultPath,
    },
    /// Gives a note new text and saves it. Reply: [`HostReply::NoteWritten`].
    WriteNote {
        #[serde(with = "host_path")]
        path: VaultPath,
        /// State that the caller has seen: the unsaved text if there was one, else the file. The note must have
        /// it, or `text`.
        before: FileState,
        /// Hash of the file right now; absent for a host that saves nothing itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_disk: Option<Hash>,
        text: String,
    },
    /// Everything that is open, for a preview over an overlay. Reply: [`HostReply::Snapshot`].
    TakeSnapshot,
}

/// The result of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HostReply {
    Context(WorkspaceContext),
    Selection(SelectedText),
    Opened(OpenedLeaf),
    EditPlan(Box<NoteEditPlan>),
    EditApplied {
        /// Whether the note had unsaved text before.
        was_unsaved: bool,
        /// Whether it has unsaved text now.
        unsaved: bool,
    },
    Commands(Vec<CommandInfo>),
    CommandPlan(Box<CommandPlan>),
    CommandRun(HostCommandResult),
    /// Text of an open note that is not saved as it is shown.
    NoteText {
        unsaved: Option<String>,
    },
    NoteWritten(NoteWriteResult),
    Snapshot(WorkspaceSnapshot),
}

/// How a note was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NoteWriteResult {
    /// The note is not open.
    NotOpen,
    /// The host has saved the file.
    Saved,
    /// The note has the text and Tollgate writes the file, which must be in this state. Only for a host in the
    /// same process.
    WriteFile { on_disk: FileState },
}

/// A message to a host that has no reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HostNotice {
    /// The text of the last `writeNote` is on disk.
    NoteSaved {
        #[serde(with = "host_path")]
        path: VaultPath,
        text: String,
    },
    /// The text of the last `writeNote` could not be written: the note gets its earlier text back, if it
    /// still has the text with the hash `text`.
    NoteNotSaved {
        #[serde(with = "host_path")]
        path: VaultPath,
        text: Hash,
    },
    /// An applied edit could not be saved: the note gets its earlier text and selections back, if it still has
    /// the text with the hash `after`.
    RevertEdit { path: VaultPath, after: Hash },
    /// A file or folder was moved.
    PathMoved {
        #[serde(with = "host_path")]
        from: VaultPath,
        #[serde(with = "host_path")]
        to: VaultPath,
    },
    /// A file was removed.
    PathRemoved {
        #[serde(with = "host_path")]
        path: VaultPath,
    },
}

/// A message that a host sends without a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HostEvent {
    /// A note is open and can be edited from now on.
    NoteOpened {
        #[serde(with = "host_path")]
        path: VaultPath,
    },
    NoteClosed {
        #[serde(with = "host_path")]
        path: VaultPath,
    },
}

/// Why a request failed: one of the failures of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostError {
    pub code: Failure,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Facts that a program can act on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Map<String, Value>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl HostRequest {
    /// Returns true if a repetition could do something twice or undo what happened in between.
    pub(crate) fn has_effects(&self) -> bool {
        matches!(
            self,
            HostRequest::ApplyEdit { .. } | HostRequest::WriteNote { .. } | HostRequest::RunCommand { .. }
        )
    }
}

impl HostError {
    pub fn new(code: Failure, message: impl Into<String>) -> HostError {
        HostError { code, message: message.into(), hint: None, details: None, retryable: None }
    }
}

impl From<Fault> for HostError {
    fn from(fault: Fault) -> HostError {
        let Fault { failure, message, details, hint, retryable } = fault;
        HostError { code: failure, message, hint, details, retryable }
    }
}

impl From<HostError> for Fault {
    fn from(error: HostError) -> Fault {
        let HostError { code, message, hint, details, retryable } = error;
        Fault { failure: code, message, details, hint, retryable }
    }
}

/// The open views and the one that has the focus.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceContext {
    pub active: Option<ActiveView>,
    /// Every leaf, in the order of the tabs.
    pub leaves: Vec<LeafInfo>,
}

/// The view that has the focus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveView {
    pub path: Option<VaultPath>,
    pub view_type: String,
    pub is_markdown: bool,
    /// Length of the selection in UTF-16 units; absent when the view is not an editor.
    pub selection_length: Option<u32>,
}

/// One tab of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeafInfo {
    pub id: String,
    pub view_type: String,
    pub title: Option<String>,
}

/// How the active note is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ViewMode {
    Source,
    Preview,
    Unknown,
}

impl ViewMode {
    /// Returns the name that results use.
    pub const fn name(self) -> &'static str {
        match self {
            ViewMode::Source => "source",
            ViewMode::Preview => "preview",
            ViewMode::Unknown => "unknown",
        }
    }
}

/// The selection of the active note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SelectedText {
    pub path: VaultPath,
    pub range: EditorRange,
    pub text: String,
    pub mode: ViewMode,
}

/// A file to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenRequest {
    pub path: VaultPath,
    /// Open it in a leaf of its own.
    pub new_leaf: bool,
    pub focus: bool,
}

/// A file that a leaf shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenedLeaf {
    /// As it is spelled on disk.
    pub path: VaultPath,
    /// False when the leaf showed it already.
    pub opened: bool,
    pub leaf_id: Option<String>,
}

/// Where an edit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EditLocation {
    Selection,
    Cursor,
    Range(EditorRange),
}

/// A change to the active note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EditRequest {
    pub target: EditLocation,
    pub text: String,
    /// Indent every line after the first like the line that the text goes into.
    pub preserve_indent: bool,
    /// The note must have this etag: the first 32 hex digits of the BLAKE3 hash of its text.
    pub expected_etag: Option<String>,
}

/// Where the cursor goes with an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CursorPlacement {
    /// To this position.
    At(EditorPosition),
    /// It stays with the text around it, and so does the selection.
    Keep,
}

/// An edit that was computed and not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteEditPlan {
    pub path: VaultPath,
    /// The range that is replaced, in the text before the edit.
    pub range: EditorRange,
    pub cursor_after: EditorPosition,
    /// Length of the inserted text in UTF-16 units.
    pub inserted_chars: u32,
    /// Whole text of the note before and after.
    pub before: String,
    pub after: String,
    /// Whether the edit is saved with the call.
    pub saves: bool,
    /// The file as the host last read or wrote it; absent if it was removed since.
    pub saved: Option<SavedNote>,
}

/// The file of a note as the host last read or wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNote {
    pub text: String,
    /// Permission bits, if the host knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A note that a command saves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteSave {
    pub path: VaultPath,
    pub text: String,
    pub saved: Option<SavedNote>,
}

/// A note that a command creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteCreation {
    pub path: VaultPath,
    /// Choose another name if this one is taken.
    pub unique: bool,
    pub text: String,
}

/// A command that was computed and not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandPlan {
    pub id: String,
    /// Notes that are saved first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saves: Vec<NoteSave>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creates: Option<NoteCreation>,
    /// An edit of the active note that the command makes. A plan with an edit saves and creates no other notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit: Option<Box<NoteEditPlan>>,
    /// A file that the command opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<VaultPath>,
    /// Unsaved texts that the command discards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discards: Vec<String>,
    /// Why the command cannot be run now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// False when the command may change more than this plan contains.
    #[serde(default)]
    pub is_complete: bool,
}

/// Result of a command, beyond its changes to files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostCommandResult {
    pub executed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    /// Returns the name that results use.
    pub const fn name(self) -> &'static str {
        match self {
            OwnerType::Core => "core",
            OwnerType::Community => "community",
            OwnerType::Unknown => "unknown",
        }
    }
}

/// How certain the host is about the owner of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OwnerConfidence {
    High,
    Low,
}

/// A command that the host offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInfo {
    pub id: String,
    pub name: String,
    pub owner: OwnerType,
    pub confidence: OwnerConfidence,
}

/// Everything that is open in a host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceSnapshot {
    /// Every leaf, in the order of the tabs.
    pub leaves: Vec<LeafSnapshot>,
    /// Id of the leaf that has the focus.
    pub active: Option<String>,
    pub notes: Vec<OpenNoteText>,
}

/// One tab with the file that it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafSnapshot {
    pub id: String,
    pub path: VaultPath,
    pub anchor: EditorPosition,
    /// The cursor.
    pub head: EditorPosition,
}

/// The text of an open note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenNoteText {
    pub path: VaultPath,
    pub text: String,
}

#[cfg(test)]
#[path = "protocol_tests.rs"]
mod tests;
