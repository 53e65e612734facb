//! The forecast is part of the question, and an approval covers exactly the forecast.

use std::sync::Arc;
use std::sync::Mutex;

use crate::support::{Build, Files, ScriptedApprover, TestEngine, plan};
use engine::{
    Forecast, ForecastCall, ForecastOutcome, Forecaster, Mode, Policy, Purpose, ResumeRequest, RunCancel,
    RunPlace,
};
use envelope::{Failure, Hash, Status, StepId, ToolDecl, ToolName, canonical_hash};
use expect_test::expect;
use plan::{CheckedPlan, RunStatus};
use serde_json::{Value, json};
use toolkit::BoxFuture;

/// Tells one forecast after the other; the last one for ever.
struct Told(Mutex<Vec<Forecast>>);

impl Told {
    fn new(texts: &[&str]) -> Arc<Told> {
        let forecast = |(at, text): (usize, &&str)| Forecast {
            headline: format!("{text}."),
            text: "details".to_owned(),
            fingerprint: Hash::of(text.as_bytes()),
            differs: if at == 0 { Vec::new() } else { vec![format!("now: {text}")] },
            calls: None,
            runs_unasked: false,
            refusal: None,
        };
        Arc::new(Told(Mutex::new(texts.iter().enumerate().map(forecast).collect())))
    }
}

impl Forecaster for Told {
    fn forecast_plan<'a>(&'a self, _plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        let mut told = self.0.lock().unwrap();
        let forecast = if told.len() > 1 { told.remove(0) } else { told[0].clone() };
        Box::pin(std::future::ready(forecast))
    }

    fn forecast_call<'a>(&'a self, _tool: &'a ToolDecl, _args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        Box::pin(std::future::ready(None))
    }
}

fn asking(approver: ScriptedApprover) -> TestEngine {
    Build { policy: Policy { mode: Mode::Ask, ..Policy::cautious() }, approver, ..Build::default() }
        .test_engine()
}

async fn run(test_engine: &TestEngine, forecaster: Arc<dyn Forecaster>) -> engine::RunReport {
    let steps = plan(json!([{ "id": "w", "tool": "test.write", "args": { "path": "a.md" } }]));
    test_engine.run_forecast(&steps, RunPlace::Memory, RunCancel::new(), (Some(forecaster), None)).await
}

#[tokio::test]
async fn the_forecast_is_the_beginning_of_the_question() {
    let test_engine = asking(ScriptedApprover::yes());
    let report = run(&test_engine, Told::new(&["creates a.md"])).await;
    assert_eq!(report.status, RunStatus::Ok);
    let asked = test_engine.approver.asked();
    assert_eq!(asked.len(), 1);
    expect![[r#"
        creates a.md.
        details

        Goal: test the gate
        Risk: writes   Plan: b3:0ed6873326ed0cd7bf4df31a764d187798dd4cdf666584b5732461c517a3e457
        Steps: 1
          1. w [test.write writes]: Do as told
               path: "a.md"
        Preview hash: b3:ad102973e55a2823e1e22b4aedf363f0dfc350623561adf059f970171abfe1c9
    "#]]
    .assert_eq(&asked[0]);
}

#[tokio::test]
async fn a_yes_to_what_has_changed_is_asked_for_again() {
    let test_engine = asking(ScriptedApprover::yes());
    let report = run(&test_engine, Told::new(&["creates a.md", "changes a.md"])).await;
    assert_eq!(report.status, RunStatus::Ok);
    let asked = test_engine.approver.asked();
    assert_eq!(asked.len(), 2, "{asked:#?}");
    let (forecast, _) = asked[1].split_once("\n\n").unwrap();
    expect![[r#"
        changes a.md.
        This is not what was forecast before:
          now: changes a.md
        details"#]]
    .assert_eq(forecast);
}

#[tokio::test]
async fn a_vault_that_never_holds_still_is_not_asked_about_for_ever() {
    let test_engine = asking(ScriptedApprover::yes());
    let report = run(&test_engine, Told::new(&["1", "2", "3", "4", "5"])).await;
    assert_eq!(report.status, RunStatus::Declined);
    assert_eq!(test_engine.approver.asked().len(), 3);
    expect!["what the plan would do changed again and again while it was being asked about"]
        .assert_eq(&report.reason.unwrap());
    assert_eq!(test_engine.results().iter().filter(|result| result.ok).count(), 0);
}

#[tokio::test]
async fn the_record_keeps_the_hash_of_all_that_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    let steps = plan(json!([{ "id": "w", "tool": "test.write", "args": { "path": "a.md" } }]));
    let place = RunPlace::Disk(folder.path().to_owned().into());
    let told = Told::new(&["creates a.md", "changes a.md"]);
    let report = test_engine.run_forecast(&steps, place, RunCancel::new(), (Some(told), None)).await;
    let header = std::fs::read_to_string(report.run_dir.unwrap().join("run.json")).unwrap();
    let asked = test_engine.approver.asked();
    assert!(header.contains(&Hash::of(asked[1].as_bytes()).to_string()), "{header}");
    assert!(!header.contains(&Hash::of(asked[0].as_bytes()).to_string()));
}

/// Whatever it is asked, it falls over.
struct Broken;

impl Forecaster for Broken {
    fn forecast_plan<'a>(&'a self, _plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        Box::pin(async { panic!("no crystal ball") })
    }

    fn forecast_call<'a>(&'a self, _tool: &'a ToolDecl, _args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        Box::pin(async { panic!("no crystal ball") })
    }
}

#[tokio::test]
async fn without_a_forecast_the_yes_to_the_plan_covers_no_call() {
    let test_engine = asking(ScriptedApprover::yes());
    assert_eq!(run(&test_engine, Arc::new(Broken)).await.status, RunStatus::Ok);
    let asked = test_engine.approver.asked();
    assert!(asked[0].starts_with("What would happen cannot be forecast: no crystal ball"), "{asked:#?}");
    assert_eq!(asked.len(), 2, "the call is asked about by itself: {asked:#?}");
}

#[tokio::test]
async fn nothing_is_forecast_where_nobody_is_asked() {
    let test_engine = Build::default().test_engine();
    assert_eq!(run(&test_engine, Arc::new(Broken)).await.status, RunStatus::Ok);
    assert_eq!(test_engine.approver.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_command_is_not_run_to_see_what_it_would_do() {
    let test_engine = Build { purpose: Purpose::Forecast, ..Build::default() }.test_engine();
    let result = test_engine.call("test.command", json!({ "path": "a.md" })).await;
    let error = result.error.unwrap();
    assert_eq!(error.kind, Some(Failure::PreconditionFailed));
    assert_eq!(error.details.unwrap().get("unforeseen"), Some(&json!(true)));
    assert_eq!(test_engine.call("test.write", json!({ "path": "a.md" })).await.error, None);
}

/// Forecasts a call that saves `text` now.
fn save_call(files: &Files, step: &str, path: &str, text: &str) -> ForecastCall {
    ForecastCall {
        step: StepId::parse(step).unwrap(),
        index: None,
        tool: ToolName::parse("test.save").unwrap(),
        args_hash: Some(canonical_hash(&json!({ "path": path, "text": text }))),
        outcome: ForecastOutcome::Works,
        changes: vec![files.intent(path, text)],
    }
}

/// Forecasts one step that saves a file. The first forecast of each kind is told before `edit` is done to the files, as
/// if another program had written while the question was open.
struct Saving {
    files: Files,
    edit: Mutex<Option<(&'static str, &'static str)>>,
}

impl Saving {
    fn told(&self, step: &str, path: &str, text: &str) -> Forecast {
        let call = save_call(&self.files, step, path, text);
        let fingerprint = canonical_hash(&serde_json::to_value(&call).unwrap());
        if let Some((path, text)) = self.edit.lock().unwrap().take() {
            self.files.put(path, text);
        }
        Forecast {
            headline: format!("Changes {path}."),
            text: String::new(),
            fingerprint,
            differs: Vec::new(),
            calls: Some(vec![call]),
            runs_unasked: false,
            refusal: None,
        }
    }
}

impl Forecaster for Saving {
    fn forecast_plan<'a>(&'a self, _plan: &'a CheckedPlan) -> BoxFuture<'a, Forecast> {
        Box::pin(std::future::ready(self.told("w", "a.md", "new")))
    }

    fn forecast_call<'a>(&'a self, _tool: &'a ToolDecl, args: &'a Value) -> BoxFuture<'a, Option<Forecast>> {
        let text = args["text"].as_str().unwrap().to_owned();
        let path = args["path"].as_str().unwrap().to_owned();
        Box::pin(async move { Some(self.told("call", &path, &text)) })
    }
}

fn saving(
    approver: ScriptedApprover,
    files: &Files,
    edit: Option<(&'static str, &'static str)>,
) -> TestEngine {
    let forecaster = Saving { files: files.clone(), edit: Mutex::new(edit) };
    Build {
        policy: Policy { mode: Mode::Ask, ..Policy::cautious() },
        approver,
        forecaster: Some(Arc::new(forecaster)),
        files: files.clone(),
        ..Build::default()
    }
    .test_engine()
}

fn save_plan() -> Value {
    plan(json!([{ "id": "w", "tool": "test.save", "args": { "path": "a.md", "text": "new" } }]))
}

#[tokio::test]
async fn a_yes_to_a_call_is_bound_to_the_file_that_it_was_shown_for() {
    for (edit, asked, ends) in [(None, 1, "new"), (Some(("a.md", "edited by hand")), 2, "new")] {
        let files = Files::of(&[("a.md", "old")]);
        let test_engine = saving(ScriptedApprover::yes(), &files, edit);
        let result = test_engine.call("test.save", json!({ "path": "a.md", "text": "new" })).await;
        assert_eq!(result.error, None);
        assert_eq!((test_engine.approver.asked().len(), files.get("a.md").unwrap().as_str()), (asked, ends));
    }
}

#[tokio::test]
async fn the_second_question_names_both_states_and_a_no_leaves_the_edit_alone() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static FIRST: AtomicBool = AtomicBool::new(true);
    let files = Files::of(&[("a.md", "old")]);
    let approver = ScriptedApprover::new(
        || engine::ConfirmAnswer::Unavailable { why: "a test".to_owned() },
        || match FIRST.swap(false, Ordering::SeqCst) {
            true => engine::ApprovalDecision::ApproveOnce { channel: envelope::ApprovalChannel::Embedder },
            false => engine::ApprovalDecision::Unavailable { why: "they left".to_owned(), hint: None },
        },
    );
    let test_engine = saving(approver, &files, Some(("a.md", "edited by hand")));
    let result = test_engine.call("test.save", json!({ "path": "a.md", "text": "new" })).await;
    let error = result.error.unwrap();
    assert_eq!((error.kind, files.get("a.md").as_deref()), (Some(Failure::Conflict), Some("edited by hand")));
    expect!["a.md has changed: it was 96a42572, now it is 43b2f92a: this is not what was approved, and no one is available to approve it: they left"].assert_eq(&error.message);
}

#[tokio::test]
async fn every_call_of_a_plan_is_held_to_the_forecast_that_was_approved_before() {
    for (edit, status, ends) in
        [(None, RunStatus::Ok, "new"), (Some("edited by hand"), RunStatus::Failed, "edited by hand")]
    {
        let files = Files::of(&[("a.md", "old")]);
        let approved = vec![save_call(&files, "w", "a.md", "new")];
        let test_engine = Build { files: files.clone(), ..Build::default() }.test_engine();
        if let Some(edit) = edit {
            files.put("a.md", edit);
        }
        let report = test_engine
            .run_forecast(&save_plan(), RunPlace::Memory, RunCancel::new(), (None, Some(approved)))
            .await;
        assert_eq!((report.status, files.get("a.md").unwrap().as_str()), (status, ends));
    }
}

#[tokio::test]
async fn a_call_that_was_expected_to_fail_does_not_happen_when_it_would_work() {
    let files = Files::of(&[("a.md", "old")]);
    let failing = ForecastCall {
        outcome: ForecastOutcome::Fails { message: "a.md does not exist".to_owned() },
        changes: Vec::new(),
        ..save_call(&files, "w", "a.md", "new")
    };
    for approved in [vec![failing], Vec::new()] {
        let test_engine = Build { files: files.clone(), ..Build::default() }.test_engine();
        let report = test_engine
            .run_forecast(&save_plan(), RunPlace::Memory, RunCancel::new(), (None, Some(approved)))
            .await;
        assert_eq!((report.status, files.get("a.md").as_deref()), (RunStatus::Failed, Some("old")));
    }
}

#[tokio::test]
async fn a_resumed_run_is_held_to_the_forecast_that_was_approved() {
    let folder = tempfile::tempdir().unwrap();
    let files = Files::of(&[("a.md", "old")]);
    let test_engine = saving(ScriptedApprover::yes(), &files, None);
    let steps = plan(json!([
        { "id": "first", "tool": "test.look", "args": { "act": "door", "text": "waits" } },
        { "id": "w", "tool": "test.save", "args": { "path": "a.md", "text": "new" } },
    ]));
    let forecaster = Arc::new(Saving { files: files.clone(), edit: Mutex::default() });
    let checked = test_engine.check(&steps);
    let request = engine::RunRequest {
        plan: checked,
        place: RunPlace::Disk(folder.path().to_owned().into()),
        kind: journal::RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        asks_always: false,
        continues: None,
        planner_version: None,
        cancel: RunCancel::new(),
        forecaster: Some(forecaster),
        approved: None,
        budget: None,
    };
    // The run is dropped while its first call is under way, as if the process had been killed.
    {
        let engine = test_engine.engine.clone();
        let running = tokio::spawn(async move { engine.run_plan(request).await.map(|report| report.status) });
        test_engine.work.waiting.notified().await;
        running.abort();
        let _aborted = running.await;
    }
    let run_dir = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    files.put("a.md", "edited by hand");
    let again = Build {
        policy: Policy { mode: Mode::Ask, ..Policy::cautious() },
        files: files.clone(),
        ..Build::default()
    }
    .test_engine();
    again.work.open.notify_one();
    let request = ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None };
    again.engine.resume(request).await.unwrap();
    assert_eq!(files.get("a.md").as_deref(), Some("edited by hand"));
    let saved = again.results().into_iter().find(|result| result.step_id.as_str() == "w");
    assert_ne!(saved.map(|result| result.status), Some(Status::Ok));
}

#[tokio::test]
async fn nobody_is_asked_about_a_dry_run() {
    let files = Files::of(&[("a.md", "old")]);
    for mode in [Mode::Ask, Mode::ReadOnly] {
        let policy = Policy { mode, ..Policy::cautious() };
        let test_engine = Build { policy, files: files.clone(), ..Build::default() }.test_engine();
        let result =
            test_engine.call("test.save", json!({ "path": "a.md", "text": "new", "dryRun": true })).await;
        assert_eq!((result.error, test_engine.approver.asked().len()), (None, 0), "{mode:?}");
        assert_eq!(files.get("a.md").as_deref(), Some("old"));
    }
}
