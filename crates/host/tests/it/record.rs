//! What a call leaves for the record: the paths it names before, the changes it writes down, and what can be
//! found out when a crash came between the work and the report.
use crate::support::Bench;
use expect_test::expect;
use serde_json::{Value, json};
use toolkit::{Projection, ReconcileOutcome};

/// What happened after a call was written down and before the crash.
enum Then {
    Nothing,
    Done,
    AnotherProgramWrote(&'static str),
}

/// A call that is written down, and then found out about by another process.
async fn crash(bench: &Bench, tool: &str, args: &Value, then: Then) -> String {
    let entry = bench.registry.get(tool).unwrap();
    let (cx, mut decoded) = (bench.cx(), entry.tool.decode(args).unwrap());
    entry.tool.validate(&cx, &mut decoded).await.unwrap();
    let intent = entry.tool.intend(&cx, &mut decoded).await;
    match then {
        Then::Nothing => {}
        Then::Done => drop(entry.tool.run(&cx, decoded).await.unwrap()),
        Then::AnotherProgramWrote(path) => bench.write(path, "something else"),
    }
    // Nothing is open in the process that comes after.
    let after = Bench { kept: bench.kept.clone(), ..Bench::over(bench) };
    let entry = after.registry.get(tool).unwrap();
    let cx = after.cx();
    let decoded = entry.tool.decode(args).unwrap();
    let found = match entry.tool.reconcile(&cx, &decoded, &intent).await {
        ReconcileOutcome::Happened(output) => {
            let mut data = output.map(Projection::new(1_000, None)).unwrap().data;
            data.as_object_mut().unwrap().remove("etag");
            format!("happened {data}")
        }
        ReconcileOutcome::DidNot { .. } => "did not".to_owned(),
        ReconcileOutcome::Unknown { why } => format!("unknown: {why}"),
    };
    format!("{found}; {} changes told", cx.take_report().changes.len())
}

#[tokio::test]
async fn after_a_crash_an_edit_is_found_or_not() {
    let bench = Bench::new(&[("a.md", "one 😀 two")]);
    bench.open("a.md").await;
    bench.select((0, 4), (0, 6)).await;
    let args = json!({"text": "(really)"});
    let mut said = vec![crash(&bench, "editor.replaceSelection", &args, Then::Nothing).await];
    said.push(crash(&bench, "editor.replaceSelection", &args, Then::Done).await);
    said.push(crash(&bench, "editor.insertAtCursor", &json!({"text": "!\n"}), Then::Done).await);
    said.push(
        crash(&bench, "editor.insertAtCursor", &json!({"text": "?"}), Then::AnotherProgramWrote("a.md"))
            .await,
    );
    expect![[r#"
        did not; 0 changes told
        happened {"filePath":"a.md","range":{"from":{"line":0,"ch":4},"to":{"line":0,"ch":6}},"insertedChars":8}; 1 changes told
        happened {"filePath":"a.md","cursorAfter":{"line":1,"ch":0},"insertedChars":2}; 1 changes told
        unknown: what is there now is neither what was there before nor what it would have written; 0 changes told"#]].assert_eq(&said.join("\n"));
}

#[tokio::test]
async fn after_a_crash_a_command_is_found_or_not() {
    let bench = Bench::new(&[]);
    let daily = json!({"id": "daily-notes"});
    let mut said = vec![crash(&bench, "commands.run", &daily, Then::Nothing).await];
    said.push(crash(&bench, "commands.run", &daily, Then::Done).await);
    said.push(crash(&bench, "commands.run", &json!({"id": "workspace:next-tab"}), Then::Done).await);
    expect![[r#"
        did not; 0 changes told
        happened {"id":"daily-notes","executed":true}; 1 changes told
        unknown: it was to change no file, so none can show it; 0 changes told"#]]
    .assert_eq(&said.join("\n"));
}

#[tokio::test]
async fn rules_see_the_note_that_is_edited_and_no_other_is_edited_then() {
    let bench = Bench::new(&[("a.md", "a"), ("Private/b.md", "b")]);
    let entry = bench.registry.get("editor.insertAtCursor").unwrap();
    let (cx, mut args) = (bench.cx(), entry.tool.decode(&json!({"text": "x"})).unwrap());
    entry.tool.validate(&cx, &mut args).await.unwrap();
    expect!["PathKeys { reads: [], writes: [Vault] }"].assert_eq(&format!("{:?}", entry.tool.paths(&args)));
    bench.open("a.md").await;
    entry.tool.validate(&cx, &mut args).await.unwrap();
    expect![[r#"PathKeys { reads: [], writes: [File("a.md")] }"#]]
        .assert_eq(&format!("{:?}", entry.tool.paths(&args)));
    bench.open("Private/b.md").await;
    assert_eq!(entry.tool.intend(&cx, &mut args).await, []);
    let fault = entry.tool.run(&cx, args).await.err().unwrap();
    expect!["`Private/b.md` would be touched; that was not so when the call was permitted"]
        .assert_eq(&fault.message);
    assert_eq!(bench.text("Private/b.md"), "b");
}

#[tokio::test]
async fn a_call_that_is_stopped_changes_nothing() {
    let bench = Bench::new(&[("a.md", "a")]);
    bench.open("a.md").await;
    let cx = bench.cx();
    let entry = bench.registry.get("editor.insertAtCursor").unwrap();
    let mut args = entry.tool.decode(&json!({"text": "x"})).unwrap();
    entry.tool.validate(&cx, &mut args).await.unwrap();
    assert_eq!(entry.tool.intend(&cx, &mut args).await.len(), 1);
    cx.cancel().cancel(toolkit::CancelCause::Run);
    let fault = entry.tool.run(&cx, args).await.err().unwrap();
    assert_eq!(fault.failure, envelope::Failure::Canceled);
    assert_eq!(bench.text("a.md"), "a");
    assert_eq!(bench.selection().await, "0:0-0:0 \"\"");
}
