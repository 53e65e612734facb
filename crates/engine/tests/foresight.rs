//! What is foreseen is part of the question, and a yes holds only while it stays so.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod support;

use std::sync::Arc;
use std::sync::Mutex;

use engine::{Foresight, Mode, Outlook, Policy, Purpose, RunCancel, RunPlace};
use envelope::{Failure, Hash};
use expect_test::expect;
use plan::RunStatus;
use serde_json::json;
use support::{Build, Gate, People, plan};
use toolkit::BoxFuture;

/// Tells one outlook after the other; the last one for ever.
struct Told(Mutex<Vec<Outlook>>);

impl Told {
    fn new(texts: &[&str]) -> Arc<Told> {
        let outlook = |(at, text): (usize, &&str)| Outlook {
            text: (*text).to_owned(),
            fingerprint: Hash::of(text.as_bytes()),
            differs: if at == 0 { Vec::new() } else { vec![format!("now: {text}")] },
        };
        Arc::new(Told(Mutex::new(texts.iter().enumerate().map(outlook).collect())))
    }
}

impl Foresight for Told {
    fn foresee(&self) -> BoxFuture<'_, Outlook> {
        let mut told = self.0.lock().unwrap();
        let outlook = if told.len() > 1 { told.remove(0) } else { told[0].clone() };
        Box::pin(std::future::ready(outlook))
    }
}

fn asking(people: People) -> Gate {
    Build { policy: Policy { mode: Mode::Ask, ..Policy::cautious() }, people, ..Build::default() }.gate()
}

async fn run(gate: &Gate, foresight: Arc<dyn Foresight>) -> engine::RunReport {
    let steps = plan(json!([{ "id": "w", "tool": "test.write", "args": { "path": "a.md" } }]));
    gate.run_foreseen(&steps, RunPlace::Memory, RunCancel::new(), Some(foresight)).await
}

#[tokio::test]
async fn what_is_foreseen_stands_in_the_question() {
    let gate = asking(People::yes());
    let report = run(&gate, Told::new(&["creates a.md"])).await;
    assert_eq!(report.status, RunStatus::Ok);
    let asked = gate.people.asked();
    assert_eq!(asked.len(), 1);
    let (_, foreseen) = asked[0].split_once("\n\n").unwrap();
    expect![[r#"
        creates a.md
        Foreseen: b3:ad102973e55a2823e1e22b4aedf363f0dfc350623561adf059f970171abfe1c9
    "#]]
    .assert_eq(foreseen);
}

#[tokio::test]
async fn a_yes_to_what_has_changed_is_asked_for_again() {
    let gate = asking(People::yes());
    let report = run(&gate, Told::new(&["creates a.md", "changes a.md"])).await;
    assert_eq!(report.status, RunStatus::Ok);
    let asked = gate.people.asked();
    assert_eq!(asked.len(), 2, "{asked:#?}");
    let (_, foreseen) = asked[1].split_once("\n\n").unwrap();
    expect![[r#"
        What would happen is not what was foreseen before:
          now: changes a.md

        changes a.md
        Foreseen: b3:5abd11281c4e91b063a7e9a2c3c168eda0c3993caff2a81fdf8706b06b3c5c35
    "#]]
    .assert_eq(foreseen);
}

#[tokio::test]
async fn a_vault_that_never_holds_still_is_not_asked_about_for_ever() {
    let gate = asking(People::yes());
    let report = run(&gate, Told::new(&["1", "2", "3", "4", "5"])).await;
    assert_eq!(report.status, RunStatus::Declined);
    assert_eq!(gate.people.asked().len(), 3);
    expect!["what the plan would do changed again and again while it was being asked about"]
        .assert_eq(&report.reason.unwrap());
    assert_eq!(gate.results().iter().filter(|result| result.ok).count(), 0);
}

#[tokio::test]
async fn the_record_keeps_the_hash_of_all_that_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    let gate = asking(People::yes());
    let steps = plan(json!([{ "id": "w", "tool": "test.write", "args": { "path": "a.md" } }]));
    let place = RunPlace::Disk(folder.path().to_owned().into());
    let told = Told::new(&["creates a.md", "changes a.md"]);
    let report = gate.run_foreseen(&steps, place, RunCancel::new(), Some(told)).await;
    let header = std::fs::read_to_string(report.run_dir.unwrap().join("run.json")).unwrap();
    let asked = gate.people.asked();
    assert!(header.contains(&Hash::of(asked[1].as_bytes()).to_string()), "{header}");
    assert!(!header.contains(&Hash::of(asked[0].as_bytes()).to_string()));
}

/// Whatever it is asked, it falls over.
struct Broken;

impl Foresight for Broken {
    fn foresee(&self) -> BoxFuture<'_, Outlook> {
        Box::pin(async { panic!("no crystal ball") })
    }
}

#[tokio::test]
async fn a_question_is_asked_also_when_nothing_can_be_foreseen() {
    let gate = asking(People::yes());
    assert_eq!(run(&gate, Arc::new(Broken)).await.status, RunStatus::Ok);
    assert!(gate.people.asked()[0].contains("What would happen cannot be foreseen: no crystal ball"));
}

#[tokio::test]
async fn nothing_is_foreseen_where_nobody_is_asked() {
    let gate = Build::default().gate();
    assert_eq!(run(&gate, Arc::new(Broken)).await.status, RunStatus::Ok);
    assert_eq!(gate.people.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_command_is_not_run_to_see_what_it_would_do() {
    let gate = Build { purpose: Purpose::Foresee, ..Build::default() }.gate();
    let result = gate.call("test.command", json!({ "path": "a.md" })).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind, Some(Failure::PreconditionFailed));
    assert_eq!(error.details.unwrap().get("unforeseen"), Some(&json!(true)));
    assert_eq!(gate.call("test.write", json!({ "path": "a.md" })).await.error, None);
}
