//! Recorded data of a call: the paths that it names before, the effects that it reports after, and the same
//! effects after a crash between the work and the report.

use std::path::Path;
use std::sync::Arc;

use envelope::{CallId, Effects};
use expect_test::expect;
use serde_json::{Value, json};
use toolkit::{
    CancelCause, CancelToken, DecodedArgs, Projection, ReconcileOutcome, RegisteredTool, Registry, ToolCx,
};
use vault::{Vault, register};

/// A vault with `Keep.md`, and `alias`, a link to `Notes`.
struct RecordFixture {
    folder: tempfile::TempDir,
    registry: Registry,
}

impl RecordFixture {
    fn new() -> RecordFixture {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("Keep.md"), "old");
        std::fs::create_dir(folder.path().join("Notes")).unwrap();
        std::os::unix::fs::symlink("Notes", folder.path().join("alias")).unwrap();
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder.path()).unwrap()))).unwrap();
        RecordFixture { folder, registry }
    }

    fn entry(&self, tool: &str) -> &RegisteredTool {
        self.registry.get(tool).unwrap()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// A call up to the point where it is permitted.
    async fn permitted(&self, call: &str, args: &Value) -> PermittedCall<'_> {
        let entry = self.entry("vault.createFile");
        let (cx, mut args) = (cx(call), entry.tool.decode(args).unwrap());
        entry.tool.validate(&cx, &mut args).await.unwrap();
        let paths = format!("{:?}", entry.tool.paths(&args).writes);
        PermittedCall { entry, cx, args, paths }
    }
}

struct PermittedCall<'a> {
    entry: &'a RegisteredTool,
    cx: ToolCx,
    args: DecodedArgs,
    paths: String,
}

impl PermittedCall<'_> {
    /// Returns the path that was written, or the error.
    async fn run(mut self) -> String {
        let intended = self.entry.tool.intend(&self.cx, &mut self.args).await;
        match self.entry.tool.run(&self.cx, self.args).await {
            Ok(raw) => {
                let data = raw.map(Projection::new(1_000, None)).unwrap().data;
                assert_eq!(
                    data["path"],
                    intended.last().unwrap().paths().next().unwrap(),
                    "what was intended was written"
                );
                data["path"].as_str().unwrap().to_owned()
            }
            Err(fault) => format!("{} (retryable: {}): {fault}", fault.failure, fault.is_retryable()),
        }
    }
}

fn put(path: &Path, text: &str) {
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), text.as_bytes()).unwrap();
}

fn cx(call: &str) -> ToolCx {
    ToolCx::new(CallId::parse(call).unwrap(), CancelToken::new(), None)
}

fn effects(cx: &ToolCx) -> Effects {
    cx.take_report().effects
}

fn unique(path: &str) -> Value {
    json!({"path": path, "content": "new", "collisionStrategy": "create-unique"})
}

#[tokio::test]
async fn a_reconciled_call_reports_what_the_call_itself_reported() {
    let mut shown = String::new();
    for (tool, args) in [
        ("vault.createFile", json!({"path": "a.md", "content": "new"})),
        ("vault.createFile", json!({"path": "New/Deep/a.md", "content": "new"})),
        ("vault.createFile", json!({"path": "alias/Deep/a.md", "content": "new"})),
        ("vault.createFile", unique("Keep.md")),
        ("vault.createFile", json!({"path": "Keep.md", "content": "new", "ifNotExists": false})),
        ("vault.createFile", json!({"path": "alias/b.md", "content": "new", "ifNotExists": false})),
        ("vault.ensureFolder", json!({"path": "x/y/z"})),
        ("vault.ensureFolder", json!({"path": "alias/y"})),
    ] {
        let fixture = RecordFixture::new();
        let entry = fixture.entry(tool);
        let decode = || entry.tool.decode(&args).unwrap();
        let (run, before) = {
            let (cx, mut args) = (cx("call"), decode());
            entry.tool.validate(&cx, &mut args).await.unwrap();
            let before = entry.tool.intend(&cx, &mut args).await;
            assert!(effects(&cx).is_empty(), "to look is no effect");
            let data =
                entry.tool.run(&cx, args).await.unwrap().map(Projection::new(1_000, None)).unwrap().data;
            ((data, effects(&cx)), before)
        };
        // Another process, and the call is already cancelled.
        let after = cx("call");
        after.cancel().cancel(CancelCause::Run);
        let ReconcileOutcome::Happened(raw) = entry.tool.reconcile(&after, &decode(), &before).await else {
            panic!("{tool} {args} has happened");
        };
        let reconciled = (raw.map(Projection::new(1_000, None)).unwrap().data, effects(&after));
        assert_eq!(reconciled, run, "{tool} {args}");
        shown.push_str(&format!("{} {}\n", args["path"], serde_json::to_value(&run.1).unwrap()));
    }
    expect![[r#"
        "a.md" {"sideEffectsObserved":["create-file"],"created":[{"path":"a.md","kind":"file"}]}
        "New/Deep/a.md" {"sideEffectsObserved":["create-folder","create-file"],"created":[{"path":"New","kind":"folder"},{"path":"New/Deep","kind":"folder"},{"path":"New/Deep/a.md","kind":"file"}]}
        "alias/Deep/a.md" {"sideEffectsObserved":["create-folder","create-file"],"created":[{"path":"Notes/Deep","kind":"folder"},{"path":"Notes/Deep/a.md","kind":"file"}]}
        "Keep.md" {"sideEffectsObserved":["create-file"],"created":[{"path":"Keep 1.md","kind":"file"}]}
        "Keep.md" {"sideEffectsObserved":["modify-file"],"modified":[{"path":"Keep.md","kind":"file","beforeEtag":"96a4257289f9ebcbc94bfc49276f89ed","afterEtag":"b20ab0a020a48d349e0c64d109c441f8"}]}
        "alias/b.md" {"sideEffectsObserved":["create-file"],"created":[{"path":"Notes/b.md","kind":"file"}]}
        "x/y/z" {"sideEffectsObserved":["create-folder"],"created":[{"path":"x","kind":"folder"},{"path":"x/y","kind":"folder"},{"path":"x/y/z","kind":"folder"}]}
        "alias/y" {"sideEffectsObserved":["create-folder"],"created":[{"path":"Notes/y","kind":"folder"}]}
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn what_is_not_there_is_not_reported() {
    let fixture = RecordFixture::new();
    let entry = fixture.entry("vault.createFile");
    let mut args = entry.tool.decode(&json!({"path": "New/Deep/a.md", "content": "new"})).unwrap();
    let before = entry.tool.intend(&cx("call"), &mut args).await;
    let mut shown = String::new();
    for make in ["", "New", "New/Deep"] {
        std::fs::create_dir_all(fixture.folder.path().join(make)).unwrap();
        let after = cx("call");
        assert!(matches!(
            entry.tool.reconcile(&after, &args, &before).await,
            ReconcileOutcome::DidNot { .. }
        ));
        shown.push_str(&format!("{make:?} {}\n", serde_json::to_value(effects(&after)).unwrap()));
    }
    // Another program's file, and another program's link to that very content.
    put(&fixture.folder.path().join("New/Deep/a.md"), "other");
    let after = cx("call");
    assert!(matches!(entry.tool.reconcile(&after, &args, &before).await, ReconcileOutcome::Unknown { .. }));
    assert!(effects(&after).created.iter().all(|created| created.path != "New/Deep/a.md"));
    std::fs::remove_file(fixture.folder.path().join("New/Deep/a.md")).unwrap();
    put(&fixture.folder.path().join("b.md"), "new");
    std::os::unix::fs::symlink("../../b.md", fixture.folder.path().join("New/Deep/a.md")).unwrap();
    assert!(matches!(
        entry.tool.reconcile(&cx("call"), &args, &before).await,
        ReconcileOutcome::Unknown { .. }
    ));
    expect![[r#"
        "" {}
        "New" {"sideEffectsObserved":["create-folder"],"created":[{"path":"New","kind":"folder"}]}
        "New/Deep" {"sideEffectsObserved":["create-folder"],"created":[{"path":"New","kind":"folder"},{"path":"New/Deep","kind":"folder"}]}
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn the_paths_of_a_call_name_the_free_name_that_is_written() {
    let fixture = RecordFixture::new();
    let free = fixture.permitted("1", &unique("New.md")).await;
    assert_eq!(free.paths, r#"[Path("New.md"), File("New.md")]"#);
    assert_eq!(free.run().await, "New.md");
    let taken = fixture.permitted("2", &unique("Keep.md")).await;
    assert_eq!(taken.paths, r#"[Path("Keep.md"), File("Keep 1.md")]"#);
    assert_eq!(taken.entry.tool.preview(&taken.args), "Create Keep 1.md (3 bytes)");
    assert_eq!(taken.run().await, "Keep 1.md");
    let linked = fixture.permitted("3", &unique("alias/a.md")).await;
    assert_eq!(linked.paths, r#"[Path("alias/a.md"), Path("Notes/a.md"), File("Notes/a.md")]"#);
    assert_eq!(linked.run().await, "Notes/a.md");
}

#[tokio::test]
async fn a_name_that_was_not_permitted_is_not_written() {
    let fixture = RecordFixture::new();
    let call = fixture.permitted("1", &unique("Keep.md")).await;
    put(&fixture.folder.path().join("KEEP 1.md"), "theirs");
    expect!["conflict (retryable: true): `keep 2.md` would be changed too; that was not so when the call was permitted"]
        .assert_eq(&call.run().await);
    assert_eq!(fixture.names(""), ["KEEP 1.md", "Keep.md", "Notes", "alias"]);
    let again = fixture.permitted("2", &unique("Keep.md")).await;
    assert_eq!(again.run().await, "Keep 2.md");
}

#[tokio::test]
async fn calls_side_by_side_get_the_names_they_were_permitted() {
    let fixture = RecordFixture::new();
    let mut calls = Vec::new();
    for n in 0..20 {
        calls.push(fixture.permitted(&format!("call-{n}"), &unique("Same/Note.md")).await);
    }
    // Input that a hook changed is decoded again for the same call, while the original input still holds its
    // reservation.
    let changed = fixture.permitted("call-7", &unique("Same/Note.md")).await;
    assert_eq!(changed.paths, calls[7].paths);
    drop(changed);
    let mut expected = Vec::new();
    for (n, call) in calls.into_iter().enumerate().rev() {
        let name = if n == 0 { "Same/Note.md".to_owned() } else { format!("Same/Note {n}.md") };
        assert!(call.paths.contains(&format!("{name:?}")), "{}", call.paths);
        assert_eq!(call.run().await, name);
        expected.push(name.trim_start_matches("Same/").to_owned());
    }
    expected.sort();
    assert_eq!(fixture.names("Same"), expected);
    assert_eq!(fixture.permitted("next", &unique("Same/Note.md")).await.run().await, "Same/Note 20.md");
}
