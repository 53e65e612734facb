//! Runs that were cut off at a chosen place, and what resuming makes of them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::{Build, Hooked, ScriptedApprover, TestEngine, plan, test_engine, tool_call};
use engine::{BeforeReply, Policy, ResumeError, ResumeRequest, RunCancel, RunReport};
use envelope::{
    ContextModifier, EntryKind, Failure, Fault, Phase, PhaseFact, PhaseOutcome, RunId, Status, Timestamp,
    ToolCall, ToolDecl, ToolResult, canonical_hash,
};
use journal::{Journal, JournalRecord, RunFolder, RunHeader, RunKind};
use plan::{BraceRule, MachineInput, MachineOutput, RunLimits, RunMachine, RunSpec, RunStatus, TimerId};
use serde_json::{Value, json};

/// Drives a machine by hand and writes what the engine would write, up to the moment of the crash.
struct Past {
    machine: RunMachine,
    journal: Journal,
    run_dir: PathBuf,
    /// By step, index and attempt, such as `b2#1`.
    calls: BTreeMap<String, ToolCall>,
    timers: Vec<TimerId>,
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

impl Past {
    fn begin(test_engine: &TestEngine, plan: &Value, folder: &Path) -> Past {
        Past::begin_as(test_engine, plan, folder, (RunHeader::FORMAT, BraceRule::AroundScope))
    }

    /// Begins the run as a build did that wrote this format and read braces so.
    fn begin_as(
        test_engine: &TestEngine,
        plan: &Value,
        folder: &Path,
        (format, braces): (u32, BraceRule),
    ) -> Past {
        let policy = test_engine.engine.policy();
        let (surface, limits) = (test_engine.engine.surface(), policy.check_limits());
        let report = plan::check_recorded(&plan.to_string(), surface, &limits, braces);
        let checked = Arc::new(report.plan.unwrap());
        let limits = RunLimits {
            max_parallel: policy.limits.max_concurrency.get(),
            max_attempts: policy.limits.max_attempts.get(),
            max_foreach_items: policy.limits.max_foreach_items,
            max_backoff_ms: policy.limits.max_backoff_ms,
        };
        let mut tools: Vec<ToolDecl> = checked.steps.iter().map(|step| (*step.decl).clone()).collect();
        tools.dedup_by(|a, b| a.name == b.name);
        let policy_json = serde_json::to_value(policy).unwrap();
        let version = test_engine.engine.surface().version();
        let header = RunHeader {
            format,
            run_id: RunId::parse("past").unwrap(),
            created_at: now(),
            kind: RunKind::Plan,
            undoes: Vec::new(),
            session: None,
            continues: None,
            vault: None,
            plan: serde_json::to_value(&*checked.plan).unwrap(),
            plan_hash: checked.hash,
            policy_hash: canonical_hash(&policy_json),
            policy: Some(policy_json),
            call_policy: None,
            tools: tools.into_iter().map(Into::into).collect(),
            registry_version: version.to_owned(),
            executor_version: "test".to_owned(),
            planner_version: None,
            limits,
            sibling: policy.sibling_failure,
            confirm: false,
        };
        let spec = RunSpec {
            run_id: header.run_id.clone(),
            plan: checked,
            policy: tool_call("test.look", json!({})).policy,
            limits,
            executor_version: "test".into(),
            registry_version: version.into(),
            planner_version: None,
            confirm: false,
            sibling: policy.sibling_failure,
            carried: Arc::default(),
        };
        let run_dir = folder.join("runs").join("past");
        let journal = Journal::create(&run_dir, &header).unwrap();
        let machine = RunMachine::new(spec);
        let mut past = Past { machine, journal, run_dir, calls: BTreeMap::new(), timers: Vec::new() };
        let first = past.machine.begin(now());
        past.take(first);
        past
    }

    fn take(&mut self, outputs: Vec<MachineOutput>) {
        for output in outputs {
            match output {
                MachineOutput::Event(event) => {
                    self.journal.event(&event).unwrap();
                }
                MachineOutput::Settled(result) => {
                    self.journal.result(&result).unwrap();
                }
                MachineOutput::Start(call) => {
                    let index = call
                        .iteration
                        .as_ref()
                        .map(|iteration| iteration.index.to_string())
                        .unwrap_or_default();
                    self.calls.insert(format!("{}{index}#{}", call.step_id, call.attempt), *call);
                }
                MachineOutput::SetTimer { id, .. } => self.timers.push(id),
                MachineOutput::AskConfirm(_) | MachineOutput::CancelOpenCalls | MachineOutput::Finish(_) => {}
            }
        }
    }

    /// The call is written down, as it is just before the tool runs.
    fn made(&mut self, call: &str) {
        self.journal.call(&self.calls[call]).unwrap();
    }

    fn result(&self, call: &str, outcome: Result<(), Failure>) -> ToolResult {
        let call = &self.calls[call];
        let mut result: ToolResult = serde_json::from_value(json!({
            "callId": call.call_id, "runId": call.run_id, "stepId": call.step_id, "tool": call.tool, "attempt": call.attempt,
            "status": "ok", "ok": true, "data": { "text": "x", "count": 1, "items": [] },
            "startedAt": now(), "endedAt": now(), "durationMs": 0
        }))
        .unwrap();
        result.phases =
            vec![PhaseFact { phase: Phase::Execute, outcome: PhaseOutcome::Ok, micros: 0, detail: None }];
        if let Err(failure) = outcome {
            (result.status, result.ok, result.data) = (failure.status(), false, None);
            result.error = Some(Fault::new(failure, "no").to_tool_error());
        }
        result
    }

    /// The call ends, is recorded, and the run takes note.
    fn ended(&mut self, call: &str, outcome: Result<(), Failure>) {
        let result = self.result(call, outcome);
        self.note(result);
    }

    fn note(&mut self, result: ToolResult) {
        self.journal.result(&result).unwrap();
        self.input(MachineInput::Done(result));
    }

    fn input(&mut self, input: MachineInput) {
        let outputs = self.machine.handle(now(), input);
        self.take(outputs);
    }

    fn timer(&mut self) {
        let timer = self.timers.remove(0);
        self.input(MachineInput::TimerFired(timer));
    }

    /// The process is gone: nothing is closed, nothing is flushed on purpose.
    fn crash(self) -> PathBuf {
        self.run_dir
    }
}

async fn resume(test_engine: &TestEngine, run_dir: PathBuf) -> Result<RunReport, ResumeError> {
    test_engine.engine.resume(ResumeRequest { run_dir, cancel: RunCancel::new(), forecaster: None }).await
}

fn two_at_a_time() -> Policy {
    let mut policy = Build::default().policy;
    policy.limits.max_concurrency = NonZeroU32::new(2).unwrap();
    policy
}

fn each(items: usize) -> Value {
    plan(json!([{ "id": "b", "tool": "test.write", "args": { "text": "B{n}", "path": "b{n}.md" },
        "foreach": { "from": (0..items).collect::<Vec<_>>(), "itemName": "n" } }]))
}

fn intact(run_dir: &Path) {
    assert_eq!(journal::verify(run_dir, None).unwrap().problems, []);
    assert_eq!(journal::replay(run_dir).unwrap().divergences, []);
}

#[tokio::test(start_paused = true)]
async fn a_retry_that_had_ended_is_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = Build { policy: two_at_a_time(), ..Build::default() }.test_engine();
    let whole = plan(json!([
        { "id": "a", "tool": "test.look", "args": { "text": "A" }, "onError": "retry", "retry": { "maxAttempts": 3, "backoffMs": 10 } },
        { "id": "b", "tool": "test.look", "args": { "text": "B{n}" }, "foreach": { "from": [0, 1, 2, 3, 4, 5], "itemName": "n" } }
    ]));
    let mut past = Past::begin(&test_engine, &whole, folder.path());
    past.made("a#1");
    past.made("b0#1");
    past.ended("a#1", Err(Failure::DependencyUnavailable));
    past.made("b1#1");
    // Due while both places are taken, so the retry starts only when one is free.
    past.timer();
    past.ended("b0#1", Ok(()));
    past.made("a#2");
    past.ended("a#2", Ok(()));
    past.made("b2#1");
    let run_dir = past.crash();
    let report = resume(&test_engine, run_dir.clone()).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
    assert!(!test_engine.work.begun().contains(&"A".to_owned()), "{:?}", test_engine.work.begun());
    intact(&run_dir);
}

#[tokio::test]
async fn doubled_braces_of_a_run_of_an_early_build_are_written_as_that_build_would_have() {
    let notes = plan(json!([
        { "id": "a", "tool": "test.write", "args": { "text": "{{date}}", "path": "a.md" } },
        { "id": "b", "tool": "test.write", "args": { "text": "{{title}}", "path": "b.md" } }
    ]));
    // Nothing shows which of the two rules a run of format 1 had before its first call: the older one.
    let runs = [
        (1, BraceRule::Everywhere, false, vec!["{date}", "{title}"]),
        (1, BraceRule::Everywhere, true, vec!["{title}"]),
        (1, BraceRule::AroundScope, true, vec!["{{title}}"]),
        (2, BraceRule::AroundScope, false, vec!["{{date}}", "{{title}}"]),
    ];
    for (format, braces, has_made_a, expected) in runs {
        let folder = tempfile::tempdir().unwrap();
        let test_engine = test_engine();
        let mut past = Past::begin_as(&test_engine, &notes, folder.path(), (format, braces));
        if has_made_a {
            past.made("a#1");
            past.ended("a#1", Ok(()));
        }
        let run_dir = past.crash();
        let report = resume(&test_engine, run_dir.clone()).await.unwrap();
        assert_eq!(report.status, RunStatus::Ok);
        assert_eq!(test_engine.work.begun(), expected, "format {format}, {braces:?}");
        intact(&run_dir);
    }
}

#[tokio::test]
async fn a_cancelled_run_is_ended_without_any_further_effect() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let mut past = Past::begin(&test_engine, &each(3), folder.path());
    past.made("b0#1");
    past.input(MachineInput::CancelRequested { reason: "ctrl-c".to_owned() });
    let run_dir = past.crash();
    let report = resume(&test_engine, run_dir.clone()).await.unwrap();
    assert_eq!(report.status, RunStatus::Cancelled);
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
    assert!(
        test_engine
            .results()
            .iter()
            .all(|result| matches!(result.status, Status::Cancelled | Status::Skipped))
    );
    intact(&run_dir);
}

#[tokio::test]
async fn a_question_that_was_open_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut policy = Build::default().policy;
    policy.limits.max_foreach_items = 2;
    let test_engine = Build { policy, approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    let mut whole = each(3);
    whole["steps"]
        .as_array_mut()
        .unwrap()
        .insert(0, json!({ "id": "a", "tool": "test.look", "args": { "text": "A" } }));
    let mut past = Past::begin(&test_engine, &whole, folder.path());
    past.made("a#1");
    past.ended("a#1", Ok(()));
    let run_dir = past.crash();
    let report = resume(&test_engine, run_dir.clone()).await.unwrap();
    assert_eq!(report.status, RunStatus::Ok);
    assert_eq!(test_engine.approver.asked().len(), 1);
    assert!(test_engine.approver.asked()[0].contains("3 items"), "{:?}", test_engine.approver.asked());
    intact(&run_dir);
}

#[tokio::test]
async fn what_a_call_left_for_later_ones_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let whole = plan(json!([
        { "id": "a", "tool": "test.alone", "args": { "act": "context", "text": "mark" } },
        { "id": "b", "tool": "test.look", "args": {}, "dependsOn": ["a"] }
    ]));
    let mut past = Past::begin(&test_engine, &whole, folder.path());
    past.made("a#1");
    let mut result = past.result("a#1", Ok(()));
    result.context_modifiers =
        vec![ContextModifier { key: "left".to_owned(), value: json!("mark"), applied: true }];
    past.note(result);
    let run_dir = past.crash();
    resume(&test_engine, run_dir).await.unwrap();
    let seen = test_engine.results().into_iter().find(|result| result.step_id.as_str() == "b").unwrap();
    assert_eq!(seen.data.unwrap()["seen"], "mark");
}

#[tokio::test]
async fn a_call_made_again_is_written_down_as_it_is_made_now() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Hooked::before("daily", |_| {
        Ok(BeforeReply {
            updated_input: Some(json!({ "text": "Day2", "path": "Day2.md" })),
            ..Default::default()
        })
    });
    let test_engine = Build { hooks: vec![Arc::new(hook)], ..Build::default() }.test_engine();
    let whole = plan(json!([{ "id": "a", "tool": "test.write", "args": { "text": "x" } }]));
    let past = Past::begin(&test_engine, &whole, folder.path());
    let mut made = past.calls["a#1"].clone();
    made.called_with = json!({ "text": "Day1", "path": "Day1.md" }).as_object().cloned();
    past.journal.call(&made).unwrap();
    let run_dir = past.crash();
    resume(&test_engine, run_dir.clone()).await.unwrap();
    let kept = RunFolder::open(&run_dir).unwrap();
    let calls = kept.records().unwrap().filter_map(|entry| match entry.unwrap().record {
        JournalRecord::Call(call) => Some(call.called_with.map(Value::Object).unwrap()["text"].clone()),
        JournalRecord::Result(_) | JournalRecord::Event(_) => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), ["Day1", "Day2"]);
    assert_eq!(test_engine.work.begun(), ["Day2"]);
    intact(&run_dir);
}

#[tokio::test]
async fn what_the_tool_finds_out_decides_whether_a_call_is_made() {
    for (happened, begun) in [(true, 2), (false, 3)] {
        let folder = tempfile::tempdir().unwrap();
        let test_engine = test_engine();
        let mut past = Past::begin(&test_engine, &each(3), folder.path());
        past.made("b0#1");
        let run_dir = past.crash();
        *test_engine.work.happened.lock().unwrap() = Some(happened);
        let report = resume(&test_engine, run_dir.clone()).await.unwrap();
        assert_eq!(report.status, RunStatus::Ok);
        assert_eq!(test_engine.work.begun().len(), begun, "happened: {happened}");
        let created = report.effects.created.iter().filter(|created| created.kind == EntryKind::File).count();
        assert_eq!(created, 3, "what was found out counts like what was reported");
        let on_the_way =
            report.effects.created.iter().filter(|created| created.kind == EntryKind::Folder).count();
        assert_eq!(on_the_way, usize::from(!happened), "what a half-done call left counts, too");
        let found = test_engine.results().into_iter().filter(|result| result.reconciled).count();
        assert_eq!(found, usize::from(happened));
        intact(&run_dir);
    }
}

#[tokio::test]
async fn a_call_that_the_tool_no_longer_understands_is_neither_made_nor_said_to_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = Build { approver: ScriptedApprover::yes(), ..Build::default() }.test_engine();
    let whole = plan(json!([{ "id": "a", "tool": "test.write", "args": { "text": "x" } }]));
    let past = Past::begin(&test_engine, &whole, folder.path());
    let mut made = past.calls["a#1"].clone();
    made.called_with = json!({ "before": 1 }).as_object().cloned();
    past.journal.call(&made).unwrap();
    let run_dir = past.crash();
    let report = resume(&test_engine, run_dir.clone()).await.unwrap();
    assert_eq!(report.status, RunStatus::Failed);
    assert_eq!(test_engine.work.begun(), Vec::<String>::new());
    assert_eq!(test_engine.approver.asked().len(), 0, "there is nothing to choose");
    let error = test_engine.results().pop().unwrap().error.unwrap();
    assert!(error.message.contains("it is unknown whether it happened"), "{}", error.message);
    intact(&run_dir);
}

#[tokio::test]
async fn a_result_that_was_found_out_passes_the_hooks_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let hook = Hooked::after("censor", |_| {
        Ok(engine::AfterReply { redact: vec!["/text".to_owned()], ..Default::default() })
    });
    let test_engine = Build { hooks: vec![Arc::new(hook)], ..Build::default() }.test_engine();
    let mut past = Past::begin(&test_engine, &each(1), folder.path());
    past.made("b0#1");
    let run_dir = past.crash();
    *test_engine.work.happened.lock().unwrap() = Some(true);
    resume(&test_engine, run_dir.clone()).await.unwrap();
    assert_eq!(test_engine.results()[0].data.as_ref().unwrap()["text"], "[redacted]");
}

#[tokio::test]
async fn the_end_of_a_call_that_was_not_told_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let mut past = Past::begin(&test_engine, &each(2), folder.path());
    past.made("b0#1");
    // Recorded, and cut off before the event.
    past.ended("b0#1", Ok(()));
    let run_dir = past.crash();
    resume(&test_engine, run_dir.clone()).await.unwrap();
    let told = test_engine
        .events()
        .into_iter()
        .filter(|event| event.event_type == envelope::EventType::StepFinished)
        .count();
    assert_eq!(told, 2);
}

#[tokio::test]
async fn a_run_that_cannot_go_on_is_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let test_engine = test_engine();
    let report = test_engine.run(&each(2), engine::RunPlace::Disk(folder.path().join("runs").into())).await;
    let run_dir = report.run_dir.unwrap();
    let files = || -> BTreeMap<_, _> {
        let entries = std::fs::read_dir(&run_dir).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
    };
    let before = files();
    assert!(matches!(resume(&test_engine, run_dir.clone()).await, Err(ResumeError::Finished)));
    assert_eq!(files(), before);
    // Damage is evidence: a refused resume does not repair it.
    std::fs::File::options()
        .append(true)
        .open(run_dir.join("results.jsonl"))
        .map(|mut file| std::io::Write::write_all(&mut file, b"garbage"))
        .unwrap()
        .unwrap();
    let damaged = files();
    assert!(matches!(resume(&test_engine, run_dir.clone()).await, Err(ResumeError::Journal(_))));
    assert_eq!(files(), damaged);
}
