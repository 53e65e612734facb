//! Clients with the real codex app-server between the gateway and a fake model: calls as text, then natively.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::responses_clients::client::clients_are_missing;
use crate::responses_clients::conversation::{AGENTS_JAVASCRIPT, AI_SDK, OPENAI_PYTHON};
use crate::responses_clients::gateway::{CallMode, TestGateway};

/// Three clients, each with all its conversations. `expect` is what the model's service was asked for.
///
/// One after the other: an app-server that has to start beside three programs that start as well can be late on a
/// busy machine, and the gateway does not wait for ever.
fn three_clients(calls: CallMode, expect: Expect) {
    let gateway = TestGateway::app_server(calls);
    for client in [&OPENAI_PYTHON, &AGENTS_JAVASCRIPT, &AI_SDK] {
        client.check(&gateway);
    }
    let shapes: BTreeSet<String> = gateway.asked_of_the_model().iter().map(shape).collect();
    expect.assert_eq(&shapes.into_iter().collect::<String>());
}

/// The names of the tools, and who speaks.
fn shape(request: &Value) -> String {
    let list = |key: &str, of: fn(&Value) -> Option<&str>| {
        let items = request[key].as_array().unwrap().iter().map(|item| of(item).unwrap());
        items.collect::<Vec<_>>().join(" ")
    };
    let tools = list("tools", |tool| tool["name"].as_str());
    let items = list("input", |item| item["role"].as_str().or(item["type"].as_str()));
    format!("tools: {tools}; input: {items}\n")
}

// Conformance: proxy 13.9
//     6, gating: tools by text need no ability of the backend; codex's own tools and switches stay out of it.
//     In: responses/prompt/mod.rs, backend/codex/launch_arguments.rs
#[test]
fn three_clients_and_a_codex_app_server_that_is_told_its_tools_in_words() {
    if !clients_are_missing() {
        three_clients(
            CallMode::AsText,
            expect![[r#"
            tools: ; input: developer user
            tools: ; input: developer user assistant user
            tools: ; input: developer user assistant user assistant user
            tools: ; input: developer user assistant user assistant user assistant user
            tools: ; input: developer user user
        "#]],
        );
    }
}

// Conformance: proxy 13.10
//     6, beyond it: where the app-server takes tools natively, those are used and held to the same rules.
//     In: backend/codex/turn_params.rs
#[test]
fn three_clients_and_a_codex_app_server_that_is_given_its_tools() {
    if !clients_are_missing() {
        three_clients(
            CallMode::Native,
            expect![[r#"
                tools: get_weather; input: developer user
                tools: get_weather; input: developer user assistant function_call function_call function_call_output function_call_output
                tools: get_weather; input: developer user assistant function_call function_call function_call_output function_call_output assistant user
                tools: get_weather; input: developer user assistant function_call function_call function_call_output function_call_output assistant user assistant function_call function_call_output
                tools: get_weather; input: developer user function_call function_call_output
                tools: get_weather; input: developer user function_call function_call_output function_call function_call_output
                tools: get_weather; input: user
                tools: get_weather; input: user assistant function_call function_call function_call_output function_call_output
                tools: get_weather; input: user assistant function_call function_call function_call_output function_call_output assistant user
                tools: get_weather; input: user assistant function_call function_call function_call_output function_call_output assistant user assistant function_call function_call_output
                tools: transfer_to_reporter; input: developer user
            "#]],
        );
    }
}
