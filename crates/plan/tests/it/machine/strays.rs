//! Tests of inputs that nothing waits for.

use envelope::{EventType, Timestamp, canonical_hash};
use expect_test::expect;
use plan::{MachineInput, MachineOutput, RunMachine};
use serde_json::{Value, json};

use super::script::{check, yes};
use super::world::run_of;

#[test]
fn what_nothing_waits_for_changes_nothing() {
    check(
        run_of(json!([{ "id": "a", "onError": "retry" }, { "id": "b" }])),
        "
        ok nobody
        fire a#2
        yes unasked
        no unasked
        flaky a
        ok a
        fire a#3
        fire a#2
        fire a#2
        ok a#2
        fail a#2
        ok b
        ok b
        ",
        &expect![[r#"
              run.started
              step.scheduled a {"calls":1}
              step.scheduled b {"calls":1}
              start a {}
              start b {}
            > ok nobody
            > fire a#2
            > yes unasked
            > no unasked
            > flaky a
              step.progress a {"attempt":1,"of":3,"retry":"waits","afterMs":107}
              timer a#2 after 107 ms
            > ok a
            > fire a#3
            > fire a#2
              step.progress a {"attempt":2,"of":3,"retry":"due"}
              start a#2 {}
            > fire a#2
            > ok a#2
            > fail a#2
            > ok b
              run.finished {"status":"ok","steps":{"ok":2}}
              finish ok: a ok (2 calls, 0 failed), b ok (1 calls, 0 failed); outputs {}
            > ok b
        "#]],
    );
}

// Conformance: envelope 1.3
// Conformance: envelope 2.2
// Conformance: envelope 3.2
// Conformance: envelope 3.3
//     It says which attempt it is, its time limit, and whether it can be cancelled.
//     In: plan/machine/call_draft.rs
// Conformance: envelope 3.4
// Conformance: envelope 3.5
//     It carries when it was made, and the versions of planner, executor and tool registry.
//     In: plan/machine/call_draft.rs
// Conformance: envelope 3.6
// Conformance: envelope 6.3
// Conformance: envelope 6.6
//     What is hashed and logged are the resolved arguments.
//     In: plan/machine/call_draft.rs
#[test]
fn a_call_carries_everything_that_its_record_needs() {
    let mut spec = run_of(json!([{
        "id": "a", "tool": "vault.createFile", "args": { "b": "{x}", "a": 1 }, "timeoutMs": 77,
        "foreach": { "from": ["item"], "itemName": "x" },
    }]));
    spec.confirm = true;
    spec.planner_version = Some("model-1".to_owned());
    let mut machine = RunMachine::new(spec);
    machine.begin(Timestamp::UNIX_EPOCH);
    let outputs = machine.handle(Timestamp::UNIX_EPOCH, MachineInput::Confirmed(yes("yes-1")));
    let call = outputs.iter().find_map(|output| match output {
        MachineOutput::Start(call) => Some(call),
        MachineOutput::AskConfirm(_)
        | MachineOutput::Settled(_)
        | MachineOutput::SetTimer { .. }
        | MachineOutput::CancelOpenCalls
        | MachineOutput::Event(_)
        | MachineOutput::Finish(_) => None,
    });
    let call = call.unwrap();
    assert_eq!(call.args_hash, Some(canonical_hash(&Value::Object(call.args.clone()))));
    assert_eq!(machine.open_calls().collect::<Vec<_>>(), [&call.call_id]);
    expect![[r#"
        {
          "callId": "a4e2761a-1899-5d21-a2ea-86024b967780",
          "runId": "run",
          "stepId": "a",
          "tool": "vault.createFile",
          "attempt": 1,
          "args": {
            "b": "item",
            "a": 1
          },
          "argsHash": "b3:0b6f20b435e648b707695c92ca57ebadf0f4fca9d5b876aef3f9cc7b2064f620",
          "timeoutMs": 77,
          "cancellable": true,
          "iteration": {
            "index": 0,
            "itemName": "x",
            "itemValue": "item"
          },
          "loopId": "run/a",
          "createdAt": "1970-01-01T00:00:00Z",
          "plannerVersion": "model-1",
          "executorVersion": "0",
          "toolRegistryVersion": "0",
          "riskLevel": "writes",
          "category": "test",
          "policy": {
            "confirmationsRequired": true,
            "sandbox": {
              "enabled": true,
              "allowedRoots": [],
              "denyPatterns": []
            },
            "limits": {
              "maxConcurrency": 4
            }
          },
          "confirmationId": "yes-1"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(call).unwrap());
}

#[test]
fn the_yes_is_recorded_whole() {
    let mut spec = run_of(json!([{ "id": "a" }]));
    spec.confirm = true;
    let mut machine = RunMachine::new(spec);
    machine.begin(Timestamp::UNIX_EPOCH);
    let outputs = machine.handle(Timestamp::UNIX_EPOCH, MachineInput::Confirmed(yes("yes-1")));
    let Some(MachineOutput::Event(event)) = outputs.first() else { panic!("no event") };
    assert_eq!(event.event_type, EventType::RunConfirmed);
    assert_eq!(event.payload, Some(serde_json::to_value(yes("yes-1")).unwrap()));
}
