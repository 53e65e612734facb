//! A history as Responses items, in the form that `thread/inject_items` takes.
//!
//! Codex drops without a word what it does not understand, and answers calls that have no output itself.
//! So everything that it would change is an error here, with the entry that it is about.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::alias::Aliases;
use crate::{BackendError, Entry, ErrorKind, Part, Role};

/// The items, and how many images are among them: codex says of an unreadable one only that it is gone.
#[derive(Debug, PartialEq)]
pub(super) struct Items {
    pub(super) list: Vec<Value>,
    pub(super) images: usize,
}

pub(super) fn items(history: &[Entry], aliases: &Aliases) -> Result<Items, BackendError> {
    let mut items = Items { list: Vec::with_capacity(history.len()), images: 0 };
    let mut calls = Calls::default();
    for (index, entry) in history.iter().enumerate() {
        let item = match entry {
            // An empty message says nothing, and services refuse it.
            Entry::Message { parts, .. } if parts.is_empty() => continue,
            Entry::Message { role: Role::Assistant, parts } => {
                json!({"type": "message", "role": "assistant", "content": spoken(index, parts)?})
            }
            Entry::Message { role: role @ (Role::Developer | Role::User), parts } => {
                let content = items.given(index, parts)?;
                json!({"type": "message", "role": role, "content": content})
            }
            Entry::Call(call) => {
                calls.made(index, &call.call_id)?;
                let name = aliases.to_model(&call.name);
                json!({"type": "function_call", "call_id": call.call_id, "name": name, "arguments": call.arguments})
            }
            Entry::CallOutput { call_id, parts } => {
                calls.answered(index, call_id)?;
                json!({"type": "function_call_output", "call_id": call_id, "output": items.output(index, parts)?})
            }
            // Without its sealed form a service cannot take reasoning back.
            Entry::Reasoning { encrypted: None, .. } => continue,
            Entry::Reasoning { summary, encrypted: Some(sealed) } => {
                let summary: Vec<Value> =
                    summary.iter().map(|text| json!({"type": "summary_text", "text": text})).collect();
                json!({"type": "reasoning", "summary": summary, "encrypted_content": sealed})
            }
        };
        items.list.push(item);
    }
    calls.all_answered()?;
    Ok(items)
}

impl Items {
    fn given(&mut self, index: usize, parts: &[Part]) -> Result<Vec<Value>, BackendError> {
        parts.iter().map(|part| self.part(index, part)).collect()
    }

    /// A single text stays a string: not every service takes a list there.
    fn output(&mut self, index: usize, parts: &[Part]) -> Result<Value, BackendError> {
        match parts {
            [] => Ok(Value::String(String::new())),
            [Part::Text(text)] => Ok(Value::String(text.clone())),
            [_, ..] => self.given(index, parts).map(Value::Array),
        }
    }

    fn part(&mut self, index: usize, part: &Part) -> Result<Value, BackendError> {
        match part {
            Part::Text(text) => Ok(json!({"type": "input_text", "text": text})),
            Part::Image { url, detail } => {
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
        return Err(wrong(index, &why));
    }
    let mut image = json!({"type": "input_image", "image_url": url});
    let detail = match detail {
        None => return Ok(image),
        // Codex replaces an image of low detail by a remark.
        Some("low" | "auto") => "auto",
        Some(detail @ ("high" | "original")) => detail,
        Some(other) => {
            let why = format!("the detail of an image is `auto`, `low`, `high` or `original`, not `{other}`");
            return Err(wrong(index, &why));
        }
    };
    image["detail"] = Value::String(detail.to_owned());
    Ok(image)
}

fn spoken(index: usize, parts: &[Part]) -> Result<Vec<Value>, BackendError> {
    let part = |part: &Part| match part {
        Part::Text(text) => Ok(json!({"type": "output_text", "text": text})),
        Part::Image { .. } => Err(wrong(index, "a message of the assistant cannot hold an image")),
    };
    parts.iter().map(part).collect()
}

/// Every call has one output, after it.
#[derive(Default)]
struct Calls<'a>(HashMap<&'a str, (usize, bool)>);

impl<'a> Calls<'a> {
    fn made(&mut self, index: usize, call_id: &'a str) -> Result<(), BackendError> {
        match self.0.insert(call_id, (index, false)) {
            None => Ok(()),
            Some(_) => Err(wrong(index, &format!("a second call has the id `{call_id}`"))),
        }
    }

    fn answered(&mut self, index: usize, call_id: &'a str) -> Result<(), BackendError> {
        match self.0.get_mut(call_id) {
            Some((_, answered @ false)) => {
                *answered = true;
                Ok(())
            }
            Some((_, true)) => Err(wrong(index, &format!("the call `{call_id}` has an output already"))),
            None => Err(wrong(index, &format!("no call before this output has the id `{call_id}`"))),
        }
    }

    fn all_answered(&self) -> Result<(), BackendError> {
        let open = self.0.iter().filter(|(_, (_, answered))| !answered);
        match open.min_by_key(|(_, (index, _))| *index) {
            None => Ok(()),
            Some((call_id, (index, _))) => Err(wrong(*index, &format!("the call `{call_id}` has no output"))),
        }
    }
}

fn wrong(index: usize, what: &str) -> BackendError {
    BackendError::new(ErrorKind::BadRequest, format!("entry {index} of the history: {what}"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::items;
    use crate::codex::alias::Aliases;
    use crate::{Entry, NativeCall, NativeTool, Part, Role};

    #[track_caller]
    fn check(history: &[Entry], expect: Expect) {
        let tool =
            NativeTool { name: "exec_command".to_owned(), description: String::new(), parameters: json!({}) };
        let aliases = Aliases::of(&[tool]).unwrap();
        let shown = match items(history, &aliases) {
            Ok(items) => {
                let lines: Vec<_> = items.list.iter().map(ToString::to_string).collect();
                format!("{}\n{} images", lines.join("\n"), items.images)
            }
            Err(error) => format!("{}: {error}", error.kind),
        };
        expect.assert_eq(&shown);
    }

    fn said(role: Role, text: &str) -> Entry {
        Entry::Message { role, parts: vec![Part::Text(text.to_owned())] }
    }

    fn call(call_id: &str) -> Entry {
        let (name, arguments) = ("exec_command".to_owned(), "{}".to_owned());
        Entry::Call(NativeCall { call_id: call_id.to_owned(), name, arguments })
    }

    fn output(call_id: &str) -> Entry {
        Entry::CallOutput { call_id: call_id.to_owned(), parts: vec![Part::Text("done".to_owned())] }
    }

    fn picture(url: &str, detail: Option<&str>) -> Entry {
        let image = Part::Image { url: url.to_owned(), detail: detail.map(str::to_owned) };
        Entry::Message { role: Role::User, parts: vec![Part::Text("look".to_owned()), image] }
    }

    #[test]
    fn a_history_keeps_its_order_and_its_roles() {
        let sealed = Entry::Reasoning { summary: vec!["hm".to_owned()], encrypted: Some("xyz".to_owned()) };
        let open = Entry::Reasoning { summary: vec!["hm".to_owned()], encrypted: None };
        let history = [
            said(Role::Developer, "be brief"),
            said(Role::User, "hello"),
            sealed,
            open,
            call("c1"),
            output("c1"),
            Entry::CallOutput { call_id: "c2".to_owned(), parts: Vec::new() },
            said(Role::Assistant, "hi"),
        ];
        check(
            &history,
            expect!["bad_request: entry 6 of the history: no call before this output has the id `c2`"],
        );
        let history: Vec<Entry> =
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
            &[said(Role::User, "x"), call("c2"), call("c1")],
            expect!["bad_request: entry 1 of the history: the call `c2` has no output"],
        );
    }
}
