//! Commands: what each would do, worked out first, then done.

use envelope::{CallId, Failure, Fault, SideEffect, VaultPath};
use vault::{Content, Seen, Step, Witness};

use super::HeadlessHost;
use super::editing::{Cursor, both_kept, save_work};
use super::known::Known;
use super::toggle;
use crate::host::{Edit, FileWork, ForeseenCommand, OpenRequest, Ran, Target};
use crate::note::Note;
use crate::position::{EditorRange, Position, utf16_len};
use crate::settings::NewNotePlace;
use crate::view::{ViewType, title};
use crate::{moment, template};

impl HeadlessHost {
    pub(super) fn plan_command(
        &self,
        id: &str,
        call: &CallId,
        witness: &dyn Witness,
    ) -> Result<ForeseenCommand, Fault> {
        let known = Known::find(id)?;
        let foreseen = ForeseenCommand { id: id.to_owned(), is_complete: true, ..ForeseenCommand::default() };
        let unavailable =
            |why: &str| ForeseenCommand { unavailable: Some(why.to_owned()), ..foreseen.clone() };
        let active = self.notes.desk().active().cloned();
        match (known, active) {
            (Known::Reload, _) => {
                let desk = self.notes.desk();
                // Kept like anything that is overwritten: it was asked for, but perhaps not meant.
                let texts = desk.unsaved().map(|(_, note)| note.document().file_text().into_bytes().into());
                let files = FileWork { overwritten: texts.collect(), ..FileWork::default() };
                Ok(ForeseenCommand { files, ..foreseen })
            }
            (Known::SaveAll, _) => Ok(ForeseenCommand { files: self.save_works(None), ..foreseen }),
            (Known::DailyNote, _) => self.plan_daily_note(foreseen, witness),
            (Known::NewNote, _) => self.plan_new_note(foreseen, call, witness),
            (
                Known::SaveFile
                | Known::ToggleBullets
                | Known::ToggleCheckboxes
                | Known::Close
                | Known::NextTab
                | Known::PreviousTab,
                None,
            ) => Ok(unavailable("nothing is open; open a note first with workspace.openFile")),
            (Known::SaveFile | Known::Close, Some(leaf)) => {
                Ok(ForeseenCommand { files: self.save_works(Some(&leaf.path)), ..foreseen })
            }
            (Known::ToggleBullets | Known::ToggleCheckboxes, Some(leaf))
                if leaf.view != ViewType::Markdown =>
            {
                Ok(unavailable("the active file is no note; open one first with workspace.openFile"))
            }
            (Known::ToggleBullets, Some(_)) => self.plan_toggle(foreseen, toggle::bullets, witness),
            (Known::ToggleCheckboxes, Some(_)) => self.plan_toggle(foreseen, toggle::checkboxes, witness),
            (Known::NextTab | Known::PreviousTab, Some(_)) => Ok(foreseen),
        }
    }

    /// What has to be written so that unsaved notes, or one of them, are saved.
    fn save_works(&self, only: Option<&VaultPath>) -> FileWork {
        let desk = self.notes.desk();
        let mut all = FileWork::default();
        for (path, note) in desk.unsaved().filter(|(path, _)| only.is_none_or(|only| only == *path)) {
            let work = save_work(path, note, &note.document().file_text());
            all.prepared.steps.extend(work.prepared.steps);
            all.overwritten.extend(work.overwritten);
        }
        all
    }

    fn plan_new_note(
        &self,
        foreseen: ForeseenCommand,
        call: &CallId,
        witness: &dyn Witness,
    ) -> Result<ForeseenCommand, Fault> {
        let folder = match &self.settings.new_note {
            NewNotePlace::Root => String::new(),
            NewNotePlace::Folder(folder) => folder.clone(),
            NewNotePlace::Current => {
                let desk = self.notes.desk();
                let folder = desk.active().and_then(|leaf| leaf.path.parent());
                folder.map(|folder| folder.to_string()).unwrap_or_default()
            }
        };
        let held = self.vault.choose_free(&set_path(&folder, "Untitled.md")?, call)?;
        let path = held.path().clone();
        let files = self.creation(&path, "", witness)?;
        Ok(ForeseenCommand { files, opens: Some(path), held: Some(held.into()), ..foreseen })
    }

    fn plan_daily_note(
        &self,
        foreseen: ForeseenCommand,
        witness: &dyn Witness,
    ) -> Result<ForeseenCommand, Fault> {
        let now = (self.clock)();
        let name = moment::format(&self.settings.daily_format, now)?;
        let path = set_path(&self.settings.daily_folder, &format!("{name}.md"))?;
        let survey = self.vault.survey(&path, witness)?;
        match survey.seen {
            Seen::File { .. } => return Ok(ForeseenCommand { opens: Some(survey.path), ..foreseen }),
            Seen::Nothing => {}
            Seen::Folder | Seen::Other => {
                return Err(Fault::new(Failure::Conflict, format!("`{path}` is there and is no note")));
            }
        }
        let text = match &self.settings.daily_template {
            None => String::new(),
            Some(template) => {
                let name =
                    if template.ends_with(".md") { template.clone() } else { format!("{template}.md") };
                let loaded = self.vault.load(&set_path("", &name)?, witness)?;
                template::filled(loaded.text()?, &title(&path), now)?
            }
        };
        let files = self.creation(&survey.path, &text, witness)?;
        Ok(ForeseenCommand { files, opens: Some(survey.path), ..foreseen })
    }

    /// A new file with the folders above it.
    fn creation(&self, path: &VaultPath, text: &str, witness: &dyn Witness) -> Result<FileWork, Fault> {
        let path = self.vault.would_create(path, witness)?;
        let missing = self.vault.survey(&path, witness)?.missing;
        let mut files = FileWork::default();
        files.prepared.steps.extend(missing.into_iter().map(Step::making_folder));
        files.prepared.steps.push(Step::CreateFile {
            path,
            content: Content::of(text.as_bytes()),
            mode: None,
        });
        Ok(files)
    }

    fn plan_toggle(
        &self,
        foreseen: ForeseenCommand,
        toggle: fn(&[&str]) -> Vec<String>,
        witness: &dyn Witness,
    ) -> Result<ForeseenCommand, Fault> {
        let leaf = self.active_note(witness)?;
        let selected = leaf.selection.range();
        let (range, text) = {
            let desk = self.notes.desk();
            let document = desk.note(&leaf.path).map(Note::document);
            let line = |number: u32| document.and_then(|document| document.line(number)).unwrap_or_default();
            let lines: Vec<&str> = (selected.from.line..=selected.to.line).map(line).collect();
            let end = Position { line: selected.to.line, ch: utf16_len(line(selected.to.line)) };
            let start = Position { line: selected.from.line, ch: 0 };
            (EditorRange { from: start, to: end }, toggle(&lines).join("\n"))
        };
        let edit = Edit { target: Target::Range(range), text, preserve_indent: false, expected_etag: None };
        let edit = self.plan_edit(&edit, witness)?;
        Ok(ForeseenCommand { files: edit.files.clone(), edit: Some(Box::new(edit)), ..foreseen })
    }

    pub(super) fn make_command(
        &self,
        foreseen: &ForeseenCommand,
        witness: &dyn Witness,
    ) -> Result<Ran, Fault> {
        let known = Known::find(&foreseen.id)?;
        if let Some(why) = &foreseen.unavailable {
            return Ok(Ran { error_message: Some(why.clone()), ..Ran::default() });
        }
        let mut effects = vec![SideEffect::RunCommand];
        match &foreseen.edit {
            Some(edit) => {
                if self.make_edit(edit, Cursor::Carried, witness)? {
                    effects.push(SideEffect::EditBuffer);
                }
            }
            None => self.save(&foreseen.files, witness).map_err(|fault| match known {
                Known::SaveFile | Known::SaveAll | Known::Close => both_kept(fault),
                Known::Reload
                | Known::DailyNote
                | Known::ToggleBullets
                | Known::ToggleCheckboxes
                | Known::NewNote
                | Known::NextTab
                | Known::PreviousTab => fault,
            })?,
        }
        match known {
            Known::Close => self.notes.desk().close_active(),
            Known::NextTab => self.notes.desk().step_tab(1),
            Known::PreviousTab => self.notes.desk().step_tab(-1),
            Known::Reload => self.notes.desk().drop_unsaved(),
            Known::NewNote | Known::DailyNote => {
                if let Some(path) = foreseen.opens.clone() {
                    self.show(&OpenRequest { path, new_leaf: false, focus: true }, witness)?;
                }
            }
            Known::SaveFile | Known::SaveAll | Known::ToggleBullets | Known::ToggleCheckboxes => {}
        }
        let changes_workspace = match known {
            Known::Close | Known::NextTab | Known::PreviousTab | Known::NewNote | Known::DailyNote => true,
            Known::Reload | Known::SaveFile | Known::SaveAll => false,
            Known::ToggleBullets | Known::ToggleCheckboxes => false,
        };
        if changes_workspace {
            effects.push(SideEffect::ChangeWorkspace);
        }
        Ok(Ran { executed: true, error_message: None, effects })
    }
}

/// A path that comes from the settings.
fn set_path(folder: &str, name: &str) -> Result<VaultPath, Fault> {
    let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
    VaultPath::parse(&path).map_err(|bad| {
        Fault::new(
            Failure::PreconditionFailed,
            format!("the settings lead to a path that cannot be used: {bad}"),
        )
        .hint("change the folder, the format or the template in the settings of the application")
    })
}
