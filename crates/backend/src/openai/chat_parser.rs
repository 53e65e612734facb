//! Parser of the chunks of `/v1/chat/completions`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::api_key::ApiKey;
use super::pending_events::PendingEvents;
use super::server_error::ErrorObject;
use super::token_usage::{TokenDetails, token_usage};
use crate::{BackendError, BackendErrorKind, FinishReason, NativeCall, TurnEvent};

#[derive(Default)]
pub(super) struct ChatParser {
    /// Known before the last chunk, which has the usage.
    finish: Option<FinishReason>,
    /// Calls that the server found in the text of its model, by their index.
    calls: BTreeMap<u32, NativeCall>,
    call_bytes: usize,
    key: ApiKey,
}

/// The most bytes of calls in one answer; more is a server that never ends them.
const MAX_CALL_BYTES: usize = 4 << 20;

#[derive(Deserialize)]
struct ChatChunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<ChatChoice<'a>>>,
    #[serde(default)]
    usage: Option<ChatUsage>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    #[serde(borrow, default)]
    delta: Option<ChatDelta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatDelta<'a> {
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    /// Name of the reasoning on servers of open models.
    #[serde(borrow, alias = "reasoning")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<ChatToolCall<'a>>>,
}

/// A part of a call. Its first part has the name, the others more of the arguments.
#[derive(Deserialize)]
struct ChatToolCall<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<ChatFunction<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatFunction<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Cow<'a, str>>,
}

/// A server that does not count sends `null`, which must not fail a finished answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ChatUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<TokenDetails>,
    completion_tokens_details: Option<TokenDetails>,
}

impl ChatParser {
    pub(super) fn new(key: ApiKey) -> ChatParser {
        ChatParser { key, ..ChatParser::default() }
    }

    /// Parses the data of one event; returns whether it is the last.
    pub(super) fn parse(&mut self, data: &[u8], pending: &mut PendingEvents) -> bool {
        if data == b"[DONE]" {
            self.push_calls(pending);
            pending.event(TurnEvent::Done(self.finish.unwrap_or(FinishReason::Stop)));
            return true;
        }
        let chunk: ChatChunk<'_> = match serde_json::from_slice(data) {
            Ok(chunk) => chunk,
            Err(_) => {
                let message = "the model's server sent a chunk in an unknown form";
                pending.error(BackendError::new(BackendErrorKind::Protocol, message));
                return true;
            }
        };
        if let Some(error) = chunk.error {
            pending.error(error.into_error(&self.key));
            return true;
        }
        for choice in chunk.choices.unwrap_or_default() {
            let ChatDelta { content, reasoning_content, refusal, tool_calls } =
                choice.delta.unwrap_or_default();
            pending.reasoning(0, reasoning_content.unwrap_or_default());
            pending.text(content.unwrap_or_default());
            pending.refusal(refusal.unwrap_or_default());
            for call in tool_calls.unwrap_or_default() {
                self.add_call(call);
            }
            if self.call_bytes > MAX_CALL_BYTES {
                let message = "the model's server sent a call that is too long";
                pending.error(BackendError::new(BackendErrorKind::Protocol, message));
                return true;
            }
            if let Some(reason) = choice.finish_reason {
                self.finish = Some(match &*reason {
                    "length" => FinishReason::Length,
                    "content_filter" => FinishReason::ContentFilter,
                    _ => FinishReason::Stop,
                });
                self.push_calls(pending);
            }
        }
        if let Some(usage) = chunk.usage {
            pending.event(TurnEvent::Usage(token_usage(
                (usage.prompt_tokens, usage.prompt_tokens_details),
                (usage.completion_tokens, usage.completion_tokens_details),
            )));
        }
        false
    }

    fn add_call(&mut self, part: ChatToolCall<'_>) {
        // Servers that send a call as a whole may leave out its index.
        let next = self.calls.keys().next_back().map_or(0, |last| last.saturating_add(1));
        let call = self.calls.entry(part.index.unwrap_or(next)).or_insert_with(|| NativeCall {
            call_id: String::new(),
            name: String::new(),
            arguments: String::new(),
        });
        let ChatFunction { name, arguments } = part.function.unwrap_or_default();
        let texts = [(&mut call.call_id, part.id), (&mut call.name, name), (&mut call.arguments, arguments)];
        for (text, more) in texts {
            let more = more.unwrap_or_default();
            self.call_bytes += more.len();
            text.push_str(&more);
        }
    }

    /// Passes the calls on. They are complete when the server says how the answer ended.
    fn push_calls(&mut self, pending: &mut PendingEvents) {
        for (_index, call) in std::mem::take(&mut self.calls) {
            pending.event(TurnEvent::Call(call));
        }
    }

    /// Returns the end of the answer if the server sent its reason before it closed the connection.
    pub(super) fn end(&mut self) -> Option<TurnEvent> {
        self.finish.take().map(TurnEvent::Done)
    }
}
