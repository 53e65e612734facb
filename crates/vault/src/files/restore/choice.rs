//! What people decided about things that were changed since, and what they have yet to decide.

use envelope::{EntryKind, Fault, FileState, VaultPath};

use super::conflict::{RestoreCause as Why, RestoreConflict};
use super::locate::Standing;
use super::thread::{Thread, ThreadId, in_trash};
use super::work::{Course, Work};

impl Work<'_> {
    /// Whether nothing stands at a path, under no spelling but that of `itself`; a conflict if something does.
    pub(super) fn is_free(&mut self, id: ThreadId, path: &str, itself: Option<&str>) -> Result<bool, Fault> {
        let taken = match self.space.what(path)? {
            None => self.space.twin(path)?.filter(|twin| Some(twin.as_str()) != itself),
            Some(_) => Some(path.to_owned()),
        };
        if let Some(by) = taken {
            self.conflict(id, &by, Why::Taken, None, false);
            self.courses[id] = Course::Rest;
            return Ok(false);
        }
        Ok(true)
    }

    pub(super) fn is_kept(&self, thread: &Thread) -> bool {
        let kept = |name: &String| self.is_named(name) || self.is_below_kept(name);
        !self.keep.is_empty() && thread.names.iter().any(kept)
    }

    /// Whether a file that was edited is kept for its own sake: then that is about what it holds. One in a folder
    /// that is kept stays in it.
    pub(super) fn keeps_only_content(&self, thread: &Thread) -> bool {
        let for_itself = !thread.dies && thread.kind == EntryKind::File && self.is_kept(thread);
        for_itself && !thread.names.iter().any(|name| self.is_below_kept(name))
    }

    fn is_named(&self, name: &str) -> bool {
        self.keep.contains(&VaultPath::fold_name(name))
    }

    fn is_below_kept(&self, name: &str) -> bool {
        let name = VaultPath::fold_name(name);
        name.match_indices('/').any(|(slash, _)| self.keep.contains(&name[..slash]))
    }

    pub(super) fn unless_kept(&mut self, id: ThreadId, course: Course) -> Course {
        let thread = &self.threads[id];
        if !self.is_kept(thread) {
            return course;
        }
        self.done.kept.push(thread.names[0].clone());
        Course::Rest
    }

    /// Leaves a thread as it is. One that has nothing left to do is not worth a word.
    pub(super) fn keep(&mut self, id: ThreadId, standing: Standing) -> Course {
        let thread = &self.threads[id];
        if thread.trashed.inside.is_some() {
            // Told by its folder.
            return Course::Rest;
        }
        self.keep_name(id, standing);
        let differs = standing.state.zip(thread.target).is_some_and(|(now, then)| now.hash != then.hash);
        if thread.dies || differs || standing.name + 1 < thread.names.len() {
            self.done.kept.push(thread.names[standing.name].clone());
        }
        Course::Rest
    }

    /// Takes note of a name that stays: links that are put back do not lead to it.
    pub(super) fn keep_name(&mut self, id: ThreadId, standing: Standing) {
        let thread = &self.threads[id];
        let (now, last) = (&thread.names[standing.name], &thread.names[thread.names.len() - 1]);
        if !thread.dies && now != last && ![now, last].into_iter().any(|name| in_trash(name)) {
            self.done.names_kept.push((now.clone(), last.clone()));
        }
    }

    /// Something stands in the way. Whether to go on as if it were to be overwritten: so that one conflict is
    /// not reported as many.
    pub(super) fn conflict(
        &mut self,
        id: ThreadId,
        path: &str,
        why: Why,
        now: Option<&FileState>,
        can: bool,
    ) -> bool {
        let thread = &self.threads[id];
        if self.is_kept(thread) {
            match why {
                Why::Gone => self.done.missing.push(path.to_owned()),
                Why::Edited | Why::Taken => self.done.kept.push(path.to_owned()),
            }
            return false;
        }
        let wanted = |name: &String| self.overwrite.contains(&VaultPath::fold_name(name));
        let wanted = !self.overwrite.is_empty() && thread.names.iter().any(wanted);
        if !(can && wanted) {
            self.done.conflicts.push(RestoreConflict::new(thread, path, why, now, can));
        }
        can
    }
}
