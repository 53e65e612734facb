//! A vault in a temporary folder that keeps what is overwritten, for tests.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use envelope::{CallId, Change, DataRef, EntryKind, Failure, Fault, Hash, VaultPath};

use super::{Restoration, RestoreChoices, foresee_restore};
use crate::sandbox::{Baggage, Content, Prepared, Seen, Step, Vault, Witness};

/// Hears and keeps everything; stops before the change after `allowed`.
#[derive(Default)]
pub(super) struct Keeper {
    pub(super) heard: RefCell<Vec<Change>>,
    store: RefCell<HashMap<Hash, Vec<u8>>>,
    pub(super) allowed: RefCell<Option<usize>>,
}

impl Witness for Keeper {
    fn saw(&self, change: Change) {
        self.heard.borrow_mut().push(change);
    }

    fn may_go_on(&self) -> Result<(), Fault> {
        match *self.allowed.borrow() {
            Some(allowed) if self.heard.borrow().len() >= allowed => {
                Err(Fault::new(Failure::Canceled, "killed"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        let kept = DataRef { hash: Hash::of(&bytes), bytes: bytes.len() as u64 };
        self.store.borrow_mut().insert(kept.hash, bytes);
        Ok(Some(kept))
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        let store = self.store.borrow();
        let kept = store.get(&wanted.hash).unwrap_or_else(|| panic!("{} was not kept", wanted.hash));
        into.write_all(kept).unwrap();
        Ok(())
    }
}

/// Mode and content of a file; `None` is a folder.
pub(super) type Tree = BTreeMap<String, Option<(u32, Vec<u8>)>>;

pub(super) struct Desk {
    folder: tempfile::TempDir,
    pub(super) vault: Vault,
    pub(super) keeper: Keeper,
}

impl Desk {
    /// A vault with these files; a path that ends in `/` is a folder.
    pub(super) fn with(files: &[(&str, &str)]) -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::open(folder.path()).unwrap();
        let desk = Desk { folder, vault, keeper: Keeper::default() };
        files.iter().for_each(|(path, text)| desk.put(path, text));
        desk
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// As another program would.
    pub(super) fn put(&self, path: &str, text: &str) {
        let at = self.inside(path);
        if path.ends_with('/') {
            return std::fs::create_dir_all(at).unwrap();
        }
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::File::create(at).unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn chmod(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.inside(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes steps as a call makes them, and returns what was reported.
    pub(super) fn make(&self, steps: Vec<Step>) -> Vec<Change> {
        let prepared = Prepared { steps };
        self.vault.keep_overwritten(&prepared, &self.keeper).unwrap();
        self.vault.apply(&prepared, &self.keeper).unwrap();
        self.keeper.heard.take()
    }

    pub(super) fn foresee(&self, changes: &[Change], keep: &[&str], overwrite: &[&str]) -> Restoration {
        let owned = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        let (keep, overwrite) = (owned(keep), owned(overwrite));
        let choices = RestoreChoices { keep: &keep, overwrite: &overwrite };
        foresee_restore(&self.vault, changes, choices, &self.keeper).unwrap()
    }

    /// Restores what nothing stands in the way of, and returns what was reported.
    #[track_caller]
    pub(super) fn restore(&self, changes: &[Change]) -> Vec<Change> {
        let found = self.foresee(changes, &[], &[]);
        assert_eq!(found.conflicts, []);
        self.make(found.steps)
    }

    /// Everything in the vault.
    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        let mut todo = vec![self.folder.path().to_owned()];
        while let Some(folder) = todo.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = path.symlink_metadata().unwrap();
                let what = meta
                    .is_file()
                    .then(|| (meta.permissions().mode() & 0o7777, std::fs::read(&path).unwrap()));
                tree.insert(self.relative(&path), what);
                if meta.is_dir() {
                    todo.push(path);
                }
            }
        }
        tree
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.folder.path()).unwrap().to_str().unwrap().to_owned()
    }

    /// The tree, one line an entry.
    pub(super) fn shown(&self) -> String {
        let line = |(path, what): (&String, &Option<(u32, Vec<u8>)>)| match what {
            Some((mode, bytes)) => format!("{path} {mode:o} {}\n", String::from_utf8_lossy(bytes)),
            None => format!("{path}/\n"),
        };
        self.tree().iter().map(line).collect()
    }

    pub(super) fn create(&self, path: &str, text: &str) -> Step {
        Step::CreateFile { path: at(path), content: Content::of(text.as_bytes()), mode: None }
    }

    pub(super) fn replace(&self, path: &str, text: &str) -> Step {
        let content = Content::of(text.as_bytes());
        Step::ReplaceFile { path: at(path), before: self.state(path), content, mode: None }
    }

    pub(super) fn remove(&self, path: &str) -> Step {
        Step::RemoveFile { path: at(path), before: self.state(path) }
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> Step {
        let kind = if self.inside(from).is_dir() { EntryKind::Folder } else { EntryKind::File };
        Step::moving(at(from), at(to), kind)
    }

    /// As `vault.delete` does it.
    pub(super) fn trash(&self, path: &str) -> Vec<Step> {
        let (missing, to) = self.vault.choose_in_trash(&at(path), &CallId::parse("trash").unwrap()).unwrap();
        let to = to.path().clone();
        let kind = if self.inside(path).is_dir() { EntryKind::Folder } else { EntryKind::File };
        let before = (kind == EntryKind::File).then(|| self.state(path));
        let kept = self.vault.keepable(&at(path), kind, before, &self.keeper).unwrap();
        let baggage = Baggage { before, exactly: false, kept };
        let trash = missing.then(|| Step::making_folder(at(".trash")));
        trash.into_iter().chain([Step::Move { from: at(path), to, kind, baggage }]).collect()
    }

    /// As a person would.
    pub(super) fn empty_trash(&self) {
        std::fs::remove_dir_all(self.inside(".trash")).unwrap();
        std::fs::create_dir(self.inside(".trash")).unwrap();
    }

    fn state(&self, path: &str) -> envelope::FileState {
        match self.vault.stands_at(&at(path), &self.keeper).unwrap() {
            Seen::File { state, .. } => state,
            other @ (Seen::Nothing | Seen::Folder | Seen::Other) => panic!("{path}: {other:?}"),
        }
    }
}

pub(super) fn at(path: &str) -> VaultPath {
    VaultPath::parse(path).unwrap()
}

/// What takes a list of changes back.
pub(super) fn inverse(changes: &[Change]) -> Vec<Change> {
    changes.iter().rev().map(Change::inverse).collect()
}
