//! One turn of a model: its input and its events.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::BackendError;

/// Input of one turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelTurn {
    pub model: String,
    /// Instructions of the operator, before all messages.
    pub instructions: String,
    pub history: Vec<HistoryEntry>,
    /// Empty unless the backend has native tools.
    pub tools: Vec<NativeTool>,
    pub reasoning: ReasoningSettings,
    /// How much to say, in the word of the API: `low`, `medium`, `high`.
    pub verbosity: Option<String>,
    pub sampling: SamplingSettings,
    pub output_schema: Option<OutputSchema>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    Developer,
    User,
    Assistant,
}

impl MessageRole {
    /// As the services write it.
    pub fn as_str(self) -> &'static str {
        match self {
            MessageRole::Developer => "developer",
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum HistoryEntry {
    Message {
        role: MessageRole,
        parts: Vec<MessagePart>,
    },
    /// Only for backends with native tools; others are given calls and their outputs as text.
    Call(NativeCall),
    CallOutput {
        call_id: String,
        parts: Vec<MessagePart>,
    },
    /// Reasoning of an earlier turn, which the service may take back in the form that it gave it.
    Reasoning {
        summary: Vec<String>,
        encrypted: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagePart {
    Text(String),
    /// An image as a `data:` address or as one that the service can reach.
    Image {
        url: String,
        detail: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct NativeTool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

/// A call that a model made through native tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NativeCall {
    pub call_id: String,
    pub name: String,
    /// JSON text, as the model wrote it.
    pub arguments: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReasoningSettings {
    pub effort: Option<String>,
    pub summary: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SamplingSettings {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub max_output_tokens: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OutputSchema {
    pub name: String,
    pub schema: Value,
    pub strict: bool,
}

/// An event of a turn as it arrives.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// More of the answer. Never empty.
    Text(String),
    /// The model began another message; the text that follows is another paragraph.
    NextMessage,
    /// More of the summary of its reasoning. Parts count from 0 and only grow.
    Reasoning {
        part: u32,
        text: String,
    },
    /// The reasoning in the form in which the service wants it back.
    SealedReasoning(String),
    Call(NativeCall),
    Refusal(String),
    /// Of the turn so far; the last one counts.
    Usage(TokenUsage),
    /// The turn is over. Nothing follows.
    Done(FinishReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model finished.
    Stop,
    /// The model ran into its limit of tokens.
    Length,
    /// The service cut it.
    ContentFilter,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_tokens: u64,
}

/// The events of a turn, ending with [`TurnEvent::Done`] or one error. Dropping it interrupts the turn.
pub struct TurnStream(Pin<Box<dyn Stream<Item = Result<TurnEvent, BackendError>> + Send>>);

impl TurnStream {
    pub fn new(events: impl Stream<Item = Result<TurnEvent, BackendError>> + Send + 'static) -> TurnStream {
        TurnStream(Box::pin(events))
    }

    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<TurnEvent, BackendError>> {
        std::future::poll_fn(|cx| self.0.as_mut().poll_next(cx)).await
    }
}

impl Stream for TurnStream {
    type Item = Result<TurnEvent, BackendError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}
