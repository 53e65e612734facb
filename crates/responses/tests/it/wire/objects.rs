//! The response object.

use expect_test::{Expect, expect};
use responses::error::ApiError;
use responses::event::EventFraming;
use responses::item::ConversationItem;
use responses::object::IncompleteReason;
use responses::output::ItemStatus;
use responses::request::{SchemaCache, parse_value};
use responses::wire_item::item_json;
use serde_json::{Value, json};

use crate::wire::playing::{Ending, Said, asking, call, play, text};
use crate::wire::reading::{read, with};

/// The only place that makes an object.
#[track_caller]
fn check(body: &Value, said: &[Said], ending: Ending, expect: Expect) {
    let (_, ended) = play(&read(body), EventFraming::Nothing, said, ending);
    let object: Value = serde_json::from_str(&ended.object_json()).unwrap();
    assert_eq!(object, ended.object());
    expect.assert_eq(&format!("{object:#}"));
}

// Conformance: proxy 3.3
//     Not streamed: `status: "completed"` and `output` with text and `function_call` items. *Differs*: text is a
//     `message` item with `output_text` parts and a `status`; no client reads a bare `output_text` item.
//     In: responses/object.rs, responses/output.rs
#[test]
fn an_object_has_every_key_and_the_defaults_filled_in() {
    check(
        &with(json!({})),
        &[text("Hi.")],
        Ending::Complete,
        expect![[r#"
        {
          "id": "resp_7f",
          "object": "response",
          "created_at": 1700000000,
          "status": "completed",
          "completed_at": 1700000005,
          "error": null,
          "incomplete_details": null,
          "output": [
            {
              "type": "message",
              "id": "msg_7f_001",
              "status": "completed",
              "role": "assistant",
              "content": [
                {
                  "type": "output_text",
                  "text": "Hi.",
                  "annotations": [],
                  "logprobs": []
                }
              ]
            }
          ],
          "usage": {
            "input_tokens": 20,
            "input_tokens_details": {
              "cached_tokens": 5
            },
            "output_tokens": 7,
            "output_tokens_details": {
              "reasoning_tokens": 2
            },
            "total_tokens": 27
          },
          "model": "m",
          "previous_response_id": null,
          "instructions": null,
          "tools": [],
          "tool_choice": "auto",
          "parallel_tool_calls": true,
          "max_tool_calls": null,
          "text": {
            "format": {
              "type": "text"
            }
          },
          "reasoning": {
            "effort": null,
            "summary": null
          },
          "temperature": 1.0,
          "top_p": 1.0,
          "presence_penalty": 0.0,
          "frequency_penalty": 0.0,
          "top_logprobs": 0,
          "max_output_tokens": null,
          "truncation": "disabled",
          "store": true,
          "background": false,
          "service_tier": "default",
          "metadata": {},
          "safety_identifier": null,
          "prompt_cache_key": null
        }"#]],
    );
}

/// Every option that is repeated, none with its default.
fn all_options() -> Value {
    with(json!({
        "model": "gpt-5.5", "instructions": "Be brief.", "previous_response_id": "resp_6", "store": false,
        "parallel_tool_calls": false, "max_tool_calls": 3, "temperature": 0.2, "top_p": 0.9,
        "max_output_tokens": 16, "reasoning": { "effort": "low", "summary": "auto" }, "metadata": { "a": "b" },
        "text": { "verbosity": "low", "format": {
            "type": "json_schema", "name": "n", "schema": { "type": "object" }, "strict": true,
        } },
        "tools": [{ "type": "function", "function": { "name": "f" } }, { "type": "web_search" }],
        "tool_choice": { "type": "function", "name": "f" },
        "safety_identifier": "s", "prompt_cache_key": "k", "user": "u", "truncation": "auto", "top_logprobs": 2,
    }))
}

#[test]
fn an_object_repeats_what_was_asked_for() {
    check(
        &all_options(),
        &[call(0, "{}")],
        Ending::Incomplete(IncompleteReason::MaxOutputTokens),
        expect![[r#"
        {
          "id": "resp_7f",
          "object": "response",
          "created_at": 1700000000,
          "status": "incomplete",
          "completed_at": null,
          "error": null,
          "incomplete_details": {
            "reason": "max_output_tokens"
          },
          "output": [
            {
              "type": "function_call",
              "id": "fc_7f_001",
              "status": "completed",
              "call_id": "fc_7f_001",
              "name": "f",
              "arguments": "{}"
            }
          ],
          "usage": {
            "input_tokens": 20,
            "input_tokens_details": {
              "cached_tokens": 5
            },
            "output_tokens": 7,
            "output_tokens_details": {
              "reasoning_tokens": 2
            },
            "total_tokens": 27
          },
          "model": "gpt-5.5",
          "previous_response_id": "resp_6",
          "instructions": "Be brief.",
          "tools": [
            {
              "type": "function",
              "name": "f",
              "description": null,
              "parameters": {
                "type": "object",
                "properties": {}
              },
              "strict": false
            },
            {
              "type": "web_search"
            }
          ],
          "tool_choice": {
            "type": "function",
            "name": "f"
          },
          "parallel_tool_calls": false,
          "max_tool_calls": 3,
          "text": {
            "format": {
              "type": "json_schema",
              "name": "n",
              "description": null,
              "schema": {
                "type": "object"
              },
              "strict": true
            },
            "verbosity": "low"
          },
          "reasoning": {
            "effort": "low",
            "summary": "auto"
          },
          "temperature": 0.2,
          "top_p": 0.9,
          "presence_penalty": 0.0,
          "frequency_penalty": 0.0,
          "top_logprobs": 2,
          "max_output_tokens": 16,
          "truncation": "auto",
          "store": false,
          "background": false,
          "service_tier": "default",
          "metadata": {
            "a": "b"
          },
          "safety_identifier": "s",
          "prompt_cache_key": "k",
          "user": "u"
        }"#]],
    );
}

#[test]
fn an_object_has_the_31_keys_that_open_responses_requires() {
    let keys = "id object created_at completed_at status incomplete_details model previous_response_id instructions
        output error tools tool_choice truncation parallel_tool_calls text top_p presence_penalty frequency_penalty
        top_logprobs temperature reasoning usage max_output_tokens max_tool_calls store background service_tier
        metadata safety_identifier prompt_cache_key";
    let keys: Vec<&str> = keys.split_whitespace().collect();
    assert_eq!(keys.len(), 31);
    let failed = Ending::Fail(ApiError::server(502, "backend_died", "gone"));
    for ending in [Ending::Complete, Ending::Incomplete(IncompleteReason::ContentFilter), failed] {
        let object = play(asking(), EventFraming::Nothing, &[], ending).1.object();
        for key in &keys {
            assert!(object.get(key).is_some(), "{key} is not in {object}");
        }
        assert_eq!(object.as_object().unwrap().len(), 31);
    }
}

#[test]
fn a_failed_object_says_why() {
    let error = ApiError::server(502, "backend_died", "the backend ended");
    let object = play(asking(), EventFraming::Nothing, &[text("And so")], Ending::Fail(error)).1.object();
    assert_eq!(object["status"], "failed");
    assert_eq!(object["error"], json!({ "code": "backend_died", "message": "the backend ended" }));
    assert_eq!((&object["completed_at"], &object["usage"]), (&Value::Null, &Value::Null));
    assert_eq!(object["output"][0]["status"], "incomplete");
}

// Conformance: proxy 1.3
// Conformance: proxy 5.3
#[test]
fn what_was_answered_reads_back_as_the_same_items() {
    let said = [
        Said::Reasoning(0, "Hm.".to_owned()),
        Said::Sealed("gAAA".to_owned()),
        text("Let me check."),
        Said::Refusal("Not that.".to_owned()),
        call(0, r#"{"city":"Paris"}"#),
        call(1, r#"{"input":"select 1"}"#),
        call(2, "{}"),
    ];
    let (_, ended) = play(asking(), EventFraming::Nothing, &said, Ending::Complete);
    let kept: Vec<ConversationItem> =
        ended.output.iter().map(|sent| ConversationItem::from(sent.item.clone())).collect();
    // A client that sends all output back as input says exactly that.
    let echoed =
        parse_value(json!({ "model": "m", "input": ended.object()["output"] }), &SchemaCache::default())
            .unwrap();
    assert_eq!(echoed.input, kept);
    // And one by one, through the same finaliser.
    for (sent, shown) in ended.output.iter().zip(ended.object()["output"].as_array().unwrap()) {
        assert_eq!(&item_json(&sent.item, sent.status), shown);
        assert_eq!(sent.status, ItemStatus::Completed);
    }
}

// Conformance: proxy 9.3
//     Ids count up in the order of appearance. *Differs*: they hold the id of the response, `fc_<response>_001`. With
//     ids that begin again in every response, clients take the second call for the first and skip it.
//     In: responses/emitter/ids.rs
#[test]
fn ids_of_two_answers_never_meet() {
    let said = [Said::Reasoning(0, "Hm.".to_owned()), text("a"), call(0, "{}"), call(1, "x"), text("b")];
    let request = asking();
    let ids = |unique: &str| -> Vec<String> {
        let mut emitter =
            responses::emitter::AnswerEmitter::new(request, unique, 1_700_000_000, EventFraming::Nothing);
        for one in &said {
            match one {
                Said::Text(text) => emitter.text(text),
                Said::Reasoning(part, text) => emitter.reasoning(*part, text),
                Said::Call(tool, arguments) => {
                    emitter.call(&request.tools[*tool], arguments);
                }
                Said::NextMessage | Said::Refusal(_) | Said::Sealed(_) | Said::KeepAlive => {}
            }
        }
        emitter.complete(None, 0).output.iter().map(|sent| sent.item.id().to_owned()).collect()
    };
    assert_eq!(ids("1"), ["rs_1_001", "msg_1_001", "fc_1_001", "ctc_1_002", "msg_1_002"]);
    assert_eq!(ids("2"), ["rs_2_001", "msg_2_001", "fc_2_001", "ctc_2_002", "msg_2_002"]);
}
