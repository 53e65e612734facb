//! Moves files and folders without replacing anything and without name collisions.
//!
//! A move is one rename between two open folders. To overwrite, a caller removes the target first, with the
//! data that undo needs. The trash, `.trash`, is the one protected folder that a move may enter or leave, and
//! only directly below it.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{EntryKind, Failure, Fault, FileState, KeptEntry, VaultChange, VaultPath};
use rustix::io::Errno;

use super::change_step::MoveDetails;
use super::fault;
use super::folder::{self, NodeKind};
use super::io_context::{ContextAdapter, IoContext};
use super::locate::{FinalLink, LocatedEntry, Location, child};
use super::name_collisions::{ClaimOutcome, colliding_name};
use super::name_reservation::unique_names;
use super::path_state::state_at;
use super::rename_noreplace::{rename_noreplace, rename_respelled};
use super::replace::{content_changed, no_longer_exists};
use super::trash_backup::backup_of_file;
use super::vault::Vault;
use super::write::{no_free_name, spelled_in};
use crate::platform::FileStat;

/// Folder for deleted files, as in Obsidian.
pub const TRASH: &str = ".trash";

impl Vault {
    /// Moves a file or a folder with its content. No entry may be at `to`, also in another spelling.
    ///
    /// The content of a file is checked under its new name, where a program that saves by the old name no
    /// longer reaches it. If it is not the expected content, the file gets its old name back.
    pub(super) fn relocate(
        &self,
        (from, to): (&VaultPath, &VaultPath),
        kind: EntryKind,
        details: &MoveDetails,
        io: &dyn IoContext,
    ) -> Result<(), Fault> {
        let source = self.locate_entry(from)?.ok_or_else(|| no_longer_exists(from))?;
        if kind_of(&source) != Some(kind) {
            return Err(no_longer_exists(from));
        }
        let target = self.folder_at(to)?;
        io.check_cancelled()?;
        let name = to.name();
        let same_folder = is_same_folder(&source.dir, &target);
        let respelled = same_folder
            && name != source.name
            && VaultPath::fold_name(name) == VaultPath::fold_name(&source.name);
        let rename = || rename_noreplace(&source.dir, &source.name, &target, name);
        let claimed = if respelled {
            // It collides only with itself: `Note` may become `note`.
            rename_respelled(&source.dir, &source.name, name).map(|()| ClaimOutcome::Made)
        } else {
            self.name_collisions.claim(&target, name, rename)
        };
        match claimed.map_err(|error| not_moved(from, to, error))? {
            ClaimOutcome::Taken => return Err(occupied(&target, to)),
            ClaimOutcome::Made => {}
        }
        // Without a cancellation check: the change that was made has to be recorded.
        let state = match source.kind() {
            NodeKind::File => state_at(&target, name, to, &ContextAdapter::new(io).uncancellable()).ok(),
            NodeKind::Folder | NodeKind::Link | NodeKind::Other => None,
        };
        let wanted = details.before.as_ref().filter(|_| details.must_match || io.must_match_intent());
        let unwanted = wanted.filter(|wanted| state.is_none_or(|state| state.hash != wanted.hash));
        if unwanted.is_some() && self.undo_move(&source, (&target, name), respelled) {
            return Err(unexpected_content(from, unwanted, state));
        }
        let kept = match &state {
            Some(state) if in_trash(to) => keep_in_trash(&target, name, state, details, io),
            Some(_) => Vec::new(),
            None => details.backup.clone(),
        };
        io.record_change(VaultChange::Moved {
            from: from.to_string(),
            to: to.to_string(),
            kind,
            state,
            kept,
        });
        folder::sync(&target).map_err(|error| fault::not_durable(to.as_str(), error))?;
        if !same_folder {
            folder::sync(&source.dir).map_err(|error| fault::not_durable(from.as_str(), error))?;
        }
        match unwanted {
            // A newer entry has the old name by now.
            Some(_) => Err(unexpected_content(from, unwanted, state)
                .detail("movedTo", to.as_str())
                .hint(format!("it is at `{to}` now, since its name was taken at once; look at both"))),
            None => Ok(()),
        }
    }

    /// Undoes a move. Returns false if another entry has the old name by now.
    fn undo_move(&self, source: &LocatedEntry, (dir, name): (&Dir, &str), respelled: bool) -> bool {
        let back = match respelled {
            true => rename_respelled(dir, name, &source.name).map(|()| ClaimOutcome::Made),
            false => {
                let rename = || rename_noreplace(dir, name, &source.dir, &source.name);
                self.name_collisions.claim(&source.dir, &source.name, rename)
            }
        };
        if back != Ok(ClaimOutcome::Made) {
            return false;
        }
        // The folders are as before; whether the disk has recorded the two renames does not matter.
        folder::sync(dir).and_then(|()| folder::sync(&source.dir)).ok();
        true
    }

    /// Returns the entry itself, also in the trash at any depth, and the trash itself. Links are not followed.
    pub(super) fn locate_entry(&self, path: &VaultPath) -> Result<Option<LocatedEntry>, Fault> {
        if in_trash(path) {
            let Some(dir) = self.open_trash_parent(path)? else { return Ok(None) };
            return match folder::stat(&dir, path.name()) {
                Ok(stat) => {
                    Ok(Some(LocatedEntry { dir, name: path.name().to_owned(), path: path.clone(), stat }))
                }
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(fault::from_errno("look up", path.as_str(), error)),
            };
        }
        match self.locate(path, FinalLink::Keep)? {
            Location::Found(located) => Ok(Some(located)),
            Location::Missing(_) => Ok(None),
        }
    }

    /// Opens the folder that contains `path`, which must exist.
    fn folder_at(&self, path: &VaultPath) -> Result<Arc<Dir>, Fault> {
        if in_trash(path) {
            return self.trash(path)?.ok_or_else(|| no_longer_exists(path));
        }
        Vault::refuse_protected(path)?;
        self.open_folder(path.parent().as_ref()).map(|folder| folder.dir)
    }

    /// Opens the folder that contains an entry in the trash, for reading: nothing is written deeper than
    /// directly into the trash.
    fn open_trash_parent(&self, path: &VaultPath) -> Result<Option<Arc<Dir>>, Fault> {
        let mut dir = self.root.clone();
        for (depth, name) in path.segments().take(path.segments().count() - 1).enumerate() {
            dir = match folder::open_folder(&dir, name) {
                Ok(inner) => Arc::new(inner),
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP | Errno::NOTDIR) if depth > 0 => return Ok(None),
                Err(Errno::LOOP | Errno::NOTDIR) => return Err(trash_not_a_folder()),
                Err(error) => return Err(fault::from_errno("open", path.as_str(), error)),
            };
        }
        Ok(Some(dir))
    }

    /// Opens the trash, if it exists. A link in its place is refused: deleted files must stay in the vault.
    fn trash(&self, path: &VaultPath) -> Result<Option<Arc<Dir>>, Fault> {
        if path.segments().count() != 2 {
            return Err(fault::protected(path.as_str(), TRASH));
        }
        match folder::open_folder(&self.root, TRASH) {
            Ok(dir) => Ok(Some(Arc::new(dir))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(trash_not_a_folder()),
            Err(error) => Err(fault::from_errno("open", TRASH, error)),
        }
    }

    /// Returns whether the trash has to be created, and a free name in it for an entry at `path` that is not
    /// `held`.
    pub(super) fn free_name_in_trash(
        &self,
        path: &VaultPath,
        held: impl Fn(&str) -> bool,
    ) -> Result<(bool, VaultPath), Fault> {
        let wanted = spelled_in(VaultPath::parse(TRASH).ok().as_ref(), path.name())?;
        let dir = self.trash(&wanted)?;
        let missing = self.files.lacks_trash(self, dir.as_deref())?;
        for name in unique_names(path.name()) {
            let candidate = spelled_in(VaultPath::parse(TRASH).ok().as_ref(), &name)?;
            let taken = self.files.is_taken_in_trash(self, &candidate, dir.as_deref())?;
            if !taken && !held(&candidate.folded()) {
                return Ok((missing, candidate));
            }
        }
        Err(no_free_name(&wanted))
    }

    /// Returns true if a name in the trash on disk is taken, also in another spelling.
    pub(super) fn is_taken_in(&self, trash: &Dir, name: &str) -> Result<bool, Fault> {
        let failed = |error| fault::from_errno("list", TRASH, error);
        Ok(folder::stat(trash, name).is_ok() || self.name_collisions.exists(trash, name).map_err(failed)?)
    }

    pub(super) fn make_trash(&self, io: &dyn IoContext) -> Result<(), Fault> {
        match folder::make_folder(&self.root, TRASH, None) {
            Ok(()) => {
                io.record_change(VaultChange::folder_created(TRASH));
                folder::sync(&self.root).map_err(|error| fault::not_durable(TRASH, error))
            }
            Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(fault::from_errno("create the folder", TRASH, error)),
        }
    }
}

/// Returns the backup of a file that is in the trash now. An edit that moved along is stored from there.
fn keep_in_trash(
    dir: &Dir,
    name: &str,
    state: &FileState,
    details: &MoveDetails,
    io: &dyn IoContext,
) -> Vec<KeptEntry> {
    let is_it = |entry: &KeptEntry| entry.state.is_some_and(|kept| kept.hash == state.hash);
    if details.backup.iter().any(is_it) {
        return backup_of_file(*state);
    }
    let wanted = backup_of_file(*state);
    if wanted.is_empty() {
        return wanted;
    }
    let stored = folder::open_file(dir, name).ok().and_then(|mut file| io.store(&mut file).ok().flatten());
    match stored {
        Some(stored) if stored.hash == state.hash => wanted,
        Some(_) | None => Vec::new(),
    }
}

fn unexpected_content(from: &VaultPath, wanted: Option<&FileState>, now: Option<FileState>) -> Fault {
    match (wanted, now) {
        (Some(wanted), Some(now)) => content_changed(from, wanted, &now),
        (Some(_) | None, _) => no_longer_exists(from),
    }
}

fn trash_not_a_folder() -> Fault {
    Fault::new(Failure::SandboxViolation, "`.trash` is a link or a file, not a folder of the vault")
        .hint("put a plain folder in its place, or delete with trash: false")
}

/// Returns true for the trash and every path in it.
pub(super) fn in_trash(path: &VaultPath) -> bool {
    path.segments().next() == Some(TRASH)
}

/// Returns the kind of an entry that can be moved. A link counts as a file.
fn kind_of(located: &LocatedEntry) -> Option<EntryKind> {
    match located.kind() {
        NodeKind::File | NodeKind::Link => Some(EntryKind::File),
        NodeKind::Folder => Some(EntryKind::Folder),
        NodeKind::Other => None,
    }
}

fn is_same_folder(a: &Dir, b: &Dir) -> bool {
    match (FileStat::of(a), FileStat::of(b)) {
        (Ok(a), Ok(b)) => a.identity == b.identity,
        (Ok(_) | Err(_), _) => false,
    }
}

fn not_moved(from: &VaultPath, to: &VaultPath, error: Errno) -> Fault {
    match error {
        Errno::XDEV => Fault::new(
            Failure::PreconditionFailed,
            format!("`{from}` and `{to}` are on different disks; moving between them would copy"),
        )
        .hint("move it inside one of them"),
        Errno::INVAL => {
            Fault::new(Failure::InvalidArguments, format!("`{from}` cannot be moved into itself (`{to}`)"))
                .hint("choose a place that is not below it")
        }
        Errno::EXIST | Errno::NOTEMPTY => {
            Fault::new(Failure::Conflict, format!("`{to}` already exists")).detail("existing", to.as_str())
        }
        other => fault::from_errno("move", from.as_str(), other),
    }
}

/// Returns the error for a taken target.
fn occupied(dir: &Dir, to: &VaultPath) -> Fault {
    match colliding_name(dir, to.name()) {
        Ok(Some(existing)) if existing != to.name() => {
            fault::name_collision(to.as_str(), &child(to.parent().as_ref(), &existing))
        }
        Ok(_) | Err(_) => Fault::new(Failure::Conflict, format!("`{to}` already exists"))
            .detail("existing", to.as_str())
            .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""),
    }
}
