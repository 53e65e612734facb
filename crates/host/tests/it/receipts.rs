//! What stands in the record of a call on the host, and what a model reads of it.
use crate::support::Bench;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

async fn check(bench: &Bench, tool: &str, args: Value, expected: Expect) {
    expected.assert_eq(&bench.told(tool, args).await);
}

#[tokio::test]
async fn what_is_open_is_told_with_its_leaf() {
    let bench = Bench::new(&[("Inbox.md", "one\ntwo\n"), ("b.png", "")]);
    check(
        &bench,
        "workspace.getContext",
        json!({}),
        expect![[r#"
        {}
        Nothing is open
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "Inbox.md"}),
        expect![[r#"
        {"path":"Inbox.md","opened":true,"leaf_id":"leaf-1"}
        Opened Inbox.md (leaf leaf-1)
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "Inbox.md"}),
        expect![[r#"
        {"path":"Inbox.md","opened":false,"leaf_id":"leaf-1"}
        Inbox.md was open already (leaf leaf-1)
    "#]],
    )
    .await;
    bench.output("workspace.openFile", json!({"path": "b.png", "newLeaf": true})).await;
    bench.output("workspace.openFile", json!({"path": "Inbox.md"})).await;
    let all = json!({"includeOpenLeaves": true, "includeActiveViewState": true});
    check(&bench, "workspace.getContext", all, expect![[r#"
        {"active_file_path":"Inbox.md","active_view_type":"markdown","is_markdown":true,"selection_length":0,"open_leaves":[{"id":"leaf-1","view_type":"markdown","title":"Inbox"},{"id":"leaf-2","view_type":"image","title":"b.png"}]}
        Inbox.md is active (markdown); 0 UTF-16 units are selected
        leaf-1 markdown Inbox
        leaf-2 image b.png
    "#]]).await;
}

#[tokio::test]
async fn an_edit_is_confirmed_in_one_line_and_a_selection_is_shown() {
    let bench = Bench::new(&[("Inbox.md", "one\ntwo\nthree\n")]);
    bench.open("Inbox.md").await;
    let range = |from: u32, to: u32| json!({"from": {"line": from, "ch": 0}, "to": {"line": to, "ch": 0}});
    check(&bench, "editor.getSelection", json!({}), expect![[r#"
        {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":0},"to":{"line":0,"ch":0}},"is_empty":true,"mode":"source","text_preview":"","text_bytes":0,"truncated":false}
        The cursor is at 0:0 of Inbox.md; nothing is selected
    "#]]).await;
    check(&bench, "editor.setSelection", range(0, 2), expect![[r#"
        {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":0},"to":{"line":2,"ch":0}},"is_empty":false,"text_preview":"one\ntwo\n","text_bytes":8,"truncated":false}
        Selected 0:0 to 2:0 of Inbox.md
        one
        two
    "#]]).await;
    check(&bench, "editor.getSelection", json!({}), expect![[r#"
        {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":0},"to":{"line":2,"ch":0}},"is_empty":false,"mode":"source","text_preview":"one\ntwo\n","text_bytes":8,"truncated":false}
        0:0 to 2:0 of Inbox.md is selected
        one
        two
    "#]]).await;
    check(&bench, "editor.replaceSelection", json!({"text": "1\n", "dryRun": true}), expect![[r#"
        {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":0},"to":{"line":2,"ch":0}},"inserted_chars":2,"etag":"ETAG","dry_run":true}
        Would replace 0:0 to 2:0 of Inbox.md by 2 characters (etag ETAG)
    "#]]).await;
    check(&bench, "editor.replaceSelection", json!({"text": "1\n"}), expect![[r#"
        {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":0},"to":{"line":2,"ch":0}},"inserted_chars":2,"etag":"ETAG"}
        Replaced 0:0 to 2:0 of Inbox.md by 2 characters (etag ETAG)
    "#]]).await;
    check(
        &bench,
        "editor.insertAtCursor",
        json!({"text": "2\n"}),
        expect![[r#"
        {"file_path":"Inbox.md","cursor_after":{"line":2,"ch":0},"inserted_chars":2,"etag":"ETAG"}
        Inserted 2 characters in Inbox.md; the cursor is at 2:0 (etag ETAG)
    "#]],
    )
    .await;
    let mut replace = range(0, 1);
    replace["text"] = json!("");
    check(&bench, "editor.replaceRange", replace, expect![[r#"
        {"file_path":"Inbox.md","range":{"from":{"line":0,"ch":0},"to":{"line":1,"ch":0}},"inserted_chars":0,"etag":"ETAG"}
        Replaced 0:0 to 1:0 of Inbox.md by 0 characters (etag ETAG)
    "#]]).await;
}

#[tokio::test]
async fn commands_are_listed_by_what_they_are_called_by_and_run_in_one_line() {
    let bench = Bench::new(&[("Inbox.md", "one\n")]);
    check(&bench, "commands.list", json!({"limit": 2}), expect![[r#"
        {"commands":[{"id":"app:reload","name":"Reload app without saving","owner_type":"core"},{"id":"app:save-all","name":"Save all files","owner_type":"core"}],"count":2,"more":true,"truncated":true}
        Found 2 commands, and there are more
        app:reload: Reload app without saving
        app:save-all: Save all files
        … there are more: ask for fewer with query or prefix
    "#]]).await;
    check(&bench, "commands.run", json!({"id": "editor:toggle-bullet-list"}), expect![[r#"
        {"id":"editor:toggle-bullet-list","executed":false,"error_message":"nothing is open; open a note first with workspace.openFile"}
        Did not run editor:toggle-bullet-list: nothing is open; open a note first with workspace.openFile
    "#]]).await;
    check(
        &bench,
        "commands.run",
        json!({"id": "daily-notes"}),
        expect![[r#"
        {"id":"daily-notes","executed":true}
        Ran daily-notes
    "#]],
    )
    .await;
}
