//! Random operations give the same tree as a model that lives in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::collections::BTreeMap;

use envelope::{Change, EntryKind, Failure, VaultPath};
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use support::{Listener, World, at, create_unique};
use vault::{ListQuery, ListStart};

#[derive(Debug, Clone)]
enum Operation {
    Create(String, u8),
    CreateUnique(String, u8),
    Overwrite(String, u8),
    EnsureFolder(String),
}

/// Folders are `None`, files their content.
#[derive(Debug, Default, Clone, PartialEq)]
struct Model(BTreeMap<String, Option<Vec<u8>>>);

impl Model {
    fn twin(&self, path: &str) -> Option<&str> {
        let folded = at(path).folded();
        self.0.keys().map(String::as_str).find(|known| at(known).folded() == folded)
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

    fn create(&mut self, path: &str, content: Vec<u8>) -> Result<String, Failure> {
        self.folders(at(path).parent())?;
        if self.twin(path).is_some() {
            return Err(Failure::Conflict);
        }
        self.0.insert(path.to_owned(), Some(content));
        Ok(path.to_owned())
    }

    fn apply(&mut self, operation: &Operation) -> Result<String, Failure> {
        match operation {
            Operation::Create(path, byte) => self.create(path, vec![*byte]),
            Operation::CreateUnique(path, byte) => {
                self.folders(at(path).parent())?;
                let names = (0..).map(|n| if n == 0 { path.clone() } else { format!("{path} {n}") });
                let free = names.into_iter().find(|name| self.twin(name).is_none()).unwrap();
                self.create(&free, vec![*byte])
            }
            Operation::Overwrite(path, byte) => match self.0.get_mut(path) {
                Some(None) => Err(Failure::PreconditionFailed),
                Some(Some(content)) => {
                    *content = vec![*byte];
                    Ok(path.clone())
                }
                None => self.create(path, vec![*byte]),
            },
            Operation::EnsureFolder(path) => match self.folders(Some(at(path))) {
                Err(Failure::PreconditionFailed) if self.0.contains_key(path) => Err(Failure::Conflict),
                made => made.map(|()| path.clone()),
            },
        }
    }
}

fn apply(world: &World, operation: &Operation, listener: &Listener) -> Result<String, Failure> {
    let vault = &world.vault;
    let done = match operation {
        Operation::Create(path, byte) => vault.create(&at(path), &[*byte], listener).map(|file| file.path),
        Operation::CreateUnique(path, byte) => {
            create_unique(vault, &at(path), &[*byte], listener).map(|file| file.path)
        }
        Operation::Overwrite(path, byte) => {
            vault.overwrite(&at(path), &[*byte], listener).map(|file| file.path)
        }
        Operation::EnsureFolder(path) => vault.ensure_folder(&at(path), listener).map(|made| made.path),
    };
    done.map(|path| path.to_string()).map_err(|fault| fault.failure)
}

/// The tree as the vault itself lists and reads it.
fn tree(world: &World) -> Model {
    let listener = Listener::default();
    let query = ListQuery { folder: None, recursive: true, extensions: Vec::new(), start: ListStart::Offset(0), limit: 1_000 };
    let page = world.vault.list(&query, &listener).unwrap();
    let read = |path: &VaultPath| world.vault.read(path, 0..100, &listener).unwrap().bytes;
    Model(
        page.entries
            .iter()
            .map(|entry| (entry.path.to_string(), (entry.kind == EntryKind::File).then(|| read(&entry.path))))
            .collect(),
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let name = || prop_oneof![Just("a"), Just("A"), Just("b"), Just("É"), Just("é")];
    let path = (name(), proptest::option::of(name()))
        .prop_map(|(first, second)| second.map_or(first.to_owned(), |second| format!("{first}/{second}")));
    (path, 0..4, proptest::num::u8::ANY).prop_map(|(path, kind, byte)| match kind {
        0 => Operation::Create(path, byte),
        1 => Operation::CreateUnique(path, byte),
        2 => Operation::Overwrite(path, byte),
        _ => Operation::EnsureFolder(path),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn random_operations_give_the_tree_of_the_model_and_report_every_change(
        operations in proptest::collection::vec(operation(), 1..25)
    ) {
        let world = World::new();
        world.link("../outside", "trap");
        let mut model = tree(&world);
        let mut heard = model.clone();
        let listener = Listener::default();
        for operation in &operations {
            assert_eq!(apply(&world, operation, &listener), model.apply(operation), "{operation:?}");
            for change in listener.0.borrow_mut().drain(..) {
                let content = |path: &str| std::fs::read(world.inside(path)).unwrap();
                match change {
                    Change::FolderCreated { path } => assert_eq!(heard.0.insert(path, None), None),
                    Change::FileCreated { path, .. } => {
                        let now = content(&path);
                        assert_eq!(heard.0.insert(path, Some(now)), None);
                    }
                    Change::FileReplaced { path, .. } => {
                        let now = content(&path);
                        assert!(heard.0.insert(path, Some(now)).is_some());
                    }
                    Change::FolderRemoved { .. } | Change::FileRemoved { .. } | Change::Moved { .. } => {
                        panic!("nothing was to be removed or moved: {change:?}");
                    }
                }
            }
            assert_eq!(tree(&world), model, "after {operation:?}");
            assert_eq!(heard, model, "heard after {operation:?}");
        }
        world.assert_outside_untouched();
    }
}
