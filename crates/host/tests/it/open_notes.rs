//! A note that is open is edited where it is open: nothing that a person wrote is lost, and the cursor stays.
use crate::support::Bench;
use expect_test::expect;
use serde_json::json;

// Conformance: tool 3.9
//     A note that is open in a host is edited through the host; unsaved text is never lost.
//     In: vault/file_layer/open_notes.rs
#[tokio::test]
async fn a_tool_of_the_vault_edits_an_open_note_and_the_cursor_stays() {
    let bench = Bench::new(&[("a.md", "one\ntwo three\n")]);
    bench.open("a.md").await;
    bench.select((1, 4), (1, 9)).await;
    bench.output("vault.writeFile", json!({"path": "a.md", "content": "zero\none\ntwo three\nfour\n"})).await;
    assert_eq!(bench.selection().await, "2:4-2:9 \"three\"");
    bench.output("editor.replaceSelection", json!({"text": "3"})).await;
    assert_eq!(bench.text("a.md"), "zero\none\ntwo 3\nfour\n");
}

#[tokio::test]
async fn without_autosave_an_edit_is_in_memory_and_is_what_the_vault_reads() {
    let bench = Bench::unsaved(&[("a.md", "one\n")]);
    bench.open("a.md").await;
    expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":0,"ch":5},"insertedChars":5}
        saw edit-buffer
    "#]]
    .assert_eq(&bench.call("editor.insertAtCursor", json!({"text": "zero "})).await);
    assert_eq!(bench.text("a.md"), "one\n");
    let read = bench.output("vault.readFile", json!({"path": "a.md"})).await;
    assert_eq!(read["content"], "zero one\n");
    expect![[r#"
        {"id":"editor:save-file","executed":true}
        saw modify-file
        saw run-command
        file-replaced a.md
    "#]]
    .assert_eq(&bench.call("commands.run", json!({"id": "editor:save-file"})).await);
    assert_eq!(bench.text("a.md"), "zero one\n");
    assert_eq!(bench.kept.texts(), ["one\n"], "what a save overwrites is kept");
    expect![[r#"
        {"id":"editor:save-file","executed":true}
        saw run-command
    "#]]
    .assert_eq(&bench.call("commands.run", json!({"id": "editor:save-file"})).await);
}

// Conformance: tool 3.9
#[tokio::test]
async fn a_tool_of_the_vault_edits_unsaved_text_and_loses_none_of_it() {
    let bench = Bench::unsaved(&[("a.md", "one\ntwo\n")]);
    bench.open("a.md").await;
    bench.select((0, 3), (0, 3)).await;
    bench.output("editor.insertAtCursor", json!({"text": " and a half"})).await;
    let replaced = json!({"path": "a.md", "find": "two", "replace": "2"});
    let said = bench.call("vault.replaceText", replaced).await;
    assert!(said.contains("file-replaced a.md"), "{said}");
    assert_eq!(bench.text("a.md"), "one and a half\n2\n");
    assert_eq!(bench.selection().await, "0:14-0:14 \"\"");
    assert!(bench.kept.texts().contains(&"one and a half\ntwo\n".to_owned()));
}

#[tokio::test]
async fn a_clean_note_is_read_again_when_another_program_changed_it() {
    let bench = Bench::new(&[("a.md", "one\ntwo\n")]);
    bench.open("a.md").await;
    bench.select((1, 0), (1, 3)).await;
    bench.write("a.md", "added by another\none\ntwo\n");
    assert_eq!(bench.selection().await, "2:0-2:3 \"two\"");
    bench.output("editor.replaceSelection", json!({"text": "2"})).await;
    assert_eq!(bench.text("a.md"), "added by another\none\n2\n");
}

// Conformance: tool 3.9
#[tokio::test]
async fn unsaved_text_and_a_change_on_disk_are_a_conflict_that_keeps_both() {
    let bench = Bench::unsaved(&[("a.md", "one\n")]);
    bench.open("a.md").await;
    bench.output("editor.insertAtCursor", json!({"text": "mine "})).await;
    bench.write("a.md", "theirs\n");
    let saved = bench.call("commands.run", json!({"id": "editor:save-file"})).await;
    expect![[r#"
        conflict: `a.md` has changed: it is not what was read; its unsaved text is kept here, and the file as it is on disk | read the note and keep its text in another file with vault.createFile; then run the command `app:reload`, which takes what is on disk
    "#]].assert_eq(&saved);
    let said = bench.call("vault.writeFile", json!({"path": "a.md", "content": "new"})).await;
    assert!(said.starts_with("conflict: "), "{said}");
    assert_eq!(bench.text("a.md"), "theirs\n");
    let read = bench.output("vault.readFile", json!({"path": "a.md"})).await;
    assert_eq!(read["content"], "mine one\n");
    bench.output("commands.run", json!({"id": "app:reload"})).await;
    let read = bench.output("vault.readFile", json!({"path": "a.md"})).await;
    assert_eq!(read["content"], "theirs\n");
    assert!(bench.kept.texts().contains(&"mine one\n".to_owned()), "what was dropped is kept");
    assert_eq!(bench.selection().await, "0:0-0:0 \"\"");
}

#[tokio::test]
async fn save_all_saves_every_note_also_one_that_no_leaf_shows() {
    let bench = Bench::unsaved(&[("a.md", "a"), ("b.md", "b"), ("c.md", "c")]);
    for path in ["a.md", "b.md"] {
        bench.open(path).await;
        bench.output("editor.insertAtCursor", json!({"text": "+"})).await;
    }
    bench.open("c.md").await;
    expect![[r#"
        {"id":"app:save-all","executed":true}
        saw modify-file
        saw run-command
        file-replaced a.md
        file-replaced b.md
    "#]]
    .assert_eq(&bench.call("commands.run", json!({"id": "app:save-all"})).await);
    let texts: Vec<String> = bench.files().into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["+a", "+b", "c"]);
}

#[tokio::test]
async fn a_note_that_is_closed_is_saved_first() {
    let bench = Bench::unsaved(&[("a.md", "a")]);
    bench.open("a.md").await;
    bench.output("editor.insertAtCursor", json!({"text": "+"})).await;
    bench.output("commands.run", json!({"id": "workspace:close"})).await;
    assert_eq!(bench.text("a.md"), "+a");
}

#[tokio::test]
async fn an_open_note_follows_its_file_and_its_folder() {
    let bench = Bench::new(&[("Old/a.md", "text")]);
    bench.open("Old/a.md").await;
    bench.select((0, 4), (0, 4)).await;
    bench.output("vault.rename", json!({"fromPath": "Old/a.md", "toPath": "Old/b.md"})).await;
    bench.output("vault.rename", json!({"fromPath": "Old", "toPath": "New"})).await;
    let inserted = bench.output("editor.insertAtCursor", json!({"text": "!"})).await;
    assert_eq!(inserted["filePath"], "New/b.md");
    assert_eq!(bench.text("New/b.md"), "text!");
}

#[tokio::test]
async fn a_deleted_note_is_closed_but_its_unsaved_text_is_not_lost() {
    let bench = Bench::new(&[("a.md", "a"), ("b.md", "b")]);
    bench.open("a.md").await;
    bench.output("vault.delete", json!({"path": "a.md"})).await;
    assert_eq!(bench.output("workspace.getContext", json!({})).await, json!({}));
    let bench = Bench::unsaved(&[("a.md", "a")]);
    bench.open("a.md").await;
    bench.output("editor.insertAtCursor", json!({"text": "mine "})).await;
    bench.output("vault.delete", json!({"path": "a.md"})).await;
    expect![[r#"
        {"id":"editor:save-file","executed":true}
        saw create-file
        saw run-command
        file-created a.md
    "#]]
    .assert_eq(&bench.call("commands.run", json!({"id": "editor:save-file"})).await);
    assert_eq!(bench.text("a.md"), "mine a");
}

#[tokio::test]
async fn a_note_that_another_program_removed_is_not_taken_for_another_one() {
    let bench = Bench::new(&[("a.md", "a"), ("b.md", "b")]);
    bench.open("b.md").await;
    bench.output("workspace.openFile", json!({"path": "a.md", "newLeaf": true})).await;
    std::fs::remove_file(bench.folder.path().join("a.md")).unwrap();
    let said = bench.call("editor.insertAtCursor", json!({"text": "x"})).await;
    assert_eq!(bench.text("b.md"), "b", "{said}");
}

#[tokio::test]
async fn mixed_line_endings_survive_an_edit_elsewhere() {
    let bench = Bench::new(&[("a.md", "\u{feff}one\r\ntwo\nthree\rfour")]);
    bench.open("a.md").await;
    bench.select((2, 5), (2, 5)).await;
    bench.output("editor.insertAtCursor", json!({"text": "!\n"})).await;
    assert_eq!(bench.text("a.md"), "\u{feff}one\r\ntwo\nthree!\r\n\rfour");
}

#[tokio::test]
async fn a_preview_changes_neither_the_vault_nor_what_is_open() {
    let bench = Bench::new(&[("a.md", "one"), ("b.md", "b")]);
    bench.open("a.md").await;
    bench.select((0, 3), (0, 3)).await;
    let before = (bench.files(), bench.selection().await);
    let imagined = bench.imagined();
    let mut said = imagined.call("editor.insertAtCursor", json!({"text": " two"})).await;
    said += &imagined.call("vault.rename", json!({"fromPath": "a.md", "toPath": "c.md"})).await;
    said += &imagined.call("editor.insertAtCursor", json!({"text": " three"})).await;
    said += &imagined.call("vault.readFile", json!({"path": "c.md"})).await;
    said += &imagined.call("commands.run", json!({"id": "daily-notes"})).await;
    said += &imagined.call("editor.insertAtCursor", json!({"text": "dear diary"})).await;
    said += &imagined.call("workspace.getContext", json!({"includeOpenLeaves": true})).await;
    expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":0,"ch":7},"insertedChars":4}
        saw modify-file
        file-replaced a.md
        {"fromPath":"a.md","toPath":"c.md","filesUpdated":0,"linksUpdated":0}
        saw rename-file
        moved a.md c.md
        {"filePath":"c.md","cursorAfter":{"line":0,"ch":13},"insertedChars":6}
        saw modify-file
        file-replaced c.md
        {"path":"c.md","content":"one two three","range":{"start":0,"end":13},"sizeBytes":13,"truncated":false,"encoding":"utf-8"}
        {"id":"daily-notes","executed":true}
        saw create-file
        saw run-command
        saw change-workspace
        file-created 2026-11-15.md
        {"filePath":"2026-11-15.md","cursorAfter":{"line":0,"ch":10},"insertedChars":10}
        saw modify-file
        file-replaced 2026-11-15.md
        {"activeFilePath":"2026-11-15.md","activeViewType":"markdown","isMarkdown":true,"openLeaves":[{"id":"leaf-1","viewType":"markdown","title":"2026-11-15"}]}
    "#]].assert_eq(&said);
    assert_eq!((bench.files(), bench.selection().await), before);
}

#[tokio::test]
async fn what_another_program_writes_at_the_last_moment_is_not_overwritten() {
    let bench = Bench::new(&[("a.md", "one")]);
    bench.open("a.md").await;
    let entry = bench.registry.get("editor.insertAtCursor").unwrap();
    let (cx, mut args) = (bench.cx(), entry.tool.decode(&json!({"text": "x"})).unwrap());
    entry.tool.validate(&cx, &mut args).await.unwrap();
    assert_eq!(entry.tool.intend(&cx, &mut args).await.len(), 1);
    bench.write("a.md", "theirs");
    let fault = entry.tool.run(&cx, args).await.err().unwrap();
    assert_eq!(fault.failure, envelope::Failure::Conflict);
    assert_eq!(bench.text("a.md"), "theirs");
    bench.output("editor.insertAtCursor", json!({"text": "x"})).await;
    assert_eq!(bench.text("a.md"), "xtheirs");
}

#[tokio::test]
async fn unsaved_text_follows_its_file_and_is_saved_there() {
    let bench = Bench::unsaved(&[("a.md", "a")]);
    bench.open("a.md").await;
    bench.output("editor.insertAtCursor", json!({"text": "mine "})).await;
    bench.output("vault.rename", json!({"fromPath": "a.md", "toPath": "Sub/b.md"})).await;
    bench.output("commands.run", json!({"id": "app:save-all"})).await;
    assert_eq!(bench.files(), [("Sub/b.md".to_owned(), "mine a".to_owned())]);
}

#[tokio::test]
async fn a_note_that_is_opened_through_a_link_is_the_note_it_leads_to() {
    let bench = Bench::unsaved(&[("Notes/a.md", "a")]);
    std::os::unix::fs::symlink("Notes", bench.folder.path().join("alias")).unwrap();
    let opened = bench.output("workspace.openFile", json!({"path": "alias/a.md"})).await;
    assert_eq!(opened["path"], "Notes/a.md");
    bench.output("editor.insertAtCursor", json!({"text": "+"})).await;
    for path in ["Notes/a.md", "alias/a.md"] {
        assert_eq!(bench.output("vault.readFile", json!({"path": path})).await["content"], "+a");
    }
    bench.output("vault.writeFile", json!({"path": "alias/a.md", "content": "+a!"})).await;
    assert_eq!(bench.text("Notes/a.md"), "+a!");
    assert_eq!(bench.selection().await, "0:1-0:1 \"\"");
}

#[tokio::test]
async fn a_preview_begins_with_what_is_on_the_screen() {
    let bench = Bench::unsaved(&[("a.md", "a")]);
    bench.open("a.md").await;
    bench.output("editor.insertAtCursor", json!({"text": "mine "})).await;
    let imagined = bench.imagined();
    let mut said =
        imagined.call("vault.replaceText", json!({"path": "a.md", "find": "a", "replace": "b"})).await;
    said += &imagined
        .call("editor.setSelection", json!({"from": {"line": 0, "ch": 0}, "to": {"line": 0, "ch": 6}}))
        .await;
    said += &imagined.call("editor.insertAtCursor", json!({"text": "!"})).await;
    said += &imagined.call("commands.run", json!({"id": "editor:save-file"})).await;
    said += &imagined.call("vault.readFile", json!({"path": "a.md"})).await;
    expect![[r#"
        {"path":"a.md","replaced":1}
        saw modify-file
        file-replaced a.md
        {"filePath":"a.md","range":{"from":{"line":0,"ch":0},"to":{"line":0,"ch":6}},"text":"mine b"}
        saw change-workspace
        {"filePath":"a.md","cursorAfter":{"line":0,"ch":7},"insertedChars":1}
        saw edit-buffer
        {"id":"editor:save-file","executed":true}
        saw modify-file
        saw run-command
        file-replaced a.md
        {"path":"a.md","content":"mine b!","range":{"start":0,"end":7},"sizeBytes":7,"truncated":false,"encoding":"utf-8"}
    "#]].assert_eq(&said);
    assert_eq!(bench.text("a.md"), "a");
    assert_eq!(bench.output("vault.readFile", json!({"path": "a.md"})).await["content"], "mine a");
}
