//! What the trash and the store know about something that was deleted, while the steps are worked out.

use envelope::{EntryKind, Fault, FileState};

use super::conflict::RestoreCause as Why;
use super::locate::parsed;
use super::thread::{Thread, ThreadId, in_trash};
use super::work::{Course, Work};
use crate::sandbox::{Baggage, Seen};

impl Work<'_> {
    /// Something that is not in the trash any more: the trash was emptied, and perhaps something else of that
    /// name was deleted since. `None` where nothing was stored of it and nothing has its name.
    pub(super) fn missing_from_trash(&mut self, id: ThreadId) -> Result<Option<Course>, Fault> {
        let thread = &self.threads[id];
        if thread.dies {
            // What is there under that name was never ours.
            self.done.already_so += 1;
            return Ok(Some(Course::Rest));
        }
        let can = match thread.kind {
            EntryKind::File => content_of(thread).is_some(),
            EntryKind::Folder => thread.trashed.whole,
        };
        if let (Some(folder), true) = (thread.trashed.inside, can) {
            let given_up = self.courses[folder] == Course::Rest && !self.threads[folder].dies;
            return Ok(Some(if given_up || self.is_kept(thread) { Course::Rest } else { Course::MakeAtEnd }));
        }
        let path = &thread.names[0];
        let now = match self.disk.at(path)? {
            Seen::Nothing if can => return Ok(Some(self.unless_kept(id, Course::MakeAtEnd))),
            Seen::Nothing => return Ok(None),
            Seen::File { state, .. } => Some(state),
            Seen::Folder | Seen::Other => None,
        };
        let goes_on = self.conflict(id, path, Why::Taken, now.as_ref(), can);
        Ok(Some(if goes_on { Course::MakeAtEnd } else { Course::Rest }))
    }

    /// What goes along with a move. What comes out of the trash must be what was found there; what goes into it
    /// is stored, as when it was deleted first.
    pub(super) fn baggage(&self, id: ThreadId, from: &str, to: &str) -> Result<Baggage, Fault> {
        let thread = &self.threads[id];
        let before = match self.courses[id] {
            Course::Walk(standing) => standing.state.map(|now| match thread.target {
                Some(target) if !in_trash(&thread.names[standing.name]) => {
                    FileState { mode: thread.mode.unwrap_or(now.mode), ..target }
                }
                Some(_) | None => now,
            }),
            Course::Carry(standing) => standing.state,
            Course::Make => thread.target,
            Course::Rest | Course::MakeAtEnd => None,
        };
        let place = match thread.kind {
            EntryKind::File => Some(from.to_owned()),
            EntryKind::Folder => self.space.untouched_folder(from)?,
        };
        let kept = match place.filter(|_| in_trash(to)) {
            Some(place) => {
                self.disk.vault.keepable(&parsed(&place)?, thread.kind, before, self.disk.witness)?
            }
            None => Vec::new(),
        };
        Ok(Baggage { before, exactly: before.is_some() && in_trash(from), kept })
    }
}

/// What a file is to hold if it has to be made anew.
pub(super) fn content_of(thread: &Thread) -> Option<FileState> {
    thread.target.or(thread.trashed.spare)
}
