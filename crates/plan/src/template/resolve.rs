//! Puts values in the place of references. Pure: same bindings, same value.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::compile::in_braces;
use super::{Piece, Template, push_segment};
use crate::{Reference, Root, Segment};

/// What steps and variables have come out as so far.
pub trait Values {
    fn step(&self, id: &str) -> Option<&Value>;
    fn var(&self, name: &str) -> Option<&Value>;
}

/// Everything a template can refer to at one moment.
#[derive(Clone, Copy)]
pub struct Bindings<'a> {
    pub values: &'a dyn Values,
    pub item: Option<&'a Value>,
    pub index: Option<u64>,
}

/// A reference that points at nothing it can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{reference}` {why}")]
pub struct Dangling {
    /// JSON pointer from the template to the string.
    pub pointer: String,
    pub reference: String,
    pub why: String,
}

impl Template {
    pub fn resolve(&self, bindings: &Bindings<'_>) -> Result<Value, Dangling> {
        match self {
            Template::Literal(value) => Ok(value.clone()),
            Template::Whole(reference) => follow(reference, bindings)
                .map(Cow::into_owned)
                .map_err(|why| dangling(reference.to_string(), why)),
            Template::Text(pieces) => text(pieces, bindings),
            Template::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(item.resolve(bindings).map_err(|inner| below(inner, &index.to_string()))?);
                }
                Ok(Value::Array(list))
            }
            Template::Object(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, entry) in entries {
                    let value = entry.resolve(bindings).map_err(|inner| below(inner, key))?;
                    map.insert(key.clone(), value);
                }
                Ok(Value::Object(map))
            }
        }
    }

    /// As `resolve`, but a value that already exists somewhere is lent instead of copied: a list of 100,000
    /// items is looped over where it is.
    pub fn lend<'a>(&'a self, bindings: &Bindings<'a>) -> Result<Cow<'a, Value>, Dangling> {
        match self {
            Template::Literal(value) => Ok(Cow::Borrowed(value)),
            Template::Whole(reference) => {
                follow(reference, bindings).map_err(|why| dangling(reference.to_string(), why))
            }
            Template::Text(_) | Template::List(_) | Template::Object(_) => {
                self.resolve(bindings).map(Cow::Owned)
            }
        }
    }
}

fn text(pieces: &[Piece], bindings: &Bindings<'_>) -> Result<Value, Dangling> {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => out.push_str(text),
            Piece::Ref(reference) => follow(reference, bindings)
                .and_then(|value| push_scalar(&mut out, &value))
                .map_err(|why| dangling(in_braces(reference), why))?,
        }
    }
    Ok(Value::String(out))
}

fn push_scalar(out: &mut String, value: &Value) -> Result<(), String> {
    match value {
        Value::String(text) => out.push_str(text),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(number) => {
            // Writing into a string cannot fail.
            write!(out, "{number}").map_err(|error| error.to_string())?;
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {
            return Err(format!("is {}, but text needs a string, a number or a boolean", kind(value)));
        }
    }
    Ok(())
}

/// The value a reference names, or why there is none.
fn follow<'a>(reference: &Reference, bindings: &Bindings<'a>) -> Result<Cow<'a, Value>, String> {
    let root = match &reference.root {
        Root::Steps(id) => bindings.values.step(id.as_str()).ok_or("names a step that has no output")?,
        Root::Vars(name) => bindings.values.var(name.as_str()).ok_or("names a variable that has no value")?,
        Root::Item(_) => bindings.item.ok_or("has a meaning inside its foreach only")?,
        Root::Index(_) => {
            let index = bindings.index.ok_or("has a meaning inside its foreach only")?;
            return Ok(Cow::Owned(Value::from(index)));
        }
    };
    let mut value = root;
    for segment in &reference.path {
        value = enter(value, segment)?;
    }
    Ok(Cow::Borrowed(value))
}

fn enter<'a>(value: &'a Value, segment: &Segment) -> Result<&'a Value, String> {
    match (segment, value) {
        (Segment::Key(key), Value::Object(map)) => {
            map.get(key).ok_or_else(|| format!("points at nothing: there is no `{key}`"))
        }
        (Segment::Index(index), Value::Array(items)) => items.get(*index).ok_or_else(|| {
            format!("points at nothing: there is no [{index}] in a list of {} items", items.len())
        }),
        (Segment::Key(key), other) => Err(format!("points at nothing: `{key}` is asked of {}", kind(other))),
        (Segment::Index(index), other) => {
            Err(format!("points at nothing: [{index}] is asked of {}", kind(other)))
        }
    }
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn dangling(reference: String, why: String) -> Dangling {
    Dangling { pointer: String::new(), reference, why }
}

/// Only a failure pays for its pointer: it is put together on the way out.
fn below(inner: Dangling, segment: &str) -> Dangling {
    let mut pointer = String::new();
    push_segment(&mut pointer, segment);
    pointer.push_str(&inner.pointer);
    Dangling { pointer, ..inner }
}
