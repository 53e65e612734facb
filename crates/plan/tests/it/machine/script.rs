//! Plays a script of inputs to a machine and prints the outputs.
//!
//! A script has one input a line: `ok a`, `ok a[2] {"n":1}`, `partly a` (ok, and not complete), `fail a`, `flaky a` (retryable), `timeout a`,
//! `cancelled a`, `fire a`, `yes ID`, `no REASON`, `cancel REASON`. A call is named by step, item and
//! attempt: `a`, `a[2]`, `a#2`, `a[2]#3`.

use std::collections::BTreeMap;

use envelope::{
    ApprovalChannel, CallId, Confirmation, ConfirmationId, EventType, ExecutionEvent, Failure, Fault, Hash,
    RunId, Status, StepId, Timestamp, ToolCall, ToolName, ToolResult,
};
use expect_test::Expect;
use plan::{MachineInput, MachineOutput, RunMachine, RunOutcome, RunQuestion, RunSpec, TimerId};
use serde_json::Value;

/// Plays a script and compares all outputs, without the events of calls, which the driver emits.
#[track_caller]
pub(crate) fn check(spec: RunSpec, script: &str, expected: &Expect) {
    let mut player = Player::new(spec);
    player.begin();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        player.play(line);
    }
    expected.assert_eq(&player.printed);
}

pub(crate) struct Player {
    machine: RunMachine,
    run: RunId,
    /// Names of calls by id, for printing.
    names: BTreeMap<CallId, String>,
    printed: String,
}

impl Player {
    pub(crate) fn new(spec: RunSpec) -> Player {
        let run = spec.run_id.clone();
        Player { machine: RunMachine::new(spec), run, names: BTreeMap::new(), printed: String::new() }
    }

    pub(crate) fn begin(&mut self) {
        let outputs = self.machine.begin(Timestamp::UNIX_EPOCH);
        self.print(&outputs);
    }

    pub(crate) fn play(&mut self, line: &str) {
        self.printed.push_str(&format!("> {line}\n"));
        let input = self.input(line);
        let outputs = self.machine.handle(Timestamp::UNIX_EPOCH, input);
        self.print(&outputs);
    }

    pub(crate) fn into_printed(self) -> String {
        self.printed
    }

    fn input(&mut self, line: &str) -> MachineInput {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb {
            "yes" => MachineInput::Confirmed(yes(rest)),
            "no" => MachineInput::Declined { reason: rest.to_owned() },
            "cancel" => MachineInput::CancelRequested { reason: rest.to_owned() },
            "fire" => MachineInput::TimerFired(TimerId(self.id(rest))),
            _ => {
                let (name, data) = rest.split_once(' ').unwrap_or((rest, "{}"));
                let id = self.id(name);
                MachineInput::Done(ended(&Ended::of(&self.run, name, id), verb, data))
            }
        }
    }

    fn id(&mut self, name: &str) -> CallId {
        let (step, index, attempt) = parts(name);
        let id = CallId::derive(&self.run, &step, index, attempt);
        self.names.insert(id.clone(), name.to_owned());
        id
    }

    fn print(&mut self, outputs: &[MachineOutput]) {
        for output in outputs {
            let line = self.line(output);
            self.printed.push_str(&format!("  {line}\n"));
        }
    }

    fn line(&mut self, output: &MachineOutput) -> String {
        match output {
            MachineOutput::AskConfirm(RunQuestion::Plan) => "ask: plan".to_owned(),
            MachineOutput::AskConfirm(RunQuestion::Expansion { step, items, limit }) => {
                format!("ask: {step} for {items} items, limit {limit}")
            }
            MachineOutput::Start(call) => {
                let name = name_of(call);
                self.names.insert(call.call_id.clone(), name.clone());
                let by = call.confirmation_id.as_ref().map(|id| format!(" by {id}")).unwrap_or_default();
                let preview = call.preview.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
                format!("start {name} {}{by}{preview}", Value::Object(call.args.clone()))
            }
            MachineOutput::Settled(result) => {
                assert_eq!(result.broken_invariant(), None);
                let kind = result.error.as_ref().and_then(|error| error.kind);
                let kind = kind.map(|kind| format!(" {kind}")).unwrap_or_default();
                let why = result.user_message.as_deref().unwrap_or_default();
                format!("settled {} {}{kind}: {why}", self.name_of_unstarted(result), result.status)
            }
            MachineOutput::SetTimer { id, after_ms } => {
                let TimerId(call) = id;
                format!("timer {} after {after_ms} ms", self.name(call))
            }
            MachineOutput::CancelOpenCalls => "cancel everything".to_owned(),
            MachineOutput::Event(event) => event_line(event),
            MachineOutput::Finish(outcome) => outcome_line(outcome),
        }
    }

    /// Returns the name of a call that never started. The result has no item, but its id determines it.
    fn name_of_unstarted(&self, result: &ToolResult) -> String {
        let step = &result.step_id;
        let derived = |index| CallId::derive(&self.run, step, index, 1) == result.call_id;
        match (0..16).map(Some).find(|index| derived(*index)) {
            Some(index) => format!("{step}[{}]", index.unwrap()),
            None if derived(None) => step.to_string(),
            None => panic!("the id of {step} is not derived"),
        }
    }

    fn name(&self, id: &CallId) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| "next attempt".to_owned())
    }
}

fn event_line(event: &ExecutionEvent) -> String {
    let kind = serde_json::to_value(event.event_type).unwrap();
    let step = event.step_id.as_ref().map(|step| format!(" {step}")).unwrap_or_default();
    let payload = match event.event_type {
        // The hash of the plan and the confirmation have their own tests.
        EventType::RunStarted | EventType::RunConfirmed => String::new(),
        EventType::RunConfirmationRequested
        | EventType::RunCancelled
        | EventType::StepScheduled
        | EventType::StepStarted
        | EventType::StepProgress
        | EventType::StepFinished
        | EventType::StepFailed
        | EventType::RunFinished => format!(" {}", event.payload.as_ref().unwrap_or(&Value::Null)),
    };
    format!("{}{step}{payload}", kind.as_str().unwrap())
}

fn outcome_line(outcome: &RunOutcome) -> String {
    let steps: Vec<String> = outcome
        .steps
        .iter()
        .map(|step| {
            let error = step.error.as_ref().map(|error| format!(": {}", error.message)).unwrap_or_default();
            format!("{} {} ({} calls, {} failed{error})", step.id, step.status, step.calls, step.failed)
        })
        .collect();
    let reason = outcome.reason.as_ref().map(|reason| format!(" because {reason:?}")).unwrap_or_default();
    let outputs = Value::Object(outcome.outputs.clone());
    format!("finish {}{reason}: {}; outputs {outputs}", outcome.status, steps.join(", "))
}

/// Splits `a[2]#3` into step, item and attempt.
fn parts(name: &str) -> (StepId, Option<u64>, u32) {
    let (name, attempt) = name.split_once('#').unwrap_or((name, "1"));
    let (step, index) = name.split_once('[').map_or((name, None), |(step, rest)| (step, Some(rest)));
    let index = index.map(|rest| rest.trim_end_matches(']').parse().unwrap());
    (StepId::parse(step).unwrap(), index, attempt.parse().unwrap())
}

pub(crate) fn name_of(call: &ToolCall) -> String {
    let index = call.iteration.as_ref().map(|iteration| format!("[{}]", iteration.index)).unwrap_or_default();
    let attempt = if call.attempt > 1 { format!("#{}", call.attempt) } else { String::new() };
    format!("{}{index}{attempt}", call.step_id)
}

/// The identity of a call that ended.
pub(crate) struct Ended {
    pub(crate) call_id: CallId,
    pub(crate) run_id: RunId,
    pub(crate) step_id: StepId,
    pub(crate) attempt: u32,
}

impl Ended {
    fn of(run_id: &RunId, name: &str, call_id: CallId) -> Ended {
        let (step_id, _, attempt) = parts(name);
        Ended { call_id, run_id: run_id.clone(), step_id, attempt }
    }
}

/// Returns the result of a call for a verb of a script.
pub(crate) fn ended(call: &Ended, verb: &str, data: &str) -> ToolResult {
    let fault = match verb {
        "ok" | "partly" => None,
        "fail" => Some(Fault::new(Failure::ExecutionFailed, "it broke")),
        "flaky" => Some(Fault::new(Failure::DependencyUnavailable, "not now")),
        "timeout" => Some(Fault::new(Failure::Timeout, "too slow")),
        "cancelled" => Some(Fault::new(Failure::Canceled, "cancelled")),
        other => panic!("no input is called {other}"),
    };
    ToolResult {
        call_id: call.call_id.clone(),
        run_id: call.run_id.clone(),
        step_id: call.step_id.clone(),
        tool: ToolName::parse("tool").unwrap(),
        attempt: call.attempt,
        status: fault.as_ref().map_or(Status::Ok, |fault| fault.failure.status()),
        ok: fault.is_none(),
        data: fault.is_none().then(|| serde_json::from_str(data).unwrap()),
        data_hash: None,
        data_ref: None,
        error: fault.map(|fault| fault.to_tool_error()),
        started_at: Timestamp::UNIX_EPOCH,
        ended_at: Timestamp::UNIX_EPOCH,
        duration_ms: 0,
        effects: None,
        changes: Vec::new(),
        artifacts: Vec::new(),
        user_message: None,
        debug_message: None,
        canonical: None,
        receipt: None,
        phases: Vec::new(),
        mutations: Vec::new(),
        cancellation: None,
        context_modifiers: Vec::new(),
        reconciled: false,
        incomplete: (verb == "partly").then(|| "a note was left".to_owned()),
    }
}

/// Returns a confirmation with this id.
pub(crate) fn yes(id: &str) -> Confirmation {
    Confirmation {
        confirmation_id: ConfirmationId::parse(id).unwrap(),
        binding: Hash::of(b"binding"),
        forecast: None,
        shown: Hash::of(b"shown"),
        channel: ApprovalChannel::Terminal,
        confirmed_at: Timestamp::UNIX_EPOCH,
    }
}
