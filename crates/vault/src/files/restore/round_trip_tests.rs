//! Undo and redo restore every byte, whatever was done before.

use envelope::{EntryKind, VaultChange};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::restore_fixture::{RestoreFixture, TreeSnapshot, at, inverse};
use crate::file_layer::{ChangeStep, FileContent};

/// An action to try; skipped if it is not possible in the current tree.
#[derive(Debug, Clone)]
enum Try {
    Create(String, u8),
    Replace(usize, u8, bool),
    Remove(usize),
    Move(usize, String),
    Trash(usize),
    MakeFolder(String),
    RemoveFolder(usize),
}

fn path() -> impl Strategy<Value = String> {
    let name = || prop_oneof![Just("a"), Just("b"), Just("c"), Just("é")];
    (name(), proptest::option::of(name()), proptest::option::of(name()))
        .prop_map(|(a, b, c)| [Some(a), b, c].into_iter().flatten().collect::<Vec<_>>().join("/"))
}

fn tries() -> impl Strategy<Value = Vec<Try>> {
    let byte = || 0u8..4;
    let one = prop_oneof![
        3 => (path(), byte()).prop_map(|(path, byte)| Try::Create(path, byte)),
        3 => (any::<usize>(), byte(), any::<bool>()).prop_map(|(n, byte, mode)| Try::Replace(n, byte, mode)),
        1 => any::<usize>().prop_map(Try::Remove),
        4 => (any::<usize>(), path()).prop_map(|(n, to)| Try::Move(n, to)),
        1 => any::<usize>().prop_map(Try::Trash),
        2 => path().prop_map(Try::MakeFolder),
        1 => any::<usize>().prop_map(Try::RemoveFolder),
    ];
    proptest::collection::vec(one, 1..14)
}

/// Returns the steps of an action if it is possible in this tree.
fn step(fixture: &RestoreFixture, tree: &TreeSnapshot, one: &Try, note: &str) -> Option<Vec<ChangeStep>> {
    let files: Vec<&str> = of_kind(tree, |what| what);
    let folders: Vec<&str> = of_kind(tree, |what| !what);
    let all: Vec<&str> = files.iter().chain(&folders).copied().collect();
    let pick = |from: &[&str], n: usize| (!from.is_empty()).then(|| from[n % from.len()].to_owned());
    let free = |path: &str| !tree.contains_key(path) && has_parent(tree, path);
    match one {
        Try::Create(path, byte) => free(path).then(|| vec![fixture.create(path, &format!("{byte}{note}"))]),
        Try::Replace(n, byte, mode) => pick(&files, *n).map(|path| {
            let mode = mode.then_some(0o600);
            let mut step = fixture.replace(&path, &format!("{byte}{note}"));
            if let ChangeStep::ReplaceFile { mode: kept, .. } = &mut step {
                *kept = mode;
            }
            vec![step]
        }),
        Try::Remove(n) => pick(&files, *n).map(|path| vec![fixture.remove(&path)]),
        Try::Move(n, to) => {
            let from = pick(&all, *n)?;
            let inside = to.starts_with(&format!("{from}/"));
            (free(to) && !inside).then(|| vec![fixture.rename(&from, to)])
        }
        Try::Trash(n) => pick(&all, *n).map(|path| fixture.trash(&path)),
        Try::MakeFolder(path) => free(path).then(|| vec![ChangeStep::create_folder(at(path))]),
        Try::RemoveFolder(n) => {
            let path = pick(&folders, *n)?;
            let empty = !tree.keys().any(|inner| inner.starts_with(&format!("{path}/")));
            empty.then(|| vec![ChangeStep::RemoveFolder { path: at(&path), mode: None }])
        }
    }
}

fn of_kind(tree: &TreeSnapshot, file: impl Fn(bool) -> bool) -> Vec<&str> {
    let visible = tree.iter().filter(|(path, _)| !path.starts_with(".trash"));
    visible.filter(|(_, what)| file(what.is_some())).map(|(path, _)| path.as_str()).collect()
}

fn has_parent(tree: &TreeSnapshot, path: &str) -> bool {
    path.rsplit_once('/').is_none_or(|(parent, _)| tree.get(parent) == Some(&None))
}

/// A vault in which some notes are equal.
fn start() -> RestoreFixture {
    let fixture = RestoreFixture::with(&[
        ("a/b/", ""),
        ("a/c", "0"),
        ("b", "1"),
        ("c/a", "2"),
        ("c/b", "2"),
        ("é", ""),
    ]);
    fixture.chmod("b", 0o640);
    fixture
}

fn make_all(fixture: &RestoreFixture, tries: &[Try], note: impl Fn(usize) -> String) -> Vec<VaultChange> {
    let mut made = Vec::new();
    for (number, one) in tries.iter().enumerate() {
        if let Some(steps) = step(fixture, &fixture.tree(), one, &note(number)) {
            made.extend(fixture.make(steps));
        }
    }
    made
}

/// Suffix for notes that may be equal.
fn alike(_number: usize) -> String {
    String::new()
}

/// Suffix for notes that all differ. A list that was applied in part is recognised by contents: if equal notes
/// swap names, the result is ambiguous.
fn different(number: usize) -> String {
    format!(" of {number}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn undo_gives_the_starting_tree_and_redo_the_end(tries in tries()) {
        let fixture = start();
        let before = fixture.tree();
        let made = make_all(&fixture, &tries, alike);
        let after = fixture.tree();
        let undone = fixture.restore(&inverse(&made));
        assert_eq!(fixture.tree(), before, "undo of {made:#?}");
        let redone = fixture.restore(&inverse(&undone));
        assert_eq!(fixture.tree(), after, "redo of {undone:#?}");
        fixture.restore(&inverse(&redone));
        assert_eq!(fixture.tree(), before, "undo of the redo {redone:#?}");
    }

    #[test]
    fn undo_gives_the_starting_tree_when_the_trash_was_emptied_and_redo_deletes_again(tries in tries()) {
        let fixture = start();
        let before = fixture.tree();
        let made = make_all(&fixture, &tries, different);
        if fixture.inside(".trash").exists() {
            fixture.empty_trash();
        }
        let after = fixture.tree();
        let undone = fixture.restore(&inverse(&made));
        assert_eq!(fixture.tree(), before, "undo of {made:#?}");
        fixture.restore(&inverse(&undone));
        assert_eq!(fixture.tree(), after, "redo of {undone:#?}");
    }

    #[test]
    fn what_was_only_intended_does_no_harm(tries in tries(), last in tries()) {
        let fixture = start();
        let before = fixture.tree();
        let mut made = make_all(&fixture, &tries, alike);
        // One more call is recorded and never made.
        if let Some(steps) = step(&fixture, &fixture.tree(), &last[0], "") {
            made.extend(steps.iter().map(ChangeStep::change));
        }
        fixture.restore(&inverse(&made));
        assert_eq!(fixture.tree(), before, "undo of {made:#?}");
    }

    #[test]
    fn an_undo_that_was_killed_midway_goes_on(tries in tries(), at in any::<usize>()) {
        let fixture = start();
        fixture.put("c/b", "another 2");
        let before = fixture.tree();
        let made = make_all(&fixture, &tries, different);
        let after = fixture.tree();
        let back = inverse(&made);
        // As `undo` does: the remaining changes are planned first, then recorded.
        let wanted = fixture.foresee(&back, &[], &[]).changes();
        let steps = fixture.foresee(&wanted, &[], &[]).steps;
        // If all steps were applied, reconciliation finds that out by the intent, and the call is not repeated.
        let some = at % steps.len().max(1);
        let mut undone = fixture.make(steps[..some].to_vec());
        // The same call again, as after a crash.
        undone.extend(fixture.restore(&wanted));
        assert_eq!(fixture.tree(), before, "{some} of {wanted:#?}");
        fixture.restore(&inverse(&undone));
        assert_eq!(fixture.tree(), after, "redo of {undone:#?}");
    }
}

#[test]
fn a_note_that_is_born_in_a_new_folder_is_not_the_one_in_the_old() {
    let fixture = RestoreFixture::with(&[("c/a", "2")]);
    let before = fixture.tree();
    let mut made = fixture.make(fixture.trash("c"));
    made.extend(fixture.make(vec![ChangeStep::create_folder(at("c"))]));
    made.extend(fixture.make(vec![fixture.create("c/a", "2")]));
    let after = fixture.tree();
    let undone = fixture.restore(&inverse(&made));
    assert_eq!(fixture.tree(), before);
    fixture.restore(&inverse(&undone));
    assert_eq!(fixture.tree(), after);
}

#[test]
fn a_file_and_a_folder_are_told_apart() {
    let fixture = RestoreFixture::with(&[("a/x", "1")]);
    let kind = |step: ChangeStep| {
        let ChangeStep::Move { kind, .. } = step else { panic!("{step:?}") };
        kind
    };
    assert_eq!(kind(fixture.rename("a", "b")), EntryKind::Folder);
    assert_eq!(kind(fixture.rename("a/x", "b")), EntryKind::File);
    assert!(matches!(
        fixture.create("n", "x"),
        ChangeStep::CreateFile { content: FileContent::Bytes(_), .. }
    ));
}
