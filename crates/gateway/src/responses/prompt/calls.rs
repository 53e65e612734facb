//! Which output belongs to which call.
//!
//! By `call_id` alone: clients leave ids of items out and write arguments anew. An output without its call, or a second
//! one, is refused, since a model would be told something that never happened; some backends drop it without a word.
//! A call without an output is taken: clients echo whole answers, and whoever stops a tool must be able to go on.

use std::collections::HashMap;

use crate::responses::error::ApiError;
use crate::responses::item::Item;

/// What is known of the calls of a conversation.
pub(super) struct Calls<'a> {
    by_id: HashMap<&'a str, Call<'a>>,
}

struct Call<'a> {
    name: &'a str,
    /// Of the first item that is this call.
    index: usize,
    answered: bool,
}

impl<'a> Calls<'a> {
    /// Refuses outputs that answer nothing and ids that mean two things.
    pub(super) fn of(conversation: &'a [Item]) -> Result<Calls<'a>, ApiError> {
        let mut by_id: HashMap<&str, Call<'_>> = HashMap::new();
        for (index, item) in conversation.iter().enumerate() {
            match item {
                Item::FunctionCall { call_id, name, .. } | Item::CustomToolCall { call_id, name, .. } => {
                    let known = by_id.entry(call_id).or_insert(Call { name, index, answered: false });
                    if known.name != name {
                        return Err(two_calls(call_id, known.name, name));
                    }
                }
                Item::FunctionCallOutput { call_id, .. } | Item::CustomToolCallOutput { call_id, .. } => {
                    let call = by_id.get_mut(call_id.as_str()).ok_or_else(|| no_call(call_id))?;
                    if std::mem::replace(&mut call.answered, true) {
                        return Err(two_outputs(call_id));
                    }
                }
                Item::Message { .. }
                | Item::Reasoning { .. }
                | Item::Compaction { .. }
                | Item::Reference { .. } => {}
            }
        }
        Ok(Calls { by_id })
    }

    /// Whether the item at this index is the call itself and not the echo of an earlier one.
    pub(super) fn is_first(&self, call_id: &str, index: usize) -> bool {
        self.by_id.get(call_id).is_none_or(|call| call.index == index)
    }

    pub(super) fn is_answered(&self, call_id: &str) -> bool {
        self.by_id.get(call_id).is_some_and(|call| call.answered)
    }
}

fn no_call(call_id: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "unknown_call_id",
        format!(
            "no tool call found for the output with call_id `{call_id}`; send the function_call item before it, or name the response that made the call as `previous_response_id`"
        ),
    )
}

fn two_outputs(call_id: &str) -> ApiError {
    ApiError::invalid(
        "input",
        "duplicate_call_output",
        format!("the call with call_id `{call_id}` has two outputs; send one output for each call"),
    )
}

fn two_calls(call_id: &str, first: &str, second: &str) -> ApiError {
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

    use super::Calls;
    use crate::responses::item::Item;

    fn call(call_id: &str, name: &str) -> Item {
        Item::FunctionCall {
            id: None,
            call_id: call_id.into(),
            name: name.into(),
            namespace: None,
            arguments: "{}".into(),
        }
    }

    fn output(call_id: &str) -> Item {
        Item::FunctionCallOutput { id: None, call_id: call_id.into(), output: Vec::new() }
    }

    #[track_caller]
    fn check(conversation: &[Item], expect: Expect) {
        let found = match Calls::of(conversation) {
            Ok(calls) => {
                let at = |(index, item): (usize, &Item)| {
                    let Item::FunctionCall { call_id, .. } = item else { return "output".to_owned() };
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
