//! Whole plans through the real engine: order of events, one approval, retries, cancellation, resume.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use crate::support::{Build, ScriptedApprover, TestEngine, plan, test_engine};
use engine::{Policy, ResumeError, ResumeRequest, RunCancel, RunPlace, RunReport};
use envelope::{CallId, Confirmation, EventType, Status, ToolCall, ToolResult};
use expect_test::expect;
use journal::{JournalRecord, RunFolder};
use plan::RunStatus;
use serde_json::{Value, json};

fn asking(approver: ScriptedApprover) -> TestEngine {
    Build { policy: Policy::cautious(), approver, ..Build::default() }.test_engine()
}

fn disk(folder: &Path) -> RunPlace {
    RunPlace::Disk(folder.join("runs").into())
}

/// Everything in a run folder, in the order in which it was written.
fn records(report: &RunReport) -> Vec<JournalRecord> {
    let folder = RunFolder::open(report.run_dir.as_ref().unwrap()).unwrap();
    folder.records().unwrap().map(|entry| entry.unwrap().record).collect()
}

fn calls(report: &RunReport) -> Vec<ToolCall> {
    let call = |record| if let JournalRecord::Call(call) = record { Some(*call) } else { None };
    records(report).into_iter().filter_map(call).collect()
}

fn results(report: &RunReport) -> Vec<ToolResult> {
    let result = |record| if let JournalRecord::Result(result) = record { Some(*result) } else { None };
    records(report).into_iter().filter_map(result).collect()
}

fn proves_itself(report: &RunReport) {
    let run_dir = report.run_dir.as_ref().unwrap();
    let verified = journal::verify(run_dir, report.chain_head.as_ref().map(|head| &head.hash)).unwrap();
    assert_eq!(verified.problems, []);
    assert!(verified.finished && verified.proven);
    let replayed = journal::replay(run_dir).unwrap();
    assert_eq!(replayed.divergences, []);
}

/// Works, is refused, times out, fails and is tried again: something of everything.
fn mixed_plan() -> Value {
    plan(json!([
        { "id": "look", "tool": "test.look", "args": { "text": "a" } },
        { "id": "write", "tool": "test.write", "args": { "text": "$steps.look.text", "path": "a.md" } },
        { "id": "half", "tool": "test.write", "args": { "act": "halfDone", "path": "b.md" }, "onError": "skip" },
        { "id": "after", "tool": "test.look", "args": { "text": "{steps.half.text}" } },
        { "id": "slow", "tool": "test.look", "args": { "act": "wait" }, "timeoutMs": 50, "onError": "skip" },
        { "id": "outage", "tool": "test.look", "args": { "act": "unavailable", "text": "x" },
          "onError": "retry", "retry": { "maxAttempts": 4, "backoffMs": 100 } }
    ]))
}

// Conformance: envelope 1.1
//     Every invocation and every outcome has one structured, recorded form, whatever happened.
//     In: envelope/call.rs, envelope/result.rs
// Conformance: envelope 4.1
#[tokio::test(start_paused = true)]
async fn every_call_has_one_terminal_result() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    *test_engine.work.outages.lock().unwrap() = 2;
    let report = test_engine.run(&mixed_plan(), disk(folder.path())).await;
    assert_eq!(report.status, RunStatus::Failed);
    let mut ends: BTreeMap<CallId, u32> = BTreeMap::new();
    for result in results(&report).iter().filter(|result| result.status != Status::Skipped) {
        *ends.entry(result.call_id.clone()).or_default() += 1;
    }
    let begun: BTreeMap<CallId, u32> = calls(&report).into_iter().map(|call| (call.call_id, 1)).collect();
    assert_eq!(ends, begun);
    proves_itself(&report);
}

// Conformance: envelope 5.4
//     Every call is announced before it is dispatched, and finished or failed afterwards.
//     In: engine/call.rs
#[tokio::test(start_paused = true)]
async fn every_call_starts_before_dispatch_and_finishes_or_fails() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    let report = test_engine.run(&mixed_plan(), disk(folder.path())).await;
    let mut started: BTreeMap<CallId, bool> = BTreeMap::new();
    for record in records(&report) {
        match record {
            JournalRecord::Event(event) => match (event.event_type, event.call_id) {
                (EventType::StepStarted, Some(id)) => assert_eq!(started.insert(id, false), None),
                (EventType::StepFinished | EventType::StepFailed, Some(id)) if started.contains_key(&id) => {
                    assert_eq!(started.insert(id, true), Some(false));
                }
                (_, _) => {}
            },
            JournalRecord::Call(call) => {
                assert_eq!(started.get(&call.call_id), Some(&false), "started before it is made");
            }
            JournalRecord::Result(_) => {}
        }
    }
    assert!(started.len() >= 5 && started.values().all(|ended| *ended), "{started:?}");
}

// Conformance: envelope 5.1
// Conformance: envelope 5.2
#[tokio::test]
async fn a_run_tells_its_events_from_start_to_finish() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    let steps = json!([
        { "id": "look", "tool": "test.look", "args": { "text": "a" } },
        { "id": "each", "tool": "test.write", "args": { "text": "{n}" }, "foreach": { "from": ["x", "y"], "itemName": "n", "concurrency": 1 },
          "dependsOn": ["look"] }
    ]);
    let report = test_engine.run(&plan(steps), disk(folder.path())).await;
    let mut told = String::new();
    for event in test_engine.events() {
        let kind = serde_json::to_value(event.event_type).unwrap();
        let step = event.step_id.map(|id| id.to_string()).unwrap_or_default();
        writeln!(
            told,
            "{} {step} | {}",
            kind.as_str().unwrap(),
            event.message.lines().next().unwrap_or_default()
        )
        .unwrap();
    }
    expect![[r#"
        run.started  | test the gate
        run.confirmationRequested  | may this plan run?
        run.confirmed  | confirmed
        step.scheduled look | next
        step.started look | Do a
        step.finished look | Did a
        step.scheduled each | 2 items
        step.started each | Do x
        step.finished each | Did x
        step.progress each | 1 of 2
        step.started each | Do y
        step.finished each | Did y
        step.progress each | 2 of 2
        run.finished  | ok
    "#]]
    .assert_eq(&told);
    proves_itself(&report);
}

// Conformance: envelope 3.7
// Conformance: envelope 8.1
//     Every call carries the id of the approval it ran under.
//     In: engine/driver/confirmation.rs
#[tokio::test]
async fn one_yes_is_carried_by_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    let steps = json!([
        { "id": "a", "tool": "test.write", "args": { "text": "{n}" }, "foreach": { "from": [1, 2, 3], "itemName": "n" } },
        { "id": "b", "tool": "test.command", "args": {} }
    ]);
    let mut whole = plan(steps);
    whole["riskLevel"] = "commands".into();
    let report = test_engine.run(&whole, disk(folder.path())).await;
    assert_eq!(test_engine.approver.asked().len(), 1, "one question for the whole plan");
    let given = report.confirmation_id.clone().unwrap();
    assert!(calls(&report).iter().all(|call| call.confirmation_id.as_ref() == Some(&given)));
    let kept = RunFolder::open(report.run_dir.as_ref().unwrap()).unwrap().confirmation().cloned().unwrap();
    assert_eq!(kept.confirmation_id, given);
    assert_eq!(kept.shown, envelope::Hash::of(test_engine.approver.asked()[0].as_bytes()));
    let event =
        test_engine.events().into_iter().find(|event| event.event_type == EventType::RunConfirmed).unwrap();
    assert_eq!(serde_json::from_value::<Confirmation>(event.payload.unwrap()).unwrap(), kept);
}

// Conformance: envelope 3.7
//     It carries the policy under which it was made and the id of the yes it ran under.
//     In: envelope/policy.rs
// Conformance: envelope 8.2
//     Every call carries whether confirmations were required when it was made.
//     In: envelope/policy.rs
#[tokio::test]
async fn a_call_carries_the_policy_it_ran_under() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    let report = test_engine
        .run(&plan(json!([{ "id": "a", "tool": "test.write", "args": {} }])), disk(folder.path()))
        .await;
    let call = &calls(&report)[0];
    assert_eq!(
        serde_json::to_value(&*call.policy).unwrap(),
        json!({
            "confirmationsRequired": true,
            "sandbox": { "enabled": true, "allowedRoots": ["/"], "denyPatterns": ["..", "://"] },
            "limits": { "maxConcurrency": 8, "maxAttempts": 5, "callTimeoutMs": 600_000, "maxForeachItems": 1000 }
        })
    );
    assert_eq!(call.risk_level, envelope::Risk::Writes);
}

// Conformance: envelope 8.3
#[tokio::test]
async fn a_changed_plan_voids_the_yes() {
    let bindings = |test_engine: &TestEngine, plan: &Value| {
        let checked = test_engine.check(plan);
        Confirmation::binding(
            &checked.hash,
            &test_engine.engine.policy().hash(),
            test_engine.engine.surface().version(),
            None,
        )
    };
    let first = plan(json!([{ "id": "a", "tool": "test.write", "args": { "text": "a" } }]));
    let changed = plan(json!([{ "id": "a", "tool": "test.write", "args": { "text": "b" } }]));
    let test_engine = asking(ScriptedApprover::yes());
    assert_ne!(bindings(&test_engine, &first), bindings(&test_engine, &changed));
    let mut policy = Policy::cautious();
    policy.limits.max_foreach_items = 5;
    let other = Build { policy, ..Build::default() }.test_engine();
    assert_ne!(bindings(&test_engine, &first), bindings(&other, &first));
    assert_eq!(bindings(&test_engine, &first), bindings(&asking(ScriptedApprover::no()), &first));

    // The plan of an interrupted run is replaced by another valid one: its approval does not cover that.
    let folder = tempfile::tempdir().unwrap();
    let (run_dir, _) = interrupted(folder.path(), "door").await;
    replace_plan(&test_engine, &run_dir, |plan| plan["steps"][2]["args"]["text"] = json!("changed"));
    let problems: Vec<String> =
        journal::verify(&run_dir, None).unwrap().problems.iter().map(ToString::to_string).collect();
    let voided = "the confirmation was given for another plan";
    assert!(problems.iter().any(|problem| problem.contains(voided)), "{problems:?}");
    let request = ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None };
    let refused = test_engine.engine.resume(request).await.unwrap_err().to_string();
    assert!(refused.contains("it is not the run.json that this record was started with"), "{refused}");
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());

    // The record is intact, but tools that the plan does not use are gone: the approval was given for another set.
    let folder = tempfile::tempdir().unwrap();
    let (run_dir, _) = interrupted(folder.path(), "door").await;
    let approver = ScriptedApprover::yes();
    let fewer = Build { policy: Policy::cautious(), approver, with_shell: false, ..Build::default() };
    let fewer = fewer.test_engine();
    let request = ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None };
    let refused = fewer.engine.resume(request).await;
    assert!(
        matches!(refused, Err(ResumeError::Changed { what: "the plan, the policy or the set of tools" })),
        "{:?}",
        refused.err()
    );
    assert_eq!(fewer.work.begun(), Vec::<String>::new());
}

/// Changes the plan in `run.json`, and its hash to match.
#[allow(clippy::disallowed_methods, reason = "the test damages the record from outside")]
fn replace_plan(test_engine: &TestEngine, run_dir: &Path, change: impl FnOnce(&mut Value)) {
    let file = run_dir.join("run.json");
    let mut header: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let old_hash = header["planHash"].clone();
    change(&mut header["plan"]);
    header["planHash"] = serde_json::to_value(test_engine.check(&header["plan"]).hash).unwrap();
    assert_ne!(header["planHash"], old_hash);
    std::fs::write(&file, header.to_string()).unwrap();
}

// Conformance: envelope 8.3
//     It can be proven from the records that nothing ran before the yes, and that the yes was to this plan.
//     In: engine/driver/confirmation.rs, journal/verify.rs
#[tokio::test]
async fn nothing_runs_before_the_yes() {
    for approver in [ScriptedApprover::no(), ScriptedApprover::nobody()] {
        let folder = tempfile::tempdir().unwrap();
        let test_engine = asking(approver);
        let steps = json!([
            { "id": "look", "tool": "test.look", "args": {} },
            { "id": "write", "tool": "test.write", "args": {} }
        ]);
        let report = test_engine.run(&plan(steps), disk(folder.path())).await;
        assert_eq!(report.status, RunStatus::Declined);
        assert_eq!(calls(&report), []);
        assert_eq!(test_engine.work.begun(), Vec::<String>::new());
        proves_itself(&report);
    }
}

// Conformance: envelope 7.4
//     Each attempt counts one up and has its own call and its own result, of the same step and run.
//     In: plan/machine/retry.rs
// Conformance: pipeline 4.3
//     Neither a retry nor a resumed run maps a recorded output again.
//     In: engine/driver/resume.rs
#[tokio::test(start_paused = true)]
async fn each_attempt_is_its_own_call_and_result() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    *test_engine.work.outages.lock().unwrap() = 2;
    let steps = json!([{ "id": "a", "tool": "test.look", "args": { "act": "unavailable", "text": "x" }, "onError": "retry",
        "retry": { "maxAttempts": 5, "backoffMs": 200 } }]);
    let report = test_engine.run(&plan_reading(steps), disk(folder.path())).await;
    assert_eq!(report.status, RunStatus::Ok);
    let attempts: Vec<_> = calls(&report).into_iter().map(|call| (call.attempt, call.args_hash)).collect();
    assert_eq!(attempts.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(attempts.iter().all(|(_, hash)| *hash == attempts[0].1));
    let ids: std::collections::BTreeSet<_> = calls(&report).into_iter().map(|call| call.call_id).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(results(&report).iter().map(|result| result.ok).collect::<Vec<_>>(), [false, false, true]);
    proves_itself(&report);
}

fn plan_reading(steps: Value) -> Value {
    let mut whole = plan(steps);
    whole["riskLevel"] = "read-only".into();
    whole
}

// Conformance: envelope 7.3
//     Retries never exceed what the policy allows.
//     In: plan/machine/retry.rs, plan/machine/backoff.rs
#[tokio::test(start_paused = true)]
async fn retries_stop_at_the_policy_limit() {
    let mut policy = Build::default().policy;
    policy.limits.max_attempts = std::num::NonZeroU32::new(2).unwrap();
    let test_engine = Build { policy, ..Build::default() }.test_engine();
    *test_engine.work.outages.lock().unwrap() = 9;
    let steps = json!([{ "id": "a", "tool": "test.look", "args": { "act": "unavailable", "text": "x" }, "onError": "retry",
        "retry": { "maxAttempts": 9, "backoffMs": 200 } }]);
    let report = test_engine.run(&plan_reading(steps), RunPlace::Memory).await;
    assert_eq!(report.status, RunStatus::Failed);
    assert_eq!(test_engine.work.begun().len(), 2);
}

// Conformance: envelope 1.4
#[tokio::test(start_paused = true)]
async fn cancelling_a_foreach_ends_every_started_call() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = Arc::new(test_engine());
    let steps = json!([
        { "id": "slow", "tool": "test.write", "args": { "act": "wait", "text": "{n}" },
          "foreach": { "from": (0..50).collect::<Vec<_>>(), "itemName": "n" } },
        { "id": "deaf", "tool": "test.look", "args": { "act": "ignore" } }
    ]);
    let cancel = RunCancel::new();
    let run = {
        let (test_engine, cancel, place) = (test_engine.clone(), cancel.clone(), disk(folder.path()));
        let whole = plan(steps);
        tokio::spawn(async move { test_engine.run_until(&whole, place, cancel).await })
    };
    test_engine.work.waiting.notified().await;
    let before = tokio::time::Instant::now();
    cancel.cancel();
    let report = run.await.unwrap();
    assert!(before.elapsed() < std::time::Duration::from_secs(2), "{:?}", before.elapsed());
    assert_eq!(report.status, RunStatus::Cancelled);
    let begun = calls(&report).len();
    let ended = results(&report).iter().filter(|result| result.status == Status::Cancelled).count();
    assert!(begun > 0 && begun < 51);
    assert_eq!(begun, ended);
    assert!(test_engine.events().iter().any(|event| event.event_type == EventType::RunCancelled));
    proves_itself(&report);
}

// Conformance: envelope 1.6
// Conformance: envelope 4.8
//     Effects list what was created, modified, deleted and renamed, as it was seen and not as it was meant.
//     In: envelope/effects.rs
#[tokio::test]
async fn effects_are_what_was_seen_not_what_was_meant() {
    let test_engine = test_engine();
    let steps = json!([
        { "id": "half", "tool": "test.write", "args": { "act": "halfDone", "path": "seen.md" }, "onError": "skip" },
        { "id": "none", "tool": "test.write", "args": { "act": "fail", "path": "meant.md" }, "onError": "skip" }
    ]);
    let report = test_engine.run(&plan(steps), RunPlace::Memory).await;
    let seen: Vec<_> = report.effects.created.iter().map(|created| created.path.as_str()).collect();
    assert_eq!(seen, ["seen.md"]);
}

// Conformance: envelope 9.1
//     A run can be rebuilt from the plan, the calls, the results and the confirmation.
//     In: journal/replay.rs
#[tokio::test]
async fn the_run_folder_alone_rebuilds_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = asking(ScriptedApprover::yes());
    let steps = json!([
        { "id": "look", "tool": "test.look", "args": { "act": "big", "text": "a" }, "captureAs": "found" },
        { "id": "each", "tool": "test.write", "args": { "text": "{index}: {line}", "path": "n{index}.md" },
          "foreach": { "from": "$vars.found.items", "itemName": "line", "concurrency": 4 } }
    ]);
    let report = test_engine.run(&plan(steps), disk(folder.path())).await;
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(calls(&report).len(), 101);
    // Nothing but the state folder is left, not even the tools.
    drop(test_engine);
    proves_itself(&report);
    let kept = RunFolder::open(report.run_dir.as_ref().unwrap()).unwrap();
    assert_eq!(kept.header().plan_hash, report.plan_hash);
    assert_eq!(kept.confirmation().map(|given| given.confirmation_id.clone()), report.confirmation_id);
}

// Conformance: envelope 4.7
// Conformance: result 3.4
#[tokio::test]
async fn the_same_plan_gives_the_same_journal_bytes() {
    let mut journals = Vec::new();
    for _ in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let test_engine = asking(ScriptedApprover::yes());
        let steps = json!([
            { "id": "look", "tool": "test.look", "args": { "text": "a" } },
            { "id": "each", "tool": "test.write", "args": { "text": "{n}", "path": "{n}.md" },
              "foreach": { "from": ["x", "y", "z"], "itemName": "n", "concurrency": 1 }, "dependsOn": ["look"] }
        ]);
        let report = test_engine.run(&plan(steps), disk(folder.path())).await;
        let run_dir = report.run_dir.unwrap();
        let files = ["run.json", "calls.jsonl", "results.jsonl", "events.jsonl"];
        journals.push(files.map(|name| std::fs::read_to_string(run_dir.join(name)).unwrap()));
    }
    assert_eq!(journals[0], journals[1]);
}

/// Runs a plan whose fifth write never returns, and leaves the folder as a killed process would.
async fn interrupted(folder: &Path, act: &str) -> (std::path::PathBuf, Vec<String>) {
    let test_engine = asking(ScriptedApprover::yes());
    let steps = interruptible(act);
    let request = engine::RunRequest {
        plan: test_engine.check(&steps),
        place: disk(folder),
        kind: journal::RunKind::Plan,
        undoes: Vec::new(),
        session: None,
        asks_always: false,
        continues: None,
        planner_version: None,
        cancel: RunCancel::new(),
        forecaster: None,
        approved: None,
        budget: None,
    };
    let engine = test_engine.engine.clone();
    let run = tokio::spawn(async move { engine.run_plan(request).await });
    test_engine.work.waiting.notified().await;
    // Dropped in mid-air: no result for the open call, no end of the run.
    run.abort();
    assert!(run.await.is_err());
    // Whoever was writing lets go of the record in their own time.
    let runs = folder.join("runs");
    while journal::list_runs(&runs).unwrap().iter().any(|run| run.state == journal::RunState::Running) {
        tokio::task::yield_now().await;
    }
    let run_dir = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap().path()).next().unwrap();
    (run_dir, test_engine.work.ended())
}

fn interruptible(act: &str) -> Value {
    let tool = if act == "door" { "test.write" } else { "test.command" };
    let mut whole = plan(json!([
        { "id": "first", "tool": "test.write", "args": { "text": "w{n}" },
          "foreach": { "from": [0, 1, 2], "itemName": "n", "concurrency": 1 } },
        { "id": "stuck", "tool": tool, "args": { "act": act, "text": "stuck" }, "dependsOn": ["first"], "onError": "skip" },
        { "id": "last", "tool": "test.write", "args": { "text": "last" }, "dependsOn": ["first"] }
    ]));
    if tool == "test.command" {
        whole["riskLevel"] = "commands".into();
    }
    whole
}

// Conformance: pipeline 4.3
#[tokio::test]
async fn an_interrupted_run_goes_on_without_repeating_a_finished_call() {
    let folder = tempfile::tempdir().unwrap();
    let (run_dir, ended) = interrupted(folder.path(), "door").await;
    assert!(["w0", "w1", "w2"].iter().all(|text| ended.contains(&(*text).to_owned())), "{ended:?}");
    let test_engine = asking(ScriptedApprover::nobody());
    // The tool is idempotent, so the uncertain call is made again; the door is open now.
    test_engine.work.open.notify_one();
    let report = test_engine
        .engine
        .resume(ResumeRequest { run_dir: run_dir.clone(), cancel: RunCancel::new(), forecaster: None })
        .await
        .unwrap();
    assert_eq!(report.status, RunStatus::Ok, "{report:#?}");
    assert!(
        !test_engine.work.begun().iter().any(|text| text.starts_with('w')),
        "{:?}",
        test_engine.work.begun()
    );
    assert_eq!(test_engine.work.begun().iter().filter(|text| *text == "stuck").count(), 1);
    proves_itself(&report);
    let again = test_engine
        .engine
        .resume(ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None })
        .await;
    assert!(matches!(again, Err(ResumeError::Finished)));
}

#[tokio::test]
async fn a_call_nobody_can_vouch_for_is_left_unless_a_person_says_run() {
    let folder = tempfile::tempdir().unwrap();
    let (run_dir, _) = interrupted(folder.path(), "ignore").await;
    let test_engine = asking(ScriptedApprover::nobody());
    let report = test_engine
        .engine
        .resume(ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None })
        .await
        .unwrap();
    assert_eq!(
        test_engine.approver.asked(),
        ["test.command: uncertain because the tool cannot check afterwards whether it happened"]
    );
    assert!(!test_engine.work.begun().contains(&"stuck".to_owned()), "never run twice blindly");
    let left = results(&report).into_iter().find(|result| result.step_id.as_str() == "stuck").unwrap();
    assert!(left.reconciled);
    assert_eq!(left.error.unwrap().details.unwrap()["outcome"], "unknown");
    proves_itself(&report);
}

// Conformance: envelope 8.3
#[tokio::test]
async fn a_resumed_run_needs_the_policy_it_was_confirmed_under() {
    let folder = tempfile::tempdir().unwrap();
    let (run_dir, _) = interrupted(folder.path(), "ignore").await;
    let test_engine = Build { approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    let refused = test_engine
        .engine
        .resume(ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None })
        .await;
    assert!(matches!(refused, Err(ResumeError::Changed { what: "the policy" })));
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
}

#[tokio::test]
async fn serial_calls_see_what_the_one_before_left() {
    let test_engine = test_engine();
    let steps = json!([
        { "id": "a", "tool": "test.alone", "args": { "act": "context", "text": "mark" } },
        { "id": "b", "tool": "test.alone", "args": {} }
    ]);
    test_engine.run(&plan(steps), RunPlace::Memory).await;
    let second = test_engine.results().into_iter().find(|result| result.step_id.as_str() == "b").unwrap();
    assert_eq!(second.data.unwrap()["seen"], "mark");
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_mended_by_a_retry_cancels_nobody() {
    let mut policy = Build::default().policy;
    policy.sibling_failure = plan::SiblingPolicy::CancelDependents;
    let test_engine = Build { policy, ..Build::default() }.test_engine();
    *test_engine.work.outages.lock().unwrap() = 1;
    let steps = json!([
        { "id": "a", "tool": "test.write", "args": { "act": "unavailable", "text": "a", "path": "p.md" },
          "onError": "retry", "retry": { "maxAttempts": 3, "backoffMs": 10 } },
        { "id": "b", "tool": "test.write", "args": { "text": "b", "path": "p.md" } }
    ]);
    let report = test_engine.run(&plan(steps), RunPlace::Memory).await;
    assert_eq!(report.status, RunStatus::Ok, "{report:#?}");
}

#[tokio::test]
async fn a_failure_leaves_its_siblings_out_if_the_policy_says_so() {
    for (policy_says, attempted) in [
        (plan::SiblingPolicy::CancelSiblings, &["fail"][..]),
        (plan::SiblingPolicy::Ignore, &["fail", "work", "work"]),
    ] {
        let mut policy = Build::default().policy;
        policy.sibling_failure = policy_says;
        let test_engine = Build { policy, ..Build::default() }.test_engine();
        let steps = json!([{ "id": "each", "tool": "test.look", "args": { "act": "{it}", "text": "{it}" },
            "foreach": { "from": ["fail", "work", "work"], "itemName": "it" } }]);
        let mut whole = plan_reading(steps);
        // The act is chosen by the item, which the checker cannot foresee.
        whole["steps"][0]["args"]["act"] = "$it".into();
        let report = test_engine.run(&whole, RunPlace::Memory).await;
        assert_eq!(report.status, RunStatus::Failed);
        let mut begun = test_engine.work.begun();
        begun.sort_unstable();
        assert_eq!(begun, attempted, "{policy_says:?}");
    }
}

#[tokio::test]
async fn a_loop_that_grew_past_the_limit_asks_again() {
    let mut policy = Policy::cautious();
    policy.limits.max_foreach_items = 2;
    let steps = json!([{ "id": "each", "tool": "test.write", "args": { "text": "{n}" },
        "foreach": { "from": [1, 2, 3], "itemName": "n" } }]);
    for (approver, status, begun) in
        [(ScriptedApprover::yes(), RunStatus::Ok, 3), (ScriptedApprover::no(), RunStatus::Declined, 0)]
    {
        let test_engine = Build { policy: policy.clone(), approver, ..Build::default() }.test_engine();
        let report = test_engine.run(&plan(steps.clone()), RunPlace::Memory).await;
        assert_eq!((report.status, test_engine.work.begun().len()), (status, begun));
    }
}

#[tokio::test]
async fn cancelled_calls_end_in_the_same_order_every_time() {
    let mut orders = std::collections::BTreeSet::new();
    for _ in 0..4 {
        let test_engine = Arc::new(test_engine());
        let cancel = RunCancel::new();
        let whole = plan_reading(
            json!([{ "id": "slow", "tool": "test.look", "args": { "act": "wait", "text": "{n}" },
            "foreach": { "from": [0, 1, 2, 3, 4, 5, 6, 7], "itemName": "n" } }]),
        );
        let run = {
            let (test_engine, cancel) = (test_engine.clone(), cancel.clone());
            tokio::spawn(async move { test_engine.run_until(&whole, RunPlace::Memory, cancel).await })
        };
        while test_engine.work.begun().len() < 8 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
        run.await.unwrap();
        orders.insert(test_engine.results().iter().map(|result| result.call_id.clone()).collect::<Vec<_>>());
    }
    assert_eq!(orders.len(), 1);
}
