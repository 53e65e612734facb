//! The commands of the headless host: those that do the same without a screen as in the application.

use envelope::{Failure, Fault, nearest};

use crate::protocol::{CommandInfo, OwnerConfidence, OwnerType};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadlessCommand {
    Reload,
    SaveAll,
    DailyNote,
    SaveFile,
    ToggleBullets,
    ToggleCheckboxes,
    NewNote,
    Close,
    NextTab,
    PreviousTab,
}

impl HeadlessCommand {
    const ALL: [HeadlessCommand; 10] = [
        HeadlessCommand::Reload,
        HeadlessCommand::SaveAll,
        HeadlessCommand::DailyNote,
        HeadlessCommand::SaveFile,
        HeadlessCommand::ToggleBullets,
        HeadlessCommand::ToggleCheckboxes,
        HeadlessCommand::NewNote,
        HeadlessCommand::Close,
        HeadlessCommand::NextTab,
        HeadlessCommand::PreviousTab,
    ];

    /// Returns the id that the application uses, if it has such a command.
    fn id(self) -> &'static str {
        match self {
            HeadlessCommand::Reload => "app:reload",
            HeadlessCommand::SaveAll => "app:save-all",
            HeadlessCommand::DailyNote => "daily-notes",
            HeadlessCommand::SaveFile => "editor:save-file",
            HeadlessCommand::ToggleBullets => "editor:toggle-bullet-list",
            HeadlessCommand::ToggleCheckboxes => "editor:toggle-checklist-status",
            HeadlessCommand::NewNote => "file-explorer:new-file",
            HeadlessCommand::Close => "workspace:close",
            HeadlessCommand::NextTab => "workspace:next-tab",
            HeadlessCommand::PreviousTab => "workspace:previous-tab",
        }
    }

    fn name(self) -> &'static str {
        match self {
            HeadlessCommand::Reload => "Reload app without saving",
            HeadlessCommand::SaveAll => "Save all files",
            HeadlessCommand::DailyNote => "Daily notes: Open today's daily note",
            HeadlessCommand::SaveFile => "Save current file",
            HeadlessCommand::ToggleBullets => "Toggle bullet list",
            HeadlessCommand::ToggleCheckboxes => "Toggle checkbox status",
            HeadlessCommand::NewNote => "Create new note",
            HeadlessCommand::Close => "Close current tab",
            HeadlessCommand::NextTab => "Go to next tab",
            HeadlessCommand::PreviousTab => "Go to previous tab",
        }
    }

    pub(super) fn find(id: &str) -> Result<HeadlessCommand, Fault> {
        HeadlessCommand::ALL.into_iter().find(|known| known.id() == id).ok_or_else(|| {
            let fault =
                Fault::new(Failure::NotFound, format!("no command is called `{}`", id.escape_debug()));
            match nearest(id, HeadlessCommand::ALL.map(HeadlessCommand::id)) {
                Some(near) => fault.detail("nearest", near).hint(format!("did you mean `{near}`?")),
                None => fault.hint("list the commands with commands.list"),
            }
        })
    }
}

/// Returns every command.
pub(super) fn list_commands() -> Vec<CommandInfo> {
    let known = HeadlessCommand::ALL.into_iter().map(|known| CommandInfo {
        id: known.id().to_owned(),
        name: known.name().to_owned(),
        owner: OwnerType::Core,
        confidence: OwnerConfidence::High,
    });
    known.collect()
}
