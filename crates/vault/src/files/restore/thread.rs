//! The changes of a list, told by the file or folder that they happen to.
//!
//! Several changes of a list can happen to one note: created, edited, moved, deleted. What is there now can
//! be any of the states between, because a part was done before a crash, or because a change that was only
//! intended never happened. So the list is first read as threads: which names a thing has in turn, and which
//! contents. Nothing here looks at the disk.
//!
//! What comes out of the trash is also told by what the store has of it: a folder with a thread for each of
//! the things that were in it, so that whatever is missing from the trash can be made anew.

use envelope::{Change, EntryKind, FileState, Hash, KeptEntry};

use super::names::{Known, Names};
use crate::sandbox::TRASH;

/// The number of a thread.
pub(super) type ThreadId = usize;

/// One file or folder, from before the first change to after the last.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) kind: EntryKind,
    /// Every name it has in turn.
    pub(super) names: Vec<String>,
    /// Every content it may have on the way; empty where no change speaks of it, so that any will do.
    pub(super) contents: Vec<Hash>,
    /// What it is to hold in the end; absent where no change speaks of it.
    pub(super) target: Option<FileState>,
    /// The mode it is to have in the end, where that changes.
    pub(super) mode: Option<u32>,
    /// It is not there before the first change.
    pub(super) born: bool,
    /// The folder that it is born in, if that is known.
    pub(super) cradle: Option<ThreadId>,
    /// It is not there after the last change.
    pub(super) dies: bool,
    /// Of something that comes out of the trash: how it is known again there, and made if it is gone.
    pub(super) trashed: Trashed,
}

/// What is known about something that was in the trash.
#[derive(Debug, Default)]
pub(super) struct Trashed {
    /// What the file held when it went there: another content is another file.
    pub(super) held: Option<FileState>,
    /// What the store has of the file.
    pub(super) spare: Option<FileState>,
    /// Of a folder: whether the store has all that was in it.
    pub(super) whole: bool,
    /// Of a folder: files by which it is known again, by their paths below it.
    pub(super) signs: Vec<(String, Hash)>,
    /// The folder that it was in when that went to the trash.
    pub(super) inside: Option<ThreadId>,
}

/// A change of names, in the order of the list.
#[derive(Debug)]
pub(super) enum Event {
    Birth {
        thread: ThreadId,
        path: String,
    },
    Death {
        thread: ThreadId,
        path: String,
    },
    /// `name`: which of the thread's names is the new one.
    Move {
        thread: ThreadId,
        from: String,
        to: String,
        name: usize,
    },
}

/// A list of changes, read.
#[derive(Default)]
pub(super) struct Threads {
    pub(super) all: Vec<Thread>,
    pub(super) events: Vec<Event>,
    /// Changes that say again what one before them said: a call that was interrupted twice.
    pub(super) repeated: usize,
    now: Names<ThreadId>,
}

impl Threads {
    pub(super) fn read(changes: &[Change]) -> Threads {
        let mut threads = Threads::default();
        for change in changes {
            if threads.take(change).is_none() {
                threads.repeated += 1;
            }
        }
        threads
    }

    /// Takes one change; `None` when it is already so.
    fn take(&mut self, change: &Change) -> Option<()> {
        match change {
            Change::FolderCreated { path, mode } => match self.now.get(path) {
                Known::Here(_) => return None,
                Known::Gone | Known::Below(..) | Known::Nothing => {
                    let thread = self.bear(path, EntryKind::Folder);
                    self.all[thread].mode = *mode;
                }
            },
            Change::FileCreated { path, after } => {
                let thread = match self.now.get(path) {
                    Known::Here(&thread) if self.all[thread].kind == EntryKind::File => thread,
                    Known::Here(_) => return None,
                    Known::Gone | Known::Below(..) | Known::Nothing => self.bear(path, EntryKind::File),
                };
                self.hold(thread, after);
                self.all[thread].mode = Some(after.mode);
            }
            Change::FileReplaced { path, before, after } => {
                let thread = self.find(path, EntryKind::File)?;
                self.all[thread].contents.push(before.hash);
                self.hold(thread, after);
                if before.mode != after.mode {
                    self.all[thread].mode = Some(after.mode);
                }
            }
            Change::FileRemoved { path, before } => {
                let thread = self.find(path, EntryKind::File)?;
                self.all[thread].contents.push(before.hash);
                self.end(thread, path);
            }
            Change::FolderRemoved { path, .. } => {
                let thread = self.find(path, EntryKind::Folder)?;
                self.end(thread, path);
            }
            Change::Moved { from, to, kind, state, kept } => {
                let thread = self.find(from, *kind)?;
                if in_trash(from) {
                    self.was_trashed(thread, from, *state, kept);
                }
                self.rename(thread, from, to);
            }
        }
        Some(())
    }

    /// Takes note of what a thread was when it went to the trash.
    fn was_trashed(&mut self, thread: ThreadId, from: &str, held: Option<FileState>, kept: &[KeptEntry]) {
        if self.all[thread].kind == EntryKind::File {
            let spare = kept.first().and_then(|entry| entry.state);
            self.all[thread].trashed = Trashed { held, spare, ..Trashed::default() };
            return;
        }
        let signs = kept.iter().filter_map(|entry| Some((entry.path.clone(), entry.state?.hash))).collect();
        self.all[thread].trashed = Trashed { whole: !kept.is_empty(), signs, ..Trashed::default() };
        for entry in kept.iter().filter(|entry| !entry.path.is_empty()) {
            let path = format!("{from}/{}", entry.path);
            let folder = match path.rsplit_once('/').map(|(folder, _)| self.now.get(folder)) {
                Some(Known::Here(&folder)) => folder,
                Some(Known::Below(..) | Known::Gone | Known::Nothing) | None => continue,
            };
            let kind = if entry.state.is_some() { EntryKind::File } else { EntryKind::Folder };
            if let Some(inner) = self.find(&path, kind) {
                let (spare, whole, inside) = (entry.state, entry.state.is_none(), Some(folder));
                self.all[inner].trashed = Trashed { held: None, spare, whole, signs: Vec::new(), inside };
            }
        }
    }

    fn end(&mut self, thread: ThreadId, path: &str) {
        self.all[thread].dies = true;
        self.now.remove(path);
        self.events.push(Event::Death { thread, path: path.to_owned() });
    }

    fn hold(&mut self, thread: ThreadId, state: &FileState) {
        self.all[thread].contents.push(state.hash);
        self.all[thread].target = Some(*state);
    }

    fn begin(&mut self, kind: EntryKind, names: Vec<String>, born: bool) -> ThreadId {
        let (contents, target, mode, cradle) = (Vec::new(), None, None, None);
        let (dies, trashed) = (false, Trashed::default());
        self.all.push(Thread { kind, names, contents, target, mode, born, cradle, dies, trashed });
        self.all.len() - 1
    }

    fn bear(&mut self, path: &str, kind: EntryKind) -> ThreadId {
        let thread = self.begin(kind, vec![path.to_owned()], true);
        let folder = path.rsplit_once('/').map(|(folder, _)| self.now.get(folder));
        self.all[thread].cradle = match folder {
            Some(Known::Here(&folder) | Known::Below(&folder, _)) => Some(folder),
            Some(Known::Gone | Known::Nothing) | None => None,
        };
        self.now.put(path, thread);
        self.events.push(Event::Birth { thread, path: path.to_owned() });
        thread
    }

    /// The thread at a path, which begins here if nothing was known of it; `None` if it is gone by now.
    fn find(&mut self, path: &str, kind: EntryKind) -> Option<ThreadId> {
        let names = match self.now.get(path) {
            Known::Here(&thread) if self.all[thread].kind == kind => return Some(thread),
            Known::Here(_) | Known::Gone => return None,
            // It came here with the folder, from wherever that was.
            Known::Below(&folder, rest) if !self.all[folder].born => {
                self.all[folder].names.iter().map(|name| format!("{name}/{rest}")).collect()
            }
            Known::Below(..) | Known::Nothing => vec![path.to_owned()],
        };
        let thread = self.begin(kind, names, false);
        self.now.know(path, thread);
        Some(thread)
    }

    fn rename(&mut self, thread: ThreadId, from: &str, to: &str) {
        let below: Vec<(ThreadId, String)> =
            self.now.below(from).map(|(rest, &thread)| (thread, format!("{to}/{rest}"))).collect();
        for (inner, name) in below {
            self.all[inner].names.push(name);
        }
        self.all[thread].names.push(to.to_owned());
        self.now.rename(from, to, thread);
        let name = self.all[thread].names.len() - 1;
        self.events.push(Event::Move { thread, from: from.to_owned(), to: to.to_owned(), name });
    }
}

pub(super) fn in_trash(path: &str) -> bool {
    path.split('/').next() == Some(TRASH)
}
