//! Parser of the events of `/v1/responses` that a text model has.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::api_key::ApiKey;
use super::pending_events::PendingEvents;
use super::server_error::ErrorObject;
use super::token_usage::{TokenDetails, token_usage};
use crate::{BackendError, BackendErrorKind, FinishReason, NativeCall, TurnEvent};

#[derive(Default)]
pub(super) struct ResponsesParser {
    /// Index of the message that text belongs to.
    message: Option<u64>,
    has_text: bool,
    key: ApiKey,
}

/// One event. Members that only some events need are parsed later: a server may put anything into the events that
/// announce, repeat or close its deltas.
#[derive(Deserialize)]
struct ResponsesEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(default)]
    summary_index: Option<u32>,
    #[serde(default)]
    content_index: Option<u32>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ItemBody {
    #[serde(rename = "type", default)]
    kind: Option<String>,
    #[serde(default)]
    encrypted_content: Option<String>,
    #[serde(default)]
    call_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
}

impl ItemBody {
    /// Returns the event of a complete item that no delta has told: sealed reasoning, or a call that the server found in
    /// the text of its model.
    fn into_event(self) -> Option<TurnEvent> {
        match self.kind.as_deref() {
            Some("reasoning") => self.encrypted_content.map(TurnEvent::SealedReasoning),
            Some("function_call") => Some(TurnEvent::Call(NativeCall {
                call_id: self.call_id.unwrap_or_default(),
                name: self.name?,
                arguments: self.arguments.unwrap_or_default(),
            })),
            Some(_) | None => None,
        }
    }
}

#[derive(Deserialize)]
struct ServerResponse {
    #[serde(default)]
    error: Option<ErrorObject>,
    #[serde(default)]
    incomplete_details: Option<IncompleteDetails>,
    #[serde(default)]
    usage: Option<ResponsesUsage>,
}

#[derive(Deserialize)]
struct IncompleteDetails {
    #[serde(default)]
    reason: Option<String>,
}

/// A server that does not count sends `null`, which must not fail a finished answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponsesUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<TokenDetails>,
    output_tokens_details: Option<TokenDetails>,
}

impl ResponsesParser {
    pub(super) fn new(key: ApiKey) -> ResponsesParser {
        ResponsesParser { key, ..ResponsesParser::default() }
    }

    /// Parses the data of one event; returns whether it is the last.
    pub(super) fn parse(&mut self, data: &[u8], pending: &mut PendingEvents) -> bool {
        if data == b"[DONE]" {
            pending.error(BackendError::new(
                BackendErrorKind::Protocol,
                "the model's server ended its answer without saying how",
            ));
            return true;
        }
        let over = serde_json::from_slice(data).and_then(|event| self.handle_event(event, pending));
        over.unwrap_or_else(|_unreadable| {
            let message = "the model's server sent an event in an unknown form";
            pending.error(BackendError::new(BackendErrorKind::Protocol, message));
            true
        })
    }

    fn handle_event(
        &mut self,
        event: ResponsesEvent<'_>,
        pending: &mut PendingEvents,
    ) -> Result<bool, serde_json::Error> {
        match &*event.kind {
            "response.output_text.delta" => {
                if let Some(delta) = event.delta.filter(|delta| !delta.is_empty()) {
                    if self.message != event.output_index && std::mem::replace(&mut self.has_text, true) {
                        pending.event(TurnEvent::NextMessage);
                    }
                    self.message = event.output_index;
                    pending.text(delta);
                }
            }
            "response.reasoning_summary_text.delta" => {
                pending.reasoning(event.summary_index.unwrap_or(0), event.delta.unwrap_or_default());
            }
            // Sent by models that show their reasoning itself, not a summary of it.
            "response.reasoning_text.delta" => {
                pending.reasoning(event.content_index.unwrap_or(0), event.delta.unwrap_or_default());
            }
            "response.refusal.delta" => pending.refusal(event.delta.unwrap_or_default()),
            "response.output_item.done" => {
                if let Some(event) = parse_member::<ItemBody>(event.item)?.and_then(ItemBody::into_event) {
                    pending.event(event);
                }
            }
            "response.completed" | "response.incomplete" => {
                push_end(parse_member(event.response)?, pending);
                return Ok(true);
            }
            "response.failed" => {
                let response: Option<ServerResponse> = parse_member(event.response)?;
                let error = response.and_then(|response| response.error).unwrap_or_default();
                pending.error(error.into_error(&self.key));
                return Ok(true);
            }
            "error" => {
                let flat = ErrorObject { message: parse_member(event.message)?, ..ErrorObject::default() };
                pending.error(parse_member(event.error)?.unwrap_or(flat).into_error(&self.key));
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }
}

fn parse_member<'a, T: Deserialize<'a>>(
    member: Option<&'a RawValue>,
) -> Result<Option<T>, serde_json::Error> {
    member.map(|json| serde_json::from_str(json.get())).transpose()
}

fn push_end(response: Option<ServerResponse>, pending: &mut PendingEvents) {
    let (usage, incomplete) =
        response.map_or((None, None), |response| (response.usage, response.incomplete_details));
    if let Some(usage) = usage {
        pending.event(TurnEvent::Usage(token_usage(
            (usage.input_tokens, usage.input_tokens_details),
            (usage.output_tokens, usage.output_tokens_details),
        )));
    }
    pending.event(TurnEvent::Done(
        match incomplete.map(|incomplete| incomplete.reason.unwrap_or_default()) {
            None => FinishReason::Stop,
            Some(reason) if reason == "content_filter" => FinishReason::ContentFilter,
            Some(_) => FinishReason::Length,
        },
    ));
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::{Just, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::{PendingEvents, ResponsesParser};

    fn deltas() -> impl Strategy<Value = Value> {
        let kind = prop_oneof![
            4 => Just("response.output_text.delta"),
            1 => Just("response.reasoning_summary_text.delta"),
            1 => Just("response.refusal.delta"),
            1 => Just("response.custom.delta"),
        ];
        let words = prop_oneof![3 => "[a-z ]{0,9}", 1 => any::<String>()];
        (kind, words, 0_u64..2, any::<u32>()).prop_map(|(kind, words, index, number)| {
            json!({ "type": kind, "sequence_number": number, "output_index": index, "delta": words })
        })
    }

    /// The texts of deltas, one after the other, with a mark where their kind or their message changes.
    fn reference(deltas: &[Value]) -> String {
        let mut shown = String::new();
        let (mut last, mut message) = ("", None);
        for delta in deltas {
            let (kind, words) = (delta["type"].as_str().unwrap(), delta["delta"].as_str().unwrap());
            let kind = kind.trim_start_matches("response.").trim_end_matches(".delta");
            if words.is_empty() || kind == "custom" {
                continue;
            }
            if kind == "output_text" {
                let index = delta["output_index"].as_u64();
                if message.is_some() && message != index {
                    shown += "\nnext message";
                    last = "";
                }
                message = index;
            }
            if kind != last {
                write!(shown, "\n{kind}: ").unwrap();
            }
            last = kind;
            shown += words;
        }
        shown
    }

    fn shown(mut pending: PendingEvents) -> String {
        use crate::TurnEvent;
        let mut shown = String::new();
        while let Some(event) = pending.take() {
            shown += &match event.unwrap() {
                TurnEvent::Text(text) => format!("\noutput_text: {text}"),
                TurnEvent::Reasoning { text, part: 0 } => format!("\nreasoning_summary_text: {text}"),
                TurnEvent::Refusal(text) => format!("\nrefusal: {text}"),
                TurnEvent::NextMessage => "\nnext message".to_owned(),
                other @ (TurnEvent::Reasoning { .. }
                | TurnEvent::SealedReasoning(_)
                | TurnEvent::Call(_)
                | TurnEvent::Usage(_)
                | TurnEvent::Done(_)) => panic!("no delta says {other:?}"),
            };
        }
        shown
    }

    proptest! {
        #[test]
        fn what_a_delta_says_does_not_depend_on_the_one_before(deltas in prop::collection::vec(deltas(), 0..12)) {
            let (mut parser, mut pending) = (ResponsesParser::default(), PendingEvents::default());
            for delta in &deltas {
                prop_assert!(!parser.parse(delta.to_string().as_bytes(), &mut pending));
            }
            prop_assert_eq!(shown(pending), reference(&deltas));
        }
    }

    fn parsed(event: &str) -> (bool, String) {
        let mut pending = PendingEvents::default();
        let over = ResponsesParser::default().parse(event.as_bytes(), &mut pending);
        (over, pending.take().map_or_else(String::new, |event| format!("{event:?}")))
    }

    #[test]
    fn what_is_announced_repeated_or_closed_is_passed_over() {
        for event in [
            r#"{"type":"response.created","response":{"id":"r","object":"response"}}"#,
            r#"{"type":"response.created","response":"r","message":{},"item":[],"error":7}"#,
            r#"{"type":"response.in_progress","response":{"usage":[],"error":"none"}}"#,
            r#"{"item_id":"m","text":"say \"type\":\"response.failed\"","type":"response.output_text.done"}"#,
            r#"{"type":"response.output_item.done","item":{"type":"message"}}"#,
            r#"{"part":{"type":"output_text"},"type":"response.content_part.done","sequence_number":7}"#,
        ] {
            assert_eq!(parsed(event), (false, String::new()), "{event}");
        }
    }

    #[test]
    fn what_matters_or_may_matter_is_read() {
        for (event, over, expected) in [
            ("", true, "Protocol"),
            ("[DONE]", true, "Protocol"),
            (r#"{"type":"response.completed"}"#, true, "Done(Stop)"),
            (r#"{"type":"response.failed"}"#, true, "Upstream"),
            (r#"{"type":"response.output_text.delta","delta":"a"}"#, false, r#"Text("a")"#),
            (
                r#"{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"x"}}"#,
                false,
                r#"SealedReasoning("x")"#,
            ),
            (
                r#"{"type":"response.output_text.delta","delta":"a","x":{"type":"response.created"}}"#,
                false,
                r#"Text("a")"#,
            ),
            (r#"{"type": "response.completed","x":{"type":"response.created"}}"#, true, "Done(Stop)"),
            (r#"{"type": "response.completed","x":[{"type":"response.created"}],"y":1}"#, true, "Done(Stop)"),
            (
                r#"{"type":"error","message":"overloaded","last_event":{"type":"response.in_progress"}}"#,
                true,
                "overloaded",
            ),
            (r#"{"type":"error","x":{"type":"response.created","y":{}}}"#, true, "Upstream"),
            (r#"["type":"response.created"]"#, true, "Protocol"),
            (r#"{"type":"error","x\"type":"response.created"}"#, true, "Upstream"),
            (r#"{"type":"response.created"#, true, "Protocol"),
            (r#"{"type":"error"}"#, true, "Upstream"),
            (r#"{"type":"response.output_text.delta","delta":"d","delta":"e"}"#, true, "Protocol"),
            (r#"{"type":"response.output_text.delta","delta":"\ud800"}"#, true, "Protocol"),
        ] {
            let (ended, shown) = parsed(event);
            assert!(ended == over && shown.contains(expected), "{event}: {shown}");
        }
    }
}
