//! Plans the steps of a restoration: first the contents, then the names.
//!
//! Contents come first, each at the current path of its file, so that everything that is overwritten can be
//! stored before the first change, however often the list edits and moves one note. Names follow in the order
//! of the list.

use std::collections::{BTreeMap, HashMap, HashSet};

use envelope::{EntryKind, Fault, FileState, Hash, KeptEntry, VaultPath};

use super::history::{EntryHistories, EntryHistory, HistoryId, NameEvent, in_trash};
use super::locations::{DiskAssumption, EntryLocation, EntryLocations, PathStateCache, parsed};
use super::plan::{RestoreCause, RestoreChoices, RestoreConflict, RestorePlan, RestoredEntry};
use super::planned_tree::{PlannedEntry, PlannedTree};
use crate::file_layer::{ChangeStep, FileContent, MoveDetails, PathState, TRASH};

/// Plans the steps for one interpretation of the disk.
pub(super) fn plan_with(
    histories: &EntryHistories,
    disk: &PathStateCache<'_>,
    choices: RestoreChoices<'_>,
    assumption: DiskAssumption,
) -> Result<RestorePlan, Fault> {
    let locations = EntryLocations::find(&histories.all, disk, assumption)?;
    let mut planner = RestorePlanner {
        histories: &histories.all,
        states: disk,
        only: choices.only.iter().map(|path| VaultPath::fold_name(path)).collect(),
        leave: choices.leave.iter().map(|path| VaultPath::fold_name(path)).collect(),
        keep: choices.keep.iter().map(|path| VaultPath::fold_name(path)).collect(),
        overwrite: choices.overwrite.iter().map(|path| VaultPath::fold_name(path)).collect(),
        locations,
        actions: Vec::new(),
        planned: PlannedTree::new(disk),
        noted: HashSet::new(),
        names: Vec::new(),
        plan: RestorePlan { already_so: histories.repeated, ..RestorePlan::default() },
    };
    for history in 0..histories.all.len() {
        let action = planner.decide(history)?;
        planner.actions.push(action);
    }
    for event in &histories.events {
        disk.io.check_cancelled()?;
        planner.plan_event(event)?;
    }
    for history in 0..histories.all.len() {
        planner.finish(history)?;
    }
    planner.plan.steps.append(&mut planner.names);
    let mut seen = HashSet::new();
    let limited = !choices.only.is_empty() || !choices.leave.is_empty();
    planner.plan.kept.retain(|path| !(limited && path == TRASH) && seen.insert(path.clone()));
    Ok(planner.plan)
}

/// Action for one history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RestoreAction {
    /// No action is needed, or none is possible.
    None,
    /// The entry exists and is moved on from its current name.
    Move(EntryLocation),
    /// The entry is moved but keeps its current content: the user keeps the content, and the name is still
    /// restored, because the links of other notes are.
    MoveKeeping(EntryLocation),
    /// The entry is created when its turn comes.
    Create,
    /// The entry is missing although it should exist: created under its last name, after all moves.
    CreateAtEnd,
}

pub(super) struct RestorePlanner<'a> {
    pub(super) histories: &'a [EntryHistory],
    pub(super) states: &'a PathStateCache<'a>,
    /// Folded, as a conflicting entry can differ in case or encoding.
    pub(super) only: Vec<String>,
    /// Folded like `only`.
    pub(super) leave: Vec<String>,
    pub(super) keep: HashSet<String>,
    pub(super) overwrite: HashSet<String>,
    locations: EntryLocations,
    pub(super) actions: Vec<RestoreAction>,
    pub(super) planned: PlannedTree<'a>,
    noted: HashSet<HistoryId>,
    /// Steps that change names; those that change contents are in `plan` and come first.
    names: Vec<ChangeStep>,
    pub(super) plan: RestorePlan,
}

impl RestorePlanner<'_> {
    /// Chooses the action for one history, and plans its change of content.
    fn decide(&mut self, id: HistoryId) -> Result<RestoreAction, Fault> {
        let history = &self.histories[id];
        let location = match self.locations.get(id) {
            Some(location) => location,
            None if history.created && !history.deleted => {
                return Ok(self.unless_kept(id, RestoreAction::Create));
            }
            None => match self.decide_missing(id)? {
                Ok(location) => location,
                Err(action) => return Ok(action),
            },
        };
        if self.is_kept(history) {
            return Ok(self.keep(id, location));
        }
        let path = &history.names[location.name];
        if self.stays_in_trash(history, location) {
            self.plan.kept.push(history.names[history.names.len() - 1].clone());
            return Ok(RestoreAction::None);
        }
        if let Some(edited) = edited_before_trash(history, location)
            && !self.report_conflict(id, path, RestoreCause::Edited, Some(&edited), true)
        {
            return Ok(RestoreAction::None);
        }
        let stays = location.name + 1 == history.names.len();
        let Some(before) = location.state else {
            self.plan.already_so += usize::from(stays && !history.deleted);
            return Ok(RestoreAction::Move(location));
        };
        let Some(step) = content_step(history, path, before)? else {
            self.plan.already_so += usize::from(stays);
            return Ok(RestoreAction::Move(location));
        };
        self.note_restored(id, restored_entry(history, Some(location)));
        if in_trash(path) {
            // Nothing is written in the trash: the file gets its content after it is out of it.
            return Ok(RestoreAction::Move(location));
        }
        self.plan.steps.push(step);
        if history.deleted {
            self.planned.remove(path);
            return Ok(RestoreAction::None);
        }
        self.planned.touch(path);
        Ok(RestoreAction::Move(location))
    }

    /// Chooses the action for an entry that was not found: it may be complete, or another program changed it.
    fn decide_missing(&mut self, id: HistoryId) -> Result<Result<EntryLocation, RestoreAction>, Fault> {
        let history = &self.histories[id];
        if in_trash(&history.names[0])
            && let Some(action) = self.decide_missing_from_trash(id)?
        {
            return Ok(Err(action));
        }
        if history.kind == EntryKind::Folder || history.created {
            if history.deleted {
                self.plan.already_so += 1;
                return Ok(Err(RestoreAction::None));
            }
            let why = match self.states.at(&history.names[0])? {
                PathState::Missing => RestoreCause::Gone,
                PathState::Folder | PathState::File { .. } | PathState::Other => RestoreCause::Taken,
            };
            self.report_conflict(id, &history.names[0], why, None, false);
            return Ok(Err(RestoreAction::None));
        }
        // A file that is only moved may be edited, so it would have been found under its first name.
        if history.contents.is_empty() && history.moved.is_some() && !history.deleted {
            let why = match self.states.at(&history.names[0])? {
                PathState::Missing => RestoreCause::Gone,
                PathState::Folder | PathState::File { .. } | PathState::Other => RestoreCause::Taken,
            };
            self.report_conflict(id, &history.names[0], why, None, false);
            return Ok(Err(RestoreAction::None));
        }
        // An edited file has other content under its first name, or under a later one if it was moved already.
        // A file that will be deleted is searched under its first name only: another file may have its later
        // names.
        let names = if history.deleted { 1 } else { history.names.len() };
        for name in std::iter::once(0).chain((1..names).rev()) {
            if let Some(state) = self.locations.unclaimed_file(&history.names[name], self.states)? {
                if self.keeps_only_content(history) {
                    self.plan.kept.push(history.names[name].clone());
                    return Ok(Err(RestoreAction::MoveKeeping(EntryLocation { name, state: Some(state) })));
                }
                let can_overwrite = history.deleted || history.target.is_some();
                return Ok(
                    match self.report_conflict(
                        id,
                        &history.names[name],
                        RestoreCause::Edited,
                        Some(&state),
                        can_overwrite,
                    ) {
                        true => Ok(EntryLocation { name, state: Some(state) }),
                        false => Err(RestoreAction::None),
                    },
                );
            }
        }
        if history.deleted {
            self.plan.already_so += 1;
            return Ok(Err(RestoreAction::None));
        }
        let last = &history.names[history.names.len() - 1];
        let (why, can_overwrite) = match self.states.at(last)? {
            PathState::Missing | PathState::File { .. } => (RestoreCause::Gone, history.target.is_some()),
            PathState::Folder | PathState::Other => (RestoreCause::Taken, false),
        };
        let goes_on = self.report_conflict(id, last, why, None, can_overwrite);
        Ok(Err(if goes_on { RestoreAction::CreateAtEnd } else { RestoreAction::None }))
    }

    /// Plans one change of names.
    fn plan_event(&mut self, event: &NameEvent) -> Result<(), Fault> {
        match event {
            NameEvent::Created { history, path } => self.create_entry(*history, path),
            NameEvent::Moved { history, from, to, name } => match self.actions[*history] {
                RestoreAction::Move(location) | RestoreAction::MoveKeeping(location)
                    if location.name >= *name =>
                {
                    Ok(())
                }
                RestoreAction::Move(_) | RestoreAction::MoveKeeping(_) | RestoreAction::Create => {
                    self.rename(*history, from, to)
                }
                RestoreAction::None | RestoreAction::CreateAtEnd => Ok(()),
            },
            NameEvent::Deleted { history, path } => {
                match (self.actions[*history], self.histories[*history].kind) {
                    (RestoreAction::Move(_) | RestoreAction::Create, EntryKind::Folder) => {
                        self.remove_folder(path)
                    }
                    (RestoreAction::Move(location), EntryKind::File) => {
                        self.change_content_late(*history, location, path)
                    }
                    (RestoreAction::Create, EntryKind::File)
                    | (RestoreAction::None | RestoreAction::MoveKeeping(_) | RestoreAction::CreateAtEnd, _) => {
                        Ok(())
                    }
                }
            }
        }
    }

    fn create_entry(&mut self, id: HistoryId, path: &str) -> Result<(), Fault> {
        let history = &self.histories[id];
        match self.actions[id] {
            RestoreAction::Create => {}
            RestoreAction::Move(_)
            | RestoreAction::MoveKeeping(_)
            | RestoreAction::None
            | RestoreAction::CreateAtEnd => return Ok(()),
        }
        match history.kind {
            EntryKind::Folder => self.make_folder(id, path),
            EntryKind::File => self.make_file(id, path),
        }
    }

    fn make_folder(&mut self, id: HistoryId, path: &str) -> Result<(), Fault> {
        // A folder that was in the trash may already be planned for an entry inside it.
        let made = self.actions[id] == RestoreAction::CreateAtEnd && self.planned.is_folder(path)?;
        if !made && self.is_free(id, path, None)? && self.make_folders(id, path)? {
            let mode = self.histories[id].mode;
            self.names.push(ChangeStep::MakeFolder { path: parsed(path)?, mode });
            self.planned.put(path, PlannedEntry::Folder);
        }
        Ok(())
    }

    /// Plans to create a file with the final content of its history, or to replace an edited file if that was
    /// requested.
    fn make_file(&mut self, id: HistoryId, path: &str) -> Result<(), Fault> {
        let history = &self.histories[id];
        let Some(target) = content_of(history) else { return Ok(()) };
        if let (Some(at), None) = (self.planned.disk_file(path)?, self.planned.name_collision(path)?)
            && let Some(before) = self.locations.unclaimed_file(&at, self.states)?
        {
            if !self.report_conflict(id, path, RestoreCause::Taken, Some(&before), true) {
                self.actions[id] = RestoreAction::None;
                return Ok(());
            }
            let (place, content) = (parsed(&at)?, stored_content(&target));
            self.plan.steps.push(ChangeStep::ReplaceFile {
                path: place,
                before,
                content,
                mode: history.mode,
            });
            self.planned.touch(&at);
            self.note_restored(id, RestoredEntry { before: Some(before), ..restored_entry(history, None) });
            return Ok(());
        }
        if self.is_free(id, path, None)? && self.make_folders(id, path)? {
            let (place, content) = (parsed(path)?, stored_content(&target));
            self.names.push(ChangeStep::CreateFile { path: place, content, mode: Some(target.mode) });
            self.planned.put(path, PlannedEntry::File);
            self.note_restored(id, restored_entry(history, None));
        }
        Ok(())
    }

    fn rename(&mut self, id: HistoryId, from: &str, to: &str) -> Result<(), Fault> {
        let history = &self.histories[id];
        let Some(what) = self.planned.entry_at(from)? else {
            // The entry should be here by now; something that it depends on was kept.
            self.report_conflict(id, from, RestoreCause::Gone, None, false);
            self.actions[id] = RestoreAction::None;
            return Ok(());
        };
        if let (Some(at), None) = (self.planned.disk_file(to)?, self.planned.name_collision(to)?)
            && let Some(before) = self.locations.unclaimed_file(&at, self.states)?
            && self.report_conflict(id, to, RestoreCause::Taken, Some(&before), !in_trash(to))
        {
            self.plan.steps.push(ChangeStep::RemoveFile { path: parsed(&at)?, before });
            let gone = RestoredEntry {
                path: at,
                kind: EntryKind::File,
                from: None,
                before: Some(before),
                after: None,
            };
            self.plan.restored.push(gone);
            self.planned.remove(to);
        }
        let action = self.actions[id];
        if action == RestoreAction::None || !self.is_free(id, to, Some(from))? {
            if let RestoreAction::MoveKeeping(location) = action {
                self.keep_name(id, location);
            }
            return Ok(());
        }
        if !self.may_go_to_trash(id, (from, &what), to)? || !self.make_folders(id, to)? {
            if let RestoreAction::MoveKeeping(location) = action {
                self.keep_name(id, location);
            }
            return Ok(());
        }
        let details = self.details(id, from, to)?;
        if history.kind == EntryKind::Folder && in_trash(to) && details.backup.is_empty() {
            self.plan.uncompared.push(from.to_owned());
        }
        self.names.push(ChangeStep::Move {
            from: parsed(from)?,
            to: parsed(to)?,
            kind: history.kind,
            details,
        });
        self.planned.rename(from, to, what);
        match self.actions[id] {
            RestoreAction::Move(location) => self.note_restored(id, restored_entry(history, Some(location))),
            RestoreAction::MoveKeeping(location) => {
                self.note_restored(
                    id,
                    RestoredEntry { after: location.state, ..restored_entry(history, Some(location)) },
                );
            }
            RestoreAction::None | RestoreAction::Create | RestoreAction::CreateAtEnd => {}
        }
        Ok(())
    }

    /// Records the outcome of a history, once.
    fn note_restored(&mut self, id: HistoryId, restored: RestoredEntry) {
        if self.noted.insert(id) {
            self.plan.restored.push(restored);
        }
    }

    fn remove_folder(&mut self, path: &str) -> Result<(), Fault> {
        if !self.planned.is_folder(path)? {
            self.plan.already_so += 1;
        } else if self.planned.is_empty(path)? {
            let mode = self.planned.folder_mode(path)?;
            self.names.push(ChangeStep::RemoveFolder { path: parsed(path)?, mode });
            self.planned.remove(path);
        } else {
            self.plan.left.push(path.to_owned());
        }
        Ok(())
    }

    fn finish(&mut self, id: HistoryId) -> Result<(), Fault> {
        match self.actions[id] {
            RestoreAction::CreateAtEnd => {
                let history = &self.histories[id];
                let last = &history.names[history.names.len() - 1];
                match history.kind {
                    EntryKind::File => self.make_file(id, last),
                    EntryKind::Folder => self.make_folder(id, last),
                }
            }
            RestoreAction::Move(location) if !self.histories[id].deleted => {
                let history = &self.histories[id];
                self.change_content_late(id, location, &history.names[history.names.len() - 1])
            }
            RestoreAction::None
            | RestoreAction::Move(_)
            | RestoreAction::MoveKeeping(_)
            | RestoreAction::Create => Ok(()),
        }
    }

    /// Changes the content of a file that was in the trash, after it is out of it.
    fn change_content_late(
        &mut self,
        id: HistoryId,
        location: EntryLocation,
        path: &str,
    ) -> Result<(), Fault> {
        let history = &self.histories[id];
        let (true, Some(before)) = (in_trash(&history.names[location.name]), location.state) else {
            return Ok(());
        };
        if let Some(step) = content_step(history, path, before)? {
            self.names.push(step);
        }
        if history.deleted {
            self.planned.remove(path);
        }
        Ok(())
    }

    /// Plans to create missing parent folders, which were removed since. Returns false, with a conflict recorded, if
    /// something else has the name of one.
    fn make_folders(&mut self, id: HistoryId, path: &str) -> Result<bool, Fault> {
        let above: Vec<&str> = path.match_indices('/').map(|(slash, _)| &path[..slash]).collect();
        let mut missing = Vec::new();
        for folder in above {
            let in_the_way = match self.planned.entry_at(folder)? {
                Some(_) if self.planned.is_folder(folder)? => None,
                Some(_) => Some(folder.to_owned()),
                None => {
                    missing.push(folder);
                    self.planned.other_spelling(folder, None)?
                }
            };
            if let Some(by) = in_the_way {
                self.report_conflict(id, &by, RestoreCause::Taken, None, false);
                self.actions[id] = RestoreAction::None;
                return Ok(false);
            }
        }
        for folder in missing {
            self.names.push(ChangeStep::create_folder(parsed(folder)?));
            self.planned.put(folder, PlannedEntry::Folder);
        }
        Ok(true)
    }

    /// Returns false if a folder may not go to the trash, because it contains a file that the user keeps. A file that
    /// was added or edited since the folder was deleted first is a conflict.
    fn may_go_to_trash(
        &mut self,
        id: HistoryId,
        (from, what): (&str, &PlannedEntry),
        to: &str,
    ) -> Result<bool, Fault> {
        let history = &self.histories[id];
        let PlannedEntry::Disk(at) = what else { return Ok(true) };
        if !in_trash(to) || in_trash(at) || history.kind == EntryKind::File {
            return Ok(true);
        }
        if history.deleted_with.is_empty() {
            let (vault, io) = (self.states.vault, self.states.io);
            if !vault.trash_backup(&parsed(at)?, history.kind, None, io)?.is_empty() {
                return Ok(true);
            }
            // Too large to record: notes that are new or edited since would go along unseen.
            let goes_on = self.report_conflict(id, from, RestoreCause::Unknown, None, true);
            if !goes_on {
                self.actions[id] = RestoreAction::None;
            }
            return Ok(goes_on);
        }
        let known: HashMap<&str, Hash> = history
            .deleted_with
            .iter()
            .filter_map(|entry| Some((entry.path.as_str(), entry.state?.hash)))
            .collect();
        let mut may_go = true;
        for (rest, file) in self.planned.files_in(from)? {
            // A file whose content is decided by its own history is checked there.
            let owner = self.locations.owner(&file).map(|owner| &self.histories[owner]);
            if owner.is_some_and(|owner| !owner.contents.is_empty()) {
                continue;
            }
            let file = file.as_str();
            let state = match self.states.at(file)? {
                PathState::File { state, .. } => Some(state),
                PathState::Missing | PathState::Folder | PathState::Other => None,
            };
            let why = match (known.get(rest.as_str()), state) {
                (Some(hash), Some(now)) if *hash == now.hash => continue,
                (Some(_), _) => RestoreCause::Edited,
                (None, _) => RestoreCause::Added,
            };
            if self.is_named(file) || self.is_below_kept(file) {
                self.plan.kept.push(file.to_owned());
                may_go = false;
            } else if !self.overwrite.contains(&VaultPath::fold_name(file))
                && !self.plan.conflicts.iter().any(|known| known.path == file)
            {
                self.plan.conflicts.push(RestoreConflict::new(history, file, why, state.as_ref(), true));
            }
        }
        if !may_go {
            self.plan.left.push(at.clone());
            self.actions[id] = RestoreAction::None;
        }
        Ok(may_go)
    }
}

/// Returns the content of a file that will go to the trash and is not the content that went there before: a redo of a
/// deletion must not remove an edit unasked.
fn edited_before_trash(history: &EntryHistory, location: EntryLocation) -> Option<FileState> {
    let deleted_again = history.contents.is_empty() && !in_trash(&history.names[location.name]);
    location.state.filter(|now| deleted_again && history.trashes.is_some_and(|trashed| trashed != now.hash))
}

/// Returns the step to the final content of a history; `None` if the file has it already.
fn content_step(history: &EntryHistory, path: &str, before: FileState) -> Result<Option<ChangeStep>, Fault> {
    if history.deleted {
        return Ok(Some(ChangeStep::RemoveFile { path: parsed(path)?, before }));
    }
    let Some(target) = history.target else { return Ok(None) };
    let differs = target.hash != before.hash || history.mode.is_some_and(|mode| mode != before.mode);
    if !differs {
        return Ok(None);
    }
    let (path, content) = (parsed(path)?, stored_content(&target));
    Ok(Some(ChangeStep::ReplaceFile { path, before, content, mode: history.mode }))
}

fn stored_content(state: &FileState) -> FileContent {
    FileContent::Stored(envelope::DataRef { hash: state.hash, bytes: state.bytes })
}

/// Returns the entry before and after the restoration.
fn restored_entry(history: &EntryHistory, location: Option<EntryLocation>) -> RestoredEntry {
    let now = location.map(|location| history.names[location.name].clone());
    let before = location.and_then(|location| location.state);
    let last = history.names[history.names.len() - 1].clone();
    let (path, from) = match now {
        Some(now) if history.deleted => (now, None),
        Some(now) if now != last => (last, Some(now)),
        Some(_) | None => (last, None),
    };
    let after = if history.deleted { None } else { history.target.or(before).or(history.trashed.backup) };
    RestoredEntry { path, kind: history.kind, from, before, after }
}

impl RestorePlanner<'_> {
    /// Returns true if no entry is at a path, also in another spelling, except `itself`. Records a conflict
    /// otherwise.
    pub(super) fn is_free(&mut self, id: HistoryId, path: &str, itself: Option<&str>) -> Result<bool, Fault> {
        let taken = match self.planned.entry_at(path)? {
            None => self.planned.other_spelling(path, itself)?,
            Some(_) => Some(path.to_owned()),
        };
        if let Some(by) = taken {
            self.report_conflict(id, &by, RestoreCause::Taken, None, false);
            self.actions[id] = RestoreAction::None;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn is_kept(&self, history: &EntryHistory) -> bool {
        let kept = |name: &String| self.is_named(name) || self.is_below_kept(name);
        self.is_left_out(history) || (!self.keep.is_empty() && history.names.iter().any(kept))
    }

    /// Returns true if the restoration is limited to other entries.
    fn is_left_out(&self, history: &EntryHistory) -> bool {
        let is_covered = |paths: &[String]| {
            history.names.iter().any(|name| {
                let name = VaultPath::fold_name(name);
                let rest = |path: &String| name.strip_prefix(path.as_str());
                paths.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        (!self.only.is_empty() && !is_covered(&self.only)) || is_covered(&self.leave)
    }

    /// Returns true if an entry is in a folder in the trash that stays there, because the restoration is limited to other
    /// entries.
    fn stays_in_trash(&self, history: &EntryHistory, location: EntryLocation) -> bool {
        let folder = history.trashed.trashed_folder.and_then(|folder| self.histories.get(folder));
        in_trash(&history.names[location.name]) && folder.is_some_and(|folder| self.is_left_out(folder))
    }

    /// Returns true if a file is kept by its own name: that applies to its content. A file in a kept folder
    /// also stays where it is.
    pub(super) fn keeps_only_content(&self, history: &EntryHistory) -> bool {
        let for_itself = !self.is_left_out(history)
            && !history.deleted
            && history.kind == EntryKind::File
            && self.is_kept(history);
        for_itself && !history.names.iter().any(|name| self.is_below_kept(name))
    }

    fn is_named(&self, name: &str) -> bool {
        self.keep.contains(&VaultPath::fold_name(name))
    }

    fn is_below_kept(&self, name: &str) -> bool {
        let name = VaultPath::fold_name(name);
        name.match_indices('/').any(|(slash, _)| self.keep.contains(&name[..slash]))
    }

    pub(super) fn unless_kept(&mut self, id: HistoryId, action: RestoreAction) -> RestoreAction {
        let history = &self.histories[id];
        if !self.is_kept(history) {
            return action;
        }
        self.plan.kept.push(history.names[0].clone());
        RestoreAction::None
    }

    /// Leaves an entry unchanged. An entry without a pending change is not reported.
    pub(super) fn keep(&mut self, id: HistoryId, location: EntryLocation) -> RestoreAction {
        let history = &self.histories[id];
        if history.trashed.trashed_folder.is_some() {
            // Reported with its folder.
            return RestoreAction::None;
        }
        self.keep_name(id, location);
        let differs = location.state.zip(history.target).is_some_and(|(now, then)| now.hash != then.hash);
        if history.deleted || differs || location.name + 1 < history.names.len() {
            self.plan.kept.push(history.names[location.name].clone());
        }
        RestoreAction::None
    }

    /// Records a name that stays, so that restored links do not lead to the original name.
    pub(super) fn keep_name(&mut self, id: HistoryId, location: EntryLocation) {
        let history = &self.histories[id];
        let (now, last) = (&history.names[location.name], &history.names[history.names.len() - 1]);
        if !history.deleted && now != last && ![now, last].into_iter().any(|name| in_trash(name)) {
            self.plan.names_kept.push((now.clone(), last.clone()));
        }
    }

    /// Records a conflict. Returns true if planning continues as if the entry were overwritten, so that one
    /// conflict is not reported several times.
    pub(super) fn report_conflict(
        &mut self,
        id: HistoryId,
        path: &str,
        why: RestoreCause,
        now: Option<&FileState>,
        can_overwrite: bool,
    ) -> bool {
        let history = &self.histories[id];
        if self.is_kept(history) {
            match why {
                RestoreCause::Gone => self.plan.missing.push(path.to_owned()),
                RestoreCause::Edited
                | RestoreCause::Taken
                | RestoreCause::Added
                | RestoreCause::Links
                | RestoreCause::Unknown => {
                    self.plan.kept.push(path.to_owned());
                }
            }
            return false;
        }
        let wanted = |name: &String| self.overwrite.contains(&VaultPath::fold_name(name));
        let wanted = !self.overwrite.is_empty() && history.names.iter().any(wanted);
        if !(can_overwrite && wanted) {
            self.plan.conflicts.push(RestoreConflict::new(history, path, why, now, can_overwrite));
        }
        can_overwrite
    }
}

impl RestorePlanner<'_> {
    /// Chooses the action for an entry that is missing from the trash: it was emptied, and another entry may
    /// have the name. Returns `None` without a backup if the name is free.
    pub(super) fn decide_missing_from_trash(
        &mut self,
        id: HistoryId,
    ) -> Result<Option<RestoreAction>, Fault> {
        let history = &self.histories[id];
        if history.deleted {
            // The entry under that name is another one.
            self.plan.already_so += 1;
            return Ok(Some(RestoreAction::None));
        }
        let can_overwrite = match history.kind {
            EntryKind::File => content_of(history).is_some(),
            EntryKind::Folder => history.trashed.complete,
        };
        if let (Some(folder), true) = (history.trashed.trashed_folder, can_overwrite) {
            let given_up = self.actions[folder] == RestoreAction::None && !self.histories[folder].deleted;
            return Ok(Some(if given_up || self.is_kept(history) {
                RestoreAction::None
            } else {
                RestoreAction::CreateAtEnd
            }));
        }
        let path = &history.names[0];
        let now = match self.states.at(path)? {
            PathState::Missing if can_overwrite => {
                return Ok(Some(self.unless_kept(id, RestoreAction::CreateAtEnd)));
            }
            PathState::Missing => return Ok(None),
            PathState::File { state, .. } => Some(state),
            PathState::Folder | PathState::Other => None,
        };
        let goes_on = self.report_conflict(id, path, RestoreCause::Taken, now.as_ref(), can_overwrite);
        Ok(Some(if goes_on { RestoreAction::CreateAtEnd } else { RestoreAction::None }))
    }

    /// Returns what a move has to check and store. An entry from the trash must be the one that was found
    /// there; an entry that goes into the trash is stored as on its first deletion.
    pub(super) fn details(&self, id: HistoryId, from: &str, to: &str) -> Result<MoveDetails, Fault> {
        let history = &self.histories[id];
        let before = match self.actions[id] {
            RestoreAction::Move(location) => location.state.map(|now| match history.target {
                Some(target) if !in_trash(&history.names[location.name]) => {
                    FileState { mode: history.mode.unwrap_or(now.mode), ..target }
                }
                Some(_) | None => now,
            }),
            RestoreAction::MoveKeeping(location) => location.state,
            RestoreAction::Create => history.target,
            RestoreAction::None | RestoreAction::CreateAtEnd => None,
        };
        let place = match history.kind {
            EntryKind::File => Some(from.to_owned()),
            EntryKind::Folder => self.planned.untouched_folder(from)?,
        };
        let kept = match place.filter(|_| in_trash(to)) {
            Some(place) => {
                self.states.vault.trash_backup(&parsed(&place)?, history.kind, before, self.states.io)?
            }
            None if in_trash(from) => self.inside_trashed(history, from)?,
            None => Vec::new(),
        };
        Ok(MoveDetails { before, must_match: before.is_some() && in_trash(from), backup: kept })
    }
}

impl RestorePlanner<'_> {
    /// Returns what is in a folder in the trash, with the entries that are missing there and are created again. Returns
    /// nothing if it was not recorded what the folder was deleted with.
    fn inside_trashed(&self, history: &EntryHistory, from: &str) -> Result<Vec<KeptEntry>, Fault> {
        let recorded = &history.trashed.inside;
        if recorded.is_empty() {
            return Ok(Vec::new());
        }
        let mut inside: BTreeMap<String, Option<FileState>> = BTreeMap::from([(String::new(), None)]);
        let mut todo = vec![String::new()];
        while let Some(folder) = todo.pop() {
            self.states.io.check_cancelled()?;
            let place = |rest: &str| if rest.is_empty() { from.to_owned() } else { format!("{from}/{rest}") };
            for name in self.states.vault.names_in(&parsed(&place(&folder))?)? {
                // The empty name stands for names that are not text.
                if name.is_empty() {
                    continue;
                }
                let rest = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                // A name that cannot be spelled is found as a new one later.
                let Ok(path) = VaultPath::parse_escaped(&place(&rest)) else { continue };
                match self.states.at(path.as_str())? {
                    PathState::File { state, .. } => drop(inside.insert(rest, Some(state))),
                    PathState::Folder => {
                        inside.insert(rest.clone(), None);
                        todo.push(rest);
                    }
                    PathState::Missing | PathState::Other => {}
                }
            }
        }
        for entry in recorded {
            inside.entry(entry.path.clone()).or_insert(entry.state);
        }
        Ok(inside.into_iter().map(|(path, state)| KeptEntry { path, state }).collect())
    }
}

/// Returns the content of a file that has to be created again.
pub(super) fn content_of(history: &EntryHistory) -> Option<FileState> {
    history.target.or(history.trashed.backup)
}
