//! Parser of the chunks of `/v1/chat/completions`.

use std::borrow::Cow;

use serde::Deserialize;

use super::api_key::ApiKey;
use super::pending_events::PendingEvents;
use super::server_error::ErrorObject;
use super::token_usage::{TokenDetails, token_usage};
use crate::{BackendError, BackendErrorKind, FinishReason, TurnEvent};

#[derive(Default)]
pub(super) struct ChatParser {
    /// Known before the last chunk, which has the usage.
    finish: Option<FinishReason>,
    key: ApiKey,
}

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
            let ChatDelta { content, reasoning_content, refusal } = choice.delta.unwrap_or_default();
            pending.reasoning(0, reasoning_content.unwrap_or_default());
            pending.text(content.unwrap_or_default());
            pending.refusal(refusal.unwrap_or_default());
            if let Some(reason) = choice.finish_reason {
                self.finish = Some(match &*reason {
                    "length" => FinishReason::Length,
                    "content_filter" => FinishReason::ContentFilter,
                    _ => FinishReason::Stop,
                });
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

    /// Returns the end of the answer if the server sent its reason before it closed the connection.
    pub(super) fn end(&mut self) -> Option<TurnEvent> {
        self.finish.take().map(TurnEvent::Done)
    }
}
