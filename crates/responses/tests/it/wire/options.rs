//! The fields of a request besides input and tools.

use expect_test::expect;
use responses::request::{self, RequestPurpose, SchemaCache, TextFormat};
use serde_json::{Map, Value, json};

use crate::wire::reading::{all_refused, in_words, read, with};

// Conformance: proxy 3.1
//     `/v1/responses` takes `model`, `input`, `tools`, `tool_choice` and the streaming options; whether it streams is
//     decided by `stream` alone.
//     In: responses/request/mod.rs
#[test]
fn a_bare_request_has_the_defaults_of_the_api() {
    let request = read(&with(json!({})));
    assert_eq!((request.parallel_tool_calls, request.stream, request.store), (true, false, true));
    assert_eq!((request.purpose, &request.format), (RequestPurpose::Answer, &TextFormat::Text));
    assert_eq!((request.temperature, request.top_p, request.max_output_tokens), (None, None, None));
    assert_eq!((request.include, request.metadata, request.ignored), (vec![], json!({}), vec![]));
}

#[test]
fn null_is_the_same_as_absent_everywhere() {
    let fields = "instructions previous_response_id tools tool_choice parallel_tool_calls max_tool_calls stream store
        generate text reasoning temperature top_p max_output_tokens include metadata background conversation prompt
        service_tier truncation user safety_identifier prompt_cache_key top_logprobs presence_penalty
        frequency_penalty stream_options unheard_of";
    let mut nulls = with(json!({}));
    for field in fields.split_whitespace() {
        nulls[field] = Value::Null;
    }
    assert_eq!(read(&nulls), read(&with(json!({}))));
}

// Conformance: proxy 3.1
#[test]
fn every_option_is_read() {
    let request = read(&with(json!({
        "instructions": "Be brief.", "previous_response_id": "resp_1", "parallel_tool_calls": false,
        "max_tool_calls": 3, "stream": true, "store": false, "temperature": 0.2, "top_p": 1, "max_output_tokens": 16,
        "text": { "verbosity": "low", "format": { "type": "json_object" } },
        "reasoning": { "effort": "xhigh", "summary": "auto", "context": "all_turns" },
        "include": ["reasoning.encrypted_content"], "metadata": { "run": "7" },
        "stream_options": { "include_obfuscation": false }, "client_metadata": { "turn_id": "t" },
        "prompt_cache_key": "k", "safety_identifier": "s", "user": "u", "truncation": "disabled",
        "service_tier": "auto", "top_logprobs": 0, "presence_penalty": 0, "type": "response.create",
    })));
    assert_eq!(request.instructions.as_deref(), Some("Be brief."));
    assert_eq!(request.previous_response_id.as_deref(), Some("resp_1"));
    assert_eq!((request.parallel_tool_calls, request.stream, request.store), (false, true, false));
    assert_eq!((request.max_tool_calls, request.max_output_tokens), (Some(3), Some(16)));
    assert_eq!((request.temperature, request.top_p), (Some(0.2), Some(1.0)));
    assert_eq!((request.format, request.verbosity.as_deref()), (TextFormat::JsonObject, Some("low")));
    assert_eq!(request.reasoning_effort.as_deref(), Some("xhigh"));
    assert_eq!(request.reasoning_summary.as_deref(), Some("auto"));
    assert_eq!(request.include, ["reasoning.encrypted_content"]);
    assert_eq!(request.metadata, json!({ "run": "7" }));
    assert!(request.ignored.is_empty(), "{:?}", request.ignored);
    expect![[r#"{"safety_identifier":"s","prompt_cache_key":"k","user":"u","truncation":"disabled","presence_penalty":0.0,"top_logprobs":0}"#]].assert_eq(&Value::Object(request.repeated).to_string());
}

#[test]
fn words_of_include_that_change_nothing_are_named() {
    let words = ["reasoning.encrypted_content", "message.output_text.logprobs", "odd, one"];
    let request = read(&with(json!({ "include": words })));
    assert_eq!(request.include, words);
    assert_eq!(request.ignored, ["include.message.output_text.logprobs", "include.odd__one"]);
}

#[test]
fn a_schema_for_the_answer_is_compiled_once() {
    let request = read(&with(json!({ "text": { "format": {
        "type": "json_schema", "name": "weather", "strict": true,
        "schema": { "type": "object", "properties": { "t": { "type": "number" } }, "required": ["t"] },
    } } })));
    let TextFormat::JsonSchema { name, description, compiled, strict, .. } = request.format else {
        panic!("another format");
    };
    assert_eq!((name.as_str(), description, strict), ("weather", None, true));
    assert!(compiled.validate(&json!({ "t": 18 })).is_empty());
    assert_eq!(compiled.validate(&json!({})).len(), 1);
}

#[test]
fn a_warm_up_needs_no_input_and_a_continuation_may_have_none() {
    assert_eq!(
        read(&json!({ "model": "m", "input": [], "generate": false })).purpose,
        RequestPurpose::WarmUp
    );
    assert!(read(&json!({ "model": "m", "previous_response_id": "resp_1" })).input.is_empty());
}

#[test]
fn what_is_not_honoured_is_named_in_words_that_fit_a_header() {
    let request = read(&with(json!({
        "top_logprobs": 3, "presence_penalty": 0.5, "truncation": "auto", "service_tier": "flex",
        "context_management": [], "zeta": 1, "évil\r\nSet-Cookie: a=b, c": 2,
    })));
    expect![[r#"["service_tier", "truncation", "presence_penalty", "top_logprobs", "context_management", "zeta", "_vil__Set-Cookie:_a=b__c"]"#]].assert_eq(&format!("{:?}", request.ignored));

    let mut many = with(json!({}));
    for index in 0..100 {
        many[format!("{index:03}{}", "x".repeat(200))] = json!(1);
    }
    let ignored = read(&many).ignored;
    assert_eq!((ignored.len(), ignored[0].len()), (32, 96));
}

// Conformance: proxy 3.1
#[test]
fn what_cannot_be_done_is_refused_with_the_way_out() {
    expect![[r#"
        unsupported_parameter background: `background` is not supported here; answers are made while the client waits: leave it out, and use `stream` for long ones
        unsupported_parameter conversation: `conversation` is not supported here; continue with `previous_response_id`, or send the items in `input`
        unsupported_parameter prompt: `prompt` is not supported here; this server keeps no prompts: send the text in `instructions` and `input`
    "#]].assert_eq(&all_refused(&[
        with(json!({ "background": true })),
        with(json!({ "conversation": "conv_1" })),
        with(json!({ "prompt": { "id": "pmpt_1" } })),
    ]));
    assert!(read(&with(json!({ "background": false }))).ignored.is_empty());
}

#[test]
fn a_field_that_is_wrong_is_named_with_what_was_expected() {
    expect![[r#"
        invalid_type -: the body must be an object, and is an array
        missing_required_parameter model: `model` is missing; it must be a string
        invalid_type model: `model` must be a string, and is a number
        invalid_value model: `model` must be a string that is not empty, and is an empty string
        missing_required_parameter input: `input` is missing or empty; it must be a text or a list of items, unless there is a `previous_response_id` to go on from
        missing_required_parameter input: `input` is missing or empty; it must be a text or a list of items, unless there is a `previous_response_id` to go on from
        invalid_type instructions: `instructions` must be a string, and is an array
        invalid_type stream: `stream` must be true or false, and is a string
        invalid_value temperature: `temperature` must be a number from 0 to 2, and is 2.5
        invalid_type top_p: `top_p` must be a number from 0 to 1, and is a string
        invalid_value max_output_tokens: `max_output_tokens` must be a whole number of at least 1, and is 0
        invalid_value max_output_tokens: `max_output_tokens` must be a whole number of at least 1, and is -1
        invalid_value reasoning.summary: `reasoning.summary` must be one of "auto", "concise", "detailed", "none", and is "long"
        invalid_type include[1]: `include[1]` must be a string, and is a number
        invalid_value truncation: `truncation` must be one of "auto", "disabled", and is "middle"
    "#]].assert_eq(&all_refused(&[
        json!([]),
        json!({ "input": "hi" }),
        json!({ "model": 5, "input": "hi" }),
        json!({ "model": "", "input": "hi" }),
        json!({ "model": "m" }),
        json!({ "model": "m", "input": [] }),
        with(json!({ "instructions": ["a"] })),
        with(json!({ "stream": "yes" })),
        with(json!({ "temperature": 2.5 })),
        with(json!({ "top_p": "1" })),
        with(json!({ "max_output_tokens": 0 })),
        with(json!({ "max_output_tokens": -1 })),
        with(json!({ "reasoning": { "summary": "long" } })),
        with(json!({ "include": ["a", 1] })),
        with(json!({ "truncation": "middle" })),
    ]));
}

#[test]
fn a_format_that_is_wrong_is_named_with_what_was_expected() {
    expect![[r#"
        invalid_type text: `text` must be an object, and is a string
        missing_required_parameter text.format.type: `text.format.type` is missing; it must be one of "text", "json_object", "json_schema"
        invalid_value text.format.type: `text.format.type` must be one of "text", "json_object", "json_schema", and is "xml"
        missing_required_parameter text.format.name: `text.format.name` is missing; it must be a string
        missing_required_parameter text.format.schema: `text.format.schema` is missing; it must be a JSON Schema
        invalid_json_schema text.format.schema: `text.format.schema` cannot be used: a `$ref` to `#/$defs/gone` leads nowhere in this schema
        invalid_value text.verbosity: `text.verbosity` must be one of "low", "medium", "high", and is "chatty"
    "#]].assert_eq(&all_refused(&[
        with(json!({ "text": "plain" })),
        with(json!({ "text": { "format": {} } })),
        with(json!({ "text": { "format": { "type": "xml" } } })),
        with(json!({ "text": { "format": { "type": "json_schema", "schema": {} } } })),
        with(json!({ "text": { "format": { "type": "json_schema", "name": "n" } } })),
        with(json!({ "text": { "format": {
            "type": "json_schema", "name": "n", "schema": { "$ref": "#/$defs/gone" },
        } } })),
        with(json!({ "text": { "verbosity": "chatty" } })),
    ]));
}

#[test]
fn metadata_are_few_and_short_texts() {
    let many: Map<String, Value> = (0..17).map(|n| (n.to_string(), json!("v"))).collect();
    let long_key: Map<String, Value> = [("k".repeat(65), json!("v"))].into_iter().collect();
    expect![[r#"
        invalid_type metadata: `metadata` must be an object, and is an array
        invalid_type metadata.a: `metadata.a` must be a string, and is a number
        object_above_max_properties metadata: `metadata` has 17 keys; at most 16 are taken
        string_above_max_length metadata: a key of `metadata` is longer than 64 characters
        string_above_max_length metadata.a: `metadata.a` is longer than 512 characters
    "#]]
    .assert_eq(&all_refused(&[
        with(json!({ "metadata": [] })),
        with(json!({ "metadata": { "a": 1 } })),
        with(json!({ "metadata": many })),
        with(json!({ "metadata": long_key })),
        with(json!({ "metadata": { "a": "v".repeat(513) } })),
    ]));
}

#[test]
fn a_long_value_of_the_clients_is_cut_in_the_error() {
    let error =
        request::parse_value(with(json!({ "truncation": "x\n".repeat(500) })), &SchemaCache::default())
            .unwrap_err();
    assert!(in_words(&error).len() < 300, "{}", error.message);
    assert!(!error.message.contains('\n'), "{}", error.message);
}
