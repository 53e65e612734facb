//! Clients with the real codex app-server between the gateway and a model of ours: calls go as text, then natively.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::client::clients_are_missing;
use crate::conversation::{AGENTS_JAVASCRIPT, AI_SDK, OPENAI_PYTHON};
use crate::gateway::{Calls, Gateway};

/// Three clients, each with all its conversations. `expect` is what the model's service was asked for.
///
/// One after the other: an app-server that has to start beside three programs that start as well can be late on a
/// busy machine, and the gateway does not wait for ever.
fn three_clients(calls: Calls, expect: Expect) {
    let gateway = Gateway::app_server(calls);
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

#[test]
fn three_clients_and_a_codex_app_server_that_is_told_its_tools_in_words() {
    if !clients_are_missing() {
        three_clients(
            Calls::AsText,
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

#[test]
fn three_clients_and_a_codex_app_server_that_is_given_its_tools() {
    if !clients_are_missing() {
        three_clients(
            Calls::Native,
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
