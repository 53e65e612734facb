//! A host in another program: it attaches while the program runs, edits and saves notes, is late, leaves, and
//! saves what it was not given. The editor of these tests implements the protocol from outside of the crate.

use std::time::Duration;

use envelope::{Failure, VaultPath};
use expect_test::expect;
use host::protocol::{HostHello, HostMessage, HostReply, HostRequest, HostRequestMessage, OpenRequest};
use host::{HeadlessHost, HostConnection as _, HostRegistry, HostSettings, HostSlot, serve_stream};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};
use toolkit::CancelCause;

use crate::support::fake_editor::{EditorBehavior, FakeEditor, eventually};
use crate::support::{Bench, call, clock};

/// Longer than any reply takes on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// Short enough for a test that waits for it.
const SHORT_DEADLINE: Duration = Duration::from_secs(2);

fn bench(files: &[(&str, &str)]) -> Bench {
    bench_with(files, DEADLINE)
}

fn bench_with(files: &[(&str, &str)], deadline: Duration) -> Bench {
    Bench::with_slot(files, |vault| {
        let headless = HeadlessHost::new(vault, HostSettings::default(), clock());
        HostSlot::with_registry(headless, &HostRegistry::new(deadline, Some("ours".to_owned())))
    })
}

async fn attach(bench: &Bench, open: &[&str]) -> FakeEditor {
    FakeEditor::attach(bench.host.registry(), bench.folder.path().to_owned(), open).await
}

async fn read(bench: &Bench, path: &str) -> Value {
    bench.output("vault.readFile", json!({"path": path})).await["content"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_headless_host_is_used_until_a_host_attaches_and_again_after_it_leaves() {
    let bench = bench(&[("a.md", "one"), ("b.md", "two")]);
    bench.open("b.md").await;
    assert!(bench.host.registry().attached().is_none());
    let editor = attach(&bench, &["a.md"]).await;
    assert_eq!(bench.host.registry().attached().unwrap().name, "fake editor");
    let context = bench.output("workspace.getContext", json!({})).await;
    assert_eq!(context["activeFilePath"], "a.md");
    let commands = bench.output("commands.list", json!({})).await;
    assert_eq!(commands["commands"][0]["id"], "fake:wave");
    editor.quit().await;
    assert!(bench.host.registry().attached().is_none());
    let context = bench.output("workspace.getContext", json!({})).await;
    assert_eq!(context["activeFilePath"], "b.md");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_applied_and_saved_by_the_host_and_verified() {
    let bench = bench(&[("a.md", "one"), ("b.md", "two")]);
    let editor = attach(&bench, &["a.md"]).await;
    expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":0,"ch":5},"insertedChars":5}
        saw modify-file
        file-replaced a.md
    "#]]
    .assert_eq(&bench.call("editor.insertAtCursor", json!({"text": "zero "})).await);
    assert_eq!((bench.text("a.md"), editor.text("a.md")), ("zero one".to_owned(), "zero one".to_owned()));
    assert_eq!(bench.kept.texts(), ["one"], "what the host overwrites is stored first");
    bench.open("b.md").await;
    bench.select((0, 3), (0, 3)).await;
    bench.output("editor.replaceSelection", json!({"text": "!"})).await;
    assert_eq!(bench.text("b.md"), "two!");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_the_vault_writes_an_open_note_through_the_host_and_loses_no_unsaved_text() {
    let bench = bench(&[("a.md", "one"), ("b.md", "two")]);
    let editor = attach(&bench, &["a.md"]).await;
    editor.type_text("a.md", " and a half");
    assert_eq!(read(&bench, "a.md").await, "one and a half");
    bench.output("vault.replaceText", json!({"path": "a.md", "find": "one", "replace": "1"})).await;
    assert_eq!((bench.text("a.md"), editor.text("a.md")), ("1 and a half".to_owned(), bench.text("a.md")));
    assert!(bench.kept.texts().contains(&"one and a half".to_owned()));
    bench.output("vault.writeFile", json!({"path": "b.md", "content": "2"})).await;
    assert_eq!(
        editor.received("b.md"),
        Vec::<String>::new(),
        "a note that is not open is no matter of the host"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_is_opened_later_is_written_through_the_host_from_then_on() {
    let bench = bench(&[("a.md", "one"), ("b.md", "two")]);
    let editor = attach(&bench, &["a.md"]).await;
    editor.open("b.md");
    editor.type_text("b.md", "!");
    // The event travels on the same connection, so it comes before the reply.
    bench.output("workspace.getContext", json!({})).await;
    assert_eq!(read(&bench, "b.md").await, "two!");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_programs_write_is_never_overwritten_through_a_host() {
    let bench = bench(&[("a.md", "one")]);
    let editor = attach(&bench, &["a.md"]).await;
    bench.write("a.md", "theirs");
    let answer = bench.call("editor.insertAtCursor", json!({"text": "x"})).await;
    assert!(answer.starts_with("conflict: `a.md` has changed"), "{answer}");
    editor.type_text("a.md", " mine");
    let write = json!({"path": "a.md", "find": "mine", "replace": "yours"});
    let answer = bench.call("vault.replaceText", write).await;
    assert!(answer.starts_with("conflict: "), "{answer}");
    assert_eq!(bench.text("a.md"), "theirs");
    assert!(editor.text("a.md").ends_with(" mine"), "{}", editor.text("a.md"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_saves_other_bytes_is_a_conflict_and_both_texts_are_kept() {
    let bench = bench(&[("a.md", "one")]);
    let editor = attach(&bench, &["a.md"]).await;
    editor.behave(EditorBehavior::SavesOtherBytes);
    expect![[r#"
        conflict: the host saved `a.md` with other content than it was given | read the note again: it is as the host saved it, and its earlier content is kept
        saw modify-file
        file-replaced a.md
    "#]]
    .assert_eq(&bench.call("vault.writeFile", json!({"path": "a.md", "content": "two"})).await);
    assert_eq!(bench.text("a.md"), "two (formatted)", "the file stays as the host saved it");
    assert_eq!(bench.kept.texts(), ["one"]);
    editor.behave(EditorBehavior::SavesNothing);
    let answer = bench.call("vault.writeFile", json!({"path": "a.md", "content": "three"})).await;
    assert!(answer.starts_with("conflict: "), "{answer}");
    assert!(!answer.contains("saw"), "nothing was changed, so nothing is reported: {answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missed_deadline_is_a_timeout_and_the_host_is_detached() {
    let bench = bench_with(&[("a.md", "one")], SHORT_DEADLINE);
    bench.open("a.md").await;
    let editor = attach(&bench, &["a.md"]).await;
    editor.behave(EditorBehavior::Silent);
    expect![[r#"
        timeout: fake editor did not answer within 2000 ms and was detached | check whether the application waits for you, then connect it again
    "#]]
    .assert_eq(&bench.call("workspace.getContext", json!({})).await);
    eventually(|| !editor.received(r#""cancel""#).is_empty()).await;
    eventually(|| !editor.received(r#""detach""#).is_empty()).await;
    assert!(bench.host.registry().attached().is_none());
    bench.output("vault.writeFile", json!({"path": "a.md", "content": "two"})).await;
    assert_eq!(bench.text("a.md"), "two", "the next call does not wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_lost_after_the_note_was_saved_loses_nothing() {
    let bench = bench_with(&[("a.md", "one")], SHORT_DEADLINE);
    let editor = attach(&bench, &["a.md"]).await;
    editor.behave(EditorBehavior::SavesSilently);
    let answer = bench.call("vault.writeFile", json!({"path": "a.md", "content": "two"})).await;
    assert!(answer.ends_with("saw modify-file\nfile-replaced a.md\n"), "the file decides: {answer}");
    assert_eq!(bench.text("a.md"), "two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_leaves_during_a_request_fails_that_call_alone() {
    let bench = bench(&[("a.md", "one")]);
    let editor = attach(&bench, &["a.md"]).await;
    editor.behave(EditorBehavior::Leaves);
    expect![[r#"
        dependency_unavailable: fake editor left before it answered | call again: without that application the vault is used directly
    "#]]
    .assert_eq(&bench.call("vault.readFile", json!({"path": "a.md"})).await);
    assert_eq!(read(&bench, "a.md").await, "one");
    assert!(bench.host.registry().attached().is_none());
    let _again = attach(&bench, &["a.md"]).await;
    assert!(bench.host.registry().attached().is_some(), "it can come back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_cancels_its_request_and_keeps_the_host() {
    let bench = bench(&[("a.md", "one")]);
    let editor = attach(&bench, &["a.md"]).await;
    editor.behave(EditorBehavior::Silent);
    let cx = bench.cx();
    let cancel = cx.cancel().clone();
    let canceller = async {
        eventually(|| !editor.received("getContext").is_empty()).await;
        cancel.cancel(CancelCause::Run);
    };
    let args = json!({});
    let (result, ()) = tokio::join!(call(&bench.registry, &cx, "workspace.getContext", &args), canceller);
    assert_eq!(result.unwrap_err().failure, Failure::Canceled);
    eventually(|| !editor.received(r#""cancel""#).is_empty()).await;
    editor.behave(EditorBehavior::Good);
    assert!(bench.host.registry().attached().is_some());
    assert_eq!(bench.output("workspace.getContext", json!({})).await["activeFilePath"], "a.md");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_begins_with_what_the_host_has_open_and_changes_nothing_there() {
    let bench = bench(&[("a.md", "one")]);
    let editor = attach(&bench, &["a.md"]).await;
    editor.type_text("a.md", "!");
    let preview = bench.imagined();
    let mut answers = preview.call("editor.insertAtCursor", json!({"text": "zero "})).await;
    answers += &preview.call("vault.readFile", json!({"path": "a.md"})).await;
    answers += &preview.call("commands.run", json!({"id": "fake:wave"})).await;
    expect![[r#"
        {"filePath":"a.md","cursorAfter":{"line":0,"ch":5},"insertedChars":5}
        saw modify-file
        file-replaced a.md
        {"path":"a.md","content":"zero one!","range":{"start":0,"end":9},"sizeBytes":9,"truncated":false,"encoding":"utf-8"}
        {"id":"fake:wave","executed":true}
        saw run-command
    "#]]
    .assert_eq(&answers);
    assert_eq!((bench.text("a.md"), editor.text("a.md")), ("one".to_owned(), "one!".to_owned()));
    assert!(editor.received("runCommand").is_empty() && editor.received("applyEdit").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_do_not_fit_are_refused_and_told_why() {
    let bench = bench(&[("a.md", "one")]);
    let hello = |version, vault: &str| HostHello {
        version,
        name: "other".to_owned(),
        vault: Some(vault.to_owned()),
        open_notes: Default::default(),
    };
    let mut answers = Vec::new();
    let editor = attach(&bench, &["a.md"]).await;
    for hello in [hello(1, "ours"), hello(2, "ours"), hello(1, "theirs")] {
        let (near, far) = duplex(1 << 16);
        let (reader, writer) = split(near);
        let (from_slot, mut to_slot) = split(far);
        let line = serde_json::to_string(&HostMessage::Hello(hello)).unwrap() + "\n";
        to_slot.write_all(line.as_bytes()).await.unwrap();
        serve_stream(bench.host.registry(), reader, writer).await.unwrap_err();
        answers.push(BufReader::new(from_slot).lines().next_line().await.unwrap().unwrap());
    }
    expect![[r#"
        {"type":"refused","error":{"code":"conflict","message":"fake editor is attached already"}}
        {"type":"refused","error":{"code":"precondition_failed","message":"version 2 of the host protocol is not known; use 1"}}
        {"type":"refused","error":{"code":"precondition_failed","message":"the host shows another vault"}}"#]]
    .assert_eq(&answers.join("\n"));
    editor.quit().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_breaks_the_protocol_is_detached_and_told_why() {
    let bench = bench(&[("a.md", "one")]);
    let (near, far) = duplex(1 << 16);
    let (from_slot, mut to_slot) = split(far);
    to_slot.write_all(b"{\"type\":\"hello\",\"version\":1,\"name\":\"other\"}\nnot json\n").await.unwrap();
    let (reader, writer) = split(near);
    serve_stream(bench.host.registry(), reader, writer).await.unwrap_err();
    let mut lines = BufReader::new(from_slot).lines();
    expect![[r#"
        {"type":"welcome","version":1,"deadlineMs":60000}
        {"type":"detach","reason":"the host broke the protocol: expected ident at line 1 column 2"}"#]]
    .assert_eq(&format!(
        "{}\n{}",
        lines.next_line().await.unwrap().unwrap(),
        lines.next_line().await.unwrap().unwrap()
    ));
    assert!(bench.host.registry().attached().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_headless_host_answers_the_same_messages() {
    let bench = bench(&[("a.md", "one")]);
    let headless = HeadlessHost::new(bench.vault.clone(), HostSettings::default(), clock());
    let request = |id, request| headless.request(HostRequestMessage { id, deadline_ms: 1_000, request });
    let missing = request(1, HostRequest::GetSelection).unwrap().await.unwrap_err();
    assert_eq!((missing.code, missing.message.as_str()), (Failure::PreconditionFailed, "no note is open"));
    let path = VaultPath::parse("a.md").unwrap();
    let open = OpenRequest { path: path.clone(), new_leaf: false, focus: true };
    let opened = request(2, HostRequest::OpenFile(open)).unwrap().await.unwrap();
    assert!(matches!(opened, HostReply::Opened(leaf) if leaf.path == path && leaf.opened));
    let selected = request(3, HostRequest::GetSelection).unwrap().await.unwrap();
    assert!(matches!(selected, HostReply::Selection(selected) if selected.path == path));
}
