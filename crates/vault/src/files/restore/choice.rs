//! What people decided about things that were changed since, and what they have yet to decide.

use envelope::{Fault, FileState};

use super::conflict::{RestoreCause as Why, RestoreConflict};
use super::locate::Standing;
use super::thread::{Thread, ThreadId};
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
        let kept = |name: &str| {
            let folders = name.match_indices('/').map(|(slash, _)| &name[..slash]);
            folders.chain([name]).any(|path| self.keep.contains(path))
        };
        !self.keep.is_empty() && thread.names.iter().any(|name| kept(name))
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
        let differs = standing.state.zip(thread.target).is_some_and(|(now, then)| now.hash != then.hash);
        if thread.dies || differs || standing.name + 1 < thread.names.len() {
            self.done.kept.push(thread.names[standing.name].clone());
        }
        Course::Rest
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
            self.done.kept.push(path.to_owned());
            return false;
        }
        let wanted = thread.names.iter().any(|name| self.overwrite.contains(name.as_str()));
        if !(can && wanted) {
            self.done.conflicts.push(RestoreConflict::new(thread, path, why, now, can));
        }
        can
    }
}
