//! Random calls give the tree of a model that lives in memory, report every change, and can be taken back.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;

use envelope::{Change, DataRef, EntryKind, Failure, Fault, FileState, Hash, VaultPath};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use toolkit::ObjectStore as _;
use vault::{Content, Prepared, Step, Vault, Witness};

use crate::gate::Gate;
use crate::kept::Kept;
use crate::scaled;
use crate::support::{World, at, put};
use crate::tree::{Tree, tree};

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
enum Operation {
    Create(String, u8, Strategies),
    Write(String, u8),
    Append(String, u8),
    Patch(String, u8),
    EnsureFolder(String),
    Rename(String, String, Strategies),
    Delete(String, bool),
}

impl Operation {
    fn call(&self) -> (&'static str, Value) {
        match self {
            Operation::Create(path, n, strategy) => (
                "vault.createFile",
                json!({"path": path, "content": text(*n), "collisionStrategy": strategy.name()}),
            ),
            Operation::Write(path, n) => ("vault.writeFile", json!({"path": path, "content": text(*n)})),
            Operation::Append(path, n) => {
                ("vault.writeFile", json!({"path": path, "content": text(*n), "mode": "append"}))
            }
            Operation::Patch(path, n) => {
                let patch = json!({"replaceRange": {"start": 0, "end": 0, "text": text(*n)}});
                ("vault.patchFile", json!({"path": path, "patch": patch}))
            }
            Operation::EnsureFolder(path) => ("vault.ensureFolder", json!({"path": path})),
            Operation::Rename(from, to, strategy) => (
                "vault.rename",
                json!({"fromPath": from, "toPath": to, "collisionStrategy": strategy.name()}),
            ),
            Operation::Delete(path, trash) => ("vault.delete", json!({"path": path, "trash": trash})),
        }
    }
}

fn text(n: u8) -> String {
    format!("{n}\n")
}

/// Folders are `None`, files their text and their mode.
#[derive(Debug, Default, Clone, PartialEq)]
struct Model(BTreeMap<String, Option<(String, u32)>>);

impl Model {
    fn twin(&self, path: &str) -> Option<&str> {
        let folded = at(path).folded();
        self.0.keys().map(String::as_str).find(|known| at(known).folded() == folded)
    }

    /// What has this very path; an error below a file.
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

    /// Makes the folders above a free place. Nothing is made when it is not free.
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
                // Only the name itself may be spelled anew.
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

    fn apply(&mut self, operation: &Operation) -> Result<String, Failure> {
        match operation {
            Operation::Create(path, n, Strategies::Error) => {
                self.entry(path)?;
                self.create(path, text(*n))
            }
            Operation::Create(path, n, Strategies::Unique) => {
                let free = self.free(path)?;
                self.create(&free, text(*n))
            }
            Operation::Create(path, n, Strategies::Overwrite) | Operation::Write(path, n) => {
                self.write(path, |_| text(*n))
            }
            Operation::Append(path, n) => self.write(path, |old| old + &text(*n)),
            Operation::Patch(path, n) => {
                let (old, mode) = self.file(path)?;
                self.0.insert(path.clone(), Some((text(*n) + &old, mode)));
                Ok(path.clone())
            }
            Operation::EnsureFolder(path) => {
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
            Operation::Rename(from, to, strategy) => self.rename(from, to, *strategy),
            Operation::Delete(path, trash) => self.delete(path, *trash),
        }
    }

    /// What a reported change means.
    fn hear(&mut self, change: &Change, disk: &Model) {
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
            Change::FolderCreated { path, .. } => assert_eq!(self.0.insert(path.clone(), None), None),
            Change::FolderRemoved { path, .. } => assert_eq!(self.0.remove(path), Some(None)),
            Change::FileCreated { path, after } => {
                assert_eq!(self.0.insert(path.clone(), written(path, after).expect("as it says")), None);
            }
            Change::FileRemoved { path, before: state } => before(self.0.remove(path), state),
            Change::FileReplaced { path, before: state, after } => {
                before(self.0.insert(path.clone(), written(path, after).expect("as it says")), state);
            }
            Change::Moved { from, to, kind, .. } => {
                assert_eq!(self.0[from].is_none(), *kind == EntryKind::Folder);
                assert!(!self.0.contains_key(to));
                self.relocate(from, to);
            }
        }
    }
}

/// What is on disk, without the traps and the protected folders.
fn on_disk(tree: &Tree) -> Model {
    let ours = tree.iter().filter(|(path, _)| {
        !path.starts_with(".obsidian") && !path.starts_with(".git") && path.as_str() != "trap"
    });
    let model = ours.map(|(path, (mode, bytes))| {
        let is_folder = mode & 0o170_000 == 0o040_000;
        let file = (!is_folder).then(|| (String::from_utf8(bytes.clone()).unwrap(), mode & 0o7777));
        (path.clone(), file)
    });
    Model(model.collect())
}

/// Hears everything, and gives out what was kept.
struct Undoing<'a> {
    kept: &'a Kept,
    heard: RefCell<Vec<Change>>,
}

impl Witness for Undoing<'_> {
    fn saw(&self, change: Change) {
        self.heard.borrow_mut().push(change);
    }

    fn may_go_on(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn keep(&self, content: &mut dyn Read) -> Result<Option<DataRef>, Fault> {
        self.kept.keep(content).map(Some)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        self.kept.fetch(wanted, into)
    }
}

/// The step that makes a change.
fn step(change: &Change) -> Step {
    let kept = |state: &FileState| Content::Kept(DataRef { hash: state.hash, bytes: state.bytes });
    match change {
        Change::FolderCreated { path, mode } => Step::MakeFolder { path: at(path), mode: *mode },
        Change::FolderRemoved { path, mode } => Step::RemoveFolder { path: at(path), mode: *mode },
        Change::FileCreated { path, after } => {
            Step::CreateFile { path: at(path), content: kept(after), mode: Some(after.mode) }
        }
        Change::FileRemoved { path, before } => Step::RemoveFile { path: at(path), before: *before },
        Change::FileReplaced { path, before, after } => Step::ReplaceFile {
            path: at(path),
            before: *before,
            content: kept(after),
            mode: Some(after.mode),
        },
        Change::Moved { from, to, kind, .. } => Step::moving(at(from), at(to), *kind),
    }
}

/// Without what is kept for the day when the trash was emptied.
fn without_kept(change: &Change) -> Change {
    let mut change = change.clone();
    if let Change::Moved { kept, .. } = &mut change {
        kept.clear();
    }
    change
}

/// Takes changes back, the last one first; gives what that changed.
fn take_back(vault: &Vault, kept: &Kept, changes: &[Change]) -> Vec<Change> {
    let witness = Undoing { kept, heard: RefCell::default() };
    for change in changes.iter().rev() {
        let back = change.inverse();
        let prepared = Prepared { steps: vec![step(&back)] };
        vault.keep_overwritten(&prepared, &witness).unwrap();
        vault.apply(&prepared, &witness).unwrap_or_else(|fault| panic!("{back:?}: {fault}"));
        let heard = witness.heard.borrow().last().map(without_kept);
        assert_eq!(heard, Some(without_kept(&back)), "it reports what it did");
    }
    witness.heard.into_inner()
}

/// An operation before it is known what there is to work on.
#[derive(Debug, Clone)]
struct Throw {
    path: String,
    other: String,
    pick: u8,
    pick_other: u8,
    kind: u8,
    n: u8,
    strategy: Strategies,
}

fn throws() -> impl Strategy<Value = Throw> {
    let name = || prop_oneof![Just("a"), Just("A"), Just("b"), Just("É"), Just("é")];
    let path = || proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"));
    let strategy =
        prop_oneof![Just(Strategies::Error), Just(Strategies::Unique), Just(Strategies::Overwrite)];
    (path(), path(), any::<u8>(), any::<u8>(), 0..11u8, any::<u8>(), strategy).prop_map(
        |(path, other, pick, pick_other, kind, n, strategy)| Throw {
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

impl Throw {
    /// Two thirds of the time something that is there.
    fn operation(&self, model: &Model) -> Operation {
        let there: Vec<&String> = model.0.keys().filter(|path| !path.starts_with(".trash")).collect();
        let chosen = |pick: u8, path: &String| match pick % 3 {
            _ if there.is_empty() => path.clone(),
            0 => path.clone(),
            _ => there[usize::from(pick) / 3 % there.len()].clone(),
        };
        let (path, n) = (chosen(self.pick, &self.path), self.n);
        match self.kind {
            0 | 1 => Operation::Create(path, n, self.strategy),
            2 => Operation::Write(path, n),
            3 => Operation::Append(path, n),
            4 => Operation::Patch(path, n),
            5 => Operation::EnsureFolder(path),
            6 => Operation::Rename(path.clone(), respelled(&path), self.strategy),
            7 | 8 => Operation::Rename(path, chosen(self.pick_other, &self.other), self.strategy),
            _ => Operation::Delete(path, n % 2 == 0),
        }
    }
}

/// The same path with its last name in the other case.
fn respelled(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    let other = if name.to_uppercase() == name { name.to_lowercase() } else { name.to_uppercase() };
    if folder.is_empty() { other } else { format!("{folder}/{other}") }
}

/// A vault with files of several modes, and a link that leads out.
fn start() -> World {
    let world = World::new();
    world.link("../outside", "trap");
    for (path, mode) in [("Notes/real.md", 0o600), ("a", 0o640), ("b", 0o644), ("É", 0o444)] {
        put(&world.inside(path), "text\n");
        fs::set_permissions(world.inside(path), Permissions::from_mode(mode)).unwrap();
    }
    world
}

/// How a dry run of the call ends. It changes nothing, or the next comparison with the model would show it.
fn foretell(gate: &Gate, tool: &str, args: &Value) -> String {
    let mut args = args.clone();
    args["dryRun"] = json!(true);
    let outcome = gate.call(tool, &args);
    assert!(outcome.changes.is_empty() && outcome.intent.is_empty());
    outcome.verdict()
}

fn check(throws: &[Throw], ends: &mut BTreeMap<String, u32>) {
    let world = start();
    let gate = Gate::new(&world.inside(""), &world.temp.path().join("store"));
    let start = tree(&world.inside(""));
    let mut model = on_disk(&start);
    let (mut heard, mut changes) = (model.clone(), Vec::new());
    for throw in throws {
        let operation = &throw.operation(&model);
        let (tool, args) = operation.call();
        let foretold = foretell(&gate, tool, &args);
        let outcome = gate.call(tool, &args);
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
    let undone = take_back(&vault, gate.store(), &changes);
    assert_eq!(tree(&world.inside("")), start, "taken back");
    take_back(&vault, gate.store(), &undone);
    assert_eq!(tree(&world.inside("")), end, "done again");
    world.assert_outside_untouched();
}

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
