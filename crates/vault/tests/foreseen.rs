//! What a preview foresees is what happens, and nothing happens while it foresees.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use envelope::{EntryKind, Fault, FileState, Hash, VaultPath};
use expect_test::expect;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use support::{Listener, World, at, put};
use vault::{Content, Fate, Foreseen, ListQuery, ListStart, Prepared, Seen, Step, Vault, Written};

/// Every path with its content, `None` for a folder. The trash and other hidden places too.
type Tree = BTreeMap<String, Option<Vec<u8>>>;

fn on_disk(world: &World) -> Tree {
    fn walk(root: &Path, dir: &Path, tree: &mut Tree) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                tree.insert(name, None);
                walk(root, &path, tree);
            } else {
                tree.insert(name, Some(std::fs::read(&path).unwrap()));
            }
        }
    }
    let root = world.inside("");
    let mut tree = Tree::new();
    walk(&root, &root, &mut tree);
    tree
}

/// The tree as the vault itself lists and reads it; the trash is not in it.
fn as_listed(vault: &Vault) -> Tree {
    let listener = Listener::default();
    let query = ListQuery {
        folder: None,
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 10_000,
    };
    let page = vault.list(&query, &listener).unwrap();
    let content = |path: &VaultPath| vault.load(path, &listener).unwrap().bytes;
    page.entries
        .iter()
        .map(|entry| (entry.path.to_string(), (entry.kind == EntryKind::File).then(|| content(&entry.path))))
        .collect()
}

/// What the tree becomes when the foreseen changes are made, and nothing else.
fn made(vault: &Vault, before: &Tree, foreseen: &[Foreseen]) -> Tree {
    let listener = Listener::default();
    let gone = |path: &str| {
        foreseen
            .iter()
            .any(|one| matches!(one.fate, Fate::Trashed | Fate::Removed) && one.path.as_str() == path)
    };
    let moved_to = |path: &str| {
        let moved = |one: &&Foreseen| one.fate == Fate::Moved && one.from.as_ref().unwrap().as_str() == path;
        foreseen.iter().find(moved).map(|one| one.path.to_string())
    };
    // Each path is where it was moved to itself, or where its folder is now.
    fn place(
        path: &str,
        gone: &dyn Fn(&str) -> bool,
        moved_to: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        if gone(path) {
            return None;
        }
        if let Some(to) = moved_to(path) {
            return Some(to);
        }
        match path.rsplit_once('/') {
            Some((folder, name)) => place(folder, gone, moved_to).map(|folder| format!("{folder}/{name}")),
            None => Some(path.to_owned()),
        }
    }
    let mut tree = Tree::new();
    for (path, content) in before {
        if let Some(now) = place(path, &gone, &moved_to) {
            assert_eq!(tree.insert(now, content.clone()), None, "{path} meets another: {foreseen:#?}");
        }
    }
    for one in foreseen {
        if let Some(was) = vault.before(one, &listener).unwrap() {
            let from = one.from.as_ref().unwrap_or(&one.path);
            assert_eq!(Some(Some(was)), before.get(from.as_str()).cloned(), "{one:?}");
        }
        if let Some(state) = one.after {
            let after = vault.after(one, &listener).unwrap().unwrap();
            assert_eq!(state.hash, Hash::of(&after));
            tree.insert(one.path.to_string(), Some(after));
        } else if one.fate == Fate::Created {
            tree.insert(one.path.to_string(), None);
        }
    }
    tree
}

/// One thing that a tool might do; the state it expects is looked up when its turn comes.
#[derive(Debug, Clone)]
enum Wish {
    MakeFolder(String),
    Create(String, u8),
    /// To the content it has on disk, if that is what the last field says.
    Replace(String, u8, bool),
    Remove(String),
    RemoveFolder(String),
    Move(String, String, EntryKind),
    Trash(String, EntryKind),
}

fn wish() -> impl Strategy<Value = Wish> {
    let name = || prop_oneof![Just("a"), Just("A"), Just("b"), Just("c"), Just("É"), Just("e\u{301}")];
    let path = move || proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"));
    let kind = || prop_oneof![Just(EntryKind::File), Just(EntryKind::Folder)];
    prop_oneof![
        path().prop_map(Wish::MakeFolder),
        (path(), 0..3_u8).prop_map(|(path, byte)| Wish::Create(path, byte)),
        (path(), 0..3_u8, proptest::bool::ANY).prop_map(|(path, byte, back)| Wish::Replace(path, byte, back)),
        path().prop_map(Wish::Remove),
        path().prop_map(Wish::RemoveFolder),
        (path(), path(), kind()).prop_map(|(from, to, kind)| Wish::Move(from, to, kind)),
        (path(), path(), kind()).prop_map(|(from, to, kind)| Wish::Move(from, to, kind)),
        (path(), kind()).prop_map(|(path, kind)| Wish::Trash(path, kind)),
    ]
}

/// The steps of a wish, as a tool would prepare them from what it sees.
fn steps(vault: &Vault, wish: &Wish, start: &Tree, serial: usize) -> Vec<Step> {
    let listener = Listener::default();
    let nothing = FileState { hash: Hash::of(b"something else"), bytes: 0, mode: 0o644 };
    let state = |path: &str| match vault.look(&at(path), &listener) {
        Ok(Seen::File { state, .. }) => state,
        Ok(Seen::Nothing | Seen::Folder | Seen::Other) | Err(_) => nothing,
    };
    vec![match wish {
        Wish::MakeFolder(path) => Step::making_folder(at(path)),
        Wish::Create(path, byte) => {
            Step::CreateFile { path: at(path), content: Content::of([*byte]), mode: None }
        }
        Wish::Replace(path, byte, back) => {
            let original = start.get(path).cloned().flatten().filter(|_| *back);
            let content = Content::of(original.unwrap_or_else(|| vec![*byte, 9]));
            Step::ReplaceFile { path: at(path), before: state(path), content, mode: None }
        }
        Wish::Remove(path) => Step::RemoveFile { path: at(path), before: state(path) },
        Wish::RemoveFolder(path) => Step::RemoveFolder { path: at(path), mode: None },
        Wish::Move(from, to, kind) => Step::moving(at(from), at(to), *kind),
        Wish::Trash(path, kind) => {
            let trash = Step::making_folder(at(".trash"));
            let to = at(&format!(".trash/{serial}"));
            return vec![trash, Step::moving(at(path), to, *kind)];
        }
    }]
}

fn world() -> World {
    let world = World::new();
    for folder in ["a", "a/b", "b", "b/c", "b/c/a"] {
        std::fs::create_dir(world.inside(folder)).unwrap();
    }
    for (path, text) in [("a/a", "aa"), ("a/b/c", "abc"), ("b/c/a/b", "bcab"), ("c", "c"), ("a/É", "accent")]
    {
        put(&world.inside(path), text);
    }
    // Two spellings side by side, as another system may leave them.
    put(&world.inside("b/A"), "bA");
    put(&world.inside("b/a"), "ba");
    world
}

/// As many as wanted with `PROPTEST_CASES`; each writes to a real disk.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    #[test]
    fn the_same_steps_give_on_disk_what_was_foreseen(wishes in proptest::collection::vec(wish(), 1..30)) {
        let (real, dreamt) = (world(), world());
        let imagined = dreamt.vault.imagined();
        let start = on_disk(&real);
        let listener = Listener::default();
        for (serial, wish) in wishes.iter().enumerate() {
            let steps = Prepared { steps: steps(&real.vault, wish, &start, serial) };
            let done = real.vault.apply(&steps, &listener);
            let told = imagined.apply(&steps, &listener);
            assert_eq!(told.is_ok(), done.is_ok(), "{wish:?}: {told:?} {done:?}");
            let written = |result: Result<Option<Written>, Fault>| {
                result.ok().flatten().map(|written| (written.path, written.etag, written.created))
            };
            assert_eq!(written(told), written(done), "{wish:?}");
        }
        let now = on_disk(&real);
        let foreseen = imagined.foreseen(&listener).unwrap();
        assert_eq!(on_disk(&dreamt), start, "nothing was done");
        assert_eq!(as_listed(&imagined), as_listed(&real.vault));
        let visible = |tree: Tree| -> Tree { tree.into_iter().filter(|(path, _)| !path.starts_with(".trash")).collect() };
        assert_eq!(visible(made(&imagined, &start, &foreseen)), visible(now.clone()), "{foreseen:#?}");
        assert_eq!(foreseen.is_empty(), visible(now) == start, "{foreseen:#?}");
        dreamt.assert_outside_untouched();
    }
}

/// One line a change.
fn told(vault: &Vault) -> String {
    let line = |one: &Foreseen| {
        let from = one.from.as_ref().map_or_else(String::new, |from| format!(" from {from}"));
        let bytes =
            |state: Option<FileState>| state.map_or_else(|| "-".to_owned(), |state| state.bytes.to_string());
        format!(
            "{:?} {:?} {}{from} {}>{}\n",
            one.fate,
            one.kind,
            one.path,
            bytes(one.before),
            bytes(one.after)
        )
    };
    vault.foreseen(&Listener::default()).unwrap().iter().map(line).collect()
}

#[track_caller]
fn imagine(vault: &Vault, step: Step) {
    vault.apply(&Prepared { steps: vec![step] }, &Listener::default()).unwrap();
}

fn state(vault: &Vault, path: &str) -> FileState {
    match vault.look(&at(path), &Listener::default()).unwrap() {
        Seen::File { state, .. } => state,
        seen @ (Seen::Nothing | Seen::Folder | Seen::Other) => panic!("{path}: {seen:?}"),
    }
}

fn replace(vault: &Vault, path: &str, text: &str) {
    let before = state(vault, path);
    let content = Content::of(text.as_bytes());
    imagine(vault, Step::ReplaceFile { path: at(path), before, content, mode: None });
}

fn moved(from: &str, to: &str, kind: EntryKind) -> Step {
    Step::moving(at(from), at(to), kind)
}

#[test]
fn what_differs_is_told_and_nothing_else() {
    let world = world();
    let vault = world.vault.imagined();
    replace(&vault, "c", "changed");
    replace(&vault, "c", "c");
    imagine(&vault, moved("a/a", "x", EntryKind::File));
    imagine(&vault, moved("x", "a/a", EntryKind::File));
    let before = state(&vault, "b/a");
    imagine(&vault, Step::RemoveFile { path: at("b/a"), before });
    imagine(&vault, Step::CreateFile { path: at("Notes/n.md"), content: Content::of(*b"n"), mode: None });
    imagine(&vault, moved("Notes/n.md", "Notes/m.md", EntryKind::File));
    assert_eq!(told(&vault), "Created File Notes/m.md ->1\nRemoved File b/a 2>-\n");
}

#[test]
fn what_is_in_a_moved_folder_moves_with_it_and_is_told_only_if_it_changes_too() {
    let world = world();
    let vault = world.vault.imagined();
    imagine(&vault, moved("a", "z", EntryKind::Folder));
    replace(&vault, "z/a", "changed");
    imagine(&vault, moved("z/b/c", "z/out", EntryKind::File));
    imagine(&vault, Step::making_folder(at(".trash")));
    imagine(&vault, moved("b/c", ".trash/c", EntryKind::Folder));
    imagine(&vault, moved("c", ".trash/c 1", EntryKind::File));
    expect![[r"
        Trashed Folder b/c 4>-
        Trashed File c 1>-
        Moved Folder z from a 11>-
        Changed File z/a from a/a 2>7
        Moved File z/out from a/b/c 3>3
    "]]
    .assert_eq(&told(&vault));
}

#[test]
fn a_folder_that_is_removed_with_all_that_is_in_it_is_told_name_by_name() {
    let world = world();
    let vault = world.vault.imagined();
    for path in ["a/b/c", "a/a", "a/É"] {
        let before = state(&vault, path);
        imagine(&vault, Step::RemoveFile { path: at(path), before });
    }
    for path in ["a/b", "a"] {
        imagine(&vault, Step::RemoveFolder { path: at(path), mode: None });
    }
    let removed = told(&vault);
    expect![[r"
        Removed Folder a ->-
        Removed File a/a 2>-
        Removed Folder a/b ->-
        Removed File a/b/c 3>-
        Removed File a/É 6>-
    "]]
    .assert_eq(&removed);
    imagine(&vault, Step::making_folder(at("a")));
    assert_eq!(told(&vault), removed.replace("Removed Folder a ->-\n", ""), "the folder is there again");
}

#[test]
fn links_lead_to_what_was_imagined_behind_them() {
    let world = world();
    world.link("a", "link");
    world.link("c", "to-c");
    let (vault, listener) = (world.vault.imagined(), Listener::default());
    replace(&vault, "link/a", "through a link");
    replace(&vault, "to-c", "seen from both sides");
    let read = |path: &str| String::from_utf8(vault.load(&at(path), &listener).unwrap().bytes).unwrap();
    assert_eq!([read("a/a"), read("link/a")], ["through a link"; 2]);
    assert_eq!([read("c"), read("to-c")], ["seen from both sides"; 2]);
    support::create_unique(&vault, &at("link/new"), b"1", &listener).unwrap();
    support::create_unique(&vault, &at("link/NEW"), b"2", &listener).unwrap();
    assert_eq!([read("a/new"), read("a/NEW 1")], ["1", "2"]);
    expect![[r"
        Created File a/NEW 1 ->1
        Changed File a/a 2>14
        Created File a/new ->1
        Changed File c 1>20
    "]]
    .assert_eq(&told(&vault));
}

#[test]
fn many_new_files_in_one_folder_cost_no_look_at_all_the_others() {
    let world = world();
    for n in 0..2_000 {
        put(&world.inside(&format!("b/note {n}")), "");
    }
    let (vault, listener) = (world.vault.imagined(), Listener::default());
    for n in 0..20_000 {
        vault.create(&at(&format!("b/new {n}")), b"x", &listener).unwrap();
    }
    assert!(vault.create(&at("b/NOTE 7"), b"x", &listener).is_err(), "twins are still seen");
    assert_eq!(vault.foreseen(&listener).unwrap().len(), 20_000);
}
