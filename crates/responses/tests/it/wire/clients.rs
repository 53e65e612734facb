//! Requests as real clients send them, cut to what matters.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::wire::reading::read;

/// Checks a parsed request, printed in a few lines.
#[track_caller]
fn check(body: &Value, expect: Expect) {
    let request = read(body);
    let tools: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut shown = format!(
        "tools {tools:?} {:?} parallel {} stream {} store {} ignored {:?}\n",
        request.choice, request.parallel_tool_calls, request.stream, request.store, request.ignored
    );
    for item in &request.input {
        shown.push_str(&format!("{item:?}\n"));
    }
    expect.assert_eq(&shown);
}

fn weather(strict: &Value) -> Value {
    json!({
        "type": "function", "name": "get_weather", "description": "Get weather", "strict": strict,
        "parameters": {
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "title": "get_weather_args",
            "properties": { "location": { "title": "Location", "type": "string" } },
            "required": ["location"], "additionalProperties": false,
        },
    })
}

// Conformance: proxy 1.5
//     D3: echoed `function_call` items are accepted in every form that clients send them, and told to the model once.
//     In: responses/prompt/call_index.rs
#[test]
fn openai_for_python_echoes_output_items_whole() {
    check(
        &json!({
            "model": "stub", "stream": true,
            "input": [
                { "role": "user", "content": "Weather in Paris?" },
                {
                    "id": "msg_4_0", "role": "assistant", "status": "completed", "type": "message",
                    "content": [{
                        "annotations": [], "text": "Let me check.", "type": "output_text", "logprobs": [],
                    }],
                },
                {
                    "arguments": "{\"location\": \"Paris\"}", "call_id": "call_4_1", "name": "get_weather",
                    "type": "function_call", "id": "fc_4_1", "status": "completed",
                },
                { "type": "function_call_output", "call_id": "call_4_1", "output": "18C" },
            ],
            "tools": [weather(&json!(true))],
        }),
        expect![[r#"
            tools ["get_weather"] Auto parallel true stream true store true ignored []
            Message { id: None, role: User, content: [Text("Weather in Paris?")], phase: None }
            Message { id: Some("msg_4_0"), role: Assistant, content: [Text("Let me check.")], phase: None }
            FunctionCall { id: Some("fc_4_1"), call_id: "call_4_1", name: "get_weather", namespace: None, arguments: "{\"location\": \"Paris\"}" }
            FunctionCallOutput { id: None, call_id: "call_4_1", output: [Text("18C")] }
        "#]],
    );
}

// Conformance: proxy 1.5
#[test]
fn openai_for_javascript_adds_what_it_parsed() {
    check(
        &json!({
            "model": "stub", "stream": true,
            "input": [
                { "role": "user", "content": "Weather in Paris?" },
                {
                    "type": "message", "id": "msg_50_0", "status": "completed", "role": "assistant",
                    "content": [{
                        "type": "output_text", "text": "Let me check.", "annotations": [], "logprobs": [],
                        "parsed": null,
                    }],
                },
                {
                    "type": "function_call", "id": "fc_50_1", "call_id": "call_50_1", "name": "get_weather",
                    "arguments": "{\"location\": \"Paris\"}", "status": "completed",
                    "parsed_arguments": { "location": "Paris" },
                },
                { "type": "function_call_output", "call_id": "call_50_1", "output": "18C" },
            ],
            "tools": [weather(&json!(true))],
        }),
        expect![[r#"
            tools ["get_weather"] Auto parallel true stream true store true ignored []
            Message { id: None, role: User, content: [Text("Weather in Paris?")], phase: None }
            Message { id: Some("msg_50_0"), role: Assistant, content: [Text("Let me check.")], phase: None }
            FunctionCall { id: Some("fc_50_1"), call_id: "call_50_1", name: "get_weather", namespace: None, arguments: "{\"location\": \"Paris\"}" }
            FunctionCallOutput { id: None, call_id: "call_50_1", output: [Text("18C")] }
        "#]],
    );
}

#[test]
fn openai_for_javascript_sends_every_kind_of_tool() {
    check(
        &json!({
            "model": "stub", "input": "hi",
            "tool_choice": { "type": "allowed_tools", "mode": "required", "tools": [
                { "type": "function", "name": "a" },
            ] },
            "tools": [
                {
                    "type": "function", "name": "a", "strict": null,
                    "parameters": { "type": "object", "properties": {}, "additionalProperties": false },
                },
                { "type": "custom", "name": "c", "format": {
                    "type": "grammar", "syntax": "lark", "definition": "start: \"a\"",
                } },
                { "type": "namespace", "name": "ns", "description": "d", "tools": [{
                    "type": "function", "name": "b",
                    "parameters": { "type": "object", "properties": {}, "additionalProperties": false },
                }] },
                { "type": "web_search" },
            ],
        }),
        expect![[r#"
            tools ["a", "c", "ns__b"] Allowed { names: ["a"], required: true } parallel true stream false store true ignored ["tools[1].format.grammar", "tools[3].web_search"]
            Message { id: None, role: User, content: [Text("hi")], phase: None }
        "#]],
    );
}

// Conformance: proxy 15.2
//     A follow-up with nothing but the output. *Differs*: it needs `previous_response_id`, or the echoed call before
//     it; an output alone is refused with that hint.
//     In: responses/prompt/call_index.rs
// Conformance: proxy 8.1
//     `function_call_output` is taken, as a text or as parts with images.
//     In: responses/request/input.rs
#[test]
fn openai_for_python_goes_on_from_an_earlier_answer_with_the_output_alone() {
    check(
        &json!({
            "model": "stub", "previous_response_id": "resp_16", "tools": [weather(&json!(true))],
            "input": [{ "type": "function_call_output", "call_id": "call_16_1", "output": "18C" }],
        }),
        expect![[r#"
            tools ["get_weather"] Auto parallel true stream false store true ignored []
            FunctionCallOutput { id: None, call_id: "call_16_1", output: [Text("18C")] }
        "#]],
    );
}

#[test]
fn agents_send_instructions_and_an_empty_include() {
    check(
        &json!({
            "model": "stub", "stream": true, "include": [], "instructions": "Be brief.",
            "input": [
                { "role": "user", "content": "Weather in Paris?" },
                {
                    "id": "fc_58_1", "type": "function_call", "name": "get_weather", "call_id": "call_58_1",
                    "arguments": "{}", "status": "completed",
                },
                {
                    "type": "function_call_output", "call_id": "call_58_1", "output": "18C", "status": "completed",
                },
            ],
            "tools": [
                weather(&json!(true)),
                {
                    "name": "transfer_to_helper", "type": "function", "strict": true, "description": "Hands over.",
                    "parameters": { "additionalProperties": false, "type": "object", "properties": {}, "required": [] },
                },
            ],
        }),
        expect![[r#"
            tools ["get_weather", "transfer_to_helper"] Auto parallel true stream true store true ignored []
            Message { id: None, role: User, content: [Text("Weather in Paris?")], phase: None }
            FunctionCall { id: Some("fc_58_1"), call_id: "call_58_1", name: "get_weather", namespace: None, arguments: "{}" }
            FunctionCallOutput { id: None, call_id: "call_58_1", output: [Text("18C")] }
        "#]],
    );
}

// Conformance: proxy 8.4
#[test]
fn the_ai_sdk_refers_to_what_it_was_told() {
    check(
        &json!({
            "model": "gpt-5.5", "tool_choice": "auto", "stream": true,
            "reasoning": { "effort": "high", "summary": "auto" },
            "input": [
                { "role": "user", "content": [{ "type": "input_text", "text": "hi" }] },
                { "type": "item_reference", "id": "rs_82" },
                { "type": "item_reference", "id": "msg_82_1" },
                { "type": "function_call", "call_id": "call_82_2", "name": "get_weather", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "call_82_2", "output": "{\"temp\":18}" },
                { "type": "custom_tool_call_output", "call_id": "call_82_3", "output": "ok" },
            ],
            "tools": [weather(&json!(false)), { "type": "custom", "name": "sql", "description": "sql" }],
        }),
        expect![[r#"
            tools ["get_weather", "sql"] Auto parallel true stream true store true ignored []
            Message { id: None, role: User, content: [Text("hi")], phase: None }
            Reference { id: "rs_82" }
            Reference { id: "msg_82_1" }
            FunctionCall { id: None, call_id: "call_82_2", name: "get_weather", namespace: None, arguments: "{}" }
            FunctionCallOutput { id: None, call_id: "call_82_2", output: [Text("{\"temp\":18}")] }
            CustomToolCallOutput { id: None, call_id: "call_82_3", output: [Text("ok")] }
        "#]],
    );
}

// Conformance: proxy 1.5
#[test]
fn the_ai_sdk_without_a_store_says_all_again() {
    check(
        &json!({
            "model": "stub", "parallel_tool_calls": false, "store": false, "tool_choice": "auto", "stream": true,
            "include": ["reasoning.encrypted_content"],
            "input": [
                { "role": "user", "content": [{ "type": "input_text", "text": "Weather in Paris?" }] },
                { "type": "reasoning", "id": "rs_82", "encrypted_content": "gAAA", "summary": [] },
                { "role": "assistant", "content": "Let me check." },
                { "type": "function_call", "call_id": "call_82_1", "name": "get_weather", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "call_82_1", "output": "18C" },
            ],
            "tools": [weather(&json!(false))],
        }),
        expect![[r#"
            tools ["get_weather"] Auto parallel false stream true store false ignored []
            Message { id: None, role: User, content: [Text("Weather in Paris?")], phase: None }
            Reasoning { id: Some("rs_82"), summary: [], encrypted: Some("gAAA") }
            Message { id: None, role: Assistant, content: [Text("Let me check.")], phase: None }
            FunctionCall { id: None, call_id: "call_82_1", name: "get_weather", namespace: None, arguments: "{}" }
            FunctionCallOutput { id: None, call_id: "call_82_1", output: [Text("18C")] }
        "#]],
    );
}

#[test]
fn codex_sends_namespaces_hosted_tools_and_metadata() {
    check(
        &json!({
            "model": "stub", "stream": true, "store": false, "tool_choice": "auto", "parallel_tool_calls": true,
            "reasoning": { "summary": "auto" }, "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "01a1ddf8", "client_metadata": { "turn_id": "01a1ddf8", "thread_id": "01a1ddf8" },
            "input": [
                { "type": "message", "id": "msg_e9", "role": "developer", "content": [
                    { "type": "input_text", "text": "You are a coding agent." },
                    { "type": "input_text", "text": "<permissions instructions>" },
                ] },
                { "type": "message", "id": "msg_01", "role": "user", "content": [
                    { "type": "input_text", "text": "say hi" },
                ] },
                {
                    "type": "function_call", "status": "completed", "id": "fc_86_1", "name": "exec_command",
                    "arguments": "{\"cmd\": \"ls\"}", "call_id": "call_86_1",
                },
                { "type": "function_call_output", "id": "fco_01", "call_id": "call_86_1", "output": "failed" },
            ],
            "tools": [
                {
                    "type": "function", "name": "exec_command", "description": "Runs a command.", "strict": false,
                    "parameters": {
                        "type": "object", "properties": { "cmd": { "type": "string", "description": "Command." } },
                        "required": ["cmd"], "additionalProperties": false,
                    },
                },
                { "type": "namespace", "name": "multi_agent_v1", "description": "Sub-agents.", "tools": [
                    { "type": "function", "name": "close_agent", "strict": false, "parameters": {
                        "type": "object", "properties": { "target": { "type": "string" } },
                        "required": ["target"], "additionalProperties": false,
                    } },
                ] },
                { "type": "web_search", "external_web_access": false },
            ],
        }),
        expect![[r#"
            tools ["exec_command", "multi_agent_v1__close_agent"] Auto parallel true stream true store false ignored ["tools[2].web_search"]
            Message { id: Some("msg_e9"), role: Developer, content: [Text("You are a coding agent."), Text("<permissions instructions>")], phase: None }
            Message { id: Some("msg_01"), role: User, content: [Text("say hi")], phase: None }
            FunctionCall { id: Some("fc_86_1"), call_id: "call_86_1", name: "exec_command", namespace: None, arguments: "{\"cmd\": \"ls\"}" }
            FunctionCallOutput { id: Some("fco_01"), call_id: "call_86_1", output: [Text("failed")] }
        "#]],
    );
}

#[test]
fn codex_with_a_catalogue_model_carries_its_tools_in_the_input() {
    check(
        &json!({
            "model": "gpt-6-astra", "stream": true, "store": false, "tool_choice": "auto",
            "parallel_tool_calls": false, "reasoning": { "effort": "medium", "context": "all_turns" },
            "input": [
                { "type": "additional_tools", "role": "developer", "tools": [
                    { "type": "namespace", "name": "functions", "description": "Local code mode", "tools": [
                        { "type": "custom", "name": "exec", "description": "Runs JavaScript.", "format": {
                            "type": "grammar", "syntax": "lark", "definition": "start: /[\\s\\S]+/",
                        } },
                        { "type": "function", "name": "wait", "strict": false, "parameters": {
                            "type": "object", "properties": { "cell_id": { "type": "string" } },
                            "required": ["cell_id"], "additionalProperties": false,
                        } },
                    ] },
                ] },
                { "role": "developer", "content": [{ "type": "input_text", "text": "You are codex." }] },
                { "role": "user", "content": [{ "type": "input_text", "text": "hi" }] },
                {
                    "type": "custom_tool_call", "call_id": "call-1", "name": "exec", "namespace": "functions",
                    "input": "text(1)",
                },
                { "type": "custom_tool_call_output", "call_id": "call-1", "output": [
                    { "type": "input_text", "text": "1" },
                ] },
            ],
        }),
        expect![[r#"
            tools ["functions__exec", "functions__wait"] Auto parallel false stream true store false ignored ["input[0].tools[0].tools[0].format.grammar"]
            Message { id: None, role: Developer, content: [Text("You are codex.")], phase: None }
            Message { id: None, role: User, content: [Text("hi")], phase: None }
            CustomToolCall { id: None, call_id: "call-1", name: "exec", namespace: Some("functions"), input: "text(1)" }
            CustomToolCallOutput { id: None, call_id: "call-1", output: [Text("1")] }
        "#]],
    );
}

#[test]
fn codex_warms_up_a_websocket_with_a_request_that_asks_for_nothing() {
    check(
        &json!({
            "type": "response.create", "model": "stub", "instructions": "", "generate": false, "store": false,
            "stream": true, "input": [], "tools": [], "tool_choice": "auto",
        }),
        expect![[r#"
            tools [] Auto parallel true stream true store false ignored []
        "#]],
    );
}
