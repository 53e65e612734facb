//! Tests that a record follows from its plan, and that every difference is reported.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use envelope::{
    Concurrency, Confirmation, EventType, Failure, Fault, Hash, Idempotency, Risk, RunId, Status, StepId,
    ToolCall, ToolDecl, ToolName, ToolResult, canonical_hash,
};
use expect_test::{Expect, expect};
use plan::{BraceRule, MachineInput, MachineOutput, RunMachine, SiblingPolicy, TimerId};
use serde_json::{Value, json};

use crate::object_folder::object_path;
use crate::samples::{begin_run_of_earlier_build, confirmation, confirmation_of, event, header, result};
use crate::{Journal, JournalEntry, JournalRecord, RunFolder, RunHeader, replay, verify};

fn tool(name: &str, risk: Risk, input: Value, output: Value) -> ToolDecl {
    ToolDecl {
        name: ToolName::parse(name).unwrap(),
        version: "1.0.0".to_owned(),
        summary: "Does it.".to_owned(),
        category: "vault".to_owned(),
        family: envelope::ReceiptFamily::External,
        risk_level: risk,
        side_effects: Vec::new(),
        availability: Vec::new(),
        concurrency: Concurrency::Parallel,
        idempotency: Idempotency::Idempotent,
        cancellable: true,
        timeout_ms: 1000,
        input_schema: input,
        output_schema: output,
    }
}

fn list_tool() -> ToolDecl {
    let item =
        json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] });
    tool(
        "vault.list",
        Risk::ReadOnly,
        json!({ "type": "object", "properties": { "folder": { "type": "string" } } }),
        json!({ "type": "object", "required": ["items"], "properties": { "items": { "type": "array", "items": item } } }),
    )
}

fn make_tool() -> ToolDecl {
    tool(
        "vault.make",
        Risk::Writes,
        json!({ "type": "object", "properties": { "path": { "type": "string" }, "from": {} } }),
        json!({ "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } } }),
    )
}

/// Lists notes, creates one for each item two at a time, one more in parallel, and one after that.
fn plan(on_error: &str) -> Value {
    json!({
        "version": "1.0", "goal": "Make notes", "riskLevel": "writes",
        "steps": [
            { "id": "list", "tool": "vault.list", "args": { "folder": "Inbox" } },
            { "id": "each", "tool": "vault.make", "args": { "path": "Notes/{item.title}.md" }, "onError": on_error,
              "retry": { "maxAttempts": 2, "backoffMs": 10 },
              "foreach": { "from": "$steps.list.items", "itemName": "item", "concurrency": 2 } },
            { "id": "beside", "tool": "vault.make", "args": { "path": "Beside.md" } },
            { "id": "after", "tool": "vault.make", "args": { "path": "After.md", "from": "$steps.beside.path" } }
        ]
    })
}

fn plan_header(plan: Value) -> RunHeader {
    RunHeader {
        plan_hash: canonical_hash(&plan),
        plan,
        tools: vec![list_tool().into(), make_tool().into()],
        ..header("run-1")
    }
}

fn ended(call: &ToolCall, outcome: Result<Value, Failure>) -> ToolResult {
    let mut ended = result(0);
    ended.call_id = call.call_id.clone();
    ended.step_id = call.step_id.clone();
    ended.tool = call.tool.clone();
    ended.attempt = call.attempt;
    match outcome {
        Ok(data) => ended.data = Some(data),
        Err(failure) => {
            (ended.status, ended.ok, ended.data) = (failure.status(), false, None);
            ended.error = Some(Fault::new(failure, "it did not work").to_tool_error());
        }
    }
    ended
}

/// The external inputs of a driver.
struct World {
    /// The result of a call.
    answer: fn(&ToolCall) -> Result<Value, Failure>,
    /// Cancels after this many results.
    cancel_after: Option<usize>,
    yes: bool,
}

const GOOD: World = World { answer: works, cancel_after: None, yes: true };

fn works(call: &ToolCall) -> Result<Value, Failure> {
    if call.tool.as_str() == "vault.list" {
        let titles: Vec<Value> = ["a", "b", "c", "d"].iter().map(|title| json!({ "title": title })).collect();
        return Ok(json!({ "items": titles }));
    }
    Ok(json!({ "path": call.args["path"] }))
}

/// Drives a run as the engine does, with simulated tools.
struct Driver<'a> {
    journal: &'a Journal,
    machine: RunMachine,
    world: World,
    yes: Confirmation,
    calls: VecDeque<ToolCall>,
    timers: VecDeque<TimerId>,
    results: usize,
    finished: bool,
}

impl Driver<'_> {
    fn go(&mut self, outputs: Vec<MachineOutput>) {
        let mut inputs = Vec::new();
        for output in outputs {
            match output {
                MachineOutput::Event(event) => {
                    self.journal.event(&event).unwrap();
                }
                MachineOutput::Start(call) => {
                    self.journal.call(&call).unwrap();
                    self.calls.push_back(*call);
                }
                MachineOutput::Settled(result) => {
                    self.journal.result(&result).unwrap();
                }
                MachineOutput::SetTimer { id, .. } => self.timers.push_back(id),
                MachineOutput::AskConfirm(_) if self.world.yes => {
                    self.journal.confirm(&self.yes).unwrap();
                    inputs.push(MachineInput::Confirmed(self.yes.clone()));
                }
                MachineOutput::AskConfirm(_) => {
                    inputs.push(MachineInput::Declined { reason: "no".to_owned() });
                }
                MachineOutput::CancelOpenCalls => {}
                MachineOutput::Finish(_) => self.finished = true,
            }
        }
        for input in inputs {
            self.handle(input);
        }
    }

    fn handle(&mut self, input: MachineInput) {
        let outputs = self.machine.handle(confirmation().confirmed_at, input);
        self.go(outputs);
    }

    fn end_one(&mut self) -> Option<ToolResult> {
        let call = self.calls.pop_front()?;
        let mut ended = ended(&call, (self.world.answer)(&call));
        let data = ended.data.take();
        // Large data is stored outside of the record; the machine gets it in full.
        ended.data_ref =
            data.as_ref().map(|data| self.journal.put_object(data.to_string().as_bytes()).unwrap());
        self.journal.result(&ended).unwrap();
        (ended.data, ended.data_ref) = (data, None);
        self.results += 1;
        Some(ended)
    }

    fn run(&mut self) {
        let first = self.machine.begin(confirmation().confirmed_at);
        self.go(first);
        while !self.finished {
            if self.world.cancel_after == Some(self.results) {
                self.world.cancel_after = None;
                self.handle(MachineInput::CancelRequested { reason: "enough".to_owned() });
                continue;
            }
            match self.end_one() {
                Some(result) => self.handle(MachineInput::Done(result)),
                None => {
                    let timer = self.timers.pop_front().expect("the run hangs");
                    self.handle(MachineInput::TimerFired(timer));
                }
            }
        }
    }
}

fn record(state: &Path, header: &RunHeader, world: World) -> PathBuf {
    record_with(state, header, world, BraceRule::AroundScope)
}

fn record_with(state: &Path, header: &RunHeader, world: World, braces: BraceRule) -> PathBuf {
    let folder = state.join("runs").join("run-1");
    let journal = Journal::create(&folder, header).unwrap();
    let machine =
        RunMachine::new(crate::replay::run_spec(header, &[list_tool(), make_tool()], braces).unwrap());
    let (calls, timers) = (VecDeque::new(), VecDeque::new());
    let yes = confirmation_of(header);
    let mut driver =
        Driver { journal: &journal, machine, world, yes, calls, timers, results: 0, finished: false };
    driver.run();
    journal.close().unwrap();
    assert_eq!(verify(&folder, None).unwrap().problems, []);
    folder
}

/// Writes the records of a run again, each modified by `change`.
fn rewrite(folder: &Path, state: &Path, change: impl Fn(JournalEntry) -> Vec<JournalRecord>) -> PathBuf {
    let from = RunFolder::open(folder).unwrap();
    let to = state.join("runs").join("run-1");
    let header = RunHeader {
        policy: Some(from.policy().unwrap()),
        tools: from.tools().unwrap().into_iter().map(Into::into).collect(),
        ..from.header().clone()
    };
    let journal = Journal::create(&to, &header).unwrap();
    for entry in from.records().unwrap() {
        for record in change(entry.unwrap()) {
            match record {
                JournalRecord::Call(call) => journal.call(&call),
                JournalRecord::Result(result) => {
                    if let Some(data) = &result.data_ref {
                        journal.put_object(&from.object(data).unwrap()).unwrap();
                    }
                    journal.result(&result)
                }
                JournalRecord::Event(event) => journal.event(&event),
            }
            .unwrap();
        }
    }
    journal.close().unwrap();
    to
}

#[test]
fn doubled_braces_in_the_plan_of_an_early_run_are_read_as_they_were_then() {
    let plan = json!({
        "version": "1.0", "goal": "Make a note", "riskLevel": "writes",
        "steps": [{ "id": "daily", "tool": "vault.make", "args": { "path": "Daily/{{date}}.md" } }]
    });
    let replayed = |format, braces| {
        let temp = tempfile::tempdir().unwrap();
        let header = RunHeader { format, call_policy: None, ..plan_header(plan.clone()) };
        let folder = record_with(temp.path(), &header, GOOD, braces);
        let calls = fs::read_to_string(folder.join("calls.jsonl")).unwrap();
        let path = calls.split("\"path\":\"").nth(1).unwrap().split('"').next().unwrap();
        format!("format {format}, {path}: {}", told(&folder).replace('\n', "; "))
    };
    let told = [
        replayed(1, BraceRule::Everywhere),
        replayed(1, BraceRule::AroundScope),
        replayed(2, BraceRule::AroundScope),
        replayed(2, BraceRule::Everywhere),
    ];
    expect![[r#"
        format 1, Daily/{date}.md: 1 calls, complete true, Some(Ok)
        format 1, Daily/{{date}}.md: 1 calls, complete true, Some(Ok)
        format 2, Daily/{{date}}.md: 1 calls, complete true, Some(Ok)
        format 2, Daily/{date}.md: 1 calls, complete true, Some(Ok); Args: record 5, step `daily`: other arguments follow from the plan and the recorded results"#]].assert_eq(&told.join("\n"));
}

fn told(folder: &Path) -> String {
    let replay = replay(folder).unwrap();
    let mut told = vec![format!("{} calls, complete {}, {:?}", replay.calls, replay.complete, replay.status)];
    told.extend(replay.divergences.iter().map(|divergence| format!("{:?}: {divergence}", divergence.what)));
    told.join("\n")
}

/// Records a run, compares its replay report, and checks that every prefix of it replays as well.
fn check(on_error: &str, change: impl Fn(&mut RunHeader), world: World, expected: Expect) {
    let temp = tempfile::tempdir().unwrap();
    let mut header = plan_header(plan(on_error));
    change(&mut header);
    let folder = record(temp.path(), &header, world);
    expected.assert_eq(&told(&folder));
    let records = verify(&folder, None).unwrap().records;
    for kept in 0..records {
        let part = tempfile::tempdir().unwrap();
        let keep = |entry: JournalEntry| if entry.seq <= kept { vec![entry.record] } else { Vec::new() };
        let replay = replay(&rewrite(&folder, part.path(), keep)).unwrap();
        assert_eq!((replay.divergences.as_slice(), replay.complete), (&[][..], false), "{kept} of {records}");
    }
}

fn fails_once_for_b(call: &ToolCall) -> Result<Value, Failure> {
    match (call.args.get("path").and_then(Value::as_str), call.attempt) {
        (Some("Notes/b.md"), 1) => Err(Failure::DependencyUnavailable),
        _ => works(call),
    }
}

fn fails_for_b(call: &ToolCall) -> Result<Value, Failure> {
    match call.args.get("path").and_then(Value::as_str) {
        Some("Notes/b.md") => Err(Failure::Conflict),
        _ => works(call),
    }
}

// Conformance: envelope 1.5
// Conformance: envelope 6.6
// Conformance: envelope 9.1
#[test]
fn a_run_that_worked_is_derived_again() {
    check("stop", |_| {}, GOOD, expect!["7 calls, complete true, Some(Ok)"]);
}

#[test]
fn a_retried_call_is_derived_again() {
    check(
        "retry",
        |_| {},
        World { answer: fails_once_for_b, ..GOOD },
        expect!["8 calls, complete true, Some(Ok)"],
    );
}

#[test]
fn a_failed_run_is_derived_again() {
    check(
        "stop",
        |_| {},
        World { answer: fails_for_b, ..GOOD },
        expect!["5 calls, complete true, Some(Failed)"],
    );
}

#[test]
fn a_run_with_a_skipped_failure_is_derived_again() {
    check(
        "skip",
        |_| {},
        World { answer: fails_for_b, ..GOOD },
        expect!["7 calls, complete true, Some(Failed)"],
    );
}

#[test]
fn a_run_whose_siblings_were_cancelled_is_derived_again() {
    let siblings = |header: &mut RunHeader| header.sibling = SiblingPolicy::CancelSiblings;
    check(
        "stop",
        siblings,
        World { answer: fails_for_b, ..GOOD },
        expect!["3 calls, complete true, Some(Failed)"],
    );
}

#[test]
fn a_cancelled_run_is_derived_again() {
    check(
        "stop",
        |_| {},
        World { cancel_after: Some(3), ..GOOD },
        expect!["5 calls, complete true, Some(Cancelled)"],
    );
}

#[test]
fn a_declined_run_is_derived_again() {
    check("stop", |_| {}, World { yes: false, ..GOOD }, expect!["0 calls, complete true, Some(Declined)"]);
}

#[test]
fn a_run_that_asked_about_its_size_is_derived_again() {
    let asks = |header: &mut RunHeader| header.limits.max_foreach_items = 3;
    check("stop", asks, GOOD, expect!["7 calls, complete true, Some(Ok)"]);
}

// Conformance: envelope 1.5
// Conformance: envelope 6.6
// Conformance: envelope 9.1
#[test]
fn every_difference_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let folder = record(temp.path(), &plan_header(plan("stop")), GOOD);
    let mut all = Vec::new();
    let mut spoil = |name: &str, change: &dyn Fn(&mut ToolCall) -> usize| {
        let changed = tempfile::tempdir().unwrap();
        let to = rewrite(&folder, changed.path(), |entry| match entry.record {
            JournalRecord::Call(mut call) if call.args.get("path") == Some(&json!("Notes/c.md")) => {
                let copies = change(&mut call);
                (0..copies).map(|_| JournalRecord::Call(call.clone())).collect()
            }
            other @ (JournalRecord::Call(_) | JournalRecord::Result(_) | JournalRecord::Event(_)) => {
                vec![other]
            }
        });
        all.push(format!("== {name}\n{}", told(&to)));
    };
    spoil("other arguments, with their hash", &|call| {
        call.args.insert("path".to_owned(), json!("Elsewhere.md"));
        call.args_hash = Some(canonical_hash(&Value::Object(call.args.clone())));
        1
    });
    spoil("other arguments, old hash", &|call| {
        call.args.insert("path".to_owned(), json!("Elsewhere.md"));
        1
    });
    spoil("another tool", &|call| {
        call.tool = ToolName::parse("vault.list").unwrap();
        1
    });
    spoil("another attempt", &|call| {
        call.attempt = 2;
        1
    });
    spoil("no confirmation", &|call| {
        call.confirmation_id = None;
        1
    });
    spoil("never recorded", &|_| 0);
    spoil("recorded again while open", &|_| 2);
    spoil("another call", &|call| {
        call.call_id = envelope::CallId::derive(&RunId::parse("run-1").unwrap(), &call.step_id, Some(99), 1);
        1
    });
    expect![[r#"
        == other arguments, with their hash
        7 calls, complete true, Some(Ok)
        Args: record 12, step `each`: other arguments follow from the plan and the recorded results
        == other arguments, old hash
        7 calls, complete true, Some(Ok)
        ArgsHash: record 12, step `each`: the recorded arguments have the hash b3:fb2bb243cf94f15d8e64757bf87ba1ce726087f28c53d55b47ceb806b927aff2, not the recorded one
        Args: record 12, step `each`: other arguments follow from the plan and the recorded results
        == another tool
        7 calls, complete true, Some(Ok)
        Tool: record 12, step `each`: the plan calls vault.make, not vault.list
        == another attempt
        7 calls, complete true, Some(Ok)
        Attempt: record 12, step `each`: this is attempt 1, not 2
        == no confirmation
        7 calls, complete true, Some(Ok)
        Confirmation: record 12, step `each`: the call does not have the confirmation that was given for it
        == never recorded
        6 calls, complete true, Some(Ok)
        MissingCall: record 15, step `each`: the call has a result but was never recorded
        == recorded again while open
        7 calls, complete true, Some(Ok)
        == another call
        6 calls, complete true, Some(Ok)
        UnexpectedCall: record 12, step `each`: the plan does not derive this call of vault.make here
        MissingCall: record 16, step `each`: the call has a result but was never recorded"#]].assert_eq(&all.join("\n"));
}

fn cannot_list(call: &ToolCall) -> Result<Value, Failure> {
    if call.tool.as_str() == "vault.list" { Err(Failure::NotFound) } else { works(call) }
}

#[test]
fn left_out_records_and_another_end_are_named() {
    let temp = tempfile::tempdir().unwrap();
    let folder = record(temp.path(), &plan_header(plan("stop")), World { answer: cannot_list, ..GOOD });
    let changed = tempfile::tempdir().unwrap();
    let beside = |step: &StepId| step.as_str() == "beside";
    let to = rewrite(&folder, changed.path(), |entry| match entry.record {
        JournalRecord::Result(result) if result.status == Status::Skipped => Vec::new(),
        JournalRecord::Result(result) if beside(&result.step_id) => Vec::new(),
        JournalRecord::Call(call) if beside(&call.step_id) => Vec::new(),
        JournalRecord::Event(finished) if finished.event_type == EventType::RunFinished => {
            vec![JournalRecord::Event(Box::new(event(
                EventType::RunFinished,
                Some(json!({ "status": "ok" })),
            )))]
        }
        other @ (JournalRecord::Call(_) | JournalRecord::Result(_) | JournalRecord::Event(_)) => vec![other],
    });
    expect![[r#"
        1 calls, complete true, Some(Failed)
        MissingResult: step `each`: the run settles this step by itself, but that was never recorded
        MissingResult: step `beside`: the run settles this step by itself, but that was never recorded
        MissingResult: step `after`: the run settles this step by itself, but that was never recorded
        Status: record 10, the run ends as failed, but ok was recorded"#]]
    .assert_eq(&told(&to));
}

#[test]
fn a_step_that_never_ran_is_derived_again() {
    check(
        "stop",
        |_| {},
        World { answer: cannot_list, ..GOOD },
        expect!["1 calls, complete true, Some(Failed)"],
    );
}

#[test]
fn a_plan_that_its_tools_do_not_fit_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let mut header = plan_header(plan("stop"));
    header.tools.pop();
    let folder = temp.path().join("runs").join("run-1");
    Journal::create(&folder, &header).unwrap().close().unwrap();
    expect!["the recorded plan no longer passes its check: error each /steps/1/tool: no tool is named `vault.make` (the tools are `vault.list`)"].assert_eq(&replay(&folder).unwrap_err().to_string());
}

#[test]
fn declarations_are_stored_once_and_a_missing_or_changed_one_is_named() {
    let temp = tempfile::tempdir().unwrap();
    let folder = record(temp.path(), &plan_header(plan("stop")), GOOD);
    let text = fs::read_to_string(folder.join("run.json")).unwrap();
    assert!(!text.contains("inputSchema"), "{text}");
    let again = temp.path().join("runs").join("again");
    let header = RunHeader { run_id: RunId::parse("again").unwrap(), ..plan_header(plan("stop")) };
    Journal::create(&again, &header).unwrap().close().unwrap();
    assert_eq!(RunFolder::open(&again).unwrap().tools().unwrap(), [list_tool(), make_tool()]);
    let path = |tool: &ToolDecl| {
        let (shard, name) = object_path(&Hash::of(&serde_json::to_vec(tool).unwrap()));
        temp.path().join("objects").join(shard).join(name)
    };
    let told = || {
        let problems = verify(&folder, None).unwrap().problems;
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        format!("{}\n{}", problems.join("\n"), replay(&folder).unwrap_err())
    };
    fs::remove_file(path(&list_tool())).unwrap();
    expect![[r#"
        object missing: objects/71/714810be1b950e3b151c10ded371bb7339c1eefd1e742ded708d74469bbde1be: the declaration of `vault.list` that run.json names
        the stored data b3:714810be1b950e3b151c10ded371bb7339c1eefd1e742ded708d74469bbde1be is missing"#]].assert_eq(&told());
    let mut changed = fs::File::create(path(&list_tool())).unwrap();
    std::io::Write::write_all(&mut changed, b"{}").unwrap();
    expect![[r#"
        object changed: objects/71/714810be1b950e3b151c10ded371bb7339c1eefd1e742ded708d74469bbde1be: the declaration of `vault.list` that run.json names
        the stored data b3:714810be1b950e3b151c10ded371bb7339c1eefd1e742ded708d74469bbde1be was changed after it was stored"#]].assert_eq(&told());
    let records = RunFolder::open(&folder).unwrap();
    assert!(records.records().unwrap().all(|record| record.is_ok()), "the records can still be read");
}

#[test]
fn a_run_with_its_declarations_in_run_json_is_derived_again() {
    let temp = tempfile::tempdir().unwrap();
    let stored = record(temp.path(), &plan_header(plan("stop")), GOOD);
    let (journal, earlier) =
        begin_run_of_earlier_build(&temp.path().join("earlier"), plan_header(plan("stop")));
    let from = RunFolder::open(&stored).unwrap();
    for entry in from.records().unwrap() {
        match entry.unwrap().record {
            JournalRecord::Call(call) => journal.call(&call),
            JournalRecord::Result(result) => {
                if let Some(data) = &result.data_ref {
                    journal.put_object(&from.object(data).unwrap()).unwrap();
                }
                journal.result(&result)
            }
            JournalRecord::Event(event) => journal.event(&event),
        }
        .unwrap();
    }
    journal.close().unwrap();
    let text = fs::read_to_string(earlier.join("run.json")).unwrap();
    assert!(text.contains("inputSchema") && text.contains(r#""format":1"#), "{text}");
    assert_eq!(told(&earlier), told(&stored));
    assert_eq!(RunFolder::open(&earlier).unwrap().tools().unwrap(), [list_tool(), make_tool()]);
}
