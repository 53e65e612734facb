//! Drives an emitter.

use std::sync::LazyLock;

use backend::TokenUsage;
use responses::emitter::{AnswerEmitter, FinishedResponse};
use responses::error::ApiError;
use responses::event::EventFraming;
use responses::object::IncompleteReason;
use responses::request::Request;
use serde_json::json;

use crate::wire::reading::{read, with};

/// One thing that an answer says.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Text(String),
    NextMessage,
    Refusal(String),
    Reasoning(u32, String),
    Sealed(String),
    /// The place of the tool in the request, and the arguments that the model wrote.
    Call(usize, String),
    KeepAlive,
}

/// How it ends.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    Complete,
    Incomplete(IncompleteReason),
    Fail(ApiError),
}

pub(crate) const USAGE: TokenUsage =
    TokenUsage { input_tokens: 20, cached_input_tokens: 5, output_tokens: 7, reasoning_tokens: 2 };

pub(crate) fn text(text: &str) -> Said {
    Said::Text(text.to_owned())
}

pub(crate) fn call(tool: usize, arguments: &str) -> Said {
    Said::Call(tool, arguments.to_owned())
}

/// A function, a custom tool, and a function in a namespace. Read once: compiling schemas takes its time.
pub(crate) fn asking() -> &'static Request {
    static ASKING: LazyLock<Request> = LazyLock::new(|| {
        read(&with(json!({ "include": ["reasoning.encrypted_content"], "tools": [
        { "type": "function", "name": "get_weather" },
        { "type": "custom", "name": "sql" },
        { "type": "namespace", "name": "agents", "tools": [{ "type": "function", "name": "wait" }] },
    ] })))
    });
    &ASKING
}

/// The whole answer: all bytes in order, and what is left of the emitter.
pub(crate) fn play(
    request: &Request,
    framing: EventFraming,
    said: &[Said],
    ending: Ending,
) -> (Vec<u8>, FinishedResponse) {
    let mut emitter = AnswerEmitter::new(request, "7f", 1_700_000_000, framing);
    let mut bytes = Vec::new();
    emitter.start();
    for one in said {
        match one {
            Said::Text(text) => emitter.text(text),
            Said::NextMessage => emitter.end_message(),
            Said::Refusal(text) => emitter.refusal(text),
            Said::Reasoning(part, text) => emitter.reasoning(*part, text),
            Said::Sealed(text) => emitter.encrypted_reasoning(text.clone()),
            Said::Call(tool, arguments) => {
                emitter.call(&request.tools[*tool], arguments);
            }
            Said::KeepAlive => emitter.keep_alive(),
        }
        bytes.extend_from_slice(&emitter.take());
    }
    let mut ended = match ending {
        Ending::Complete => emitter.complete(Some(USAGE), 1_700_000_005),
        Ending::Incomplete(reason) => emitter.incomplete(reason, Some(USAGE)),
        Ending::Fail(error) => emitter.fail(error, None),
    };
    bytes.extend_from_slice(&ended.last_events());
    (bytes, ended)
}

/// The bytes of a stream that ends well.
pub(crate) fn stream(said: &[Said]) -> Vec<u8> {
    play(asking(), EventFraming::Stream, said, Ending::Complete).0
}
