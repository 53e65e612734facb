//! Restores each kind of change, and covers every conflict.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use envelope::{CallId, DataRef, EntryKind, Fault, Hash, Timestamp, VaultChange};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use toolkit::{CancelToken, ObjectStore, ReconcileOutcome, Registry, ToolCx};

use super::link_updates::add_link_steps;
use super::restore_fixture::{RestoreFixture, at, inverse};
use super::{RestoreCause, RestoreChoices, plan_link_updates, plan_restore};
use crate::file_layer::{ChangeStep, Vault};

/// Makes steps one by one, each prepared for the current state.
fn made(fixture: &RestoreFixture, steps: &[&dyn Fn(&RestoreFixture) -> ChangeStep]) -> Vec<VaultChange> {
    steps.iter().flat_map(|step| fixture.make(vec![step(fixture)])).collect()
}

/// Returns the planned steps and conflicts, one line each.
fn outline(fixture: &RestoreFixture, changes: &[VaultChange], keep: &[&str], overwrite: &[&str]) -> String {
    let found = fixture.foresee(changes, keep, overwrite);
    let mut lines: Vec<String> = found.steps.iter().map(|step| word(&step.change())).collect();
    lines.extend(found.conflicts.iter().map(|conflict| {
        let can_overwrite = if conflict.can_overwrite { "" } else { " (cannot be overwritten)" };
        format!("conflict: {}{can_overwrite}", conflict.words())
    }));
    lines.extend(found.kept.iter().map(|path| format!("kept {path}")));
    lines.extend(found.missing.iter().map(|path| format!("missing {path}")));
    lines.extend(found.left.iter().map(|path| format!("left {path}/")));
    lines.extend((found.already_so > 0).then(|| format!("{} already so", found.already_so)));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn word(change: &VaultChange) -> String {
    match change {
        VaultChange::FolderCreated { path, .. } => format!("make {path}/"),
        VaultChange::FolderRemoved { path, .. } => format!("remove {path}/"),
        VaultChange::FileCreated { path, after } => format!("create {path} ({} bytes)", after.bytes),
        VaultChange::FileRemoved { path, before } => format!("remove {path} ({} bytes)", before.bytes),
        VaultChange::FileReplaced { path, before, after } => {
            format!("replace {path} ({} to {} bytes)", before.bytes, after.bytes)
        }
        VaultChange::Moved { from, to, kind: EntryKind::File, .. } => format!("move {from} to {to}"),
        VaultChange::Moved { from, to, kind: EntryKind::Folder, .. } => format!("move {from}/ to {to}/"),
    }
}

#[track_caller]
fn check(fixture: &RestoreFixture, changes: &[VaultChange], expected: &Expect) {
    expected.assert_eq(&outline(fixture, changes, &[], &[]));
}

#[test]
fn each_kind_of_change_is_put_back_and_made_again() {
    let fixture =
        RestoreFixture::with(&[("old.md", "old"), ("gone.md", "gone"), ("from/x.md", "x"), ("empty/", "")]);
    fixture.chmod("gone.md", 0o600);
    let before = fixture.shown();
    let changes = made(
        &fixture,
        &[
            &|fixture| fixture.replace("old.md", "newer"),
            &|fixture| fixture.remove("gone.md"),
            &|fixture| fixture.create("new.md", "new"),
            &|fixture| fixture.rename("from", "to"),
            &|_| ChangeStep::RemoveFolder { path: at("empty"), mode: None },
            &|_| ChangeStep::create_folder(at("made")),
        ],
    );
    let after = fixture.shown();
    let back = inverse(&changes);
    check(
        &fixture,
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
    let undone = fixture.restore(&back);
    assert_eq!(fixture.shown(), before);
    check(
        &fixture,
        &back,
        &expect![[r#"
        6 already so
    "#]],
    );
    fixture.restore(&inverse(&undone));
    assert_eq!(fixture.shown(), after);
}

/// A note that was renamed from `a.md` to `b.md`; returns the changes that put the name back.
fn renamed(fixture: &RestoreFixture) -> Vec<VaultChange> {
    inverse(&made(fixture, &[&|fixture| fixture.rename("a.md", "b.md")]))
}

#[test]
fn a_note_that_was_edited_after_its_links_were_shown_is_a_conflict() {
    let fixture = RestoreFixture::with(&[("a.md", "a"), ("F/n.md", "")]);
    let back = renamed(&fixture);
    fixture.put("F/n.md", "to [[b]] and [[b|it]]");
    let mut shown = fixture.foresee(&back, &[], &[]);
    let choices = RestoreChoices::default();
    plan_link_updates(&fixture.vault, &mut shown, choices, Timestamp::UNIX_EPOCH, &fixture.store).unwrap();
    let links = shown.links;
    assert_eq!(links.iter().map(|note| note.path.as_str()).collect::<Vec<_>>(), ["F/n.md"]);

    fixture.put("F/n.md", "to [[b]] and [[b|it]], edited");
    let again = |keep: &[String]| {
        let mut found = fixture.foresee(&back, &[], &[]);
        add_link_steps(&fixture.vault, &mut found, &links, keep, &fixture.store).unwrap();
        found
    };
    let found = again(&[]);
    let conflicts: Vec<_> = found.conflicts.iter().map(|found| (found.path.as_str(), found.why)).collect();
    assert_eq!(conflicts, [("F/n.md", RestoreCause::Edited)]);
    let kept = again(&["F/n.md".to_owned()]);
    assert_eq!((kept.conflicts.len(), kept.kept, kept.steps.len()), (0, vec!["F/n.md".to_owned()], 1));

    fixture.put("F/n.md", "to [[b]] and [[b|it]]");
    fixture.make(again(&[]).steps);
    let text = std::fs::read_to_string(fixture.inside("F/n.md")).unwrap();
    assert_eq!(text, "to [[a]] and [[a|it]]");
    assert_eq!(again(&[]).steps.len(), 0, "all of it is so already");
}

#[test]
fn a_link_is_rewritten_only_in_a_note_that_was_written_since() {
    let fixture = RestoreFixture::with(&[("a.md", "a"), ("old.md", "[[b]]"), ("new.md", "[[b]]")]);
    let back = renamed(&fixture);
    let written = |path: &str, second: u64| {
        let file = std::fs::File::options().write(true).open(fixture.inside(path)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(second)).unwrap();
    };
    written("old.md", 1_999);
    written("new.md", 2_000);
    let mut found = fixture.foresee(&back, &[], &[]);
    let (choices, since) = (RestoreChoices::default(), Timestamp::from_second(2_000).unwrap());
    plan_link_updates(&fixture.vault, &mut found, choices, since, &fixture.store).unwrap();
    assert_eq!(found.links.iter().map(|note| note.path.as_str()).collect::<Vec<_>>(), ["new.md"]);
}

#[test]
fn a_folder_that_was_too_large_to_record_goes_to_the_trash_again_only_by_decision() {
    let fixture = RestoreFixture::with(&[("F/a.md", "a")]);
    (0..1_000).for_each(|number| fixture.put(&format!("F/{number}.md"), ""));
    let deleted = fixture.make(fixture.trash("F"));
    let undone = fixture.restore(&inverse(&deleted));
    fixture.put("F/new.md", "mine");
    let again = inverse(&undone);
    let found = fixture.foresee(&again, &[], &[]);
    let conflicts: Vec<_> = found.conflicts.iter().map(|found| (found.path.as_str(), found.why)).collect();
    assert_eq!(conflicts, [("F", RestoreCause::Unknown)]);
    assert_eq!(fixture.foresee(&again, &["F"], &[]).kept, ["F"]);
    let decided = fixture.foresee(&again, &[], &["F"]);
    assert_eq!((decided.conflicts.len(), decided.uncompared), (0, vec!["F".to_owned()]));
    fixture.make(decided.steps);
    assert!(fixture.inside(".trash/F/new.md").exists() && !fixture.inside("F").exists());
}

#[test]
fn a_private_folder_comes_back_private_and_goes_again() {
    let fixture = RestoreFixture::with(&[("F/in/", ""), ("F/a.md", "a")]);
    for (path, mode) in [("F", 0o700), ("F/in", 0o750)] {
        fixture.chmod(path, mode);
    }
    let gone = |path: &str| ChangeStep::RemoveFolder {
        path: at(path),
        mode: fixture.vault.folder_mode(&at(path)).unwrap(),
    };
    let changes = fixture.make(vec![fixture.remove("F/a.md"), gone("F/in"), gone("F")]);
    let undone = fixture.restore(&inverse(&changes));
    let mode = |path: &str| fixture.inside(path).metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!([mode("F"), mode("F/in")], [0o700, 0o750]);
    let redone = fixture.restore(&inverse(&undone));
    assert_eq!(fixture.shown(), "");
    fixture.restore(&inverse(&redone));
    assert_eq!([mode("F"), mode("F/in")], [0o700, 0o750]);
    // Created by a run and changed by the user since: redo creates it with the mode that it had then.
    let made = fixture.make(vec![ChangeStep::create_folder(at("G"))]);
    fixture.chmod("G", 0o700);
    let undone = fixture.restore(&inverse(&made));
    fixture.restore(&inverse(&undone));
    assert_eq!(mode("G"), 0o700);
}

#[test]
fn a_note_that_was_created_edited_moved_and_deleted_leaves_nothing() {
    let fixture = RestoreFixture::with(&[("keep.md", "k")]);
    let before = fixture.shown();
    let mut changes = made(
        &fixture,
        &[
            &|_| ChangeStep::create_folder(at("N")),
            &|fixture| fixture.create("N/a.md", "1"),
            &|fixture| fixture.replace("N/a.md", "22"),
            &|fixture| fixture.rename("N/a.md", "N/b.md"),
            &|fixture| fixture.replace("N/b.md", "333"),
        ],
    );
    changes.extend(
        fixture.make(vec![ChangeStep::create_folder(at(".trash")), fixture.rename("N/b.md", ".trash/b.md")]),
    );
    let after = fixture.shown();
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        move .trash/b.md to N/b.md
        remove .trash/
        move N/b.md to N/a.md
        remove N/a.md (3 bytes)
        remove N/
    "#]],
    );
    let undone = fixture.restore(&inverse(&changes));
    assert_eq!(fixture.shown(), before);
    fixture.restore(&inverse(&undone));
    assert_eq!(fixture.shown(), after);
}

#[test]
fn an_edited_note_is_a_conflict_until_somebody_decides() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("b.md", "1")]);
    let changes =
        made(&fixture, &[&|fixture| fixture.replace("a.md", "22"), &|fixture| fixture.replace("b.md", "22")]);
    fixture.put("a.md", "mine!");
    let back = inverse(&changes);
    check(
        &fixture,
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
    .assert_eq(&outline(&fixture, &back, &["a.md"], &[]));
    let found = fixture.foresee(&back, &[], &["a.md"]);
    assert_eq!(found.conflicts, []);
    let undone = fixture.make(found.steps);
    expect![[r#"
        a.md 644 1
        b.md 644 1
    "#]]
    .assert_eq(&fixture.shown());
    // Redo restores the edit, not the content that the run had written.
    fixture.restore(&inverse(&undone));
    expect![[r#"
        a.md 644 mine!
        b.md 644 22
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_note_that_was_moved_and_then_edited_moves_back_with_the_edit() {
    let fixture = RestoreFixture::with(&[("a.md", "1")]);
    let changes = made(&fixture, &[&|fixture| fixture.rename("a.md", "b.md")]);
    fixture.put("b.md", "mine");
    fixture.restore(&inverse(&changes));
    expect![[r#"
        a.md 644 mine
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_note_that_the_run_changed_and_moved_takes_an_edit_that_is_kept_back_to_its_name() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("links.md", "[[a]]")]);
    let changes = made(
        &fixture,
        &[
            &|_| ChangeStep::create_folder(at("F")),
            &|fixture| fixture.rename("a.md", "F/z.md"),
            &|fixture| fixture.replace("F/z.md", "22"),
            &|fixture| fixture.replace("links.md", "[[z]]"),
        ],
    );
    fixture.put("F/z.md", "mine");
    let back = inverse(&changes);
    let found = fixture.foresee(&back, &["F/z.md"], &[]);
    expect![[r#"
        replace links.md (5 to 5 bytes)
        move F/z.md to a.md
        remove F/
        kept F/z.md
    "#]]
    .assert_eq(&outline(&fixture, &back, &["F/z.md"], &[]));
    assert_eq!(found.restored.iter().find(|file| file.path == "a.md").unwrap().after.unwrap().bytes, 4);
    let undone = fixture.make(found.steps);
    expect![[r#"
        a.md 644 mine
        links.md 644 [[a]]
    "#]]
    .assert_eq(&fixture.shown());
    fixture.restore(&inverse(&undone));
    expect![[r#"
        F/
        F/z.md 644 mine
        links.md 644 [[z]]
    "#]]
    .assert_eq(&fixture.shown());
    // A kept folder keeps its content, and a name that is taken stays taken.
    expect![[r#"
        replace links.md (5 to 5 bytes)
        kept F/z.md
        kept F
    "#]]
    .assert_eq(&outline(&fixture, &back, &["F"], &[]));
    fixture.put("a.md", "another");
    expect![[r#"
        replace links.md (5 to 5 bytes)
        kept F/z.md
        kept a.md
        left F/
    "#]]
    .assert_eq(&outline(&fixture, &back, &["F/z.md", "a.md"], &[]));
    let found = fixture.foresee(&back, &["F/z.md", "a.md"], &[]);
    assert_eq!(found.names_kept, [("F/z.md".to_owned(), "a.md".to_owned())]);
}

#[test]
fn what_is_kept_under_another_spelling_of_a_name_is_decided() {
    let fixture = RestoreFixture::with(&[("note.md", "1"), ("gone.md", "2")]);
    let mut changes = fixture.make(fixture.trash("note.md"));
    changes.extend(fixture.make(vec![fixture.remove("gone.md")]));
    fixture.put("Note.md", "mine");
    fixture.put("Gone.md", "mine");
    let back = inverse(&changes);
    let found = fixture.foresee(&back, &[], &[]);
    let keep: Vec<&str> = found.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert_eq!(keep, ["Gone.md", "Note.md"]);
    expect![[r#"
        kept gone.md
        kept .trash/note.md
        left .trash/
    "#]]
    .assert_eq(&outline(&fixture, &back, &keep, &[]));
}

#[test]
fn what_was_created_and_then_edited_is_not_removed_unread() {
    let fixture = RestoreFixture::with(&[]);
    let changes =
        made(&fixture, &[&|fixture| fixture.create("a.md", "1"), &|fixture| fixture.rename("a.md", "b.md")]);
    fixture.put("b.md", "mine");
    let back = inverse(&changes);
    check(
        &fixture,
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
        .assert_eq(&outline(&fixture, &back, &[name], &[]));
    }
    expect![[r#"
        remove b.md (4 bytes)
    "#]]
    .assert_eq(&outline(&fixture, &back, &[], &["b.md"]));
}

#[test]
fn a_name_that_was_taken_is_a_conflict() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("gone.md", "g"), ("F/x.md", "x")]);
    let changes = made(
        &fixture,
        &[&|fixture| fixture.rename("a.md", "b.md"), &|fixture| fixture.remove("gone.md"), &|fixture| {
            fixture.rename("F", "G")
        }],
    );
    fixture.put("a.md", "another");
    fixture.put("gone.md", "another");
    fixture.put("F/y.md", "another");
    let back = inverse(&changes);
    check(
        &fixture,
        &back,
        &expect![[r#"
        replace gone.md (7 to 1 bytes)
        remove a.md (7 bytes)
        move b.md to a.md
        conflict: `F` is taken by something else (cannot be overwritten)
        conflict: `gone.md` is taken by something else
        conflict: `a.md` is taken by something else
    "#]],
    );
    expect![[r#"
        replace gone.md (7 to 1 bytes)
        remove a.md (7 bytes)
        move b.md to a.md
        kept G
    "#]]
    .assert_eq(&outline(&fixture, &back, &["F"], &["a.md", "gone.md"]));
    expect![[r#"
        kept G
        kept gone.md
        kept b.md
    "#]]
    .assert_eq(&outline(&fixture, &back, &["G", "a.md", "gone.md"], &[]));
}

#[test]
fn a_new_note_under_the_old_name_is_not_taken_for_the_renamed_one() {
    let fixture = RestoreFixture::with(&[("a.md", "1")]);
    let changes = inverse(&made(&fixture, &[&|fixture| fixture.rename("a.md", "b.md")]));
    std::fs::rename(fixture.inside("b.md"), fixture.inside("c.md")).unwrap();
    fixture.put("a.md", "another note");
    check(
        &fixture,
        &changes,
        &expect![[r#"
        conflict: `b.md` no longer exists (cannot be overwritten)
    "#]],
    );
    // The note itself, back under its old name, is as it should be, and an edited one moves back with its edit.
    fixture.put("a.md", "1");
    check(
        &fixture,
        &changes,
        &expect![[r#"
        1 already so
    "#]],
    );
    std::fs::remove_file(fixture.inside("a.md")).unwrap();
    fixture.put("b.md", "edited");
    check(
        &fixture,
        &changes,
        &expect![[r#"
        move b.md to a.md
    "#]],
    );
}

#[test]
fn a_note_that_was_edited_since_does_not_go_to_the_trash_unasked() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("b.md", "1")]);
    let deleted = fixture.make(fixture.trash("a.md"));
    let undone = fixture.restore(&inverse(&deleted));
    let redo = inverse(&undone);
    check(
        &fixture,
        &redo,
        &expect![[r#"
        make .trash/
        move a.md to .trash/a.md
    "#]],
    );
    fixture.put("a.md", "edited");
    check(
        &fixture,
        &redo,
        &expect![[r#"
        make .trash/
        move a.md to .trash/a.md
        conflict: `a.md` was edited since
    "#]],
    );
    expect![[r#"
        make .trash/
        move a.md to .trash/a.md
    "#]]
    .assert_eq(&outline(&fixture, &redo, &[], &["a.md"]));
    expect![[r#"
        make .trash/
        kept a.md
    "#]]
    .assert_eq(&outline(&fixture, &redo, &["a.md"], &[]));
}

#[test]
fn what_is_gone_can_be_written_anew_where_its_content_was_kept() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("m.md", "m")]);
    let changes = made(
        &fixture,
        &[&|fixture| fixture.replace("a.md", "22"), &|fixture| fixture.rename("m.md", "n.md")],
    );
    for path in ["a.md", "n.md"] {
        std::fs::remove_file(fixture.inside(path)).unwrap();
    }
    let back = inverse(&changes);
    check(
        &fixture,
        &back,
        &expect![[r#"
            create a.md (1 bytes)
            conflict: `n.md` no longer exists (cannot be overwritten)
            conflict: `a.md` no longer exists
        "#]],
    );
    let found = fixture.foresee(&back, &["m.md"], &["a.md"]);
    assert_eq!(found.conflicts, []);
    fixture.make(found.steps);
    expect![[r#"
        a.md 644 1
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_folder_with_something_new_in_it_stays() {
    let fixture = RestoreFixture::with(&[]);
    let changes = made(
        &fixture,
        &[&|_| ChangeStep::create_folder(at("N")), &|_| ChangeStep::create_folder(at("N/D")), &|fixture| {
            fixture.create("N/D/a.md", "1")
        }],
    );
    fixture.put("N/mine.md", "mine");
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        remove N/D/a.md (1 bytes)
        remove N/D/
        left N/
    "#]],
    );
    fixture.restore(&inverse(&changes));
    expect![[r#"
        N/
        N/mine.md 644 mine
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_change_that_is_told_twice_is_made_once() {
    let fixture = RestoreFixture::with(&[("old.md", "1")]);
    let once = made(
        &fixture,
        &[
            &|_| ChangeStep::create_folder(at("N")),
            &|fixture| fixture.create("N/a.md", "1"),
            &|fixture| fixture.replace("old.md", "22"),
            &|fixture| fixture.rename("old.md", "N/old.md"),
        ],
    );
    let twice: Vec<VaultChange> = once.iter().chain(&once).cloned().collect();
    fixture.restore(&inverse(&twice));
    expect![[r#"
        old.md 644 1
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_folder_above_that_somebody_removed_is_made_again() {
    let fixture = RestoreFixture::with(&[("F/D/a.md", "1")]);
    let changes = fixture
        .make(vec![ChangeStep::create_folder(at(".trash")), fixture.rename("F/D/a.md", ".trash/a.md")]);
    std::fs::remove_dir_all(fixture.inside("F")).unwrap();
    check(
        &fixture,
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
    let fixture =
        RestoreFixture::with(&[("F/a.md", "note"), ("F/D/b.md", "b"), ("F/empty/", ""), ("n.md", "1")]);
    fixture.chmod("n.md", 0o600);
    let before = fixture.shown();
    let mut changes = fixture.make(fixture.trash("n.md"));
    changes.extend(fixture.make(fixture.trash("F")));
    fixture.empty_trash();
    check(
        &fixture,
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
    fixture.restore(&inverse(&changes));
    assert_eq!(fixture.shown(), before);
}

#[test]
fn what_has_the_name_of_a_deleted_note_in_the_trash_by_now_is_not_brought_back_for_it() {
    let fixture = RestoreFixture::with(&[("a.md", "mine"), ("F/x.md", "x")]);
    let mut changes = fixture.make(fixture.trash("a.md"));
    changes.extend(fixture.make(fixture.trash("F")));
    fixture.empty_trash();
    fixture.put(".trash/a.md", "another");
    fixture.put(".trash/F/x.md", "another");
    let back = inverse(&changes);
    check(
        &fixture,
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
    // With `overwrite`, the deleted entries are restored and nothing is lost.
    let found = fixture.foresee(&back, &[], &["a.md", "F"]);
    assert_eq!(found.conflicts, []);
    fixture.make(found.steps);
    expect![[r#"
        .trash/
        .trash/F/
        .trash/F/x.md 644 another
        .trash/a.md 644 another
        F/
        F/x.md 644 x
        a.md 644 mine
    "#]]
    .assert_eq(&fixture.shown());
    expect![[r#"
        left .trash/
    "#]]
    .assert_eq(&outline(&fixture, &back, &["a.md", "F"], &[]));
}

#[test]
fn what_is_missing_from_a_folder_in_the_trash_is_made_anew_and_the_rest_moves() {
    let fixture = RestoreFixture::with(&[("F/a.md", "a"), ("F/D/b.md", "b")]);
    let before = fixture.shown();
    let changes = fixture.make(fixture.trash("F"));
    std::fs::remove_dir_all(fixture.inside(".trash/F/D")).unwrap();
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        move .trash/F/ to F/
        remove .trash/
        make F/D/
        create F/D/b.md (1 bytes)
    "#]],
    );
    fixture.restore(&inverse(&changes));
    assert_eq!(fixture.shown(), before);
}

#[test]
fn a_note_that_took_the_place_of_a_deleted_one_is_not_taken_for_it() {
    let fixture = RestoreFixture::with(&[("a.md", "mine")]);
    let changes = fixture.make(fixture.trash("a.md"));
    fixture.empty_trash();
    fixture.put("a.md", "another");
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        replace a.md (7 to 4 bytes)
        remove .trash/
        conflict: `a.md` is taken by something else
    "#]],
    );
}

#[test]
fn a_deleted_note_of_which_nothing_was_stored_is_gone_with_the_trash() {
    let fixture = RestoreFixture::with(&[("a.md", "mine"), ("F/x.md", "x")]);
    let trash = ChangeStep::create_folder(at(".trash"));
    let mut changes =
        fixture.make(vec![trash, fixture.rename("F", ".trash/F"), fixture.rename("a.md", ".trash/a.md")]);
    for change in &mut changes {
        if let VaultChange::Moved { kept, .. } = change {
            kept.clear();
        }
    }
    fixture.empty_trash();
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        remove .trash/
        conflict: `a.md` no longer exists (cannot be overwritten)
        conflict: `.trash/F` no longer exists (cannot be overwritten)
    "#]],
    );
}

#[test]
fn what_is_changed_in_the_trash_at_the_last_moment_goes_back_there() {
    let fixture = RestoreFixture::with(&[("a.md", "mine")]);
    let changes = fixture.make(fixture.trash("a.md"));
    let steps = fixture.foresee(&inverse(&changes), &[], &[]).steps;
    fixture.put(".trash/a.md", "another");
    let prepared = crate::file_layer::PreparedSteps { steps };
    let fault = fixture.vault.apply(&prepared, &fixture.store).unwrap_err();
    assert_eq!(fault.message, "`.trash/a.md` has changed: it is not what was read");
    assert_eq!(fixture.store.changes.take(), []);
    expect![[r#"
        .trash/
        .trash/a.md 644 another
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn another_spelling_of_the_name_is_in_the_way_unless_it_is_the_note_itself() {
    let fixture = RestoreFixture::with(&[("Note.md", "1"), ("gone.md", "g")]);
    let changes = made(
        &fixture,
        &[&|fixture| fixture.rename("Note.md", "note.md"), &|fixture| fixture.remove("gone.md")],
    );
    fixture.put("GONE.md", "another");
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        move note.md to Note.md
        conflict: `GONE.md` is taken by something else (cannot be overwritten)
    "#]],
    );
}

#[test]
fn the_mode_that_a_person_gave_a_note_since_stays() {
    let fixture = RestoreFixture::with(&[("a.md", "1")]);
    let changes = made(&fixture, &[&|fixture| fixture.replace("a.md", "22")]);
    fixture.chmod("a.md", 0o600);
    fixture.restore(&inverse(&changes));
    expect![[r#"
        a.md 600 1
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_link_in_the_place_of_a_note_is_not_followed() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("other.md", "22")]);
    let changes = made(&fixture, &[&|fixture| fixture.replace("a.md", "22")]);
    std::fs::remove_file(fixture.inside("a.md")).unwrap();
    std::os::unix::fs::symlink("other.md", fixture.inside("a.md")).unwrap();
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
        conflict: `a.md` is taken by something else (cannot be overwritten)
    "#]],
    );
}

#[test]
fn protected_places_are_refused_and_the_trash_only_for_moves() {
    let folder = |path: &str| VaultChange::FolderRemoved { path: path.to_owned(), mode: None };
    let moved = |from: &str, to: &str| VaultChange::Moved {
        from: from.to_owned(),
        to: to.to_owned(),
        kind: EntryKind::File,
        state: None,
        kept: Vec::new(),
    };
    let refused = |change: VaultChange| super::check_paths(&[change]).err().map(|fault| fault.failure);
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

/// A store with everything that was stored.
#[derive(Default)]
struct RestoreStore(std::sync::Mutex<std::collections::HashMap<Hash, Vec<u8>>>);

impl ObjectStore for RestoreStore {
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

/// Calls the tool once; returns its data, or its failure with the details.
async fn call(vault: &Arc<Vault>, store: &Arc<RestoreStore>, args: Value) -> Value {
    let mut registry = Registry::new();
    crate::register_restore(&mut registry, Some(vault.clone())).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    let id = CallId::parse("call").unwrap();
    let cx = ToolCx::with_store(id, CancelToken::new(), None, Some(store.clone()));
    let mut args = tool.decode(&args).unwrap();
    tool.validate(&cx, &mut args).await.unwrap();
    let intent = tool.intend(&cx, &mut args).await;
    match tool.run(&cx, args).await {
        Ok(raw) => {
            assert_eq!(cx.take_report().changes, intent, "what was intended was done");
            let mapped = raw.map(toolkit::Projection::new(500, None)).unwrap();
            json!({ "data": mapped.data, "says": mapped.canonical.summary_text })
        }
        Err(fault) => json!({ "failure": fault.failure, "says": fault.message, "details": fault.details }),
    }
}

#[tokio::test]
async fn the_tool_refuses_all_when_one_file_is_in_the_way() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("b.md", "1")]);
    let changes =
        made(&fixture, &[&|fixture| fixture.replace("a.md", "22"), &|fixture| fixture.replace("b.md", "22")]);
    fixture.put("a.md", "mine!");
    let back = serde_json::to_value(inverse(&changes)).unwrap();
    let (vault, store) =
        (Arc::new(Vault::open(&fixture.inside("")).unwrap()), Arc::new(RestoreStore::default()));
    store.keep(&mut "1".as_bytes()).unwrap();
    let refused = call(&vault, &store, json!({ "changes": back })).await;
    expect![[r#"{"failure":"conflict","says":"nothing was restored: `a.md` was edited since","details":{"conflicts":[{"path":"a.md","why":"edited","canOverwrite":true,"expectedEtag":"93aed7df61cdeed8cb721d46dbbf3013","currentEtag":"6df314c3dc514de89a4c923cd611ac36"}]}}"#]].assert_eq(&refused.to_string());
    assert_eq!(std::fs::read(fixture.inside("b.md")).unwrap(), b"22");
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
    .assert_eq(&fixture.shown());
    assert_eq!(store.0.lock().unwrap()[&Hash::of(b"mine!")], b"mine!", "the edit was kept");
}

#[tokio::test]
async fn hidden_copies_of_a_killed_run_go_with_its_undo() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("mine", "1")]);
    let changes = made(&fixture, &[&|fixture| fixture.replace("a.md", "22")]);
    // As if the run was killed right after it had exchanged the files: the name has the inode of the new one.
    let hidden = fixture.inside(".tollgate-tmp-1-0");
    std::fs::copy(fixture.inside("mine"), &hidden).unwrap();
    let vault = Arc::new(Vault::open(&fixture.inside("")).unwrap());
    let store = Arc::new(RestoreStore::default());
    store.keep(&mut "1".as_bytes()).unwrap();
    let done = call(&vault, &store, json!({ "changes": inverse(&changes) })).await;
    assert_eq!(done["says"], "Made 1 change");
    assert!(!hidden.exists());
    expect![[r#"
        a.md 644 1
        mine 644 1
    "#]]
    .assert_eq(&fixture.shown());
}

#[tokio::test]
async fn what_an_interrupted_call_made_is_found_and_stays_in_its_record() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("b.md", "1"), ("c.md", "1")]);
    let edit: [&dyn Fn(&RestoreFixture) -> ChangeStep; 3] =
        [&|fixture| fixture.replace("a.md", "22"), &|fixture| fixture.replace("b.md", "22"), &|fixture| {
            fixture.rename("c.md", "d.md")
        }];
    let changes = made(&fixture, &edit);
    let back = inverse(&changes);
    let steps = fixture.foresee(&back, &[], &[]).steps;
    let intent: Vec<VaultChange> = steps.iter().map(ChangeStep::change).collect();
    let mut registry = Registry::new();
    let vault = Arc::new(Vault::open(&fixture.inside("")).unwrap());
    crate::register_restore(&mut registry, Some(vault)).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    let args = tool.decode(&json!({ "changes": back })).unwrap();
    for (done, step) in steps.into_iter().enumerate() {
        let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
        match (done, tool.reconcile(&cx, &args, &intent).await) {
            (0, ReconcileOutcome::DidNot { .. }) | (1.., ReconcileOutcome::Unknown { .. }) => {}
            (_, other) => panic!("{done}: {}", matches!(other, ReconcileOutcome::Happened(_))),
        }
        assert_eq!(cx.take_report().changes, intent[..done]);
        fixture.make(vec![step]);
    }
    let cx = ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None);
    assert!(matches!(tool.reconcile(&cx, &args, &intent).await, ReconcileOutcome::Happened(_)));
    assert_eq!(cx.take_report().changes, intent);
}

#[test]
fn rules_about_what_is_below_a_folder_see_that_it_moves() {
    let fixture = RestoreFixture::with(&[("F/x.md", "x"), ("a.md", "a")]);
    let changes =
        made(&fixture, &[&|fixture| fixture.rename("F", "G"), &|fixture| fixture.rename("a.md", "b.md")]);
    let mut registry = Registry::new();
    let vault = Arc::new(Vault::open(&fixture.inside("")).unwrap());
    crate::register_restore(&mut registry, Some(vault)).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    let args = tool.decode(&json!({ "changes": inverse(&changes) })).unwrap();
    let (file, folder) =
        (|path| toolkit::PathScope::Path(at(path)), |path| toolkit::PathScope::Folder(at(path)));
    assert_eq!(tool.paths(&args).writes, [file("b.md"), file("a.md"), folder("G"), folder("F")]);
}

#[test]
fn no_model_is_offered_the_tool() {
    let mut registry = Registry::new();
    crate::register(&mut registry, None).unwrap();
    assert!(registry.get("vault.restore").is_none());
}

#[test]
fn a_file_in_the_place_of_a_folder_is_in_the_way_before_anything_is_done() {
    let fixture = RestoreFixture::with(&[("F/a.md", "1"), ("b.md", "1")]);
    let mut changes = made(&fixture, &[&|fixture| fixture.replace("b.md", "22")]);
    changes.extend(fixture.make(vec![fixture.remove("F/a.md")]));
    std::fs::remove_dir(fixture.inside("F")).unwrap();
    fixture.put("F", "a file now");
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
            replace b.md (2 to 1 bytes)
            conflict: `F` is taken by something else (cannot be overwritten)
        "#]],
    );
    // The same for a folder whose name has come back in another case.
    std::fs::remove_file(fixture.inside("F")).unwrap();
    fixture.put("f/", "");
    check(
        &fixture,
        &inverse(&changes),
        &expect![[r#"
            replace b.md (2 to 1 bytes)
            conflict: `f` is taken by something else (cannot be overwritten)
        "#]],
    );
}

#[test]
fn what_is_new_in_a_folder_does_not_go_to_the_trash_with_it_unasked() {
    let fixture = RestoreFixture::with(&[("F/a.md", "1"), ("F/G/b.md", "2")]);
    let changes = fixture.make(fixture.trash("F"));
    let undone = fixture.restore(&inverse(&changes));
    fixture.put("F/G/new.md", "mine");
    fixture.put("F/a.md", "mine too");
    let again = inverse(&undone);
    check(
        &fixture,
        &again,
        &expect![[r#"
            make .trash/
            move F/ to .trash/F/
            conflict: `F/G/new.md` was added since, to a folder that would go to the trash
            conflict: `F/a.md` was edited since
        "#]],
    );
    expect![[r#"
        make .trash/
        kept F/G/new.md
        left F/
    "#]]
    .assert_eq(&outline(&fixture, &again, &["F/G/new.md"], &["F/a.md"]));
    let found = fixture.foresee(&again, &[], &["F/G/new.md", "F/a.md"]);
    assert_eq!(found.conflicts, []);
    let before = fixture.shown();
    let redone = fixture.make(found.steps);
    assert!(!fixture.inside("F").exists());
    fixture.restore(&inverse(&redone));
    assert_eq!(fixture.shown(), before);
}

#[test]
fn a_name_that_is_not_text_in_a_deleted_folder_stops_no_undo() {
    use std::os::unix::ffi::OsStrExt as _;
    let fixture = RestoreFixture::with(&[("F/a.md", "1"), ("F/G/b.md", "2")]);
    let changes = fixture.make(fixture.trash("F"));
    for folder in [".trash/F", ".trash/F/G"] {
        let name = std::ffi::OsStr::from_bytes(b"\xff");
        std::fs::File::create(fixture.inside(folder).join(name)).unwrap();
    }
    fixture.restore(&inverse(&changes));
    assert!(fixture.inside("F/G/b.md").exists());
}

#[test]
fn what_an_undo_leaves_out_keeps_its_name_and_its_text() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("c.md", "1")]);
    let changes = made(
        &fixture,
        &[&|fixture| fixture.replace("a.md", "22"), &|fixture| fixture.rename("a.md", "b.md"), &|fixture| {
            fixture.replace("c.md", "22")
        }],
    );
    fixture.put("b.md", "mine");
    let leave = ["b.md".to_owned()];
    let choices = RestoreChoices { leave: &leave, ..RestoreChoices::default() };
    let found = plan_restore(&fixture.vault, &inverse(&changes), choices, &fixture.store).unwrap();
    assert_eq!(found.conflicts, []);
    fixture.make(found.steps);
    expect![[r#"
        b.md 644 mine
        c.md 644 1
    "#]]
    .assert_eq(&fixture.shown());
}

#[test]
fn a_note_in_a_deleted_folder_is_not_undone_without_the_folder() {
    let fixture = RestoreFixture::with(&[("F/a.md", "1"), ("F/b.md", "1")]);
    let mut changes = made(&fixture, &[&|fixture| fixture.replace("F/a.md", "22")]);
    changes.extend(fixture.make(fixture.trash("F")));
    let only = ["F/a.md".to_owned()];
    let choices = RestoreChoices { only: &only, ..RestoreChoices::default() };
    let found = plan_restore(&fixture.vault, &inverse(&changes), choices, &fixture.store).unwrap();
    assert!(found.steps.is_empty() && found.conflicts.is_empty(), "{:?}", found.changes());
}

#[tokio::test]
async fn a_restore_that_fails_midway_is_rolled_back() {
    let fixture = RestoreFixture::with(&[("a.md", "1"), ("b.md", "1"), ("c.md", "1")]);
    let steps: [&dyn Fn(&RestoreFixture) -> ChangeStep; 3] =
        [&|fixture| fixture.replace("a.md", "22"), &|fixture| fixture.rename("b.md", "d.md"), &|fixture| {
            fixture.remove("c.md")
        }];
    let changes = made(&fixture, &steps);
    let vault = Arc::new(Vault::open(&fixture.inside("")).unwrap());
    let store = Arc::new(RestoreStore::default());
    for text in ["1", "22"] {
        store.keep(&mut text.as_bytes()).unwrap();
    }
    let mut registry = Registry::new();
    crate::register_restore(&mut registry, Some(vault)).unwrap();
    let tool = &registry.get("vault.restore").unwrap().tool;
    for taken in ["b.md", "c.md"] {
        let cx = ToolCx::with_store(
            CallId::parse("call").unwrap(),
            CancelToken::new(),
            None,
            Some(store.clone() as Arc<dyn ObjectStore>),
        );
        let mut args = tool.decode(&json!({ "changes": inverse(&changes) })).unwrap();
        assert_eq!(tool.intend(&cx, &mut args).await.len(), 3);
        // Another program takes a name after the plan was made.
        fixture.put(taken, "theirs");
        let before = fixture.shown();
        let fault = tool.run(&cx, args).await.err().unwrap();
        assert!(fault.message.starts_with("nothing was restored: "), "{fault}");
        assert_eq!(fixture.shown(), before);
        assert_eq!(cx.take_report().changes, []);
        std::fs::remove_file(fixture.inside(taken)).unwrap();
    }
}
