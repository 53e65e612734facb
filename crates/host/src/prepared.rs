//! Prepared work: an edit or a command with the changes to files that it needs.
//!
//! A host says what to write; this turns it into steps of the vault, so that the changes are shown to rules and
//! to the user, written to the journal and undone like those of any other tool.

use std::sync::Arc;

use envelope::{CallId, Failure, Fault, FileState, Hash, VaultPath};
use vault::{ChangeStep, FileContent, IoContext, NameReservation, PathState, PreparedSteps, Vault, etag_of};

use crate::position::{EditorPosition, EditorRange};
use crate::protocol::{CommandPlan, NoteCreation, NoteEditPlan, SavedNote};

/// Result of an edit, in the coordinates of the note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoteEditResult {
    pub(crate) path: VaultPath,
    /// The range that is replaced, in the text before the edit.
    pub(crate) range: EditorRange,
    pub(crate) cursor_after: EditorPosition,
    /// Length of the inserted text in UTF-16 units.
    pub(crate) inserted_chars: u32,
    /// Etag of the note after the edit.
    pub(crate) etag: String,
}

/// Changes to files with the contents that they overwrite.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreparedFiles {
    pub(crate) steps: PreparedSteps,
    /// Stored before anything is written, so that the change can be undone.
    pub(crate) overwritten: Vec<Arc<[u8]>>,
}

/// An edit before it is applied.
#[derive(Debug, Clone)]
pub(crate) struct PreparedEdit {
    /// Number of the attachment that prepared it.
    pub(crate) host: u64,
    /// Empty when the edit is not saved with the call.
    pub(crate) files: PreparedFiles,
    pub(crate) outcome: NoteEditResult,
    pub(crate) before: Hash,
    pub(crate) after: Arc<str>,
}

/// A command before it is run.
#[derive(Debug, Clone)]
pub(crate) struct PreparedHostCommand {
    /// Number of the attachment that prepared it.
    pub(crate) host: u64,
    pub(crate) id: String,
    /// The known changes to files.
    pub(crate) files: PreparedFiles,
    /// Whether the files are notes whose unsaved text is saved.
    pub(crate) saves_notes: bool,
    pub(crate) edit: Option<Box<PreparedEdit>>,
    pub(crate) opens: Option<VaultPath>,
    pub(crate) unavailable: Option<String>,
    /// False when the command may change more than `files` contains.
    pub(crate) is_complete: bool,
    /// Keeps other calls from choosing the same new name.
    _reservation: Option<Arc<NameReservation>>,
}

impl PreparedFiles {
    fn add(&mut self, more: PreparedFiles) {
        self.steps.steps.extend(more.steps.steps);
        self.overwritten.extend(more.overwritten);
    }

    /// Writes a note with this text; nothing if the file has it already. `saved` is the file as the host knows
    /// it: another content on disk is a conflict when the step is made.
    fn for_note(
        vault: &Vault,
        path: &VaultPath,
        saved: Option<&SavedNote>,
        text: &str,
        io: &dyn IoContext,
    ) -> Result<PreparedFiles, Fault> {
        let content = FileContent::of(text.as_bytes());
        let mut files = PreparedFiles::default();
        let step = match saved {
            Some(saved) if saved.text == text => return Ok(files),
            Some(saved) => {
                let bytes: Arc<[u8]> = saved.text.as_bytes().into();
                let mode = match saved.mode {
                    Some(mode) => mode,
                    None => mode_on_disk(vault, path, io)?,
                };
                let before = FileState { hash: Hash::of(&bytes), bytes: bytes.len() as u64, mode };
                files.overwritten.push(bytes);
                ChangeStep::ReplaceFile { path: path.clone(), before, content, mode: None }
            }
            None => ChangeStep::CreateFile { path: path.clone(), content, mode: None },
        };
        files.steps.steps.push(step);
        Ok(files)
    }

    /// Creates a note and the folders above it. Returns its path, and its name as reserved if it had to be
    /// chosen.
    fn for_creation(
        vault: &Vault,
        new: &NoteCreation,
        call: &CallId,
        io: &dyn IoContext,
    ) -> Result<(PreparedFiles, VaultPath, Option<NameReservation>), Fault> {
        let reservation = if new.unique { Some(vault.reserve_name(&new.path, call)?) } else { None };
        let given = reservation.as_ref().map_or(&new.path, NameReservation::path);
        let path = vault.would_create(given, io)?;
        let missing = vault.resolve_path(&path, io)?.missing_folders;
        let mut files = PreparedFiles::default();
        files.steps.steps.extend(missing.into_iter().map(ChangeStep::create_folder));
        let content = FileContent::of(new.text.as_bytes());
        files.steps.steps.push(ChangeStep::CreateFile { path, content, mode: None });
        let given = given.clone();
        Ok((files, given, reservation))
    }
}

impl PreparedEdit {
    /// Prepares the changes to files of an edit.
    pub(crate) fn new(
        host: u64,
        vault: &Vault,
        plan: NoteEditPlan,
        io: &dyn IoContext,
    ) -> Result<PreparedEdit, Fault> {
        let files = match plan.saves {
            true => PreparedFiles::for_note(vault, &plan.path, plan.saved.as_ref(), &plan.after, io)?,
            false => PreparedFiles::default(),
        };
        let NoteEditPlan { path, range, cursor_after, inserted_chars, before, after, .. } = plan;
        let etag = etag_of(after.as_bytes());
        let outcome = NoteEditResult { path, range, cursor_after, inserted_chars, etag };
        Ok(PreparedEdit { host, files, outcome, before: Hash::of(before.as_bytes()), after: after.into() })
    }
}

impl PreparedHostCommand {
    /// Prepares the changes to files of a command. Fails if it has an edit beside other changes.
    pub(crate) fn new(
        host: u64,
        vault: &Vault,
        plan: CommandPlan,
        call: &CallId,
        io: &dyn IoContext,
    ) -> Result<PreparedHostCommand, Fault> {
        // The edit is applied and saved by itself, so files beside it would be shown and never written.
        if plan.edit.is_some() && (plan.creates.is_some() || !plan.saves.is_empty()) {
            return Err(Fault::new(
                Failure::ExecutionFailed,
                format!(
                    "the host broke the protocol: the command {} edits a note and also saves or creates others",
                    plan.id.escape_debug()
                ),
            )
            .hint("nothing was changed; run the command in the application itself"));
        }
        let mut files = PreparedFiles::default();
        files.overwritten.extend(plan.discards.iter().map(|text| text.as_bytes().into()));
        for note in &plan.saves {
            files.add(PreparedFiles::for_note(vault, &note.path, note.saved.as_ref(), &note.text, io)?);
        }
        let (mut opens, mut reservation) = (plan.opens, None);
        if let Some(new) = &plan.creates {
            let (created, path, reserved) = PreparedFiles::for_creation(vault, new, call, io)?;
            files.add(created);
            opens = Some(path);
            reservation = reserved.map(Arc::new);
        }
        let edit = match plan.edit {
            Some(edit) => {
                let edit = PreparedEdit::new(host, vault, *edit, io)?;
                files.add(edit.files.clone());
                Some(Box::new(edit))
            }
            None => None,
        };
        Ok(PreparedHostCommand {
            host,
            id: plan.id,
            files,
            saves_notes: !plan.saves.is_empty(),
            edit,
            opens,
            unavailable: plan.unavailable,
            is_complete: plan.is_complete,
            _reservation: reservation,
        })
    }
}

/// Returns the permission bits of a file, for a host that does not know them.
fn mode_on_disk(vault: &Vault, path: &VaultPath, io: &dyn IoContext) -> Result<u32, Fault> {
    Ok(match vault.resolve_path(path, io)?.state {
        PathState::File { state, .. } => state.mode,
        PathState::Missing | PathState::Folder | PathState::Other => crate::note::DEFAULT_MODE,
    })
}
