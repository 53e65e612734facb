//! The tools as a model uses them: JSON in, JSON out, through the registry.

use std::path::Path;
use std::sync::Arc;

use envelope::{CallId, Effects, FileState, Hash, VaultChange};
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use toolkit::{CancelCause, CancelToken, Projection, ReconcileOutcome, Registry, ToolCx};
use vault::{Vault, register};

struct ToolFixture {
    folder: tempfile::TempDir,
    registry: Registry,
}

impl ToolFixture {
    fn new(files: &[(&str, &[u8])]) -> ToolFixture {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            put(&path, content);
        }
        let vault = Arc::new(Vault::open(folder.path()).unwrap());
        let mut registry = Registry::new();
        register(&mut registry, Some(vault)).unwrap();
        ToolFixture { folder, registry }
    }

    fn cx() -> ToolCx {
        ToolCx::new(CallId::parse("call").unwrap(), CancelToken::new(), None)
    }

    /// The only function that calls a tool. Returns the output, or the fault with its hint; then the effects.
    async fn call(&self, tool: &str, args: Value) -> (Value, Effects) {
        let cx = ToolFixture::cx();
        let output = self.call_with(&cx, tool, &args).await;
        (output, cx.take_report().effects)
    }

    async fn call_with(&self, cx: &ToolCx, tool: &str, args: &Value) -> Value {
        let entry = self.registry.get(tool).unwrap();
        let problems = entry.input.validate(args);
        assert!(problems.is_empty(), "{problems:?}");
        let result = async {
            let mut args = entry.tool.decode(args)?;
            entry.tool.validate(cx, &mut args).await?;
            assert!(!entry.tool.preview(&args).is_empty());
            entry.tool.run(cx, args).await?.map(Projection::new(1_000, None))
        };
        match result.await {
            Ok(mapped) => {
                let problems = entry.output.validate(&mapped.data);
                assert!(problems.is_empty(), "{problems:?}");
                mapped.data
            }
            Err(fault) => {
                json!({"kind": fault.failure, "message": fault.message, "hint": fault.recovery_hint()})
            }
        }
    }

    /// Returns output and effects as text, without file times.
    async fn check(&self, tool: &str, args: Value, expected: Expect) {
        let (mut output, effects) = self.call(tool, args).await;
        without_times(&mut output);
        let mut shown = format!("{output}\n");
        if !effects.is_empty() {
            let effects = serde_json::to_value(effects).unwrap();
            shown.push_str(&format!("effects {effects}\n"));
        }
        expected.assert_eq(&shown);
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

fn put(path: &Path, content: &[u8]) {
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content).unwrap();
}

fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                assert!(name != "mtimeMs" || value.as_i64().unwrap() > 1_600_000_000_000);
                name != "mtimeMs"
            });
            fields.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

// Conformance: tool 1.9
#[test]
fn every_tool_is_registered_also_without_a_vault() {
    let mut registry = Registry::new();
    register(&mut registry, None).unwrap();
    let names: Vec<String> = registry
        .iter()
        .map(|entry| format!("{} {} {}", entry.decl.name, entry.decl.risk_level, entry.decl.summary))
        .collect();
    expect![[r#"
        util.parseMarkdownBullets read-only Find the bullets and numbered items in Markdown text.
        util.slugifyTitle read-only Turn a title into a safe file name without its extension.
        vault.createFile writes Create a file with the given text, and the folders above it.
        vault.delete writes Delete a file or a folder, into the vault's trash unless told otherwise.
        vault.ensureFolder writes Make sure that a folder exists, creating it and its parents if needed.
        vault.getLinks read-only Get the links from a note, the links to it, and those that lead nowhere.
        vault.getOutline read-only List the headings and block ids of a note.
        vault.listFiles read-only List the files and folders of a folder, or of everything below it.
        vault.patchFile writes Insert, delete and replace text at given positions of a file.
        vault.patchSection writes Replace or extend a section of a note, or a block with an id.
        vault.readFile read-only Read a file as text or base64, whole or in part.
        vault.rename writes Rename or move a file or a folder, and keep the links to it.
        vault.replaceText writes Replace a text in a file by another, found by what it says.
        vault.searchText read-only Find a text or a regular expression in the files of the vault.
        vault.updateFrontmatter writes Set, remove or extend properties of a note and keep all else as it is.
        vault.writeFile writes Write the whole text of a file, or append to it."#]]
    .assert_eq(&names.join("\n"));
}

// Conformance: tool 1.1
#[test]
fn the_schemas_are_what_models_were_told() {
    let mut registry = Registry::new();
    register(&mut registry, None).unwrap();
    let mut schemas = Map::new();
    for entry in registry.iter() {
        let decl = &entry.decl;
        schemas
            .insert(decl.name.to_string(), json!({"input": decl.input_schema, "output": decl.output_schema}));
    }
    expect_test::expect_file!["schemas.json"].assert_eq(&format!("{:#}\n", Value::Object(schemas)));
}

#[tokio::test]
async fn without_a_vault_a_call_says_how_to_open_one() {
    let mut registry = Registry::new();
    register(&mut registry, None).unwrap();
    let fixture = ToolFixture { folder: tempfile::tempdir().unwrap(), registry };
    fixture.check("vault.readFile", json!({"path": "a.md"}), expect![[r#"
        {"kind":"setup_required","message":"no vault is open","hint":"name the folder of your notes with `--vault DIR`"}
    "#]]).await;
}

// Conformance: tool 2.4
//     `vault.readFile` reads text or base64, whole or a range, bounded, and says when it was cut.
//     In: vault/files/read_file.rs
#[tokio::test]
async fn a_note_is_read_whole_with_its_etag() {
    let fixture = ToolFixture::new(&[("Notes/Inbox.md", b"- one\n- two\n")]);
    fixture.check("vault.readFile", json!({"path": "Notes/Inbox.md"}), expect![[r#"
        {"path":"Notes/Inbox.md","content":"- one\n- two\n","etag":"767b523a0de15bfb34a696addfafd6f3","truncated":false,"encoding":"utf-8","sizeBytes":12,"range":{"start":0,"end":12}}
    "#]]).await;
}

// Conformance: tool 2.4
#[tokio::test]
async fn a_long_note_is_read_in_parts_that_join_to_the_whole() {
    let text = "aé€😀".repeat(100);
    let fixture = ToolFixture::new(&[("long.md", text.as_bytes())]);
    let (mut start, mut joined, mut parts) = (0, String::new(), 0);
    loop {
        let args = json!({"path": "long.md", "maxBytes": 64, "range": {"start": start, "end": 1_000_000}});
        let (output, _) = fixture.call("vault.readFile", args).await;
        joined.push_str(output["content"].as_str().unwrap());
        start = output["range"]["end"].as_u64().unwrap();
        parts += 1;
        if !output["truncated"].as_bool().unwrap() {
            break;
        }
    }
    assert_eq!(joined, text);
    assert!(parts > text.len() / 64, "{parts} parts");
}

// Conformance: tool 2.4
#[tokio::test]
async fn what_cannot_be_read_says_what_to_do_instead() {
    let fixture = ToolFixture::new(&[
        ("Notes/Inbox.md", b"x"),
        ("pic.png", b"\x89PNG\r\n\xff"),
        ("twelve.md", b"0123456789ab"),
    ]);
    for (args, expected) in [
        (
            json!({"path": "Notes/Inbx.md"}),
            expect![[r#"
            {"kind":"not_found","message":"`Notes/Inbx.md` does not exist","hint":"did you mean `Notes/Inbox.md`?"}
        "#]],
        ),
        (
            json!({"path": "notes/Inbox.md"}),
            expect![[r#"
            {"kind":"not_found","message":"`notes/Inbox.md` does not exist","hint":"did you mean `Notes/Inbox.md`?"}
        "#]],
        ),
        (
            json!({"path": "Notes"}),
            expect![[r#"
            {"kind":"precondition_failed","message":"`Notes` is a folder, not a file","hint":"list the folder, then name a file in it"}
        "#]],
        ),
        (
            json!({"path": "Notes/Inbox.md/x"}),
            expect![[r#"
            {"kind":"precondition_failed","message":"`Notes/Inbox.md` is a file, so nothing can be below it","hint":"name a folder, or leave out what follows the file"}
        "#]],
        ),
        (
            json!({"path": "../secret.md"}),
            expect![[r#"
            {"kind":"invalid_arguments","message":"`../secret.md` is not a path inside the vault: it contains `.` or `..`; name the folder itself","hint":"change the value that the message names"}
        "#]],
        ),
        (
            json!({"path": ".Obsidian/app.json"}),
            expect![[r#"
            {"kind":"sandbox_violation","message":"`.Obsidian/app.json` lies in `.obsidian`, which belongs to another program or to Tollgate itself","hint":"use a path outside .obsidian, .git, .trash and .tollgate"}
        "#]],
        ),
        (
            json!({"path": "pic.png"}),
            expect![[r#"
            {"kind":"precondition_failed","message":"`pic.png` is not UTF-8 text; it looks like a PNG image","hint":"read it with as: \"base64\""}
        "#]],
        ),
        (
            json!({"path": "twelve.md", "range": {"start": 13, "end": 14}}),
            expect![[r#"
            {"kind":"invalid_arguments","message":"the range starts at 13, but `twelve.md` has 12 bytes","hint":"give a range that starts between 0 and 12"}
        "#]],
        ),
        (
            json!({"path": "twelve.md", "range": {"start": 3, "end": 2}}),
            expect![[r#"
            {"kind":"invalid_arguments","message":"the range starts at 3 and ends before that, at 2","hint":"give `start` and `end` in bytes with start <= end"}
        "#]],
        ),
    ] {
        fixture.check("vault.readFile", args, expected).await;
    }
}

#[test]
fn rules_about_paths_see_through_links() {
    let fixture = ToolFixture::new(&[("Private/diary.md", b"")]);
    std::os::unix::fs::symlink("Private", fixture.folder.path().join("alias")).unwrap();
    let reaches = |path: &str| {
        let entry = fixture.registry.get("vault.readFile").unwrap();
        let args = entry.tool.decode(&json!({ "path": path })).unwrap();
        format!("{:?}", entry.tool.paths(&args).reads)
    };
    assert_eq!(reaches("Private/diary.md"), r#"[Path("Private/diary.md")]"#);
    assert_eq!(reaches("alias/diary.md"), r#"[Path("alias/diary.md"), Path("Private/diary.md")]"#);
    assert_eq!(reaches("alias/new.md"), r#"[Path("alias/new.md"), Path("Private/new.md")]"#);
    assert_eq!(reaches("../x"), "[]");
}

// Conformance: tool 2.4
#[tokio::test]
async fn bytes_come_as_base64() {
    let fixture = ToolFixture::new(&[("pic.png", b"\x89PNG\r\n\xff")]);
    let args = json!({"path": "pic.png", "as": "base64", "range": {"start": 1, "end": 4}});
    fixture.check("vault.readFile", args, expect![[r#"
        {"path":"pic.png","content":"UE5H","etag":"7e517d1e27466ea97376138581a63e8c","truncated":false,"encoding":"base64","sizeBytes":7,"range":{"start":1,"end":4}}
    "#]]).await;
}

// Conformance: tool 2.2
//     `vault.listFiles` lists by folder, depth and extension, in pages; what is cut says so.
//     In: vault/files/list_files.rs
#[tokio::test]
async fn a_listing_is_ordered_paged_and_without_hidden_names() {
    let fixture = ToolFixture::new(&[
        ("b.md", b"b"),
        ("a/2.md", b""),
        ("a/1.MD", b"1"),
        ("a/pic.png", b""),
        ("a b/x.md", b""),
        (".obsidian/app.json", b"{}"),
        (".hidden.md", b""),
        ("GIT~1/config", b""),
        ("aux.md", b""),
    ]);
    fixture.check("vault.listFiles", json!({}), expect![[r#"
        {"items":[{"path":"\\x61ux.md","kind":"file","sizeBytes":0},{"path":"a","kind":"folder"},{"path":"a b","kind":"folder"},{"path":"b.md","kind":"file","sizeBytes":1}],"truncated":false}
    "#]]).await;
    fixture.check("vault.listFiles", json!({"recursive": true, "extensions": [".md"]}), expect![[r#"
        {"items":[{"path":"\\x61ux.md","kind":"file","sizeBytes":0},{"path":"a/1.MD","kind":"file","sizeBytes":1},{"path":"a/2.md","kind":"file","sizeBytes":0},{"path":"a b/x.md","kind":"file","sizeBytes":0},{"path":"b.md","kind":"file","sizeBytes":1}],"truncated":false}
    "#]]).await;
    fixture.check("vault.listFiles", json!({"prefix": "a/", "limit": 2}), expect![[r#"
        {"items":[{"path":"a/1.MD","kind":"file","sizeBytes":1},{"path":"a/2.md","kind":"file","sizeBytes":0}],"nextOffset":2,"truncated":true}
    "#]]).await;
    fixture
        .check(
            "vault.listFiles",
            json!({"prefix": "a", "limit": 2, "offset": 2}),
            expect![[r#"
        {"items":[{"path":"a/pic.png","kind":"file","sizeBytes":0}],"truncated":false}
    "#]],
        )
        .await;
    fixture
        .check(
            "vault.listFiles",
            json!({"prefix": "b.md"}),
            expect![[r#"
        {"kind":"precondition_failed","message":"`b.md` is a file, not a folder","hint":"name a folder"}
    "#]],
        )
        .await;
    fixture.check("vault.listFiles", json!({"prefix": ".git"}), expect![[r#"
        {"kind":"sandbox_violation","message":"`.git` lies in `.git`, which belongs to another program or to Tollgate itself","hint":"use a path outside .obsidian, .git, .trash and .tollgate"}
    "#]]).await;
    fixture
        .check(
            "vault.listFiles",
            json!({"prefix": "a/b/c"}),
            expect![[r#"
        {"kind":"not_found","message":"`a/b/c` does not exist","hint":"list `a` to see what is there"}
    "#]],
        )
        .await;
}

// Conformance: tool 2.1
//     `vault.ensureFolder` makes a folder and answers `created: false` when it was there.
//     In: vault/files/ensure_folder.rs
#[tokio::test]
async fn folders_are_made_once_with_their_parents() {
    let fixture = ToolFixture::new(&[("file", b"")]);
    fixture
        .check(
            "vault.ensureFolder",
            json!({"path": "a/b/", "dryRun": true}),
            expect![[r#"
        {"path":"a/b","created":true,"dryRun":true}
    "#]],
        )
        .await;
    assert!(!fixture.folder.path().join("a").exists());
    fixture.check("vault.ensureFolder", json!({"path": "a/b"}), expect![[r#"
        {"path":"a/b","created":true}
        effects {"sideEffectsObserved":["create-folder"],"created":[{"path":"a","kind":"folder"},{"path":"a/b","kind":"folder"}]}
    "#]]).await;
    fixture
        .check(
            "vault.ensureFolder",
            json!({"path": "a/b"}),
            expect![[r#"
        {"path":"a/b","created":false}
    "#]],
        )
        .await;
    fixture.check("vault.ensureFolder", json!({"path": "A/c"}), expect![[r#"
        {"kind":"conflict","message":"`A` and the existing `a` are the same name on many systems","hint":"write `a` as it is spelled, or choose a name that differs in more than case"}
    "#]]).await;
    fixture.check("vault.ensureFolder", json!({"path": "file"}), expect![[r#"
        {"kind":"conflict","message":"`file` exists and is a file, not a folder","hint":"choose another name for the folder"}
    "#]]).await;
    fixture.check("vault.ensureFolder", json!({"path": ""}), expect![[r#"
        {"kind":"invalid_arguments","message":"the path is empty: the vault itself is always there","hint":"name a folder, such as `Projects/2026`"}
    "#]]).await;
}

// Conformance: tool 2.5
//     `vault.createFile` creates only, unless a collision strategy says otherwise; `frontmatter` is put on top.
//     In: vault/files/create_file.rs
#[tokio::test]
async fn a_file_is_created_with_its_folders_and_frontmatter() {
    let fixture = ToolFixture::new(&[]);
    let args = json!({"path": "Notes/New/Idea.md", "content": "# Idea\n", "frontmatter": {"tags": ["a"]}});
    fixture.check("vault.createFile", args, expect![[r#"
        {"path":"Notes/New/Idea.md","created":true,"etag":"b09614f807e98f9ff7c0559fbc13f678"}
        effects {"sideEffectsObserved":["create-folder","create-file"],"created":[{"path":"Notes","kind":"folder"},{"path":"Notes/New","kind":"folder"},{"path":"Notes/New/Idea.md","kind":"file"}]}
    "#]]).await;
    assert_eq!(fixture.text("Notes/New/Idea.md"), "---\ntags:\n  - a\n---\n# Idea\n");
}

// Conformance: tool 2.5
#[tokio::test]
async fn a_taken_path_is_handled_as_asked() {
    let fixture = ToolFixture::new(&[("Note.md", b"old"), ("Folder/x", b"")]);
    let args = |more: Value| {
        let mut args = json!({"path": "Note.md", "content": "new"});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    fixture.check("vault.createFile", args(json!({})), expect![[r#"
        {"kind":"conflict","message":"`Note.md` already exists (a file)","hint":"choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""}
    "#]]).await;
    fixture.check("vault.createFile", args(json!({"path": "NOTE.md"})), expect![[r#"
        {"kind":"conflict","message":"`NOTE.md` and the existing `Note.md` are the same name on many systems","hint":"write `Note.md` as it is spelled, or choose a name that differs in more than case"}
    "#]]).await;
    fixture.check("vault.createFile", args(json!({"path": "Folder"})), expect![[r#"
        {"kind":"conflict","message":"`Folder` already exists (a folder)","hint":"choose another path, or set collisionStrategy to \"create-unique\""}
    "#]]).await;
    fixture.check("vault.createFile", args(json!({"path": "Folder/x/y.md"})), expect![[r#"
        {"kind":"precondition_failed","message":"`Folder/x` is a file, so nothing can be below it","hint":"name a folder, or leave out what follows the file"}
    "#]]).await;
    fixture
        .check(
            "vault.createFile",
            args(json!({"collisionStrategy": "create-unique", "dryRun": true})),
            expect![[r#"
                {"path":"Note 1.md","created":true,"etag":"b20ab0a020a48d349e0c64d109c441f8","dryRun":true}
            "#]],
        )
        .await;
    fixture
        .check(
            "vault.createFile",
            args(json!({"collisionStrategy": "create-unique"})),
            expect![[r#"
        {"path":"Note 1.md","created":true,"etag":"b20ab0a020a48d349e0c64d109c441f8"}
        effects {"sideEffectsObserved":["create-file"],"created":[{"path":"Note 1.md","kind":"file"}]}
    "#]],
        )
        .await;
    assert_eq!((fixture.text("Note.md"), fixture.text("Note 1.md")), ("old".to_owned(), "new".to_owned()));
    fixture
        .check(
            "vault.createFile",
            args(json!({"ifNotExists": false, "dryRun": true})),
            expect![[r#"
        {"path":"Note.md","created":false,"etag":"b20ab0a020a48d349e0c64d109c441f8","dryRun":true}
    "#]],
        )
        .await;
    assert_eq!(fixture.text("Note.md"), "old");
    fixture.check("vault.createFile", args(json!({"collisionStrategy": "overwrite"})), expect![[r#"
        {"path":"Note.md","created":false,"etag":"b20ab0a020a48d349e0c64d109c441f8"}
        effects {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Note.md","kind":"file","beforeEtag":"96a4257289f9ebcbc94bfc49276f89ed","afterEtag":"b20ab0a020a48d349e0c64d109c441f8"}]}
    "#]]).await;
    assert_eq!(fixture.text("Note.md"), "new");
    let both = args(json!({"collisionStrategy": "overwrite", "ifNotExists": true}));
    fixture.check("vault.createFile", both, expect![[r#"
        {"kind":"invalid_arguments","message":"ifNotExists: true and collisionStrategy: \"overwrite\" contradict each other","hint":"leave out ifNotExists to overwrite, or leave out collisionStrategy to only create"}
    "#]]).await;
}

#[tokio::test]
async fn what_cannot_be_overwritten_is_not_said_to_be() {
    let fixture = ToolFixture::new(&[("Folder/x.md", b"x")]);
    let base = fixture.folder.path();
    for (target, link) in [("nowhere.md", "dead"), ("Folder", "to-folder"), ("Folder/x.md", "to-file")] {
        std::os::unix::fs::symlink(target, base.join(link)).unwrap();
    }
    let pipe = base.join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut shown = String::new();
    for path in ["Folder", "Folder/x.md", "dead", "to-folder", "to-file", "pipe"] {
        let (said, _) = fixture.call("vault.createFile", json!({"path": path, "content": ""})).await;
        let offers = said["hint"].as_str().unwrap().contains("overwrite");
        let args = json!({"path": path, "content": "", "collisionStrategy": "overwrite"});
        let (overwritten, _) = fixture.call("vault.createFile", args).await;
        assert_eq!(offers, overwritten["etag"].is_string(), "{path}: {said} {overwritten}");
        shown.push_str(&format!("{}: {}\n", said["message"], said["hint"]));
    }
    expect![[r#"
        "`Folder` already exists (a folder)": "choose another path, or set collisionStrategy to \"create-unique\""
        "`Folder/x.md` already exists (a file)": "choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""
        "`dead` already exists (a link that leads to no file)": "choose another path, or set collisionStrategy to \"create-unique\""
        "`to-folder` already exists (a link)": "choose another path, or set collisionStrategy to \"create-unique\""
        "`to-file` already exists (a link)": "choose another path, or set collisionStrategy to \"create-unique\" or \"overwrite\""
        "`pipe` already exists (a pipe, a socket or a device)": "choose another path, or set collisionStrategy to \"create-unique\""
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn a_cancelled_call_writes_nothing() {
    let fixture = ToolFixture::new(&[]);
    let cx = ToolFixture::cx();
    cx.cancel().cancel(CancelCause::Run);
    let output = fixture.call_with(&cx, "vault.createFile", &json!({"path": "a/b.md", "content": ""})).await;
    assert_eq!(output["kind"], "canceled");
    assert!(cx.take_report().effects.is_empty());
    assert_eq!(std::fs::read_dir(fixture.folder.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn after_a_crash_the_file_itself_tells_whether_it_was_written() {
    let fixture = ToolFixture::new(&[("Note.md", b"old")]);
    let entry = fixture.registry.get("vault.createFile").unwrap();
    let cx = ToolFixture::cx();
    let args = json!({"path": "Note.md", "content": "new", "collisionStrategy": "create-unique"});
    let mut decoded = entry.tool.decode(&args).unwrap();
    entry.tool.validate(&cx, &mut decoded).await.unwrap();
    let intent = entry.tool.intend(&cx, &mut decoded).await;
    let after = FileState { hash: Hash::of(b"new"), bytes: 3, mode: 0o644 };
    assert_eq!(intent, [VaultChange::FileCreated { path: "Note 1.md".to_owned(), after }]);
    let verdict = |reconciled| match reconciled {
        ReconcileOutcome::Happened(_) => "happened",
        ReconcileOutcome::DidNot { .. } => "did not",
        ReconcileOutcome::Unknown { .. } => "unknown",
    };
    assert_eq!(verdict(entry.tool.reconcile(&cx, &decoded, &intent).await), "did not");
    fixture.call("vault.createFile", args.clone()).await;
    match entry.tool.reconcile(&cx, &decoded, &intent).await {
        ReconcileOutcome::Happened(output) => {
            let data = output.map(Projection::new(1_000, None)).unwrap().data;
            assert_eq!((&data["path"], &data["created"]), (&json!("Note 1.md"), &json!(true)));
        }
        ReconcileOutcome::DidNot { .. } | ReconcileOutcome::Unknown { .. } => panic!("the file is there"),
    }
    put(&fixture.folder.path().join("Note 1.md"), b"edited since");
    assert_eq!(verdict(entry.tool.reconcile(&cx, &decoded, &intent).await), "unknown");
    assert_eq!(verdict(entry.tool.reconcile(&cx, &decoded, &[]).await), "did not");
}

// Conformance: tool 4.1
//     `util.parseMarkdownBullets` gives each item its text, its raw line and its depth.
//     In: notes/bullets.rs
// Conformance: tool 4.2
//     `util.slugifyTitle` makes a safe name of at most `maxLength`.
//     In: notes/slug.rs
#[tokio::test]
async fn bullets_and_titles_become_items_and_names() {
    let fixture = ToolFixture::new(&[]);
    let text = "# Inbox\n- [ ] Buy milk\n  - oat\n- Call Ann\n";
    fixture.check("util.parseMarkdownBullets", json!({"text": text}), expect![[r#"
        {"items":[{"text":"Buy milk","raw":"- [ ] Buy milk","depth":0},{"text":"oat","raw":"  - oat","depth":1},{"text":"Call Ann","raw":"- Call Ann","depth":0}],"count":3}
    "#]]).await;
    fixture.check("util.parseMarkdownBullets", json!({"text": text, "allowNested": false}), expect![[r#"
        {"items":[{"text":"Buy milk","raw":"- [ ] Buy milk","depth":0},{"text":"Call Ann","raw":"- Call Ann","depth":0}],"count":2}
    "#]]).await;
    fixture
        .check(
            "util.slugifyTitle",
            json!({"title": "Buy milk!", "maxLength": 5}),
            expect![[r#"
        {"slug":"buy-m"}
    "#]],
        )
        .await;
}
