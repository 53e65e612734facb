//! Each client with the scripted model: streamed and not, two calls at once, and then the answer.

use expect_test::expect;

use crate::responses_clients::client::{clients_are_missing, conversations};
use crate::responses_clients::conversation::{
    AGENTS_JAVASCRIPT, AGENTS_PYTHON, AI_SDK, CODEX_EXEC, HttpConversation, OPENAI_JAVASCRIPT, OPENAI_PYTHON,
};
use crate::responses_clients::gateway::TestGateway;

#[track_caller]
fn check(client: &HttpConversation) {
    if !clients_are_missing() {
        client.check(&TestGateway::scripted("model.jsonl"));
    }
}

// Conformance: proxy 2.2
//     Parity is on the wire: real clients, unmodified, take streamed and unstreamed calls.
//     In: crates/tollgate/tests/it/responses_clients/mod.rs
#[test]
fn the_openai_client_for_python_takes_two_calls_streamed_and_not() {
    check(&OPENAI_PYTHON);
}

// Conformance: proxy 2.2
#[test]
fn the_openai_client_for_javascript_takes_two_calls_streamed_and_not() {
    check(&OPENAI_JAVASCRIPT);
}

// Conformance: proxy 2.2
// Conformance: proxy 9.2
//     Calls follow each other over several turns.
//     In: responses/prompt/text_history.rs
#[test]
fn the_agents_of_python_take_two_calls_two_turns_and_a_hand_off() {
    check(&AGENTS_PYTHON);
}

// Conformance: proxy 2.2
// Conformance: proxy 9.3
#[test]
fn the_agents_of_javascript_take_two_calls_two_turns_and_a_hand_off() {
    check(&AGENTS_JAVASCRIPT);
}

// Conformance: proxy 1.1
#[test]
fn the_ai_sdk_takes_two_calls_whether_or_not_the_server_keeps_items() {
    check(&AI_SDK);
}

// Conformance: proxy 16.8
// Conformance: proxy 2.2
#[test]
fn codex_exec_runs_two_of_its_own_commands_over_http_and_over_a_websocket() {
    check(&CODEX_EXEC);
}

// Conformance: proxy 13.11
//     7, documents: shapes, items, follow-up and both profiles are in [serve.md](serve.md), and hold for the clients
//     that people use.
//     In: crates/tollgate/tests/it/responses_clients/mod.rs
#[test]
fn the_openai_client_for_python_finds_the_other_endpoints_as_it_knows_them() {
    if clients_are_missing() {
        return;
    }
    let seen = &conversations("openai_endpoints.py", &TestGateway::scripted("model.jsonl"))[0];
    expect![[r#"
        {
          "models": [
            "scripted"
          ],
          "kept": {
            "said": "{\"name\":\"Oslo\",\"degrees\":7}",
            "alike": true,
            "given": [
              "Name a city."
            ],
            "after deletion": [
              "NotFoundError",
              404,
              "not_found_error",
              "response_not_found",
              null,
              "no response `ID` is kept; it was deleted, is too old, or was made with `store: false`"
            ]
          },
          "structured": {
            "name": "Oslo",
            "degrees": 7
          },
          "compacted": [
            "compaction"
          ],
          "failed in a stream": [
            "response.failed",
            "failed",
            "server_error",
            "the model had to stop"
          ],
          "failed": [
            "InternalServerError",
            502,
            "server_error",
            "server_error",
            null,
            "the model had to stop"
          ],
          "no model": [
            "BadRequestError",
            400,
            "invalid_request_error",
            "missing_required_parameter",
            "model",
            "`model` is missing; it must be a string"
          ],
          "wrong token": [
            "AuthenticationError",
            401,
            "authentication_error",
            "invalid_api_key",
            null,
            "The token is not the one of this server: use the one from the file that the server named when it started."
          ],
          "unknown response": [
            "NotFoundError",
            404,
            "not_found_error",
            "previous_response_not_found",
            "previous_response_id",
            "no response `resp_0` is kept; it was deleted, is too old, or was made with `store: false`. Send the whole conversation as `input` instead"
          ]
        }
    "#]].assert_eq(&format!("{seen:#}\n"));
}
