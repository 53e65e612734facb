//! The optional arguments `note` and `requestId`, which every tool accepts.
//!
//! `note` is a remark for people, `requestId` the id of the call in the caller's own records. No tool declares them:
//! repeated in every schema they would cost a client tokens in every turn. They are checked here, and a tool receives its
//! arguments without them. Where the tool's own schema accepts such a field, the field belongs to the tool and stays.

use std::borrow::Cow;

use envelope::SchemaProblem;
use serde_json::{Map, Value};

use crate::schema::describe_value;

pub(crate) const NOTE: &str = "note";
pub(crate) const REQUEST_ID: &str = "requestId";
/// A longer note would push the rest of a question out of sight.
const MAX_NOTE_CHARS: usize = 1_000;
const MAX_REQUEST_ID_CHARS: usize = 200;

/// Arguments of a call: those of the tool, and the common ones.
pub(crate) struct SplitArgs<'a> {
    pub(crate) own: Cow<'a, Value>,
    note: Option<&'a Value>,
    request_id: Option<&'a Value>,
}

impl<'a> SplitArgs<'a> {
    /// Splits the arguments of a tool with this input schema. Copies nothing if they contain no common ones.
    pub(crate) fn of(schema: &Value, args: &'a Value) -> SplitArgs<'a> {
        let note = common(schema, args, NOTE);
        let request_id = common(schema, args, REQUEST_ID);
        let own = match args {
            Value::Object(fields) if note.is_some() || request_id.is_some() => {
                let is_own = |name: &str| {
                    !(name == NOTE && note.is_some() || name == REQUEST_ID && request_id.is_some())
                };
                let kept = fields.iter().filter(|(name, _)| is_own(name));
                let kept = kept.map(|(name, value)| (name.clone(), value.clone()));
                Cow::Owned(Value::Object(kept.collect::<Map<_, _>>()))
            }
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Cow::Borrowed(args),
        };
        SplitArgs { own, note, request_id }
    }

    /// Returns what is wrong with the common arguments.
    pub(crate) fn problems(&self) -> impl Iterator<Item = SchemaProblem> {
        let note = self.note.and_then(|value| {
            problem(NOTE, value, MAX_NOTE_CHARS, "a remark for people, shown in the question and the record")
        });
        let request_id = self.request_id.and_then(|value| {
            problem(REQUEST_ID, value, MAX_REQUEST_ID_CHARS, "the id of the call in your own records")
        });
        note.into_iter().chain(request_id)
    }
}

/// Returns the common arguments `note` and `requestId` of a call, where they are texts.
pub(crate) fn common_texts<'a>(schema: &Value, args: &'a Value) -> (Option<&'a str>, Option<&'a str>) {
    let text = |name| common(schema, args, name).and_then(Value::as_str);
    (text(NOTE), text(REQUEST_ID))
}

/// Returns the argument if it is present and the tool's own schema would refuse it.
fn common<'a>(schema: &Value, args: &'a Value, name: &str) -> Option<&'a Value> {
    let given = args.get(name)?;
    // Any other schema may accept the field in a way that only a validator can find out.
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    let declared = schema.get("properties").is_some_and(|known| known.get(name).is_some());
    (is_closed && !declared).then_some(given)
}

fn problem(name: &str, value: &Value, most: usize, about: &str) -> Option<SchemaProblem> {
    let found = match value {
        Value::String(text) => {
            let length = text.chars().count();
            (length > most).then(|| format!("{length} characters"))?
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            describe_value(value)
        }
    };
    Some(SchemaProblem {
        pointer: format!("/{name}"),
        message: format!("expected a string of at most {most} characters, found {found}"),
        hint: Some(format!("`{name}` is {about}; every tool takes it, and it can be left out")),
        from_choice: false,
    })
}
