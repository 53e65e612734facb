//! Renames and deletions while other programs write, and links that a rename could not update.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::write_fixture::WriteFixture;
use envelope::{CallId, DataRef, Fault, Hash, VaultChange};
use expect_test::expect;
use serde_json::{Value, json};
use toolkit::{CancelCause, CancelToken, ObjectStore, ProgressSink, Projection, Registry, ToolCx};
use vault::{Vault, etag_of, register};

const RENAME: &str = "vault.rename";
const DELETE: &str = "vault.delete";

/// Action of another program while content is stored.
type Meanwhile = Box<dyn Fn(&Path) + Send + Sync>;

/// Stores everything, and lets another program write each time.
#[derive(Default)]
struct MeddlingStore {
    kept: Mutex<HashMap<Hash, Vec<u8>>>,
    meanwhile: Mutex<Option<(std::path::PathBuf, Meanwhile)>>,
}

impl ObjectStore for MeddlingStore {
    fn keep(&self, content: &mut dyn Read) -> Result<DataRef, Fault> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).unwrap();
        let kept = DataRef { hash: Hash::of(&bytes), bytes: bytes.len() as u64 };
        self.kept.lock().unwrap().insert(kept.hash, bytes);
        if let Some((folder, write)) = &*self.meanwhile.lock().unwrap() {
            write(folder);
        }
        Ok(kept)
    }

    fn fetch(&self, wanted: &DataRef, into: &mut dyn Write) -> Result<(), Fault> {
        into.write_all(&self.kept.lock().unwrap()[&wanted.hash]).unwrap();
        Ok(())
    }
}

struct RenameFixture {
    folder: tempfile::TempDir,
    registry: Registry,
    store: Arc<MeddlingStore>,
    cancel: CancelToken,
}

impl RenameFixture {
    fn with(files: &[(&str, &str)]) -> RenameFixture {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mut registry = Registry::new();
        register(&mut registry, Some(Arc::new(Vault::open(folder.path()).unwrap()))).unwrap();
        let fixture = RenameFixture { folder, registry, store: Arc::default(), cancel: CancelToken::new() };
        files.iter().for_each(|(path, text)| put(fixture.folder.path(), path, text.as_bytes()));
        fixture
    }

    /// Makes a call in which another program acts between the recorded intent and the work.
    async fn call(&self, tool: &str, args: Value, meanwhile: impl FnOnce(&Path)) -> CalledTool {
        let sink: Option<ProgressSink> = None;
        self.call_with(tool, args, sink, meanwhile).await
    }

    async fn call_with(
        &self,
        tool: &str,
        args: Value,
        sink: Option<ProgressSink>,
        meanwhile: impl FnOnce(&Path),
    ) -> CalledTool {
        let entry = self.registry.get(tool).unwrap();
        let id = CallId::parse("call").unwrap();
        let cx = ToolCx::with_store(id, self.cancel.clone(), sink, Some(self.store.clone()));
        let mut args = entry.tool.decode(&args).unwrap();
        entry.tool.validate(&cx, &mut args).await.unwrap();
        entry.tool.intend(&cx, &mut args).await;
        meanwhile(self.folder.path());
        let said = match entry.tool.run(&cx, args).await {
            Ok(raw) => {
                let mapped = raw.map(Projection::new(1_000, None)).unwrap();
                let problems = entry.output.validate(&mapped.data);
                assert!(problems.is_empty(), "{problems:?}");
                let warning = mapped.incomplete.map(|text| format!("warning: {text}\n")).unwrap_or_default();
                format!("{}\n{}\n{warning}", mapped.receipt, mapped.data)
            }
            Err(fault) => format!("{}: {fault}\n", fault.failure.code()),
        };
        CalledTool { said, changes: cx.take_report().changes }
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }

    fn has(&self, path: &str) -> bool {
        self.folder.path().join(path).exists()
    }

    fn kept(&self, text: &str) -> bool {
        self.store.kept.lock().unwrap().contains_key(&Hash::of(text.as_bytes()))
    }
}

struct CalledTool {
    said: String,
    changes: Vec<VaultChange>,
}

fn put(folder: &Path, path: &str, content: &[u8]) {
    let at = folder.join(path);
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::File::create(at).unwrap().write_all(content).unwrap();
}

/// Returns the state that the last move reported.
fn moved(changes: &[VaultChange]) -> (String, usize) {
    changes
        .iter()
        .rev()
        .find_map(|change| match change {
            VaultChange::Moved { state, kept, .. } => Some((state.unwrap().etag(), kept.len())),
            VaultChange::FolderCreated { .. }
            | VaultChange::FolderRemoved { .. }
            | VaultChange::FileCreated { .. }
            | VaultChange::FileRemoved { .. }
            | VaultChange::FileReplaced { .. } => None,
        })
        .unwrap()
}

#[tokio::test]
async fn an_edit_moves_with_its_file_and_the_record_says_what_was_moved() {
    let fixture = RenameFixture::with(&[("a.md", "old"), ("t.md", "old")]);
    let args = json!({"fromPath": "a.md", "toPath": "b.md"});
    let called = fixture.call(RENAME, args, |folder| put(folder, "a.md", b"edited")).await;
    assert_eq!(moved(&called.changes), (etag_of(b"edited"), 0));
    assert!(called.said.contains(&etag_of(b"edited")), "{}", called.said);
    assert_eq!(fixture.text("b.md"), "edited");
    let called = fixture.call(DELETE, json!({"path": "t.md"}), |folder| put(folder, "t.md", b"newer")).await;
    assert_eq!(moved(&called.changes), (etag_of(b"newer"), 1));
    assert_eq!(fixture.text(".trash/t.md"), "newer");
    assert!(fixture.kept("newer"), "the edit can be brought back when the trash was emptied");
}

#[tokio::test]
async fn an_edit_at_the_last_moment_is_not_moved_where_an_etag_forbids_it() {
    let fixture = RenameFixture::with(&[("a.md", "old"), ("taken.md", "taken"), ("n.md", "[[a]]")]);
    let etag = etag_of(b"old");
    let mut said = String::new();
    for (tool, args) in [
        (RENAME, json!({"fromPath": "a.md", "toPath": "b.md", "expectedEtag": etag})),
        (DELETE, json!({"path": "a.md", "expectedEtag": etag})),
    ] {
        put(fixture.folder.path(), "a.md", b"old");
        let called = fixture.call(tool, args, |folder| put(folder, "a.md", b"edited")).await;
        assert!(!called.changes.iter().any(|change| matches!(change, VaultChange::Moved { .. })));
        assert_eq!(fixture.text("a.md"), "edited");
        said.push_str(&called.said);
    }
    expect![[r#"
        CONFLICT: `a.md` has changed: it is not what was read
        CONFLICT: `a.md` has changed: it is not what was read
    "#]]
    .assert_eq(&said);
    assert!(!fixture.has("b.md") && !fixture.has(".trash/a.md"));
    assert_eq!(fixture.text("n.md"), "[[a]]");
}

#[tokio::test]
async fn a_file_that_was_to_be_overwritten_comes_back_when_the_move_is_not_made() {
    let fixture = RenameFixture::with(&[("a.md", "old"), ("b.md", "taken")]);
    let args = json!({
        "fromPath": "a.md", "toPath": "b.md", "collisionStrategy": "overwrite", "expectedEtag": etag_of(b"old")
    });
    let called = fixture.call(RENAME, args, |folder| put(folder, "a.md", b"edited")).await;
    expect![[r#"
        CONFLICT: `a.md` has changed: it is not what was read
    "#]]
    .assert_eq(&called.said);
    assert_eq!((fixture.text("a.md"), fixture.text("b.md")), ("edited".to_owned(), "taken".to_owned()));
    assert_eq!(called.changes.len(), 2, "it went and came back: {:?}", called.changes);
}

#[tokio::test]
async fn a_note_that_was_saved_meanwhile_gets_its_links_in_what_it_says_now() {
    let fixture =
        RenameFixture::with(&[("a.md", ""), ("1.md", "[[a]]"), ("2.md", "[[a]] [[a]]"), ("3.md", "[[a]]")]);
    let args = json!({"fromPath": "a.md", "toPath": "b.md"});
    let called = fixture
        .call(RENAME, args, |folder| {
            put(folder, "1.md", b"new text, [[a|alias]] and [[a]]");
            put(folder, "2.md", b"no link any more");
        })
        .await;
    expect![[r#"
        Renamed a.md to b.md, updating 3 links in 2 files (etag af1349b9f5f9a1a6a0404dea36dcc949)
        Links updated in:
        1.md
        3.md
        {"fromPath":"a.md","toPath":"b.md","etag":"af1349b9f5f9a1a6a0404dea36dcc949","linksUpdated":3,"filesUpdated":2,"updatedIn":["1.md","3.md"]}
    "#]].assert_eq(&called.said);
    assert_eq!(fixture.text("1.md"), "new text, [[b|alias]] and [[b]]");
    assert_eq!(fixture.text("2.md"), "no link any more");
    assert_eq!(fixture.text("3.md"), "[[b]]");
    assert!(fixture.kept("new text, [[a|alias]] and [[a]]"), "what was replaced was kept");
}

#[tokio::test]
async fn a_note_that_cannot_be_written_is_named_and_the_others_are_finished() {
    let fixture =
        RenameFixture::with(&[("a.md", ""), ("1.md", "[[a]]"), ("2.md", "[[a]]"), ("3.md", "[[a]]")]);
    let count = Mutex::new(0);
    let args = json!({"fromPath": "a.md", "toPath": "b.md"});
    let store = fixture.store.clone();
    let called = fixture
        .call(RENAME, args, |folder| {
            put(folder, "1.md", b"again [[a]]");
            std::fs::remove_file(folder.join("2.md")).unwrap();
            // Whenever the note was read, its program has saved it once more.
            let save: Meanwhile = Box::new(move |folder| {
                let mut count = count.lock().unwrap();
                *count += 1;
                put(folder, "1.md", format!("[[a]] saved {count} times").as_bytes());
            });
            *store.meanwhile.lock().unwrap() = Some((folder.to_owned(), save));
        })
        .await;
    expect![[r#"
        Renamed a.md to b.md, updating 1 link in 1 file (etag af1349b9f5f9a1a6a0404dea36dcc949)
        Not written: 1.md: `1.md` has changed: it is not what was read
        Not written: 2.md: `2.md` does not exist
        Links updated in:
        3.md
        {"fromPath":"a.md","toPath":"b.md","etag":"af1349b9f5f9a1a6a0404dea36dcc949","linksUpdated":1,"filesUpdated":1,"updatedIn":["3.md"],"notWritten":[{"path":"1.md","reason":"`1.md` has changed: it is not what was read"},{"path":"2.md","reason":"`2.md` does not exist"}]}
        warning: 2 files keep their links to a.md: 1.md could not be written (`1.md` has changed: it is not what was read)
    "#]].assert_eq(&called.said);
    assert_eq!(fixture.text("1.md"), "[[a]] saved 3 times");
    assert_eq!(fixture.text("3.md"), "[[b]]");
}

#[tokio::test]
async fn a_rename_that_has_begun_comes_to_its_end_and_one_that_has_not_does_not_begin() {
    let names: Vec<String> = (0..40).map(|number| format!("{number}.md")).collect();
    let mut files = vec![("a.md", "")];
    files.extend(names.iter().map(|name| (name.as_str(), "[[a]]")));
    let fixture = RenameFixture::with(&files);
    let (cancel, told) = (fixture.cancel.clone(), Arc::new(Mutex::new(0)));
    let heard = told.clone();
    let sink: ProgressSink = Arc::new(move |_| {
        *heard.lock().unwrap() += 1;
        cancel.cancel(CancelCause::Run);
    });
    let args = json!({"fromPath": "a.md", "toPath": "b.md"});
    let called = fixture.call_with(RENAME, args, Some(sink), |_| {}).await;
    assert!(*told.lock().unwrap() > 0, "it was cancelled on the way");
    assert!(
        called.said.starts_with("Renamed a.md to b.md, updating 40 links in 40 files (etag "),
        "{}",
        called.said
    );
    assert!(names.iter().all(|name| fixture.text(name) == "[[b]]"));

    let fixture = RenameFixture::with(&files);
    let cancel = fixture.cancel.clone();
    let args = json!({"fromPath": "a.md", "toPath": "b.md"});
    let called = fixture.call(RENAME, args, |_| cancel.cancel(CancelCause::Run)).await;
    expect![[r#"
        CANCELLED: stopped: the run was cancelled
    "#]]
    .assert_eq(&called.said);
    assert!(called.changes.is_empty() && fixture.has("a.md"));
}

#[tokio::test]
async fn notes_that_are_too_large_or_no_text_are_named() {
    let fixture = RenameFixture::with(&[("a.md", ""), ("n.md", "[[a]]")]);
    put(fixture.folder.path(), "latin.md", b"[[a]] caf\xe9");
    put(fixture.folder.path(), "board.canvas", b"\xff\xfe");
    put(fixture.folder.path(), "photo.jpg", b"\xff\xd8");
    put(fixture.folder.path(), "huge.md", &vec![b'x'; (16 << 20) + 1]);
    let args = json!({"fromPath": "a.md", "toPath": "b.md"});
    expect![[r#"
        Renamed a.md to b.md, updating 1 link in 1 file (etag af1349b9f5f9a1a6a0404dea36dcc949)
        Not looked into, may still have the old name:
        board.canvas
        huge.md
        latin.md
        Links updated in:
        n.md
        {"fromPath":"a.md","toPath":"b.md","etag":"af1349b9f5f9a1a6a0404dea36dcc949","linksUpdated":1,"filesUpdated":1,"updatedIn":["n.md"],"notLookedInto":["board.canvas","huge.md","latin.md"]}
    "#]].assert_eq(&fixture.call(RENAME, args, |_| {}).await.said);
}

#[tokio::test]
async fn what_was_looked_up_first_does_not_count_when_a_note_was_changed_since() {
    let fixture = RenameFixture::with(&[("a.md", ""), ("n.md", "[[a]]"), ("other.md", "plain")]);
    let entry = fixture.registry.get(RENAME).unwrap();
    let mut said = String::new();
    for (path, text) in [("n.md", "[[a]] [[a]]"), ("new.md", "[[a]]"), ("other.md", "[[a]]")] {
        let id = CallId::parse("call").unwrap();
        let cx = ToolCx::with_store(id, CancelToken::new(), None, Some(fixture.store.clone()));
        let args = json!({"fromPath": "a.md", "toPath": "b.md", "dryRun": true});
        let mut args = entry.tool.decode(&args).unwrap();
        entry.tool.validate(&cx, &mut args).await.unwrap();
        put(fixture.folder.path(), path, text.as_bytes());
        said.push_str(&match entry.tool.run(&cx, args).await {
            Ok(raw) => format!("{}\n", raw.map(Projection::new(1_000, None)).unwrap().receipt),
            Err(fault) => format!("{}: {fault}\n", fault.failure.code()),
        });
    }
    expect![[r#"
        Would rename a.md to b.md, updating 2 links in 1 file (etag af1349b9f5f9a1a6a0404dea36dcc949)
        Dry run: nothing was written.
        Links would change in:
        n.md
        CONFLICT: `new.md` would be changed too; that was not so when the call was permitted
        CONFLICT: `other.md` would be changed too; that was not so when the call was permitted
    "#]]
    .assert_eq(&said);
}

#[tokio::test]
async fn a_file_is_not_overwritten_by_itself_through_a_link() {
    let fixture = WriteFixture::new(&[("Notes/a.md", "a")]);
    std::os::unix::fs::symlink("Notes", fixture.folder.path().join("inside")).unwrap();
    let onto_itself =
        json!({"fromPath": "Notes/a.md", "toPath": "inside/a.md", "collisionStrategy": "overwrite"});
    let said = fixture.call("vault.rename", onto_itself).await;
    assert!(
        said.starts_with("CONFLICT: `Notes/a.md` already exists, and it is what would be moved"),
        "{said}"
    );
}

#[tokio::test]
async fn a_file_is_not_removed_for_a_move_that_another_spelling_of_its_name_prevents() {
    let fixture =
        crate::write_fixture::WriteFixture::new(&[("F/a.md", "mine"), ("F/A.md", "twin"), ("b.md", "b")]);
    fixture
        .check(
            "vault.rename",
            json!({"fromPath": "b.md", "toPath": "F/a.md", "collisionStrategy": "overwrite"}),
            expect![[r#"
                CONFLICT: `F/a.md` already exists, and so does `A.md`, which is the same name on many systems; choose another path, or move what is there away first
            "#]],
        )
        .await;
}
