//! Templates: values of a plan with references in them, compiled once and resolved for every call.
//!
//! A string that is wholly `$…` becomes the value it names, with its type. Braces inside a string become
//! text. `{{` and `}}` stand for one brace, a leading `$$` for one dollar. A brace word that is not in scope
//! stays as it is. Keys of objects are never templates. `compile` reads the strings.

mod braces;
mod compile;
mod note;
mod resolve;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::{Reference, Scope};

pub use note::{NoteKind, TemplateNote};
pub(crate) use resolve::kind;
pub use resolve::{Bindings, Dangling, Values};

/// A compiled value. Parts without references are kept whole, so that resolving them is one clone.
#[derive(Debug, Clone, PartialEq)]
pub enum Template {
    Literal(Value),
    /// The whole string is a reference; the value keeps its type.
    Whole(Reference),
    /// Text with references in it; each must come out as a scalar.
    Text(Vec<Piece>),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Literal(String),
    Ref(Reference),
}

/// How a reference stands in its string: what it may come out as depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Alone: any value.
    Whole,
    /// Inside text: a scalar.
    InText,
}

impl Template {
    /// Compiles a value. Never fails: what cannot be a reference stays text, and a note says so.
    pub fn compile(value: &Value, scope: &Scope<'_>, notes: &mut Vec<TemplateNote>) -> Template {
        compile::value(value, scope, &mut String::new(), notes)
    }

    /// Visits every reference with the JSON pointer of its string.
    pub fn references(&self, visit: &mut dyn FnMut(&str, &Reference, Position)) {
        walk(self, &mut String::new(), visit);
    }
}

fn walk(template: &Template, pointer: &mut String, visit: &mut dyn FnMut(&str, &Reference, Position)) {
    let length = pointer.len();
    match template {
        Template::Literal(_) => {}
        Template::Whole(reference) => visit(pointer, reference, Position::Whole),
        Template::Text(pieces) => {
            for piece in pieces {
                match piece {
                    Piece::Literal(_) => {}
                    Piece::Ref(reference) => visit(pointer, reference, Position::InText),
                }
            }
        }
        Template::List(items) => {
            for (index, item) in items.iter().enumerate() {
                push_segment(pointer, &index.to_string());
                walk(item, pointer, visit);
                pointer.truncate(length);
            }
        }
        Template::Object(entries) => {
            for (key, entry) in entries {
                push_segment(pointer, key);
                walk(entry, pointer, visit);
                pointer.truncate(length);
            }
        }
    }
}

/// Appends one segment to a JSON pointer (RFC 6901).
fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    for c in segment.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}
