//! The canonical JSON samples of the envelope specification, parsed and printed back unchanged.

use envelope::{ExecutionEvent, ToolCall, ToolResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

const CALL: &str = r#"{"callId":"uuid","runId":"uuid","stepId":"s5","tool":"vault.createFile","attempt":1,"args":{"path":"XYZ/Foo.md","content":"..."},"timeoutMs":30000,"cancellable":true,"iteration":{"index":3,"itemName":"item","itemValue":{"path":"XYZ/Foo.md"}},"createdAt":"2025-12-16T18:12:00Z","executorVersion":"1.0.0","toolRegistryVersion":"1.0","preview":"Create note “Foo” in folder XYZ","riskLevel":"writes","category":"vault","policy":{"confirmationsRequired":true,"sandbox":{"enabled":true,"allowedRoots":["/"],"denyPatterns":["..","://"]},"limits":{"maxConcurrency":4}},"confirmationId":"uuid"}"#;

const RESULT: &str = r#"{"callId":"uuid","runId":"uuid","stepId":"s5","tool":"vault.createFile","attempt":1,"status":"ok","ok":true,"data":{"path":"XYZ/Foo.md","etag":"abc123","mtime":1734372720000},"startedAt":"2025-12-16T18:12:01Z","endedAt":"2025-12-16T18:12:01Z","durationMs":240,"effects":{"sideEffectsObserved":["create-file"],"created":[{"path":"XYZ/Foo.md","kind":"file"}]},"userMessage":"Created XYZ/Foo.md"}"#;

#[track_caller]
fn prints_back<T: Serialize + DeserializeOwned>(text: &str) -> T {
    let value: T = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    value
}

// Conformance: envelope 1.6
//     Plan, call, result and effects are four things: none of them is reused as another.
//     In: envelope/lib.rs
// Conformance: envelope 10.1
//     The sample call is read and printed back unchanged.
//     In: envelope/call.rs
// Conformance: envelope 3.1
//     A call names itself, its run, its step and its tool; its id is unique in the run.
//     In: envelope/call.rs, envelope/id.rs
// Conformance: envelope 3.3
#[test]
fn the_sample_call_prints_back_unchanged() {
    let call: ToolCall = prints_back(CALL);
    assert_eq!(call.iteration.unwrap().index, 3);
}

// Conformance: envelope 1.6
// Conformance: envelope 10.2
//     The sample result is read and printed back unchanged.
//     In: envelope/result.rs
// Conformance: envelope 4.1
//     A result repeats the identity of its call: call, run, step, tool, attempt.
//     In: envelope/result.rs
// Conformance: envelope 4.7
//     A result says when it began, when it ended and how long that was.
//     In: envelope/result.rs
// Conformance: envelope 4.9
//     A short message is safe to show; a longer one is for logs.
//     In: envelope/result.rs
#[test]
fn the_sample_result_prints_back_unchanged() {
    let result: ToolResult = prints_back(RESULT);
    assert_eq!(result.broken_invariant(), None);
}

// Conformance: envelope 5.1
//     There are ten events: five of a run and five of a step.
//     In: envelope/event.rs
// Conformance: envelope 5.2
//     Every event has run, time, level and message, and where it applies call, step, tool and a structured payload.
//     In: envelope/event.rs
#[test]
fn an_event_prints_back_unchanged() {
    prints_back::<ExecutionEvent>(
        r#"{"type":"step.progress","runId":"r","timestamp":"2025-12-16T18:12:01.5Z","level":"info","message":"2 of 5","callId":"c","stepId":"s5","tool":"vault.createFile","payload":{"done":2,"total":5}}"#,
    );
}

// Conformance: envelope 2.3
//     A result is normalised: whether it went well, data of the declared shape, or a structured error, and what
//     changed.
//     In: envelope/result.rs
// Conformance: envelope 4.2
// Conformance: envelope 4.3
//     A success has data, and the data is valid against the tool's output schema.
//     In: engine/phases/map_result.rs
#[test]
fn a_result_that_contradicts_itself_is_found() {
    let contradiction = |from: &str, to: &str| {
        let result: ToolResult = serde_json::from_str(&RESULT.replace(from, to)).unwrap();
        assert!(result.broken_invariant().is_some(), "{from} -> {to}");
    };
    contradiction(r#""ok":true"#, r#""ok":false"#);
    contradiction(r#""status":"ok""#, r#""status":"error""#);
    contradiction(r#""data":{"path":"XYZ/Foo.md","etag":"abc123","mtime":1734372720000},"#, "");
    contradiction(r#""ok":true,"data""#, r#""ok":true,"error":{"code":"X","message":"x"},"data""#);
}
