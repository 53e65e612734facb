//! Parser of the app-server's notifications.
//!
//! Only those that a turn needs are parsed; others are skipped by their method.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::protocol::ObjectId;

/// A notification about one thread.
#[derive(Debug)]
pub(super) enum ThreadNotification {
    TurnStarted {
        turn: String,
    },
    Delta {
        item: String,
        text: String,
    },
    ReasoningDelta {
        item: String,
        part: u32,
        text: String,
    },
    ItemStarted {
        item: ThreadItem,
    },
    ItemCompleted {
        item: ThreadItem,
    },
    RawItem {
        turn: String,
        item: ResponseItem,
    },
    RawResponse {
        turn: String,
        usage: Option<TokenCounts>,
    },
    Usage {
        total: TokenCounts,
    },
    /// An error. The turn continues if it is retried; otherwise its end carries the reason.
    Error {
        will_retry: bool,
    },
    TurnCompleted {
        turn: TurnResult,
    },
}

/// An item as the thread shows it. Others than these two are of no interest.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum ThreadItem {
    AgentMessage {
        id: String,
        #[serde(default)]
        text: String,
    },
    Reasoning {
        id: String,
        #[serde(default)]
        summary: Vec<String>,
    },
    #[serde(other)]
    Other,
}

/// An item as the model's service sent it, or as it was injected.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponseItem {
    FunctionCall {
        call_id: String,
        name: String,
        arguments: String,
    },
    Reasoning {
        #[serde(default)]
        encrypted_content: Option<String>,
    },
    Message {
        #[serde(default)]
        content: Vec<ResponsePart>,
    },
    FunctionCallOutput {
        output: ResponseOutput,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum ResponseOutput {
    Parts(Vec<ResponsePart>),
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ResponsePart {
    InputImage,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TokenCounts {
    pub(super) input_tokens: u64,
    pub(super) cached_input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) reasoning_output_tokens: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct TurnResult {
    pub(super) status: TurnStatus,
    #[serde(default)]
    pub(super) error: Option<TurnError>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum TurnStatus {
    Completed,
    Interrupted,
    Failed,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnError {
    #[serde(default)]
    pub(super) message: String,
    /// A word, or an object with one word as its key.
    #[serde(default)]
    pub(super) codex_error_info: serde_json::Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeltaParams<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    item_id: String,
    delta: String,
    #[serde(default)]
    summary_index: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemParams<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    item: ThreadItem,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawItemParams<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    turn_id: String,
    item: ResponseItem,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResponseParams<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    turn_id: String,
    #[serde(default)]
    usage: Option<TokenCounts>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageParams<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    token_usage: CodexTokenUsage,
}

#[derive(Deserialize)]
struct CodexTokenUsage {
    total: TokenCounts,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorParams<'a> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    #[serde(default)]
    will_retry: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnParams<'a, T> {
    #[serde(borrow)]
    thread_id: Cow<'a, str>,
    turn: T,
}

/// Parses a notification and the id of its thread. `None` for those that no turn needs.
pub(super) fn notice<'a>(
    method: &str,
    params: &'a RawValue,
) -> Result<Option<(Cow<'a, str>, ThreadNotification)>, serde_json::Error> {
    let params = params.get();
    Ok(Some(match method {
        "item/agentMessage/delta" => {
            let DeltaParams { thread_id, item_id, delta, .. } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::Delta { item: item_id, text: delta })
        }
        "item/reasoning/summaryTextDelta" => {
            let DeltaParams { thread_id, item_id, delta, summary_index } = serde_json::from_str(params)?;
            (
                thread_id,
                ThreadNotification::ReasoningDelta { item: item_id, part: summary_index, text: delta },
            )
        }
        "item/started" => {
            let ItemParams { thread_id, item } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::ItemStarted { item })
        }
        "item/completed" => {
            let ItemParams { thread_id, item } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::ItemCompleted { item })
        }
        "rawResponseItem/completed" => {
            let RawItemParams { thread_id, turn_id, item } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::RawItem { turn: turn_id, item })
        }
        "rawResponse/completed" => {
            let RawResponseParams { thread_id, turn_id, usage } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::RawResponse { turn: turn_id, usage })
        }
        "thread/tokenUsage/updated" => {
            let UsageParams { thread_id, token_usage } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::Usage { total: token_usage.total })
        }
        "error" => {
            let ErrorParams { thread_id, will_retry } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::Error { will_retry })
        }
        "turn/started" => {
            let TurnParams::<ObjectId> { thread_id, turn } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::TurnStarted { turn: turn.id })
        }
        "turn/completed" => {
            let TurnParams::<TurnResult> { thread_id, turn } = serde_json::from_str(params)?;
            (thread_id, ThreadNotification::TurnCompleted { turn })
        }
        _ => return Ok(None),
    }))
}
