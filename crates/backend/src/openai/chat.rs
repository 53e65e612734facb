//! The chunks of `/v1/chat/completions`.

use std::borrow::Cow;

use serde::Deserialize;

use super::failure::ErrorObject;
use super::heard::Heard;
use super::secret::Secret;
use super::usage::{Details, counted};
use crate::{BackendError, ErrorKind, Finish, TurnEvent};

#[derive(Default)]
pub(super) struct Reader {
    /// Known before the last chunk, which has the usage.
    finish: Option<Finish>,
    secret: Secret,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<UsageBody>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Cow<'a, str>>,
    /// What servers of open models call the reasoning.
    #[serde(borrow, alias = "reasoning")]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refusal: Option<Cow<'a, str>>,
}

/// Servers that do not count say `null`, which must not cost a finished answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct UsageBody {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
}

impl Reader {
    pub(super) fn new(secret: Secret) -> Reader {
        Reader { secret, ..Reader::default() }
    }

    /// Reads one chunk; says whether it is the last.
    pub(super) fn read(&mut self, data: &[u8], heard: &mut Heard) -> bool {
        if data == b"[DONE]" {
            heard.event(TurnEvent::Done(self.finish.unwrap_or(Finish::Stop)));
            return true;
        }
        let chunk: Chunk<'_> = match serde_json::from_slice(data) {
            Ok(chunk) => chunk,
            Err(_) => {
                let message = "the model's server sent a chunk in no form that is known";
                heard.error(BackendError::new(ErrorKind::Protocol, message));
                return true;
            }
        };
        if let Some(error) = chunk.error {
            heard.error(error.into_error(&self.secret));
            return true;
        }
        for choice in chunk.choices.unwrap_or_default() {
            let Delta { content, reasoning_content, refusal } = choice.delta.unwrap_or_default();
            heard.reasoning(0, reasoning_content.unwrap_or_default());
            heard.text(content.unwrap_or_default());
            heard.refusal(refusal.unwrap_or_default());
            if let Some(reason) = choice.finish_reason {
                self.finish = Some(match &*reason {
                    "length" => Finish::Length,
                    "content_filter" => Finish::ContentFilter,
                    _ => Finish::Stop,
                });
            }
        }
        if let Some(usage) = chunk.usage {
            heard.event(TurnEvent::Usage(counted(
                (usage.prompt_tokens, usage.prompt_tokens_details),
                (usage.completion_tokens, usage.completion_tokens_details),
            )));
        }
        false
    }

    /// How the answer ended, if the server said so before it hung up.
    pub(super) fn end(&mut self) -> Option<TurnEvent> {
        self.finish.take().map(TurnEvent::Done)
    }
}
