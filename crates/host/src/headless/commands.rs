//! Commands of the headless host: worked out first, then run.

use envelope::{Failure, Fault, SideEffect, VaultPath};
use vault::{IoContext, PathState};

use super::catalogue::HeadlessCommand;
use super::edits::saved_note;
use super::{HeadlessHost, settings_path, toggle};
use crate::note::OpenNote;
use crate::position::{EditorPosition, EditorRange, utf16_len};
use crate::protocol::{
    CommandPlan, EditLocation, EditRequest, HostCommandResult, NoteCreation, NoteSave, OpenRequest,
};
use crate::settings::NewNotePlace;
use crate::view::{ViewType, title};
use crate::{date_format, template};

impl HeadlessHost {
    pub(super) fn plan_command(&self, id: &str, io: &dyn IoContext) -> Result<CommandPlan, Fault> {
        let command = HeadlessCommand::find(id)?;
        let plan = CommandPlan { id: id.to_owned(), is_complete: true, ..CommandPlan::default() };
        let unavailable = |why: &str| CommandPlan { unavailable: Some(why.to_owned()), ..plan.clone() };
        let active = self.notes.workspace().active().cloned();
        match (command, active) {
            (HeadlessCommand::Reload, _) => {
                let workspace = self.notes.workspace();
                // Stored like everything that is overwritten: the command may have been a mistake.
                let discards = workspace.unsaved().map(|(_, note)| note.document().file_text()).collect();
                Ok(CommandPlan { discards, ..plan })
            }
            (HeadlessCommand::SaveAll, _) => Ok(CommandPlan { saves: self.unsaved_notes(None), ..plan }),
            (HeadlessCommand::DailyNote, _) => self.plan_daily_note(plan, io),
            (HeadlessCommand::NewNote, _) => self.plan_new_note(plan),
            (
                HeadlessCommand::SaveFile
                | HeadlessCommand::ToggleBullets
                | HeadlessCommand::ToggleCheckboxes
                | HeadlessCommand::Close
                | HeadlessCommand::NextTab
                | HeadlessCommand::PreviousTab,
                None,
            ) => Ok(unavailable("nothing is open; open a note first with workspace.openFile")),
            (HeadlessCommand::SaveFile | HeadlessCommand::Close, Some(leaf)) => {
                Ok(CommandPlan { saves: self.unsaved_notes(Some(&leaf.path)), ..plan })
            }
            (HeadlessCommand::ToggleBullets | HeadlessCommand::ToggleCheckboxes, Some(leaf))
                if leaf.view != ViewType::Markdown =>
            {
                Ok(unavailable("the active file is no note; open one first with workspace.openFile"))
            }
            (HeadlessCommand::ToggleBullets, Some(_)) => self.plan_toggle(plan, toggle::toggle_bullets, io),
            (HeadlessCommand::ToggleCheckboxes, Some(_)) => {
                self.plan_toggle(plan, toggle::toggle_checkboxes, io)
            }
            (HeadlessCommand::NextTab | HeadlessCommand::PreviousTab, Some(_)) => Ok(plan),
        }
    }

    /// Returns what has to be written so that every unsaved note, or the given one, is saved.
    fn unsaved_notes(&self, only: Option<&VaultPath>) -> Vec<NoteSave> {
        let workspace = self.notes.workspace();
        let unsaved = workspace.unsaved().filter(|(path, _)| only.is_none_or(|only| only == *path));
        let saves = unsaved.map(|(path, note)| NoteSave {
            path: path.clone(),
            text: note.document().file_text(),
            saved: note.saved().map(saved_note),
        });
        saves.collect()
    }

    fn plan_new_note(&self, plan: CommandPlan) -> Result<CommandPlan, Fault> {
        let folder = match &self.settings.new_note {
            NewNotePlace::Root => String::new(),
            NewNotePlace::Folder(folder) => folder.clone(),
            NewNotePlace::Current => {
                let workspace = self.notes.workspace();
                let folder = workspace.active().and_then(|leaf| leaf.path.parent());
                folder.map(|folder| folder.to_string()).unwrap_or_default()
            }
        };
        let path = settings_path(&folder, "Untitled.md")?;
        let creates = Some(NoteCreation { path, unique: true, text: String::new() });
        Ok(CommandPlan { creates, ..plan })
    }

    fn plan_daily_note(&self, plan: CommandPlan, io: &dyn IoContext) -> Result<CommandPlan, Fault> {
        let now = (self.clock)();
        let name = date_format::format_date(&self.settings.daily_format, now)?;
        let path = settings_path(&self.settings.daily_folder, &format!("{name}.md"))?;
        let resolved = self.vault.resolve_path(&path, io)?;
        match resolved.state {
            PathState::File { .. } => return Ok(CommandPlan { opens: Some(resolved.path), ..plan }),
            PathState::Missing => {}
            PathState::Folder | PathState::Other => {
                return Err(Fault::new(Failure::Conflict, format!("`{path}` is there and is no note")));
            }
        }
        let text = match &self.settings.daily_template {
            None => String::new(),
            Some(template) => {
                let name =
                    if template.ends_with(".md") { template.clone() } else { format!("{template}.md") };
                let loaded = self.vault.load(&settings_path("", &name)?, io)?;
                template::fill_template(loaded.text()?, &title(&path), now)?
            }
        };
        let creates = Some(NoteCreation { path: resolved.path, unique: false, text });
        Ok(CommandPlan { creates, ..plan })
    }

    fn plan_toggle(
        &self,
        plan: CommandPlan,
        toggle: fn(&[&str]) -> Vec<String>,
        io: &dyn IoContext,
    ) -> Result<CommandPlan, Fault> {
        let leaf = self.active_note(io)?;
        let selected = leaf.selection.range();
        let (range, text) = {
            let workspace = self.notes.workspace();
            let document = workspace.note(&leaf.path).map(OpenNote::document);
            let line = |number: u32| document.and_then(|document| document.line(number)).unwrap_or_default();
            let lines: Vec<&str> = (selected.from.line..=selected.to.line).map(line).collect();
            let end = EditorPosition { line: selected.to.line, ch: utf16_len(line(selected.to.line)) };
            let start = EditorPosition { line: selected.from.line, ch: 0 };
            (EditorRange { from: start, to: end }, toggle(&lines).join("\n"))
        };
        let edit = EditRequest {
            target: EditLocation::Range(range),
            text,
            preserve_indent: false,
            expected_etag: None,
        };
        Ok(CommandPlan { edit: Some(Box::new(self.plan_edit(&edit, io)?)), ..plan })
    }

    /// Runs a command whose files are written and whose edit is applied.
    pub(super) fn run_command(
        &self,
        id: &str,
        opens: Option<&VaultPath>,
        io: &dyn IoContext,
    ) -> Result<HostCommandResult, Fault> {
        let command = HeadlessCommand::find(id)?;
        match command {
            HeadlessCommand::Close => self.notes.workspace().close_active(),
            HeadlessCommand::NextTab => self.notes.workspace().step_tab(1),
            HeadlessCommand::PreviousTab => self.notes.workspace().step_tab(-1),
            HeadlessCommand::Reload => self.notes.workspace().drop_unsaved(),
            HeadlessCommand::NewNote | HeadlessCommand::DailyNote => {
                if let Some(path) = opens.cloned() {
                    self.open_file(&OpenRequest { path, new_leaf: false, focus: true }, io)?;
                }
            }
            HeadlessCommand::SaveFile
            | HeadlessCommand::SaveAll
            | HeadlessCommand::ToggleBullets
            | HeadlessCommand::ToggleCheckboxes => {}
        }
        let effects = match command {
            HeadlessCommand::Close
            | HeadlessCommand::NextTab
            | HeadlessCommand::PreviousTab
            | HeadlessCommand::NewNote
            | HeadlessCommand::DailyNote => vec![SideEffect::ChangeWorkspace],
            HeadlessCommand::Reload
            | HeadlessCommand::SaveFile
            | HeadlessCommand::SaveAll
            | HeadlessCommand::ToggleBullets
            | HeadlessCommand::ToggleCheckboxes => Vec::new(),
        };
        Ok(HostCommandResult { executed: true, error_message: None, effects })
    }
}
