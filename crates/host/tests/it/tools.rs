//! The tools as a model uses them: JSON in, JSON out, through the registry.
use crate::support::Bench;
use expect_test::{Expect, expect, expect_file};
use serde_json::{Map, Value, json};
use toolkit::{Registry, ToolCx};

async fn check(bench: &Bench, tool: &str, args: Value, expected: Expect) {
    expected.assert_eq(&bench.call(tool, args).await);
}

fn declared() -> Registry {
    let mut registry = Registry::new();
    host::register(&mut registry, None).unwrap();
    registry
}

// Conformance: tool 1.9
#[test]
fn every_tool_is_declared_with_its_risk_also_without_a_host() {
    let names: Vec<String> = declared()
        .iter()
        .map(|entry| format!("{} {} {}", entry.decl.name, entry.decl.risk_level, entry.decl.summary))
        .collect();
    expect![[r#"
        commands.list read-only List the commands that the host can run.
        commands.run commands Run a command of the host.
        editor.getSelection read-only Read the selection of the active note and where it is.
        editor.insertAtCursor writes Insert text at the cursor of the active note.
        editor.replaceRange writes Replace the text between two positions of the active note.
        editor.replaceSelection writes Replace the selection in the active note, or insert at the cursor.
        editor.setSelection writes Select text in the active note, or set the cursor.
        workspace.getContext read-only Say which file is active and what else is open.
        workspace.openFile writes Open a file of the vault, so that it can be seen and edited."#]]
    .assert_eq(&names.join("\n"));
}

// Conformance: tool 1.1
#[test]
fn the_schemas_are_what_models_were_told() {
    let mut schemas = Map::new();
    for entry in declared().iter() {
        let decl = &entry.decl;
        schemas
            .insert(decl.name.to_string(), json!({"input": decl.input_schema, "output": decl.output_schema}));
    }
    expect_file!["schemas.json"].assert_eq(&format!("{:#}\n", Value::Object(schemas)));
}

#[tokio::test]
async fn without_a_host_a_call_says_what_is_missing() {
    let bench = Bench::new(&[]);
    for (tool, args) in [
        ("editor.getSelection", json!({})),
        ("editor.insertAtCursor", json!({"text": "x"})),
        ("workspace.getContext", json!({})),
        ("commands.run", json!({"id": "daily-notes"})),
    ] {
        let cx: ToolCx = bench.cx();
        let fault = crate::support::call(&declared(), &cx, tool, &args).await.unwrap_err();
        assert_eq!(fault.failure, envelope::Failure::SetupRequired, "{tool}");
    }
}

// Conformance: tool 1.10
// Conformance: tool 3.5
//     Without an active file the editor's tools fail with PRECONDITION_FAILED and a hint.
//     In: host/tools
#[tokio::test]
async fn with_nothing_open_the_editor_says_how_to_open_a_note() {
    let bench = Bench::new(&[("a.png", "")]);
    let nothing = "precondition_failed: no note is open | open a note first with workspace.openFile\n";
    for (tool, args) in [
        ("editor.getSelection", json!({})),
        ("editor.replaceSelection", json!({"text": "x"})),
        ("editor.insertAtCursor", json!({"text": "x"})),
        (
            "editor.replaceRange",
            json!({"from": {"line": 0, "ch": 0}, "to": {"line": 0, "ch": 0}, "text": "x"}),
        ),
        ("editor.setSelection", json!({"from": {"line": 0, "ch": 0}, "to": {"line": 0, "ch": 0}})),
    ] {
        assert_eq!(bench.call(tool, args).await, nothing, "{tool}");
    }
    check(
        &bench,
        "workspace.getContext",
        json!({"includeOpenLeaves": true}),
        expect![[r#"
        {"openLeaves":[]}
    "#]],
    )
    .await;
    bench.open("a.png").await;
    check(&bench, "editor.insertAtCursor", json!({"text": "x"}), expect![[r#"
        precondition_failed: `a.png` is open as image, which has no editor | open a note first with workspace.openFile
    "#]]).await;
}

// Conformance: tool 3.6
//     `workspace.getContext` and `workspace.openFile` tell and change what is open, with leaves on request.
//     In: host/tools
#[tokio::test]
async fn files_are_opened_in_the_active_leaf_or_in_their_own() {
    let bench = Bench::new(&[("a.md", "alpha"), ("Folder/b.md", ""), ("c.canvas", "{}"), ("d.txt", "")]);
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "a.md"}),
        expect![[r#"
        {"path":"a.md","opened":true,"leafId":"leaf-1"}
        saw change-workspace
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "a.md"}),
        expect![[r#"
        {"path":"a.md","opened":false,"leafId":"leaf-1"}
        saw change-workspace
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "Folder/b.md"}),
        expect![[r#"
        {"path":"Folder/b.md","opened":true,"leafId":"leaf-1"}
        saw change-workspace
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "c.canvas", "focus": false}),
        expect![[r#"
        {"path":"c.canvas","opened":true,"leafId":"leaf-2"}
        saw change-workspace
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "a.md", "newLeaf": true}),
        expect![[r#"
        {"path":"a.md","opened":true,"leafId":"leaf-3"}
        saw change-workspace
    "#]],
    )
    .await;
    bench.select((0, 1), (0, 3)).await;
    let all = json!({"includeOpenLeaves": true, "includeActiveViewState": true});
    check(&bench, "workspace.getContext", all, expect![[r#"
        {"activeFilePath":"a.md","activeViewType":"markdown","isMarkdown":true,"openLeaves":[{"id":"leaf-1","viewType":"markdown","title":"b"},{"id":"leaf-2","viewType":"canvas","title":"c.canvas"},{"id":"leaf-3","viewType":"markdown","title":"a"}],"selectionSummary":{"isEmpty":false,"length":2}}
    "#]]).await;
    check(
        &bench,
        "workspace.getContext",
        json!({}),
        expect![[r#"
        {"activeFilePath":"a.md","activeViewType":"markdown","isMarkdown":true}
    "#]],
    )
    .await;
    check(
        &bench,
        "workspace.openFile",
        json!({"path": "nope.md"}),
        expect![[r#"
        not_found: `nope.md` does not exist | list the vault to see what is there
    "#]],
    )
    .await;
    check(&bench, "workspace.openFile", json!({"path": "d.txt"}), expect![[r#"
        precondition_failed: no view can show `d.txt` | open a note, a canvas, an image or a PDF; other files are read with vault.readFile
    "#]]).await;
    check(&bench, "workspace.openFile", json!({"path": "../x.md"}), expect![[r#"
        invalid_arguments: `../x.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself | change the value that the message names
    "#]]).await;
    check(&bench, "workspace.openFile", json!({"path": ".obsidian/x.md"}), expect![[r#"
        sandbox_violation: `.obsidian/x.md` lies in `.obsidian`, which belongs to another program or to Tollgate itself | use a path outside .obsidian, .git, .trash and .tollgate
    "#]]).await;
}

// Conformance: tool 3.1
//     `editor.getSelection` gives text, range, file and mode; `isEmpty` for a bare cursor.
//     In: host/tools
// Conformance: tool 3.2
//     `editor.replaceSelection` says what range it replaced and how many characters it inserted; `preserveIndent` is
//     honoured.
//     In: host/tools
#[tokio::test]
async fn a_selection_is_read_and_replaced_in_utf16_units() {
    let bench = Bench::new(&[("a.md", "one 😀 two\nthree\n")]);
    bench.open("a.md").await;
    check(&bench, "editor.getSelection", json!({}), expect![[r#"
        {"text":"","isEmpty":true,"range":{"from":{"line":0,"ch":0},"to":{"line":0,"ch":0}},"filePath":"a.md","mode":"source"}
    "#]]).await;
    let select = json!({"from": {"line": 0, "ch": 4}, "to": {"line": 1, "ch": 2}});
    check(
        &bench,
        "editor.setSelection",
        select,
        expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":0,"ch":4},"to":{"line":1,"ch":2}},"text":"😀 two\nth"}
        saw change-workspace
    "#]],
    )
    .await;
    check(&bench, "editor.getSelection", json!({}), expect![[r#"
        {"text":"😀 two\nth","isEmpty":false,"range":{"from":{"line":0,"ch":4},"to":{"line":1,"ch":2}},"filePath":"a.md","mode":"source"}
    "#]]).await;
    check(
        &bench,
        "editor.replaceSelection",
        json!({"text": "🎉!\nnew "}),
        expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":0,"ch":4},"to":{"line":1,"ch":2}},"insertedChars":8}
        saw modify-file
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "one 🎉!\nnew ree\n");
    assert_eq!(bench.selection().await, "1:4-1:4 \"\"");
    assert_eq!(bench.kept.texts(), ["one 😀 two\nthree\n"]);
    check(
        &bench,
        "editor.replaceSelection",
        json!({"text": "th"}),
        expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":1,"ch":4},"to":{"line":1,"ch":4}},"insertedChars":2}
        saw modify-file
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "one 🎉!\nnew three\n");
}

// Conformance: tool 3.3
//     `editor.insertAtCursor` leaves the cursor after what it inserted.
//     In: host/tools
#[tokio::test]
async fn text_is_inserted_at_the_cursor_and_the_cursor_follows() {
    let bench = Bench::new(&[("a.md", "- item\r\n")]);
    bench.open("a.md").await;
    bench.select((0, 2), (0, 6)).await;
    check(
        &bench,
        "editor.insertAtCursor",
        json!({"text": "s\n- 😀"}),
        expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":1,"ch":4},"insertedChars":6}
        saw modify-file
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "- items\r\n- 😀\r\n");
    check(
        &bench,
        "editor.insertAtCursor",
        json!({"text": "!"}),
        expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":1,"ch":5},"insertedChars":1}
        saw modify-file
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "- items\r\n- 😀!\r\n");
}

// Conformance: tool 3.2
#[tokio::test]
async fn lines_are_indented_like_the_line_they_go_into() {
    let bench = Bench::new(&[("a.md", "- a\n\t  - here\n")]);
    bench.open("a.md").await;
    bench.select((1, 5), (1, 9)).await;
    let args = json!({"text": "one\r\n- two\n\n- three", "preserveIndent": true});
    check(
        &bench,
        "editor.replaceSelection",
        args,
        expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":1,"ch":5},"to":{"line":1,"ch":9}},"insertedChars":24}
        saw modify-file
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "- a\n\t  - one\n\t  - two\n\n\t  - three\n");
}

// Conformance: tool 3.4
//     `editor.replaceRange` replaces exactly that range or refuses it.
//     In: host/tools
#[tokio::test]
async fn a_range_is_replaced_exactly_or_refused() {
    let bench = Bench::new(&[("a.md", "one\ntwo 😀\n")]);
    bench.open("a.md").await;
    let range = |from: (u32, u32), to: (u32, u32)| {
        let place = |(line, ch): (u32, u32)| json!({"line": line, "ch": ch});
        json!({"from": place(from), "to": place(to), "text": "X"})
    };
    for (from, to) in [((0, 0), (9, 0)), ((0, 4), (0, 4)), ((1, 5), (1, 6)), ((1, 0), (0, 0))] {
        let said = bench.call("editor.replaceRange", range(from, to)).await;
        assert!(said.starts_with("invalid_arguments: "), "{said}");
    }
    check(
        &bench,
        "editor.replaceRange",
        range((0, 0), (9, 0)),
        expect![[r#"
        invalid_arguments: line 9 is not in the note | the note has the lines 0 to 2; it ends at 2:0 (line:ch)
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "one\ntwo 😀\n");
    check(
        &bench,
        "editor.replaceRange",
        range((1, 4), (1, 6)),
        expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":1,"ch":4},"to":{"line":1,"ch":6}},"insertedChars":1}
        saw modify-file
        file-replaced a.md
    "#]],
    )
    .await;
    assert_eq!(bench.text("a.md"), "one\ntwo X\n");
}

#[tokio::test]
async fn an_edit_can_expect_what_was_read() {
    let bench = Bench::new(&[("a.md", "one")]);
    bench.open("a.md").await;
    let first = bench.output("editor.insertAtCursor", json!({"text": "1"})).await;
    let with = |etag: &Value| json!({"text": "2", "expectedEtag": etag});
    let second = bench.output("editor.insertAtCursor", with(&first["etag"])).await;
    assert_ne!(first["etag"], second["etag"]);
    let said = bench.call("editor.insertAtCursor", with(&first["etag"])).await;
    assert!(said.starts_with("conflict: `a.md` has changed"), "{said}");
    assert_eq!(bench.text("a.md"), "12one");
}

// Conformance: tool 1.2
#[tokio::test]
async fn a_dry_run_tells_and_changes_nothing() {
    let bench = Bench::new(&[("a.md", "one two")]);
    bench.open("a.md").await;
    bench.select((0, 0), (0, 3)).await;
    let before = (bench.files(), bench.selection().await);
    let dry = json!({"text": "1", "dryRun": true});
    check(&bench, "editor.replaceSelection", dry.clone(), expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":0,"ch":0},"to":{"line":0,"ch":3}},"insertedChars":1,"dryRun":true}
    "#]]).await;
    check(
        &bench,
        "editor.insertAtCursor",
        dry,
        expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":0,"ch":4},"insertedChars":1,"dryRun":true}
    "#]],
    )
    .await;
    let range = json!({"from": {"line": 0, "ch": 0}, "to": {"line": 0, "ch": 7}, "text": "", "dryRun": true});
    check(&bench, "editor.replaceRange", range, expect![[r#"
        {"filePath":"a.md","range":{"from":{"line":0,"ch":0},"to":{"line":0,"ch":7}},"insertedChars":0,"dryRun":true}
    "#]]).await;
    assert_eq!((bench.files(), bench.selection().await), before);
    assert_eq!(bench.kept.texts(), Vec::<String>::new());
}

// Conformance: tool 3.7
//     `commands.list` filters by words and prefix and says who owns a command.
//     In: host/tools
#[tokio::test]
async fn commands_are_listed_by_words_and_by_prefix() {
    let bench = Bench::new(&[]);
    check(&bench, "commands.list", json!({}), expect![[r#"
        {"commands":[{"id":"app:reload","name":"Reload app without saving","ownerHint":"app","ownerType":"core","confidence":"high"},{"id":"app:save-all","name":"Save all files","ownerHint":"app","ownerType":"core","confidence":"high"},{"id":"daily-notes","name":"Daily notes: Open today's daily note","ownerType":"core","confidence":"high"},{"id":"editor:save-file","name":"Save current file","ownerHint":"editor","ownerType":"core","confidence":"high"},{"id":"editor:toggle-bullet-list","name":"Toggle bullet list","ownerHint":"editor","ownerType":"core","confidence":"high"},{"id":"editor:toggle-checklist-status","name":"Toggle checkbox status","ownerHint":"editor","ownerType":"core","confidence":"high"},{"id":"file-explorer:new-file","name":"Create new note","ownerHint":"file-explorer","ownerType":"core","confidence":"high"},{"id":"workspace:close","name":"Close current tab","ownerHint":"workspace","ownerType":"core","confidence":"high"},{"id":"workspace:next-tab","name":"Go to next tab","ownerHint":"workspace","ownerType":"core","confidence":"high"},{"id":"workspace:previous-tab","name":"Go to previous tab","ownerHint":"workspace","ownerType":"core","confidence":"high"}],"truncated":false}
    "#]]).await;
    check(&bench, "commands.list", json!({"query": "SAVE file", "limit": 1}), expect![[r#"
        {"commands":[{"id":"app:save-all","name":"Save all files","ownerHint":"app","ownerType":"core","confidence":"high"}],"truncated":true}
    "#]]).await;
    check(&bench, "commands.list", json!({"prefix": "workspace:", "query": "tab", "limit": 3}), expect![[r#"
        {"commands":[{"id":"workspace:close","name":"Close current tab","ownerHint":"workspace","ownerType":"core","confidence":"high"},{"id":"workspace:next-tab","name":"Go to next tab","ownerHint":"workspace","ownerType":"core","confidence":"high"},{"id":"workspace:previous-tab","name":"Go to previous tab","ownerHint":"workspace","ownerType":"core","confidence":"high"}],"truncated":false}
    "#]])
        .await;
    check(
        &bench,
        "commands.list",
        json!({"query": "nothing like it"}),
        expect![[r#"
        {"commands":[],"truncated":false}
    "#]],
    )
    .await;
}
