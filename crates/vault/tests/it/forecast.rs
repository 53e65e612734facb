//! A forecast equals the later changes, and forecasting changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::{ChangeRecorder, HostileVault, at, put};
use envelope::{EntryKind, Fault, FileState, Hash, VaultPath};
use expect_test::expect;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop_oneof, proptest};
use vault::{
    ChangeStep, FileContent, ListStart, ListingQuery, PathState, PreparedSteps, TreeChange, TreeEffect,
    Vault, WrittenFile,
};

/// Every path with its content, `None` for a folder; includes the trash and other hidden folders.
type ForecastTree = BTreeMap<String, Option<Vec<u8>>>;

fn on_disk(world: &HostileVault) -> ForecastTree {
    fn walk(root: &Path, dir: &Path, tree: &mut ForecastTree) {
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
    let mut tree = ForecastTree::new();
    walk(&root, &root, &mut tree);
    tree
}

/// The tree as the vault lists and reads it, without the trash.
fn as_listed(vault: &Vault) -> ForecastTree {
    let recorder = ChangeRecorder::default();
    let query = ListingQuery {
        folder: None,
        recursive: true,
        extensions: Vec::new(),
        start: ListStart::Offset(0),
        limit: 10_000,
    };
    let page = vault.list(&query, &recorder).unwrap();
    let content = |path: &VaultPath| vault.load(path, &recorder).unwrap().bytes;
    page.entries
        .iter()
        .map(|entry| (entry.path.to_string(), (entry.kind == EntryKind::File).then(|| content(&entry.path))))
        .collect()
}

/// Returns the tree after exactly the forecast changes.
fn made(vault: &Vault, before: &ForecastTree, foreseen: &[TreeChange]) -> ForecastTree {
    let recorder = ChangeRecorder::default();
    let gone = |path: &str| {
        foreseen.iter().any(|one| {
            matches!(one.effect, TreeEffect::Trashed | TreeEffect::Removed) && one.path.as_str() == path
        })
    };
    let moved_to = |path: &str| {
        let moved = |one: &&TreeChange| {
            one.effect == TreeEffect::Moved && one.from.as_ref().unwrap().as_str() == path
        };
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
    let mut tree = ForecastTree::new();
    for (path, content) in before {
        if let Some(now) = place(path, &gone, &moved_to) {
            assert_eq!(tree.insert(now, content.clone()), None, "{path} meets another: {foreseen:#?}");
        }
    }
    for one in foreseen {
        if let Some(was) = vault.content_before(one, &recorder).unwrap() {
            let from = one.from.as_ref().unwrap_or(&one.path);
            assert_eq!(Some(Some(was)), before.get(from.as_str()).cloned(), "{one:?}");
        }
        if let Some(state) = one.after {
            let after = vault.content_after(one, &recorder).unwrap().unwrap();
            assert_eq!(state.hash, Hash::of(&after));
            tree.insert(one.path.to_string(), Some(after));
        } else if one.effect == TreeEffect::Created {
            tree.insert(one.path.to_string(), None);
        }
    }
    tree
}

/// A change that a tool might make; the expected state is read when its turn comes.
#[derive(Debug, Clone)]
enum WishedStep {
    MakeFolder(String),
    Create(String, u8),
    /// Writes the content that is on disk, if the last field is set.
    Replace(String, u8, bool),
    Remove(String),
    RemoveFolder(String),
    Move(String, String, EntryKind),
    Trash(String, EntryKind),
}

fn wish() -> impl Strategy<Value = WishedStep> {
    let name = || prop_oneof![Just("a"), Just("A"), Just("b"), Just("c"), Just("É"), Just("e\u{301}")];
    let path = move || proptest::collection::vec(name(), 1..4).prop_map(|names| names.join("/"));
    let kind = || prop_oneof![Just(EntryKind::File), Just(EntryKind::Folder)];
    prop_oneof![
        path().prop_map(WishedStep::MakeFolder),
        (path(), 0..3_u8).prop_map(|(path, byte)| WishedStep::Create(path, byte)),
        (path(), 0..3_u8, proptest::bool::ANY)
            .prop_map(|(path, byte, back)| WishedStep::Replace(path, byte, back)),
        path().prop_map(WishedStep::Remove),
        path().prop_map(WishedStep::RemoveFolder),
        (path(), path(), kind()).prop_map(|(from, to, kind)| WishedStep::Move(from, to, kind)),
        (path(), path(), kind()).prop_map(|(from, to, kind)| WishedStep::Move(from, to, kind)),
        (path(), kind()).prop_map(|(path, kind)| WishedStep::Trash(path, kind)),
    ]
}

/// Returns the steps of a change, as a tool would prepare them.
fn steps(vault: &Vault, wish: &WishedStep, start: &ForecastTree, serial: usize) -> Vec<ChangeStep> {
    let recorder = ChangeRecorder::default();
    let nothing = FileState { hash: Hash::of(b"something else"), bytes: 0, mode: 0o644 };
    let state = |path: &str| match vault.path_state(&at(path), &recorder) {
        Ok(PathState::File { state, .. }) => state,
        Ok(PathState::Missing | PathState::Folder | PathState::Other) | Err(_) => nothing,
    };
    vec![match wish {
        WishedStep::MakeFolder(path) => ChangeStep::create_folder(at(path)),
        WishedStep::Create(path, byte) => {
            ChangeStep::CreateFile { path: at(path), content: FileContent::of([*byte]), mode: None }
        }
        WishedStep::Replace(path, byte, back) => {
            let original = start.get(path).cloned().flatten().filter(|_| *back);
            let content = FileContent::of(original.unwrap_or_else(|| vec![*byte, 9]));
            ChangeStep::ReplaceFile { path: at(path), before: state(path), content, mode: None }
        }
        WishedStep::Remove(path) => ChangeStep::RemoveFile { path: at(path), before: state(path) },
        WishedStep::RemoveFolder(path) => ChangeStep::RemoveFolder { path: at(path), mode: None },
        WishedStep::Move(from, to, kind) => ChangeStep::move_entry(at(from), at(to), *kind),
        WishedStep::Trash(path, kind) => {
            let trash = ChangeStep::create_folder(at(".trash"));
            let to = at(&format!(".trash/{serial}"));
            return vec![trash, ChangeStep::move_entry(at(path), to, *kind)];
        }
    }]
}

fn world() -> HostileVault {
    let world = HostileVault::new();
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

/// Set the number of cases with `PROPTEST_CASES`; each writes to a real disk.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    #[test]
    fn the_same_steps_give_on_disk_what_was_foreseen(wishes in proptest::collection::vec(wish(), 1..30)) {
        let (real, dreamt) = (world(), world());
        let imagined = dreamt.vault.with_overlay();
        let start = on_disk(&real);
        let recorder = ChangeRecorder::default();
        for (serial, wish) in wishes.iter().enumerate() {
            let steps = PreparedSteps { steps: steps(&real.vault, wish, &start, serial) };
            let done = real.vault.apply(&steps, &recorder);
            let told = imagined.apply(&steps, &recorder);
            assert_eq!(told.is_ok(), done.is_ok(), "{wish:?}: {told:?} {done:?}");
            let written = |result: Result<Option<WrittenFile>, Fault>| {
                result.ok().flatten().map(|written| (written.path, written.etag, written.created))
            };
            assert_eq!(written(told), written(done), "{wish:?}");
        }
        let now = on_disk(&real);
        let foreseen = imagined.overlay_changes(&recorder).unwrap();
        assert_eq!(on_disk(&dreamt), start, "nothing was done");
        assert_eq!(as_listed(&imagined), as_listed(&real.vault));
        let visible = |tree: ForecastTree| -> ForecastTree { tree.into_iter().filter(|(path, _)| !path.starts_with(".trash")).collect() };
        assert_eq!(visible(made(&imagined, &start, &foreseen)), visible(now.clone()), "{foreseen:#?}");
        assert_eq!(foreseen.is_empty(), visible(now) == start, "{foreseen:#?}");
        dreamt.assert_outside_untouched();
    }
}

/// One line per change.
fn told(vault: &Vault) -> String {
    let line = |one: &TreeChange| {
        let from = one.from.as_ref().map_or_else(String::new, |from| format!(" from {from}"));
        let bytes =
            |state: Option<FileState>| state.map_or_else(|| "-".to_owned(), |state| state.bytes.to_string());
        format!(
            "{:?} {:?} {}{from} {}>{}\n",
            one.effect,
            one.kind,
            one.path,
            bytes(one.before),
            bytes(one.after)
        )
    };
    vault.overlay_changes(&ChangeRecorder::default()).unwrap().iter().map(line).collect()
}

#[track_caller]
fn imagine(vault: &Vault, step: ChangeStep) {
    vault.apply(&PreparedSteps { steps: vec![step] }, &ChangeRecorder::default()).unwrap();
}

fn state(vault: &Vault, path: &str) -> FileState {
    match vault.path_state(&at(path), &ChangeRecorder::default()).unwrap() {
        PathState::File { state, .. } => state,
        seen @ (PathState::Missing | PathState::Folder | PathState::Other) => panic!("{path}: {seen:?}"),
    }
}

fn replace(vault: &Vault, path: &str, text: &str) {
    let before = state(vault, path);
    let content = FileContent::of(text.as_bytes());
    imagine(vault, ChangeStep::ReplaceFile { path: at(path), before, content, mode: None });
}

fn moved(from: &str, to: &str, kind: EntryKind) -> ChangeStep {
    ChangeStep::move_entry(at(from), at(to), kind)
}

#[test]
fn what_differs_is_told_and_nothing_else() {
    let world = world();
    let vault = world.vault.with_overlay();
    replace(&vault, "c", "changed");
    replace(&vault, "c", "c");
    imagine(&vault, moved("a/a", "x", EntryKind::File));
    imagine(&vault, moved("x", "a/a", EntryKind::File));
    let before = state(&vault, "b/a");
    imagine(&vault, ChangeStep::RemoveFile { path: at("b/a"), before });
    imagine(
        &vault,
        ChangeStep::CreateFile { path: at("Notes/n.md"), content: FileContent::of(*b"n"), mode: None },
    );
    imagine(&vault, moved("Notes/n.md", "Notes/m.md", EntryKind::File));
    assert_eq!(told(&vault), "Created File Notes/m.md ->1\nRemoved File b/a 2>-\n");
}

#[test]
fn what_is_in_a_moved_folder_moves_with_it_and_is_told_only_if_it_changes_too() {
    let world = world();
    let vault = world.vault.with_overlay();
    imagine(&vault, moved("a", "z", EntryKind::Folder));
    replace(&vault, "z/a", "changed");
    imagine(&vault, moved("z/b/c", "z/out", EntryKind::File));
    imagine(&vault, ChangeStep::create_folder(at(".trash")));
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
    let vault = world.vault.with_overlay();
    for path in ["a/b/c", "a/a", "a/É"] {
        let before = state(&vault, path);
        imagine(&vault, ChangeStep::RemoveFile { path: at(path), before });
    }
    for path in ["a/b", "a"] {
        imagine(&vault, ChangeStep::RemoveFolder { path: at(path), mode: None });
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
    imagine(&vault, ChangeStep::create_folder(at("a")));
    assert_eq!(told(&vault), removed.replace("Removed Folder a ->-\n", ""), "the folder is there again");
}

#[test]
fn links_lead_to_what_was_imagined_behind_them() {
    let world = world();
    world.link("a", "link");
    world.link("c", "to-c");
    let (vault, recorder) = (world.vault.with_overlay(), ChangeRecorder::default());
    replace(&vault, "link/a", "through a link");
    replace(&vault, "to-c", "seen from both sides");
    let read = |path: &str| String::from_utf8(vault.load(&at(path), &recorder).unwrap().bytes).unwrap();
    assert_eq!([read("a/a"), read("link/a")], ["through a link"; 2]);
    assert_eq!([read("c"), read("to-c")], ["seen from both sides"; 2]);
    crate::support::create_unique(&vault, &at("link/new"), b"1", &recorder).unwrap();
    crate::support::create_unique(&vault, &at("link/NEW"), b"2", &recorder).unwrap();
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
    let (vault, recorder) = (world.vault.with_overlay(), ChangeRecorder::default());
    for n in 0..20_000 {
        vault.create(&at(&format!("b/new {n}")), b"x", &recorder).unwrap();
    }
    assert!(vault.create(&at("b/NOTE 7"), b"x", &recorder).is_err(), "twins are still seen");
    assert_eq!(vault.overlay_changes(&recorder).unwrap().len(), 20_000);
}
