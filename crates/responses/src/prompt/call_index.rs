//! Matches outputs with calls.
//!
//! By `call_id` alone: clients omit ids of items and rewrite arguments. An output without its call, or a second one,
//! is refused, since the model would see something that never happened; some backends drop it silently. A call
//! without an output is accepted: clients echo whole answers, and a client that stops a tool must be able to
//! continue.

use std::collections::HashMap;

use crate::error::ApiError;
use crate::item::ConversationItem;

/// The calls of a conversation, by `call_id`.
pub(super) struct CallIndex<'a> {
    by_id: HashMap<&'a str, IndexedCall<'a>>,
}

struct IndexedCall<'a> {
    name: &'a str,
    /// The index of the first item with this call.
    index: usize,
    answered: bool,
}

impl<'a> CallIndex<'a> {
    /// Indexes a conversation. Fails on an output without a call and on an id with two meanings.
    pub(super) fn new(conversation: &'a [ConversationItem]) -> Result<CallIndex<'a>, ApiError> {
        let mut by_id: HashMap<&str, IndexedCall<'_>> = HashMap::new();
        for (index, item) in conversation.iter().enumerate() {
            match item {
                ConversationItem::FunctionCall { call_id, name, .. }
                | ConversationItem::CustomToolCall { call_id, name, .. } => {
                    let known = by_id.entry(call_id).or_insert(IndexedCall { name, index, answered: false });
                    if known.name != name {
                        return Err(duplicate_call(call_id, known.name, name));
                    }
                }
                ConversationItem::FunctionCallOutput { call_id, .. }
                | ConversationItem::CustomToolCallOutput { call_id, .. } => {
                    let call = by_id.get_mut(call_id.as_str()).ok_or_else(|| unknown_call(call_id))?;
                    if std::mem::replace(&mut call.answered, true) {
                        return Err(duplicate_output(call_id));
                    }
                }
                ConversationItem::Message { .. }
                | ConversationItem::Reasoning { .. }
                | ConversationItem::Compaction { .. }
                | ConversationItem::Reference { .. } => {}
            }
        }
        Ok(CallIndex { by_id })
    }

    /// Whether the item at this index is the call itself, not the echo of an earlier one.
    pub(super) fn is_first(&self, call_id: &str, index: usize) -> bool {
        self.by_id.get(call_id).is_none_or(|call| call.index == index)
    }

    pub(super) fn is_answered(&self, call_id: &str) -> bool {
        self.by_id.get(call_id).is_some_and(|call| call.answered)
    }
}

fn unknown_call(call_id: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "unknown_call_id",
        format!(
            "no tool call found for the output with call_id `{call_id}`; send the function_call item before it, or name the response that made the call as `previous_response_id`"
        ),
    )
}

fn duplicate_output(call_id: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "duplicate_call_output",
        format!("the call with call_id `{call_id}` has two outputs; send one output for each call"),
    )
}

fn duplicate_call(call_id: &str, first: &str, second: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "duplicate_call_id",
        format!(
            "call_id `{call_id}` names two calls, of `{first}` and of `{second}`; give each call its own call_id"
        ),
    )
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::CallIndex;
    use crate::item::ConversationItem;

    fn call(call_id: &str, name: &str) -> ConversationItem {
        ConversationItem::FunctionCall {
            id: None,
            call_id: call_id.into(),
            name: name.into(),
            namespace: None,
            arguments: "{}".into(),
        }
    }

    fn output(call_id: &str) -> ConversationItem {
        ConversationItem::FunctionCallOutput { id: None, call_id: call_id.into(), output: Vec::new() }
    }

    #[track_caller]
    fn check(conversation: &[ConversationItem], expect: Expect) {
        let found = match CallIndex::new(conversation) {
            Ok(calls) => {
                let at = |(index, item): (usize, &ConversationItem)| {
                    let ConversationItem::FunctionCall { call_id, .. } = item else {
                        return "output".to_owned();
                    };
                    let which = if calls.is_first(call_id, index) { "call" } else { "echo" };
                    let how = if calls.is_answered(call_id) { "answered" } else { "open" };
                    format!("{call_id}: {which}, {how}")
                };
                conversation.iter().enumerate().map(at).collect::<Vec<_>>().join("\n")
            }
            Err(error) => format!("{} {}: {}", error.status, error.code, error.message),
        };
        expect.assert_eq(&found);
    }

    // Conformance: proxy 8.2
    //     Echoed calls become records; outputs belong to calls by `call_id` alone. One that answers no call is
    //     refused, because a model would be told what never happened.
    //     In: responses/prompt/call_index.rs
    #[test]
    fn outputs_belong_to_calls_before_them() {
        check(
            &[call("a", "f"), call("b", "f"), output("b"), output("a"), call("c", "g")],
            expect![[r#"
                a: call, answered
                b: call, answered
                output
                output
                c: call, open"#]],
        );
    }

    // Conformance: proxy 15.2
    // Conformance: proxy 8.2
    #[test]
    fn an_output_without_its_call_is_named() {
        check(
            &[output("a"), call("a", "f")],
            expect![
                "400 unknown_call_id: no tool call found for the output with call_id `a`; send the function_call item before it, or name the response that made the call as `previous_response_id`"
            ],
        );
    }

    #[test]
    fn a_second_output_is_refused() {
        check(
            &[call("a", "f"), output("a"), output("a")],
            expect![
                "400 duplicate_call_output: the call with call_id `a` has two outputs; send one output for each call"
            ],
        );
    }

    // Conformance: proxy 1.5
    #[test]
    fn the_same_call_twice_is_an_echo_and_another_call_is_not() {
        check(
            &[call("a", "f"), call("a", "f"), output("a")],
            expect![[r#"
                a: call, answered
                a: echo, answered
                output"#]],
        );
        check(
            &[call("a", "f"), call("a", "g")],
            expect![
                "400 duplicate_call_id: call_id `a` names two calls, of `f` and of `g`; give each call its own call_id"
            ],
        );
    }
}
