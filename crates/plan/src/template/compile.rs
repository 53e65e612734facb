//! Reads the strings of a plan into templates.
//!
//! One pass from left to right, no backtracking past an opening brace: linear in the length of the text.
//!
//! `}}` stands for one brace, except where it closes single braces that were opened before and stay text:
//! JSON (`{"a":{"b":1}}`) and formulas (`x^{2^{n}}`) inside a note come through whole.

use envelope::nearest;
use serde_json::{Map, Value};

use super::braces::Braces;
use super::{NoteKind, Piece, Template, TemplateNote, push_segment};
use crate::reference::Spelled;
use crate::{Reference, Scope};

pub(super) fn value(
    value: &Value,
    scope: &Scope<'_>,
    pointer: &mut String,
    notes: &mut Vec<TemplateNote>,
) -> Template {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Template::Literal(value.clone()),
        Value::String(text) => string(text, scope, pointer, notes),
        Value::Array(items) => list(items, scope, pointer, notes),
        Value::Object(map) => object(map, scope, pointer, notes),
    }
}

fn list(items: &[Value], scope: &Scope<'_>, pointer: &mut String, notes: &mut Vec<TemplateNote>) -> Template {
    let length = pointer.len();
    let mut compiled = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        push_segment(pointer, &index.to_string());
        compiled.push(value(item, scope, pointer, notes));
        pointer.truncate(length);
    }
    if !compiled.iter().all(|part| matches!(part, Template::Literal(_))) {
        return Template::List(compiled);
    }
    Template::Literal(Value::Array(compiled.into_iter().filter_map(into_literal).collect()))
}

fn object(
    map: &Map<String, Value>,
    scope: &Scope<'_>,
    pointer: &mut String,
    notes: &mut Vec<TemplateNote>,
) -> Template {
    let length = pointer.len();
    let mut compiled = Vec::with_capacity(map.len());
    for (key, entry) in map {
        push_segment(pointer, key);
        compiled.push((key.clone(), value(entry, scope, pointer, notes)));
        pointer.truncate(length);
    }
    if !compiled.iter().all(|(_, part)| matches!(part, Template::Literal(_))) {
        return Template::Object(compiled);
    }
    let entries = compiled.into_iter().filter_map(|(key, part)| Some((key, into_literal(part)?)));
    Template::Literal(Value::Object(entries.collect()))
}

/// Parts without references fold into the literal around them. They are already unescaped, which is why the
/// compiled parts are folded and not the value they came from.
fn into_literal(part: Template) -> Option<Value> {
    match part {
        Template::Literal(value) => Some(value),
        Template::Whole(_) | Template::Text(_) | Template::List(_) | Template::Object(_) => None,
    }
}

fn string(raw: &str, scope: &Scope<'_>, pointer: &str, notes: &mut Vec<TemplateNote>) -> Template {
    let first = notes.len();
    let mut note = |kind| add_note(notes, first, TemplateNote { pointer: pointer.to_owned(), kind });
    let Some(after_dollar) = raw.strip_prefix('$') else {
        return text(raw, scope, &mut note);
    };
    if after_dollar.starts_with('$') {
        return text(after_dollar, scope, &mut note);
    }
    match Reference::read(after_dollar, scope) {
        Spelled::Reference(reference) => return Template::Whole(reference),
        Spelled::Bad(why) => note(NoteKind::BadReference { text: raw.to_owned(), why }),
        Spelled::Unscoped { word, path } => {
            // `$HOME` alone is ordinary text; a path behind the word makes it look meant.
            let near = nearest(word, scope.words());
            if let Some(near) = near.filter(|near| !path.is_empty() || near.eq_ignore_ascii_case(word)) {
                note(NoteKind::UnscopedDollar { text: raw.to_owned(), nearest: format!("${near}{path}") });
            }
        }
        Spelled::Other => {}
    }
    text(raw, scope, &mut note)
}

/// Says the same about one string only once, and not more than a reader takes in. A bad reference is never
/// left out: it decides whether the plan can run.
fn add_note(notes: &mut Vec<TemplateNote>, first: usize, note: TemplateNote) {
    const MANY: usize = 20;
    let of_this_string = &notes[first..];
    let is_error = matches!(note.kind, NoteKind::BadReference { .. });
    let is_known = of_this_string.iter().take(MANY).any(|known| *known == note);
    if !is_known && (is_error || of_this_string.len() < MANY) {
        notes.push(note);
    }
}

/// Reads the braces of a string.
fn text(raw: &str, scope: &Scope<'_>, note: &mut dyn FnMut(NoteKind)) -> Template {
    let mut pieces = Vec::new();
    let mut plain = String::with_capacity(raw.len());
    let mut braces = Braces::default();
    let mut rest = raw;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let here = &rest[at..];
        if let Some(after) = here.strip_prefix("{{") {
            plain.push('{');
            braces.open_double(after);
            rest = after;
        } else if let Some(after) = here.strip_prefix('}') {
            plain.push('}');
            rest = braces.close(after);
        } else if let Some((reference, after)) = brace_reference(here, scope, note) {
            if !plain.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Ref(reference));
            rest = after;
        } else {
            plain.push('{');
            braces.open_single();
            rest = &here[1..];
        }
    }
    braces.report(note);
    plain.push_str(rest);
    if pieces.is_empty() {
        return Template::Literal(Value::String(plain));
    }
    if !plain.is_empty() {
        pieces.push(Piece::Literal(plain));
    }
    Template::Text(pieces)
}

/// Reads `{word.path}` at the start of a text; `None` when the brace is only a brace.
fn brace_reference<'t>(
    here: &'t str,
    scope: &Scope<'_>,
    note: &mut dyn FnMut(NoteKind),
) -> Option<(Reference, &'t str)> {
    let (inner, after) = braced(here)?;
    let written = || format!("{{{inner}}}");
    match Reference::read(inner, scope) {
        Spelled::Reference(reference) => return Some((reference, after)),
        Spelled::Bad(why) => note(NoteKind::BadReference { text: written(), why }),
        Spelled::Unscoped { word, path } => {
            let nearest = nearest(word, scope.words()).map(|near| format!("{{{near}{path}}}"));
            note(NoteKind::UnscopedBrace { text: written(), nearest });
        }
        Spelled::Other => {
            // `{ item.path }` is no reference, but whoever wrote it most likely meant one.
            if let Spelled::Reference(meant) = Reference::read(inner.trim(), scope) {
                let nearest = Some(in_braces(&meant));
                note(NoteKind::UnscopedBrace { text: written(), nearest });
            }
        }
    }
    None
}

/// What stands between a `{` and the next brace, if that one closes it.
fn braced(here: &str) -> Option<(&str, &str)> {
    /// Longer than any sensible reference; keeps a lone brace in a long text from being searched to its end.
    const LONGEST: usize = 1024;
    let inner = here.strip_prefix('{')?;
    let window = inner.as_bytes().get(..LONGEST).unwrap_or(inner.as_bytes());
    let end = window.iter().position(|b| matches!(b, b'{' | b'}' | b'\n'))?;
    let after = inner[end..].strip_prefix('}')?;
    Some((&inner[..end], after))
}

/// The text form of a reference.
pub(super) fn in_braces(reference: &Reference) -> String {
    let spelled = reference.to_string();
    format!("{{{}}}", spelled.trim_start_matches('$'))
}
