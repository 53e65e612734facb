//! The report that each client must print, whichever model is behind the gateway: all have the same conversation.

use serde_json::{Value, json};

use crate::responses_clients::client::conversations;
use crate::responses_clients::gateway::TestGateway;

/// A client: its script, and what that prints.
pub(crate) struct HttpConversation {
    script: &'static str,
    conversations: fn() -> Vec<Value>,
}

pub(crate) const OPENAI_PYTHON: HttpConversation = HttpConversation {
    script: "openai_python.py",
    conversations: || {
        vec![
            with_events(two_calls("raw stream")),
            with_events(two_calls("stream helper")),
            two_calls("no stream"),
            with_events(two_calls("previous response, raw stream")),
            two_calls("previous response, no stream"),
            with_events(two_calls("web socket")),
            with_events(two_calls("previous response, web socket")),
        ]
    },
};

pub(crate) const OPENAI_JAVASCRIPT: HttpConversation = HttpConversation {
    script: "openai_javascript.mjs",
    conversations: || {
        vec![
            with_events(two_calls("raw stream")),
            with_events(two_calls("stream helper")),
            two_calls("no stream"),
        ]
    },
};

pub(crate) const AGENTS_PYTHON: HttpConversation =
    HttpConversation { script: "agents_python.py", conversations: || agents(r#"{"assistant": "reporter"}"#) };

pub(crate) const AGENTS_JAVASCRIPT: HttpConversation = HttpConversation {
    script: "agents_javascript.mjs",
    conversations: || agents(r#"{"assistant":"reporter"}"#),
};

pub(crate) const AI_SDK: HttpConversation = HttpConversation {
    script: "ai_sdk.mjs",
    conversations: || {
        let modes = [
            "openai, streamed",
            "openai without store, streamed",
            "open-responses, streamed",
            "openai, no stream",
            "openai without store, no stream",
            "open-responses, no stream",
        ];
        modes.map(two_turns).to_vec()
    },
};

pub(crate) const CODEX_EXEC: HttpConversation = HttpConversation {
    script: "codex_exec.py",
    conversations: || ["http", "websocket"].map(two_commands).to_vec(),
};

impl HttpConversation {
    /// Has all conversations through a gateway.
    #[track_caller]
    pub(crate) fn check(&self, gateway: &TestGateway) {
        let (seen, expected) = (conversations(self.script, gateway), (self.conversations)());
        for (seen, expected) in seen.iter().zip(&expected) {
            assert!(seen == expected, "{}\nsaw      {seen}\nand not  {expected}", self.script);
        }
        assert_eq!(seen.len(), expected.len(), "{}", self.script);
    }
}

/// The model makes two calls at once and reports their results.
fn two_calls(mode: &str) -> Value {
    json!({
        "mode": mode,
        "said": ["Let me check.", "It is 18 degrees in Paris and 7 in Oslo."],
        "calls": [weather_in("Paris"), weather_in("Oslo")],
        "outputs": ["18 degrees in Paris", "7 degrees in Oslo"],
        "distinct_call_ids": 2,
    })
}

/// For clients that show the events of their streams: those of both answers, one of each kind where many follow each
/// other.
fn with_events(mut two_calls: Value) -> Value {
    let message = [
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
    ];
    let call = [
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
    ];
    let [begin, end] = [["created", "in_progress"].as_slice(), &["completed"]];
    let answers = [begin, &message, &call, &call, end, begin, &message, end].concat();
    two_calls["events"] = answers.iter().map(|event| format!("response.{event}")).collect();
    two_calls
}

/// The same, and another question with one call.
fn two_turns(mode: &str) -> Value {
    json!({
        "mode": mode,
        "said": [
            "Let me check.",
            "It is 18 degrees in Paris and 7 in Oslo.",
            "One moment.",
            "It is 25 degrees in Rome.",
        ],
        "calls": [weather_in("Paris"), weather_in("Oslo"), weather_in("Rome")],
        "outputs": ["18 degrees in Paris", "7 degrees in Oslo", "25 degrees in Rome"],
        "distinct_call_ids": 3,
    })
}

/// One agent hands over to another, which calls a tool.
fn hand_off(mode: &str, transferred: &str) -> Value {
    json!({
        "mode": mode,
        "said": ["It is 11 degrees in Bern."],
        "calls": [{ "name": "transfer_to_reporter", "arguments": {} }, weather_in("Bern")],
        "outputs": [transferred, "11 degrees in Bern"],
        "distinct_call_ids": 2,
    })
}

fn agents(transferred: &str) -> Vec<Value> {
    vec![
        two_turns("two turns, streamed"),
        hand_off("hand-off, streamed", transferred),
        two_turns("two turns, no stream"),
        hand_off("hand-off, no stream", transferred),
    ]
}

/// Two tools of the client's own.
fn two_commands(mode: &str) -> Value {
    json!({
        "mode": mode,
        "said": ["Both at once.", "An apple and two pears."],
        "calls": [
            { "name": "exec_command", "arguments": { "cmd": "echo one apple" } },
            { "name": "exec_command", "arguments": { "cmd": "echo two pears" } },
        ],
        "outputs": ["one apple", "two pears"],
        "distinct_call_ids": 2,
    })
}

fn weather_in(location: &str) -> Value {
    json!({ "name": "get_weather", "arguments": { "location": location } })
}
