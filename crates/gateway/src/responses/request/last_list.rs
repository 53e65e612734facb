//! The list of tools of the last request, known by its text before anything is read.
//!
//! In a conversation the list is the same from one request to the next, and often most of the body. Where the same text
//! stands again it need not be read to find its end: the body is read with a mark in its place, and if the mark turns out
//! to be the value of `tools`, so is the list. What changes from one request to the next is left to
//! [`tool_lists`](super::tool_lists).

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use memchr::memmem::Finder;
use serde_json::{Map, Value};

use super::json::{Outline, outline};
use super::tools::Tools;

/// A body that is longer is read as it is: most of it is something else.
const LONGEST_BODY: usize = 1 << 20;
/// So many fields of that name are looked at. A request has one; items may have others.
const MOST_FIELDS: usize = 4;
/// What stands for the list.
const MARK: &str = "null";

static FIELD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(br#""tools":"#));
static LAST: Mutex<Option<Arc<LastList>>> = Mutex::new(None);

/// A list as a client wrote it, and what was made of it.
pub(super) struct LastList {
    pub(super) text: String,
    pub(super) tools: Arc<Tools>,
}

/// Everything else of a body that has the last list, and the list. Nothing if there is any doubt.
pub(super) fn found_in(body: &[u8]) -> Option<(Map<String, Value>, Arc<LastList>)> {
    if body.len() > LONGEST_BODY {
        return None;
    }
    let last = lock().clone()?;
    let rest = without(body, &last.text)?;
    Some((rest, last))
}

/// Remembers a list that was read.
pub(super) fn remember(text: &str, tools: &Arc<Tools>) {
    // The tools of other services may come with what opens those, which nobody keeps.
    if !tools.ignored.is_empty() {
        return;
    }
    let list = Arc::new(LastList { text: text.to_owned(), tools: tools.clone() });
    let before = lock().replace(list);
    drop(before);
}

/// Everything of a body but its list of tools, which is this one. `list` must be one whole value in JSON.
fn without(body: &[u8], list: &str) -> Option<Map<String, Value>> {
    let at = place(body, list)?;
    let short = [&body[..at], MARK.as_bytes(), &body[at + list.len()..]].concat();
    let Outline { rest, tools } = outline(&short)?;
    // A mark at the same place in the body is that value and no other, so what it stands for is.
    let stands_at = tools.as_ptr().addr().checked_sub(short.as_ptr().addr());
    (tools == MARK && stands_at == Some(at)).then_some(rest)
}

/// Where the list stands behind a field of that name.
fn place(body: &[u8], list: &str) -> Option<usize> {
    FIELD.find_iter(body).take(MOST_FIELDS).find_map(|field| {
        let value = field + FIELD.needle().len();
        let spaces = body[value..].iter().take_while(|byte| **byte == b' ').count();
        body[value + spaces..].starts_with(list.as_bytes()).then_some(value + spaces)
    })
}

fn lock() -> MutexGuard<'static, Option<Arc<LastList>>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::super::json::read_json;
    use super::without;

    const LIST: &str = r#"[{"type":"function","name":"a b"}]"#;

    #[test]
    fn the_same_list_is_known_wherever_it_stands() {
        for body in [
            r#"{"model":"m","tools":[{"type":"function","name":"a b"}]}"#,
            r#" { "tools" :1, "tools": [{"type":"function","name":"a b"}] , "model":"m"}"#,
            r#"{"tools":   [{"type":"function","name":"a b"}],"model":"m"}"#,
            r#"{"input":[{"tools":[]}],"tools":[{"type":"function","name":"a b"}],"model":"m"}"#,
        ] {
            let known = without(body.as_bytes(), LIST);
            match read_json(body.as_bytes()) {
                Ok(whole) => {
                    let mut known = Value::Object(known.expect(body));
                    known["tools"] = serde_json::from_str(LIST).unwrap();
                    assert_eq!(known, whole);
                }
                Err(_twice) => assert_eq!(known, None),
            }
        }
    }

    #[test]
    fn what_is_not_the_list_of_the_request_is_not_taken_for_it() {
        let text = json!(format!(r#"{{"tools":{LIST}}}"#)).to_string();
        for body in [
            String::new(),
            "{}".to_owned(),
            LIST.to_owned(),
            format!(r#"{{"tools":{LIST}"#),
            format!(r#"{{"tools":{LIST},}}"#),
            format!(r#"{{"tools":{LIST}1}}"#),
            format!(r#"{{"tools":{LIST},"tools":null}}"#),
            format!(r#"{{"tools":null,"tools":{LIST}}}"#),
            format!(r#"{{"tools":null,"x":{{"tools":{LIST}}}}}"#),
            format!(r#"{{"x":{{"tools":{LIST}}}}}"#),
            format!(r#"{{"x":[{{"tools":{LIST}}}],"tools":[]}}"#),
            format!(r#"{{"x":{text}}}"#),
            format!(r#"{{"x":{text},"tools":null}}"#),
            format!("{{\"tools\":\u{a0}{LIST}}}"),
            format!(r#"{{"tool\u0073":{LIST}}}"#),
        ] {
            assert_eq!(without(body.as_bytes(), LIST), None, "{body}");
        }
    }

    /// Pieces that mislead.
    fn bodies() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => Just(LIST),
            4 => Just("\"tools\":"),
            2 => Just(","),
            1 => prop_oneof![Just("null"), Just("{"), Just("}"), Just("["), Just("]"), Just("\""), Just("\\"), Just(" ")],
            1 => Just("\"a\":1"),
        ];
        prop::collection::vec(piece, 0..7).prop_map(|pieces| format!("{{{}}}", pieces.concat()))
    }

    proptest! {
        #[test]
        fn a_body_without_its_list_is_what_any_reader_would_leave(body in bodies()) {
            if let Some(rest) = without(body.as_bytes(), LIST) {
                let mut whole = read_json(body.as_bytes()).unwrap();
                prop_assert_eq!(whole.as_object_mut().unwrap().shift_remove("tools"), serde_json::from_str(LIST).ok());
                prop_assert_eq!(Value::Object(rest), whole);
            }
        }
    }
}
