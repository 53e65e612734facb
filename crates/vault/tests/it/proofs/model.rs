//! Random calls produce the tree of an in-memory model, report every change, and can be undone.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;

use envelope::{DataRef, EntryKind, Failure, Fault, FileState, Hash, VaultChange, VaultPath};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use toolkit::ObjectStore as _;
use vault::{ChangeStep, FileContent, IoContext, PreparedSteps, Vault};

use super::call_runner::CallRunner;
use super::folder_store::FolderStore;
use super::scaled;
use super::tree::{FolderSnapshot, tree};
use crate::support::{HostileVault, at, put};

#[derive(Debug, Clone, Copy)]
enum Strategies {
    Error,
    Unique,
    Overwrite,
}

impl Strategies {
    fn name(self) -> &'static str {
        match self {
            Strategies::Error => "error",
            Strategies::Unique => "create-unique",
            Strategies::Overwrite => "overwrite",
        }
    }
}

#[derive(Debug, Clone)]
enum ModelOperation {
    Create(String, u8, Strategies),
    Write(String, u8),
    Append(String, u8),
    Patch(String, u8),
    EnsureFolder(String),
    Rename(String, String, Strategies),
    Delete(String, bool),
}

impl ModelOperation {
    fn call(&self) -> (&'static str, Value) {
        match self {
            ModelOperation::Create(path, n, strategy) => (
                "vault.createFile",
                json!({"path": path, "content": text(*n), "collisionStrategy": strategy.name()}),
            ),
            ModelOperation::Write(path, n) => ("vault.writeFile", json!({"path": path, "content": text(*n)})),
            ModelOperation::Append(path, n) => {
                ("vault.writeFile", json!({"path": path, "content": text(*n), "mode": "append"}))
            }
            ModelOperation::Patch(path, n) => {
                let patch = json!({"replaceRange": {"start": 0, "end": 0, "text": text(*n)}});
                ("vault.patchFile", json!({"path": path, "patch": patch}))
            }
            ModelOperation::EnsureFolder(path) => ("vault.ensureFolder", json!({"path": path})),
            ModelOperation::Rename(from, to, strategy) => (
                "vault.rename",
                json!({"fromPath": from, "toPath": to, "collisionStrategy": strategy.name()}),
            ),
            ModelOperation::Delete(path, trash) => ("vault.delete", json!({"path": path, "trash": trash})),
        }
    }
}

fn text(n: u8) -> String {
    format!("{n}\n")
}

/// `None` for a folder; text and mode of a file.
#[derive(Debug, Default, Clone, PartialEq)]
struct VaultModel(BTreeMap<String, Option<(String, u32)>>);

impl VaultModel {
    fn twin(&self, path: &str) -> Option<&str> {
        let folded = at(path).folded();
        self.0.keys().map(String::as_str).find(|known| at(known).folded() == folded)
    }

    /// Returns the entry at exactly this path. Fails below a file.
    fn entry(&self, path: &str) -> Result<Option<&Option<(String, u32)>>, Failure> {
        let mut above = at(path).parent();
        while let Some(folder) = above {
            if let Some(Some(_)) = self.0.get(folder.as_str()) {
                return Err(Failure::PreconditionFailed);
            }
            above = folder.parent();
        }
        Ok(self.0.get(path))
    }

    fn file(&self, path: &str) -> Result<(String, u32), Failure> {
        match self.entry(path)? {
            None => Err(Failure::NotFound),
            Some(None) => Err(Failure::PreconditionFailed),
            Some(Some(file)) => Ok(file.clone()),
        }
    }

    fn folders(&mut self, path: Option<VaultPath>) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        self.folders(path.parent())?;
        match (self.0.get(path.as_str()), self.twin(path.as_str())) {
            (Some(None), _) => Ok(()),
            (Some(Some(_)), _) => Err(Failure::PreconditionFailed),
            (None, Some(_)) => Err(Failure::Conflict),
            (None, None) => {
                self.0.insert(path.to_string(), None);
                Ok(())
            }
        }
    }

    /// Creates the folders above a free path. Creates nothing if it is taken.
    fn make_room(&mut self, path: &str) -> Result<(), Failure> {
        let mut after = self.clone();
        after.folders(at(path).parent())?;
        if after.twin(path).is_some() {
            return Err(Failure::Conflict);
        }
        *self = after;
        Ok(())
    }

    fn create(&mut self, path: &str, text: String) -> Result<String, Failure> {
        self.make_room(path)?;
        self.0.insert(path.to_owned(), Some((text, 0o644)));
        Ok(path.to_owned())
    }

    fn free(&self, path: &str) -> Result<String, Failure> {
        self.clone().folders(at(path).parent())?;
        let (stem, extension) = path
            .rfind('.')
            .filter(|dot| *dot > 0 && !path[*dot..].contains('/'))
            .map_or((path, ""), |dot| path.split_at(dot));
        let mut names =
            (0..).map(|n| if n == 0 { path.to_owned() } else { format!("{stem} {n}{extension}") });
        Ok(names.find(|name| self.twin(name).is_none()).unwrap())
    }

    fn write(&mut self, path: &str, new: impl FnOnce(String) -> String) -> Result<String, Failure> {
        if self.entry(path)?.is_none() {
            return self.create(path, new(String::new()));
        }
        let (old, mode) = self.file(path)?;
        self.0.insert(path.to_owned(), Some((new(old), mode)));
        Ok(path.to_owned())
    }

    fn below(&self, folder: &str) -> Vec<String> {
        let prefix = format!("{folder}/");
        self.0.keys().filter(|path| *path == folder || path.starts_with(&prefix)).cloned().collect()
    }

    fn relocate(&mut self, from: &str, to: &str) {
        for path in self.below(from) {
            let moved = self.0.remove(&path).unwrap();
            self.0.insert(format!("{to}{}", &path[from.len()..]), moved);
        }
    }

    fn rename(&mut self, from: &str, to: &str, strategy: Strategies) -> Result<String, Failure> {
        let (old, new) = (at(from).folded(), at(to).folded());
        if from == to || new.starts_with(&format!("{old}/")) {
            return Err(Failure::InvalidArguments);
        }
        let source = self.entry(from)?.ok_or(Failure::NotFound)?.clone();
        let mut after = self.clone();
        let to = match strategy {
            _ if old == new => {
                after.relocate(from, to);
                // Only the name itself may be respelled.
                return match at(from).parent() == at(to).parent() {
                    true => {
                        *self = after;
                        Ok(to.to_owned())
                    }
                    false => Err(Failure::Conflict),
                };
            }
            Strategies::Error => to.to_owned(),
            Strategies::Unique => self.free(to)?,
            Strategies::Overwrite => {
                match (&source, self.entry(to)?) {
                    (_, None) => {}
                    (Some(_), Some(Some(_))) => drop(after.0.remove(to)),
                    (_, Some(_)) => return Err(Failure::Conflict),
                }
                to.to_owned()
            }
        };
        after.make_room(&to)?;
        after.relocate(from, &to);
        *self = after;
        Ok(to)
    }

    fn delete(&mut self, path: &str, trash: bool) -> Result<String, Failure> {
        self.entry(path)?.ok_or(Failure::NotFound)?;
        if trash {
            self.0.entry(".trash".to_owned()).or_insert(None);
            let name = at(path).name().to_owned();
            let place = self.free(&format!(".trash/{name}"))?;
            self.relocate(path, &place);
        } else {
            self.below(path).iter().for_each(|path| drop(self.0.remove(path)));
        }
        Ok(path.to_owned())
    }

    fn apply(&mut self, operation: &ModelOperation) -> Result<String, Failure> {
        match operation {
            ModelOperation::Create(path, n, Strategies::Error) => {
                self.entry(path)?;
                self.create(path, text(*n))
            }
            ModelOperation::Create(path, n, Strategies::Unique) => {
                let free = self.free(path)?;
                self.create(&free, text(*n))
            }
            ModelOperation::Create(path, n, Strategies::Overwrite) | ModelOperation::Write(path, n) => {
                self.write(path, |_| text(*n))
            }
            ModelOperation::Append(path, n) => self.write(path, |old| old + &text(*n)),
            ModelOperation::Patch(path, n) => {
                let (old, mode) = self.file(path)?;
                self.0.insert(path.clone(), Some((text(*n) + &old, mode)));
                Ok(path.clone())
            }
            ModelOperation::EnsureFolder(path) => {
                let mut after = self.clone();
                match after.folders(Some(at(path))) {
                    Err(Failure::PreconditionFailed) if self.0.contains_key(path) => Err(Failure::Conflict),
                    Err(failure) => Err(failure),
                    Ok(()) => {
                        *self = after;
                        Ok(path.clone())
                    }
                }
            }
            ModelOperation::Rename(from, to, strategy) => self.rename(from, to, *strategy),
            ModelOperation::Delete(path, trash) => self.delete(path, *trash),
        }
    }

    /// Applies a reported change to the model.
    fn hear(&mut self, change: &VaultChange, disk: &VaultModel) {
        let written = |path: &str, state: &FileState| {
            let Some(Some((text, mode))) = disk.0.get(path) else { return None };
            (Hash::of(text.as_bytes()) == state.hash && *mode == state.mode)
                .then(|| Some((text.clone(), *mode)))
        };
        let before = |known: Option<Option<(String, u32)>>, state: &FileState| {
            let (text, mode) = known.flatten().expect("a file was there");
            assert_eq!((Hash::of(text.as_bytes()), mode), (state.hash, state.mode), "{change:?}");
        };
        match change {
            VaultChange::FolderCreated { path, .. } => assert_eq!(self.0.insert(path.clone(), None), None),
            VaultChange::FolderRemoved { path, .. } => assert_eq!(self.0.remove(path), Some(None)),
            VaultChange::FileCreated { path, after } => {
                assert_eq!(self.0.insert(path.clone(), written(path, after).expect("as it says")), None);
            }
            VaultChange::FileRemoved { path, before: state } => before(self.0.remove(path), state),
            VaultChange::FileReplaced { path, before: state, after } => {
                before(self.0.insert(path.clone(), written(path, after).expect("as it says")), state);
            }
            VaultChange::Moved { from, to, kind, .. } => {
                assert_eq!(self.0[from].is_none(), *kind == EntryKind::Folder);
                assert!(!self.0.contains_key(to));
                self.relocate(from, to);
            }
        }
    }
}

/// Returns the tree on disk, without the traps and the protected folders.
fn on_disk(tree: &FolderSnapshot) -> VaultModel {
    let ours = tree.iter().filter(|(path, _)| {
        !path.starts_with(".obsidian") && !path.starts_with(".git") && path.as_str() != "trap"
    });
    let model = ours.map(|(path, (mode, bytes))| {
        let is_folder = mode & 0o170_000 == 0o040_000;
        let file = (!is_folder).then(|| (String::from_utf8(bytes.clone()).unwrap(), mode & 0o7777));
        (path.clone(), file)
    });
    VaultModel(model.collect())
}

/// Records changes and returns stored content.
struct UndoRecorder<'a> {
    kept: &'a FolderStore,
    heard: RefCell<Vec<VaultChange>>,
}

impl IoContext for UndoRecorder<'_> {
    fn record_change(&self, change: VaultChange) {
        self.heard.borrow_mut().push(change);
    }

    fn check_cancelled(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn store(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.kept.keep(content).map(Some)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.kept.fetch(wanted, into)
    }
}

/// Returns the step that makes a change.
fn step(change: &VaultChange) -> ChangeStep {
    let kept = |state: &FileState| FileContent::Stored(DataRef { hash: state.hash, bytes: state.bytes });
    match change {
        VaultChange::FolderCreated { path, mode } => ChangeStep::MakeFolder { path: at(path), mode: *mode },
        VaultChange::FolderRemoved { path, mode } => ChangeStep::RemoveFolder { path: at(path), mode: *mode },
        VaultChange::FileCreated { path, after } => {
            ChangeStep::CreateFile { path: at(path), content: kept(after), mode: Some(after.mode) }
        }
        VaultChange::FileRemoved { path, before } => {
            ChangeStep::RemoveFile { path: at(path), before: *before }
        }
        VaultChange::FileReplaced { path, before, after } => ChangeStep::ReplaceFile {
            path: at(path),
            before: *before,
            content: kept(after),
            mode: Some(after.mode),
        },
        VaultChange::Moved { from, to, kind, .. } => ChangeStep::move_entry(at(from), at(to), *kind),
    }
}

/// Removes the trash backup from a change.
fn without_kept(change: &VaultChange) -> VaultChange {
    let mut change = change.clone();
    if let VaultChange::Moved { kept, .. } = &mut change {
        kept.clear();
    }
    change
}

/// Undoes changes, the last one first. Returns the changes of the undo.
fn take_back(vault: &Vault, kept: &FolderStore, changes: &[VaultChange]) -> Vec<VaultChange> {
    let witness = UndoRecorder { kept, heard: RefCell::default() };
    for change in changes.iter().rev() {
        let back = change.inverse();
        let prepared = PreparedSteps { steps: vec![step(&back)] };
        vault.store_overwritten(&prepared, &witness).unwrap();
        vault.apply(&prepared, &witness).unwrap_or_else(|fault| panic!("{back:?}: {fault}"));
        let heard = witness.heard.borrow().last().map(without_kept);
        assert_eq!(heard, Some(without_kept(&back)), "it reports what it did");
    }
    witness.heard.into_inner()
}

/// An operation whose operands are chosen when it is applied.
#[derive(Debug, Clone)]
struct RandomOperation {
    path: String,
    other: String,
    pick: u8,
    pick_other: u8,
    kind: u8,
    n: u8,
    strategy: Strategies,
}

fn throws() -> impl Strategy<Value = RandomOperation> {
    let name = || prop_oneof![Just("a"), Just("A"), Just("b"), Just("É"), Just("é")];
    let path = || proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"));
    let strategy =
        prop_oneof![Just(Strategies::Error), Just(Strategies::Unique), Just(Strategies::Overwrite)];
    (path(), path(), any::<u8>(), any::<u8>(), 0..11u8, any::<u8>(), strategy).prop_map(
        |(path, other, pick, pick_other, kind, n, strategy)| RandomOperation {
            path,
            other,
            pick,
            pick_other,
            kind,
            n,
            strategy,
        },
    )
}

impl RandomOperation {
    /// Returns an existing path two thirds of the time.
    fn operation(&self, model: &VaultModel) -> ModelOperation {
        let there: Vec<&String> = model.0.keys().filter(|path| !path.starts_with(".trash")).collect();
        let chosen = |pick: u8, path: &String| match pick % 3 {
            _ if there.is_empty() => path.clone(),
            0 => path.clone(),
            _ => there[usize::from(pick) / 3 % there.len()].clone(),
        };
        let (path, n) = (chosen(self.pick, &self.path), self.n);
        match self.kind {
            0 | 1 => ModelOperation::Create(path, n, self.strategy),
            2 => ModelOperation::Write(path, n),
            3 => ModelOperation::Append(path, n),
            4 => ModelOperation::Patch(path, n),
            5 => ModelOperation::EnsureFolder(path),
            6 => ModelOperation::Rename(path.clone(), respelled(&path), self.strategy),
            7 | 8 => ModelOperation::Rename(path, chosen(self.pick_other, &self.other), self.strategy),
            _ => ModelOperation::Delete(path, n % 2 == 0),
        }
    }
}

/// Returns the same path with its last name in the other case.
fn respelled(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let other = if name.to_uppercase() == name { name.to_lowercase() } else { name.to_uppercase() };
    if folder.is_empty() { other } else { format!("{folder}/{other}") }
}

/// A vault with files of several modes, and a link that leads out.
fn start() -> HostileVault {
    let world = HostileVault::new();
    world.link("../outside", "trap");
    for (path, mode) in [("Notes/real.md", 0o600), ("a", 0o640), ("b", 0o644), ("É", 0o444)] {
        put(&world.inside(path), "text\n");
        fs::set_permissions(world.inside(path), Permissions::from_mode(mode)).unwrap();
    }
    world
}

/// Returns the outcome of a dry run of the call. If it changed anything, the next comparison with the model
/// would fail.
fn foretell(runner: &CallRunner, tool: &str, args: &Value) -> String {
    let mut args = args.clone();
    args["dryRun"] = json!(true);
    let outcome = runner.call(tool, &args);
    assert!(outcome.changes.is_empty() && outcome.intent.is_empty());
    outcome.verdict()
}

fn check(throws: &[RandomOperation], ends: &mut BTreeMap<String, u32>) {
    let world = start();
    let runner = CallRunner::new(&world.inside(""), &world.temp.path().join("store"));
    let start = tree(&world.inside(""));
    let mut model = on_disk(&start);
    let (mut heard, mut changes) = (model.clone(), Vec::new());
    for throw in throws {
        let operation = &throw.operation(&model);
        let (tool, args) = operation.call();
        let foretold = foretell(&runner, tool, &args);
        let outcome = runner.call(tool, &args);
        assert_eq!(outcome.verdict(), foretold, "{operation:?} ends as its dry run said");
        let expected = model.apply(operation);
        let kind = format!("{operation:?}");
        let kind = kind.split('(').next().unwrap_or_default();
        *ends.entry(format!("{kind} {}", outcome.verdict())).or_default() += 1;
        match (&outcome.result, &expected) {
            (Ok(mapped), Ok(path)) => {
                let named = if tool == "vault.rename" { "toPath" } else { "path" };
                assert_eq!(mapped.data[named], json!(path), "{operation:?}");
                assert_eq!(outcome.changes, outcome.intent, "{operation:?}");
            }
            (Err(fault), Err(failure)) => {
                assert_eq!(fault.failure, *failure, "{operation:?}: {fault}");
                assert!(outcome.changes.is_empty(), "{operation:?} failed and changed {:?}", outcome.changes);
            }
            (result, _) => panic!("{operation:?}: {result:?}, but the model says {expected:?}"),
        }
        let now = on_disk(&tree(&world.inside("")));
        assert_eq!(now, model, "after {operation:?}");
        outcome.changes.iter().for_each(|change| heard.hear(change, &now));
        assert_eq!(heard, model, "heard after {operation:?}");
        changes.extend(outcome.changes);
    }
    let end = tree(&world.inside(""));
    let vault = Vault::open(&world.inside("")).unwrap();
    let undone = take_back(&vault, runner.store(), &changes);
    assert_eq!(tree(&world.inside("")), start, "taken back");
    take_back(&vault, runner.store(), &undone);
    assert_eq!(tree(&world.inside("")), end, "done again");
    world.assert_outside_untouched();
}

// Conformance: tool 2.15
//     Every change of every tool is observed, reported, and can be taken back.
//     In: vault/files/write_tool.rs
#[test]
fn random_calls_give_the_tree_of_the_model_report_every_change_and_can_be_taken_back() {
    let config =
        ProptestConfig { cases: scaled(40, 300), failure_persistence: None, ..ProptestConfig::default() };
    let ends = RefCell::new(BTreeMap::new());
    proptest!(config, |(throws in proptest::collection::vec(throws(), 1..30))| {
        check(&throws, &mut ends.borrow_mut());
    });
    let ends = ends.into_inner();
    eprintln!("{ends:?}");
    for kind in ["Create", "Write", "Append", "Patch", "EnsureFolder", "Rename", "Delete"] {
        assert!(ends.contains_key(&format!("{kind} done")), "no {kind} went through: {ends:?}");
    }
}
