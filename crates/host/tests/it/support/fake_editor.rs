//! An editor in another program: it holds open notes, saves them itself, and speaks the protocol as lines of
//! JSON over a stream. It uses nothing of the headless host.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use envelope::{Failure, Hash, VaultPath};
use host::protocol::{ActiveView, LeafInfo};
use host::protocol::{
    CommandInfo, CommandPlan, EditLocation, HostCommandResult, HostError, HostEvent, HostHello, HostMessage,
    HostReply, HostReplyMessage, HostRequest, HostRequestMessage, LeafSnapshot, NoteEditPlan,
    NoteWriteResult, OpenNoteText, OpenedLeaf, OwnerConfidence, OwnerType, PROTOCOL_VERSION, ReplyOutcome,
    SavedNote, SelectedText, ServerMessage, ViewMode, WorkspaceContext, WorkspaceSnapshot,
};
use host::{EditorPosition, EditorRange, HostRegistry, serve_stream};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines, ReadHalf, WriteHalf, split};
use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinHandle;

/// What the editor does with the next request that writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EditorBehavior {
    #[default]
    Good,
    /// Says that it saved, and saved something else.
    SavesOtherBytes,
    /// Says that it saved, and did not.
    SavesNothing,
    /// Saves, and never replies.
    SavesSilently,
    /// Never replies to a request.
    Silent,
    /// Ends the connection instead of replying.
    Leaves,
}

/// One note that the editor has open.
#[derive(Debug, Clone)]
struct Buffer {
    text: String,
    saved: String,
}

#[derive(Debug, Default)]
pub(crate) struct EditorState {
    buffers: BTreeMap<VaultPath, Buffer>,
    active: Option<VaultPath>,
    /// The cursor in the active note, in bytes; this editor has one line of ASCII a note.
    cursor: usize,
    pub(crate) behavior: EditorBehavior,
    /// Every message from Tollgate, in short.
    pub(crate) received: Vec<String>,
}

/// The editor, with the task that runs it.
pub(crate) struct FakeEditor {
    pub(crate) state: Arc<Mutex<EditorState>>,
    folder: PathBuf,
    events: tokio::sync::mpsc::UnboundedSender<HostMessage>,
    task: JoinHandle<()>,
    /// The end of the connection as the slot saw it.
    pub(crate) served: JoinHandle<Result<(), HostError>>,
}

impl FakeEditor {
    /// Connects an editor with notes open, the first of them active, and waits until it is attached.
    pub(crate) async fn attach(hosts: &HostRegistry, folder: PathBuf, open: &[&str]) -> FakeEditor {
        let (near, far) = duplex(1 << 16);
        let served = tokio::spawn({
            let hosts = hosts.clone();
            async move {
                let (reader, writer) = split(near);
                serve_stream(&hosts, reader, writer).await
            }
        });
        let state = Arc::new(Mutex::new(EditorState::default()));
        let (events, outgoing) = tokio::sync::mpsc::unbounded_channel();
        for path in open {
            state.lock().unwrap().load(&folder, &VaultPath::parse(path).unwrap());
        }
        state.lock().unwrap().active = open.first().map(|path| VaultPath::parse(path).unwrap());
        let hello = HostHello {
            version: PROTOCOL_VERSION,
            name: "fake editor".to_owned(),
            vault: None,
            open_notes: state.lock().unwrap().buffers.keys().cloned().collect(),
        };
        let (reader, mut writer) = split(far);
        let mut lines = BufReader::new(reader).lines();
        send(&mut writer, &HostMessage::Hello(hello)).await;
        let welcome = lines.next_line().await.unwrap().unwrap();
        assert!(welcome.starts_with(r#"{"type":"welcome","version":1"#), "{welcome}");
        let task = tokio::spawn(run(state.clone(), folder.clone(), lines, writer, outgoing));
        FakeEditor { state, folder, events, task, served }
    }

    pub(crate) fn behave(&self, behavior: EditorBehavior) {
        self.state.lock().unwrap().behavior = behavior;
    }

    /// The user opens a note.
    pub(crate) fn open(&self, path: &str) {
        let path = VaultPath::parse(path).unwrap();
        self.state.lock().unwrap().load(&self.folder, &path);
        self.events.send(HostMessage::Event { event: HostEvent::NoteOpened { path } }).unwrap();
    }

    /// The user types at the end of a note, and the editor has not saved it yet.
    pub(crate) fn type_text(&self, path: &str, text: &str) {
        let path = VaultPath::parse(path).unwrap();
        self.state.lock().unwrap().buffers.get_mut(&path).unwrap().text.push_str(text);
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.state.lock().unwrap().buffers[&VaultPath::parse(path).unwrap()].text.clone()
    }

    /// Messages received so far that contain a word.
    pub(crate) fn received(&self, word: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.received.iter().filter(|message| message.contains(word)).cloned().collect()
    }

    /// Closes the connection, and waits until the slot has noticed.
    pub(crate) async fn quit(self) {
        self.task.abort();
        let _cancelled = self.task.await;
        self.served.await.unwrap().unwrap();
    }
}

impl EditorState {
    fn load(&mut self, folder: &std::path::Path, path: &VaultPath) {
        let text = std::fs::read_to_string(folder.join(path.as_str())).unwrap();
        self.buffers.insert(path.clone(), Buffer { saved: text.clone(), text });
    }

    fn answer(&mut self, folder: &std::path::Path, request: HostRequest) -> Result<HostReply, HostError> {
        let active = || HostError::new(Failure::PreconditionFailed, "no note is active");
        Ok(match request {
            HostRequest::GetContext => HostReply::Context(WorkspaceContext {
                active: self.active.clone().map(|path| ActiveView {
                    path: Some(path),
                    view_type: "markdown".to_owned(),
                    is_markdown: true,
                    selection_length: Some(0),
                }),
                leaves: self.buffers.keys().map(leaf).collect(),
            }),
            HostRequest::GetSelection => {
                let path = self.active.clone().ok_or_else(active)?;
                HostReply::Selection(self.selection(path))
            }
            HostRequest::SetSelection { range } => {
                self.cursor = range.to.ch as usize;
                let path = self.active.clone().ok_or_else(active)?;
                HostReply::Selection(self.selection(path))
            }
            HostRequest::OpenFile(open) => {
                if !self.buffers.contains_key(&open.path) {
                    self.load(folder, &open.path);
                }
                self.active = Some(open.path.clone());
                self.cursor = 0;
                HostReply::Opened(OpenedLeaf { path: open.path, opened: true, leaf_id: None })
            }
            HostRequest::PrepareEdit(edit) => {
                let path = self.active.clone().ok_or_else(active)?;
                let Buffer { text, saved } = self.buffers[&path].clone();
                let range = match edit.target {
                    EditLocation::Selection | EditLocation::Cursor => EditorRange::at(position(self.cursor)),
                    EditLocation::Range(range) => range,
                };
                let (from, to) = (range.from.ch as usize, range.to.ch as usize);
                HostReply::EditPlan(Box::new(NoteEditPlan {
                    path,
                    range,
                    cursor_after: position(from + edit.text.len()),
                    inserted_chars: edit.text.len() as u32,
                    after: format!("{}{}{}", &text[..from], edit.text, &text[to..]),
                    before: text,
                    saves: true,
                    saved: Some(SavedNote { text: saved, mode: None }),
                }))
            }
            HostRequest::ApplyEdit { path, before, after, .. } => {
                let buffer = self.buffers.get_mut(&path).unwrap();
                if Hash::of(buffer.text.as_bytes()) != before {
                    return Err(HostError::new(Failure::Conflict, "the user typed meanwhile"));
                }
                let was_unsaved = buffer.text != buffer.saved;
                buffer.text = after;
                HostReply::EditApplied { was_unsaved, unsaved: true }
            }
            HostRequest::ListCommands => HostReply::Commands(vec![CommandInfo {
                id: "fake:wave".to_owned(),
                name: "Wave".to_owned(),
                owner: OwnerType::Community,
                confidence: OwnerConfidence::Low,
            }]),
            HostRequest::PrepareCommand { id } => {
                HostReply::CommandPlan(Box::new(CommandPlan { id, ..CommandPlan::default() }))
            }
            HostRequest::RunCommand { .. } => {
                HostReply::CommandRun(HostCommandResult { executed: true, ..HostCommandResult::default() })
            }
            HostRequest::ReadNote { path } => HostReply::NoteText {
                unsaved: self.buffers.get(&path).filter(|b| b.text != b.saved).map(|b| b.text.clone()),
            },
            HostRequest::WriteNote { path, before, on_disk, text } => {
                self.write_note(folder, &path, before.hash, on_disk, text)?
            }
            HostRequest::TakeSnapshot => HostReply::Snapshot(WorkspaceSnapshot {
                leaves: self.buffers.keys().map(|path| self.leaf_snapshot(path)).collect(),
                active: self.active.as_ref().map(ToString::to_string),
                notes: self
                    .buffers
                    .iter()
                    .map(|(path, buffer)| OpenNoteText { path: path.clone(), text: buffer.text.clone() })
                    .collect(),
            }),
        })
    }

    fn write_note(
        &mut self,
        folder: &std::path::Path,
        path: &VaultPath,
        before: Hash,
        on_disk: Option<Hash>,
        text: String,
    ) -> Result<HostReply, HostError> {
        let buffer = self.buffers.get_mut(path).unwrap();
        let shows = Hash::of(buffer.text.as_bytes());
        if shows != before && buffer.text != text {
            return Err(HostError::new(Failure::Conflict, "the user typed meanwhile"));
        }
        if on_disk != Some(Hash::of(buffer.saved.as_bytes())) {
            return Err(HostError::new(Failure::Conflict, "another program wrote the file"));
        }
        buffer.text = text;
        let bytes = match self.behavior {
            EditorBehavior::SavesOtherBytes => format!("{} (formatted)", buffer.text),
            EditorBehavior::SavesNothing => buffer.saved.clone(),
            EditorBehavior::Good
            | EditorBehavior::SavesSilently
            | EditorBehavior::Silent
            | EditorBehavior::Leaves => buffer.text.clone(),
        };
        buffer.saved = bytes.clone();
        super::put(&folder.join(path.as_str()), &bytes);
        Ok(HostReply::NoteWritten(NoteWriteResult::Saved))
    }

    fn leaf_snapshot(&self, path: &VaultPath) -> LeafSnapshot {
        let at = position(self.cursor);
        LeafSnapshot { id: path.to_string(), path: path.clone(), anchor: at, head: at }
    }

    fn selection(&self, path: VaultPath) -> SelectedText {
        let range = EditorRange::at(position(self.cursor));
        SelectedText { path, range, text: String::new(), mode: ViewMode::Source }
    }
}

fn position(ch: usize) -> EditorPosition {
    EditorPosition { line: 0, ch: u32::try_from(ch).unwrap() }
}

fn leaf(path: &VaultPath) -> LeafInfo {
    LeafInfo { id: path.to_string(), view_type: "markdown".to_owned(), title: None }
}

/// Answers requests until the connection ends.
async fn run(
    state: Arc<Mutex<EditorState>>,
    folder: PathBuf,
    mut lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    mut writer: WriteHalf<DuplexStream>,
    mut events: tokio::sync::mpsc::UnboundedReceiver<HostMessage>,
) {
    loop {
        let line = tokio::select! {
            event = events.recv() => {
                let Some(event) = event else { return };
                send(&mut writer, &event).await;
                continue;
            }
            line = lines.next_line() => line.unwrap(),
        };
        let Some(line) = line else { return };
        state.lock().unwrap().received.push(line.clone());
        match serde_json::from_str(&line).unwrap() {
            ServerMessage::Request(HostRequestMessage { id, request, .. }) => {
                let behavior = state.lock().unwrap().behavior;
                match behavior {
                    EditorBehavior::Silent => continue,
                    EditorBehavior::Leaves => return,
                    EditorBehavior::Good
                    | EditorBehavior::SavesOtherBytes
                    | EditorBehavior::SavesNothing
                    | EditorBehavior::SavesSilently => {}
                }
                let is_write = matches!(request, HostRequest::WriteNote { .. });
                let answered = state.lock().unwrap().answer(&folder, request);
                if is_write && behavior == EditorBehavior::SavesSilently {
                    continue;
                }
                let outcome = answered.map_or_else(ReplyOutcome::Error, ReplyOutcome::Result);
                send(&mut writer, &HostMessage::Reply(HostReplyMessage { id, outcome })).await;
            }
            ServerMessage::Detach { .. } | ServerMessage::Refused { .. } => return,
            ServerMessage::Welcome { .. } | ServerMessage::Cancel { .. } | ServerMessage::Notice { .. } => {}
        }
    }
}

async fn send(writer: &mut WriteHalf<DuplexStream>, message: &HostMessage) {
    let line = serde_json::to_string(message).unwrap() + "\n";
    writer.write_all(line.as_bytes()).await.unwrap();
}

/// Waits until something holds, for at most ten seconds.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect("it never came to hold");
}
