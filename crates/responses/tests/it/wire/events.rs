//! The order of events for every kind of answer.

use expect_test::expect;
use responses::emitter::AnswerEmitter;
use responses::error::ApiError;
use responses::event::{EventFraming, ResponseEventType, error_event};
use responses::object::IncompleteReason;
use serde_json::{Value, json};

use crate::wire::frames::{events, of, shown};
use crate::wire::playing::{Ending, Said, asking, call, play, stream, text};
use crate::wire::reading::{read, with};

// Conformance: proxy 3.3
#[test]
fn a_text_is_a_message_with_one_part() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"Hello","logprobs":[]}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":", ","logprobs":[]}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"you","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"text":"Hello, you","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Hello, you","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hello, you","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["msg_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[text("Hello"), text(", "), text("you")])));
}

// Conformance: proxy 3.4
#[test]
fn the_bytes_of_a_stream_are_these() {
    let frames = stream(&[text("a\"\n")]);
    let text = String::from_utf8(frames).unwrap();
    let deltas: String = text.split_inclusive("\n\n").skip(2).take(3).collect();
    expect![[r#"
        event: response.output_item.added
        data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}

        event: response.content_part.added
        data: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}

        event: response.output_text.delta
        data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"a\"\n","logprobs":[]}

    "#]].assert_eq(&deltas);
}

// Conformance: proxy 1.1
//     D1: a `function_call` item has `id`, `call_id`, `name` and `arguments` as a JSON string. *Differs*: it also has
//     `status`, without which a client in common use throws.
//     In: responses/wire_item.rs
// Conformance: proxy 1.3
//     D1: `call_id` is `id`; both fields are there.
//     In: responses/wire_item.rs
// Conformance: proxy 6.3
//     A call is `output_item.added` (empty arguments), one or more `arguments.delta`, `arguments.done`,
//     `output_item.done`; `completed` comes once, last.
//     In: responses/emitter/mod.rs
// Conformance: proxy 9.4
//     The way from `item_id` to `call_id` is kept: they are the same text.
//     In: responses/wire_item.rs
#[test]
fn a_call_is_announced_filled_and_finished() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"in_progress","call_id":"fc_7f_001","name":"get_weather","arguments":""}}
        response.function_call_arguments.delta {"item_id":"fc_7f_001","output_index":0,"delta":"{\"city\":\"Paris\"}"}
        response.function_call_arguments.done {"item_id":"fc_7f_001","output_index":0,"name":"get_weather","arguments":"{\"city\":\"Paris\"}"}
        response.output_item.done {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"completed","call_id":"fc_7f_001","name":"get_weather","arguments":"{\"city\":\"Paris\"}"}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["fc_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[call(0, r#"{"city":"Paris"}"#)])));
}

// Conformance: proxy 15.1
//     A streamed call: text, then the call's events, then `response.completed`.
//     In: responses/emitter/mod.rs
// Conformance: proxy 6.3
#[test]
fn text_a_call_and_text_again_are_three_items() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"Let me check.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"text":"Let me check.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Let me check.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Let me check.","annotations":[],"logprobs":[]}]}}
        response.output_item.added {"output_index":1,"item":{"type":"function_call","id":"fc_7f_001","status":"in_progress","call_id":"fc_7f_001","name":"get_weather","arguments":""}}
        response.function_call_arguments.delta {"item_id":"fc_7f_001","output_index":1,"delta":"{}"}
        response.function_call_arguments.done {"item_id":"fc_7f_001","output_index":1,"name":"get_weather","arguments":"{}"}
        response.output_item.done {"output_index":1,"item":{"type":"function_call","id":"fc_7f_001","status":"completed","call_id":"fc_7f_001","name":"get_weather","arguments":"{}"}}
        response.output_item.added {"output_index":2,"item":{"type":"message","id":"msg_7f_002","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_002","output_index":2,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_002","output_index":2,"content_index":0,"delta":"Sunny.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_002","output_index":2,"content_index":0,"text":"Sunny.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_002","output_index":2,"content_index":0,"part":{"type":"output_text","text":"Sunny.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":2,"item":{"type":"message","id":"msg_7f_002","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Sunny.","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["msg_7f_001 completed","fc_7f_001 completed","msg_7f_002 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[text("Let me check."), call(0, "{}"), text("Sunny.")])));
}

// Conformance: proxy 7.3
// Conformance: proxy 9.1
//     Several blocks in one message are several calls, in the order of the text.
//     In: responses/emitter/mod.rs
#[test]
fn two_calls_in_one_answer_keep_their_order_and_have_ids_of_their_own() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"in_progress","call_id":"fc_7f_001","name":"get_weather","arguments":""}}
        response.function_call_arguments.delta {"item_id":"fc_7f_001","output_index":0,"delta":"{\"n\":1}"}
        response.function_call_arguments.done {"item_id":"fc_7f_001","output_index":0,"name":"get_weather","arguments":"{\"n\":1}"}
        response.output_item.done {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"completed","call_id":"fc_7f_001","name":"get_weather","arguments":"{\"n\":1}"}}
        response.output_item.added {"output_index":1,"item":{"type":"function_call","id":"fc_7f_002","status":"in_progress","call_id":"fc_7f_002","name":"get_weather","arguments":""}}
        response.function_call_arguments.delta {"item_id":"fc_7f_002","output_index":1,"delta":"{\"n\":2}"}
        response.function_call_arguments.done {"item_id":"fc_7f_002","output_index":1,"name":"get_weather","arguments":"{\"n\":2}"}
        response.output_item.done {"output_index":1,"item":{"type":"function_call","id":"fc_7f_002","status":"completed","call_id":"fc_7f_002","name":"get_weather","arguments":"{\"n\":2}"}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["fc_7f_001 completed","fc_7f_002 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[
        call(0, r#"{"n":1}"#),
        text("\n\n"),
        call(0, r#"{"n":2}"#),
        text("\n"),
    ])));
}

#[test]
fn a_custom_call_streams_its_text() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"custom_tool_call","id":"ctc_7f_001","status":"in_progress","call_id":"ctc_7f_001","name":"sql","input":""}}
        response.custom_tool_call_input.delta {"item_id":"ctc_7f_001","output_index":0,"delta":"select 1"}
        response.custom_tool_call_input.done {"item_id":"ctc_7f_001","output_index":0,"input":"select 1"}
        response.output_item.done {"output_index":0,"item":{"type":"custom_tool_call","id":"ctc_7f_001","status":"completed","call_id":"ctc_7f_001","name":"sql","input":"select 1"}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["ctc_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[call(1, r#"{"input":"select 1"}"#)])));
}

#[test]
fn a_call_of_a_tool_in_a_namespace_has_the_clients_name() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"in_progress","call_id":"fc_7f_001","name":"wait","namespace":"agents","arguments":""}}
        response.function_call_arguments.delta {"item_id":"fc_7f_001","output_index":0,"delta":"{}"}
        response.function_call_arguments.done {"item_id":"fc_7f_001","output_index":0,"name":"wait","arguments":"{}"}
        response.output_item.done {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"completed","call_id":"fc_7f_001","name":"wait","namespace":"agents","arguments":"{}"}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["fc_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[call(2, "{}")])));
}

#[test]
fn reasoning_comes_in_numbered_parts_and_is_sealed_before_the_message() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"reasoning","id":"rs_7f_001","status":"in_progress","summary":[]}}
        response.reasoning_summary_part.added {"item_id":"rs_7f_001","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}
        response.reasoning_summary_text.delta {"item_id":"rs_7f_001","output_index":0,"summary_index":0,"delta":"First"}
        response.reasoning_summary_text.delta {"item_id":"rs_7f_001","output_index":0,"summary_index":0,"delta":" this."}
        response.reasoning_summary_text.done {"item_id":"rs_7f_001","output_index":0,"summary_index":0,"text":"First this."}
        response.reasoning_summary_part.done {"item_id":"rs_7f_001","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"First this."}}
        response.reasoning_summary_part.added {"item_id":"rs_7f_001","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}
        response.reasoning_summary_text.delta {"item_id":"rs_7f_001","output_index":0,"summary_index":1,"delta":"Then that."}
        response.reasoning_summary_text.done {"item_id":"rs_7f_001","output_index":0,"summary_index":1,"text":"Then that."}
        response.reasoning_summary_part.done {"item_id":"rs_7f_001","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":"Then that."}}
        response.output_item.done {"output_index":0,"item":{"type":"reasoning","id":"rs_7f_001","status":"completed","summary":[{"type":"summary_text","text":"First this."},{"type":"summary_text","text":"Then that."}],"encrypted_content":"gAAA"}}
        response.output_item.added {"output_index":1,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":1,"content_index":0,"delta":"Done.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":1,"content_index":0,"text":"Done.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Done.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":1,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Done.","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["rs_7f_001 completed","msg_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[
        Said::Reasoning(0, "First".to_owned()),
        Said::Reasoning(0, " this.".to_owned()),
        Said::Reasoning(3, "Then that.".to_owned()),
        Said::Sealed("gAAA".to_owned()),
        text("Done."),
    ])));
}

#[test]
fn reasoning_that_only_comes_sealed_is_an_item_too() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"reasoning","id":"rs_7f_001","status":"in_progress","summary":[]}}
        response.output_item.done {"output_index":0,"item":{"type":"reasoning","id":"rs_7f_001","status":"completed","summary":[],"encrypted_content":"gAAA"}}
        response.output_item.added {"output_index":1,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":1,"content_index":0,"delta":"Done.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":1,"content_index":0,"text":"Done.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Done.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":1,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Done.","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["rs_7f_001 completed","msg_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[Said::Sealed("gAAA".to_owned()), text("Done.")])));
}

#[test]
fn sealed_reasoning_is_kept_but_not_shown_to_a_client_that_did_not_ask() {
    let request = read(&with(json!({})));
    let said = [Said::Reasoning(0, "Hm.".to_owned()), Said::Sealed("gAAA".to_owned())];
    let (bytes, ended) = play(&request, EventFraming::Stream, &said, Ending::Complete);
    assert!(!String::from_utf8(bytes).unwrap().contains("gAAA"));
    assert!(!ended.object().to_string().contains("gAAA"));
    assert!(format!("{:?}", ended.output).contains("gAAA"));
}

#[test]
fn a_refusal_is_a_part_of_its_own() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"refusal","refusal":""}}
        response.refusal.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"I "}
        response.refusal.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"cannot."}
        response.refusal.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"refusal":"I cannot."}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"refusal","refusal":"I cannot."}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":"I cannot."}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["msg_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]]
        .assert_eq(&shown(&stream(&[Said::Refusal("I ".to_owned()), Said::Refusal("cannot.".to_owned())])));
}

#[test]
fn a_refusal_in_the_middle_of_a_text_closes_the_text_first_and_text_after_it_is_another_message() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"Well","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"text":"Well","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Well","annotations":[],"logprobs":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":1,"part":{"type":"refusal","refusal":""}}
        response.refusal.delta {"item_id":"msg_7f_001","output_index":0,"content_index":1,"delta":"No."}
        response.refusal.done {"item_id":"msg_7f_001","output_index":0,"content_index":1,"refusal":"No."}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":1,"part":{"type":"refusal","refusal":"No."}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Well","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"No."}]}}
        response.output_item.added {"output_index":1,"item":{"type":"message","id":"msg_7f_002","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_002","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_002","output_index":1,"content_index":0,"delta":"But.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_002","output_index":1,"content_index":0,"text":"But.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_002","output_index":1,"content_index":0,"part":{"type":"output_text","text":"But.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":1,"item":{"type":"message","id":"msg_7f_002","status":"completed","role":"assistant","content":[{"type":"output_text","text":"But.","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["msg_7f_001 completed","msg_7f_002 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[text("Well"), Said::Refusal("No.".to_owned()), text("But.")])));
}

#[test]
fn the_models_next_message_is_another_item() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"One.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"text":"One.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"One.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":"One.","annotations":[],"logprobs":[]}]}}
        response.output_item.added {"output_index":1,"item":{"type":"message","id":"msg_7f_002","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_002","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_002","output_index":1,"content_index":0,"delta":"Two.","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_002","output_index":1,"content_index":0,"text":"Two.","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_002","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Two.","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":1,"item":{"type":"message","id":"msg_7f_002","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Two.","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["msg_7f_001 completed","msg_7f_002 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[text("One."), Said::NextMessage, Said::NextMessage, text("Two.")])));
}

// Conformance: proxy 7.3
//     Text that is left is there as items; white space alone is none.
//     In: responses/emitter/mod.rs
#[test]
fn white_space_alone_is_no_message_and_before_a_text_it_is_part_of_it() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":" 　\nHi","logprobs":[]}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":" \n","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"text":" 　\nHi \n","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":" 　\nHi \n","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"completed","role":"assistant","content":[{"type":"output_text","text":" 　\nHi \n","annotations":[],"logprobs":[]}]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":["msg_7f_001 completed"],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[
        text("\n "),
        Said::NextMessage,
        text(""),
        text(" \u{3000}"),
        text("\n"),
        text("Hi"),
        text(" \n"),
    ])));
}

#[test]
fn an_answer_without_anything_is_complete_and_empty() {
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.completed {"response":{"id":"resp_7f","status":"completed","output":[],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&stream(&[])));
}

// Conformance: proxy 3.4
#[test]
fn an_answer_that_is_cut_ends_its_open_item_as_incomplete() {
    let said = [call(0, "{}"), text("And so")];
    let (bytes, ended) =
        play(asking(), EventFraming::Stream, &said, Ending::Incomplete(IncompleteReason::MaxOutputTokens));
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"in_progress","call_id":"fc_7f_001","name":"get_weather","arguments":""}}
        response.function_call_arguments.delta {"item_id":"fc_7f_001","output_index":0,"delta":"{}"}
        response.function_call_arguments.done {"item_id":"fc_7f_001","output_index":0,"name":"get_weather","arguments":"{}"}
        response.output_item.done {"output_index":0,"item":{"type":"function_call","id":"fc_7f_001","status":"completed","call_id":"fc_7f_001","name":"get_weather","arguments":"{}"}}
        response.output_item.added {"output_index":1,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":1,"content_index":0,"delta":"And so","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":1,"content_index":0,"text":"And so","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":1,"content_index":0,"part":{"type":"output_text","text":"And so","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":1,"item":{"type":"message","id":"msg_7f_001","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"And so","annotations":[],"logprobs":[]}]}}
        response.incomplete {"response":{"id":"resp_7f","status":"incomplete","output":["fc_7f_001 completed","msg_7f_001 incomplete"],"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":5},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":27}}}
    "#]].assert_eq(&shown(&bytes));
    assert_eq!(ended.object()["incomplete_details"], json!({ "reason": "max_output_tokens" }));
    let (bytes, _) =
        play(asking(), EventFraming::Stream, &said, Ending::Incomplete(IncompleteReason::ContentFilter));
    assert_eq!(
        events(&bytes).last().unwrap().data["response"]["incomplete_details"]["reason"],
        "content_filter"
    );
}

// Conformance: proxy 1.10
#[test]
fn a_failure_ends_the_answer_and_there_is_no_error_event_besides() {
    let error = ApiError::server(502, "backend_died", "the backend ended in the middle of the answer");
    let (bytes, _) = play(asking(), EventFraming::Stream, &[text("And so")], Ending::Fail(error));
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.output_item.added {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"in_progress","role":"assistant","content":[]}}
        response.content_part.added {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}
        response.output_text.delta {"item_id":"msg_7f_001","output_index":0,"content_index":0,"delta":"And so","logprobs":[]}
        response.output_text.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"text":"And so","logprobs":[]}
        response.content_part.done {"item_id":"msg_7f_001","output_index":0,"content_index":0,"part":{"type":"output_text","text":"And so","annotations":[],"logprobs":[]}}
        response.output_item.done {"output_index":0,"item":{"type":"message","id":"msg_7f_001","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"And so","annotations":[],"logprobs":[]}]}}
        response.failed {"response":{"id":"resp_7f","status":"failed","output":["msg_7f_001 incomplete"],"error":{"code":"backend_died","message":"the backend ended in the middle of the answer"}}}
    "#]].assert_eq(&shown(&bytes));
}

#[test]
fn a_failure_before_anything_was_said_still_begins_the_response() {
    let emitter = AnswerEmitter::new(asking(), "7f", 1_700_000_000, EventFraming::Stream);
    let mut ended = emitter.fail(ApiError::server(503, "backend_unavailable", "no backend"), None);
    expect![[r#"
        response.created {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.in_progress {"response":{"id":"resp_7f","status":"in_progress","output":[]}}
        response.failed {"response":{"id":"resp_7f","status":"failed","output":[],"error":{"code":"backend_unavailable","message":"no backend"}}}
    "#]].assert_eq(&shown(&ended.last_events()));
}

// Conformance: proxy 6.3
#[test]
fn long_arguments_go_out_in_pieces_that_cut_no_character() {
    let arguments = format!("{{\"text\":\"{}\"}}", "aé€🦀".repeat(20_000));
    let events = events(&stream(&[call(0, &arguments)]));
    let deltas: Vec<&str> =
        of(&events, ResponseEventType::ArgumentsDelta).iter().map(|e| e["delta"].as_str().unwrap()).collect();
    assert_eq!(deltas.len(), arguments.len().div_ceil(65_536));
    assert!(deltas.iter().all(|delta| delta.len() <= 65_536));
    assert_eq!(deltas.concat(), arguments);
    assert_eq!(of(&events, ResponseEventType::ArgumentsDone)[0]["arguments"], json!(arguments));
}

// Conformance: proxy 1.4
//     D2: `response.function_call_arguments.*` have their documented fields and no `call_id`; clients find it in the
//     item. There is no Realtime profile; one would be an emitter of its own.
//     In: responses/event/encoder.rs
// Conformance: proxy 13.5
#[test]
fn arguments_events_carry_no_call_id_and_the_last_one_the_name() {
    let events = events(&stream(&[call(0, "{}"), call(2, "")]));
    for kind in [ResponseEventType::ArgumentsDelta, ResponseEventType::ArgumentsDone] {
        let found = of(&events, kind);
        assert_eq!(found.len(), 2);
        for event in found {
            assert!(event.get("call_id").is_none(), "{event}");
            assert_eq!(event.get("name").is_some(), kind == ResponseEventType::ArgumentsDone, "{event}");
        }
    }
}

// Conformance: proxy 6.4
#[test]
fn comments_that_keep_a_connection_alive_count_as_no_event() {
    let bytes = stream(&[Said::KeepAlive, text("a"), Said::KeepAlive]);
    assert_eq!(String::from_utf8(bytes.clone()).unwrap().matches(": keep-alive\n\n").count(), 2);
    assert_eq!(shown(&bytes), shown(&stream(&[text("a")])));
}

// Conformance: proxy 16.8
//     Over a WebSocket the same events are messages.
//     In: responses/router/websocket.rs
#[test]
fn over_a_websocket_the_same_events_are_lines_without_an_end() {
    let said = [Said::Reasoning(0, "Hm.".to_owned()), text("a\n"), Said::KeepAlive, call(0, "{}")];
    let (lines, _) = play(asking(), EventFraming::Lines, &said, Ending::Complete);
    let lines = String::from_utf8(lines).unwrap();
    let messages: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let streamed: Vec<Value> = events(&stream(&said)).into_iter().map(|event| event.data).collect();
    assert_eq!(messages, streamed);
}

// Conformance: proxy 13.6
//     3, not streamed: the same, rendered by the same function.
//     In: responses/router/create.rs
// Conformance: proxy 5.3
//     One place renders items, for events, for the object and for what is kept.
//     In: responses/wire_item.rs
#[test]
fn without_a_stream_nothing_is_written_and_the_object_is_the_same() {
    let said =
        [Said::Reasoning(0, "Hm.".to_owned()), text("a\n"), Said::KeepAlive, call(0, "{}"), call(1, "x")];
    let (bytes, ended) = play(asking(), EventFraming::Nothing, &said, Ending::Complete);
    assert!(bytes.is_empty());
    let streamed = events(&stream(&said));
    assert_eq!(streamed.last().unwrap().data["response"], ended.object());
}

#[test]
fn an_error_outside_of_a_response_has_its_fields_in_both_places() {
    let error = ApiError::invalid("model", "missing_required_parameter", "`model` is\nmissing");
    expect![[r#"
        {"type":"error","sequence_number":0,"status":400,"code":"missing_required_parameter","message":"`model` is\nmissing","param":"model","error":{"message":"`model` is\nmissing","type":"invalid_request_error","param":"model","code":"missing_required_parameter"}}
    "#]].assert_eq(std::str::from_utf8(&error_event(EventFraming::Lines, &error)).unwrap());
    expect![[r#"
        event: error
        data: {"type":"error","sequence_number":0,"status":400,"code":"missing_required_parameter","message":"`model` is\nmissing","param":"model","error":{"message":"`model` is\nmissing","type":"invalid_request_error","param":"model","code":"missing_required_parameter"}}

    "#]].assert_eq(std::str::from_utf8(&error_event(EventFraming::Stream, &error)).unwrap());
}

// Conformance: proxy 16.9
#[test]
fn extension_events_are_only_for_those_who_asked() {
    let payload =
        json!({ "tool": "vault.readFile", "type": "x", "sequence_number": 99, "note": "a\u{2028}\n" });
    let payload = payload.as_object().unwrap();
    let answer = |tools: Value| {
        let request = read(&with(json!({ "tools": tools })));
        let mut emitter = AnswerEmitter::new(&request, "7f", 1_700_000_000, EventFraming::Stream);
        emitter.extension("tool.started", payload.clone());
        emitter.text("Read.");
        let mut bytes = emitter.take().to_vec();
        bytes.extend_from_slice(&emitter.complete(None, 1_700_000_005).last_events());
        bytes
    };
    let asked = answer(json!([{ "type": "tollgate", "events": true }]));
    expect![[r#"tollgate:tool.started {"tool":"vault.readFile","note":"a \n"}"#]]
        .assert_eq(shown(&asked).lines().nth(2).unwrap());
    for quiet in [json!([{ "type": "tollgate" }]), json!([])] {
        assert!(!String::from_utf8(answer(quiet)).unwrap().contains("tollgate:"));
    }
}

// Conformance: proxy 13.11
#[test]
fn every_event_type_is_sent_by_some_answer() {
    let mut seen: Vec<String> = Vec::new();
    let endings = [
        Ending::Complete,
        Ending::Incomplete(IncompleteReason::MaxOutputTokens),
        Ending::Fail(ApiError::server(502, "backend_died", "gone")),
    ];
    let said = [
        Said::Reasoning(0, "Hm.".to_owned()),
        text("a"),
        Said::Refusal("No.".to_owned()),
        call(0, "{}"),
        call(1, "x"),
    ];
    for ending in endings {
        let (bytes, _) = play(asking(), EventFraming::Stream, &said, ending);
        seen.extend(events(&bytes).into_iter().map(|event| event.name));
    }
    seen.push("error".to_owned());
    for kind in ResponseEventType::ALL {
        assert!(seen.iter().any(|name| name == kind.as_str()), "{kind:?}");
    }
}
