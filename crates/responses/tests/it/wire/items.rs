//! Items of the input, in every spelling.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::{Value, json};

use crate::wire::reading::{all_refused, read};

fn items(input: Value) -> String {
    let mut shown = String::new();
    for item in read(&json!({ "model": "m", "input": input })).input {
        writeln!(shown, "{item:?}").unwrap();
    }
    shown
}

fn of_input(inputs: &[Value]) -> Vec<Value> {
    inputs.iter().map(|input| json!({ "model": "m", "input": input })).collect()
}

#[test]
fn a_text_is_one_message_of_the_user() {
    expect![[r#"
        Message { id: None, role: User, content: [Text("hi")], phase: None }
    "#]]
    .assert_eq(&items(json!("hi")));
}

// Conformance: proxy 3.2
//     `input` may hold `input_text`, `input_image`, echoed `function_call` and `function_call_output`.
//     In: responses/request/input.rs, responses/request/content.rs
#[test]
fn a_message_needs_no_type_and_its_content_may_be_a_text() {
    expect![[r#"
        Message { id: None, role: User, content: [Text("a")], phase: None }
        Message { id: None, role: Developer, content: [Text("b")], phase: None }
        Message { id: None, role: System, content: [Text("c"), Text("d")], phase: None }
        Message { id: None, role: Assistant, content: [], phase: None }
    "#]]
    .assert_eq(&items(json!([
        { "role": "user", "content": "a" },
        { "type": "message", "role": "developer", "content": "b" },
        { "type": null, "role": "system", "content": [
            { "type": "input_text", "text": "c" }, { "type": "text", "text": "d" },
        ] },
        { "role": "assistant", "content": [] },
    ])));
}

// Conformance: proxy 3.2
#[test]
fn output_items_are_taken_back_whole_with_whatever_clients_add_to_them() {
    expect![[r#"
        Message { id: Some("msg_1"), role: Assistant, content: [Text("Let me check."), Refusal("No.")], phase: Some("commentary") }
        FunctionCall { id: Some("fc_1"), call_id: "fc_1", name: "get_weather", namespace: None, arguments: "{\"location\": \"Paris\"}" }
        FunctionCall { id: None, call_id: "call_2", name: "wait", namespace: Some("agents"), arguments: "" }
        FunctionCallOutput { id: Some("fco_1"), call_id: "fc_1", output: [Text("18C")] }
        FunctionCallOutput { id: None, call_id: "call_2", output: [Text("a"), Image { url: "data:image/png;base64,AAAA", detail: Some("auto") }] }
        CustomToolCall { id: Some("ctc_1"), call_id: "ctc_1", name: "sql", namespace: None, input: "select 1" }
        CustomToolCallOutput { id: None, call_id: "ctc_1", output: [Text("1")] }
    "#]].assert_eq(&items(json!([
        {
            "id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "phase": "commentary",
            "content": [
                { "type": "output_text", "text": "Let me check.", "annotations": [], "logprobs": [], "parsed": null },
                { "type": "refusal", "refusal": "No." },
            ],
        },
        {
            "arguments": "{\"location\": \"Paris\"}", "call_id": "fc_1", "name": "get_weather",
            "type": "function_call", "id": "fc_1", "status": "completed",
            "parsed_arguments": { "location": "Paris" },
        },
        { "type": "function_call", "call_id": "call_2", "name": "wait", "namespace": "agents", "arguments": "" },
        { "type": "function_call_output", "id": "fco_1", "call_id": "fc_1", "output": "18C", "status": "completed" },
        { "type": "function_call_output", "call_id": "call_2", "output": [
            { "type": "input_text", "text": "a" },
            { "type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto" },
        ] },
        { "type": "custom_tool_call", "id": "ctc_1", "call_id": "ctc_1", "name": "sql", "input": "select 1" },
        { "type": "custom_tool_call_output", "call_id": "ctc_1", "output": "1" },
    ])));
}

#[test]
fn reasoning_and_compactions_come_back_sealed_and_references_by_id() {
    expect![[r#"
        Reasoning { id: Some("rs_1"), summary: ["First.", "Then."], encrypted: Some("gAAA") }
        Reasoning { id: None, summary: ["Hm."], encrypted: None }
        Reasoning { id: None, summary: [], encrypted: None }
        Compaction { id: Some("cmp_1"), encrypted: "gBBB" }
        Compaction { id: None, encrypted: "gCCC" }
        Reference { id: "msg_7" }
        Reference { id: "rs_8" }
    "#]]
    .assert_eq(&items(json!([
        { "type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA", "summary": [
            { "type": "summary_text", "text": "First." }, { "type": "summary_text", "text": "Then." },
        ] },
        { "type": "reasoning", "summary": [], "content": [{ "type": "reasoning_text", "text": "Hm." }] },
        { "type": "reasoning", "summary": [], "encrypted_content": null },
        { "type": "compaction", "id": "cmp_1", "encrypted_content": "gBBB" },
        { "type": "compaction_summary", "encrypted_content": "gCCC" },
        { "type": "item_reference", "id": "msg_7" },
        { "id": "rs_8" },
    ])));
}

// Conformance: proxy 2.1
#[test]
fn what_other_services_ran_is_left_out_and_named() {
    let request = read(&json!({ "model": "m", "input": [
        { "role": "user", "content": "hi" },
        { "type": "web_search_call", "id": "ws_1", "status": "completed", "action": { "type": "search" } },
        { "type": "web_search_call", "id": "ws_2", "status": "completed", "action": { "type": "search" } },
        { "type": "local_shell_call", "call_id": "c", "status": "completed", "action": {} },
    ] }));
    assert_eq!(request.input.len(), 1);
    assert_eq!(request.ignored, ["input.web_search_call", "input.local_shell_call"]);
}

#[test]
fn the_message_of_another_agent_is_told_like_a_users() {
    expect![[r#"
        Message { id: None, role: User, content: [Text("done")], phase: None }
    "#]]
    .assert_eq(&items(json!([
        { "type": "agent_message", "author": "/root/a", "recipient": "/root", "content": [
            { "type": "input_text", "text": "done" },
        ] },
    ])));
}

#[test]
fn an_item_that_is_wrong_is_named_with_what_was_expected() {
    expect![[r#"
        invalid_type input: `input` must be a string or an array of items, and is a number
        invalid_type input[1]: `input[1]` must be an object, and is a string
        missing_required_parameter input[0].type: `input[0].type` is missing; it must be the type of the item
        invalid_type input[0].type: `input[0].type` must be a string, and is a number
        invalid_value input[0].type: `input[0].type` must be the type of an item, such as "message", "function_call" or "function_call_output", and is "teleport"
        invalid_value input[0].role: `input[0].role` must be one of "user", "assistant", "system", "developer", and is "tool"
        missing_required_parameter input[0].role: `input[0].role` is missing; it must be one of "user", "assistant", "system", "developer"
        missing_required_parameter input[0].content: `input[0].content` is missing; it must be a string or an array of content parts
        invalid_type input[0].content: `input[0].content` must be a string or an array of content parts, and is an object
        unsupported_parameter input[0]: `input[0]` is not supported here; send the items to POST /v1/responses/compact
    "#]].assert_eq(&all_refused(&of_input(&[
        json!(7),
        json!([{ "role": "user", "content": "hi" }, "hi"]),
        json!([{ "content": "hi" }]),
        json!([{ "type": 3 }]),
        json!([{ "type": "teleport" }]),
        json!([{ "role": "tool", "content": "hi" }]),
        json!([{ "type": "message", "content": "hi" }]),
        json!([{ "role": "user" }]),
        json!([{ "role": "user", "content": {} }]),
        json!([{ "type": "compaction_trigger" }]),
    ])));
}

#[test]
fn a_part_that_is_wrong_is_named_down_to_its_field() {
    let content =
        |part: Value| json!([{ "role": "user", "content": "a" }, { "role": "user", "content": [part] }]);
    expect![[r#"
        missing_required_parameter input[1].content[0].type: `input[1].content[0].type` is missing; it must be a string
        invalid_value input[1].content[0].type: `input[1].content[0].type` must be one of "input_text", "output_text", "refusal", "input_image", and is "video"
        invalid_type input[1].content[0].text: `input[1].content[0].text` must be a string, and is an array
        unsupported_parameter input[1].content[0]: `input[1].content[0]` is not supported here; a text model takes no files: put the text of the file into an `input_text` part
        unsupported_parameter input[1].content[0]: `input[1].content[0]` is not supported here; a text model takes no sound: send the words as text
        unsupported_parameter input[1].content[0].file_id: `input[1].content[0].file_id` is not supported here; this server keeps no files: send the image as a `data:` URL in `image_url`
        missing_required_parameter input[1].content[0].image_url: `input[1].content[0].image_url` is missing; it must be a string
        invalid_value input[1].content[0].image_url: `input[1].content[0].image_url` must be an http(s) URL or `data:image/<type>;base64,<data>`, and is "file:///etc/passwd"
        invalid_value input[1].content[0].image_url: `input[1].content[0].image_url` must be an http(s) URL or `data:image/<type>;base64,<data>`, and is "data:image/png,AAAA"
        invalid_value input[1].content[0].image_url: `input[1].content[0].image_url` must be base64 after `;base64,`, and is not base64
        invalid_value input[1].content[0].image_url: `input[1].content[0].image_url` must be base64 after `;base64,`, and is not base64
        invalid_value input[1].content[0].detail: `input[1].content[0].detail` must be one of "low", "high", "auto", "original", and is "sharp"
    "#]].assert_eq(&all_refused(&of_input(&[
        content(json!({ "text": "hi" })),
        content(json!({ "type": "video" })),
        content(json!({ "type": "input_text", "text": ["hi"] })),
        content(json!({ "type": "input_file", "file_id": "f" })),
        content(json!({ "type": "input_audio", "data": "" })),
        content(json!({ "type": "input_image", "file_id": "f" })),
        content(json!({ "type": "input_image" })),
        content(json!({ "type": "input_image", "image_url": "file:///etc/passwd" })),
        content(json!({ "type": "input_image", "image_url": "data:image/png,AAAA" })),
        content(json!({ "type": "input_image", "image_url": "data:image/png;base64,A" })),
        content(json!({ "type": "input_image", "image_url": "data:image/png;base64,AA\nA" })),
        content(json!({ "type": "input_image", "image_url": "https://e.org/a.png", "detail": "sharp" })),
    ])));
}

// Conformance: proxy 1.2
//     D1: a `function_call_output` has `call_id` and `output`, or is refused with the field that is missing.
//     In: responses/request/input.rs
#[test]
fn a_call_or_its_output_must_say_what_it_belongs_to() {
    expect![[r#"
        missing_required_parameter input[0].call_id: `input[0].call_id` is missing; it must be a string
        invalid_value input[0].call_id: `input[0].call_id` must be a string that is not empty, and is an empty string
        missing_required_parameter input[0].name: `input[0].name` is missing; it must be a string
        invalid_type input[0].arguments: `input[0].arguments` must be a string, and is an object
        missing_required_parameter input[0].output: `input[0].output` is missing; it must be a string or an array of content parts
        invalid_type input[0].output[0]: `input[0].output[0]` must be an object, and is a string
        missing_required_parameter input[0].input: `input[0].input` is missing; it must be a string
        missing_required_parameter input[0].encrypted_content: `input[0].encrypted_content` is missing; it must be a string
        missing_required_parameter input[0].id: `input[0].id` is missing; it must be a string
        missing_required_parameter input[0].summary[0].text: `input[0].summary[0].text` is missing; it must be a string
        string_above_max_length input[0].call_id: `input[0].call_id` is longer than 512 characters
    "#]].assert_eq(&all_refused(&of_input(&[
        json!([{ "type": "function_call", "name": "f", "arguments": "{}" }]),
        json!([{ "type": "function_call", "call_id": "", "name": "f", "arguments": "{}" }]),
        json!([{ "type": "function_call", "call_id": "c", "arguments": "{}" }]),
        json!([{ "type": "function_call", "call_id": "c", "name": "f", "arguments": {} }]),
        json!([{ "type": "function_call_output", "call_id": "c" }]),
        json!([{ "type": "function_call_output", "call_id": "c", "output": ["a"] }]),
        json!([{ "type": "custom_tool_call", "call_id": "c", "name": "f" }]),
        json!([{ "type": "compaction" }]),
        json!([{ "type": "item_reference" }]),
        json!([{ "type": "reasoning", "summary": [{ "type": "summary_text" }] }]),
        json!([{ "type": "function_call_output", "call_id": "c".repeat(513), "output": "" }]),
    ])));
}

#[test]
fn a_list_of_items_has_an_end() {
    let many: Vec<Value> = (0..16_385).map(|_| json!({ "role": "user", "content": "a" })).collect();
    expect![[r#"
        array_above_max_length input: `input` has 16385 entries; at most 16384 are taken
    "#]]
    .assert_eq(&all_refused(&of_input(&[json!(many)])));
}
