//! Which commands the headless host has: a handful that do without a screen what they do in the application.

use envelope::{Failure, Fault, nearest};

use crate::host::{Command, Confidence, OwnerType};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
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

impl Known {
    const ALL: [Known; 10] = [
        Known::Reload,
        Known::SaveAll,
        Known::DailyNote,
        Known::SaveFile,
        Known::ToggleBullets,
        Known::ToggleCheckboxes,
        Known::NewNote,
        Known::Close,
        Known::NextTab,
        Known::PreviousTab,
    ];

    /// As the application calls it, where it has such a command.
    fn id(self) -> &'static str {
        match self {
            Known::Reload => "app:reload",
            Known::SaveAll => "app:save-all",
            Known::DailyNote => "daily-notes",
            Known::SaveFile => "editor:save-file",
            Known::ToggleBullets => "editor:toggle-bullet-list",
            Known::ToggleCheckboxes => "editor:toggle-checklist-status",
            Known::NewNote => "file-explorer:new-file",
            Known::Close => "workspace:close",
            Known::NextTab => "workspace:next-tab",
            Known::PreviousTab => "workspace:previous-tab",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Known::Reload => "Reload app without saving",
            Known::SaveAll => "Save all files",
            Known::DailyNote => "Daily notes: Open today's daily note",
            Known::SaveFile => "Save current file",
            Known::ToggleBullets => "Toggle bullet list",
            Known::ToggleCheckboxes => "Toggle checkbox status",
            Known::NewNote => "Create new note",
            Known::Close => "Close current tab",
            Known::NextTab => "Go to next tab",
            Known::PreviousTab => "Go to previous tab",
        }
    }

    pub(super) fn find(id: &str) -> Result<Known, Fault> {
        Known::ALL.into_iter().find(|known| known.id() == id).ok_or_else(|| {
            let fault =
                Fault::new(Failure::NotFound, format!("no command is called `{}`", id.escape_debug()));
            match nearest(id, Known::ALL.map(Known::id)) {
                Some(near) => fault.detail("nearest", near).hint(format!("did you mean `{near}`?")),
                None => fault.hint("list the commands with commands.list"),
            }
        })
    }
}

pub(super) fn catalogue() -> Vec<Command> {
    let known = Known::ALL.into_iter().map(|known| Command {
        id: known.id().to_owned(),
        name: known.name().to_owned(),
        owner: OwnerType::Core,
        confidence: Confidence::High,
    });
    known.collect()
}
