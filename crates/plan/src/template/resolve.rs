//! Replaces references by values. Pure: same bindings, same value.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::compile::in_braces;
use super::{Template, TemplatePiece};
use crate::{PathSegment, Reference, ReferenceRoot, json_pointer};

/// The outputs of steps and the values of variables so far.
pub trait ValueSource {
    fn step(&self, id: &str) -> Option<&Value>;
    fn var(&self, name: &str) -> Option<&Value>;
}

/// Everything that a template can refer to at one moment.
#[derive(Clone, Copy)]
pub struct TemplateBindings<'a> {
    pub values: &'a dyn ValueSource,
    pub item: Option<&'a Value>,
    pub index: Option<u64>,
}

/// A reference that has no usable value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{reference}` {why}")]
pub struct UnresolvedReference {
    /// JSON pointer from the template to the string.
    pub pointer: String,
    pub reference: String,
    pub why: String,
}

impl Template {
    pub fn resolve(&self, bindings: &TemplateBindings<'_>) -> Result<Value, UnresolvedReference> {
        match self {
            Template::Literal(value) => Ok(value.clone()),
            Template::Whole(reference) => look_up(reference, bindings)
                .map(Cow::into_owned)
                .map_err(|why| unresolved(reference.to_string(), why)),
            Template::Text(pieces) => text(pieces, bindings),
            Template::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(item.resolve(bindings).map_err(|inner| nested_in(inner, &index.to_string()))?);
                }
                Ok(Value::Array(list))
            }
            Template::Object(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, entry) in entries {
                    let value = entry.resolve(bindings).map_err(|inner| nested_in(inner, key))?;
                    map.insert(key.clone(), value);
                }
                Ok(Value::Object(map))
            }
        }
    }

    /// Like `resolve`, but borrows a value that already exists instead of copying it: a list of 100,000 items
    /// is looped over in place.
    pub fn resolve_borrowed<'a>(
        &'a self,
        bindings: &TemplateBindings<'a>,
    ) -> Result<Cow<'a, Value>, UnresolvedReference> {
        match self {
            Template::Literal(value) => Ok(Cow::Borrowed(value)),
            Template::Whole(reference) => {
                look_up(reference, bindings).map_err(|why| unresolved(reference.to_string(), why))
            }
            Template::Text(_) | Template::List(_) | Template::Object(_) => {
                self.resolve(bindings).map(Cow::Owned)
            }
        }
    }
}

fn text(pieces: &[TemplatePiece], bindings: &TemplateBindings<'_>) -> Result<Value, UnresolvedReference> {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            TemplatePiece::Literal(text) => out.push_str(text),
            TemplatePiece::Ref(reference) => look_up(reference, bindings)
                .and_then(|value| push_scalar(&mut out, &value))
                .map_err(|why| unresolved(in_braces(reference), why))?,
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
            return Err(format!("is {}, but text needs a string, a number or a boolean", type_name(value)));
        }
    }
    Ok(())
}

/// Returns the value of a reference, or the reason why it has none.
fn look_up<'a>(reference: &Reference, bindings: &TemplateBindings<'a>) -> Result<Cow<'a, Value>, String> {
    let root = match &reference.root {
        ReferenceRoot::Steps(id) => {
            bindings.values.step(id.as_str()).ok_or("names a step that has no output")?
        }
        ReferenceRoot::Vars(name) => {
            bindings.values.var(name.as_str()).ok_or("names a variable that has no value")?
        }
        ReferenceRoot::Item(_) => bindings.item.ok_or("has a meaning inside its foreach only")?,
        ReferenceRoot::Index(_) => {
            let index = bindings.index.ok_or("has a meaning inside its foreach only")?;
            return Ok(Cow::Owned(Value::from(index)));
        }
    };
    let mut value = root;
    for segment in &reference.path {
        value = look_up_segment(value, segment)?;
    }
    Ok(Cow::Borrowed(value))
}

fn look_up_segment<'a>(value: &'a Value, segment: &PathSegment) -> Result<&'a Value, String> {
    match (segment, value) {
        (PathSegment::Key(key), Value::Object(map)) => {
            map.get(key).ok_or_else(|| format!("has no value: there is no `{key}`"))
        }
        (PathSegment::Index(index), Value::Array(items)) => items
            .get(*index)
            .ok_or_else(|| format!("has no value: there is no [{index}] in a list of {} items", items.len())),
        (PathSegment::Key(key), other) => {
            Err(format!("points at nothing: `{key}` is asked of {}", type_name(other)))
        }
        (PathSegment::Index(index), other) => {
            Err(format!("points at nothing: [{index}] is asked of {}", type_name(other)))
        }
    }
}

/// Returns the type of a value in words.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn unresolved(reference: String, why: String) -> UnresolvedReference {
    UnresolvedReference { pointer: String::new(), reference, why }
}

/// Adds a segment to the pointer of a failure. Built on the way out, so that success does not pay for it.
fn nested_in(inner: UnresolvedReference, segment: &str) -> UnresolvedReference {
    let mut pointer = String::new();
    json_pointer::push(&mut pointer, segment);
    pointer.push_str(&inner.pointer);
    UnresolvedReference { pointer, ..inner }
}
