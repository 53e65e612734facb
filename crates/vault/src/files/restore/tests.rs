//! Each kind of change put back, and everything that can stand in the way.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use envelope::{CallId, Change, DataRef, EntryKind, Fault, Hash};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use toolkit::{CancelToken, ObjectStore, Reconciled, Registry, ToolCx};

use super::desk::{Desk, at, inverse};
use crate::sandbox::{Step, Vault};

/// Makes steps one by one, each from what is there then.
fn made(desk: &Desk, steps: &[&dyn Fn(&Desk) -> Step]) -> Vec<Change> {
    steps.iter().flat_map(|step| desk.make(vec![step(desk)])).collect()
}

/// What would be done and what stands in the way, one line each.
fn told(desk: &Desk, changes: &[Change], keep: &[&str], overwrite: &[&str]) -> String {
    let found = desk.foresee(changes, keep, overwrite);
    let mut lines: Vec<String> = found.steps.iter().map(|step| word(&step.change())).collect();
    lines.extend(found.conflicts.iter().map(|conflict| {
        let can = if conflict.can_overwrite { "" } else { " (cannot be overwritten)" };
        format!("conflict: {}{can}", conflict.words())
    }));
    lines.extend(found.kept.iter().map(|path| format!("kept {path}")));
    lines.extend(found.missing.iter().map(|path| format!("missing {path}")));
    lines.extend(found.left.iter().map(|path| format!("left {path}/")));
    lines.extend((found.already_so > 0).then(|| format!("{} already so", found.already_so)));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn word(change: &Change) -> String {
    match change {
        Change::FolderCreated { path, .. } => format!("make {path}/"),
        Change::FolderRemoved { path, .. } => format!("remove {path}/"),
        Change::FileCreated { path, after } => format!("create {path} ({} bytes)", after.bytes),
        Change::FileRemoved { path, before } => format!("remove {path} ({} bytes)", before.bytes),
        Change::FileReplaced { path, before, after } => {
            format!("replace {path} ({} to {} bytes)", before.bytes, after.bytes)
        }
        Change::Moved { from, to, kind: EntryKind::File, .. } => format!("move {from} to {to}"),
        Change::Moved { from, to, kind: EntryKind::Folder, .. } => format!("move {from}/ to {to}/"),
    }
}

#[track_caller]
fn check(desk: &Desk, changes: &[Change], expected: &Expect) {
    expected.assert_eq(&told(desk, changes, &[], &[]));
}

#[test]
fn each_kind_of_change_is_put_back_and_made_again() {
    let desk = Desk::with(&[("old.md", "old"), ("gone.md", "gone"), ("from/x.md", "x"), ("empty/", "")]);
    desk.chmod("gone.md", 0o600);
    let before = desk.shown();
    let changes = made(
        &desk,
        &[
            &|desk| desk.replace("old.md", "newer"),
            &|desk| desk.remove("gone.md"),
            &|desk| desk.create("new.md", "new"),
            &|desk| desk.rename("from", "to"),
            &|_| Step::RemoveFolder { path: at("empty"), mode: None },
            &|_| Step::making_folder(at("made")),
        ],
    );
    let after = desk.shown();
    let back = inverse(&changes);
    check(
        &desk,
        &back,
        &expect![[r#"
        remove new.md (3 bytes)
        replace old.md (5 to 3 bytes)
        remove made/
        make empty/
        move to/ to from/
        create gone.md (4 bytes)
    "#]],
    );
    let undone = desk.restore(&back);
    assert_eq!(desk.shown(), before);
    check(
        &desk,
        &back,
        &expect![[r#"
        6 already so
    "#]],
    );
    desk.restore(&inverse(&undone));
    assert_eq!(desk.shown(), after);
}

#[test]
fn a_private_folder_comes_back_private_and_goes_again() {
    let desk = Desk::with(&[("F/in/", ""), ("F/a.md", "a")]);
    for (path, mode) in [("F", 0o700), ("F/in", 0o750)] {
        desk.chmod(path, mode);
    }
    let gone =
        |path: &str| Step::RemoveFolder { path: at(path), mode: desk.vault.folder_mode(&at(path)).unwrap() };
    let changes = desk.make(vec![desk.remove("F/a.md"), gone("F/in"), gone("F")]);
    let undone = desk.restore(&inverse(&changes));
    let mode = |path: &str| desk.inside(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("F"), mode("F/in")], [0o700, 0o750]);
    let redone = desk.restore(&inverse(&undone));
    assert_eq!(desk.shown(), "");
    desk.restore(&inverse(&redone));
    assert_eq!([mode("F"), mode("F/in")], [0o700, 0o750]);
    // Made by a run and used by a person since: what it was then is what a redo makes.
    let made = desk.make(vec![Step::making_folder(at("G"))]);
    desk.chmod("G", 0o700);
    let undone = desk.restore(&inverse(&made));
    desk.restore(&inverse(&undone));
    assert_eq!(mode("G"), 0o700);
}

#[test]
fn a_note_that_was_created_edited_moved_and_deleted_leaves_nothing() {
    let desk = Desk::with(&[("keep.md", "k")]);
    let before = desk.shown();
    let mut changes = made(
        &desk,
        &[
            &|_| Step::making_folder(at("N")),
            &|desk| desk.create("N/a.md", "1"),
            &|desk| desk.replace("N/a.md", "22"),
            &|desk| desk.rename("N/a.md", "N/b.md"),
            &|desk| desk.replace("N/b.md", "333"),
        ],
    );
    changes.extend(desk.make(vec![Step::making_folder(at(".trash")), desk.rename("N/b.md", ".trash/b.md")]));
    let after = desk.shown();
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        move .trash/b.md to N/b.md
        remove .trash/
        move N/b.md to N/a.md
        remove N/a.md (3 bytes)
        remove N/
    "#]],
    );
    let undone = desk.restore(&inverse(&changes));
    assert_eq!(desk.shown(), before);
    desk.restore(&inverse(&undone));
    assert_eq!(desk.shown(), after);
}

#[test]
fn an_edited_note_is_a_conflict_until_somebody_decides() {
    let desk = Desk::with(&[("a.md", "1"), ("b.md", "1")]);
    let changes = made(&desk, &[&|desk| desk.replace("a.md", "22"), &|desk| desk.replace("b.md", "22")]);
    desk.put("a.md", "mine!");
    let back = inverse(&changes);
    check(
        &desk,
        &back,
        &expect![[r#"
        replace b.md (2 to 1 bytes)
        replace a.md (5 to 1 bytes)
        conflict: `a.md` was edited since
    "#]],
    );
    expect![[r#"
        replace b.md (2 to 1 bytes)
        kept a.md
    "#]]
    .assert_eq(&told(&desk, &back, &["a.md"], &[]));
    let found = desk.foresee(&back, &[], &["a.md"]);
    assert_eq!(found.conflicts, []);
    let undone = desk.make(found.steps);
    expect![[r#"
        a.md 644 1
        b.md 644 1
    "#]]
    .assert_eq(&desk.shown());
    // The redo brings back the edit, not what the run had written.
    desk.restore(&inverse(&undone));
    expect![[r#"
        a.md 644 mine!
        b.md 644 22
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn a_note_that_was_moved_and_then_edited_moves_back_with_the_edit() {
    let desk = Desk::with(&[("a.md", "1")]);
    let changes = made(&desk, &[&|desk| desk.rename("a.md", "b.md")]);
    desk.put("b.md", "mine");
    desk.restore(&inverse(&changes));
    expect![[r#"
        a.md 644 mine
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn a_note_that_the_run_changed_and_moved_takes_an_edit_that_is_kept_back_to_its_name() {
    let desk = Desk::with(&[("a.md", "1"), ("links.md", "[[a]]")]);
    let changes = made(
        &desk,
        &[
            &|_| Step::making_folder(at("F")),
            &|desk| desk.rename("a.md", "F/z.md"),
            &|desk| desk.replace("F/z.md", "22"),
            &|desk| desk.replace("links.md", "[[z]]"),
        ],
    );
    desk.put("F/z.md", "mine");
    let back = inverse(&changes);
    let found = desk.foresee(&back, &["F/z.md"], &[]);
    expect![[r#"
        replace links.md (5 to 5 bytes)
        move F/z.md to a.md
        remove F/
        kept F/z.md
    "#]]
    .assert_eq(&told(&desk, &back, &["F/z.md"], &[]));
    assert_eq!(found.restored.iter().find(|file| file.path == "a.md").unwrap().after.unwrap().bytes, 4);
    let undone = desk.make(found.steps);
    expect![[r#"
        a.md 644 mine
        links.md 644 [[a]]
    "#]]
    .assert_eq(&desk.shown());
    desk.restore(&inverse(&undone));
    expect![[r#"
        F/
        F/z.md 644 mine
        links.md 644 [[z]]
    "#]]
    .assert_eq(&desk.shown());
    // A folder that is kept keeps what is in it, and a name that somebody took stays theirs.
    expect![[r#"
        replace links.md (5 to 5 bytes)
        kept F/z.md
        kept F
    "#]]
    .assert_eq(&told(&desk, &back, &["F"], &[]));
    desk.put("a.md", "another");
    expect![[r#"
        replace links.md (5 to 5 bytes)
        kept F/z.md
        kept a.md
        left F/
    "#]]
    .assert_eq(&told(&desk, &back, &["F/z.md", "a.md"], &[]));
    let found = desk.foresee(&back, &["F/z.md", "a.md"], &[]);
    assert_eq!(found.names_kept, [("F/z.md".to_owned(), "a.md".to_owned())]);
}

#[test]
fn what_is_kept_under_another_spelling_of_a_name_is_decided() {
    let desk = Desk::with(&[("note.md", "1"), ("gone.md", "2")]);
    let mut changes = desk.make(desk.trash("note.md"));
    changes.extend(desk.make(vec![desk.remove("gone.md")]));
    desk.put("Note.md", "mine");
    desk.put("Gone.md", "mine");
    let back = inverse(&changes);
    let found = desk.foresee(&back, &[], &[]);
    let keep: Vec<&str> = found.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert_eq!(keep, ["Gone.md", "Note.md"]);
    expect![[r#"
        kept gone.md
        kept .trash/note.md
        left .trash/
    "#]]
    .assert_eq(&told(&desk, &back, &keep, &[]));
}

#[test]
fn what_was_created_and_then_edited_is_not_removed_unread() {
    let desk = Desk::with(&[]);
    let changes = made(&desk, &[&|desk| desk.create("a.md", "1"), &|desk| desk.rename("a.md", "b.md")]);
    desk.put("b.md", "mine");
    let back = inverse(&changes);
    check(
        &desk,
        &back,
        &expect![[r#"
        remove b.md (4 bytes)
        conflict: `b.md` was edited since
    "#]],
    );
    // Kept under either of its names, it stays where it is.
    for name in ["a.md", "b.md"] {
        expect![[r#"
            kept b.md
        "#]]
        .assert_eq(&told(&desk, &back, &[name], &[]));
    }
    expect![[r#"
        remove b.md (4 bytes)
    "#]]
    .assert_eq(&told(&desk, &back, &[], &["b.md"]));
}

#[test]
fn a_name_that_was_taken_is_a_conflict() {
    let desk = Desk::with(&[("a.md", "1"), ("gone.md", "g"), ("F/x.md", "x")]);
    let changes = made(
        &desk,
        &[&|desk| desk.rename("a.md", "b.md"), &|desk| desk.remove("gone.md"), &|desk| desk.rename("F", "G")],
    );
    desk.put("a.md", "another");
    desk.put("gone.md", "another");
    desk.put("F/y.md", "another");
    let back = inverse(&changes);
    check(
        &desk,
        &back,
        &expect![[r#"
        replace gone.md (7 to 1 bytes)
        remove a.md (7 bytes)
        move b.md to a.md
        conflict: `F` is something else by now (cannot be overwritten)
        conflict: `gone.md` is something else by now
        conflict: `a.md` is something else by now
    "#]],
    );
    expect![[r#"
        replace gone.md (7 to 1 bytes)
        remove a.md (7 bytes)
        move b.md to a.md
        kept G
    "#]]
    .assert_eq(&told(&desk, &back, &["F"], &["a.md", "gone.md"]));
    expect![[r#"
        kept G
        kept gone.md
        kept b.md
    "#]]
    .assert_eq(&told(&desk, &back, &["G", "a.md", "gone.md"], &[]));
}

#[test]
fn what_is_gone_can_be_written_anew_where_its_content_was_kept() {
    let desk = Desk::with(&[("a.md", "1"), ("m.md", "m")]);
    let changes = made(&desk, &[&|desk| desk.replace("a.md", "22"), &|desk| desk.rename("m.md", "n.md")]);
    for path in ["a.md", "n.md"] {
        std::fs::remove_file(desk.inside(path)).unwrap();
    }
    let back = inverse(&changes);
    check(
        &desk,
        &back,
        &expect![[r#"
        create a.md (1 bytes)
        conflict: `m.md` is not there any more (cannot be overwritten)
        conflict: `a.md` is not there any more
    "#]],
    );
    let found = desk.foresee(&back, &["m.md"], &["a.md"]);
    assert_eq!(found.conflicts, []);
    desk.make(found.steps);
    expect![[r#"
        a.md 644 1
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn a_folder_with_something_new_in_it_stays() {
    let desk = Desk::with(&[]);
    let changes = made(
        &desk,
        &[&|_| Step::making_folder(at("N")), &|_| Step::making_folder(at("N/D")), &|desk| {
            desk.create("N/D/a.md", "1")
        }],
    );
    desk.put("N/mine.md", "mine");
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        remove N/D/a.md (1 bytes)
        remove N/D/
        left N/
    "#]],
    );
    desk.restore(&inverse(&changes));
    expect![[r#"
        N/
        N/mine.md 644 mine
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn a_change_that_is_told_twice_is_made_once() {
    let desk = Desk::with(&[("old.md", "1")]);
    let once = made(
        &desk,
        &[
            &|_| Step::making_folder(at("N")),
            &|desk| desk.create("N/a.md", "1"),
            &|desk| desk.replace("old.md", "22"),
            &|desk| desk.rename("old.md", "N/old.md"),
        ],
    );
    let twice: Vec<Change> = once.iter().chain(&once).cloned().collect();
    desk.restore(&inverse(&twice));
    expect![[r#"
        old.md 644 1
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn a_folder_above_that_somebody_removed_is_made_again() {
    let desk = Desk::with(&[("F/D/a.md", "1")]);
    let changes = desk.make(vec![Step::making_folder(at(".trash")), desk.rename("F/D/a.md", ".trash/a.md")]);
    std::fs::remove_dir_all(desk.inside("F")).unwrap();
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        make F/
        make F/D/
        move .trash/a.md to F/D/a.md
        remove .trash/
    "#]],
    );
}

#[test]
fn a_deleted_note_comes_back_from_the_store_when_the_trash_was_emptied() {
    let desk = Desk::with(&[("F/a.md", "note"), ("F/D/b.md", "b"), ("F/empty/", ""), ("n.md", "1")]);
    desk.chmod("n.md", 0o600);
    let before = desk.shown();
    let mut changes = desk.make(desk.trash("n.md"));
    changes.extend(desk.make(desk.trash("F")));
    desk.empty_trash();
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
            remove .trash/
            make F/
            make F/empty/
            make F/D/
            create F/a.md (4 bytes)
            create F/D/b.md (1 bytes)
            create n.md (1 bytes)
        "#]],
    );
    desk.restore(&inverse(&changes));
    assert_eq!(desk.shown(), before);
}

#[test]
fn what_has_the_name_of_a_deleted_note_in_the_trash_by_now_is_not_brought_back_for_it() {
    let desk = Desk::with(&[("a.md", "mine"), ("F/x.md", "x")]);
    let mut changes = desk.make(desk.trash("a.md"));
    changes.extend(desk.make(desk.trash("F")));
    desk.empty_trash();
    desk.put(".trash/a.md", "another");
    desk.put(".trash/F/x.md", "another");
    let back = inverse(&changes);
    check(
        &desk,
        &back,
        &expect![[r#"
            make F/
            create F/x.md (1 bytes)
            create a.md (4 bytes)
            conflict: `.trash/F` is not what was deleted: the trash was emptied, and something else of that name is in it now
            conflict: `.trash/a.md` is not what was deleted: the trash was emptied, and something else of that name is in it now
            left .trash/
        "#]],
    );
    // Who says that they are to be restored all the same gets what was deleted, and loses nothing.
    let found = desk.foresee(&back, &[], &["a.md", "F"]);
    assert_eq!(found.conflicts, []);
    desk.make(found.steps);
    expect![[r#"
        .trash/
        .trash/F/
        .trash/F/x.md 644 another
        .trash/a.md 644 another
        F/
        F/x.md 644 x
        a.md 644 mine
    "#]]
    .assert_eq(&desk.shown());
    expect![[r#"
        left .trash/
    "#]]
    .assert_eq(&told(&desk, &back, &["a.md", "F"], &[]));
}

#[test]
fn what_is_missing_from_a_folder_in_the_trash_is_made_anew_and_the_rest_moves() {
    let desk = Desk::with(&[("F/a.md", "a"), ("F/D/b.md", "b")]);
    let before = desk.shown();
    let changes = desk.make(desk.trash("F"));
    std::fs::remove_dir_all(desk.inside(".trash/F/D")).unwrap();
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        move .trash/F/ to F/
        remove .trash/
        make F/D/
        create F/D/b.md (1 bytes)
    "#]],
    );
    desk.restore(&inverse(&changes));
    assert_eq!(desk.shown(), before);
}

#[test]
fn a_note_that_took_the_place_of_a_deleted_one_is_not_taken_for_it() {
    let desk = Desk::with(&[("a.md", "mine")]);
    let changes = desk.make(desk.trash("a.md"));
    desk.empty_trash();
    desk.put("a.md", "another");
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        replace a.md (7 to 4 bytes)
        remove .trash/
        conflict: `a.md` is something else by now
    "#]],
    );
}

#[test]
fn a_deleted_note_of_which_nothing_was_stored_is_gone_with_the_trash() {
    let desk = Desk::with(&[("a.md", "mine"), ("F/x.md", "x")]);
    let trash = Step::making_folder(at(".trash"));
    let mut changes =
        desk.make(vec![trash, desk.rename("F", ".trash/F"), desk.rename("a.md", ".trash/a.md")]);
    for change in &mut changes {
        if let Change::Moved { kept, .. } = change {
            kept.clear();
        }
    }
    desk.empty_trash();
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        remove .trash/
        conflict: `a.md` is not there any more (cannot be overwritten)
        conflict: `.trash/F` is not there any more (cannot be overwritten)
    "#]],
    );
}

#[test]
fn what_is_changed_in_the_trash_at_the_last_moment_goes_back_there() {
    let desk = Desk::with(&[("a.md", "mine")]);
    let changes = desk.make(desk.trash("a.md"));
    let steps = desk.foresee(&inverse(&changes), &[], &[]).steps;
    desk.put(".trash/a.md", "another");
    let prepared = crate::sandbox::Prepared { steps };
    let fault = desk.vault.apply(&prepared, &desk.keeper).unwrap_err();
    assert_eq!(fault.message, "`.trash/a.md` has changed: it is not what was read");
    assert_eq!(desk.keeper.heard.take(), []);
    expect![[r#"
        .trash/
        .trash/a.md 644 another
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn another_spelling_of_the_name_is_in_the_way_unless_it_is_the_note_itself() {
    let desk = Desk::with(&[("Note.md", "1"), ("gone.md", "g")]);
    let changes = made(&desk, &[&|desk| desk.rename("Note.md", "note.md"), &|desk| desk.remove("gone.md")]);
    desk.put("GONE.md", "another");
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        move note.md to Note.md
        conflict: `GONE.md` is something else by now (cannot be overwritten)
    "#]],
    );
}

#[test]
fn the_mode_that_a_person_gave_a_note_since_stays() {
    let desk = Desk::with(&[("a.md", "1")]);
    let changes = made(&desk, &[&|desk| desk.replace("a.md", "22")]);
    desk.chmod("a.md", 0o600);
    desk.restore(&inverse(&changes));
    expect![[r#"
        a.md 600 1
    "#]]
    .assert_eq(&desk.shown());
}

#[test]
fn a_link_in_the_place_of_a_note_is_not_followed() {
    let desk = Desk::with(&[("a.md", "1"), ("other.md", "22")]);
    let changes = made(&desk, &[&|desk| desk.replace("a.md", "22")]);
    std::fs::remove_file(desk.inside("a.md")).unwrap();
    std::os::unix::fs::symlink("other.md", desk.inside("a.md")).unwrap();
    check(
        &desk,
        &inverse(&changes),
        &expect![[r#"
        conflict: `a.md` is something else by now (cannot be overwritten)
    "#]],
    );
}

#[test]
fn protected_places_are_refused_and_the_trash_only_for_moves() {
    let folder = |path: &str| Change::FolderRemoved { path: path.to_owned(), mode: None };
    let moved = |from: &str, to: &str| Change::Moved {
        from: from.to_owned(),
        to: to.to_owned(),
        kind: EntryKind::File,
        state: None,
        kept: Vec::new(),
    };
    let refused = |change: Change| super::check_paths(&[change]).err().map(|fault| fault.failure);
    for bad in [
        folder(".obsidian"),
        folder(".trash/x"),
        folder("a/.git"),
        moved("a.md", ".obsidian/a.md"),
        moved(".trash/x/y.md", "y.md"),
        moved(".trash/.git", "git"),
        moved("a/.trash/x", "x"),
    ] {
        assert_eq!(refused(bad.clone()), Some(envelope::Failure::SandboxViolation), "{bad:?}");
    }
    assert_eq!(refused(moved("../a.md", "a.md")), Some(envelope::Failure::InvalidArguments));
    assert_eq!(refused(moved(".trash/a.md", "a.md")), None);
    assert_eq!(refused(folder(".trash")), None);
}

/// A store that has what was kept.
#[derive(Default)]
struct Store(std::sync::Mutex<std::collections::HashMap<Hash, Vec<u8>>>);

impl ObjectStore for Store {
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        let kept = DataRef { hash: Hash::of(&bytes), bytes: bytes.len() as u64 };
        self.0.lock().unwrap().insert(kept.hash, bytes);
        Ok(kept)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        into.write_all(&self.0.lock().unwrap()[&wanted.hash]).unwrap();
        Ok(())
    }
}

/// One call of the tool: its data, or its failure with the details.
async fn call(vault: &Arc<Vault>, store: &Arc<Store>, args: Value) -> Value {
    let mut registry = Registry::new();
    crate::register_restore(&mut registry, Some(vault.clone())).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    let id = CallId::parse("call").unwrap();
    let cx = ToolCx::with_store(id, CancelToken::new(), None, Some(store.clone()));
    let args = tool.decode(&args).unwrap();
    tool.validate(&cx, &args).await.unwrap();
    let intent = tool.intend(&cx, &args).await;
    match tool.run(&cx, args).await {
        Ok(raw) => {
            assert_eq!(cx.take_seen().changes, intent, "what was intended was done");
            let mapped = raw.map(toolkit::families::Projection::new(500, None)).unwrap();
            json!({ "data": mapped.data, "says": mapped.canonical.summary_text })
        }
        Err(fault) => json!({ "failure": fault.failure, "says": fault.message, "details": fault.details }),
    }
}

#[tokio::test]
async fn the_tool_refuses_all_when_one_file_is_in_the_way() {
    let desk = Desk::with(&[("a.md", "1"), ("b.md", "1")]);
    let changes = made(&desk, &[&|desk| desk.replace("a.md", "22"), &|desk| desk.replace("b.md", "22")]);
    desk.put("a.md", "mine!");
    let back = serde_json::to_value(inverse(&changes)).unwrap();
    let (vault, store) = (Arc::new(Vault::open(&desk.inside("")).unwrap()), Arc::new(Store::default()));
    store.keep(&mut "1".as_bytes()).unwrap();
    let refused = call(&vault, &store, json!({ "changes": back })).await;
    expect![[r#"{"failure":"conflict","says":"nothing was restored: `a.md` was edited since","details":{"conflicts":[{"path":"a.md","why":"edited","canOverwrite":true,"expectedEtag":"93aed7df61cdeed8cb721d46dbbf3013","currentEtag":"6df314c3dc514de89a4c923cd611ac36"}]}}"#]].assert_eq(&refused.to_string());
    assert_eq!(std::fs::read(desk.inside("b.md")).unwrap(), b"22");
    let dry = call(&vault, &store, json!({ "changes": back, "dryRun": true })).await;
    expect![[r#"{"data":{"restored":2,"alreadySo":0,"kept":[],"left":[],"conflicts":[{"path":"a.md","why":"edited","canOverwrite":true,"expectedEtag":"93aed7df61cdeed8cb721d46dbbf3013","currentEtag":"6df314c3dc514de89a4c923cd611ac36"}],"dryRun":true},"says":"Would make 2 changes, 1 in the way"}"#]].assert_eq(&dry.to_string());
    let done = call(&vault, &store, json!({ "changes": back, "keep": ["a.md"], "note": "undo" })).await;
    expect![[r#"{"data":{"restored":1,"alreadySo":0,"kept":["a.md"],"left":[],"conflicts":[]},"says":"Made 1 change, 1 kept"}"#]].assert_eq(&done.to_string());
    let again = call(&vault, &store, json!({ "changes": back, "overwrite": ["a.md"] })).await;
    expect![[r#"{"data":{"restored":1,"alreadySo":1,"kept":[],"left":[],"conflicts":[]},"says":"Made 1 change, 1 already so"}"#]].assert_eq(&again.to_string());
    expect![[r#"
        a.md 644 1
        b.md 644 1
    "#]]
    .assert_eq(&desk.shown());
    assert_eq!(store.0.lock().unwrap()[&Hash::of(b"mine!")], b"mine!", "the edit was kept");
}

#[tokio::test]
async fn what_an_interrupted_call_made_is_found_and_stays_in_its_record() {
    let desk = Desk::with(&[("a.md", "1"), ("b.md", "1"), ("c.md", "1")]);
    let edit: [&dyn Fn(&Desk) -> Step; 3] =
        [&|desk| desk.replace("a.md", "22"), &|desk| desk.replace("b.md", "22"), &|desk| {
            desk.rename("c.md", "d.md")
        }];
    let changes = made(&desk, &edit);
    let back = inverse(&changes);
    let steps = desk.foresee(&back, &[], &[]).steps;
    let intent: Vec<Change> = steps.iter().map(Step::change).collect();
    let mut registry = Registry::new();
    let vault = Arc::new(Vault::open(&desk.inside("")).unwrap());
    crate::register_restore(&mut registry, Some(vault)).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    let args = tool.decode(&json!({ "changes": back })).unwrap();
    for (done, step) in steps.into_iter().enumerate() {
        let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
        match (done, tool.reconcile(&cx, &args, &intent).await) {
            (0, Reconciled::DidNot) | (1.., Reconciled::Unknown { .. }) => {}
            (_, other) => panic!("{done}: {}", matches!(other, Reconciled::Happened(_))),
        }
        assert_eq!(cx.take_seen().changes, intent[..done]);
        desk.make(vec![step]);
    }
    let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
    assert!(matches!(tool.reconcile(&cx, &args, &intent).await, Reconciled::Happened(_)));
    assert_eq!(cx.take_seen().changes, intent);
}

#[test]
fn rules_about_what_is_below_a_folder_see_that_it_moves() {
    let desk = Desk::with(&[("F/x.md", "x"), ("a.md", "a")]);
    let changes = made(&desk, &[&|desk| desk.rename("F", "G"), &|desk| desk.rename("a.md", "b.md")]);
    let mut registry = Registry::new();
    let vault = Arc::new(Vault::open(&desk.inside("")).unwrap());
    crate::register_restore(&mut registry, Some(vault)).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    let args = tool.decode(&json!({ "changes": inverse(&changes) })).unwrap();
    let (file, folder) = (|path| toolkit::Reach::Path(at(path)), |path| toolkit::Reach::Folder(at(path)));
    assert_eq!(tool.paths(&args).writes, [file("b.md"), file("a.md"), folder("G"), folder("F")]);
}

#[test]
fn no_model_is_offered_the_tool() {
    let mut registry = Registry::new();
    crate::register(&mut registry, None).unwrap();
    assert!(registry.get("vault.restore").is_none());
}
