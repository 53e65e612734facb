//! Moving files and folders, onto nothing and into no twin.
//!
//! A move is one rename between two folders that are held open. It never replaces anything: whoever wants to
//! overwrite removes first, with what that needs to be taken back. The folder for deleted files, `.trash`, is
//! the one protected place that a move may lead to or from, and only directly below the root.

use std::sync::Arc;

use cap_std::fs::Dir;
use envelope::{Change, EntryKind, Failure, Fault, FileState, KeptEntry, VaultPath};
use rustix::io::Errno;

use super::change::Witness;
use super::fault;
use super::folder::{self, Kind};
use super::keepable::keepable_file;
use super::locate::{Found, LastLink, Place, child};
use super::onto_nothing::{move_onto_nothing, rename_respelled};
use super::replace::{changed, gone};
use super::state::state_at;
use super::step::Baggage;
use super::twins::{Claim, twin_of};
use super::unique::unique_names;
use super::unstoppable::Unstoppable;
use super::vault::Vault;
use super::write::{no_free_name, spelled_in};

/// Where deleted files go, as in Obsidian.
pub const TRASH: &str = ".trash";

impl Vault {
    /// Moves a file or a folder with all that is in it. Nothing may be at `to`, under no spelling.
    ///
    /// What a file holds is looked at when it has its new name, where a program that saves by the old name
    /// does not reach it any more. If it had to be something else, it gets its old name back.
    pub(super) fn relocate(
        &self,
        (from, to): (&VaultPath, &VaultPath),
        kind: EntryKind,
        baggage: &Baggage,
        witness: &dyn Witness,
    ) -> Result<(), Fault> {
        let source = self.entry_at(from)?.ok_or_else(|| gone(from))?;
        if kind_of(&source) != Some(kind) {
            return Err(gone(from));
        }
        let target = self.folder_at(to)?;
        witness.may_go_on()?;
        let name = to.name();
        let same_folder = same(&source.dir, &target);
        let respelled = same_folder
            && name != source.name
            && VaultPath::fold_name(name) == VaultPath::fold_name(&source.name);
        let rename = || move_onto_nothing(&source.dir, &source.name, &target, name);
        let claimed = if respelled {
            // Its only twin is itself: `Note` may become `note`.
            rename_respelled(&source.dir, &source.name, name).map(|()| Claim::Made)
        } else {
            self.twins.claim(&target, name, rename)
        };
        match claimed.map_err(|error| not_moved(from, to, error))? {
            Claim::Taken => return Err(occupied(&target, to)),
            Claim::Made => {}
        }
        // Not asked whether it may go on: what was done has to be known.
        let state = match source.kind() {
            Kind::File => state_at(&target, name, to, &Unstoppable(witness)).ok(),
            Kind::Folder | Kind::Link | Kind::Other => None,
        };
        let wanted = baggage.before.as_ref().filter(|_| baggage.exactly || witness.is_held_to_intent());
        let unwanted = wanted.filter(|wanted| state.is_none_or(|state| state.hash != wanted.hash));
        if unwanted.is_some() && self.give_name_back(&source, (&target, name), respelled) {
            return Err(not_as_expected(from, unwanted, state));
        }
        let kept = match &state {
            Some(state) if in_trash(to) => keep_in_trash(&target, name, state, baggage, witness),
            Some(_) => Vec::new(),
            None => baggage.kept.clone(),
        };
        witness.saw(Change::Moved { from: from.to_string(), to: to.to_string(), kind, state, kept });
        folder::sync(&target).map_err(|error| fault::not_durable(to.as_str(), error))?;
        if !same_folder {
            folder::sync(&source.dir).map_err(|error| fault::not_durable(from.as_str(), error))?;
        }
        match unwanted {
            // Something newer has the old name by now.
            Some(_) => Err(not_as_expected(from, unwanted, state)
                .detail("movedTo", to.as_str())
                .hint(format!("it is at `{to}` now, since its name was taken at once; look at both"))),
            None => Ok(()),
        }
    }

    /// Takes a move back; false when the old name belongs to something else by now.
    fn give_name_back(&self, source: &Place, (dir, name): (&Dir, &str), respelled: bool) -> bool {
        let back = match respelled {
            true => rename_respelled(dir, name, &source.name).map(|()| Claim::Made),
            false => {
                let rename = || move_onto_nothing(dir, name, &source.dir, &source.name);
                self.twins.claim(&source.dir, &source.name, rename)
            }
        };
        if back != Ok(Claim::Made) {
            return false;
        }
        // It is as it was; whether the disk has heard of the way there and back matters to nobody.
        folder::sync(dir).and_then(|()| folder::sync(&source.dir)).ok();
        true
    }

    /// What has this very name, links not followed; also in the trash, however deep, and the trash itself.
    pub(super) fn entry_at(&self, path: &VaultPath) -> Result<Option<Place>, Fault> {
        if in_trash(path) {
            let Some(dir) = self.around_in_trash(path)? else { return Ok(None) };
            return match folder::stat(&dir, path.name()) {
                Ok(stat) => Ok(Some(Place { dir, name: path.name().to_owned(), path: path.clone(), stat })),
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(fault::from_errno("look up", path.as_str(), error)),
            };
        }
        match self.locate(path, LastLink::Keep)? {
            Found::Place(place) => Ok(Some(place)),
            Found::Nothing(_) => Ok(None),
        }
    }

    /// The folder that holds `path`, which must be there.
    fn folder_at(&self, path: &VaultPath) -> Result<Arc<Dir>, Fault> {
        if in_trash(path) {
            return self.trash(path)?.ok_or_else(|| gone(path));
        }
        Vault::refuse_protected(path)?;
        self.open_folder(path.parent().as_ref()).map(|folder| folder.dir)
    }

    /// The folder that holds something in the trash, if it is there. To look at only: nothing is ever put
    /// deeper into the trash than directly into it.
    fn around_in_trash(&self, path: &VaultPath) -> Result<Option<Arc<Dir>>, Fault> {
        let mut dir = self.root.clone();
        for (depth, name) in path.segments().take(path.segments().count() - 1).enumerate() {
            dir = match folder::open_folder(&dir, name) {
                Ok(inner) => Arc::new(inner),
                Err(Errno::NOENT) => return Ok(None),
                Err(Errno::LOOP | Errno::NOTDIR) if depth > 0 => return Ok(None),
                Err(Errno::LOOP | Errno::NOTDIR) => return Err(no_folder()),
                Err(error) => return Err(fault::from_errno("open", path.as_str(), error)),
            };
        }
        Ok(Some(dir))
    }

    /// The trash, if it is there. A link in its place is refused: what is deleted must stay in the vault.
    fn trash(&self, path: &VaultPath) -> Result<Option<Arc<Dir>>, Fault> {
        if path.segments().count() != 2 {
            return Err(fault::protected(path.as_str(), TRASH));
        }
        match folder::open_folder(&self.root, TRASH) {
            Ok(dir) => Ok(Some(Arc::new(dir))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(no_folder()),
            Err(error) => Err(fault::from_errno("open", TRASH, error)),
        }
    }

    /// Whether the trash has to be made first, and a free name in it for something at `path`. Names for which `held` says
    /// yes are not free.
    pub(super) fn place_in_trash(
        &self,
        path: &VaultPath,
        held: impl Fn(&str) -> bool,
    ) -> Result<(bool, VaultPath), Fault> {
        let wanted = spelled_in(VaultPath::parse(TRASH).ok().as_ref(), path.name())?;
        let failed = |error| fault::from_errno("list", TRASH, error);
        let dir = self.trash(&wanted)?;
        let missing = match &self.layer {
            Some(layer) => layer.misses_trash(self)?,
            None => dir.is_none(),
        };
        for name in unique_names(path.name()) {
            let candidate = spelled_in(VaultPath::parse(TRASH).ok().as_ref(), &name)?;
            let taken = match (&self.layer, &dir) {
                (Some(layer), _) => layer.twin(self, &candidate)?.is_some(),
                (None, Some(dir)) => {
                    folder::stat(dir, &name).is_ok() || self.twins.has(dir, &name).map_err(failed)?
                }
                (None, None) => false,
            };
            if !taken && !held(&candidate.folded()) {
                return Ok((missing, candidate));
            }
        }
        Err(no_free_name(&wanted))
    }

    pub(super) fn make_trash(&self, witness: &dyn Witness) -> Result<(), Fault> {
        match folder::make_folder(&self.root, TRASH, None) {
            Ok(()) => {
                witness.saw(Change::folder_created(TRASH));
                folder::sync(&self.root).map_err(|error| fault::not_durable(TRASH, error))
            }
            Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(fault::from_errno("create the folder", TRASH, error)),
        }
    }
}

/// What the store has of a file that is in the trash now. An edit that moved along is stored from there.
fn keep_in_trash(
    dir: &Dir,
    name: &str,
    state: &FileState,
    baggage: &Baggage,
    witness: &dyn Witness,
) -> Vec<KeptEntry> {
    let is_it = |entry: &KeptEntry| entry.state.is_some_and(|kept| kept.hash == state.hash);
    if baggage.kept.iter().any(is_it) {
        return keepable_file(*state);
    }
    let wanted = keepable_file(*state);
    if wanted.is_empty() {
        return wanted;
    }
    let stored =
        folder::open_file(dir, name).ok().and_then(|mut file| witness.keep(&mut file).ok().flatten());
    match stored {
        Some(stored) if stored.hash == state.hash => wanted,
        Some(_) | None => Vec::new(),
    }
}

fn not_as_expected(from: &VaultPath, wanted: Option<&FileState>, now: Option<FileState>) -> Fault {
    match (wanted, now) {
        (Some(wanted), Some(now)) => changed(from, wanted, &now),
        (Some(_) | None, _) => gone(from),
    }
}

fn no_folder() -> Fault {
    Fault::new(Failure::SandboxViolation, "`.trash` is a link or a file, not a folder of the vault")
        .hint("put a plain folder in its place, or delete with trash: false")
}

/// Whether a path is in the folder of deleted files, or is that folder.
pub(super) fn in_trash(path: &VaultPath) -> bool {
    path.segments().next() == Some(TRASH)
}

/// What can be moved: files, folders, and links as what they are.
fn kind_of(place: &Place) -> Option<EntryKind> {
    match place.kind() {
        Kind::File | Kind::Link => Some(EntryKind::File),
        Kind::Folder => Some(EntryKind::Folder),
        Kind::Other => None,
    }
}

fn same(a: &Dir, b: &Dir) -> bool {
    match (rustix::fs::fstat(a), rustix::fs::fstat(b)) {
        (Ok(a), Ok(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
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

/// What is in the way at the target.
fn occupied(dir: &Dir, to: &VaultPath) -> Fault {
    match twin_of(dir, to.name()) {
        Ok(Some(existing)) if existing != to.name() => {
            fault::twin(to.as_str(), &child(to.parent().as_ref(), &existing))
        }
        Ok(_) | Err(_) => Fault::new(Failure::Conflict, format!("`{to}` already exists"))
            .detail("existing", to.as_str())
            .hint("choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""),
    }
}
