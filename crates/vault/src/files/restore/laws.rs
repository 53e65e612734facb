//! Whatever was done can be taken back and done again, byte for byte.

use envelope::{Change, EntryKind};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::desk::{Desk, Tree, at, inverse};
use crate::sandbox::{Content, Step};

/// Something that is tried; what cannot be done in the tree as it is then is left out.
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

/// The step, if it can be made in this tree.
fn step(desk: &Desk, tree: &Tree, one: &Try, note: &str) -> Option<Vec<Step>> {
    let files: Vec<&str> = of_kind(tree, |what| what);
    let folders: Vec<&str> = of_kind(tree, |what| !what);
    let all: Vec<&str> = files.iter().chain(&folders).copied().collect();
    let pick = |from: &[&str], n: usize| (!from.is_empty()).then(|| from[n % from.len()].to_owned());
    let free = |path: &str| !tree.contains_key(path) && has_parent(tree, path);
    match one {
        Try::Create(path, byte) => free(path).then(|| vec![desk.create(path, &format!("{byte}{note}"))]),
        Try::Replace(n, byte, mode) => pick(&files, *n).map(|path| {
            let mode = mode.then_some(0o600);
            let mut step = desk.replace(&path, &format!("{byte}{note}"));
            if let Step::ReplaceFile { mode: kept, .. } = &mut step {
                *kept = mode;
            }
            vec![step]
        }),
        Try::Remove(n) => pick(&files, *n).map(|path| vec![desk.remove(&path)]),
        Try::Move(n, to) => {
            let from = pick(&all, *n)?;
            let inside = to.starts_with(&format!("{from}/"));
            (free(to) && !inside).then(|| vec![desk.rename(&from, to)])
        }
        Try::Trash(n) => pick(&all, *n).map(|path| desk.trash(&path)),
        Try::MakeFolder(path) => free(path).then(|| vec![Step::making_folder(at(path))]),
        Try::RemoveFolder(n) => {
            let path = pick(&folders, *n)?;
            let empty = !tree.keys().any(|inner| inner.starts_with(&format!("{path}/")));
            empty.then(|| vec![Step::RemoveFolder { path: at(&path), mode: None }])
        }
    }
}

fn of_kind(tree: &Tree, file: impl Fn(bool) -> bool) -> Vec<&str> {
    let visible = tree.iter().filter(|(path, _)| !path.starts_with(".trash"));
    visible.filter(|(_, what)| file(what.is_some())).map(|(path, _)| path.as_str()).collect()
}

fn has_parent(tree: &Tree, path: &str) -> bool {
    path.rsplit_once('/').is_none_or(|(parent, _)| tree.get(parent) == Some(&None))
}

/// Some of the notes are the same as others.
fn start() -> Desk {
    let desk = Desk::with(&[("a/b/", ""), ("a/c", "0"), ("b", "1"), ("c/a", "2"), ("c/b", "2"), ("é", "")]);
    desk.chmod("b", 0o640);
    desk
}

fn make_all(desk: &Desk, tries: &[Try], note: impl Fn(usize) -> String) -> Vec<Change> {
    let mut made = Vec::new();
    for (number, one) in tries.iter().enumerate() {
        if let Some(steps) = step(desk, &desk.tree(), one, &note(number)) {
            made.extend(desk.make(steps));
        }
    }
    made
}

/// Notes that may be the same as others.
fn alike(_number: usize) -> String {
    String::new()
}

/// Notes that are all different. A list that was made in part is found out by contents: where names change
/// hands between equal notes, nobody could tell which is which.
fn different(number: usize) -> String {
    format!(" of {number}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn undo_gives_the_starting_tree_and_redo_the_end(tries in tries()) {
        let desk = start();
        let before = desk.tree();
        let made = make_all(&desk, &tries, alike);
        let after = desk.tree();
        let undone = desk.restore(&inverse(&made));
        assert_eq!(desk.tree(), before, "undo of {made:#?}");
        let redone = desk.restore(&inverse(&undone));
        assert_eq!(desk.tree(), after, "redo of {undone:#?}");
        desk.restore(&inverse(&redone));
        assert_eq!(desk.tree(), before, "undo of the redo {redone:#?}");
    }

    #[test]
    fn undo_gives_the_starting_tree_when_the_trash_was_emptied_and_redo_deletes_again(tries in tries()) {
        let desk = start();
        let before = desk.tree();
        let made = make_all(&desk, &tries, different);
        if desk.inside(".trash").exists() {
            desk.empty_trash();
        }
        let after = desk.tree();
        let undone = desk.restore(&inverse(&made));
        assert_eq!(desk.tree(), before, "undo of {made:#?}");
        desk.restore(&inverse(&undone));
        assert_eq!(desk.tree(), after, "redo of {undone:#?}");
    }

    #[test]
    fn what_was_only_intended_does_no_harm(tries in tries(), last in tries()) {
        let desk = start();
        let before = desk.tree();
        let mut made = make_all(&desk, &tries, alike);
        // One more call is written down and never made.
        if let Some(steps) = step(&desk, &desk.tree(), &last[0], "") {
            made.extend(steps.iter().map(Step::change));
        }
        desk.restore(&inverse(&made));
        assert_eq!(desk.tree(), before, "undo of {made:#?}");
    }

    #[test]
    fn an_undo_that_was_killed_midway_goes_on(tries in tries(), at in any::<usize>()) {
        let desk = start();
        desk.put("c/b", "another 2");
        let before = desk.tree();
        let made = make_all(&desk, &tries, different);
        let after = desk.tree();
        let back = inverse(&made);
        // As `undo` does: what is left to do is looked up first, then written down.
        let wanted = desk.foresee(&back, &[], &[]).changes();
        let steps = desk.foresee(&wanted, &[], &[]).steps;
        // When all was done, a crash is found out by what was intended, and the call is not made again.
        let some = at % steps.len().max(1);
        let mut undone = desk.make(steps[..some].to_vec());
        // The same call again, as after a crash.
        undone.extend(desk.restore(&wanted));
        assert_eq!(desk.tree(), before, "{some} of {wanted:#?}");
        desk.restore(&inverse(&undone));
        assert_eq!(desk.tree(), after, "redo of {undone:#?}");
    }
}

#[test]
fn a_note_that_is_born_in_a_new_folder_is_not_the_one_in_the_old() {
    let desk = Desk::with(&[("c/a", "2")]);
    let before = desk.tree();
    let trash = vec![Step::making_folder(at(".trash")), desk.rename("c", ".trash/c")];
    let mut made = desk.make(trash);
    made.extend(desk.make(vec![Step::making_folder(at("c"))]));
    made.extend(desk.make(vec![desk.create("c/a", "2")]));
    let after = desk.tree();
    let undone = desk.restore(&inverse(&made));
    assert_eq!(desk.tree(), before);
    desk.restore(&inverse(&undone));
    assert_eq!(desk.tree(), after);
}

#[test]
fn a_file_and_a_folder_are_told_apart() {
    let desk = Desk::with(&[("a/x", "1")]);
    let kind = |step: Step| {
        let Step::Move { kind, .. } = step else { panic!("{step:?}") };
        kind
    };
    assert_eq!(kind(desk.rename("a", "b")), EntryKind::Folder);
    assert_eq!(kind(desk.rename("a/x", "b")), EntryKind::File);
    assert!(matches!(desk.create("n", "x"), Step::CreateFile { content: Content::Bytes(_), .. }));
}
