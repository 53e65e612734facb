//! Templates: values of a plan with references in them, compiled once and resolved for every call.
//!
//! A string that is wholly `$…` becomes the value it names, with its type. Braces inside a string become
//! text. Around a word that is in scope `{{` and `}}` mean one brace; around anything else braces stay unchanged. A
//! leading `$$` is one dollar sign. Object keys are never templates. `compile` parses the strings.

pub(crate) mod braces;
mod compile;
mod doubled_braces;
mod resolve;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::{Reference, TemplateScope, json_pointer};

pub(crate) use resolve::type_name;
pub use resolve::{TemplateBindings, UnresolvedReference, ValueSource};

/// A compiled value. Parts without references stay whole, so that resolving them is one clone.
#[derive(Debug, Clone, PartialEq)]
pub enum Template {
    Literal(Value),
    /// The whole string is a reference; the value keeps its type.
    Whole(Reference),
    /// Text with references in it; each must resolve to a scalar.
    Text(Vec<TemplatePiece>),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum TemplatePiece {
    Literal(String),
    Ref(Reference),
}

/// The position of a reference in its string, which limits the type of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferencePosition {
    /// Alone: any value.
    Whole,
    /// Inside text: a scalar.
    InText,
}

/// An observation of the template compiler about one string, which the checker turns into a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateNote {
    /// JSON pointer from the compiled value to the string.
    pub pointer: String,
    pub kind: NoteKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoteKind {
    /// Starts like a reference in scope but is invalid. It would stay text, which was certainly not intended.
    BadReference {
        /// The text as written, with its `$` or braces.
        text: String,
        why: String,
    },
    /// A word in braces that is not in scope; it stays text.
    UnscopedBrace { text: String, nearest: Option<String> },
    /// `$word.path` as a whole string, with a word that is not in scope; it stays text.
    UnscopedDollar { text: String, nearest: Option<String> },
    /// A reference in the path of another one; only the inner one is replaced.
    NestedReference { text: String },
    /// A reference in a key of an object; keys stay as they are.
    ReferenceInKey { key: String },
}

impl Template {
    /// Compiles a value. Never fails: text that cannot be a reference stays text, and a note reports it.
    pub fn compile(value: &Value, scope: &TemplateScope<'_>, notes: &mut Vec<TemplateNote>) -> Template {
        compile::value(value, scope, &mut String::new(), notes)
    }

    /// Visits every reference with the JSON pointer of its string.
    pub fn references(&self, visit: &mut dyn FnMut(&str, &Reference, ReferencePosition)) {
        walk(self, &mut String::new(), visit);
    }
}

fn walk(
    template: &Template,
    pointer: &mut String,
    visit: &mut dyn FnMut(&str, &Reference, ReferencePosition),
) {
    let length = pointer.len();
    match template {
        Template::Literal(_) => {}
        Template::Whole(reference) => visit(pointer, reference, ReferencePosition::Whole),
        Template::Text(pieces) => {
            for piece in pieces {
                match piece {
                    TemplatePiece::Literal(_) => {}
                    TemplatePiece::Ref(reference) => visit(pointer, reference, ReferencePosition::InText),
                }
            }
        }
        Template::List(items) => {
            for (index, item) in items.iter().enumerate() {
                json_pointer::push(pointer, &index.to_string());
                walk(item, pointer, visit);
                pointer.truncate(length);
            }
        }
        Template::Object(entries) => {
            for (key, entry) in entries {
                json_pointer::push(pointer, key);
                walk(entry, pointer, visit);
                pointer.truncate(length);
            }
        }
    }
}
