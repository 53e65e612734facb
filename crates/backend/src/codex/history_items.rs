//! A history as Responses items, in the form that `thread/inject_items` takes.
//!
//! Codex silently drops items that it does not understand and answers calls without output by itself. So everything
//! that it would change is an error here that names the entry.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::tool_aliases::ToolAliases;
use crate::{BackendError, BackendErrorKind, HistoryEntry, MessagePart, MessageRole};

/// The items, and the number of images in them: codex reports an unreadable image only by leaving it out.
#[derive(Debug, PartialEq)]
pub(super) struct HistoryItems {
    pub(super) list: Vec<Value>,
    pub(super) images: usize,
}

pub(super) fn items(history: &[HistoryEntry], aliases: &ToolAliases) -> Result<HistoryItems, BackendError> {
    let mut items = HistoryItems { list: Vec::with_capacity(history.len()), images: 0 };
    let mut calls = CallPairs::default();
    for (index, entry) in history.iter().enumerate() {
        let item = match entry {
            // Services refuse an empty message.
            HistoryEntry::Message { parts, .. } if parts.is_empty() => continue,
            HistoryEntry::Message { role: MessageRole::Assistant, parts } => {
                json!({"type": "message", "role": "assistant", "content": assistant_content(index, parts)?})
            }
            HistoryEntry::Message { role: role @ (MessageRole::Developer | MessageRole::User), parts } => {
                let content = items.user_content(index, parts)?;
                json!({"type": "message", "role": role, "content": content})
            }
            HistoryEntry::Call(call) => {
                calls.add_call(index, &call.call_id)?;
                let name = aliases.to_model(&call.name);
                json!({"type": "function_call", "call_id": call.call_id, "name": name, "arguments": call.arguments})
            }
            HistoryEntry::CallOutput { call_id, parts } => {
                calls.add_output(index, call_id)?;
                json!({"type": "function_call_output", "call_id": call_id, "output": items.output(index, parts)?})
            }
            // Without its sealed form a service cannot take reasoning back.
            HistoryEntry::Reasoning { encrypted: None, .. } => continue,
            HistoryEntry::Reasoning { summary, encrypted: Some(sealed) } => {
                let summary: Vec<Value> =
                    summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
                json!({"type": "reasoning", "summary": summary, "encrypted_content": sealed})
            }
        };
        items.list.push(item);
    }
    calls.check_complete()?;
    Ok(items)
}

impl HistoryItems {
    fn user_content(&mut self, index: usize, parts: &[MessagePart]) -> Result<Vec<Value>, BackendError> {
        parts.iter().map(|part| self.part(index, part)).collect()
    }

    /// A single text stays a string: not every service takes a list there.
    fn output(&mut self, index: usize, parts: &[MessagePart]) -> Result<Value, BackendError> {
        match parts {
            [] => Ok(Value::String(String::new())),
            [MessagePart::Text(text)] => Ok(Value::String(text.clone())),
            [_, ..] => self.user_content(index, parts).map(Value::Array),
        }
    }

    fn part(&mut self, index: usize, part: &MessagePart) -> Result<Value, BackendError> {
        match part {
            MessagePart::Text(text) => Ok(json!({"type": "input_text", "text": text})),
            MessagePart::Image { url, detail } => {
                self.images += 1;
                image(index, url, detail.as_deref())
            }
        }
    }
}

fn image(index: usize, url: &str, detail: Option<&str>) -> Result<Value, BackendError> {
    let is_data = url.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("data:image/"));
    if !is_data {
        let shown: String = url.chars().take(80).collect();
        let why = format!("the image `{shown}` is not a `data:image/...` address, and codex loads no other");
        return Err(invalid_entry(index, &why));
    }
    let mut image = json!({"type": "input_image", "image_url": url});
    let detail = match detail {
        None => return Ok(image),
        // Codex replaces an image of low detail by a remark.
        Some("low" | "auto") => "auto",
        Some(detail @ ("high" | "original")) => detail,
        Some(other) => {
            let why = format!("the detail of an image is `auto`, `low`, `high` or `original`, not `{other}`");
            return Err(invalid_entry(index, &why));
        }
    };
    image["detail"] = Value::String(detail.to_owned());
    Ok(image)
}

fn assistant_content(index: usize, parts: &[MessagePart]) -> Result<Vec<Value>, BackendError> {
    let part = |part: &MessagePart| match part {
        MessagePart::Text(text) => Ok(json!({"type": "output_text", "text": text})),
        MessagePart::Image { .. } => {
            Err(invalid_entry(index, "a message of the assistant cannot hold an image"))
        }
    };
    parts.iter().map(part).collect()
}

/// Every call has one output, after it.
#[derive(Default)]
struct CallPairs<'a>(HashMap<&'a str, (usize, bool)>);

impl<'a> CallPairs<'a> {
    fn add_call(&mut self, index: usize, call_id: &'a str) -> Result<(), BackendError> {
        match self.0.insert(call_id, (index, false)) {
            None => Ok(()),
            Some(_) => Err(invalid_entry(index, &format!("a second call has the id `{call_id}`"))),
        }
    }

    fn add_output(&mut self, index: usize, call_id: &'a str) -> Result<(), BackendError> {
        match self.0.get_mut(call_id) {
            Some((_, answered @ false)) => {
                *answered = true;
                Ok(())
            }
            Some((_, true)) => {
                Err(invalid_entry(index, &format!("the call `{call_id}` has an output already")))
            }
            None => Err(invalid_entry(index, &format!("no call before this output has the id `{call_id}`"))),
        }
    }

    fn check_complete(&self) -> Result<(), BackendError> {
        let open = self.0.iter().filter(|(_, (_, answered))| !answered);
        match open.min_by_key(|(_, (index, _))| *index) {
            None => Ok(()),
            Some((call_id, (index, _))) => {
                Err(invalid_entry(*index, &format!("the call `{call_id}` has no output")))
            }
        }
    }
}

fn invalid_entry(index: usize, what: &str) -> BackendError {
    BackendError::new(BackendErrorKind::BadRequest, format!("entry {index} of the history: {what}"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::items;
    use crate::codex::tool_aliases::ToolAliases;
    use crate::{HistoryEntry, MessagePart, MessageRole, NativeCall, NativeTool};

    #[track_caller]
    fn check(history: &[HistoryEntry], expect: Expect) {
        let tool =
            NativeTool { name: "exec_command".to_owned(), description: String::new(), parameters: json!({}) };
        let aliases = ToolAliases::of(&[tool]).unwrap();
        let shown = match items(history, &aliases) {
            Ok(items) => {
                let lines: Vec<_> = items.list.iter().map(ToString::to_string).collect();
                format!("{}\n{} images", lines.join("\n"), items.images)
            }
            Err(error) => format!("{}: {error}", error.kind),
        };
        expect.assert_eq(&shown);
    }

    fn message(role: MessageRole, text: &str) -> HistoryEntry {
        HistoryEntry::Message { role, parts: vec![MessagePart::Text(text.to_owned())] }
    }

    fn call(call_id: &str) -> HistoryEntry {
        let (name, arguments) = ("exec_command".to_owned(), "{}".to_owned());
        HistoryEntry::Call(NativeCall { call_id: call_id.to_owned(), name, arguments })
    }

    fn output(call_id: &str) -> HistoryEntry {
        HistoryEntry::CallOutput {
            call_id: call_id.to_owned(),
            parts: vec![MessagePart::Text("done".to_owned())],
        }
    }

    fn picture(url: &str, detail: Option<&str>) -> HistoryEntry {
        let image = MessagePart::Image { url: url.to_owned(), detail: detail.map(str::to_owned) };
        HistoryEntry::Message {
            role: MessageRole::User,
            parts: vec![MessagePart::Text("look".to_owned()), image],
        }
    }

    #[test]
    fn a_history_keeps_its_order_and_its_roles() {
        let sealed =
            HistoryEntry::Reasoning { summary: vec!["hm".to_owned()], encrypted: Some("xyz".to_owned()) };
        let open = HistoryEntry::Reasoning { summary: vec!["hm".to_owned()], encrypted: None };
        let history = [
            message(MessageRole::Developer, "be brief"),
            message(MessageRole::User, "hello"),
            sealed,
            open,
            call("c1"),
            output("c1"),
            HistoryEntry::CallOutput { call_id: "c2".to_owned(), parts: Vec::new() },
            message(MessageRole::Assistant, "hi"),
        ];
        check(
            &history,
            expect!["bad_request: entry 6 of the history: no call before this output has the id `c2`"],
        );
        let history: Vec<HistoryEntry> =
            history.into_iter().enumerate().filter(|(at, _)| *at != 6).map(|(_, e)| e).collect();
        check(
            &history,
            expect![[r#"
                {"type":"message","role":"developer","content":[{"type":"input_text","text":"be brief"}]}
                {"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}
                {"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"xyz"}
                {"type":"function_call","call_id":"c1","name":"client_exec_command","arguments":"{}"}
                {"type":"function_call_output","call_id":"c1","output":"done"}
                {"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}
                0 images"#]],
        );
    }

    #[test]
    fn an_image_is_data_and_never_of_low_detail() {
        check(
            &[picture("data:image/png;base64,AAAA", Some("low")), picture("DATA:image/gif;base64,AA", None)],
            expect![[r#"
                {"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"}]}
                {"type":"message","role":"user","content":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"DATA:image/gif;base64,AA"}]}
                2 images"#]],
        );
        check(
            &[picture("https://example.org/a.png", None)],
            expect![
                "bad_request: entry 0 of the history: the image `https://example.org/a.png` is not a `data:image/...` address, and codex loads no other"
            ],
        );
        check(
            &[picture("data:image/png;base64,AAAA", Some("huge"))],
            expect![
                "bad_request: entry 0 of the history: the detail of an image is `auto`, `low`, `high` or `original`, not `huge`"
            ],
        );
    }

    #[test]
    fn calls_and_outputs_come_in_pairs() {
        check(
            &[output("c1")],
            expect!["bad_request: entry 0 of the history: no call before this output has the id `c1`"],
        );
        check(
            &[call("c1"), call("c1")],
            expect!["bad_request: entry 1 of the history: a second call has the id `c1`"],
        );
        check(
            &[call("c1"), output("c1"), output("c1")],
            expect!["bad_request: entry 2 of the history: the call `c1` has an output already"],
        );
        check(
            &[message(MessageRole::User, "x"), call("c2"), call("c1")],
            expect!["bad_request: entry 1 of the history: the call `c2` has no output"],
        );
    }
}
