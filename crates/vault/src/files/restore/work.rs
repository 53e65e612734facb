//! Works out the steps: first the contents, then the names.
//!
//! Contents come first, each at the place where the file is now: so what is overwritten can be kept before
//! the first change, however often the list edits and moves one note. Names follow in the order of the list.

use std::collections::HashSet;

use envelope::{EntryKind, Fault, FileState, VaultPath};

use super::conflict::RestoreCause as Why;
use super::foresee::{Restoration, RestoreChoices, Restored};
use super::locate::{Disk, Reading, Standing, Standings, parsed};
use super::space::{Space, What};
use super::thread::{Event, Thread, ThreadId, Threads, in_trash};
use super::trash::content_of;
use crate::sandbox::{Content, Seen, Step};

/// What there is to do if the disk is read in this way.
pub(super) fn work_out(
    threads: &Threads,
    disk: &Disk<'_>,
    choices: RestoreChoices<'_>,
    reading: Reading,
) -> Result<Restoration, Fault> {
    let standings = Standings::find(&threads.all, disk, reading)?;
    let mut work = Work {
        threads: &threads.all,
        disk,
        keep: choices.keep.iter().map(|path| VaultPath::fold_name(path)).collect(),
        overwrite: choices.overwrite.iter().map(|path| VaultPath::fold_name(path)).collect(),
        standings,
        courses: Vec::new(),
        space: Space::new(disk),
        told: HashSet::new(),
        names: Vec::new(),
        done: Restoration { already_so: threads.repeated, ..Restoration::default() },
    };
    for thread in 0..threads.all.len() {
        let course = work.decide(thread)?;
        work.courses.push(course);
    }
    for event in &threads.events {
        disk.witness.may_go_on()?;
        work.follow(event)?;
    }
    for thread in 0..threads.all.len() {
        work.finish(thread)?;
    }
    work.done.steps.append(&mut work.names);
    let mut said = HashSet::new();
    work.done.kept.retain(|path| said.insert(path.clone()));
    Ok(work.done)
}

/// What is to become of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// Nothing is left to do, or nothing may be done.
    Rest,
    /// It is there, and goes on from there.
    Walk(Standing),
    /// It goes on from there with what it holds now: somebody keeps that, and the name is still put back, since
    /// the links of other notes are.
    Carry(Standing),
    /// It is to be made when its turn comes.
    Make,
    /// It is gone although it should be there: made anew under its last name, when all names are in place.
    MakeAtEnd,
}

pub(super) struct Work<'a> {
    pub(super) threads: &'a [Thread],
    pub(super) disk: &'a Disk<'a>,
    /// Folded: what stands in the way may be spelled otherwise than what it keeps from coming back.
    pub(super) keep: HashSet<String>,
    pub(super) overwrite: HashSet<String>,
    standings: Standings,
    pub(super) courses: Vec<Course>,
    pub(super) space: Space<'a>,
    told: HashSet<ThreadId>,
    /// The steps that change names; those that change contents stand in `done` and come first.
    names: Vec<Step>,
    pub(super) done: Restoration,
}

impl Work<'_> {
    /// Decides about one thread, and changes its content.
    fn decide(&mut self, id: ThreadId) -> Result<Course, Fault> {
        let thread = &self.threads[id];
        let standing = match self.standings.get(id) {
            Some(standing) => standing,
            None if thread.born && !thread.dies => return Ok(self.unless_kept(id, Course::Make)),
            None => match self.missing(id)? {
                Ok(standing) => standing,
                Err(course) => return Ok(course),
            },
        };
        if self.is_kept(thread) {
            return Ok(self.keep(id, standing));
        }
        let path = &thread.names[standing.name];
        let stays = standing.name + 1 == thread.names.len();
        let Some(before) = standing.state else {
            self.done.already_so += usize::from(stays && !thread.dies);
            return Ok(Course::Walk(standing));
        };
        let Some(step) = content_step(thread, path, before)? else {
            self.done.already_so += usize::from(stays);
            return Ok(Course::Walk(standing));
        };
        self.tell(id, restored(thread, Some(standing)));
        if in_trash(path) {
            // Nothing is written in the trash: it gets its content when it is out of it.
            return Ok(Course::Walk(standing));
        }
        self.done.steps.push(step);
        if thread.dies {
            self.space.remove(path);
            return Ok(Course::Rest);
        }
        self.space.touch(path);
        Ok(Course::Walk(standing))
    }

    /// A thread that stands nowhere: perhaps that is right, perhaps somebody changed it since.
    fn missing(&mut self, id: ThreadId) -> Result<Result<Standing, Course>, Fault> {
        let thread = &self.threads[id];
        if in_trash(&thread.names[0])
            && let Some(course) = self.missing_from_trash(id)?
        {
            return Ok(Err(course));
        }
        if thread.kind == EntryKind::Folder || thread.born {
            if thread.dies {
                self.done.already_so += 1;
                return Ok(Err(Course::Rest));
            }
            let why = match self.disk.at(&thread.names[0])? {
                Seen::Nothing => Why::Gone,
                Seen::Folder | Seen::File { .. } | Seen::Other => Why::Taken,
            };
            self.conflict(id, &thread.names[0], why, None, false);
            return Ok(Err(Course::Rest));
        }
        // A file that was edited has another content under its first name, or under a later one if it was
        // on its way already. One that is to go is looked for under its first name only: behind the others
        // may be something that was never ours.
        let names = if thread.dies { 1 } else { thread.names.len() };
        for name in std::iter::once(0).chain((1..names).rev()) {
            if let Some(state) = self.standings.stranger(&thread.names[name], self.disk)? {
                if self.keeps_only_content(thread) {
                    self.done.kept.push(thread.names[name].clone());
                    return Ok(Err(Course::Carry(Standing { name, state: Some(state) })));
                }
                let can = thread.dies || thread.target.is_some();
                return Ok(match self.conflict(id, &thread.names[name], Why::Edited, Some(&state), can) {
                    true => Ok(Standing { name, state: Some(state) }),
                    false => Err(Course::Rest),
                });
            }
        }
        if thread.dies {
            self.done.already_so += 1;
            return Ok(Err(Course::Rest));
        }
        let last = &thread.names[thread.names.len() - 1];
        let (why, can) = match self.disk.at(last)? {
            Seen::Nothing | Seen::File { .. } => (Why::Gone, thread.target.is_some()),
            Seen::Folder | Seen::Other => (Why::Taken, false),
        };
        let goes_on = self.conflict(id, last, why, None, can);
        Ok(Err(if goes_on { Course::MakeAtEnd } else { Course::Rest }))
    }

    /// Follows one change of names.
    fn follow(&mut self, event: &Event) -> Result<(), Fault> {
        match event {
            Event::Birth { thread, path } => self.bear(*thread, path),
            Event::Move { thread, from, to, name } => match self.courses[*thread] {
                Course::Walk(standing) | Course::Carry(standing) if standing.name >= *name => Ok(()),
                Course::Walk(_) | Course::Carry(_) | Course::Make => self.rename(*thread, from, to),
                Course::Rest | Course::MakeAtEnd => Ok(()),
            },
            Event::Death { thread, path } => match (self.courses[*thread], self.threads[*thread].kind) {
                (Course::Walk(_) | Course::Make, EntryKind::Folder) => self.remove_folder(path),
                (Course::Walk(standing), EntryKind::File) => self.change_late(*thread, standing, path),
                (Course::Make, EntryKind::File)
                | (Course::Rest | Course::Carry(_) | Course::MakeAtEnd, _) => Ok(()),
            },
        }
    }

    fn bear(&mut self, id: ThreadId, path: &str) -> Result<(), Fault> {
        let thread = &self.threads[id];
        match self.courses[id] {
            Course::Make => {}
            Course::Walk(_) | Course::Carry(_) | Course::Rest | Course::MakeAtEnd => return Ok(()),
        }
        match thread.kind {
            EntryKind::Folder => self.make_folder(id, path),
            EntryKind::File => self.make_file(id, path),
        }
    }

    fn make_folder(&mut self, id: ThreadId, path: &str) -> Result<(), Fault> {
        // One that was in the trash may have been made for something in it.
        let made = self.courses[id] == Course::MakeAtEnd && self.space.is_folder(path)?;
        if !made && self.is_free(id, path, None)? {
            self.make_folders(path)?;
            let mode = self.threads[id].mode;
            self.names.push(Step::MakeFolder { path: parsed(path)?, mode });
            self.space.put(path, What::Folder);
        }
        Ok(())
    }

    /// Makes a file with the content that its thread has in the end, in the place of one that was edited if
    /// that was asked for.
    fn make_file(&mut self, id: ThreadId, path: &str) -> Result<(), Fault> {
        let thread = &self.threads[id];
        let Some(target) = content_of(thread) else { return Ok(()) };
        if let (Some(at), None) = (self.space.disk_file(path)?, self.space.twin(path)?)
            && let Some(before) = self.standings.stranger(&at, self.disk)?
        {
            if !self.conflict(id, path, Why::Taken, Some(&before), true) {
                self.courses[id] = Course::Rest;
                return Ok(());
            }
            let (place, content) = (parsed(&at)?, kept(&target));
            self.done.steps.push(Step::ReplaceFile { path: place, before, content, mode: thread.mode });
            self.space.touch(&at);
            self.tell(id, Restored { before: Some(before), ..restored(thread, None) });
            return Ok(());
        }
        if self.is_free(id, path, None)? {
            self.make_folders(path)?;
            let (place, content) = (parsed(path)?, kept(&target));
            self.names.push(Step::CreateFile { path: place, content, mode: Some(target.mode) });
            self.space.put(path, What::File);
            self.tell(id, restored(thread, None));
        }
        Ok(())
    }

    fn rename(&mut self, id: ThreadId, from: &str, to: &str) -> Result<(), Fault> {
        let thread = &self.threads[id];
        let Some(what) = self.space.what(from)? else {
            // Where it should be by now, nothing is: something it depends on was kept.
            self.conflict(id, from, Why::Gone, None, false);
            self.courses[id] = Course::Rest;
            return Ok(());
        };
        if let (Some(at), None) = (self.space.disk_file(to)?, self.space.twin(to)?)
            && let Some(before) = self.standings.stranger(&at, self.disk)?
            && self.conflict(id, to, Why::Taken, Some(&before), !in_trash(to))
        {
            self.done.steps.push(Step::RemoveFile { path: parsed(&at)?, before });
            let gone =
                Restored { path: at, kind: EntryKind::File, from: None, before: Some(before), after: None };
            self.done.restored.push(gone);
            self.space.remove(to);
        }
        let course = self.courses[id];
        if course == Course::Rest || !self.is_free(id, to, Some(from))? {
            if let Course::Carry(standing) = course {
                self.keep_name(id, standing);
            }
            return Ok(());
        }
        self.make_folders(to)?;
        let baggage = self.baggage(id, from, to)?;
        self.names.push(Step::Move { from: parsed(from)?, to: parsed(to)?, kind: thread.kind, baggage });
        self.space.rename(from, to, what);
        match self.courses[id] {
            Course::Walk(standing) => self.tell(id, restored(thread, Some(standing))),
            Course::Carry(standing) => {
                self.tell(id, Restored { after: standing.state, ..restored(thread, Some(standing)) });
            }
            Course::Rest | Course::Make | Course::MakeAtEnd => {}
        }
        Ok(())
    }

    /// Takes note of what becomes of a thread, once.
    fn tell(&mut self, id: ThreadId, restored: Restored) {
        if self.told.insert(id) {
            self.done.restored.push(restored);
        }
    }

    fn remove_folder(&mut self, path: &str) -> Result<(), Fault> {
        if !self.space.is_folder(path)? {
            self.done.already_so += 1;
        } else if self.space.is_empty(path)? {
            let mode = self.space.folder_mode(path)?;
            self.names.push(Step::RemoveFolder { path: parsed(path)?, mode });
            self.space.remove(path);
        } else {
            self.done.left.push(path.to_owned());
        }
        Ok(())
    }

    fn finish(&mut self, id: ThreadId) -> Result<(), Fault> {
        match self.courses[id] {
            Course::MakeAtEnd => {
                let thread = &self.threads[id];
                let last = &thread.names[thread.names.len() - 1];
                match thread.kind {
                    EntryKind::File => self.make_file(id, last),
                    EntryKind::Folder => self.make_folder(id, last),
                }
            }
            Course::Walk(standing) if !self.threads[id].dies => {
                let thread = &self.threads[id];
                self.change_late(id, standing, &thread.names[thread.names.len() - 1])
            }
            Course::Rest | Course::Walk(_) | Course::Carry(_) | Course::Make => Ok(()),
        }
    }

    /// Changes the content of a file that was in the trash, now that it is out of it.
    fn change_late(&mut self, id: ThreadId, standing: Standing, path: &str) -> Result<(), Fault> {
        let thread = &self.threads[id];
        let (true, Some(before)) = (in_trash(&thread.names[standing.name]), standing.state) else {
            return Ok(());
        };
        if let Some(step) = content_step(thread, path, before)? {
            self.names.push(step);
        }
        if thread.dies {
            self.space.remove(path);
        }
        Ok(())
    }

    /// Makes the folders above a path that are missing by then: somebody removed them since.
    fn make_folders(&mut self, path: &str) -> Result<(), Fault> {
        let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
        for folder in slashes.into_iter().map(|at| &path[..at]) {
            if self.space.what(folder)?.is_none() {
                self.names.push(Step::making_folder(parsed(folder)?));
                self.space.put(folder, What::Folder);
            }
        }
        Ok(())
    }
}

/// What gives a thread its last content, or ends it; `None` if it has it already.
fn content_step(thread: &Thread, path: &str, before: FileState) -> Result<Option<Step>, Fault> {
    if thread.dies {
        return Ok(Some(Step::RemoveFile { path: parsed(path)?, before }));
    }
    let Some(target) = thread.target else { return Ok(None) };
    let differs = target.hash != before.hash || thread.mode.is_some_and(|mode| mode != before.mode);
    if !differs {
        return Ok(None);
    }
    let (path, content) = (parsed(path)?, kept(&target));
    Ok(Some(Step::ReplaceFile { path, before, content, mode: thread.mode }))
}

fn kept(state: &FileState) -> Content {
    Content::Kept(envelope::DataRef { hash: state.hash, bytes: state.bytes })
}

/// A thread as it is and as it will be.
fn restored(thread: &Thread, standing: Option<Standing>) -> Restored {
    let now = standing.map(|standing| thread.names[standing.name].clone());
    let before = standing.and_then(|standing| standing.state);
    let last = thread.names[thread.names.len() - 1].clone();
    let (path, from) = match now {
        Some(now) if thread.dies => (now, None),
        Some(now) if now != last => (last, Some(now)),
        Some(_) | None => (last, None),
    };
    let after = if thread.dies { None } else { thread.target.or(before).or(thread.trashed.spare) };
    Restored { path, kind: thread.kind, from, before, after }
}
