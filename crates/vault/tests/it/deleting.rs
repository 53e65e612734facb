//! Overwriting and deleting whole files: JSON in, JSON out, and the tree on disk.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use crate::write_fixture::{WriteFixture, put, with};
use expect_test::expect;
use serde_json::json;

const WRITE: &str = "vault.writeFile";
const DELETE: &str = "vault.delete";

// Conformance: tool 2.6
//     `vault.writeFile` overwrites or appends, also under `expectedEtag`.
//     In: vault/files/write_file.rs
#[tokio::test]
async fn a_file_is_written_over_and_appended_to() {
    let fixture = WriteFixture::new(&[("Note.md", "old\r\n")]);
    let args = json!({"path": "Note.md", "content": "new\r\n"});
    fixture.check(WRITE, args.clone(), expect![[r#"
        Write Note.md (5 bytes)
        Wrote Note.md (5 bytes) (etag b128f82e088a8f2dc3514a0a8b51f6d3)
        {"path":"Note.md","etag":"b128f82e088a8f2dc3514a0a8b51f6d3","bytesWritten":5,"created":false}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"1da923830cb66f549058c205ebc1e330","afterEtag":"b128f82e088a8f2dc3514a0a8b51f6d3"}]}
    "#]]).await;
    fixture.check(WRITE, with(&args, json!({"content": "é", "mode": "append"})), expect![[r#"
        Append 2 bytes to Note.md
        Wrote Note.md (2 bytes) (etag dd912f6702cf3a28045e34af7040027a)
        {"path":"Note.md","etag":"dd912f6702cf3a28045e34af7040027a","bytesWritten":2,"created":false}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"b128f82e088a8f2dc3514a0a8b51f6d3","afterEtag":"dd912f6702cf3a28045e34af7040027a"}]}
    "#]]).await;
    assert_eq!(fixture.text("Note.md"), "new\r\né");
}

#[tokio::test]
async fn a_missing_file_is_created_with_its_folders() {
    let fixture = WriteFixture::new(&[]);
    let args = json!({"path": "A/B/Note.md", "content": "new"});
    fixture.check(WRITE, args, expect![[r#"
        Write A/B/Note.md (3 bytes)
        Created A/B/Note.md (3 bytes) (etag b20ab0a020a48d349e0c64d109c441f8)
        {"path":"A/B/Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytesWritten":3,"created":true}
        {"sideEffectsObserved":["create-folder","create-file"],"created":[{"path":"A","kind":"folder"},{"path":"A/B","kind":"folder"},{"path":"A/B/Note.md","kind":"file"}]}
    "#]]).await;
    fixture
        .check(
            WRITE,
            json!({"path": "A/Log.md", "content": "1", "mode": "append"}),
            expect![[r#"
        Append 1 bytes to A/Log.md
        Created A/Log.md (1 bytes) (etag d63bd9a826af91c1fea371965a64e11e)
        {"path":"A/Log.md","etag":"d63bd9a826af91c1fea371965a64e11e","bytesWritten":1,"created":true}
        {"sideEffectsObserved":["create-file"],"created":[{"path":"A/Log.md","kind":"file"}]}
    "#]],
        )
        .await;
    assert_eq!(fixture.names(), ["A", "A/B", "A/B/Note.md", "A/Log.md"]);
}

// Conformance: tool 1.8
// Conformance: tool 1.10
// Conformance: tool 2.6
#[tokio::test]
async fn only_what_the_caller_has_seen_is_written_over() {
    let fixture = WriteFixture::new(&[("Note.md", "old")]);
    let args = json!({"path": "Note.md", "content": "new", "expectedEtag": vault::etag_of(b"old")});
    let mut shown = String::new();
    for args in
        [&args, &args, &with(&args, json!({"mode": "append"})), &with(&args, json!({"path": "gone.md"}))]
    {
        shown.push_str(&fixture.call(WRITE, args.clone()).await);
    }
    expect![[r#"
        Write Note.md (3 bytes)
        Wrote Note.md (3 bytes) (etag b20ab0a020a48d349e0c64d109c441f8)
        {"path":"Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytesWritten":3,"created":false}
        {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"96a4257289f9ebcbc94bfc49276f89ed","afterEtag":"b20ab0a020a48d349e0c64d109c441f8"}]}
        CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it
        CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it
        CONFLICT: `gone.md` no longer exists; leave out expectedEtag to create the file again
    "#]].assert_eq(&shown);
    assert_eq!(fixture.text("Note.md"), "new");
}

// Conformance: tool 1.2
#[tokio::test]
async fn a_dry_run_says_what_would_be_written() {
    let fixture = WriteFixture::new(&[("Note.md", "old")]);
    let mut shown = String::new();
    for more in [json!({}), json!({"mode": "append"}), json!({"path": "A/New.md"})] {
        let args = with(&json!({"path": "Note.md", "content": "new", "dryRun": true}), more);
        shown.push_str(&fixture.call(WRITE, args).await);
    }
    expect![[r#"
        Write Note.md (3 bytes)
        Would write Note.md (3 bytes) (etag b20ab0a020a48d349e0c64d109c441f8)
        Dry run: nothing was written.
        {"path":"Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytesWritten":3,"created":false,"dryRun":true}
        Append 3 bytes to Note.md
        Would write Note.md (3 bytes) (etag b2e7158c512f379a045d8f51769d1b98)
        Dry run: nothing was written.
        {"path":"Note.md","etag":"b2e7158c512f379a045d8f51769d1b98","bytesWritten":3,"created":false,"dryRun":true}
        Write A/New.md (3 bytes)
        Would create A/New.md (3 bytes) (etag b20ab0a020a48d349e0c64d109c441f8)
        Dry run: nothing was written.
        {"path":"A/New.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytesWritten":3,"created":true,"dryRun":true}
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn what_is_no_file_is_not_written() {
    let fixture = WriteFixture::new(&[("Folder/x.md", ""), (".obsidian/app.json", "{}")]);
    let at = |name: &str| fixture.folder.path().join(name);
    symlink("nowhere.md", at("dead.md")).unwrap();
    symlink("/etc/hostname", at("out.md")).unwrap();
    let mut shown = String::new();
    for path in ["Folder", "Folder/x.md/y.md", "folder/New.md", "dead.md", "out.md", ".Obsidian/app.json"] {
        shown.push_str(&fixture.call(WRITE, json!({"path": path, "content": "x"})).await);
    }
    expect![[r#"
        PRECONDITION_FAILED: `Folder` is a folder, a link to nothing or a device, not a file; name a file
        PRECONDITION_FAILED: `Folder/x.md` is a file, so nothing can be below it; name a folder, or leave out what follows the file
        CONFLICT: `folder` and the existing `Folder` are the same name on many systems; write `Folder` as it is spelled, or choose a name that differs in more than case
        PRECONDITION_FAILED: `dead.md` is a folder, a link to nothing or a device, not a file; name a file
        POLICY_DENIED: `out.md` leaves the vault through the link `out.md`; use a path that reaches its file without that link
        POLICY_DENIED: `.Obsidian/app.json` lies in `.obsidian`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn the_mode_stays_and_a_second_name_keeps_the_old_text() {
    for mode in ["overwrite", "append"] {
        let fixture = WriteFixture::new(&[("Note.md", "old")]);
        let at = |name: &str| fixture.folder.path().join(name);
        std::fs::set_permissions(at("Note.md"), std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::hard_link(at("Note.md"), at("Second.md")).unwrap();
        fixture.call(WRITE, json!({"path": "Note.md", "content": "new", "mode": mode})).await;
        assert_eq!(std::fs::metadata(at("Note.md")).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fixture.text("Second.md"), "old");
    }
}

// Conformance: tool 2.13
//     `vault.delete` moves to the vault's `.trash` by default, or removes for good; either can be taken back.
//     In: vault/files/delete.rs
#[tokio::test]
async fn deleted_files_and_folders_go_to_the_trash() {
    let fixture = WriteFixture::new(&[("Note.md", "note"), ("Folder/Deep/a.md", "a"), ("Folder/b.md", "b")]);
    fixture.check(DELETE, json!({"path": "Note.md"}), expect![[r#"
        Move Note.md to the trash
        Moved Note.md to the trash
        {"path":"Note.md","deleted":true,"trashed":true,"trashPath":".trash/Note.md","files":1}
        {"sideEffectsObserved":["create-folder","delete-file"],"created":[{"path":".trash","kind":"folder"}],"deleted":[{"path":"Note.md","kind":"file","trashed":true}]}
    "#]]).await;
    fixture
        .check(
            DELETE,
            json!({"path": "Folder"}),
            expect![[r#"
        Move Folder to the trash
        Moved Folder with 2 files to the trash
        {"path":"Folder","deleted":true,"trashed":true,"trashPath":".trash/Folder","files":2}
        {"sideEffectsObserved":["delete-folder"],"deleted":[{"path":"Folder","kind":"folder","trashed":true}]}
    "#]],
        )
        .await;
    assert_eq!(
        fixture.names(),
        [
            ".trash",
            ".trash/Folder",
            ".trash/Folder/Deep",
            ".trash/Folder/Deep/a.md",
            ".trash/Folder/b.md",
            ".trash/Note.md"
        ]
    );
}

#[tokio::test]
async fn a_name_that_the_trash_has_already_is_not_taken_twice() {
    let fixture = WriteFixture::new(&[("Note.md", "1"), ("A/Note.md", "2"), ("B/NOTE.md", "3")]);
    let mut shown = String::new();
    for path in ["Note.md", "A/Note.md", "B/NOTE.md"] {
        shown.push_str(&fixture.call(DELETE, json!({"path": path})).await);
    }
    expect![[r#"
        Move Note.md to the trash
        Moved Note.md to the trash
        {"path":"Note.md","deleted":true,"trashed":true,"trashPath":".trash/Note.md","files":1}
        {"sideEffectsObserved":["create-folder","delete-file"],"created":[{"path":".trash","kind":"folder"}],"deleted":[{"path":"Note.md","kind":"file","trashed":true}]}
        Move A/Note.md to the trash
        Moved A/Note.md to the trash
        {"path":"A/Note.md","deleted":true,"trashed":true,"trashPath":".trash/Note 1.md","files":1}
        {"sideEffectsObserved":["delete-file"],"deleted":[{"path":"A/Note.md","kind":"file","trashed":true}]}
        Move B/NOTE.md to the trash
        Moved B/NOTE.md to the trash
        {"path":"B/NOTE.md","deleted":true,"trashed":true,"trashPath":".trash/NOTE 2.md","files":1}
        {"sideEffectsObserved":["delete-file"],"deleted":[{"path":"B/NOTE.md","kind":"file","trashed":true}]}
    "#]].assert_eq(&shown);
    let trashed = |name: &str| fixture.text(&format!(".trash/{name}"));
    assert_eq!([trashed("Note.md"), trashed("Note 1.md")], ["1", "2"]);
    assert_eq!(fixture.names().len(), 6);
}

// Conformance: tool 2.13
#[tokio::test]
async fn what_is_deleted_for_good_is_kept_for_the_way_back() {
    let fixture = WriteFixture::new(&[
        ("Note.md", "note"),
        ("Folder/Deep/a.md", "a"),
        ("Folder/b.md", "b"),
        ("z.md", ""),
    ]);
    std::fs::create_dir(fixture.folder.path().join("Folder/Empty")).unwrap();
    fixture
        .check(
            DELETE,
            json!({"path": "Note.md", "trash": false}),
            expect![[r#"
        Delete Note.md for good
        Deleted Note.md
        {"path":"Note.md","deleted":true,"trashed":false,"files":1}
        {"sideEffectsObserved":["delete-file"],"deleted":[{"path":"Note.md","kind":"file","trashed":false}]}
    "#]],
        )
        .await;
    // Every call checks that each file was stored.
    fixture.check(DELETE, json!({"path": "Folder", "trash": false}), expect![[r#"
        Delete Folder for good
        Deleted Folder with 2 files
        {"path":"Folder","deleted":true,"trashed":false,"files":2}
        {"sideEffectsObserved":["delete-file","delete-folder"],"deleted":[{"path":"Folder/b.md","kind":"file","trashed":false},{"path":"Folder/Deep/a.md","kind":"file","trashed":false},{"path":"Folder/Deep","kind":"folder","trashed":false},{"path":"Folder/Empty","kind":"folder","trashed":false},{"path":"Folder","kind":"folder","trashed":false}]}
    "#]]).await;
    assert_eq!(fixture.names(), ["z.md"]);
}

// Conformance: tool 2.13
#[tokio::test]
async fn what_is_not_there_is_an_error_unless_told_otherwise() {
    let fixture = WriteFixture::new(&[("Note.md", "")]);
    fixture
        .check(
            DELETE,
            json!({"path": "Nte.md"}),
            expect![[r#"
        NOT_FOUND: `Nte.md` does not exist; did you mean `Note.md`?
    "#]],
        )
        .await;
    fixture
        .check(
            DELETE,
            json!({"path": "Nte.md", "requireExists": false}),
            expect![[r#"
        Move Nte.md to the trash
        Nothing to delete: Nte.md is not there
        {"path":"Nte.md","deleted":false,"trashed":false,"files":0}
    "#]],
        )
        .await;
    fixture
        .check(
            DELETE,
            json!({"path": "note.md", "requireExists": false}),
            expect![[r#"
        Move note.md to the trash
        Nothing to delete: note.md is not there
        {"path":"note.md","deleted":false,"trashed":false,"files":0}
    "#]],
        )
        .await;
    assert_eq!(fixture.names(), ["Note.md"]);
}

// Conformance: tool 1.2
#[tokio::test]
async fn a_dry_run_says_what_would_go() {
    let fixture = WriteFixture::new(&[("Folder/a.md", "a"), ("Folder/b.md", "b")]);
    let mut shown = String::new();
    for more in [json!({}), json!({"trash": false}), json!({"path": "Folder/a.md"})] {
        shown.push_str(&fixture.call(DELETE, with(&json!({"path": "Folder", "dryRun": true}), more)).await);
    }
    expect![[r#"
        Move Folder to the trash
        Would move Folder with 2 files to the trash
        Dry run: nothing was written.
        {"path":"Folder","deleted":true,"trashed":true,"trashPath":".trash/Folder","files":2,"dryRun":true}
        Delete Folder for good
        Would delete Folder with 2 files
        Dry run: nothing was written.
        {"path":"Folder","deleted":true,"trashed":false,"files":2,"dryRun":true}
        Move Folder/a.md to the trash
        Would move Folder/a.md to the trash
        Dry run: nothing was written.
        {"path":"Folder/a.md","deleted":true,"trashed":true,"trashPath":".trash/a.md","files":1,"dryRun":true}
    "#]]
    .assert_eq(&shown);
}

#[tokio::test]
async fn protected_folders_are_not_deleted_also_not_inside_of_others() {
    let fixture = WriteFixture::new(&[
        (".obsidian/app.json", "{}"),
        (".trash/old.md", "old"),
        ("Project/.git/config", "x"),
        ("Project/a.md", "a"),
    ]);
    let mut shown = String::new();
    for path in [".obsidian", ".OBSIDIAN/app.json", ".trash", ".trash/old.md", "Project", "Project/.git"] {
        for trash in [true, false] {
            shown.push_str(&fixture.call(DELETE, json!({"path": path, "trash": trash})).await);
        }
    }
    expect![[r#"
        POLICY_DENIED: `.obsidian` lies in `.obsidian`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.obsidian` lies in `.obsidian`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.OBSIDIAN/app.json` lies in `.obsidian`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.OBSIDIAN/app.json` lies in `.obsidian`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.trash` lies in `.trash`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.trash` lies in `.trash`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.trash/old.md` lies in `.trash`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `.trash/old.md` lies in `.trash`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `Project/.git` lies in `.git`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `Project/.git` lies in `.git`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `Project/.git` lies in `.git`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
        POLICY_DENIED: `Project/.git` lies in `.git`, which belongs to another program or to Tollgate itself; use a path outside .obsidian, .git, .trash and .tollgate
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn a_link_is_deleted_itself() {
    let fixture = WriteFixture::new(&[("Real/a.md", "a")]);
    let at = |name: &str| fixture.folder.path().join(name);
    symlink("Real/a.md", at("file.md")).unwrap();
    symlink("Real", at("folder")).unwrap();
    symlink("/etc", at("out")).unwrap();
    let mut shown = String::new();
    for link in ["file.md", "folder", "out"] {
        shown.push_str(&fixture.call(DELETE, json!({"path": link, "trash": false})).await);
        shown.push_str(&fixture.call(DELETE, json!({"path": link})).await);
    }
    expect![[r#"
        PRECONDITION_FAILED: `file.md` is a link, a pipe or a device: it could not be brought back; delete with trash: true, which moves it as it is
        Move file.md to the trash
        Moved file.md to the trash
        {"path":"file.md","deleted":true,"trashed":true,"trashPath":".trash/file.md","files":1}
        {"sideEffectsObserved":["create-folder","delete-file"],"created":[{"path":".trash","kind":"folder"}],"deleted":[{"path":"file.md","kind":"file","trashed":true}]}
        PRECONDITION_FAILED: `folder` is a link, a pipe or a device: it could not be brought back; delete with trash: true, which moves it as it is
        Move folder to the trash
        Moved folder to the trash
        {"path":"folder","deleted":true,"trashed":true,"trashPath":".trash/folder","files":1}
        {"sideEffectsObserved":["delete-file"],"deleted":[{"path":"folder","kind":"file","trashed":true}]}
        PRECONDITION_FAILED: `out` is a link, a pipe or a device: it could not be brought back; delete with trash: true, which moves it as it is
        Move out to the trash
        Moved out to the trash
        {"path":"out","deleted":true,"trashed":true,"trashPath":".trash/out","files":1}
        {"sideEffectsObserved":["delete-file"],"deleted":[{"path":"out","kind":"file","trashed":true}]}
    "#]].assert_eq(&shown);
    expect![[r#"
        {
            ".trash": "folder",
            ".trash/file.md": "link to Real/a.md",
            ".trash/folder": "link to Real",
            ".trash/out": "link to /etc",
            "Real": "folder",
            "Real/a.md": "644 a",
        }"#]]
    .assert_eq(&format!("{:#?}", fixture.tree()));
}

#[tokio::test]
async fn a_trash_that_leads_elsewhere_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let fixture = WriteFixture::new(&[("Note.md", "note"), ("Folder/a.md", "a")]);
    symlink(outside.path(), fixture.folder.path().join(".trash")).unwrap();
    let mut shown = String::new();
    for path in ["Note.md", "Folder"] {
        shown.push_str(&fixture.call(DELETE, json!({"path": path})).await);
    }
    expect![[r#"
        POLICY_DENIED: `.trash` is a link or a file, not a folder of the vault; put a plain folder in its place, or delete with trash: false
        POLICY_DENIED: `.trash` is a link or a file, not a folder of the vault; put a plain folder in its place, or delete with trash: false
    "#]].assert_eq(&shown);
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    std::fs::remove_file(fixture.folder.path().join(".trash")).unwrap();
    put(&fixture.folder.path().join(".trash"), b"a file");
    fixture.check(DELETE, json!({"path": "Note.md"}), expect![[r#"
        POLICY_DENIED: `.trash` is a link or a file, not a folder of the vault; put a plain folder in its place, or delete with trash: false
    "#]]).await;
}

#[tokio::test]
async fn what_somebody_writes_meanwhile_is_not_lost() {
    let mut shown = String::new();
    for (tool, args, path) in [
        (WRITE, json!({"path": "Note.md", "content": "new"}), "Note.md"),
        (WRITE, json!({"path": "Note.md", "content": "new", "mode": "append"}), "Note.md"),
        (WRITE, json!({"path": "New.md", "content": "new"}), "New.md"),
        (DELETE, json!({"path": "Note.md", "trash": false}), "Note.md"),
        (DELETE, json!({"path": "Folder", "trash": false}), "Folder/a.md"),
    ] {
        let fixture = WriteFixture::new(&[("Note.md", "old"), ("Folder/a.md", "a"), ("Folder/b.md", "b")]);
        shown.push_str(&fixture.overtaken(tool, args, path).await);
    }
    expect![[r#"
        CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it
        CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it
        CONFLICT: `New.md` already exists (a file); choose another path, or set collisionStrategy to "create-unique" or "overwrite"
        CONFLICT: `Note.md` has changed: it is not what was read; read the file again before you change it
        CONFLICT: `Folder/a.md` has changed: it is not what was read; read the file again before you change it
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn after_a_crash_the_tree_tells_what_was_done() {
    let files = [("Note.md", "old"), ("Folder/a.md", "a"), ("Folder/b.md", "b")];
    let mut shown = String::new();
    for (tool, args, edited) in [
        (WRITE, json!({"path": "Note.md", "content": "new"}), "Note.md"),
        (WRITE, json!({"path": "Note.md", "content": "new", "mode": "append"}), "Note.md"),
        (WRITE, json!({"path": "New/Note.md", "content": "new"}), "New/Note.md"),
        (DELETE, json!({"path": "Note.md"}), "Note.md"),
        (DELETE, json!({"path": "Note.md", "trash": false}), "Note.md"),
        (DELETE, json!({"path": "Folder"}), "Folder"),
        (DELETE, json!({"path": "Folder", "trash": false}), "Folder"),
    ] {
        let fixture = WriteFixture::new(&files);
        shown.push_str(&format!("{args}\n{}", fixture.reconciled(tool, args.clone(), edited).await));
    }
    expect![[r#"
        {"path":"Note.md","content":"new"}
        did not happen
        happened: Wrote Note.md (3 bytes) {"path":"Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytesWritten":3,"created":false}
        unknown: what is there now is neither what was there before nor what it would have written
        {"path":"Note.md","content":"new","mode":"append"}
        did not happen
        happened: Wrote Note.md (3 bytes) {"path":"Note.md","etag":"b2e7158c512f379a045d8f51769d1b98","bytesWritten":3,"created":false}
        unknown: what is there now is neither what was there before nor what it would have written
        {"path":"New/Note.md","content":"new"}
        did not happen
        happened: Created New/Note.md (3 bytes) {"path":"New/Note.md","etag":"b20ab0a020a48d349e0c64d109c441f8","bytesWritten":3,"created":true}
        unknown: 1 of its 2 changes are there; `tollgate undo` can take them back
        {"path":"Note.md"}
        did not happen
        happened: Moved Note.md to the trash {"path":"Note.md","deleted":true,"trashed":true,"trashPath":".trash/Note.md","files":1}
        unknown: 1 of its 2 changes are there; `tollgate undo` can take them back
        {"path":"Note.md","trash":false}
        did not happen
        happened: Deleted Note.md {"path":"Note.md","deleted":true,"trashed":false,"files":1}
        unknown: what is there now is neither what was there before nor what it would have written
        {"path":"Folder"}
        did not happen
        happened: Moved Folder to the trash {"path":"Folder","deleted":true,"trashed":true,"trashPath":".trash/Folder"}
        unknown: 1 of its 2 changes are there; `tollgate undo` can take them back
        {"path":"Folder","trash":false}
        did not happen
        happened: Deleted Folder with 2 files {"path":"Folder","deleted":true,"trashed":false,"files":2}
        unknown: `Folder` is a file, so nothing can be below it
    "#]].assert_eq(&shown);
}
