//! A vault in a temporary folder with an in-memory store, for tests.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use envelope::{CallId, DataRef, EntryKind, Failure, Fault, Hash, VaultChange, VaultPath};

use super::{RestoreChoices, RestorePlan, plan_restore};
use crate::file_layer::{ChangeStep, FileContent, IoContext, MoveDetails, PathState, PreparedSteps, Vault};

/// Records changes and stores contents; cancels after `allowed` changes.
#[derive(Default)]
pub(super) struct MemoryStore {
    pub(super) changes: RefCell<Vec<VaultChange>>,
    store: RefCell<HashMap<Hash, Vec<u8>>>,
    pub(super) allowed: RefCell<Option<usize>>,
}

impl IoContext for MemoryStore {
    fn record_change(&self, change: VaultChange) {
        self.changes.borrow_mut().push(change);
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        match *self.allowed.borrow() {
            Some(allowed) if self.changes.borrow().len() >= allowed => {
                Err(Fault::new(Failure::Canceled, "killed"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
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

/// Mode and content of each file; `None` for a folder.
pub(super) type TreeSnapshot = BTreeMap<String, Option<(u32, Vec<u8>)>>;

pub(super) struct RestoreFixture {
    folder: tempfile::TempDir,
    pub(super) vault: Vault,
    pub(super) store: MemoryStore,
}

impl RestoreFixture {
    /// Creates a vault with these files; a path that ends in `/` is a folder.
    pub(super) fn with(files: &[(&str, &str)]) -> RestoreFixture {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::open(folder.path()).unwrap();
        let fixture = RestoreFixture { folder, vault, store: MemoryStore::default() };
        files.iter().for_each(|(path, text)| fixture.put(path, text));
        fixture
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Writes a file as another program would.
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

    /// Applies steps as a call does, and returns the reported changes.
    pub(super) fn make(&self, steps: Vec<ChangeStep>) -> Vec<VaultChange> {
        let prepared = PreparedSteps { steps };
        self.vault.store_overwritten(&prepared, &self.store).unwrap();
        self.vault.apply(&prepared, &self.store).unwrap();
        self.store.changes.take()
    }

    pub(super) fn foresee(&self, changes: &[VaultChange], keep: &[&str], overwrite: &[&str]) -> RestorePlan {
        let owned = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        let (keep, overwrite) = (owned(keep), owned(overwrite));
        let choices = RestoreChoices { only: &[], leave: &[], keep: &keep, overwrite: &overwrite };
        plan_restore(&self.vault, changes, choices, &self.store).unwrap()
    }

    /// Restores a list without conflicts, and returns the reported changes.
    #[track_caller]
    pub(super) fn restore(&self, changes: &[VaultChange]) -> Vec<VaultChange> {
        let found = self.foresee(changes, &[], &[]);
        assert_eq!(found.conflicts, []);
        self.make(found.steps)
    }

    /// Returns everything in the vault.
    pub(super) fn tree(&self) -> TreeSnapshot {
        let mut tree = TreeSnapshot::new();
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

    /// Returns the tree as text, one line per entry.
    pub(super) fn shown(&self) -> String {
        let line = |(path, what): (&String, &Option<(u32, Vec<u8>)>)| match what {
            Some((mode, bytes)) => format!("{path} {mode:o} {}\n", String::from_utf8_lossy(bytes)),
            None => format!("{path}/\n"),
        };
        self.tree().iter().map(line).collect()
    }

    pub(super) fn create(&self, path: &str, text: &str) -> ChangeStep {
        ChangeStep::CreateFile { path: at(path), content: FileContent::of(text.as_bytes()), mode: None }
    }

    pub(super) fn replace(&self, path: &str, text: &str) -> ChangeStep {
        let content = FileContent::of(text.as_bytes());
        ChangeStep::ReplaceFile { path: at(path), before: self.state(path), content, mode: None }
    }

    pub(super) fn remove(&self, path: &str) -> ChangeStep {
        ChangeStep::RemoveFile { path: at(path), before: self.state(path) }
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> ChangeStep {
        let kind = if self.inside(from).is_dir() { EntryKind::Folder } else { EntryKind::File };
        ChangeStep::move_entry(at(from), at(to), kind)
    }

    /// Returns the steps of `vault.delete`.
    pub(super) fn trash(&self, path: &str) -> Vec<ChangeStep> {
        let (missing, to) =
            self.vault.reserve_trash_name(&at(path), &CallId::parse("trash").unwrap()).unwrap();
        let to = to.path().clone();
        let kind = if self.inside(path).is_dir() { EntryKind::Folder } else { EntryKind::File };
        let before = (kind == EntryKind::File).then(|| self.state(path));
        let kept = self.vault.trash_backup(&at(path), kind, before, &self.store).unwrap();
        let details = MoveDetails { before, must_match: false, backup: kept };
        let trash = missing.then(|| ChangeStep::create_folder(at(".trash")));
        trash.into_iter().chain([ChangeStep::Move { from: at(path), to, kind, details }]).collect()
    }

    /// Empties the trash as a user would.
    pub(super) fn empty_trash(&self) {
        std::fs::remove_dir_all(self.inside(".trash")).unwrap();
        std::fs::create_dir(self.inside(".trash")).unwrap();
    }

    fn state(&self, path: &str) -> envelope::FileState {
        match self.vault.entry_at(&at(path), &self.store).unwrap() {
            PathState::File { state, .. } => state,
            other @ (PathState::Missing | PathState::Folder | PathState::Other) => {
                panic!("{path}: {other:?}")
            }
        }
    }
}

pub(super) fn at(path: &str) -> VaultPath {
    VaultPath::parse(path).unwrap()
}

/// Returns the inverse of a list of changes.
pub(super) fn inverse(changes: &[VaultChange]) -> Vec<VaultChange> {
    changes.iter().rev().map(VaultChange::inverse).collect()
}
