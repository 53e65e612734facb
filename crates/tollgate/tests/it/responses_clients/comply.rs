//! The checks of llm-comply for Open Responses.

use std::fmt::Write;
use std::process::Command;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::responses_clients::client::{clients_are_missing, installed};
use crate::responses_clients::gateway::TestGateway;

/// Runs the checks; compares the verdict of each, with what it complains about.
fn comply(script: &str, expect: Expect) {
    if clients_are_missing() {
        return;
    }
    let gateway = TestGateway::scripted(script);
    // Reasoning is checked only for models whose names it knows.
    let ended = Command::new(installed().join("python/bin/llm-comply"))
        .args(["--json", "--base-url", &gateway.base_url(), "--api-key", gateway.token(), "--model", "gpt-5"])
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout)
        .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&ended.stderr)));
    let mut told = String::new();
    for result in report["results"].as_array().unwrap() {
        writeln!(told, "{}: {}", result["id"].as_str().unwrap(), result["status"].as_str().unwrap()).unwrap();
        for complaint in ["errors", "warnings"].iter().filter_map(|key| result[key].as_array()).flatten() {
            writeln!(told, "    {}", complaint.as_str().unwrap()).unwrap();
        }
    }
    expect.assert_eq(&told);
}

// Conformance: proxy 2.2
#[test]
fn llm_comply_finds_nothing_to_complain_about() {
    comply(
        "comply.jsonl",
        expect![[r#"
        basic-response: passed
        system-prompt: passed
        multi-turn: passed
        tool-calling: passed
        streaming-response: passed
        streaming-usage: passed
        image-input: passed
        assistant-phase: passed
        response-output-phase-schema: passed
        compact-response: passed
        compact-missing-model: passed
        reasoning-summary: passed
        error-handling: passed
    "#]],
    );
}

/// Open Responses calls the events of a streamed summary `response.reasoning_summary_text.delta` and `.done`, and so
/// does Tollgate. The schema of llm-comply 0.5.0 has no such events, so it fails the two checks that read a stream.
#[test]
fn llm_comply_rejects_streams_with_reasoning_for_events_that_it_does_not_know() {
    comply(
        "comply_reasoning.jsonl",
        expect![[r#"
        basic-response: passed
        system-prompt: passed
        multi-turn: passed
        tool-calling: passed
        streaming-response: failed
            unknown SSE event type: response.reasoning_summary_text.delta
            unknown SSE event type: response.reasoning_summary_text.done
            unknown SSE event type: response.reasoning_summary_text.delta
            unknown SSE event type: response.reasoning_summary_text.done
        streaming-usage: failed
            unknown SSE event type: response.reasoning_summary_text.delta
            unknown SSE event type: response.reasoning_summary_text.done
            unknown SSE event type: response.reasoning_summary_text.delta
            unknown SSE event type: response.reasoning_summary_text.done
        image-input: passed
        assistant-phase: passed
        response-output-phase-schema: passed
        compact-response: passed
        compact-missing-model: passed
        reasoning-summary: passed
        error-handling: passed
    "#]],
    );
}
